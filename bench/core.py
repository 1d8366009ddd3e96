"""Measure the speed and memory of import, export and start-up against bare scripts in the same run.

Times are CPU times of the complete process including start-up; each figure is the best of three. Run it with
`make bench`.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from records import array, ndjson

HERE = Path(__file__).parent
DATA = HERE / "data"
BARE = str(HERE / "bare.py")
REPEAT = 3


class Cost(NamedTuple):
    """CPU time and peak memory of a process."""

    cpu: float
    peak: float


def run(*command: str | Path) -> Cost:
    """Run a command, discard its output, and return what it used."""
    pid = os.fork()
    if pid == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.execv(str(command[0]), [str(part) for part in command])
    _, status, used = os.wait4(pid, 0)
    if status:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def python(*arguments: str | Path) -> Cost:
    """Run a script."""
    return run(sys.executable, *arguments)


def memglot(store: Path, *arguments: str | Path) -> Cost:
    """Run the command line on a store."""
    return run(sys.executable, "-m", "memglot", "--store", store, *arguments)


def compare(what: str, bare: Callable[[], Cost], ours: Callable[[], Cost]) -> None:
    """Run two commands alternately, so that a slow phase of the machine affects both, and print the best of each."""
    pairs = [(bare(), ours()) for _ in range(REPEAT)]
    row(what, *(min(costs, key=lambda cost: cost.cpu) for costs in zip(*pairs, strict=True)))


def main() -> None:
    """Measure and print a table."""
    first = ndjson(DATA / "200k.ndjson", 200_000)
    more = ndjson(DATA / "200k-more.ndjson", 200_000, first=200_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
        print("| what | bare, s | memglot, s | ratio | peak, MiB |\n|---|---|---|---|---|")
        speed(folder, first, more)
        if "--speed" in sys.argv:
            return
        print("\n| memory | peak, MiB |\n|---|---|")
        memory(folder)


def speed(folder: Path, first: Path, more: Path) -> None:
    """Measure import, export and start-up."""
    store, bare_store = folder / "store.db", folder / "bare.db"

    def load() -> Cost:
        clear(bare_store)
        return python(BARE, "load", first, bare_store)

    def fill() -> Cost:
        clear(store)
        return memglot(store, "import", first, "--json", "--no-embed")

    compare("import 200k into an empty store", load, fill)
    kept = folder / "kept.db"
    shutil.copy(store, kept)

    def add() -> Cost:
        clear(store)
        shutil.copy(kept, store)
        return memglot(store, "import", more, "--json", "--no-embed")

    compare("import 200k into one of 200k", load, add)

    def again() -> Cost:
        clear(store)
        shutil.copy(kept, store)
        return memglot(store, "import", first, "--quiet", "--no-embed")

    compare("import the same 200k again (compared with the first time)", fill, again)

    def embed() -> Cost:
        clear(store)
        shutil.copy(kept, store)
        return memglot(store, "embed")

    compare("build vectors of 200k (compared with importing them)", fill, embed)
    clear(store)
    shutil.copy(kept, store)
    out = folder / "out.ndjson"
    compare(
        "export 200k to NDJSON",
        lambda: python(BARE, "dump", bare_store, out),
        lambda: memglot(store, "export", out, "--force"),
    )

    def idle() -> Cost:
        return python("-c", "pass")

    compare("`memglot --help`", idle, lambda: run(sys.executable, "-m", "memglot", "--help"))
    compare("`memglot stats` on 200k", idle, lambda: memglot(store, "stats"))
    compare("`memglot search` of two words on 200k", idle, lambda: memglot(store, "search", "ba cedi"))


def memory(folder: Path) -> None:
    """Measure the peak memory of importing larger and larger files."""
    for count in (100_000, 1_000_000):
        lines = ndjson(DATA / f"{count}.ndjson", count)
        for path in (lines, array(DATA / f"{count}.json", lines)):
            store = folder / "large.db"
            clear(store)
            cost = memglot(store, "import", path, "--json", "--no-embed")
            print(f"| import of {count:,} from `{path.suffix}` | {cost.peak:.0f} |", flush=True)
            counting = memglot(store, "stats")
            print(f"| stats of {count:,} ({counting.cpu:.2f} s of CPU) | {counting.peak:.0f} |", flush=True)
            if path.suffix == ".ndjson":
                for format in ("ndjson", "yaml"):
                    cost = memglot(store, "export", folder / f"large.{format}", "--force")
                    print(f"| export of {count:,} to {format} | {cost.peak:.0f} |", flush=True)


def clear(store: Path) -> None:
    """Remove a store."""
    for suffix in ("", "-wal", "-shm"):
        store.with_name(store.name + suffix).unlink(missing_ok=True)


def row(what: str, bare: Cost, ours: Cost) -> None:
    """Print one line of the table."""
    print(f"| {what} | {bare.cpu:.3f} | {ours.cpu:.3f} | {bare.cpu / ours.cpu:.2f} | {ours.peak:.0f} |", flush=True)


if __name__ == "__main__":
    main()
