"""Measure search times in stores of ten thousand to a million memories against a bare FTS5 query of the same terms.

The memories are random words with a natural frequency distribution; they are imported from NDJSON and embedded by
`Memory.embed()`. The bare query searches the same texts in a separate FTS5 table and file: `ORDER BY rank LIMIT 10`,
the terms joined by OR, as memglot does, and once more joined by AND.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import apsw
import msgspec
from core import DATA
from records import words
from search_modes import MEBIBYTE, Find, Times, sizes, timed, times

from memglot import Memory

VOCABULARY = 60_000
LIMIT = 10
QUERIES = 200
_ASK = f"SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT {LIMIT}"


def vocabulary() -> list[str]:
    """Return distinct words, the most common first."""
    source = random.Random(3)
    return list(dict.fromkeys(words(source, VOCABULARY * 2)))[:VOCABULARY]


def lines(count: int) -> Iterator[bytes]:
    """Yield memories of about 45 words as NDJSON lines."""
    source, known = random.Random(count), vocabulary()
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(known))))
    encode = msgspec.json.Encoder().encode
    for number in range(count):
        content = " ".join(source.choices(known, cum_weights=weights, k=source.randint(15, 75)))
        id = f"01950000-{number >> 16 & 0xFFFF:04x}-7000-8000-{number:012x}"
        yield encode({"id": id, "content": content, "tree": f"work.part{number % 97}"})


def file_of(count: int) -> Path:
    """Make a file of memories, unless it exists."""
    path = DATA / f"zipf-{count}.ndjson"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with open(part, "wb") as out:
            out.writelines(line + b"\n" for line in lines(count))
        part.rename(path)
    return path


def queries(seed: int = 5) -> list[str]:
    """Return queries of one to six words, common and rare, none of only the ten most common words."""
    source, known = random.Random(seed), vocabulary()
    found = []
    for number in range(QUERIES):
        ranks = [int(10 * (len(known) / 2 / 10) ** source.random()) for _ in range(number % 6 + 1)]
        found.append(" ".join(known[rank] for rank in dict.fromkeys(ranks)))
    return found


def bare(source: Path, path: Path) -> apsw.Connection:
    """Make a bare full-text table of the same texts."""
    db = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode=WAL").fetchall()
    db.execute(
        "CREATE VIRTUAL TABLE notes USING fts5 (text, content='', tokenize='porter unicode61 remove_diacritics 2');"
        "INSERT INTO notes (notes, rank) VALUES ('hashsize', 33554432)"
    )
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    with db, open(source, "rb") as file:
        db.executemany(
            "INSERT INTO notes (rowid, text) VALUES (?, ?)",
            ((number, decode(line)["content"]) for number, line in enumerate(file, 1)),
        )
    return db


def measure(count: int, modes: list[str], folder: Path) -> dict[str, Any]:
    """Search a store in every mode, alternating with the bare queries."""
    source, store = file_of(count), folder / f"{count}.db"
    db = bare(source, folder / f"bare-{count}.db")
    found: dict[str, Any] = {"count": count}
    with Memory.open(store) as memory:
        start = time.perf_counter()
        memory.import_from(source, embed=False)
        found["import_s"] = round(time.perf_counter() - start, 1)
        if modes != ["fulltext"]:
            start = time.perf_counter()
            memory.embed()
            found["embed_s"] = round(time.perf_counter() - start, 1)
    # Search as a user does: in a newly opened store, over one connection that stays open.
    with Memory.open(store, write=False) as memory:
        finders = {"bare, OR": _bare(db, " OR "), "bare, AND": _bare(db, " ")}
        finders |= {mode: _ours(memory, mode) for mode in modes}
        found |= {name: taken._asdict() for name, taken in _times(finders).items()}
    db.close()
    found["store_bytes"], found["text_bytes"], found["vector_bytes"] = sizes(store)
    return found


def _bare(db: apsw.Connection, joint: str) -> Find:
    def find(query: str, limit: int) -> list[str]:
        rows: Any = db.execute(_ASK, (joint.join(f'"{word}"' for word in query.split()),))
        return [str(row) for (row,) in rows]

    return find


def _ours(memory: Memory, mode: str) -> Find:
    def find(query: str, limit: int) -> list[str]:
        return [hit.id for hit in memory.search(query, limit=limit, mode=mode)]

    return find


def _times(finders: dict[str, Find]) -> dict[str, Times]:
    """Run each query in every way before the next one, so that a slow phase of the machine affects all."""
    taken: dict[str, list[float]] = {name: [] for name in finders}
    asked = queries()
    for query in asked[:12]:
        for find in finders.values():
            find(query, LIMIT)  # Load what is loaded on first use.
    for query in asked:
        for name, find in finders.items():
            timed(find, query, LIMIT, taken[name])
    return {name: times(values) for name, values in taken.items()}


def table(found: dict[str, Any]) -> str:
    """Return the figures as a table."""
    title = f"{found['count']:,} memories"
    rows = [[title, "p50, ms", "p95, ms", "mean, ms", "p50, times bare OR", "mean, times bare OR"], ["---"] * 6]
    plain = found["bare, OR"]
    for name, taken in found.items():
        if isinstance(taken, dict):
            times = [f"{taken[figure]:.2f}" for figure in ("p50", "p95", "mean")]
            rows.append([name, *times, *(f"{taken[figure] / plain[figure]:.2f}" for figure in ("p50", "mean"))])
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    parts = {"store": "store_bytes", "full text": "text_bytes", "vectors": "vector_bytes"}
    size = ", ".join(f"{name} {found[key] / MEBIBYTE:.0f} MiB" for name, key in parts.items())
    embedded = f", embedded in {found['embed_s']} s" if "embed_s" in found else ""
    return f"{text}\n\nImported in {found['import_s']} s{embedded}; {size}."
