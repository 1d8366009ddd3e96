"""Small databases in the shape of mcp-memory-service's own, one for each of its schemas."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Iterable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

DIMENSIONS = 4
CHUNK = 16
_MEMORIES = """CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, content_hash TEXT UNIQUE NOT NULL,
  content TEXT NOT NULL, tags TEXT, memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL,
  created_at_iso TEXT, updated_at_iso TEXT"""
_EVOLUTION = """ALTER TABLE memories ADD COLUMN parent_id TEXT;
ALTER TABLE memories ADD COLUMN version INTEGER DEFAULT 1;
ALTER TABLE memories ADD COLUMN confidence REAL DEFAULT 1.0;
ALTER TABLE memories ADD COLUMN last_accessed INTEGER;
ALTER TABLE memories ADD COLUMN superseded_by TEXT;
CREATE VIRTUAL TABLE memory_content_fts USING fts5(content, content='memories', content_rowid='id');
CREATE TABLE memory_graph (source_hash TEXT NOT NULL, target_hash TEXT NOT NULL, similarity REAL NOT NULL,
  connection_types TEXT NOT NULL, metadata TEXT, created_at REAL NOT NULL,
  relationship_type TEXT DEFAULT 'related', PRIMARY KEY (source_hash, target_hash));
"""
_SETTINGS = """CREATE TABLE metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO metadata VALUES ('distance_metric', 'cosine');
"""
SCHEMAS = {
    "5": f"{_MEMORIES});",
    "8": f"{_SETTINGS}{_MEMORIES});",
    "9": f"{_SETTINGS}{_MEMORIES}, deleted_at REAL DEFAULT NULL);",
    "10": f"{_SETTINGS}{_MEMORIES}, deleted_at REAL DEFAULT NULL);{_EVOLUTION}",
    "12": f"""{_SETTINGS}{_MEMORIES}, deleted_at REAL DEFAULT NULL);{_EVOLUTION}
ALTER TABLE memories ADD COLUMN store TEXT DEFAULT 'default';
ALTER TABLE memories ADD COLUMN embedding_pending INTEGER NOT NULL DEFAULT 0;
CREATE TABLE beliefs (id INTEGER PRIMARY KEY AUTOINCREMENT, belief_hash TEXT UNIQUE NOT NULL, content TEXT NOT NULL);
CREATE TABLE sync_events (seq INTEGER PRIMARY KEY AUTOINCREMENT, agent_id TEXT, event_id TEXT NOT NULL,
  op TEXT NOT NULL, UNIQUE(agent_id, event_id));
CREATE TABLE oauth_clients (client_id TEXT PRIMARY KEY, client_secret TEXT);
""",
}


def hash_of(content: str) -> str:
    """The hash that the service gives a text."""
    return sha256(content.strip().lower().encode()).hexdigest()


def make_database(path: Path, schema: str, rows: Iterable[dict[str, Any]] = (), *, wal: bool = True) -> Path:
    """Make a database of a schema with these rows of `memories`."""
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(("PRAGMA journal_mode = WAL;" if wal else "") + SCHEMAS[schema])
        _add_vector_table(db, partitioned=schema == "12")
        for row in rows:
            add_memory(db, row)
    return path


def add_memory(db: sqlite3.Connection, row: dict[str, Any]) -> int:
    """Add a memory, with its vector if it has one; return its number."""
    given = {"content_hash": hash_of(str(row["content"])), "created_at": 1_700_000_000.5, "memory_type": "note", **row}
    vector = given.pop("vector", None)
    given.setdefault("updated_at", given["created_at"])
    if isinstance(given.get("metadata"), dict):
        given["metadata"] = json.dumps(given["metadata"])
    names = ", ".join(given)
    sql = f"INSERT INTO memories ({names}) VALUES ({', '.join('?' * len(given))})"
    number = db.execute(sql, tuple(given.values())).lastrowid
    assert number is not None
    if vector is not None:
        add_vector(db, number, vector)
    return number


def _add_vector_table(db: sqlite3.Connection, *, partitioned: bool) -> None:
    """Add the tables that the extension sqlite-vec makes, without the extension."""
    store = ", store TEXT partition key" if partitioned else ""
    more = "sequence_id integer,partition00," if partitioned else ""
    db.executescript(f"""
