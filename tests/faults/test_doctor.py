"""`doctor` next to writers that are not disturbed never reports a problem."""

from __future__ import annotations

import json
import multiprocessing
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import memglot
from memglot import Memory
from memglot.errors import LockedStore, NotFound, UsageError

WRITERS = 16
RUNS_OF_A_STORE = 40
"""A new store is used after this many runs, since a check takes longer the more history there is."""
PAUSE = 0.05
"""Maximum pause of a writer between two operations, in seconds."""


def write(store: Path, number: int) -> None:
    """Write until the file `stop` appears; add up the operations in a file."""
    source = random.Random(number)
    own: list[str] = []
    operations = 0
    while not (store.parent / "stop").exists():
        with Memory.open(store) as memory:
            for _ in range(source.randint(1, 20)):
                try:
                    _operate(memory, own, source, f"{number} {operations}")
                except (LockedStore, NotFound, UsageError):
                    continue
                operations += 1
                time.sleep(source.random() * PAUSE)
    (store.parent / f"writer-{number}").write_text(str(operations))


def _operate(memory: Memory, own: list[str], source: random.Random, name: str) -> None:
    match source.choice(["add", "add", "update", "update", "delete", "link", "move", "import", "undo", "embed"]):
        case "add":
            own.append(memory.add(f"note {name}", tags=[name[:2]], tree=f"work.t{name[:1]}").id)
        case "update" if own:
            memory.update(source.choice(own), content=f"changed {name}", meta={"name": name})
        case "delete" if len(own) > 3:
            memory.delete(own.pop(source.randrange(len(own))))
        case "link" if len(own) > 1:
            memory.link(source.choice(own), "related-to", source.choice(own))
        case "move":
            memory.move("work", "play") if source.random() < 0.5 else memory.move("play", "work")
        case "import" | "undo" as kind:
            lines = "".join(json.dumps({"content": f"imported {name} {line}"}) + "\n" for line in range(30))
            found = memory.import_from(lines.encode(), format="ndjson")
            if kind == "undo" and found.import_id is not None:
                memory.undo(found.import_id)
        case "embed":
            memory.embed()


@contextmanager
def writing(folder: Path, writers: int) -> Iterator[Path]:
    """Yield a store to which processes write."""
    folder.mkdir()
    store = folder / "store.db"
    with Memory.open(store) as memory:
        for number in range(20):
            memory.add(f"note {number}", tree="work")
        memory.embed()
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=write, args=(store, number)) for number in range(writers)]
    for process in processes:
        process.start()
    try:
        yield store
    finally:
        (folder / "stop").touch()
        for process in processes:
            process.join(120)
    assert [process.exitcode for process in processes] == [0] * writers


def problems(store: Path, number: int) -> list[str]:
    """Check a store in one of the ways that users have, and return the problems."""
    if number % 20 == 0:
        done = subprocess.run(
            [sys.executable, "-m", "memglot", "--store", str(store), "doctor"], capture_output=True, text=True
        )
        return [] if done.returncode == 0 else [done.stdout + done.stderr]
    if number % 5 == 0:
        found = memglot.verify(store)
        return [] if found.state == "whole" else [str(found)]
    with Memory.open(store, write=number % 2 == 0) as memory:
        return list(memory.doctor().problems)


def test_doctor_next_to_writers_reports_nothing(tmp_path: Path, count: int, figures: Counter[str]) -> None:
    runs = max(20, count)
    writers = WRITERS if count else 4
    wrong: list[str] = []
    operations = done = 0
    while done < runs:
        folder = tmp_path / f"store-{done}"
        with writing(folder, writers) as store:
            until_written(store)
            for number in range(done, min(done + RUNS_OF_A_STORE, runs)):
                wrong += problems(store, number)
                done += 1
        operations += sum(int(path.read_text()) for path in folder.glob("writer-*"))
        with Memory.open(store, write=False) as memory:
            wrong += memory.doctor().problems
    figures["runs of doctor"] += done
    figures["runs of doctor: operations next to them"] += operations
    figures["runs of doctor: false alarms"] += len(wrong)
    assert not wrong, "\n".join(wrong[:10])
    assert operations > runs


def until_written(store: Path) -> None:
    """Wait until the writers have started."""
    with Memory.open(store, write=False) as memory:
        until = time.monotonic() + 60
        while memory.count() <= 20 and time.monotonic() < until:
            time.sleep(0.05)
