"""Stores with damaged bytes, and an independent reading of the rows that are left."""

from __future__ import annotations

import io
import json
import random
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from memglot import Memory
from memglot.cli.main import run
from memglot.cli.session import Session

PAGE = 4096
MEMORIES = 2_000
WORDS = "alpha beta gamma delta queue task project memory index naïve Straße 重跑 garden cat".split()
COLUMNS = (
    "id, title, kind, scope, tree, tags, meta, temporal_start, temporal_end, status, created_at, updated_at, "
    "other_fields, content_hash, digest, batch, content"
)
ID, CONTENT = 0, 16
"""Positions of two columns."""
KINDS = ("bytes", "run", "page", "zeros", "tail", "header")


def id_of(number: int) -> str:
    """Return the id of a memory."""
    return f"0194a000-{number:04x}-7000-8000-{number:012d}"


def build(path: Path) -> None:
    """Create a store with memories, relations, deletions and edits."""
    source = random.Random(5)
    lines = []
    for number in range(MEMORIES):
        length = 1_500 if number % 100 == 0 else source.choice([8, 20, 40, 80])
        text = " ".join(source.choice(WORDS) for _ in range(length))
        lines.append(
            json.dumps(
                {
                    "id": id_of(number),
                    "content": f"Memory {number}: {text}",
                    "tree": f"work.part{number % 7}",
                    "tags": [f"t{number % 5}"],
                    "meta": {"number": number},
                }
            )
        )
    notes = path.with_suffix(".ndjson")
    notes.write_text("\n".join(lines))
    with Memory.open(path) as memory:
        memory.import_from(notes)
        for number in range(300):
            memory.link(id_of(number), "about", id_of(number + 1_000))
        for number in range(60):
            memory.update(id_of(number * 7), content=f"Changed memory {number}")
        memory.delete(*(id_of(1_900 + number) for number in range(20)))
        memory.add_entity("Ada", "person")
    # A clean close leaves one file.
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = DELETE")
    db.close()


def damage(path: Path, kind: str, source: random.Random) -> str:
    """Overwrite some bytes of a file, and return what was done."""
    content = bytearray(path.read_bytes())
    size = len(content)
    if kind == "bytes":
        places = [source.randrange(size) for _ in range(source.choice([1, 2, 5, 20, 60]))]
        for place in places:
            content[place] ^= source.randrange(1, 256)
        done = f"bytes at {places}"
    elif kind == "run":
        place, length = source.randrange(size), source.choice([8, 64, 500, 3_000, 20_000])
        content[place : place + length] = source.randbytes(min(length, size - place))
        done = f"{length} bytes at {place}"
    elif kind in ("page", "zeros"):
        pages = [source.randrange(1, size // PAGE) for _ in range(source.choice([1, 1, 2, 5]))]
        for page in pages:
            content[page * PAGE : (page + 1) * PAGE] = source.randbytes(PAGE) if kind == "page" else bytes(PAGE)
        done = f"pages {pages} as {kind}"
    elif kind == "tail":
        left = source.randrange(size // 4, size - 1)
        del content[left:]
        done = f"cut at {left}"
    else:
        length = source.choice([16, 100])
        content[:length] = bytes(length)
        done = f"zeroed {length} bytes of the header"
    path.write_bytes(content)
    return f"{kind}: {done}"


def rows_of(path: Path, numbers: Sequence[int] = ()) -> dict[int, tuple[object, ...]]:
    """Return the rows of memories that SQLite can read, by number, reading each by itself."""
    found: dict[int, tuple[object, ...]] = {}
    db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    try:
        for number in numbers or [number for (number,) in db.execute("SELECT seq FROM records")]:
            try:
                rows = db.execute(f"SELECT {COLUMNS} FROM records WHERE seq = ?", (number,)).fetchall()
            except (sqlite3.Error, MemoryError):
                continue
            if rows:
                found[number] = rows[0]
    finally:
        db.close()
    return found


def readable(rows: dict[int, tuple[object, ...]], original: dict[int, tuple[object, ...]]) -> set[str]:
    """Return the ids of the rows that still have their id and a text."""
    found = set()
    for number, row in rows.items():
        is_right = number in original and row[ID] == original[number][ID]
        if is_right and isinstance(row[CONTENT], str) and row[CONTENT]:
            found.add(str(row[ID]))
    return found


def memglot(path: Path, *arguments: str) -> tuple[int, str]:
    """Run a command on a store in this process; return its exit code and all its output."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape", write_through=True)
    before = sys.stdin
    with redirect_stdout(out), redirect_stderr(out):
        sys.stdin = io.StringIO()
        try:
            code = run(Session(), ["--store", str(path), *arguments])
        finally:
            sys.stdin = before
    out.seek(0)
    return code, out.read()
