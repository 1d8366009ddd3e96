"""Checks read one snapshot: they never report an honest writer, and always report a change outside memglot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import memglot
from memglot import Memory
from memglot.store.sqlite.connection import Connection
from memglot.store.sqlite.store import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with some memories, their vectors and a deleted memory."""
    path = tmp_path / "store.db"
    with Memory.open(path) as memory:
        for number in range(20):
            memory.add(f"note {number} about alpha and beta")
        memory.delete(memory.add("a deleted note").id)
        memory.embed()
    return path


@pytest.mark.parametrize("write", [False, True], ids=["reading", "writing"])
def test_writes_in_the_middle_of_a_check_are_no_problem(
    path: Path, write: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = Connection.rows
    with Memory.open(path) as writer, Memory.open(path, write=write) as memory:
        checked = memory.store
        assert isinstance(checked, SqliteStore)
        written = 0

        def write_first(self: Connection, sql: str, bindings: Any = ()) -> Iterator[tuple[Any, ...]]:
            nonlocal written
            if self is checked.connection:
                written += 1
                added = writer.add("written in the middle of a check")
                writer.update(added.id, content="and changed")
                if written % 2:
                    writer.delete(added.id)
            return query(self, sql, bindings)

        monkeypatch.setattr(Connection, "rows", write_first)
        assert memory.doctor().problems == []
        assert memory.audit_verify()["ok"]
        assert written > 20


def test_a_lagging_index_is_not_damage(path: Path) -> None:
    with Memory.open(path) as memory, pytest.raises(KeyboardInterrupt), memory.store.loading(by_content=False):
        memory.add("not indexed yet")
        raise KeyboardInterrupt
    with Memory.open(path, write=False) as memory:
        assert memory.doctor().problems == []
        assert memory.search("indexed").total == 1
        assert ["indexes are incomplete" in note for note in memory.notes] == [True]
    assert memglot.verify(path).state == "whole"
    with Memory.open(path) as memory:
        assert memory.doctor().problems == []
        assert memory.search("indexed").total == 1
        assert memory.notes == []


def edit_row(db: apsw.Connection) -> None:
    db.execute("UPDATE records SET content = 'forged' WHERE seq = 3")


def delete_row(db: apsw.Connection) -> None:
    db.execute("DELETE FROM records WHERE seq = 3; DELETE FROM vectors WHERE seq = 3")
    db.execute("DELETE FROM record_text WHERE rowid = 3; UPDATE state SET value = 19 WHERE name = 'vector_count'")


def add_row(db: apsw.Connection) -> None:
    columns = "title, kind, scope, tree, status, created_at, updated_at, content_hash, digest, content"
    db.execute(f"INSERT INTO records (id, {columns}) SELECT 'x', {columns} FROM records WHERE seq = 3")


def edit_audit_row(db: apsw.Connection) -> None:
    db.execute("UPDATE events SET action = 'update' WHERE seq = 2")


def delete_last_audit_row(db: apsw.Connection) -> None:
    db.execute("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)")


def edit_words(db: apsw.Connection) -> None:
    db.execute("DELETE FROM record_text WHERE rowid = 3")
    db.execute("INSERT INTO record_text (rowid, content) VALUES (3, 'other words')")


def remove_words(db: apsw.Connection) -> None:
    db.execute("DELETE FROM record_text WHERE rowid = 3")


def damage_words(db: apsw.Connection) -> None:
    db.execute("UPDATE record_text_data SET block = zeroblob(length(block)) WHERE id > 10")


def remove_vector(db: apsw.Connection) -> None:
    db.execute("DELETE FROM vectors WHERE seq = 3")


@pytest.mark.parametrize("write", [False, True], ids=["reading", "writing"])
@pytest.mark.parametrize(
    ("tamper", "problem"),
    [
        (edit_row, "does not match its digest"),
        (delete_row, "found 19 memories instead of 20"),
        (add_row, "found 21 memories instead of 20"),
        (edit_audit_row, "the audit chain breaks at row 2"),
        (delete_last_audit_row, "the audit chain breaks at row 22"),
        (edit_words, "the full-text index does not match"),
        (remove_words, "the full-text index does not match"),
        (damage_words, "the full-text index does not match"),
        (remove_vector, "the vectors do not match"),
    ],
)
def test_a_change_outside_memglot_is_noticed(
    path: Path, write: bool, tamper: Callable[[apsw.Connection], None], problem: str
) -> None:
    db = apsw.Connection(str(path))
    tamper(db)
    db.close()
    with Memory.open(path, write=write) as memory:
        assert any(problem in found for found in memory.doctor().problems), memory.doctor().problems
    assert memglot.verify(path).state == "altered"
