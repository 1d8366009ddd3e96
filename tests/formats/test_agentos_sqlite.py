"""AgentOS's database: every row survives a round trip, and unreadable rows are reported."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import tempfile
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SHARED
from memglot import Memory
from memglot.exporting.convert import convert
from memglot.exporting.verify import verify_path
from memglot.formats.agentos.sqlite import FORMAT
from memglot.formats.agentos.sqlite_schema import INDEXES, TABLES, TEXT, quoted
from memglot.formats.base import ReadOptions, WriteOptions
from memglot.formats.core.read import read_items
from memglot.formats.core.sidecar import encode_item
from memglot.formats.core.target import Target
from memglot.model import (
    Blob,
    Conflict,
    Document,
    Embedding,
    Endpoint,
    Entity,
    Foreign,
    Item,
    Record,
    Relation,
    Tombstone,
    derive_id,
    to_builtins,
)
from memglot.report import Report
from strategies import JSON

FIXTURE = SHARED / "fixtures/agentos/sqlite/brain.sqlite"
AT = 1_760_000_002_000
Rows = dict[str, list[dict[str, Any]]]


def rows(path: Path, *, brains: bool = False) -> Rows:
    """Return the rows of all ordinary tables except our own, sorted and without NULLs."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found: Rows = {}
        for name in names:
            if name.startswith(("sqlite_", "memory_traces_fts")) or name == "memglot":
                continue
            columns = [column for (column,) in db.execute("SELECT name FROM pragma_table_info(?)", (name,))]
            found[name] = sorted(
                (
                    {
                        column: value
                        for column, value in zip(columns, row, strict=True)
                        if value is not None and (brains or column != "brain_id")
                    }
                    for row in db.execute(f"SELECT * FROM {quoted(name)}")
                ),
                key=repr,
            )
    db.close()
    return {name: values for name, values in found.items() if values}


def make_brain(path: Path, *statements: str) -> Path:
    """Make a database of schema 2 with additional SQL."""
    with sqlite3.connect(path) as db:
        db.executescript(TABLES + INDEXES)
        for statement in statements:
            db.executescript(statement)
        db.executescript(TEXT)
    db.close()
    return path


def trace(id: str, content: str = "x", brain: str = "brain", **columns: Any) -> str:
    values = {"brain_id": brain, "id": id, "type": "semantic", "scope": "user", "content": content, "created_at": AT}
    values |= columns
    return f"INSERT INTO memory_traces ({', '.join(values)}) VALUES ({', '.join(map(sql, values.values()))});"


def sql(value: Any) -> str:
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return "NULL" if value is None else repr(value) if isinstance(value, (int, float)) else f"'{value}'"


def read(path: Path, options: ReadOptions = ReadOptions()) -> tuple[list[Item], Report]:
    report = Report()
    found = []
    for item in read_items([path], None, report, options):
        found.append(item)
    return found, report


def there_and_back(path: Path, target: Path) -> None:
    """Import into a store and export again."""
    with Memory.open(":memory:") as memory:
        memory.import_from(path)
        memory.export(target, format="agentos-sqlite")


def brains(folder: Path) -> tuple[Path, Path]:
    (folder / "back").mkdir()
    return folder / "brain.sqlite", folder / "back" / "brain.sqlite"


@pytest.mark.skipif(not FIXTURE.exists(), reason="no fixture here")
@pytest.mark.parametrize("name", ["brain.sqlite", "renamed backup.db"])
def test_every_row_of_a_real_database_survives_a_round_trip(tmp_path: Path, name: str) -> None:
    there_and_back(FIXTURE, tmp_path / name)
    assert rows(tmp_path / name) == rows(FIXTURE)
    assert verify_path(tmp_path / name, Report()).state == "whole"
    with sqlite3.connect(tmp_path / name) as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA journal_mode").fetchall() == [("delete",)]
        found = db.execute("SELECT count(*) FROM memory_traces_fts WHERE memory_traces_fts MATCH 'docker'").fetchone()
        assert found[0] > 0
    db.close()
    items, report = read(tmp_path / name)
    assert list(report.faults()) == []
    assert {to_builtins(item)["id"] for item in items if isinstance(item, Record)} == {
        to_builtins(item)["id"] for item in read(FIXTURE)[0] if isinstance(item, Record)
    }


