"""Damaged stores end in clear errors, `doctor` names the damage, and `doctor --fix` repairs only indexes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import memglot
from memglot import Memory
from memglot.errors import DamagedStore

PAGE = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of several pages, in one file."""
    path = tmp_path / "store.db"
    with Memory.open(path) as memory:
        ids = [memory.add(f"note {number} " + "about alpha and beta " * 40).id for number in range(120)]
        memory.link(ids[0], "about", ids[1])
        memory.update(ids[2], title="changed")
    sql(path, "PRAGMA journal_mode = DELETE")
    return path


def sql(path: Path, statement: str) -> None:
    db = apsw.Connection(str(path))
    db.execute(statement).fetchall()
    db.close()


def pages_of(path: Path, name: str) -> list[int]:
    """Return the numbers of the pages of a table or index, its root first."""
    db = apsw.Connection(str(path))
    try:
        return [page for (page,) in db.execute("SELECT pageno FROM dbstat WHERE name = ?", (name,))]
    finally:
        db.close()


def overwrite(path: Path, page: int, content: bytes = bytes(PAGE)) -> None:
    with open(path, "r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(content)


def invalid_text(path: Path) -> None:
    sql(path, "UPDATE records SET content = CAST(x'6e6f7465fffe' AS TEXT) WHERE seq = 7")


def invalid_json(path: Path) -> None:
    sql(path, "UPDATE records SET tags = '[' WHERE seq = 7")


def wrong_type(path: Path) -> None:
    sql(path, "UPDATE records SET created_at = 'soon' WHERE seq = 7")


def number_for_text(path: Path) -> None:
    sql(path, "UPDATE records SET content = x'00', title = x'00' WHERE seq = 7")


def lost_page(path: Path) -> None:
    overwrite(path, pages_of(path, "records")[5])


DAMAGES: list[Callable[[Path], None]] = [invalid_text, invalid_json, wrong_type, lost_page]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_and_nothing_is_changed(path: Path, damage: Callable[[Path], None]) -> None:
    damage(path)
    before = path.read_bytes()
    assert memglot.verify(path).state == "altered"
    with Memory.open(path, write=False) as memory:
        assert any("memory" in problem or "damaged" in problem for problem in memory.doctor().problems)
        with pytest.raises(DamagedStore) as raised:
            list(memory.list(limit=None))
        assert "memglot doctor" in str(raised.value.hint)
    with Memory.open(path) as memory, pytest.raises(DamagedStore):
        memory.doctor(fix=True)
    assert path.read_bytes()[PAGE:] == before[PAGE:]


def test_a_truncated_store_is_reported(path: Path) -> None:
    with open(path, "r+b") as file:
        file.truncate(max(pages_of(path, "records")[:10]) * PAGE)
    assert memglot.verify(path).state == "altered"
    with pytest.raises(DamagedStore), Memory.open(path, write=False) as memory:
        list(memory.list(limit=None))


@pytest.mark.parametrize("damage", [invalid_text, invalid_json, number_for_text, lost_page])
def test_search_reports_damage(path: Path, damage: Callable[[Path], None]) -> None:
    damage(path)
    with Memory.open(path, write=False) as memory:
        for query in ("alpha -gamma", "note", "🎉", '"about alpha"'):
            try:
                memory.search(query, limit=None)
            except DamagedStore as error:
                assert "memglot doctor" in str(error.hint)


@pytest.mark.parametrize("table", ["relations", "revisions", "events", "imports"])
def test_an_unreadable_item_is_a_problem(path: Path, table: str) -> None:
    column = {"revisions": "before", "events": "details"}.get(table, "doc")
    if table == "imports":
        sql(path, "INSERT INTO imports VALUES ('x', 1, '{}')")
    sql(path, f"UPDATE {table} SET {column} = '{{' WHERE rowid = (SELECT max(rowid) FROM {table})")
    with Memory.open(path, write=False) as memory:
        assert memory.doctor().problems


def test_a_lost_index_entry_is_repaired(path: Path) -> None:
    sql(path, "DROP INDEX records_tree; CREATE INDEX records_tree ON records (tree) WHERE seq <> 9")
    sql(
        path,
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE INDEX records_tree ON records (tree)' "
        "WHERE name = 'records_tree'",
    )
    with Memory.open(path) as memory:
        assert any("missing from index records_tree" in problem for problem in memory.doctor().problems)
        assert memory.doctor(fix=True).problems == []
