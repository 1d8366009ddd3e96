"""`doctor --salvage` copies what can be read of a damaged store, and says what is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import memglot
from memglot import MemglotError, Memory
from memglot.exporting.salvage import salvage

PAGE = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with memories, relations, an entity, a deletion, a sensitive scope and history, in one file."""
    path = tmp_path / "store.db"
    with Memory.open(path) as memory:
        ids = [memory.add(f"note {number} " + "about alpha and beta " * 40).id for number in range(120)]
        memory.link(ids[0], "about", ids[1])
        memory.add_entity("Ada", "person")
        memory.update(ids[2], title="changed")
        memory.delete(ids[3])
        memory.add("secret", scope="private")
        memory.mark_sensitive("private")
    sql(path, "PRAGMA journal_mode = DELETE")
    return path


def sql(path: Path, statement: str) -> list[tuple[object, ...]]:
    db = apsw.Connection(str(path))
    try:
        return list(db.execute(statement))
    finally:
        db.close()


def overwrite(path: Path, name: str, place: int) -> None:
    """Overwrite one page of a table or index with zeros."""
    page = sql(path, f"SELECT pageno FROM dbstat WHERE name = '{name}'")[place][0]
    assert isinstance(page, int)
    with open(path, "r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(bytes(PAGE))


def contents(path: Path) -> dict[str, str]:
    with Memory.open(path, write=False) as memory:
        return {record.id: record.content for record in memory.list(limit=None)}


def test_an_intact_store_is_copied_completely(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.db"
    result = salvage(str(path), out)
    assert result.is_complete and result.problems() == [] and result.lost == 0
    assert contents(out) == contents(path)
    assert result.others["relations"] == {"copied": 1, "lost": 0}
    assert memglot.verify(out).ok
    with Memory.open(out, write=False) as memory:
        assert [scope.scope for scope in memory.scopes() if scope.sensitive] == ["private"]
        assert memory.audit_log(limit=1)[0].action == "salvage"
        (changed,) = [record.id for record in memory.list(limit=None) if record.title == "changed"]
        assert len(memory.history(changed)[0]) == 2


@pytest.mark.parametrize("name", ["records_id", "records_tree", "record_text_data", "relations_owner"])
def test_a_damaged_index_loses_nothing(path: Path, tmp_path: Path, name: str) -> None:
    before = contents(path)
    overwrite(path, name, 0)
    result = salvage(str(path), tmp_path / "out.db")
    assert result.lost == 0 and contents(tmp_path / "out.db") == before


def test_lost_memories_are_named(path: Path, tmp_path: Path) -> None:
    before = contents(path)
    overwrite(path, "records", 5)
    damaged = path.read_bytes()
    result = salvage(str(path), tmp_path / "out.db")
    after = contents(tmp_path / "out.db")
    assert 0 < result.lost < 10 and len(after) == len(before) - result.lost
    assert set(result.lost_ids) == set(before) - set(after)
    assert path.read_bytes() == damaged


def test_damaged_texts_are_copied_as_far_as_they_can_be_read(path: Path, tmp_path: Path) -> None:
    before = contents(path)
    ids = [str(id) for (id,) in sql(path, "SELECT id FROM records WHERE seq IN (7, 8, 9) ORDER BY seq")]
    sql(path, "UPDATE records SET content = CAST(x'6e6f7465ff00' AS TEXT) WHERE seq = 7")
    sql(path, "UPDATE records SET tags = '[', created_at = 'soon' WHERE seq = 8")
    sql(path, "UPDATE records SET content = 'note ', scope = x'00' WHERE seq = 9")
    result = salvage(str(path), tmp_path / "out.db")
    after = contents(tmp_path / "out.db")
    assert result.lost == 0 and sorted(result.altered_ids) == sorted(ids)
    assert after == before | {ids[0]: "note\ufffd\ufffd", ids[2]: "note "}
    assert not result.is_complete
    with Memory.open(tmp_path / "out.db", write=False) as memory:
        # Its scope is gone, and it may have been a sensitive one.
        assert [(scope.scope, scope.sensitive) for scope in memory.scopes()][1:] == [
            ("salvaged", True),
            ("user", False),
        ]


def test_a_store_without_its_header_is_copied(path: Path, tmp_path: Path) -> None:
    before = contents(path)
    with open(path, "r+b") as file:
        file.write(bytes(100))
    assert salvage(str(path), tmp_path / "out.db").lost == 0
    assert contents(tmp_path / "out.db") == before


def test_a_broken_audit_chain_is_kept(path: Path, tmp_path: Path) -> None:
    sql(path, "UPDATE events SET actor = 'nobody' WHERE seq = 50")
    result = salvage(str(path), tmp_path / "out.db")
    assert "the audit chain breaks after row 49" in " ".join(result.notes)
    with Memory.open(tmp_path / "out.db", write=False) as memory:
        assert memory.audit_verify()["ok"]
        assert len(memory.audit_log()) == 50 and len(memory.audit_imported()) > 70


@pytest.mark.parametrize("version", range(1, 5))
def test_stores_of_earlier_versions_are_copied(version: int, tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    script = Path(__file__).parents[1] / "store" / "versions" / f"v{version}.sql"
    sql(old, script.read_text(encoding="utf-8"))
    result = salvage(str(old), tmp_path / "out.db")
    assert result.lost == 0 and result.memories
    assert {id: text for id, text in contents(tmp_path / "out.db").items()} == contents(old)


def test_nothing_is_overwritten(path: Path, tmp_path: Path) -> None:
    with pytest.raises(MemglotError, match="already exists"):
        salvage(str(path), path)
    (tmp_path / "no.db").write_bytes(b"not a database" * 1000)
    with pytest.raises(MemglotError, match="nothing in it can be read"):
        salvage(str(tmp_path / "no.db"), tmp_path / "out.db")
    assert not (tmp_path / "out.db").exists()


@pytest.mark.parametrize("name", ["out.json", "out.ndjson", "out.db", "vault", "notes.md"])
def test_an_export_contains_what_can_be_read(path: Path, tmp_path: Path, name: str) -> None:
    before = contents(path)
    overwrite(path, "records", 5)
    damaged = path.read_bytes()
    out = tmp_path / name
    format = {"vault": "obsidian", "notes.md": "markdown"}.get(name)
    with Memory.open(path, write=False) as memory:
        result = memory.export(out.with_suffix("") if name == "notes.md" else out, format=format)
    assert result.is_partial and result.value()["partial"] is True
    assert any("lost" in note and "memories" in note for note in result.notes)
    with Memory.open(tmp_path / "again.db") as memory:
        memory.import_from(out.with_suffix("") if name == "notes.md" else out)
        after = {record.id: record.content for record in memory.list(limit=None)}
    # Sensitive scopes only leave in a copy of the store.
    expected = {id: text for id, text in before.items() if text != "secret" or name == "out.db"}
    assert 0 < len(expected) - len(after) < 10 and after.items() <= expected.items()
    assert path.read_bytes() == damaged
    assert name == "vault" or name == "notes.md" or memglot.verify(out).ok


def test_a_limited_export_of_a_damaged_store(path: Path) -> None:
    sql(path, "UPDATE records SET content = CAST(x'6e6f7465ff00' AS TEXT) WHERE seq = 50")
    with Memory.open(path, write=False) as memory:
        result = memory.export(format="ndjson", limit=60)
        assert result.is_partial and result.count == 60
        assert not memory.export(format="ndjson", limit=30).is_partial
        with pytest.raises(MemglotError, match="damaged"):
            memory.sync_export(path.with_name("memories.json"), passphrase="secret")


def test_the_export_command_exits_with_1(path: Path, tmp_path: Path) -> None:
    overwrite(path, "records", 5)
    command = [sys.executable, "-m", "memglot", "--store", str(path), "export", "--format", "ndjson"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "note: the store is damaged: lost" in done.stderr
    assert len(done.stdout.splitlines()) > 100