def test_unusual_values_survive_a_round_trip(tmp_path: Path) -> None:
    source, target = brains(tmp_path)
    make_brain(
        source,
        "ALTER TABLE memory_traces ADD COLUMN mood; ALTER TABLE memory_traces ADD COLUMN never TEXT;",
        trace("mt_1", "spaced", tags='[ "a", "a", "" ]', metadata='{"z": 1,  "a": {"y": 1, "b": 2}}', mood="blue"),
        trace("mt_2", "not json", tags="a, b", emotions="none", metadata="oops", deleted=2, mood=b"\0\1"),
        trace("mt_3", "numbers", created_at=1.5, last_accessed=2.25, strength=3, retrieval_count=-1),
        trace("mt_4", "old vector", embedding="[0.5, 1]"),
        trace("mt_5", "odd vector", embedding=b"abc"),
        trace("mt_6", "colon", scope="user:1"),
        trace("mt_7", "hash", metadata='{"contentHash":"wrong"}'),
        trace("local", "an id that is not unique", metadata="{}"),
    )
    there_and_back(source, target)
    assert rows(target)["memory_traces"] == rows(source)["memory_traces"]
    items, _ = read(target)
    records = {item.content: item for item in items if isinstance(item, Record)}
    assert records["spaced"].tags == ["a"]
    assert records["spaced"].extra["agentos"]["more"] == {"mood": "blue"}
    assert records["not json"].status == "deleted"
    vectors = [item for item in items if isinstance(item, Embedding)]
    assert [(vector.record, vector.dimensions) for vector in vectors] == [(records["old vector"].id, 2)]
    there_and_back(source, tmp_path / "other.sqlite")
    assert rows(tmp_path / "other.sqlite")["memory_traces"] == rows(source)["memory_traces"]


def test_the_original_value_of_a_column_is_used_only_while_unchanged(tmp_path: Path) -> None:
    source, target = brains(tmp_path)
    make_brain(source, trace("mt_1", "x", tags='[ "a" ]', metadata='{"z": 1}'))
    with Memory.open(":memory:") as memory:
        memory.import_from(source)
        (record,) = memory.list()
        memory.update(record.id, tags=["b"])
        memory.export(target, format="agentos-sqlite")
    (row,) = rows(target)["memory_traces"]
    assert row["tags"] == '["b"]'
    # The edit's time has no column, so a carry slot is needed, and the kept text has no room for one.
    assert json.loads(row["metadata"])["z"] == 1
    (again,) = (item for item in read(target)[0] if isinstance(item, Record))
    assert again.tags == ["b"]
    assert again.extra["agentos.sqlite"]["metadata"]["raw"] == '{"z": 1}'


def test_a_row_that_is_not_a_memory_is_reported_and_exported_again(tmp_path: Path) -> None:
    source, target = brains(tmp_path)
    make_brain(
        source,
        trace("mt_1", "fine"),
        trace("mt_2", ""),
        "INSERT INTO memory_traces (brain_id, id, type, scope, content, created_at) VALUES "
        "('brain', 'mt_3', 'semantic', 'user', 'a' || char(0) || 'b', 1), "
        "('brain', 'mt_4', 'semantic', 'user', x'ff', 1), "
        "('brain', 'mt_5', 'semantic', 'user', CAST(x'ff' AS TEXT), 1);",
        trace("mt_6", "bad time", created_at="never"),
        trace("mt_7", "fine too"),
    )
    items, report = read(source)
    assert [(fault.item, fault.error) for fault in report.faults()] == [
        (2, "`content` is empty"),
        (4, "`content` must be text, not bytes"),
        (5, "`content`: invalid UTF-8 at byte 0"),
        (6, "`never` is not an ISO 8601 timestamp with an offset, such as `2024-01-15T10:30:00Z`"),
    ]
    assert [item.content for item in items if isinstance(item, Record)] == ["fine", "a\ufffdb", "fine too"]
    assert report.read == 7
    there_and_back(source, target)
    kept = {row["id"] for row in rows(target)["memory_traces"]}
    assert kept == {f"mt_{number}" for number in range(1, 8)}


