"""What is asked in the search benchmarks: memglot in each mode and, beside it, plain FTS5 in a bare script."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from memglot import Memory

MODES = ("fulltext", "semantic", "hybrid")
PLAIN = "plain FTS5"
MEBIBYTE = 1 << 20

# Words that say nothing of what is looked for. Only the bare script uses them.
STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be been before being but by can could did do does doing done for
    from had has have having he her hers him his how i if in into is it its just me might more most much must my no not
    of on or our out over own s shall she should so some such t than that the their them then there these they this
    those through to too under until up us very was we were what when where which while who whom whose why will with
    would you your""".split()
)

Find = Callable[[str, int], list[str]]


class Times(NamedTuple):
    """How long one search took, in milliseconds."""

    p50: float
    p95: float
    mean: float


class Sizes(NamedTuple):
    """What a store takes on the disk, in bytes: all of it, its full text, its vectors."""

    store: int
    text: int
    vectors: int

    def of(self, mode: str) -> int:
        """What the index of a mode takes."""
        return {"semantic": self.vectors, "hybrid": self.text + self.vectors}.get(mode, self.text)


class Plain:
    """FTS5 as anyone would set it up: one column, porter, stop words out of the query, the other words joined by OR."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.db = apsw.Connection(str(path))
        self.db.execute("CREATE VIRTUAL TABLE notes USING fts5 (text, tokenize='porter unicode61 remove_diacritics 2')")
        self._keys: list[str] = []

    def add(self, texts: Iterable[tuple[str, str]]) -> None:
        """Keep texts under keys of the caller's."""
        with self.db:
            for key, text in texts:
                self._keys.append(key)
                self.db.execute("INSERT INTO notes (rowid, text) VALUES (?, ?)", (len(self._keys), text))

    def find(self, query: str, limit: int) -> list[str]:
        """The keys of the best texts."""
        match = any_word(query)
        rows: Any = self.db.execute("SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT ?", (match, limit))
        return [self._keys[number - 1] for (number,) in rows]


class Ours:
    """A store of memglot, asked through its public face; memories go by keys of the caller's."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.memory = Memory.open(path)
        self._keys: dict[str, str] = {}

    def add(self, key: str, content: str, **fields: Any) -> None:
        """Keep a memory."""
        self._keys[self.memory.add(content, **fields).id] = key

    def finder(self, mode: str) -> Find:
        """What asks in one mode."""

        def find(query: str, limit: int) -> list[str]:
            return [self._keys[hit.id] for hit in self.memory.search(query, limit=limit, mode=mode)]

        return find


def any_word(query: str) -> str:
    """An FTS5 query for texts with any of the words; where all are stop words, with any of those."""
    words = re.findall(r"\w+", query.lower())
    return " OR ".join(f'"{word}"' for word in [word for word in words if word not in STOP_WORDS] or words)


def timed(find: Find, query: str, limit: int, taken: list[float]) -> list[str]:
    """Ask, and note how many milliseconds it took."""
    start = time.perf_counter()
    found = find(query, limit)
    taken.append((time.perf_counter() - start) * 1000)
    return found


def times(taken: list[float]) -> Times:
    """The middle one, and the one that 19 of 20 stay below."""
    return Times(statistics.median(taken), statistics.quantiles(taken, n=20)[-1], statistics.fmean(taken))


def sizes(path: Path) -> Sizes:
    """Measure a store's file, page by page."""
    db = apsw.Connection(str(path))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    rows: Any = db.execute("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%fts5%'")
    # The texts themselves, which FTS5 keeps where nobody else does, are no index.
    texts = {f"{name}_{part}" for (name,) in rows for part in ("data", "idx", "docsize", "config")}
    pages: Any = db.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
    taken: dict[str, int] = dict(pages)
    text = sum(size for name, size in taken.items() if name in texts)
    vectors = sum(size for name, size in taken.items() if "vector" in name)
    db.close()
    return Sizes(sum(taken.values()), text, vectors)
