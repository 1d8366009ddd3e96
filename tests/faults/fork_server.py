"""Runs `memglot` commands in forked processes, with faults from `shim.c`; started by `machine.py` as a program.

A fork takes milliseconds where a new Python takes a quarter of a second, so that thousands of kills fit into a test.
Each line of standard input is a request in JSON, each line of standard output its answer.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import io
import json
import os
import pkgutil
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec

import memglot.cli
from memglot import Memory
from memglot.cli.main import run
from memglot.cli.session import Session
from memglot.embed.registry import embedder
from memglot.errors import NoStore
from memglot.formats import registry
from memglot.formats.sqlite import is_store
from memglot.model import Blob, Conflict, Document, Embedding, Entity, Relation, Supersession, Tombstone

SHIM: Any = ctypes.CDLL(None)
THINGS = (Relation, Entity, Supersession, Document, Embedding, Tombstone, Conflict, Blob)


def warm_up() -> None:
    """Import every module now, so that no forked process has to."""
    for module in pkgutil.walk_packages(memglot.cli.__path__, "memglot.cli."):
        importlib.import_module(module.name)
    for name in registry.names():
        registry.get(name)
    embedder().embed(["warm"])
    for name in (
        "memglot.exporting.verify",
        "memglot.exporting.run",
        "memglot.importing.run",
        "memglot.editing.backup",
    ):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def dump_store(path: Path, ignored: list[str]) -> Any:
    """Return everything that a store contains except its history, so that two stores can be compared."""
    with Memory.open(path, write=False) as memory:
        store = memory.store
        records = []
        for record in store.records.select():
            value = msgspec.to_builtins(record)
            records.append({name: found for name, found in value.items() if name not in ignored})
        things = {
            kind.__name__: sorted(
                msgspec.json.encode(thing, order="sorted").decode() for thing in store.things.select(kind)
            )
            for kind in THINGS
        }
        if "id" in ignored:
            things = {}
        return {
            "records": sorted(records, key=lambda value: json.dumps(value, sort_keys=True)),
            "things": things,
            "settings": store.settings(),
        }


def dump_database(path: Path) -> Any:
    """Return the rows of any other database."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    found = {}
    for table in tables:
        try:
            found[table] = sorted(repr(row) for row in db.execute(f'SELECT * FROM "{table}"'))
        except apsw.Error:
            found[table] = []
    db.close()
    return found


def dump(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Return the content of every file below a folder: of stores their memories, of other files their bytes."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if any(part in request["skip"] for part in path.parts):
            continue
        if path.is_dir():
            found[name] = "folder"
        elif is_store(path):
            try:
                found[name] = dump_store(path, request["ignored"])
            except NoStore:
                # Its first transaction was never committed.
                found[name] = {"records": []}
        elif path.read_bytes()[:15] == b"SQLite format 3":
            found[name] = dump_database(path)
        elif path.name.endswith(("-wal", "-shm", "-head")):
            found[name] = "present"
        else:
            found[name] = path.read_bytes().decode("utf-8", "surrogateescape")
    return found


def call(arguments: list[str], stdin: str) -> dict[str, Any]:
    """Run one command in this process and return its exit code and output."""
    sys.argv = ["memglot", *arguments]
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", write_through=True)
    code = run(Session(), arguments)
    sys.stdout.flush()
    return {
        "code": code,
        "out": out.getvalue().decode("utf-8", "replace"),
        "err": err.getvalue().decode("utf-8", "replace"),
    }


def serve_calls(calls: list[list[str]], done: Callable[[int], None]) -> None:
    """Add memories like a server that keeps its store open, while another process has the store open too.

    Both processes are killed at the end. `done` is called after each memory with the number added so far.
    """
    store = os.environ["MEMGLOT_STORE"]
    ready, tell = os.pipe()
    other = os.fork()
    if not other:
        with Memory.open(store):
            os.write(tell, b"x")
            signal.pause()
    os.read(ready, 1)
    memory = Memory.open(store)
    for number, (id, content) in enumerate(calls, 1):
        memory.add(content, id=id)
        done(number)
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)
    SHIM.fault_disarm()
    os._exit(0)


def set_environment(folder: Path) -> None:
    """Keep everything that a command writes below one folder."""
    os.chdir(folder)
    places = {"HOME": "home", "XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "config", "MEMORY_HOME": "projects"}
    os.environ |= {name: str(folder / place) for name, place in places.items()}
    os.environ["MEMGLOT_STORE"] = str(folder / "store.db")


def freeze_time(seconds: int) -> None:
    """Let every command of one step see the same time, so that results can be compared."""
    time.time_ns = lambda: seconds * 1_000_000_000


def child(request: dict[str, Any]) -> None:
    """Run the commands of a request, armed with its fault, and write the results to a file."""
    folder = Path(request["folder"])
    set_environment(folder)
    freeze_time(request["time"])
    if request["umask"] >= 0:
        os.umask(request["umask"])
    random.seed(os.urandom(8))
    record = os.open(request["record"], os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600) if request["record"] else -1
    if request["after"]:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, request["after"])
    SHIM.fault_arm(os.fsencode(folder), request["fault"], ctypes.c_long(request["at"]), record)
    if request["server"]:
        serve_calls(request["calls"], lambda number: SHIM.fault_mark(ctypes.c_long(number + request["marks"])))
    results = []
    for arguments in request["calls"]:
        results.append(call(arguments, request["stdin"]))
        SHIM.fault_mark(ctypes.c_long(len(results) + request["marks"]))
    calls = SHIM.fault_calls()
    SHIM.fault_disarm()
    signal.setitimer(signal.ITIMER_REAL, 0)
    answer = {"results": results, "calls": calls, "files": dump(folder, request) if request["dump"] else None}
    Path(request["answer"]).write_bytes(json.dumps(answer).encode())


def serve() -> None:
    """Answer requests until standard input ends."""
    SHIM.fault_calls.restype = ctypes.c_long
    warm_up()
    answers = os.fdopen(os.dup(1), "w")
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if not pid:
            try:
                child(request)
            except BaseException:  # noqa: BLE001 - reported to the test
                import traceback

                Path(request["answer"] + ".failed").write_text(traceback.format_exc())
                os._exit(71)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        print(json.dumps({"status": os.waitstatus_to_exitcode(status)}), file=answers, flush=True)


if __name__ == "__main__":
    serve()