def test_unknown_tables_and_columns_survive_a_round_trip(tmp_path: Path) -> None:
    source, target = brains(tmp_path)
    make_brain(
        source,
        trace("mt_1"),
        'CREATE TABLE "odd ""name" (a INTEGER PRIMARY KEY, "b c" VARCHAR(10) NOT NULL, d BLOB);',
        """INSERT INTO "odd ""name" VALUES (3, 'x', x'00ff'), (7, 'y', NULL);""",
        "CREATE TABLE bare (a, b); INSERT INTO bare VALUES (1, 'x'), (1, 'x'), (NULL, 2.5);",
        "CREATE TABLE pairs (k TEXT, v, PRIMARY KEY (k)) WITHOUT ROWID; INSERT INTO pairs VALUES ('k', 1);",
        "CREATE TABLE empty (a TEXT);",
        "ALTER TABLE conversations ADD COLUMN pinned INTEGER;",
        "INSERT INTO conversations VALUES ('brain', 'c', NULL, 1, 2, '{}', 1);",
        "CREATE VIEW v AS SELECT 1; CREATE TRIGGER t AFTER INSERT ON bare BEGIN SELECT 1; END;",
        "CREATE INDEX i ON bare (a);",
        "CREATE VIRTUAL TABLE notes USING fts5(text); INSERT INTO notes VALUES ('x');",
    )
    _, report = read(source)
    assert report.notes == [
        "left out 1 virtual table without rows of their own: notes",
        "left out 1 index and 1 trigger and 1 view of the database, which contain no rows",
    ]
    there_and_back(source, target)
    expected = {name: values for name, values in rows(source).items() if not name.startswith("notes")}
    assert {name: values for name, values in rows(target).items() if name != "brain_meta"} == expected
    with sqlite3.connect(target) as db:
        columns = [row[1:4] for row in db.execute('PRAGMA table_info("odd ""name")')]
        assert columns == [("a", "INTEGER", 0), ("b c", "VARCHAR(10)", 1), ("d", "BLOB", 0)]
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'empty'").fetchone() == (1,)
    db.close()
    assert in_order(read(target)[0]) == in_order(read(source)[0])


def test_no_sql_of_a_file_is_run(tmp_path: Path) -> None:
    source, target = brains(tmp_path)
    make_brain(
        source,
        trace("mt_1"),
        "CREATE TABLE t (a TEXT COLLATE nocase DEFAULT 'x', rowid TEXT, oid INT, _rowid_ INT);",
        "INSERT INTO t VALUES ('a', 'b', 3, 4);",
        """CREATE TABLE "x); DROP TABLE memory_traces; --" ("y); --" "z); --");""",
        """INSERT INTO "x); DROP TABLE memory_traces; --" VALUES (1);""",
    )
    there_and_back(source, target)
    assert rows(target)["memory_traces"] == rows(source)["memory_traces"]
    assert in_order(read(target)[0]) == in_order(read(source)[0])
    items, _ = read(source)
    for item in items:
        if isinstance(item, Blob) and item.table == "sqlite_schema":
            item.row["columns"][0]["type"] = "TEXT); DROP TABLE memory_traces; --"
    FORMAT.write(iter(items), Target(tmp_path / "hostile.sqlite"), Report(), WriteOptions())  # type: ignore[misc]
    assert in_order(read(tmp_path / "hostile.sqlite")[0]) == in_order(items)


def in_order(items: list[Item]) -> list[str]:
    return sorted(encode_item(item).decode() for item in items)


def test_several_brains_in_one_file_keep_their_names(tmp_path: Path) -> None:
    source, target = brains(tmp_path)
    make_brain(
        source,
        trace("local", "of the main one"),
        trace("local", "of another", brain="other", metadata="{}"),
        "INSERT INTO knowledge_nodes (brain_id, id, type, label, created_at) VALUES "
        "('brain', 'n', 'person', 'A', 1), ('other', 'n', 'person', 'B', 1), ('other', 'm', 'person', 'C', 1);",
        "INSERT INTO knowledge_edges (brain_id, id, source_id, target_id, type, created_at) VALUES "
        "('other', 'e', 'n', 'm', 'knows', 5);",
        "INSERT INTO brain_meta VALUES ('brain', 'schema_version', '2'), ('other', 'schema_version', '2');",
        "INSERT INTO brain_meta VALUES ('brain', 'created_at', '5'), ('brain', 'embedding_dimensions', '8');",
        "INSERT INTO conversations VALUES ('brain', 'c', 't', 1, 2, '{}'), ('other', 'c', 't', 1, 2, '{}');",
    )
    there_and_back(source, target)
    assert rows(target, brains=True) == rows(source, brains=True)
    ids = {item.content: item.id for item in read(target)[0] if isinstance(item, Record)}
    assert ids["of the main one"] == derive_id("agentos", "brain", "local")
    assert ids["of another"] == derive_id("agentos", "other", "local")


def test_a_brain_under_another_name_is_read_as_itself(tmp_path: Path) -> None:
    source = make_brain(tmp_path / "brain.sqlite", trace("local"))
    (first,) = (item for item in read(source)[0] if isinstance(item, Record))
    shutil.copy(source, tmp_path / "backup")
    (second,) = (item for item in read(tmp_path / "backup")[0] if isinstance(item, Record))
    assert first == second


