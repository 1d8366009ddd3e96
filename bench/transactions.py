"""Measure how long others wait to add a memory while a long operation runs on a large store.

One process adds memories all the time while another one imports, moves, copies, deletes, undoes or completes indexes.
The longest wait is compared with the longest wait next to a bare script that inserts the same texts into SQLite, 1,000
in a transaction. Run it with `make bench-transactions`; an argument changes the number of memories.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from records import ndjson

from memglot import MemglotError, Memory

DATA = Path(__file__).parent / "data"
COUNT = 1_000_000
PAUSE = 0.005
BARE = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
lines = open(sys.argv[2], encoding="utf-8").read().splitlines()
for start in range(0, len(lines), 1000):
    db.execute("BEGIN IMMEDIATE")
    db.executemany("INSERT INTO bare VALUES (?)", [(line,) for line in lines[start:start + 1000]])
    db.execute("COMMIT")
"""


class Waits(NamedTuple):
    """What somebody met who added memories meanwhile."""

    seconds: float
    added: int
    failed: int
    longest: float


def next_to(store: Path, *command: str | Path) -> Waits:
    """Add memories until a command ends."""
    added = failed = 0
    longest = 0.0
    with Memory.open(store) as memory:
        began = time.perf_counter()
        process = subprocess.Popen([sys.executable, *map(str, command)], stdout=subprocess.DEVNULL)
        while process.poll() is None:
            started = time.perf_counter()
            try:
                memory.add(f"added meanwhile {added}", tree="meanwhile")
                added += 1
            except MemglotError:
                failed += 1
            longest = max(longest, time.perf_counter() - started)
            time.sleep(PAUSE)
    if process.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return Waits(time.perf_counter() - began, added, failed, longest)


def main() -> None:
    """Measure and print a table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    first, more = ndjson(DATA / f"{count}.ndjson", count), ndjson(DATA / f"{count // 10}.ndjson", count // 10, count)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; {count:,} memories\n")
    print(
        "| while another process | takes, s | added | failed | longest wait, s | ratio to bare |\n" + "|---" * 6 + "|"
    )
    with tempfile.TemporaryDirectory() as name:
        store = Path(name) / "store.db"
        memglot = ("-m", "memglot", "--store", store)
        with Memory.open(store) as memory:
            memory.add("the first")
            memory.store.connection.db.execute("CREATE TABLE bare (line)")  # type: ignore[attr-defined]
        bare = next_to(store, "-c", BARE, store, more)
        row("inserts with a bare script", bare, bare)
        for what, *arguments in (
            ("imports all", "import", first, "--quiet", "--no-embed"),
            ("imports a tenth more", "import", more, "--quiet", "--no-embed"),
            ("undoes the tenth", "undo", "last"),
            ("moves everything", "move", "work", "old"),
            ("copies a branch", "copy", "old.project2", "copies"),
            ("deletes a branch", "delete-tree", "old.project3"),
            ("completes the indexes again", "doctor", "--fix"),
        ):
            row(what, next_to(store, *memglot, *arguments), bare)


def row(what: str, waits: Waits, bare: Waits) -> None:
    """Print one line of the table."""
    ratio = waits.longest / bare.longest
    figures = f"{waits.seconds:.1f} | {waits.added:,} | {waits.failed} | {waits.longest:.2f} | {ratio:.1f}"
    print(f"| {what} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
