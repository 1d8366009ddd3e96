"""memories.json: audit chains, truncated files, and complete differences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_memories_json import export, put, row

from memglot import Memory
from memglot.errors import TargetExists, UsageError

ID = "0190a0b0-0000-7000-8000-00000000000%d"


def test_a_plain_file_reports_dropped_identities(memory: Memory, tmp_path: Path) -> None:
    for text in ("first", "second", "third"):
        memory.set_identity(text)
    result = memory.export(tmp_path / "out.json", format="memories-json", plain=True)
    assert result.losses == {"document": 2}
    assert json.loads((tmp_path / "out.json").read_text())["identity_snapshot"] == "third"


def test_swapped_encrypted_bodies_are_detected(memory: Memory, tmp_path: Path) -> None:
    memory.mark_sensitive("sec")
    memory.add("one", scope="sec")
    memory.add("two", scope="sec")
    out = tmp_path / "out.json"
    value = export(memory, out, passphrase="p")
    one, two = value["memories"]
    one["cipher_blob"], two["cipher_blob"] = two["cipher_blob"], one["cipher_blob"]
    out.write_text(json.dumps(value))
    with Memory.open(":memory:") as other:
        result = other.sync_import(out, passphrase="p")
        assert (result.imported, result.failed) == (0, 2)


def test_a_row_without_a_hash_is_imported_with_a_broken_chain(memory: Memory, tmp_path: Path) -> None:
    chain = [{"seq": 1, "ts": "2026-01-01T00:00:00Z", "action": "x", "details": {}}]
    path = put(tmp_path / "in.json", row("g"), audit_chain=chain)
    assert memory.sync_import(path).imported == 0
    assert memory.sync_import(path, accept_broken_audit=True).imported == 1
    assert [event["action"] for event in memory.audit_imported()] == ["x"]


def test_an_encrypted_audit_row_without_its_key_is_not_kept(memory: Memory, tmp_path: Path) -> None:
    chain = [{"seq": 1, "ts": "2026-01-01T00:00:00Z", "event_type": "sealed", "action": "sealed",
              "details": {"sealed": "AAAA"}, "prev_hash": "a", "this_hash": "b"}]  # fmt: skip
    memory.sync_import(put(tmp_path / "in.json", row("g"), audit_chain=chain))
    memory.sync_export(tmp_path / "out.json", include_audit_chain=True)
    again = memory.sync_import(tmp_path / "out.json")
    assert (again.import_id, list(again.errors)) == (None, [])


def test_a_missing_audit_chain_is_detected(memory: Memory, tmp_path: Path) -> None:
    memory.add("one")
    out = tmp_path / "out.json"
    value = export(memory, out, include_audit_chain=True)
    chain = value.pop("audit_chain")
    out.write_text(json.dumps(value))
    with Memory.open(":memory:") as other:
        assert len(list(other.sync_import(out).errors)) == 1 and other.count() == 0
    chain[0]["actor"] = "somebody else"
    out.write_text(json.dumps({**value, "audit_chain": chain}).replace('"audit_chain"', '"audit\\u005fchain"'))
    with Memory.open(":memory:") as other:
        # A letter of the key that is written otherwise is the same key.
        assert len(list(other.sync_import(out).errors)) == 1 and other.count() == 0


def test_a_bad_row_is_not_counted_as_verified(memory: Memory, tmp_path: Path) -> None:
    from memglot.exporting.audit_file import audit_file

    memory.add("one")
    memory.add("two")
    out = tmp_path / "out.json"
    value = export(memory, out, include_audit_chain=True)
    value["audit_chain"][0]["actor"] = "x"
    out.write_text(json.dumps(value))
    found = audit_file(out)
    assert (found["ok"], found["first_broken"], found["verified"]) == (False, 1, 1)


def test_a_file_of_another_tool_is_not_overwritten(memory: Memory, tmp_path: Path) -> None:
    memory.add("x")
    given = put(tmp_path / "other.json", row("the only copy", tags=["memglot"], metadata={"memglot": {"id": "x"}}))
    with pytest.raises(TargetExists):
        memory.sync_export(given)
    with pytest.raises(UsageError):
        memory.sync_export(tmp_path / "v5.json", v5=True, include_audit_chain=True)


def test_a_file_truncated_after_its_memories_is_counted_correctly(memory: Memory, tmp_path: Path) -> None:
    memory.add("one")
    memory.add_entity("Anna", "person")
    out = tmp_path / "out.json"
    memory.sync_export(out)
    text = out.read_bytes()
    out.write_bytes(text[: text.index(b'"name":"Anna"') + 8])
    with Memory.open(":memory:") as other:
        result = other.sync_import(out)
        assert (result.imported, result.failed) == (1, 0) and list(result.errors)
        assert not any("should contain" in note for note in result.notes)


def test_an_encrypted_row_requires_an_encryption_block(memory: Memory, tmp_path: Path) -> None:
    path = put(tmp_path / "in.json", row("", cipher_blob="A" * 40, encrypted=True))
    (fault,) = memory.sync_import(path, passphrase="p").errors
    assert "has no `encryption` block" in str(fault)


def test_a_diff_lists_everything_an_import_would_change(memory: Memory, tmp_path: Path) -> None:
    memory.add("stays", id=ID % 1)
    memory.add("goes", id=ID % 2)
    with Memory.open(":memory:") as other:
        memory.sync_export(tmp_path / "1.json")
        other.sync_import(tmp_path / "1.json")
        memory.delete(ID % 2)
        memory.set_identity("me")
        memory.add_entity("Anna", "person")
        memory.sync_export(tmp_path / "2.json")
        found = other.diff_with_remote(tmp_path / "2.json")
        assert (list(found.deletes), list(found.unchanged)) == ([ID % 2], [ID % 1])
        assert dict(found.others) == {"document": 1, "entity": 1}
        other.sync_import(tmp_path / "2.json")
        again = other.diff_with_remote(tmp_path / "2.json")
        assert (list(again.deletes), dict(again.others)) == ([], {})


def test_a_memory_that_was_never_updated(memory: Memory, tmp_path: Path) -> None:
    path = put(tmp_path / "in.json", row("g", created_at=100, updated_at=0))
    memory.sync_import(path)
    memory.sync_export(tmp_path / "out.json")
    assert memory.sync_import(tmp_path / "out.json").import_id is None


@pytest.mark.parametrize("numbers", [[0.1, 0.2], [True, 1], [1e300, 1.0], ["x"]])
def test_invalid_embeddings_are_reported_or_returned(memory: Memory, tmp_path: Path, numbers: Any) -> None:
    result = memory.sync_import(put(tmp_path / "in.json", row("g", embedding=numbers)))
    (found,) = export(memory, tmp_path / "out.json", include_embeddings=True)["memories"]
    told = any("embedding" in note for note in result.notes)
    slot = found["metadata"]["memglot"].get("extra", {}).get("mcp-memory", {})
    assert told or slot.get("embedding") == numbers