def test_schema_1_and_a_table_of_three_columns_are_read(tmp_path: Path) -> None:
    source, target = tmp_path / "old.sqlite", tmp_path / "new.sqlite"
    with sqlite3.connect(source) as db:
        db.executescript(
            "CREATE TABLE brain_meta (key TEXT PRIMARY KEY, value TEXT);"
            "INSERT INTO brain_meta VALUES ('schema_version', '1'), ('created_at', '7');"
            "CREATE TABLE memory_traces (id TEXT PRIMARY KEY, content TEXT, created_at INTEGER);"
            f"INSERT INTO memory_traces VALUES ('mt_1', 'x', {AT});"
            "CREATE TABLE conversations (id TEXT PRIMARY KEY, title TEXT, created_at INTEGER, updated_at INTEGER);"
            "INSERT INTO conversations VALUES ('c', 't', 1, 2);"
        )
    db.close()
    items, report = read(source)
    assert list(report.faults()) == []
    (record,) = (item for item in items if isinstance(item, Record))
    assert (record.kind, record.strength, record.created_at) == ("episodic", 1.0, AT * 1000)
    convert(source, target, to="agentos-sqlite")
    found = rows(target)
    assert found["conversations"] == [{"id": "c", "title": "t", "created_at": 1, "updated_at": 2, "metadata": "{}"}]
    assert {row["key"]: row["value"] for row in found["brain_meta"]} == {
        "schema_version": "2",
        "created_at": "7",
        "embedding_dimensions": "1536",
    }
    (row,) = found["memory_traces"]
    assert (row["id"], row["metadata"]) == ("mt_1", "{}")


def test_fields_without_a_column_are_stored_in_a_separate_table(tmp_path: Path) -> None:
    path = tmp_path / "brain.sqlite"
    a, b = derive_id("t", "", "a"), derive_id("t", "", "b")
    items: list[Item] = [
        Record(id=a, content="x", title="t", created_at=1_000_000, updated_at=1_000_000),
        Conflict(record=a, field="title", clock=1, values=[1, 2]),
        Record(id=b, content="y", created_at=1, updated_at=1, status="deleted"),
        Relation(id="r", subject=Endpoint(a), predicate="p", object=Endpoint("gone")),
        Entity(id="e", name="E"),
        Document(id="d", name="n", content="c"),
        Tombstone(id="t", content_hash="00", deleted_at=1),
        Blob(tool="other", table="t", key="k", row={"a": 1}, data=b"\0"),
        Blob(tool="agentos", table="messages", key="z/m", row={"id": "m"}),
        Blob(tool="agentos", table="memglot", key="k", row={"id": "m"}),
        Blob(tool="agentos", table="messages", key="no/row", row=[1]),
    ]
    report = Report()
    FORMAT.write(iter(items), Target(path), report, WriteOptions())  # type: ignore[misc]
    assert report.losses() == []
    assert in_order(read(path)[0]) == in_order(items)
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA foreign_key_check(knowledge_edges)").fetchall() == []
    db.close()
    assert verify_path(path, Report()).state == "whole"
    plain_path = tmp_path / "plain.sqlite"
    report = Report()
    FORMAT.write(iter(items), Target(plain_path, plain=True), report, WriteOptions(plain=True))  # type: ignore[misc]
    dropped = {loss["field"] for loss in report.losses()}
    assert {"title", "conflicts", "document", "tombstone", "blob"} <= dropped
    with sqlite3.connect(plain_path) as db:
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'memglot'").fetchone() == (0,)
        assert not [text for (text,) in db.execute("SELECT metadata FROM memory_traces") if "memglot" in text]
    db.close()


def test_rows_of_two_databases_do_not_replace_each_other(tmp_path: Path) -> None:
    log = "INSERT INTO consolidation_log (id, brain_id, ran_at) VALUES (1, '{0}', {1});"
    chats = "INSERT INTO conversations VALUES ('{0}', 'c', '{0}', 1, 2, '{{}}'), ('{0}', '{0}', 't', 1, 2, '{{}}');"
    with Memory.open(":memory:") as memory:
        for number, name in enumerate(("one", "two")):
            path = make_brain(
                tmp_path / f"{name}.sqlite",
                trace("local", f"of {name}", brain=name),
                log.format(name, number),
                chats.format(name),
            )
            memory.import_from(path)
        memory.export(tmp_path / "both.sqlite", format="agentos-sqlite")
        before = in_order([*memory.store.things.select(Blob), *memory.list()])
    found = rows(tmp_path / "both.sqlite")
    assert [row["id"] for row in found["consolidation_log"]] == [1, 2]
    assert {row["id"] for row in found["conversations"]} == {"c", "one", "two"}
    assert len(found["memory_traces"]) == 2
    assert in_order(read(tmp_path / "both.sqlite")[0]) == before


