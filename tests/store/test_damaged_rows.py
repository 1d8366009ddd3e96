"""Rows that somebody else changed are reported and skipped; all others are read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from memglot import Memory
from memglot.cli.main import cli
from memglot.cli.session import Session
from memglot.errors import DamagedStore
from memglot.model import Entity

BAD = [
    ("created_at", "'soon'", "in `created_at`"),
    ("created_at", "9223372036854775807", "outside the years 1 to 9999"),
    ("updated_at", "1.5", "in `updated_at`"),
    ("id", "'../../PWN'", "`id` must be a UUIDv7"),
    ("id", "x'00ff'", "in `id`"),
    ("content", "''", "`content` is empty"),
    ("content", "x'ff'", "in `content`"),
    ("content", "x''", "in `content`"),
    ("content", "CAST(x'61ff62' AS TEXT)", "in `content`"),
    ("kind", "'a' || char(0)", "`kind` contains NUL"),
    ("scope", "char(0)", "`scope` contains NUL"),
    ("tree", "'../x'", "`tree` must be labels"),
    ("meta", "'{'", "input data was truncated"),
    ("meta", "'[1]'", "expected `object`, got `array`"),
    ("meta", "'{\"a\":1e999}'", "number out of range"),
    ("tags", "'[1]'", "expected `str`, got `int`"),
    ("tags", "x'5b5d'", "in `tags`"),
    ("temporal_start", "'x'", "in `temporal_start`"),
    ("other_fields", '\'{"access_count":"many"}\'', "expected `int`, got `str`"),
    ("digest", "x'00'", "does not match its digest"),
    ("title", "'Another title'", "does not match its digest"),
]


def change(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(sql)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of three memories."""
    with Memory.open(tmp_path / "store.db") as memory:
        for text in ("first apple", "second apple", "third apple"):
            memory.add(text)
    return tmp_path / "store.db"


@pytest.mark.parametrize(("column", "value", "reason"), BAD)
def test_import_reports_and_skips_a_damaged_row(store: Path, column: str, value: str, reason: str) -> None:
    change(store, f"UPDATE records SET {column} = {value} WHERE seq = 2")
    with Memory.open(":memory:") as memory:
        result = memory.import_from(store)
        (fault,) = result.errors
        assert reason in fault.error
        assert (result.imported, result.failed) == (2, 1)
        assert sorted(record.content for record in memory.list()) == ["first apple", "third apple"]
        assert memory.doctor().ok


@pytest.mark.parametrize(("column", "value", "reason"), BAD)
def test_a_damaged_row_of_the_own_store_is_a_clear_error_and_doctor_reports_it(
    store: Path, column: str, value: str, reason: str, tmp_path: Path
) -> None:
    change(store, f"UPDATE records SET {column} = {value} WHERE seq = 2")
    with Memory.open(store, write=False) as memory:
        problems = memory.doctor().problems
        assert any(reason in problem or "not valid UTF-8" in problem for problem in problems)
        assert memory.export(tmp_path / "out.ndjson").count >= 2
    for command in (["list"], ["search", "apple"], ["stats"], ["doctor"], ["tree"], ["export", "-", "--format=json"]):
        done = CliRunner().invoke(cli, ["--store", str(store), *command], obj=Session(), standalone_mode=False)
        assert done.exception is None or isinstance(done.exception, DamagedStore), command


def test_a_damaged_memory_that_somebody_asks_for_is_an_error(store: Path) -> None:
    change(store, "UPDATE records SET created_at = 'soon' WHERE seq = 2")
    with Memory.open(store) as memory:
        id = next(id for (id,) in memory.store.connection.rows("SELECT id FROM records WHERE seq = 2"))  # type: ignore[attr-defined]
        with pytest.raises(DamagedStore, match="in `created_at`"):
            memory.get(id)


def test_damaged_items_are_reported_once_and_skipped(store: Path) -> None:
    with Memory.open(store) as memory:
        first, second, third = (record.id for record in memory.list())
        memory.link(first, "uses", second)
        memory.link(first, "uses", third)
        memory.add_entity("Good", "person")
        memory.add_entity("Bad", "person")
    change(store, f"UPDATE relations SET doc = '{{' WHERE second_key = '{second}'")
    change(store, "UPDATE entities SET doc = CAST(x'ff' AS TEXT) WHERE second_key = 'Bad'")
    with Memory.open(":memory:") as memory:
        errors = [fault.error for fault in memory.import_from(store).errors]
        assert [error.split(" `")[0] for error in errors] == ["relation", "entity"]
        assert [relation.object.id for relation in memory.relations()] == [third]
        assert [entity.name for entity in memory.store.things.select(Entity)] == ["Good"]
    with Memory.open(store, write=False) as memory:
        problems = "\n".join(memory.doctor().problems)
        assert "relation" in problems
        assert "not valid UTF-8" in problems


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE events SET details = '{'",
        "UPDATE events SET at = 'soon'",
        "UPDATE state SET value = 'many' WHERE name = 'chain_seq'",
        "UPDATE state SET value = CAST(x'ff' AS TEXT)",
        "DELETE FROM state",
        "DROP TABLE imports",
        "ALTER TABLE records RENAME COLUMN title TO heading",
    ],
)
def test_damage_outside_the_memories_is_a_clear_error(store: Path, sql: str) -> None:
    change(store, sql)
    codes = []
    for command in (["list"], ["audit"], ["imports"], ["stats"], ["doctor"], ["add", "x"], ["verify", str(store)]):
        done = CliRunner().invoke(cli, ["--store", str(store), *command], standalone_mode=False)
        assert done.exception is None or hasattr(done.exception, "exit_code"), command
        codes.append(done.exit_code)
    assert any(codes)
