"""mcp-memory-service's own database: every schema, at one moment, with all that its export leaves out."""

from __future__ import annotations

import io
import sqlite3
import struct
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from conftest import SHARED
from memglot import Memory
from memglot.errors import NotWritable
from memglot.formats.base import ReadOptions
from memglot.formats.core.read import read_items
from memglot.formats.core.source import Source
from memglot.formats.detect import detect
from memglot.formats.memoryd.tool_keys import service_id
from memglot.model import Blob, Embedding, Item, Record, Relation, Supersession
from memglot.report import Report
from service_databases import DIMENSIONS, SCHEMAS, add_memory, export, hash_of, make_database

FIXTURES = SHARED / "fixtures/mcp-memory-service-db"
ROWS: list[dict[str, Any]] = [
    {"content": "Tea is brewed at 80 °C", "tags": "drink, hot,drink", "vector": (1.0, 0.5, -2.0, 0.25)},
    {"content": "No type", "memory_type": None, "metadata": {"k": [1, None]}, "created_at": 0.0, "updated_at": 9.0},
    {"content": "Empty type", "memory_type": "", "tags": "", "created_at": 1_700_000_001.1234567},
    {"content": "Last", "metadata": "{not json", "tags": None, "vector": (0.0, 0.0, 0.0, 1.0)},
]


def read(path: Path | bytes) -> tuple[list[Item], Report]:
    report = Report()
    return list(read_items([path], None, report, ReadOptions())), report


def records(items: list[Item]) -> dict[str, Record]:
    return {item.content: item for item in items if isinstance(item, Record)}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_schema(schema: str, tmp_path: Path) -> None:
    items, report = read(make_database(tmp_path / "sqlite_vec.db", schema, ROWS))
    assert report.format == "mcp-memory-sqlite"
    assert not list(report.faults())
    found = records(items)
    assert list(found) == [row["content"] for row in ROWS]
    tea = found["Tea is brewed at 80 °C"]
    assert tea.id == service_id(hash_of(tea.content))
    assert tea.tags == ["drink", "hot"]
    assert (tea.kind, tea.created_at) == ("note", 1_700_000_000_500_000)
    assert found["No type"].meta == {"k": [1, None]}
    assert found["Last"].extra["mcp-memory"]["metadata"] == "{not json"
    vectors = {item.record: item for item in items if isinstance(item, Embedding)}
    assert vectors.keys() == {tea.id, found["Last"].id}
    assert vectors[tea.id].dimensions == DIMENSIONS
    assert vectors[tea.id].vector == struct.pack("<4f", 1.0, 0.5, -2.0, 0.25)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_database_and_export_are_the_same_memories(schema: str, tmp_path: Path, memory: Memory) -> None:
    path = make_database(tmp_path / "sqlite_vec.db", schema, ROWS[:3])
    (tmp_path / "export.json").write_bytes(export(path))
    assert memory.import_from(path).imported == 3
    second = memory.import_from(tmp_path / "export.json")
    assert (second.imported, second.conflicts, second.failed) == (0, 0, 0)
    third = memory.import_from(path)
    assert (third.imported, third.merged, third.conflicts) == (0, 0, 0)


@pytest.mark.skipif(not FIXTURES.is_dir(), reason="needs the shared fixtures")
@pytest.mark.parametrize("version", ["9.0.0", "10.59.0"])
def test_databases_of_the_real_service(version: str, memory: Memory) -> None:
    items, report = read(FIXTURES / f"{version}.db")
    exported, _ = read(FIXTURES / f"{version}-export.json")
    found = {item.id: item for item in items if isinstance(item, Record)}
    for record in exported:
        assert isinstance(record, Record)
        record.source = {}
        assert found[record.id] == record
    deleted = found.keys() - {record.id for record in exported if isinstance(record, Record)}
    assert len(deleted) == 8
    assert {found[id].status for id in deleted} == {"deleted"}
    assert len([item for item in items if isinstance(item, Embedding)]) == len(exported)
    assert len([item for item in items if isinstance(item, Relation)]) == (12 if version == "10.59.0" else 0)
    assert not any("vector" in note for note in report.notes)
    memory.import_from(FIXTURES / f"{version}.db")
    again = memory.import_from(FIXTURES / f"{version}-export.json")
    assert (again.imported, again.conflicts) == (0, 0)