def test_a_second_import_changes_nothing_and_an_undo_removes_everything(tmp_path: Path) -> None:
    source = make_brain(
        tmp_path / "brain.sqlite",
        trace("mt_1", "x", embedding=b"\0\0\0\0"),
        "INSERT INTO conversations VALUES ('brain', 'c', 't', 1, 2, '{}');",
        "INSERT INTO knowledge_nodes (brain_id, id, type, label, created_at) VALUES ('brain', 'n', 'person', 'A', 1);",
        "INSERT INTO knowledge_edges (brain_id, id, source_id, target_id, type, created_at) VALUES "
        "('brain', 'e', 'n', 'n', 'knows', 5);",
    )
    with Memory.open(":memory:") as memory:
        assert memory.import_from(source).imported == 1
        again = memory.import_from(source)
        assert (again.imported, again.skipped, again.import_id) == (0, 1, None)
        memory.undo("last")
        assert list(memory.list()) == []
        assert memory.store.things.count(Blob) == memory.store.things.count(Entity) == 0


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda whole: b"just text", "not a SQLite database, or it is encrypted"),
        (lambda whole: sha256(b"x").digest() * 200, "not a SQLite database, or it is encrypted"),
        (lambda whole: whole[:16] + sha256(b"x").digest() * 200, "not a SQLite database, or it is encrypted"),
        (lambda whole: whole[: len(whole) // 2], "truncated or damaged"),
        (lambda whole: whole[:-100], "truncated or damaged"),
        (lambda whole: b"", "it is empty"),
    ],
)
@pytest.mark.parametrize("name", [None, "agentos-sqlite", "sqlite"])
def test_a_damaged_database_is_reported(tmp_path: Path, damage: Any, reason: str, name: str | None) -> None:
    whole = make_brain(tmp_path / "brain.sqlite", trace("mt_1")).read_bytes()
    bad = tmp_path / "bad.sqlite"
    bad.write_bytes(damage(whole))
    with Memory.open(":memory:") as memory:
        result = memory.import_from(bad, format=name)
    (fault,) = result.errors
    assert reason in fault.error
    assert result.exit_code == 2


