"""Run a day of commands, cut the power at random moments, and check that nothing acknowledged is lost."""

from __future__ import annotations

import json
import random
import shutil
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from commands import SAVE, repository
from machine import Event, Kind, Machine, copy_tree, events
from power import Disk

from memglot.files import is_temporary


def _id(number: int) -> str:
    return f"0194b000-{number:04d}-7000-8000-{number:012d}"


COMMANDS: list[list[str]] = [
    ["add", "The first memory", "--id", _id(1)],
    ["add", "The second memory", "--id", _id(2)],
    ["import", "few.ndjson"],
    ["import", "later.ndjson", "--conflict", "merge"],
    ["update", _id(1), "--content", "The first memory, corrected"],
    ["export", "notes", "--format", "markdown"],
    ["export", "vault2", "--format", "obsidian"],
    ["repo", "init"],
    ["repo", "save", "--stdin"],
    ["delete", _id(2)],
    ["add", "A third memory", "--id", _id(3)],
    ["export", "notes", "--format", "markdown"],
    ["backup", "copy.db"],
    ["mcp", "install", "cursor"],
    ["import", "many.ndjson"],
    ["move", "work.part1", "done"],
    ["add", "A fourth memory", "--id", _id(4)],
    ["sync", "export", "--out=memories.json"],
    ["restore", "copy.db", "--force"],
    ["add", "After the restore", "--id", _id(5)],
    ["sync", "import", "--from=memories.json"],
    ["export", "out.ndjson"],
]


_SKIPPED = (".git", "index")
"""Files of git, and caches."""
_LOCKS = (".memory/.lock", "projects/projects.lock")


@dataclass
class Day:
    """The recorded commands, and the state of all files after each."""

    folder: Path
    start: Disk
    events: list[Event] = field(default_factory=list)
    states: list[dict[str, Any]] = field(default_factory=list)


def record_day(machine: Machine, folder: Path) -> Day:
    """Run the commands undisturbed, each in a process of its own."""
    place, log = folder / "day", folder / "log"
    place.mkdir(parents=True)
    repository(place)
    found = Day(folder, Disk(place))
    found.states.append(_state(machine, place))
    for number, command in enumerate(COMMANDS):
        outcome = machine.run(place, [command], stdin=SAVE, step=number, record=log, marks=number)
        assert outcome.status == 0 and outcome.results[0].code == 0, outcome
        found.states.append(_state(machine, place))
    found.events = list(events(log))
    return found


@dataclass
class Served:
    """The recorded calls of a server."""

    folder: Path
    start: Disk
    events: list[Event]
    ids: list[str]


def record_server(machine: Machine, folder: Path, count: int) -> Served:
    """Add memories one by one to a store that stays open."""
    place, log = folder / "served", folder / "log"
    place.mkdir(parents=True)
    disk = Disk(place)
    start = machine.run(place, [["add", "The first memory", "--id", _id(0)]], record=log)
    assert start.results[0].code == 0, start
    ids = [_id(number) for number in range(1, count + 1)]
    outcome = machine.run(place, [[id, f"Memory {id}"] for id in ids], record=log, marks=1, server=True)
    assert outcome.status == 0, outcome
    return Served(folder, disk, list(events(log)), [_id(0), *ids])


def lost_memories(machine: Machine, served: Served, number: int, seed: int) -> set[str]:
    """Cut the power before a call; return the memories that were acknowledged and are not in the store any more."""
    source = random.Random(f"{number} {seed}")
    disk = deepcopy(served.start)
    disk.replay(served.events[:number])
    place = served.folder / "after"
    shutil.rmtree(place, ignore_errors=True)
    disk.cut(place, source, source.choice((0.3, 0.7, 1.0)))
    if not disk.marks:
        return set()
    outcome = machine.run(place, [["doctor"]], dump=True)
    assert outcome.results and outcome.results[0].code == 0, outcome
    stored = {record["id"] for record in outcome.files["store.db"]["records"]}
    return set(served.ids[: disk.marks]) - stored


def _state(machine: Machine, place: Path) -> dict[str, Any]:
    """Return the content of all files. A copy is read, because reading creates files that nobody recorded."""
    copy = copy_tree(place, place.with_name("copy"))
    try:
        return machine.run(copy, [], dump=True, skip=_SKIPPED).files
    finally:
        shutil.rmtree(copy)


def cut_at(machine: Machine, day: Day, number: int, seed: int) -> None:
    """Cut the power before a call, and check what is left."""
    source = random.Random(f"{number} {seed}")
    disk = deepcopy(day.start)
    disk.replay(day.events[:number])
    place = day.folder / "after"
    shutil.rmtree(place, ignore_errors=True)
    disk.cut(place, source, source.choice((0.0, 0.3, 0.7, 1.0)))
    check(machine, day, place, disk.marks)


def check(machine: Machine, day: Day, place: Path, done: int) -> None:
    """Assert that all files are as after the last command that reported success, or further."""
    before, after = day.states[done], day.states[min(done + 1, len(COMMANDS))]
    allowed = _memories(before), _memories(after)
    if before.get("store.db"):
        outcome = machine.run(place, [["doctor"]], step=done + 1)
        assert outcome.results and outcome.results[0].code == 0, outcome
        outcome = machine.run(place, [["add", "next", "--id", _id(9)], ["delete", _id(9)]], step=done + 1)
        assert [result.code for result in outcome.results] == [0, 0], outcome
    # Half-written files that nobody reads; the next command that writes there removes them.
    for folder in [path for path in place.rglob("*") if is_temporary(path.name) and path.is_dir()]:
        shutil.rmtree(folder)
    found = machine.run(place, [], dump=True, skip=_SKIPPED).files
    stored = _memories(found)
    # An import in progress may have committed some of its batches.
    least, most = allowed[0].items() & allowed[1].items(), allowed[0].items() | allowed[1].items()
    assert least <= stored.items() <= most, f"lost {least - stored.items()}, unknown {stored.items() - most}"
    for path in {*found, *before}:
        if path.startswith("store.db") or path in _LOCKS or any(map(is_temporary, path.split("/"))):
            continue
        versions = [state.get(path, "missing") for state in (before, after)]
        value = found.get(path, "missing")
        # A folder is created before its first file.
        if value == "folder" and "missing" in versions:
            continue
        assert value in versions, f"{path}: {str(value)[:300]!r} instead of {str(versions)[:600]}"
    if ".memory/config.json" in before:
        # A lock of the process that was running counts as abandoned, and its change is finished or reverted.
        outcome = machine.run(place, [["repo", "save", "--stdin"], ["repo", "check"]], stdin=SAVE, step=done + 1)
        assert [result.code for result in outcome.results] == [0, 0], outcome


def _memories(state: dict[str, Any]) -> dict[str, str]:
    store = state.get("store.db") or {"records": []}
    return {record["id"]: json.dumps(record, sort_keys=True) for record in store["records"]}


def moments(day: Day | Served, count: int, seed: int) -> list[int]:
    """Return moments for power cuts: right after marks and syncs, and at random."""
    source = random.Random(seed)
    special = [n + 1 for n, event in enumerate(day.events) if event.kind in (Kind.MARK, Kind.RENAME)]
    found = source.sample(special, min(len(special), count // 2))
    return sorted(found + [source.randrange(len(day.events)) for _ in range(count - len(found))])
