"""Kill a command at chosen calls, run it again, and compare the result with an undisturbed run."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from commands import OPERATION, Case
from machine import Event, Fault, Kind, Machine, Outcome, copy_tree, events

INTERNAL = 70
_TEMPORARY = ("-wal", "-shm")
_DECISIVE = (Kind.SYNC, Kind.RENAME, Kind.LINK, Kind.UNLINK)


@dataclass
class Prepared:
    """A case with the state before it, and the result of an undisturbed run."""

    case: Case
    machine: Machine
    folder: Path
    files: dict[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    code: int = 0
    err: str = ""
    operation: str = ""
    """The id of the last operation before the command."""

    @property
    def boundaries(self) -> list[int]:
        """Numbers of the calls other than writes: each sync, rename, removal and creation."""
        return [number for number, event in enumerate(self.events) if event.kind is not Kind.WRITE]

    @property
    def commits(self) -> set[int]:
        """Numbers of the calls that decide what is left after a kill: each sync, rename, link and removal."""
        return {number for number, event in enumerate(self.events) if event.kind in _DECISIVE}

    def chosen(self, count: int, seed: int) -> list[int]:
        """Return numbers of calls to disturb: boundaries first, then writes, at random."""
        source = random.Random(f"{self.case.name} {seed}")
        boundaries = self.boundaries
        writes = sorted(set(range(len(self.events))) - set(boundaries))
        wanted = source.sample(boundaries, min(len(boundaries), max(count - count // 4, count - len(writes))))
        return sorted(wanted + source.sample(writes, min(len(writes), count - len(wanted))))

    def copy(self) -> Path:
        """Return a fresh copy of the state before the command, always at the same path."""
        place = self.folder / "work"
        shutil.rmtree(place, ignore_errors=True)
        return copy_tree(self.folder / "start", place)


def prepare(case: Case, machine: Machine, folder: Path) -> Prepared:
    """Create the state before a command, and run it undisturbed."""
    found = Prepared(case, machine, folder)
    folder.mkdir(parents=True)
    # Some commands write absolute paths, so the state is made where it is used.
    case.prepare(machine, folder / "work")
    (folder / "work").rename(folder / "start")
    found.operation = last_operation(machine, found.copy()) if OPERATION in case.command else ""
    place, log = found.copy(), folder / "log"
    outcome = run(found, place, record=log)
    assert outcome.status == 0 and outcome.results[0].code == 0, (case.name, outcome)
    found.code, found.err = outcome.results[0].code, outcome.results[0].err
    found.events = [event for event in events(log) if event.kind is not Kind.MARK]
    log.unlink()
    assert len(found.events) == outcome.calls, f"{case.name}: {len(found.events)} recorded, {outcome.calls} counted"
    found.files = look(found, place)
    return found


def last_operation(machine: Machine, place: Path) -> str:
    """Return the id of the last operation in the store of a folder."""
    outcome = machine.run(place, [["undo", "--list", "--json"]])
    return str(json.loads(outcome.results[0].out)["operations"][0]["id"])


def run(found: Prepared, place: Path, **options: Any) -> Outcome:
    """Run the command of a case."""
    case = found.case
    command = [found.operation if word == OPERATION else word for word in case.command]
    return found.machine.run(place, [command], stdin=case.stdin, step=len(case.setup) + 1, **options)


def look(found: Prepared, place: Path) -> dict[str, Any]:
    """Return all files after a command, without folders and the logs of open databases."""
    case = found.case
    outcome = found.machine.run(place, [], dump=True, ignored=case.ignored, skip=case.skip)
    kept = {name: value for name, value in outcome.files.items() if value != "folder" and not name.endswith(_TEMPORARY)}
    return {name.replace(*case.names): value for name, value in kept.items()} if case.names[0] else kept


def check_doctor(found: Prepared, place: Path) -> None:
    """Assert that `doctor` finds nothing wrong, and that the store is there if it was there before."""
    store = place / "store.db"
    if (found.folder / "start" / "store.db").exists():
        assert store.exists(), "the store is gone"
    if store.exists() and store.stat().st_size:
        outcome = found.machine.run(place, [["doctor"]], step=len(found.case.setup) + 1)
        assert outcome.status == 0, outcome
        result = outcome.results[0]
        is_new = result.code == 3 and not (found.folder / "start" / "store.db").exists()
        assert result.code == 0 or is_new, result


def check_after_fault(found: Prepared, place: Path, *, is_done: bool = False) -> None:
    """Assert that the store is intact now, and that running the command again gives the undisturbed result."""
    check_doctor(found, place)
    if not is_done:
        again = run(found, place)
        assert again.status == 0 and again.results[0].code in found.case.codes, again
        check_doctor(found, place)
    files = look(found, place)
    assert sorted(files) == sorted(found.files), differing(files, found.files)
    assert files == found.files, differing(files, found.files)


def differing(here: dict[str, Any], there: dict[str, Any]) -> str:
    """Return what differs between two states of all files."""
    lines = []
    for name in sorted({*here, *there}):
        one, other = here.get(name, "missing"), there.get(name, "missing")
        if one != other:
            lines.append(f"{name}: {str(one)[:1500]}\n   instead of {str(other)[:1500]}")
    return "\n".join(lines)[:6_000]


def kill_at(found: Prepared, number: int) -> None:
    """Kill the command before a call, and check everything."""
    place = found.copy()
    killed = run(found, place, fault=Fault.KILL, at=number)
    assert killed.status == -9, killed
    check_after_fault(found, place)


def kill_after(found: Prepared, seconds: float) -> bool:
    """Kill the command after some time, and check everything; return False if it was faster."""
    place = found.copy()
    killed = run(found, place, after=seconds)
    check_after_fault(found, place)
    return killed.status != 0


def fail_at(found: Prepared, number: int, fault: Fault) -> None:
    """Let a call fail; the command must report it or get by, and succeed when it is run again."""
    place = found.copy()
    outcome = run(found, place, fault=fault, at=number)
    assert outcome.status == 0, outcome
    result = outcome.results[0]
    assert result.code != INTERNAL and "Traceback" not in result.err, result
    if fault is Fault.SHORT:
        assert result.code == found.code, result
    # A command may succeed without a part that it can do without, if it says so; then it is run again too.
    is_done = (result.code, result.err) == (found.code, found.err)
    assert is_done or any(kind in result.err for kind in ("error: ", "warning: ", "note: ")), result
    check_after_fault(found, place, is_done=is_done)


def survey(found: Prepared, numbers: Sequence[int], fault: Fault) -> tuple[int, list[str]]:
    """Disturb a command at several calls; return how often, and what went wrong."""
    wrong = []
    for number in numbers:
        event = found.events[number]
        call = f"call {number} of {len(found.events)} ({event.kind.name} {Path(event.path).name})"
        try:
            if fault is Fault.KILL:
                kill_at(found, number)
            else:
                fail_at(found, number, fault)
        except AssertionError as error:
            wrong.append(f"{found.case.name}: {fault.name} at {call}: {error}")
    return len(numbers), wrong