def test_another_programs_database_is_reported(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as db:
        db.execute("CREATE TABLE x (a)")
    db.close()
    (fault,) = read(tmp_path / "a.db")[1].faults()
    assert "neither a memglot store nor an AgentOS brain" in fault.error
    assert fault.hint


def test_a_live_brain_is_read_and_no_file_is_left_next_to_it(tmp_path: Path) -> None:
    path = make_brain(tmp_path / "brain.sqlite", trace("mt_1"))
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(trace("mt_2", "in the log").rstrip(";"))
        db.commit()
        assert len([item for item in read(path)[0] if isinstance(item, Record)]) == 2
    db.close()
    before = sorted(tmp_path.iterdir()), path.read_bytes()
    assert len([item for item in read(path)[0] if isinstance(item, Record)]) == 2
    assert (sorted(tmp_path.iterdir()), path.read_bytes()) == before


def test_a_brain_may_come_as_bytes_and_go_to_a_stream(tmp_path: Path) -> None:
    path = make_brain(tmp_path / "brain.sqlite", trace("mt_1"))
    with Memory.open(":memory:") as memory:
        assert memory.import_from(path.read_bytes()).imported == 1
        stream = io.BytesIO()
        memory.export(stream=stream, format="agentos-sqlite")
    (tmp_path / "out.db").write_bytes(stream.getvalue())
    assert rows(tmp_path / "out.db")["memory_traces"] == rows(path)["memory_traces"]


def test_a_brain_in_use_is_not_overwritten(tmp_path: Path) -> None:
    from memglot.errors import CannotWrite, TargetExists

    path = make_brain(tmp_path / "brain.sqlite", trace("mt_1"))
    with Memory.open(":memory:") as memory:
        with pytest.raises(TargetExists):
            memory.export(path, format="agentos-sqlite")
        (tmp_path / "brain.sqlite-wal").write_bytes(b"x")
        with pytest.raises(CannotWrite, match="brain.sqlite-wal"):
            memory.export(path, format="agentos-sqlite", force=True)
        (tmp_path / "brain.sqlite-wal").unlink()
        memory.export(path, format="agentos-sqlite", force=True)
    assert rows(path).keys() == {"brain_meta"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["brain.sqlite"]


def test_two_memories_of_one_foreign_id_are_both_written(tmp_path: Path) -> None:
    items: list[Item] = [
        Record(
            id=derive_id("agentos", space, "same"),
            content=space,
            foreign=[Foreign("agentos", "same", space)],
            created_at=1_000_000,
            updated_at=1_000_000,
        )
        for space in ("one", "two")
    ]
    FORMAT.write(iter(items), Target(tmp_path / "x.sqlite"), Report(), WriteOptions())  # type: ignore[misc]
    assert [row["id"] for row in rows(tmp_path / "x.sqlite")["memory_traces"]][-1] == "same"
    assert in_order(read(tmp_path / "x.sqlite")[0]) == in_order(items)
    with sqlite3.connect(tmp_path / "x.sqlite") as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()


THERE = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, 2, 1.5, -0.5, "", "x", b"", b"\0\1\2\3"])
VALUES = st.none() | THERE
WORDS = st.sampled_from(["semantic", "user", "user:1", "", "a:b:c", "é", "x"])
JSON_TEXT = JSON.map(lambda value: json.dumps(value)) | st.sampled_from(
    ["", "{", "[]", "{}", "[ ]", "{ }", "null", "a,b"]
)
METADATA = (
    st.dictionaries(
        st.sampled_from(["content_hash", "contentHash", "import_hash", "scopeId", "entities", "decay", "k", "memglot"]),
        JSON,
        max_size=4,
    )
    # A value that looks like our carry slot is treated as one.
    .map(lambda value: {key: inner for key, inner in value.items() if key != "memglot" or not isinstance(inner, dict)})
    .map(lambda value: json.dumps(value, separators=(",", ":")))
    | JSON_TEXT
)
TRACES = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["mt_1", "local", "x/y", ""]) | st.uuids().map(str),
        "type": WORDS,
        "scope": WORDS,
        "content": st.sampled_from(["same", "", "x", " y "]),
        "embedding": VALUES | st.sampled_from(["[1,2]", b"[1,2]", "[", b"[12]"]),
        "strength": THERE,
        "created_at": THERE,
        "last_accessed": VALUES,
        "retrieval_count": THERE,
        "tags": JSON_TEXT,
        "emotions": JSON_TEXT,
        "metadata": METADATA,
        "deleted": THERE,
        "mood": VALUES,
    }
    # No vector can belong to a memory that has no id yet; its text is carried instead.
).map(lambda row: row if row["id"] else {**row, "embedding": None})


