"""Measure undo: of an import of half of a store's memories, and of the deletion and the move of a large branch.

Each line compares an undo with the command that it undoes, in CPU time of the complete process and in peak memory. Run
it with `make bench-undo`; an argument changes the number of memories, of which half are undone.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from pathlib import Path

from core import Cost, memglot
from records import ndjson

DATA = Path(__file__).parent / "data"
COUNT = 500_000


def main() -> None:
    """Measure and print a table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    half = count // 2
    first, second = ndjson(DATA / f"{half}.ndjson", half), ndjson(DATA / f"{half}-{half}.ndjson", half, half)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; {half:,} of {count:,}\n")
    print("| undo of | done, s | undone, s | ratio | peak of undo, MiB | of a tenth, MiB |\n" + "|---" * 6 + "|")
    small = ndjson(DATA / f"{half // 10}-{half}.ndjson", half // 10, half)
    with tempfile.TemporaryDirectory() as name:
        store, tenth = Path(name) / "store.db", Path(name) / "tenth.db"
        for path in (store, tenth):
            memglot(path, "import", first if path is store else small, "--tree", "kept", "--quiet", "--no-embed")
        quiet = ("--quiet", "--no-embed")
        commands: dict[str, list[str | Path]] = {
            "an import": ["import", second, "--tree", "moved", *quiet],
            "a move": ["move", "moved", "old", "--quiet"],
            "a deletion": ["delete-tree", "moved", "--quiet"],
        }
        for what, arguments in commands.items():
            if what == "a move":
                for path, source in ((store, second), (tenth, small)):
                    memglot(path, "import", source, "--tree", "moved", *quiet, "--allow-duplicates")
            done = memglot(store, *arguments)
            memglot(tenth, *(small if word == second else word for word in arguments))
            row(what, done, memglot(store, "undo", "--yes"), memglot(tenth, "undo", "--yes"))


def row(what: str, done: Cost, undone: Cost, tenth: Cost) -> None:
    """Print one line of the table."""
    ratio = undone.cpu / done.cpu
    figures = f"{done.cpu:.1f} | {undone.cpu:.1f} | {ratio:.2f} | {undone.peak:.0f} | {tenth.peak:.0f}"
    print(f"| {what} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