def test_deletions_versions_and_graph(tmp_path: Path) -> None:
    old, new = hash_of("Tea at 90"), hash_of("Tea at 80")
    path = make_database(
        tmp_path / "sqlite_vec.db",
        "12",
        [
            {"content": "Tea at 90", "superseded_by": new, "confidence": 0.25, "last_accessed": 1_700_000_100},
            {"content": "Tea at 80", "parent_id": old, "version": 2, "store": "work", "embedding_pending": 1},
            {"content": "Coffee", "deleted_at": 1_700_000_200.5},
        ],
    )
    with closing(sqlite3.connect(path)) as db, db:
        edge = (new, old, 0.5, '["semantic"]', '{"why": 1}', 1_700_000_000.25, "contradicts")
        db.execute("INSERT INTO memory_graph VALUES (?, ?, ?, ?, ?, ?, ?)", edge)
        db.execute("INSERT INTO memory_graph VALUES ('', 'x', 1, '[]', NULL, 0, 'fixes')")
        db.execute("INSERT INTO beliefs VALUES (1, 'b1', 'Tea is hot')")
        db.execute("INSERT INTO sync_events VALUES (1, 'mill', 'e1', 'delete')")
        db.execute("INSERT INTO oauth_clients VALUES ('c', 'secret')")
        db.execute("CREATE TABLE plugin (name TEXT, state BLOB)")
        db.execute("INSERT INTO plugin VALUES ('clock', x'00ff')")
    items, report = read(path)
    found = records(items)
    assert (found["Tea at 90"].confidence, found["Tea at 90"].last_accessed) == (0.25, 1_700_000_100_000_000)
    assert found["Tea at 90"].extra["mcp-memory"] == {"store": "default"}
    assert found["Tea at 80"].extra["mcp-memory"] == {
        "store": "work",
        "parent_id": old,
        "version": 2,
        "embedding_pending": 1,
    }
    assert found["Coffee"].status == "deleted"
    assert found["Coffee"].extra["mcp-memory"]["deleted_at"] == 1_700_000_200.5
    chain = [item for item in items if isinstance(item, Supersession)]
    assert {(link.newer, link.older) for link in chain} == {(service_id(new), service_id(old))}
    (relation,) = [item for item in items if isinstance(item, Relation)]
    assert (relation.subject.id, relation.object.id) == (service_id(new), service_id(old))
    assert (relation.predicate, relation.weight, relation.meta) == ("contradicts", 0.5, {"why": 1})
    assert relation.extra["mcp-memory"] == {"connection_types": ["semantic"]}
    assert relation.created_at == 1_700_000_000_250_000
    blobs = {(item.table, item.key): item.row for item in items if isinstance(item, Blob)}
    assert blobs["beliefs", "b1"]["content"] == "Tea is hot"
    assert blobs["sync_events", '["mill","e1"]']["op"] == "delete"
    assert blobs["metadata", "distance_metric"] == {"key": "distance_metric", "value": "cosine"}
    assert [row["state"] for (table, _), row in blobs.items() if table == "plugin"] == [{"base64": "AP8="}]
    assert not [table for table, _ in blobs if table.startswith(("oauth", "memory_embeddings", "memory_content"))]
    assert report.notes == ["left out 1 table with credentials: oauth_clients"]
    (fault,) = report.faults()
    assert fault.error == "memory_graph: not a valid row: an end of the relation is missing"