@given(found=st.lists(TRACES, max_size=3, unique_by=lambda row: row["id"]))
def test_any_row_survives_a_round_trip(found: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, target = brains(Path(folder))
        make_brain(source, "ALTER TABLE memory_traces ADD COLUMN mood;")
        with sqlite3.connect(source) as db:
            for row in found:
                marks = ", ".join("?" * (len(row) + 1))
                sql = f"INSERT INTO memory_traces (brain_id, {', '.join(row)}) VALUES ({marks})"
                db.execute(sql, ("brain", *row.values()))
        db.close()
        items, _ = read(source)
        FORMAT.write(iter(items), Target(target), Report(), WriteOptions())  # type: ignore[misc]
        assert rows(target).get("memory_traces") == rows(source).get("memory_traces")
        assert in_order(read(target)[0]) == in_order(items)


def test_what_cannot_be_restored_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE memory_traces (id TEXT, content TEXT, created_at INT, n INT AS (created_at * 2))")
        db.execute("INSERT INTO memory_traces VALUES ('mt_1', 'x', 1)")
        db.execute("CREATE TABLE memglot (own TEXT)")
    with Memory.open(":memory:") as memory:
        notes = memory.import_from(path).notes
    assert any("memory_traces.n" in note for note in notes) and any("table memglot" in note for note in notes)


def damaged(source: Path, target: Path, seed: int) -> Path:
    """Overwrite some bytes of a database: single ones, many, or a few runs."""
    random = Random(seed)
    data = bytearray(source.read_bytes())
    for _ in range((1, 20, 200, 5)[seed % 4]):
        place = random.randrange(100, len(data))
        length = random.randrange(1, 400) if seed % 4 == 3 else 1
        data[place : place + length] = random.randbytes(len(data[place : place + length]))
    target.write_bytes(data)
    return target


def large_brain(path: Path) -> Path:
    """Make a brain with rows in several tables, over many pages."""
    traces = [trace(f"mt_{number}", f"memory {number} " + "word " * 60) for number in range(80)]
    nodes = [
        f"INSERT INTO knowledge_nodes (brain_id, id, type, label, created_at) VALUES ('brain', 'n{n}', 'x', 'n', 1);"
        for n in range(40)
    ]
    return make_brain(path, *traces, *nodes, "INSERT INTO brain_meta VALUES ('brain', 'k', 'v');")


@pytest.mark.parametrize("ours", [True, False], ids=["own", "real"])
def test_no_damage_ends_in_an_internal_error(tmp_path: Path, ours: bool) -> None:
    if not ours and not FIXTURE.exists():
        pytest.skip("no fixture here")
    plain = large_brain(tmp_path / "plain.sqlite") if ours else FIXTURE
    exported = tmp_path / "exported.sqlite"
    there_and_back(plain, exported)
    found = 0
    for seed in range(120):
        items, report = read(damaged(exported if seed % 2 else plain, tmp_path / "brain.sqlite", seed))
        found += bool(items and len(report.errors))
    assert found > 20


@pytest.mark.skipif(not (SHARED / "fixtures/damaged").exists(), reason="no fixture here")
@pytest.mark.parametrize("name", ["traceback-4d6a038c", "traceback-d65ca244", "traceback-dfddbc6f"])
def test_readable_rows_of_a_damaged_brain_are_imported(name: str) -> None:
    with Memory.open(":memory:") as memory:
        result = memory.import_from(SHARED / "fixtures/damaged" / name / "in.sqlite")
        assert result.imported and result.errors


def test_rows_around_a_damaged_page_are_imported(tmp_path: Path) -> None:
    path = large_brain(tmp_path / "brain.sqlite")
    data = path.read_bytes()
    page = data.index(b"memory 40 ") // 4096 * 4096
    lost = {number for number in range(80) if page <= data.index(b"memory %d " % number) < page + 4096}
    path.write_bytes(data[:page] + b"\xff" * 4096 + data[page + 4096 :])
    items, report = read(path)
    assert {item.foreign[0].id for item in items if isinstance(item, Record)} == {
        f"mt_{number}" for number in range(80) if number not in lost
    }
    assert sum(isinstance(item, Entity) for item in items) == 40
    (fault,) = report.faults()
    assert "memory_traces: some rows cannot be read" in fault.error and fault.hint


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"CREATE TABLE documents", b"CREATE \xffABLE documents", "the definition of table `documents` is damaged"),
        (b"retrieval_count INTEGER", b"retrieval_\xffount INTEGER", "memory_traces: 1 column has a name that is not"),
        (b"brainmt_1", b"br\xffinmt_1", "invalid UTF-8"),
        (b"brainmy_key", b"br\xffinmy_key", "brain_meta: `brain_id`: invalid UTF-8"),
        (b'item{"blob"', b'item{"bl\xffb"', "memglot: the row is damaged"),
        (b'item{"blob"', b'ixem{"blob"', "memglot: "),
    ],
)
def test_damaged_names_and_ids_affect_only_their_rows(tmp_path: Path, old: bytes, new: bytes, reason: str) -> None:
    plain, target = brains(tmp_path)
    make_brain(plain, trace("mt_1"), trace("mt_2", "y"), "INSERT INTO brain_meta VALUES ('brain', 'my_key', 'v');")
    with Memory.open(":memory:") as memory:
        memory.import_from(plain)
        memory.store.things.put([Blob(tool="other", table="t", key="k", row=1)])
        memory.export(target, format="agentos-sqlite")
    data = target.read_bytes()
    assert old in data
    target.write_bytes(data.replace(old, new))
    items, report = read(target)
    assert sum(isinstance(item, Record) for item in items) >= 1
    assert [fault for fault in report.faults() if reason in fault.error]


def test_a_further_column_of_the_settings_survives_a_round_trip(tmp_path: Path) -> None:
    source, target = brains(tmp_path)
    make_brain(
        source,
        "ALTER TABLE brain_meta ADD COLUMN more;",
        trace("mt_1"),
        "INSERT INTO brain_meta VALUES ('brain', 'mine', 'v', 1);",
    )
    there_and_back(source, target)
    assert {"key": "mine", "value": "v", "more": 1} in rows(target)["brain_meta"]


