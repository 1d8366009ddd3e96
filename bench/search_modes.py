"""What the search benchmarks compare: memglot in each mode, and plain FTS5 in a bare script."""

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

# Stop words. Only the bare script uses them.
STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be been before being but by can could did do does doing done for
    from had has have having he her hers him his how i if in into is it its just me might more most much must my no not
    of on or our out over own s shall she should so some such t than that the their them then there these they this
    those through to too under until up us very was we were what when where which while who whom whose why will with
    would you your""".split()
)

Find = Callable[[str, int], list[str]]


class Times(NamedTuple):
    """Median and 95th percentile of search times, in milliseconds."""

    p50: float
    p95: float
    mean: float


class Sizes(NamedTuple):
    """Sizes on disk in bytes: the complete store, its full-text index, its vectors."""

    store: int
    text: int
    vectors: int

    def of(self, mode: str) -> int:
        """Return the size of the index that a mode uses."""
        return {"semantic": self.vectors, "hybrid": self.text + self.vectors}.get(mode, self.text)


class Plain:
    """FTS5 with common settings: one column, porter stemmer, a query without stop words, joined by OR."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.db = apsw.Connection(str(path))
        self.db.execute("CREATE VIRTUAL TABLE notes USING fts5 (text, tokenize='porter unicode61 remove_diacritics 2')")
        self._keys: list[str] = []

    def add(self, texts: Iterable[tuple[str, str]]) -> None:
        """Add texts with the caller's keys."""
        with self.db:
            for key, text in texts:
                self._keys.append(key)
                self.db.execute("INSERT INTO notes (rowid, text) VALUES (?, ?)", (len(self._keys), text))

    def find(self, query: str, limit: int) -> list[str]:
        """Return the keys of the best texts."""
        match = any_word(query)
        rows: Any = self.db.execute("SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT ?", (match, limit))
        return [self._keys[number - 1] for (number,) in rows]


class Ours:
    """A memglot store, searched through its public API; the caller identifies memories by its own keys."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.memory = Memory.open(path)
        self._keys: dict[str, str] = {}

    def add(self, key: str, content: str, **fields: Any) -> None:
        """Add a memory."""
        self._keys[self.memory.add(content, **fields).id] = key

    def finder(self, mode: str) -> Find:
        """Return a function that searches in one mode."""

        def find(query: str, limit: int) -> list[str]:
            return [self._keys[hit.id] for hit in self.memory.search(query, limit=limit, mode=mode)]

        return find


def any_word(query: str) -> str:
    """Return an FTS5 query for texts with any of the words; stop words count only if there are no others."""
    words = re.findall(r"\w+", query.lower())
    return " OR ".join(f'"{word}"' for word in [word for word in words if word not in STOP_WORDS] or words)


def timed(find: Find, query: str, limit: int, taken: list[float]) -> list[str]:
    """Search, and record the time in milliseconds."""
    start = time.perf_counter()
    found = find(query, limit)
    taken.append((time.perf_counter() - start) * 1000)
    return found


def times(taken: list[float]) -> Times:
    """Return the median and the 95th percentile."""
    return Times(statistics.median(taken), statistics.quantiles(taken, n=20)[-1], statistics.fmean(taken))


def sizes(path: Path) -> Sizes:
    """Measure the file of a store, page by page."""
    db = apsw.Connection(str(path))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    rows: Any = db.execute("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%fts5%'")
    # Do not count the texts themselves, which FTS5 stores if no other table does.
    texts = {f"{name}_{part}" for (name,) in rows for part in ("data", "idx", "docsize", "config")}
    pages: Any = db.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
    taken: dict[str, int] = dict(pages)
    text = sum(size for name, size in taken.items() if name in texts)
    vectors = sum(size for name, size in taken.items() if "vector" in name)
    db.close()
    return Sizes(sum(taken.values()), text, vectors)