def test_memories_that_memglot_exported_keep_their_ids(tmp_path: Path, memory: Memory) -> None:
    first = memory.add("Tea is hot").id
    memory.export(tmp_path / "out.json", format="mcp-memory-v5")
    (row,) = [item for item in read(tmp_path / "out.json")[0] if isinstance(item, Record)]
    hash = hash_of(row.content)
    given = {"content": row.content, "content_hash": hash, "metadata": {"memglot": {"id": first}}}
    path = make_database(tmp_path / "sqlite_vec.db", "10", [given, {"content": "Of the service"}])
    other = hash_of("Of the service")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO memory_graph VALUES (?, ?, 1, '[]', NULL, 0, 'fixes')", (other, hash))
        db.execute("UPDATE memories SET superseded_by = ? WHERE content_hash = ?", (hash, other))
    items, _ = read(path)
    assert records(items)["Tea is hot"].id == first
    (relation,) = [item for item in items if isinstance(item, Relation)]
    assert (relation.subject.id, relation.object.id) == (service_id(other), first)
    (link,) = [item for item in items if isinstance(item, Supersession)]
    assert (link.newer, link.older) == (first, service_id(other))


class Writer:
    """The service at work: another process that has a database open, and runs one statement at a time."""

    _PROGRAM = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
for line in sys.stdin:
    db.execute(line).fetchall()
    print("done", flush=True)
