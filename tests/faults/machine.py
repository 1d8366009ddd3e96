"""A machine with faults: runs commands that are killed, or whose disk fails, at a chosen call."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
START = 1_770_000_000
"""The time of the first step, in seconds since 1970."""


class Fault(IntEnum):
    """What happens at a call that changes a file; the numbers are those of `shim.c`."""

    NONE = 0
    KILL = 1
    FAIL_ONCE = 2
    FULL = 3
    SHORT = 4
    READ_ONLY = 5
    UNREADABLE = 6
    """Every read fails, from the one with the chosen number on."""


class Kind(IntEnum):
    """The calls that `shim.c` records."""

    CREATE = 1
    WRITE = 2
    TRUNCATE = 3
    SYNC = 4
    RENAME = 5
    UNLINK = 6
    LINK = 7
    MAKE_FOLDER = 8
    REMOVE_FOLDER = 9
    MARK = 10
    FAILED = 11


class Event(NamedTuple):
    """One recorded call."""

    kind: Kind
    inode: int
    offset: int
    path: str
    other: str
    data: bytes


class Result(NamedTuple):
    """The result of one command."""

    code: int
    out: str
    err: str


@dataclass
class Outcome:
    """What happened to the process that ran some commands; `status` is -9 if it was killed."""

    status: int
    results: list[Result] = field(default_factory=list)
    calls: int = 0
    files: dict[str, Any] = field(default_factory=dict)


def build_shim(folder: Path) -> Path:
    """Compile `shim.c`."""
    library = folder / "shim.so"
    command = ["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "shim.c"), "-ldl"]
    subprocess.run(command, check=True)
    return library


class Machine:
    """Runs commands in processes that are forked from one warm process; use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {
            "LD_PRELOAD": str(build_shim(folder)),
            "OPENBLAS_NUM_THREADS": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "PYTHONHASHSEED": "0",
            # In the folder in which a command runs.
            "MEMGLOT_CONFIG": "config.toml",
            "EDITOR": str(HERE / "editor.sh"),
        }
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "fork_server.py")],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def run(
        self,
        folder: Path,
        calls: Sequence[Sequence[str]],
        *,
        stdin: str = "",
        step: int = 0,
        fault: Fault = Fault.NONE,
        at: int = -1,
        after: float = 0,
        record: Path | None = None,
        marks: int = 0,
        dump: bool = False,
        ignored: Sequence[str] = (),
        skip: Sequence[str] = (),
        server: bool = False,
        umask: int = -1,
    ) -> Outcome:
        """Run commands in one process, in a folder; `fault` happens at the call with number `at`.

        `after` kills the process after this many seconds instead. `record` is a file to append all calls to, with a
        mark after each command, counted from `marks`. `dump` returns the content of all files except `skip`, of
        memories without the `ignored` fields. `server` keeps the store open in two processes while one of them adds a
        memory for each call, which is its id and content; both are killed at the end. `umask` is that of the process.
        """
        answer = self.folder / "answer.json"
        answer.unlink(missing_ok=True)
        request = {
            "folder": str(folder),
            "calls": [list(call) for call in calls],
            "stdin": stdin,
            "time": START + 3_600 * step,
            "fault": int(fault),
            "at": at,
            "after": after,
            "record": "" if record is None else str(record),
            "marks": marks,
            "dump": dump,
            "ignored": list(ignored),
            "skip": list(skip),
            "server": server,
            "umask": umask,
            "answer": str(answer),
        }
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        status = json.loads(self._process.stdout.readline())["status"]
        failed = answer.with_name("answer.json.failed")
        if failed.exists():
            text = failed.read_text()
            failed.unlink()
            raise AssertionError(f"the test process failed:\n{text}")
        if not answer.exists():
            return Outcome(status)
        found = json.loads(answer.read_bytes())
        results = [Result(**result) for result in found["results"]]
        return Outcome(status, results, found["calls"], found["files"] or {})


def copy_tree(source: Path, target: Path) -> Path:
    """Copy a folder to a place that does not exist yet, and return that place."""
    shutil.copytree(source, target, symlinks=True)
    return target


_HEADER = struct.Struct("<IIIIQq")


def events(path: Path) -> Iterator[Event]:
    """Yield the recorded calls."""
    with open(path, "rb") as file:
        while head := file.read(_HEADER.size):
            kind, path_length, other_length, length, inode, offset = _HEADER.unpack(head)
            name, other = os.fsdecode(file.read(path_length)), os.fsdecode(file.read(other_length))
            yield Event(Kind(kind), inode, offset, name, other, file.read(length))
