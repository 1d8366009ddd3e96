"""The bare baselines: only the libraries, without checks, model or audit log.

`bare.py load FILE DB` decodes NDJSON with msgspec, hashes it and loads it with the store's indexes and FTS5.
`bare.py dump DB FILE` selects and encodes every row.
`bare.py notes FOLDER DB` reads, hashes and inserts every note of a folder. `bare.py copy FOLDER OUT` writes them again.
"""

import hashlib
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import msgspec


class Wire(msgspec.Struct):
    """A line of NDJSON."""

    content: str
    id: str
    tree: str
    meta: msgspec.Raw


_TABLES = (
    "CREATE TABLE records (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, tree TEXT, tags TEXT, title TEXT, meta TEXT,"
    " created_at INTEGER, content_hash BLOB, content TEXT);"
    "CREATE UNIQUE INDEX records_id ON records (id);"
    "CREATE VIRTUAL TABLE record_text USING fts5 (content, title, tags, tree, content='records',"
    " content_rowid='seq', tokenize='unicode61 remove_diacritics 2');"
    "INSERT INTO record_text (record_text, rank) VALUES ('hashsize', 33554432)"
)
_INSERT = "INSERT INTO records (id, tree, meta, created_at, content_hash, content) VALUES (?, ?, ?, ?, ?, ?)"


def fill(rows: Iterable[tuple[Any, ...]], database: str) -> None:
    """Insert rows a thousand at a time, then build the other indexes and the full text."""
    db = apsw.Connection(database)
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "wal_autocheckpoint=10000", "temp_store=FILE"):
        db.execute(f"PRAGMA {pragma}").fetchall()
    db.execute(_TABLES)
    waiting = iter(rows)
    while batch := list(islice(waiting, 1000)):
        with db:
            db.executemany(_INSERT, batch)
    with db:
        db.execute("CREATE INDEX records_content ON records (substr(content_hash, 1, 8))")
        db.execute("CREATE INDEX records_created ON records (created_at, id)")
        db.execute("CREATE INDEX records_tree ON records (tree)")
        db.execute("CREATE INDEX records_counted ON records (tags)")
    with db:
        db.execute("INSERT INTO record_text (record_text, rank) VALUES ('automerge', 0)")
        db.execute(
            "INSERT INTO record_text (rowid, content, title, tags, tree)"
            " SELECT seq, content, title, tags, tree FROM records"
        )
    db.close()


def load(source: str, database: str) -> None:
    """Load NDJSON into SQLite as fast as the libraries can."""
    decode = msgspec.json.Decoder(Wire).decode

    def rows() -> Iterator[tuple[Any, ...]]:
        with open(source, "rb") as file:
            for number, line in enumerate(file):
                wire = decode(line)
                digest = hashlib.sha256(wire.content.encode()).digest()
                yield wire.id, wire.tree, bytes(wire.meta).decode(), number, digest, wire.content

    fill(rows(), database)


def dump(database: str, target: str) -> None:
    """Select and encode all rows in the order of an export."""
    db = apsw.Connection(database)
    encode = msgspec.json.Encoder().encode_into
    buffer = bytearray()
    rows: Any = db.execute("SELECT id, content, meta, tree FROM records ORDER BY created_at, id")
    with open(target, "wb") as out:
        for id, content, meta, tree in rows:
            encode({"id": id, "content": content, "meta": msgspec.Raw(meta.encode()), "tree": tree}, buffer, -1)
            buffer += b"\n"
            if len(buffer) > 1 << 16:
                out.write(buffer)
                buffer.clear()
        out.write(buffer)


def notes(folder: str, database: str) -> None:
    """Read, hash and insert every note of a folder."""

    def rows() -> Iterator[tuple[Any, ...]]:
        for number, path in enumerate(sorted(Path(folder).rglob("*.md"))):
            text = path.read_bytes()
            yield str(path), "", None, number, hashlib.sha256(text).digest(), text.decode()

    fill(rows(), database)


def copy(folder: str, target: str) -> None:
    """Write every note of a folder again."""
    texts = {path.relative_to(folder): path.read_bytes() for path in sorted(Path(folder).rglob("*.md"))}
    for path, text in texts.items():
        place = Path(target) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text)


if __name__ == "__main__":
    {"load": load, "dump": dump, "notes": notes, "copy": copy}[sys.argv[1]](*sys.argv[2:])