"""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", self._PROGRAM, str(path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, *statements: str) -> None:
        for statement in statements:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(statement + "\n")
            self._process.stdin.flush()
            assert self._process.stdout.readline() == "done\n"

    def close(self) -> None:
        self._process.communicate()


def test_open_database_is_read_at_one_moment(tmp_path: Path) -> None:
    """A writer with uncommitted rows neither blocks the reader nor is blocked by it."""
    path = make_database(tmp_path / "sqlite_vec.db", "10")
    insert = "INSERT INTO memories (content_hash, content) VALUES ('{0}', '{0}')"
    with closing(Writer(path)) as writer:
        writer.run(insert.format("committed"), "BEGIN IMMEDIATE", insert.format("open"))
        before = sorted(entry.name for entry in tmp_path.iterdir())
        report = Report()
        reading = read_items([path], None, report, ReadOptions())
        first = next(iter(reading))
        assert isinstance(first, Record)
        assert first.content == "committed"
        writer.run("COMMIT", "INSERT INTO metadata VALUES ('later', 'x')", "PRAGMA wal_checkpoint(PASSIVE)")
        rest = list(reading)
        assert not records(rest)
        assert [item.key for item in rest if isinstance(item, Blob)] == ["distance_metric"]
        assert sorted(entry.name for entry in tmp_path.iterdir()) == before
        assert list(records(read(path)[0])) == ["committed", "open"]
        assert not list(report.faults())


def test_open_database_without_changes(tmp_path: Path) -> None:
    """The log of an open database may be empty when reading begins."""
    path = make_database(tmp_path / "sqlite_vec.db", "10", ROWS[:2])
    with closing(Writer(path)) as writer:
        writer.run("SELECT count(*) FROM memories")
        reading = read_items([path], None, Report(), ReadOptions())
        next(iter(reading))
        writer.run("INSERT INTO metadata VALUES ('later', 'x')", "PRAGMA wal_checkpoint(PASSIVE)")
        assert [item.key for item in reading if isinstance(item, Blob)] == ["distance_metric"]


def test_database_whose_tables_are_still_in_the_log(tmp_path: Path) -> None:
    path = tmp_path / "sqlite_vec.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(f"PRAGMA journal_mode = WAL;{SCHEMAS['9']}")
        with db:
            add_memory(db, {"content": "In the log"})
        assert b"CREATE TABLE memories" not in path.read_bytes()
        assert list(records(read(path)[0])) == ["In the log"]


def test_reading_leaves_no_files(tmp_path: Path) -> None:
    read(make_database(tmp_path / "sqlite_vec.db", "9", ROWS))
    assert [entry.name for entry in tmp_path.iterdir()] == ["sqlite_vec.db"]


def test_damaged_rows_are_reported_and_kept(tmp_path: Path) -> None:
    path = make_database(tmp_path / "sqlite_vec.db", "9", ROWS[:1])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO memories (content_hash, content) VALUES ('h1', CAST(x'61ff' AS TEXT))")
        db.execute("INSERT INTO memories (content_hash, content, created_at) VALUES ('h2', 'x', 'yesterday')")
        db.execute("INSERT INTO memories (content_hash, content, metadata) VALUES ('h3', 'x', CAST(x'ff' AS TEXT))")
        db.execute("INSERT INTO memories (content_hash, content) VALUES ('h4', '')")
        db.execute("INSERT INTO memories (content_hash, content) VALUES ('h5', x'00')")
        db.execute("INSERT INTO memories (content_hash, content, created_at_iso) VALUES ('h6', 'y', '2024-01-15')")
        db.execute("INSERT INTO memories (content_hash, content, tags) VALUES ('h7', 'Good', '[a, b]')")
        db.execute(
            "INSERT INTO memories (content_hash, content, created_at_iso) VALUES ('h8', 'z', '2024-01-15T00:00:00Z')"
        )
    items, report = read(path)
    assert list(records(items)) == ["Tea is brewed at 80 °C", "Good", "z"]
    assert records(items)["Good"].tags == ["[a", "b]"]
    assert records(items)["z"].created_at == 1_705_276_800_000_000
    errors = {fault.item: fault.error for fault in report.faults()}
    assert errors[2] == "`content` contains invalid UTF-8 at byte 1"
    assert errors[4] == "`metadata` contains invalid UTF-8 at byte 0"
    assert errors[5] == "`content` is empty"
    assert errors[6] == "`content` must be text, not bytes"
    assert errors.keys() == {2, 3, 4, 5, 6, 7}
    assert (report.read, report.failed) == (9, 6)
    kept = {item.key: item.row for item in items if isinstance(item, Blob) and item.table == "memories"}
    assert kept.keys() == {"h1", "h2", "h3", "h4", "h5", "h6"}
    assert kept["h1"]["content"] == {"base64": "Yf8="}


def test_rows_around_a_damaged_page(tmp_path: Path) -> None:
    rows = [{"content": f"{number} {'x' * 500}"} for number in range(1, 101)]
    path = make_database(tmp_path / "sqlite_vec.db", "10", rows, wal=False)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = db.execute("PRAGMA page_size").fetchone()
    content = bytearray(path.read_bytes())
    for number in (30, 70):
        page = content.index(f"{number} xxxxx".encode()) // size
        content[page * size : (page + 1) * size] = b"\xff" * size
    path.write_bytes(content)
    items, report = read(path)
    found = [int(text.split()[0]) for text in records(items)]
    assert 80 < len(found) < 100
    assert {1, 50, 100} <= set(found)
    assert len(set(found)) == len(found)
    assert [fault.error[:39] for fault in report.faults()] == ["table `memories` is damaged after row 2", ANY]


def test_damaged_page_of_vectors(tmp_path: Path) -> None:
    path = make_database(tmp_path / "sqlite_vec.db", "9", ROWS, wal=False)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE memory_embeddings_vector_chunks00 SET vectors = zeroblob(20000)")
        (size,) = db.execute("PRAGMA page_size").fetchone()
    content = path.read_bytes()
    path.write_bytes(content[: -2 * size] + b"\xff" * 2 * size)
    items, report = read(path)
    assert len(records(items)) == len(ROWS)
    assert "left out 2 damaged vectors; `memglot embed` builds them again" in report.notes


def test_damaged_vectors(tmp_path: Path) -> None:
    rows = [{"content": str(number), "vector": (float(number), 0.0, 0.0, 0.0)} for number in range(1, 40)]
    path = make_database(
        tmp_path / "sqlite_vec.db", "9", [*rows, {"content": "Infinite", "vector": (float("inf"), 0, 0, 0)}]
    )
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE memory_embeddings_chunks SET validity = x'feff' WHERE chunk_id = 1")
        db.execute("UPDATE memory_embeddings_rowids SET chunk_offset = 99 WHERE rowid = 2")
        db.execute("UPDATE memory_embeddings_rowids SET chunk_offset = 5 WHERE rowid = 3")
        db.execute("DELETE FROM memory_embeddings_vector_chunks00 WHERE rowid = 2")
        db.execute("DELETE FROM memories WHERE id = 39")
    items, report = read(path)
    contents = {record.id: content for content, record in records(items).items()}
    found = [contents[item.record] for item in items if isinstance(item, Embedding)]
    assert found == [*map(str, range(4, 17)), *map(str, range(33, 39))]
    assert report.notes == [
        "left out 19 damaged vectors; `memglot embed` builds them again",
        "left out 1 vector without a memory",
    ]
    assert report.losses() == [{"field": "embedding (not finite)", "records": [records(items)["Infinite"].id]}]


def test_vectors_of_an_interrupted_migration(tmp_path: Path) -> None:
    path = make_database(tmp_path / "sqlite_vec.db", "12", ROWS[1:2])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE memory_embeddings_migration_backup (rowid INTEGER, content_embedding BLOB)")
        db.execute("INSERT INTO memory_embeddings_migration_backup VALUES (1, ?)", (struct.pack("<4f", 1, 2, 3, 4),))
    (vector,) = [item for item in read(path)[0] if isinstance(item, Embedding)]
    assert vector.vector == struct.pack("<4f", 1, 2, 3, 4)


def test_detection_wherever_the_tables_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The schema may be far from the beginning; zip entries and standard input have no file."""
    path = tmp_path / "sqlite_vec.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript("CREATE TABLE a (x); INSERT INTO a VALUES (zeroblob(200000)); CREATE TABLE b (x);")
        db.executescript("".join(f"CREATE TABLE t{n} (x{'y' * 900} TEXT);" for n in range(9)))
        db.executescript(SCHEMAS["10"])
        with db:
            add_memory(db, {"content": "Far away"})
    content = path.read_bytes()
    assert content.index(b"CREATE TABLE memories") > 1 << 16
    assert detect(Source("x", io.BytesIO(content))).name == "mcp-memory-sqlite"
    assert list(records(read(content)[0])) == ["Far away"]
    with zipfile.ZipFile(tmp_path / "backup.zip", "w") as archive:
        archive.write(path, "sqlite_vec.db")
    assert list(records(read(tmp_path / "backup.zip")[0])) == ["Far away"]

    class Input:
        buffer = io.BytesIO(content)
        closed = False

    monkeypatch.setattr(sys, "stdin", Input())
    assert list(records(read(Path("-"))[0])) == ["Far away"]


def test_it_is_only_read(tmp_path: Path, memory: Memory) -> None:
    memory.add("x")
    with pytest.raises(NotWritable):
        memory.export(tmp_path / "out.db", format="mcp-memory-sqlite")
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as db, db:
        db.execute("CREATE TABLE memories (slug TEXT)")
    assert detect(Source.text(other.read_bytes())).name == "agentos-sqlite"
    (fault,) = memory.import_from(other, format="mcp-memory-sqlite").errors
    assert "no table `memories` with a column `content_hash`" in fault.error


def test_a_damaged_name_of_a_column_is_a_clear_error(memory: Memory, tmp_path: Path) -> None:
    path = make_database(tmp_path / "sqlite_vec.db", next(iter(SCHEMAS)), ROWS, wal=False)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE another (columnname TEXT)")
    path.write_bytes(path.read_bytes().replace(b"columnname", b"column\xd8ame"))
    result = memory.import_from(path, format="mcp-memory-sqlite")
    assert "the name of a table or column is not valid UTF-8" in str(next(result.errors))
