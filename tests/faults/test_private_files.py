"""Whatever the umask, only their user can read the files that commands write; repositories follow the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import CASES, OPERATION, Case, repository
from kills import last_operation, prepare, run
from machine import Fault, Kind, Machine

_OF_REPOSITORIES = (".memory", "AGENTS.md", "CLAUDE.md", ".gitignore", ".gitattributes", ".claude")
_RESTORED = ("store.db.before-restore",)
_LOCK = "lock"
UMASKS = (0o000, 0o077)


def entries(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield the files and folders below a folder with their modes, except those of git, and except caches."""
    for path in sorted(folder.rglob("*")):
        if not {".git", "index"} & set(path.parts) and not path.is_symlink():
            yield path.relative_to(folder), stat.S_IMODE(path.lstat().st_mode)


def is_of_repository(path: Path) -> bool:
    return path.parts[0] in _OF_REPOSITORIES


def is_private(folder: Path, path: Path) -> bool:
    """Return True if nobody else can read a file, or look into one of the folders that contain it."""
    inside = [folder / path, *[folder / parent for parent in path.parents[:-1]]]
    return any(not stat.S_IMODE(place.lstat().st_mode) & 0o077 for place in inside)


def wrong_modes(folder: Path, before: dict[Path, int], umask: int, *, is_restored: bool = False) -> list[str]:
    """Return the files that have another mode than promised; `before` are those that were there before."""
    wrong = []
    for path, mode in entries(folder):
        is_folder = (folder / path).is_dir()
        if path in before:
            due = before[path]
        elif path.name in _RESTORED or path.parts[0] == ".memory" and is_restored:
            # What was there before, and what was in the backup, keep their modes.
            continue
        elif is_of_repository(path):
            # A lock, and what a killed process left, may be private.
            is_short_lived = _LOCK in path.name or path.name.startswith(".memglot-")
            due = mode if is_short_lived and not mode & umask else (0o777 if is_folder else 0o666) & ~umask
        elif path.name.endswith(("-wal", "-shm", "-journal")):
            due = stat.S_IMODE((folder / path.with_name(path.name.rpartition("-")[0])).stat().st_mode)
        else:
            due = 0o700 if is_folder else 0o600
        if mode != due:
            wrong.append(f"{path} has the mode {mode:o}, not {due:o}")
    return wrong


@pytest.mark.parametrize("umask", UMASKS, ids=oct)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_new_files_are_private_and_replaced_ones_keep_their_mode(
    case: Case, umask: int, machine: Machine, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    case.prepare(machine, folder)
    command = [last_operation(machine, folder) if word == OPERATION else word for word in case.command]
    before = {}
    for path, _ in entries(folder):
        if (folder / path).is_file():
            (folder / path).chmod(0o640)
    before = dict(entries(folder))
    outcome = machine.run(folder, [command], stdin=case.stdin, step=len(case.setup) + 1, umask=umask)
    assert outcome.status == 0 and outcome.results[0].code == 0, outcome
    assert not wrong_modes(folder, before, umask, is_restored=case.name == "repo restore")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_temporary_files_are_private_from_the_start(case: Case, machine: Machine, place: Path, count: int) -> None:
    found = prepare(case, machine, place)
    creations = [number for number, event in enumerate(found.events) if event.kind in (Kind.CREATE, Kind.RENAME)]
    step = max(1, len(creations) // (count or 3))
    for at in creations[::step]:
        # The file exists, and its first content is not written yet or just written.
        for number in (at + 1, at + 2):
            folder = found.copy()
            before = {path for path, _ in entries(folder)}
            for path in before:
                (folder / path).chmod(0o700)
            run(found, folder, fault=Fault.KILL, at=number, umask=0)
            new = [path for path, _ in entries(folder) if path not in before and not is_of_repository(path)]
            if case.start is repository:
                # The next AGENTS.md or `.memory`, for example.
                new = [path for path in new if not path.parts[0].startswith(".memglot-")]
            assert all(is_private(folder, path) for path in new), (number, new)


@pytest.mark.parametrize("umask", UMASKS, ids=oct)
def test_a_new_store_and_its_logs_are_private(machine: Machine, tmp_path: Path, umask: int) -> None:
    outcome = machine.run(tmp_path, [["--store", "new/store.db", "add", "x"]], fault=Fault.KILL, at=40, umask=umask)
    modes = {str(path): mode for path, mode in entries(tmp_path)}
    assert outcome.status == -9
    assert modes == {
        "new": 0o700,
        "new/store.db": 0o600,
        "new/store.db-shm": 0o600,
        "new/store.db-wal": 0o600,
    }, os.listdir(tmp_path)
