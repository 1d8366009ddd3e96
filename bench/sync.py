"""Measure memories.json in the same run: against NDJSON, diff against reading, encryption against none.

Times are CPU times of the complete process including start-up, best of three alternating runs. Run it with
`make bench-sync`.
"""

from __future__ import annotations

import os
import platform
import tempfile
from pathlib import Path

from core import DATA, Cost, clear, compare, memglot, python
from records import ndjson

COUNT, SECRET = 100_000, 10_000
_READ = """
import sys
from memglot.formats import registry
from memglot.formats.base import ReadOptions
from memglot.formats.core.read import read_items
from memglot.report import Report
for path in sys.argv[1:]:
    for item in read_items([path], registry.get("memories-json"), Report(), ReadOptions()):
        pass
"""


def main() -> None:
    """Measure and print a table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
        print("| what | baseline, s | memglot, s | ratio | peak, MiB |\n|---|---|---|---|---|")
        exchange(folder)
        encryption(folder)


def exchange(folder: Path) -> None:
    """Compare export and import with NDJSON, and a diff of two files with reading them."""
    lines = ndjson(DATA / f"own-{COUNT}.ndjson", COUNT)
    store, other = folder / "store.db", folder / "other.db"
    out, file, second = folder / "out.ndjson", folder / "memories.json", folder / "second.json"
    memglot(store, "import", lines, "--json", "--no-embed")
    compare(
        f"export {COUNT:,} (baseline: to NDJSON)",
        lambda: memglot(store, "export", out, "--force"),
        lambda: memglot(store, "sync", "export", f"--out={file}"),
    )
    memglot(store, "sync", "export", f"--out={second}")

    def load(*arguments: str | Path) -> Cost:
        clear(other)
        return memglot(other, *arguments)

    compare(
        f"import {COUNT:,} (baseline: from NDJSON)",
        lambda: load("import", lines, "--json", "--no-embed"),
        lambda: load("sync", "import", f"--from={file}", "--json", "--no-embed"),
    )
    compare(
        f"import the same {COUNT:,} again (baseline: from NDJSON)",
        lambda: memglot(other, "import", lines, "--json", "--no-embed"),
        lambda: memglot(other, "sync", "import", f"--from={file}", "--json", "--no-embed"),
    )
    compare(
        f"diff of two files of {COUNT:,} (baseline: reading both)",
        lambda: python("-c", _READ, file, second),
        lambda: memglot(store, "diff", file, second),
    )


def encryption(folder: Path) -> None:
    """Compare an encrypted export of a sensitive scope with the same export without encryption."""
    store, key = folder / "secret.db", folder / "key"
    key.write_text("correct horse battery staple\n")
    memglot(store, "import", ndjson(DATA / f"own-{SECRET}.ndjson", SECRET), "--json", "--no-embed")
    memglot(store, "scope", "sensitive", "user")
    clear_file, sealed = folder / "clear.json", folder / "sealed.json"
    compare(
        f"encrypt {SECRET:,} memories (baseline: without encryption)",
        lambda: memglot(store, "sync", "export", f"--out={clear_file}", "--plaintext"),
        lambda: memglot(store, "sync", "export", f"--out={sealed}", f"--passphrase-file={key}"),
    )


if __name__ == "__main__":
    main()