CREATE TABLE memory_embeddings_info (key text primary key, value any);
CREATE TABLE memory_embeddings_chunks(chunk_id INTEGER PRIMARY KEY AUTOINCREMENT, size INTEGER NOT NULL, {more}
  validity BLOB NOT NULL, rowids BLOB NOT NULL);
CREATE TABLE memory_embeddings_rowids(rowid INTEGER PRIMARY KEY AUTOINCREMENT, id, chunk_id INTEGER,
  chunk_offset INTEGER);
CREATE TABLE memory_embeddings_vector_chunks00(rowid PRIMARY KEY, vectors BLOB NOT NULL);
PRAGMA writable_schema = ON;
INSERT INTO sqlite_master VALUES ('table', 'memory_embeddings', 'memory_embeddings', 0,
  'CREATE VIRTUAL TABLE memory_embeddings USING vec0(content_embedding FLOAT[{DIMENSIONS}]{store})');
PRAGMA writable_schema = OFF;
""")


def add_vector(db: sqlite3.Connection, number: int, vector: tuple[float, ...]) -> None:
    """Add the vector of a memory in the first chunk with a free place."""
    (count,) = db.execute("SELECT count(*) FROM memory_embeddings_rowids").fetchone()
    chunk, offset = count // CHUNK + 1, count % CHUNK
    if offset == 0:
        empty = (chunk, CHUNK, bytes(CHUNK // 8), bytes(CHUNK * 8))
        db.execute("INSERT INTO memory_embeddings_chunks (chunk_id, size, validity, rowids) VALUES (?, ?, ?, ?)", empty)
        db.execute(
            "INSERT INTO memory_embeddings_vector_chunks00 VALUES (?, ?)", (chunk, bytes(CHUNK * DIMENSIONS * 4))
        )
    sql = "SELECT validity, rowids, vectors FROM memory_embeddings_chunks JOIN memory_embeddings_vector_chunks00 AS v "
    found = db.execute(sql + "ON v.rowid = chunk_id WHERE chunk_id = ?", (chunk,)).fetchone()
    validity, rowids, vectors = map(bytearray, found)
    validity[offset // 8] |= 1 << offset % 8
    struct.pack_into("<q", rowids, offset * 8, number)
    struct.pack_into(f"<{DIMENSIONS}f", vectors, offset * DIMENSIONS * 4, *vector)
    db.execute(
        "UPDATE memory_embeddings_chunks SET validity = ?, rowids = ? WHERE chunk_id = ?", (validity, rowids, chunk)
    )
    db.execute("UPDATE memory_embeddings_vector_chunks00 SET vectors = ? WHERE rowid = ?", (vectors, chunk))
    db.execute("INSERT INTO memory_embeddings_rowids VALUES (?, NULL, ?, ?)", (number, chunk, offset))


def export(path: Path) -> bytes:
    """Export a database as the service does."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        db.row_factory = sqlite3.Row
        rows = [dict(row) for row in db.execute("SELECT * FROM memories ORDER BY created_at DESC")]
    memories = [
        {
            "content": row["content"],
            "content_hash": row["content_hash"],
            "tags": [tag.strip() for tag in (row["tags"] or "").split(",") if tag.strip()],
            "created_at": row["created_at"],
            "updated_at": row["updated_at"],
            "memory_type": row["memory_type"],
            "metadata": json.loads(row["metadata"] or "{}"),
            **({"store": row["store"]} if "store" in row else {}),
            "export_source": "mill",
        }
        for row in rows
        if row.get("deleted_at") is None
    ]
    head = {"source_machine": "mill", "total_memories": len(memories), "exporter_version": "5.0.1"}
    return json.dumps({"export_metadata": head, "memories": memories}, indent=2, ensure_ascii=False).encode()
