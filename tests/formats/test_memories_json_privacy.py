"""memories.json does not reveal encrypted memories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_memories_json import export, put, row

from memglot import Memory
from memglot.errors import NoPassphrase
from memglot.exporting.verify import verify
from memglot.model import Conflict, Record


def bring(memory: Memory, path: Path, *items: Any) -> None:
    """Write items to a store without checks."""
    with memory.store.writing():
        memory.store.records.add([item for item in items if isinstance(item, Record)])
        memory.store.things.put([item for item in items if not isinstance(item, Record)])


ID = "0190a0b0-0000-7000-8000-00000000000%d"


@pytest.fixture
def secret(memory: Memory, tmp_path: Path) -> Memory:
    memory.mark_sensitive("sec")
    memory.add("an open one", id=ID % 1)
    memory.add("SECRET-content", id=ID % 2, scope="sec", title="SECRET-title")
    memory.add_entity("SECRET-entity", "person", scope="sec")
    memory.link(ID % 1, "SECRET-predicate", ID % 2)
    memory.link(ID % 1, "knows", "entity:person:secret-entity")
    memory.link(ID % 2, "SECRET-also", ID % 1)
    memory.supersede(ID % 1, ID % 2, reason="SECRET-reason")
    gone = Record(id=ID % 3, content="SECRET-gone", scope="sec", status="deleted", created_at=5, updated_at=5)
    clash = Conflict(record=ID % 3, field="content", clock=5, values=["SECRET-a", "SECRET-gone"])
    bring(memory, tmp_path, gone, clash)
    return memory


def leaks(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8").lower()
    words = ("secret-content", "secret-title", "secret-entity", "secret-predicate", "secret-also", "secret-reason")
    return [word for word in (*words, "secret-gone", "secret-a") if word in text]


@pytest.mark.parametrize("dead", [False, True])
def test_an_encrypted_file_reveals_nothing(secret: Memory, tmp_path: Path, dead: bool) -> None:
    if dead:
        secret.delete(ID % 2)
    out = tmp_path / "out.json"
    secret.sync_export(out, passphrase="p", include_audit_chain=True)
    assert leaks(out) == []
    assert verify(out, passphrase="p").ok
    assert secret.sync_import(out, passphrase="p").import_id is None
    with Memory.open(":memory:") as other:
        assert list(other.sync_import(out, passphrase="p").errors) == []
        # Encrypted memories mark their scope, so that the next export does not reveal them.
        with pytest.raises(NoPassphrase):
            other.sync_export(tmp_path / "next.json")
        other.sync_export(tmp_path / "next.json", passphrase="p", include_audit_chain=True)
        assert leaks(tmp_path / "next.json") == []


@pytest.mark.parametrize("dead", [False, True])
def test_a_file_of_another_scope_reveals_nothing(secret: Memory, tmp_path: Path, dead: bool) -> None:
    if dead:
        secret.delete(ID % 2)
    out = tmp_path / "out.json"
    secret.sync_export(out, scope="user", include_audit_chain=True)
    assert leaks(out) == [] and verify(out).ok
    secret.sync_export(tmp_path / "v5.json", v5=True)
    assert leaks(tmp_path / "v5.json") == []


def test_the_proof_of_an_encrypted_file_has_no_digest(secret: Memory, tmp_path: Path) -> None:
    value = export(secret, tmp_path / "out.json", passphrase="p", include_audit_chain=True)
    own = value["export_metadata"]["memglot"]
    assert "digest" not in own and "rest" not in own
    assert not any("digest" in event["details"] for event in value["audit_chain"])


def test_deletions_in_a_sensitive_scope_are_encrypted(memory: Memory, tmp_path: Path) -> None:
    memory.mark_sensitive("sec")
    memory.add("diary", id=ID % 1, scope="sec")
    with Memory.open(":memory:") as other:
        memory.sync_export(tmp_path / "1.json", passphrase="p")
        other.sync_import(tmp_path / "1.json", passphrase="p")
        memory.delete(ID % 1)
        with pytest.raises(NoPassphrase):
            memory.sync_export(tmp_path / "2.json")
        memory.sync_export(tmp_path / "2.json", passphrase="p")
        found = other.diff_with_remote(tmp_path / "2.json", passphrase="p")
        assert list(found.deletes) == [ID % 1]
        other.sync_import(tmp_path / "2.json", passphrase="p")
        assert other.count() == 0


def test_convert_leaves_out_a_scope_that_is_marked_only_later_in_the_file(tmp_path: Path) -> None:
    from memglot import convert

    rows = (row("SECRET-content", "a", scope="fin"), row("SECRET-a", "b", scope="fin", sensitive=True), row("c", "c"))
    given = put(tmp_path / "in.json", *rows)
    for to in ("json", "ndjson", "mcp-memory-v5", "memories-json"):
        result = convert(given, tmp_path / f"out.{to}", to=to)
        assert leaks(tmp_path / f"out.{to}") == []
        assert result.count == 1 and not any("should contain" in note for note in result.notes)
        assert any("left out 2 memories" in note for note in result.notes)


def test_a_plain_file_leaves_out_sensitive_scopes(secret: Memory, tmp_path: Path) -> None:
    from memglot import convert

    secret.sync_export(tmp_path / "in.json", passphrase="p")
    result = convert(tmp_path / "in.json", tmp_path / "out.json", to="memories-json", plain=True, passphrase="p")
    assert leaks(tmp_path / "out.json") == [] and b"memglot" not in (tmp_path / "out.json").read_bytes()
    assert result.count == 1 and any("left out 1 memory" in note for note in result.notes)