@pytest.mark.parametrize("source", ["first", "second", "neither"])
@pytest.mark.parametrize("target", ["first", "second", "neither"])
@pytest.mark.parametrize("count", [1, 2])
def test_brains_keep_their_ids_under_any_file_name(tmp_path: Path, source: str, target: str, count: int) -> None:
    path = tmp_path / f"{source}.sqlite"
    statements = []
    for brain in ("first", "second")[:count]:
        statements += [trace("local", f"in {brain}", brain), trace(f"mt_{brain}", brain, brain)]
        for key, value in (("schema_version", "2"), ("created_at", "1"), ("embedding_dimensions", "8")):
            statements.append(f"INSERT INTO brain_meta VALUES ('{brain}', '{key}', '{value}');")
        statements.append(
            f"INSERT INTO knowledge_nodes (brain_id, id, type, label, created_at) VALUES ('{brain}', 'n', 'x', 'n', 1);"
        )
    make_brain(path, *statements)
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / f"{target}.sqlite"
    with Memory.open(":memory:") as memory:
        memory.import_from(path)
        result = memory.export(out, format="agentos-sqlite")
    assert rows(out, brains=True) == rows(path, brains=True)
    assert in_order(read(out)[0]) == in_order(read(path)[0])
    main = "second" if source == "second" and count == 2 else "first"
    assert any(f"`{main}`" in note for note in result.notes) == (target != main)
    assert verify_path(out, Report()).state == "whole"


def test_new_memories_go_into_the_brain_that_was_imported(tmp_path: Path) -> None:
    make_brain(tmp_path / "a.sqlite", trace("mt_1", brain="a"), "INSERT INTO brain_meta VALUES ('a', 'k', 'v');")
    make_brain(tmp_path / "b.sqlite", trace("mt_2", "y", "b"), "INSERT INTO brain_meta VALUES ('b', 'k', 'w');")
    with Memory.open(":memory:") as memory:
        memory.import_from(tmp_path / "a.sqlite")
        memory.add("new")
        memory.export(tmp_path / "1.sqlite", format="agentos-sqlite")
        memory.import_from(tmp_path / "b.sqlite")
        memory.export(tmp_path / "2.sqlite", format="agentos-sqlite")
    for name, brain in (("1", "a"), ("2", "2")):
        found = rows(tmp_path / f"{name}.sqlite", brains=True)
        assert {row["brain_id"] for table in found.values() for row in table} == {brain}


def vectors_in(path: Path) -> tuple[dict[str, int], str]:
    """Return the size of the vector of each trace, and the size in the settings."""
    with sqlite3.connect(path) as db:
        sizes = dict(db.execute("SELECT id, length(embedding) / 4 FROM memory_traces WHERE embedding IS NOT NULL"))
        sql = "SELECT value FROM brain_meta WHERE key = 'embedding_dimensions' ORDER BY brain_id = 'brain' DESC"
        (dimensions,) = db.execute(sql).fetchone()
    db.close()
    return sizes, dimensions


@pytest.mark.parametrize("setting", ["2", "1536", None])
def test_a_brain_gets_vectors_of_one_size(tmp_path: Path, setting: str | None) -> None:
    source, target = brains(tmp_path)
    make_brain(
        source,
        trace("mt_1", "own", embedding=bytes(8)),
        f"INSERT INTO brain_meta VALUES ('brain', 'embedding_dimensions', '{setting}');" if setting else "",
    )
    other = make_brain(
        tmp_path / "other.sqlite",
        *(trace(f"mt_{number}", f"other {number}", "other", embedding=bytes(12)) for number in range(2, 5)),
    )
    with Memory.open(":memory:") as memory:
        memory.import_from(source, other)
        before = sorted(map(repr, memory.store.things.select(Embedding)))
        result = memory.export(target, format="agentos-sqlite")
        plain = memory.export(tmp_path / "plain.sqlite", format="agentos-sqlite", plain=True)
    if setting == "2":
        assert vectors_in(target) == ({"mt_1": 2}, "2")
        assert plain.losses["embedding"] == 3
    else:
        assert vectors_in(target) == ({"mt_2": 3, "mt_3": 3, "mt_4": 3}, setting or "3")
        assert plain.losses["embedding"] == 1
    assert vectors_in(tmp_path / "plain.sqlite") == vectors_in(target)
    assert any("kept for memglot only" in note for note in result.notes)
    with Memory.open(":memory:") as memory:
        memory.import_from(target)
        assert sorted(map(repr, memory.store.things.select(Embedding))) == before
