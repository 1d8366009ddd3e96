"""The index of a store: its nodes and relations in SQLite, updated by reading only the files that changed.

It is generated, is in `.memory/index/`, and may be deleted at any time. If it cannot be written, it is kept in memory.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import msgspec

from memglot.files import sqlite_files
from memglot.project.storage.faults import FileFault, special_file
from memglot.project.storage.paths import INDEX, NODES, RELATIONS
from memglot.project.storage.reader import StoreReader
from memglot.project.tokenize import spaced_text

FILE = f"{INDEX}/memglot.sqlite"
"""Path of the index below `.memory`."""
_VERSION = 2
_BUSY_MILLISECONDS = 10_000
_SCHEMA = """
CREATE TABLE files (path TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE nodes (
    seq INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, id TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL,
    title TEXT NOT NULL, body_path TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, stage TEXT,
    anchors TEXT NOT NULL, tags TEXT NOT NULL, intent TEXT NOT NULL, sidecar BLOB NOT NULL, body BLOB
);
CREATE INDEX nodes_by_id ON nodes (id);
CREATE INDEX nodes_by_body ON nodes (body_path);
CREATE TABLE links (
    path TEXT PRIMARY KEY, id TEXT NOT NULL, subject TEXT NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL,
    status TEXT NOT NULL, fields BLOB NOT NULL
);
CREATE INDEX links_by_id ON links (id);
CREATE INDEX links_by_subject ON links (subject, predicate, object);
CREATE INDEX links_by_object ON links (object);
CREATE TABLE faults (path TEXT NOT NULL, issue BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(
    title, body, tags, anchors, evidence,
    content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
);
"""
_FIND = """
SELECT rowid, bm25(words, 4.0, 1.0, 5.0, 3.0, 1.0) AS score FROM words WHERE words MATCH ? ORDER BY score LIMIT 400
"""


_SETTLED_NANOSECONDS = 2_000_000_000
"""A file changed less than this long ago may change again with the same times: some file systems store only seconds."""
Stamp = str
"""Differs between two versions of a file; empty if the file changed too recently to tell."""


class Index:
    """An open index. `kept` is True if it is on disk, and False if it is in memory, for this process only."""

    def __init__(self, folder: Path, *, keep: bool = True) -> None:
        self.folder = folder
        self.kept = keep
        self.db = self._open() if keep else self._in_memory()

    def _open(self) -> apsw.Connection:
        place = self.folder / FILE
        if any(file.is_symlink() for file in sqlite_files(place)):
            drop_index(self.folder)  # A repository may contain a link to another database.
        for attempt in range(2):
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                db = apsw.Connection(str(place))
                db.set_busy_timeout(_BUSY_MILLISECONDS)
                self._prepare(db)
                return db
            except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError):
                # Damaged, or of another version: it is generated, so it is built again.
                if attempt == 0:
                    self._remove()
            except (apsw.Error, OSError, UnicodeEncodeError):
                break
        return self._in_memory()

    def _prepare(self, db: apsw.Connection) -> None:
        version = db.pragma("user_version")
        if version not in (0, _VERSION):
            raise apsw.SQLError("an index of another version")
        if version == 0:
            db.pragma("journal_mode", "wal")
            with _writing(db):
                if db.pragma("user_version") == 0:
                    db.execute(_SCHEMA)
                    db.pragma("user_version", _VERSION)

    def _in_memory(self) -> apsw.Connection:
        self.kept = False
        db = apsw.Connection(":memory:")
        self._prepare(db)
        return db

    def _remove(self) -> None:
        drop_index(self.folder)

    def close(self) -> None:
        """Close the index."""
        self.db.close()

    def refresh(self, paths: Iterable[str] | None = None) -> None:
        """Update the index from the files; if `paths` are given, no others have changed.

        If it is damaged, or others hold it too long, it is replaced by one that reads all files again.
        """
        try:
            self._refresh(paths)
        except apsw.Error as error:
            if not self.kept:
                raise
            self.close()
            if isinstance(error, apsw.BusyError):
                self.db = self._in_memory()
            else:
                self._remove()
                self.db = self._open()
            self._refresh(None)

    def _refresh(self, paths: Iterable[str] | None) -> None:
        if self.db.in_transaction:
            self.db.execute("COMMIT")
        if paths is not None:
            wanted = [path for path in paths if path.startswith((NODES + "/", RELATIONS + "/"))]
            present = self._stamps(wanted)
            self._update(set(present), set(wanted) - present.keys(), present, {})
            return
        present, unsafe = self._survey()
        known: dict[str, Stamp] = dict(self.db.execute("SELECT path, stamp FROM files"))
        touched = {path for path, stamp in present.items() if not stamp or known.get(path) != stamp}
        self._update(touched, known.keys() - present.keys(), present, unsafe)

    def _survey(self) -> tuple[dict[str, Stamp], dict[str, FileFault]]:
        """Return the stamps of all files of nodes and relations, and the faults of those that must not be read."""
        now = time.time_ns()
        unsafe: dict[str, FileFault] = {}

        def refuse(fault: FileFault) -> None:
            # The name of a file may not be UTF-8, and SQLite stores only text that is.
            unsafe[os.fsencode(fault.path).decode(errors="replace")] = fault

        present: dict[str, Stamp] = {}
        reader = StoreReader(self.folder)
        for below in (NODES, RELATIONS):
            for path, entry in reader.walk(below, on_fault=refuse, ordered=False):
                if not path.endswith((".json", ".md")):
                    continue
                if entry.is_file():
                    try:
                        present[path] = _stamp_of(entry.stat(), now)
                    except FileNotFoundError:
                        continue  # Somebody removed it since.
                elif not entry.is_dir():
                    refuse(special_file(path))
        present.update(dict.fromkeys(unsafe, ""))
        return present, unsafe

    def _stamps(self, paths: Iterable[str]) -> dict[str, Stamp]:
        """Return the stamps of those of these files that are there."""
        now = time.time_ns()
        present: dict[str, Stamp] = {}
        for path in paths:
            with suppress(FileNotFoundError, NotADirectoryError):
                present[path] = _stamp_of(os.lstat(self.folder / path), now)
        return present

    def _update(
        self, touched: set[str], gone: set[str], present: dict[str, Stamp], unsafe: dict[str, FileFault]
    ) -> None:
        if touched or gone:
            from memglot.project.index_reader import IndexUpdate

            with _writing(self.db):
                IndexUpdate(self.db, self.folder, unsafe).apply(touched, gone, present)

    def rebuild(self) -> None:
        """Delete the index, and read all files again."""
        if self.kept:
            self.close()
            self._remove()
            self.db = self._open()
        self.refresh()

    def rows(self, sql: str, *values: Any) -> Iterable[tuple[Any, ...]]:
        """Return the rows of an SQL query."""
        return self.db.execute(sql, values)

    def find(self, terms: list[str], beginnings: Iterable[str] = ()) -> list[tuple[int, float]]:
        """Return the nodes with any of these words or beginnings of words, by their place in the index.

        Each has its bm25 score: the smaller the better.
        """
        wanted = [_phrase(term) for term in terms] + [_phrase(word) + "*" for word in beginnings if word]
        rows = self.db.execute(_FIND, (" OR ".join(wanted),)) if wanted else ()
        return [(int(seq), float(score)) for seq, score in rows]

    def counts(self, terms: list[str]) -> tuple[dict[str, int], int]:
        """Return the number of nodes with each of some words, and the number of all nodes."""
        having = {}
        for term in terms:
            ((having[term],),) = self.db.execute("SELECT count(*) FROM words WHERE words MATCH ?", (_phrase(term),))
        ((all,),) = self.db.execute("SELECT count(*) FROM nodes")
        return having, int(all)


def drop_index(folder: Path) -> None:
    """Remove the index of a `.memory` folder; it is built again when needed."""
    for file in sqlite_files(folder / FILE):
        with suppress(OSError):
            file.unlink(missing_ok=True)


def _stamp_of(found: os.stat_result, now: int) -> Stamp:
    changed = found.st_ctime_ns
    return "" if changed > now - _SETTLED_NANOSECONDS else f"{changed}:{found.st_size}:{found.st_ino}"


def _phrase(term: str) -> str:
    return '"' + spaced_text(term).strip() + '"'


@contextmanager
def _writing(db: apsw.Connection) -> Iterator[None]:
    """Open a transaction that may write from its start: one that asks for that later may be refused at once."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def decoded(text: str) -> tuple[str, ...]:
    """Return a list of texts from its form in the index."""
    return tuple(msgspec.json.decode(text, type=list[str])) if text != "[]" else ()
