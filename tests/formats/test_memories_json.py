"""memories.json: read three dialects, write one superset, and verify everything."""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from conftest import SHARED
from memglot import Memory
from memglot.exporting.verify import verify
from memglot.formats.core.audit_chain import raw_hash
from memglot.formats.memoryd.encryption import Cipher, cipher_for
from memglot.model import Blob, Document, Entity, Relation, Supersession

MEMORYD = SHARED / "fixtures" / "memoryd"
SERVICE = SHARED / "fixtures" / "mcp-memory-service"
PASSPHRASE = "correct-horse-battery-staple 口令"
real = pytest.mark.skipif(not MEMORYD.exists(), reason="the original tools' files are not here")
META = {
    "source_machine": "desk",
    "export_timestamp": "2026-03-01T08:00:00Z",
    "total_memories": 1,
    "database_path": "~/x.db",
    "platform": "Linux",
    "python_version": "3.12.0",
    "exporter_version": "memoryd-1",
}


def sha(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def row(content: str, id: str = "one", **more: Any) -> dict[str, Any]:
    return {
        "content": content,
        "content_hash": sha(content),
        "tags": [],
        "created_at": 1772300000.5,
        "updated_at": 1772300000.5,
        "memory_type": "note",
        "metadata": {},
        "export_source": "desk",
        "id": id,
        **more,
    }


def put(path: Path, *rows: Any, **sections: Any) -> Path:
    path.write_text(json.dumps({"export_metadata": META, "memories": list(rows), **sections}, ensure_ascii=False))
    return path


def export(memory: Memory, path: Path, **options: Any) -> dict[str, Any]:
    memory.sync_export(path, **options)
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


# The original tools' own files


@real
@pytest.mark.parametrize(
    ("name", "imported", "failed"),
    [
        ("exports/alpha.json", 16, 0),
        ("exports/alpha_no_audit.json", 16, 0),
        ("exports/empty.json", 0, 0),
        ("exports/finance_encrypted.json", 2, 0),
        ("page/minimal.json", 1, 0),
        ("page/all_sections_no_audit.json", 1, 0),
        ("page/audit_page_shape.json", 1, 0),
        ("page/audit_superset.json", 1, 0),
        ("page/enc_superset.json", 1, 0),
        ("page/big_path_traversal.json", 0, 1),
    ],
)
def test_every_file_of_memoryd_has_the_result_in_its_name(
    memory: Memory, name: str, imported: int, failed: int
) -> None:
    result = memory.sync_import(MEMORYD / name, passphrase=PASSPHRASE)
    assert (result.imported, result.failed) == (imported, failed)
    assert len(list(result.errors)) == failed
    again = memory.sync_import(MEMORYD / name, passphrase=PASSPHRASE)
    assert (again.imported, again.merged, again.import_id) == (0, 0, None)


@real
def test_exports_of_memoryd_are_imported_completely_and_exported_again(memory: Memory, tmp_path: Path) -> None:
    given = json.loads((MEMORYD / "exports/alpha.json").read_text(encoding="utf-8"))
    memory.sync_import(MEMORYD / "exports/alpha.json")
    out = export(memory, tmp_path / "out.json", include_audit_chain=True)
    rows = {row["id"]: row for row in out["memories"]}
    for before in given["memories"]:
        after = rows[before["id"]]
        filled = {"entities", "relations"}
        for key in before.keys() - filled - {"metadata"}:
            assert after[key] == before[key], key
        assert {key: after["metadata"][key] for key in before["metadata"]} == before["metadata"]
    assert [entity["id"] for entity in out["entities"]] == sorted(entity["id"] for entity in given["entities"])
    said = {(one["subject_id"], one["predicate"], one["object_id"]): one for one in out["relations"]}
    for relation in given["relations"]:
        found = said[relation["subject_id"], relation["predicate"], relation["object_id"]]
        assert {key: found[key] for key in relation} == relation
    assert out["identity_snapshot"] == given["identity_snapshot"]
    origins = [found["origin"]["this_hash"] for found in out["audit_chain"] if "tool" in found["details"]]
    assert origins == [event["this_hash"] for event in given["audit_chain"] if "tool" in event["details"]]
    solid = rows["2026-05-12-use-solid"]
    assert "entity:library:solid" in solid["entities"] and "entity:person:abble" in solid["entities"]
    assert solid["supersedes"] == ["2026-04-01-use-react"]
    assert any(hit.record.title == "前端用 React" for hit in memory.search("React"))
    assert [entity.name for entity in memory.entities("Longgang")] == ["深圳 龙岗"]


@real
@pytest.mark.parametrize("name", ["export_v5.0.1.json", "export_v12.4.0_filter.json"])
def test_exports_of_the_service_survive_a_round_trip(memory: Memory, tmp_path: Path, name: str) -> None:
    given = json.loads((SERVICE / name).read_text(encoding="utf-8"))
    result = memory.import_from(SERVICE / name)
    assert (result.format, result.imported, result.failed) == ("memories-json", len(given["memories"]), 0)
    out = export(memory, tmp_path / "v5.json", v5=True)
    found = {one["content"]: one for one in out["memories"]}
    for before in given["memories"]:
        after = found[before["content"]]
        after["metadata"].pop("memglot")
        assert after == before


@real
def test_the_known_answers_of_memoryds_crypto() -> None:
    answers = json.loads((MEMORYD / "crypto/kat.json").read_text(encoding="utf-8"))
    fixed = next(one for one in answers["transit_memories_json"] if one.get("fixed"))
    block = {"salt": fixed["salt_b64"], "iterations": fixed["iterations"]}
    cipher = cipher_for(fixed["passphrase"], block)
    assert cipher.decrypt(fixed["cipher_blob"]).decode() == fixed["plaintext"]
    block["salt"] = "base64:" + fixed["salt_b64"]
    assert cipher_for(fixed["passphrase"], block).can_decrypt(fixed["cipher_blob"])


@real
def test_the_rows_of_memoryds_log_hash_as_it_says() -> None:
    lines = (MEMORYD / "audit/audit.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    assert [raw_hash(event) for event in events[:-1]] == [event["prev_hash"] for event in events[1:]]


# Hashes


@pytest.mark.parametrize(
    ("hash", "fits"),
    [
        (sha("  Text "), True),
        ("sha256:" + sha("  Text "), True),
        (sha("Text"), True),
        (sha("text"), True),
        ("", True),
        (None, True),
        (sha("other"), False),
        ("h", False),
        (7, False),
    ],
)
def test_a_hash_of_memoryd_must_match_one_of_three_rules(memory: Memory, tmp_path: Path, hash: Any, fits: bool) -> None:
    path = put(tmp_path / "in.json", row("  Text ", content_hash=hash), row("sibling", "two"))
    result = memory.sync_import(path)
    assert (result.imported, result.failed) == ((2, 0) if fits else (1, 1))
    given = json.loads(path.read_text())
    given["export_metadata"]["exporter_version"] = "5.0.1"
    path.write_text(json.dumps(given))
    with Memory.open(":memory:") as other:
        # In a file of mcp-memory-service it is an id, whatever its value.
        assert other.sync_import(path).imported == 2


def test_a_record_keeps_its_hash_until_its_content_changes(memory: Memory, tmp_path: Path) -> None:
    memory.sync_import(put(tmp_path / "in.json", row(" Text ", content_hash=sha("Text"))))
    (found,) = export(memory, tmp_path / "out.json")["memories"]
    assert found["content_hash"] == sha("Text")
    memory.update(next(memory.list()).id, content="Other")
    (found,) = export(memory, tmp_path / "out.json")["memories"]
    assert found["content_hash"] == "sha256:" + sha("Other")
    (found,) = export(memory, tmp_path / "v5.json", v5=True)["memories"]
    assert found["content_hash"] == sha("other")


# Large bodies


def test_large_bodies_are_stored_once_in_separate_files_and_verified(memory: Memory, tmp_path: Path) -> None:
    big = "茶" * ((1 << 20) // 3 + 1)
    edge = "x" * (1 << 20)
    memory.add(big)
    memory.add(big, kind="note")
    memory.add(edge)
    out = tmp_path / "out.json"
    value = export(memory, out, chunk_size_mb=1)
    chunks = list((tmp_path / "out.json.chunks").iterdir())
    assert [chunk.name for chunk in chunks] == [sha(big) + ".bin"] and chunks[0].read_text(encoding="utf-8") == big
    size = len(big.encode())
    pointer = {"ref": sha(big), "size_bytes": size}
    for found in [one for one in value["memories"] if not one["content"]]:
        assert found["large_file_pointer"] == pointer and found["content_hash"] == "sha256:" + sha(big)
        manifest = {"chunk_dir": "out.json.chunks", "filename": chunks[0].name, "size_bytes": size, "sha256": sha(big)}
        assert found["large_file_manifest"] == manifest
    assert [one["ref"] for one in value["large_file_manifest"]] == [sha(big)]
    assert verify(out).ok
    for harm in (lambda: chunks[0].write_bytes(b"x" * size), lambda: chunks[0].write_text("x"), chunks[0].unlink):
        harm()
        with Memory.open(":memory:") as other:
            result = other.sync_import(out)
            assert (result.imported, result.failed) == (1, 2)
            assert all("its body" in str(fault) for fault in result.errors)
        assert not verify(out).ok
    with Memory.open(":memory:") as other:
        memory.sync_export(out, v5=True, force=True)
        assert other.sync_import(out).imported == 3


def test_bodies_of_earlier_exports_stay_for_the_copies_that_need_them(memory: Memory, tmp_path: Path) -> None:
    big = memory.add("y" * ((1 << 20) + 1))
    export(memory, tmp_path / "out.json", chunk_size_mb=1)
    (tmp_path / "copy.json").write_bytes((tmp_path / "out.json").read_bytes())
    memory.update(big.id, content="small")
    result = memory.sync_export(tmp_path / "out.json", chunk_size_mb=1)
    assert any("1 body of earlier exports" in note for note in result.notes)
    assert verify(tmp_path / "copy.json").ok and verify(tmp_path / "out.json").ok


@pytest.mark.parametrize(
    "pointer",
    [
        {"large_file_pointer": {"ref": "../secret", "size_bytes": 6}},
        {"large_file_pointer": {"ref": "/etc/hostname", "size_bytes": 6}},
        {"large_file_manifest": {"chunk_dir": "..", "filename": "secret.bin", "size_bytes": 6}},
        {"large_file_manifest": {"chunk_dir": "/etc", "filename": "hostname"}},
        {"large_file_manifest": {"chunk_dir": "in.json.chunks", "filename": "../secret.bin"}},
        {"large_file_manifest": {"chunk_dir": "in.json.chunks", "filename": "a\\b"}},
        {"large_file_manifest": {"chunk_dir": "in.json.chunks", "filename": "link.bin", "sha256": sha("secret")}},
        {"large_file_manifest": {"chunk_dir": "linked", "filename": "secret.bin", "sha256": sha("secret")}},
        {"large_file_manifest": {"chunk_dir": "C:", "filename": "secret.bin"}},
        {"large_file_manifest": {"chunk_dir": 7, "filename": ["x"]}},
    ],
)
def test_files_outside_the_folder_of_bodies_are_not_opened(memory: Memory, tmp_path: Path, pointer: Any) -> None:
    folder = tmp_path / "inner"
    (folder / "in.json.chunks").mkdir(parents=True)
    (tmp_path / "secret.bin").write_text("secret")
    (folder / "in.json.chunks" / "link.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "linked").symlink_to(tmp_path)
    result = memory.sync_import(put(folder / "in.json", row("", **pointer)))
    (fault,) = result.errors
    assert (result.imported, result.failed) == (0, 1) and "outside" in str(fault)


def test_bodies_next_to_a_zip_are_not_those_of_a_file_in_it(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.json.chunks").mkdir()
    (tmp_path / "in.json.chunks" / f"{sha('secret')}.bin").write_text("secret")
    put(tmp_path / "in.json", row("", large_file_pointer={"ref": sha("secret"), "size_bytes": 6}))
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as out:
        out.write("in.json")
    assert memory.import_from("in.zip").failed == 1
    assert memory.import_from("in.json").imported == 1


def test_a_folder_of_another_plain_name_may_be_named(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "old.json.chunks").mkdir()
    (tmp_path / "old.json.chunks" / "body.bin").write_text("the body")
    manifest = {"chunk_dir": "old.json.chunks", "filename": "body.bin", "size_bytes": 8, "sha256": sha("the body")}
    path = put(tmp_path / "new.json", row("", large_file_manifest=manifest, content_hash=sha("other")))
    result = memory.sync_import(path)
    assert [record.content for record in memory.list()] == ["the body"]
    assert any("content_hash" in note for note in result.notes)


# Encryption


@pytest.fixture
def secret(memory: Memory) -> Memory:
    memory.mark_sensitive("finance")
    memory.add("in the open", tags=["plain"])
    memory.add("Kontostand 4711", scope="finance", title="Spar-Buch", tags=["geld-lich"], meta={"bank": "X-Y"})
    memory.add_entity("Spar-Kasse", "organization", scope="finance")
    memory.set_identity("rich-man", scope="finance")
    return memory


def test_sensitive_scopes_are_exported_encrypted_or_not_at_all(secret: Memory, tmp_path: Path) -> None:
    from memglot.errors import NoPassphrase

    out = tmp_path / "out.json"
    with pytest.raises(NoPassphrase, match="finance"):
        secret.sync_export(out)
    assert not out.exists()
    value = export(secret, out, passphrase="pass", include_audit_chain=True)
    text = out.read_text()
    # None of these can occur in base64 by chance.
    for word in ("Kontostand 4711", "Spar-Buch", "geld-lich", "X-Y", "Spar-Kasse", "rich-man", sha("Kontostand 4711")):
        assert word not in text
    (sealed,) = [one for one in value["memories"] if one.get("scope") == "finance"]
    assert (sealed["content"], sealed["content_hash"], sealed["encrypted"]) == ("", "", True)
    block = value["export_metadata"]["encryption"]
    assert value["encryption"]["kdf_iters"] == block["iterations"] == 600_000
    assert value["encryption"]["salt"] == "base64:" + block["salt"]
    # As memoryd decrypts it: only the body, without associated data.
    assert cipher_for("pass", block).decrypt(sealed["cipher_blob"]).decode() == "Kontostand 4711"
    other = cipher_for("pass", block)
    assert not other.can_decrypt(sealed["metadata"]["memglot"]["sealed"], "another id")
    assert [one["tags"] for one in value["memories"] if "scope" not in one] == [["plain"]]
    assert verify(out, passphrase="pass").ok and verify(out).state == "unproven"


def test_encrypted_memories_are_restored_and_mark_their_scope(secret: Memory, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    secret.sync_export(out, passphrase="pass")
    assert secret.sync_import(out, passphrase="pass").import_id is None
    with Memory.open(":memory:") as other:
        assert other.sync_import(out, passphrase=lambda: "pass").imported == 2
        assert [scope.scope for scope in other.scopes() if scope.sensitive] == ["finance"]
        kept = {record.id: record for record in other.list()}
        assert kept == {record.id: record for record in secret.list()}
        assert [entity.name for entity in other.entities()] == ["Spar-Kasse"]
        identity = other.identity("finance")
        assert identity is not None and identity.content == "rich-man"
        assert len(list(other.diff_with_remote(out, passphrase="pass").unchanged)) == 2


def test_a_wrong_passphrase_is_one_error_and_changes_nothing(secret: Memory, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    secret.sync_export(out, passphrase="pass")
    with Memory.open(":memory:") as other:
        result = other.sync_import(out, passphrase="wrong")
        (fault,) = result.errors
        assert "passphrase" in str(fault) and (result.imported, other.count()) == (0, 0)
        assert other.scopes() == [] and other.audit_log() == []
        result = other.sync_import(out)
        assert (result.imported, result.failed, result.exit_code) == (1, 1, 1)


def test_plaintext_is_exported_only_on_request(secret: Memory, tmp_path: Path) -> None:
    value = export(secret, tmp_path / "out.json", plaintext=True, passphrase="pass")
    (one,) = [one for one in value["memories"] if one.get("scope") == "finance"]
    assert one["content"] == "Kontostand 4711" and one["sensitive"] is True and "encryption" not in value
    value = export(secret, tmp_path / "v5.json", v5=True)
    assert [one["content"] for one in value["memories"]] == ["in the open"]


def test_an_altered_blob_fails_only_its_own_row(secret: Memory, tmp_path: Path) -> None:
    secret.add("another", scope="finance")
    out = tmp_path / "out.json"
    value = export(secret, out, passphrase="pass")
    sealed = next(one for one in value["memories"] if one.get("scope") == "finance")
    raw = bytearray(base64.b64decode(sealed["cipher_blob"]))
    raw[-1] ^= 1
    sealed["cipher_blob"] = base64.b64encode(raw).decode()
    out.write_text(json.dumps(value))
    with Memory.open(":memory:") as other:
        result = other.sync_import(out, passphrase="pass")
        assert (result.imported, result.failed) == (2, 1)


@pytest.mark.parametrize(
    "harm", [{"iterations": 10**9}, {"iterations": "x"}, {"salt": ""}, {"kdf": "md5"}, {"salt": 7}]
)
def test_an_invalid_encryption_block_is_refused(memory: Memory, tmp_path: Path, harm: Any) -> None:
    cipher = Cipher("pass")
    block = {**cipher.memoryd_block(), **harm}
    path = put(tmp_path / "in.json", row("", cipher_blob=cipher.encrypt("x"), encrypted=True))
    value = json.loads(path.read_text())
    value["export_metadata"]["encryption"] = block
    path.write_text(json.dumps(value))
    result = memory.sync_import(path, passphrase="pass")
    assert (result.imported, len(list(result.errors))) == (0, 1)


# The audit chain


@pytest.fixture
def audited(memory: Memory, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    event = {"event_type": "access", "ts": "2026-03-01T06:00:00+00:00", "tool": "x"}
    chain = [
        {"seq": 9, "ts": "2026-03-01T06:00:00Z", "action": "access", "details": {"tool": "x"}, "prev_hash": "ab" * 32,
         "this_hash": raw_hash(event)},
        {"seq": 4, "ts": "2026-02-01T06:00:00Z", "event_type": "capture", "details": "{\"a\": 1}", "actor": "cli",
         "prev_hash": "sha256:" + raw_hash(event), "this_hash": "sha256:" + "cd" * 32},
    ]  # fmt: skip
    result = memory.sync_import(put(tmp_path / "in.json", row("x"), audit_chain=chain))
    assert result.failed == 0 and any("1 verified, 1 linked" in note for note in result.notes)
    memory.add("here")
    out = tmp_path / "out.json"
    return out, export(memory, out, include_audit_chain=True)


def test_own_and_foreign_rows_are_exported_by_time_in_one_chain(audited: tuple[Path, dict[str, Any]]) -> None:
    path, value = audited
    chain = value["audit_chain"]
    assert [row["ts"] for row in chain] == sorted(row["ts"] for row in chain)
    assert [row["seq"] for row in chain] == list(range(1, len(chain) + 1))
    assert value["export_metadata"]["audit_chain_head"] == chain[-1]["this_hash"]
    assert all(isinstance(row["details"], dict) and row["hash_rule"] == "memglot-1" for row in chain)
    assert all(row["action"] and row["event_type"] for row in chain)
    assert chain[0]["origin"]["this_hash"] == "sha256:" + "cd" * 32 and chain[0]["details"] == {"a": 1}
    assert verify(path).ok


@pytest.mark.parametrize("number", [0, 1, -1])
@pytest.mark.parametrize("field", ["ts", "details", "action", "seq", "this_hash", "prev_hash", "hash_rule", "drop"])
def test_any_altered_row_is_detected(audited: tuple[Path, dict[str, Any]], number: int, field: str) -> None:
    path, value = audited
    chain = value["audit_chain"]
    if field == "drop":
        del chain[number]
        if number == 0:
            # A chain may begin in the middle; the head and the proof still show that a row is missing.
            path.write_text(json.dumps(value))
            assert not verify(path).ok
            return
    elif field == "hash_rule":
        del chain[number][field]
    else:
        chain[number][field] = {"x": 1} if field == "details" else 7 if field == "seq" else "2026-01-01T00:00:00Z"
    path.write_text(json.dumps(value))
    with Memory.open(":memory:") as other:
        result = other.sync_import(path)
        (fault,) = result.errors
        assert "audit chain is broken at row" in str(fault) and other.count() == 0
        assert other.sync_import(path, accept_broken_audit=True).imported == 2
    verdict = verify(path)
    assert verdict.state == "altered" and any("audit chain" in problem for problem in verdict.problems)


def test_rows_of_other_scopes_contain_only_the_links_of_the_chain(memory: Memory, tmp_path: Path) -> None:
    memory.add("one", scope="a")
    memory.add("two", scope="b")
    value = export(memory, tmp_path / "a.json", scope="a", include_audit_chain=True)
    assert [one["content"] for one in value["memories"]] == ["one"]
    first, second = value["audit_chain"]
    links = {"seq", "ts", "prev_hash", "this_hash"}
    # memoryd refuses a file with a row that has no action or no object as details.
    left_out = {"action": "left_out", "details": {"memglot": "left_out"}}
    assert first["scope_hash"] == "a" and second == {**{name: second[name] for name in links}, **left_out}
    assert verify(tmp_path / "a.json").ok
    with Memory.open(":memory:") as other:
        result = other.sync_import(tmp_path / "a.json")
        assert result.imported == 1 and "1 audit row of other scopes" in " ".join(result.notes)
        assert [found["scope_hash"] for found in other.audit_imported()] == ["a"]
    # Earlier versions wrote such rows without an action.
    value["audit_chain"][1] = {name: second[name] for name in links}
    (tmp_path / "earlier.json").write_text(json.dumps(value))
    with Memory.open(":memory:") as other:
        assert other.sync_import(tmp_path / "earlier.json").imported == 1 and len(other.audit_imported()) == 1
    value["audit_chain"][0] = {**{name: first[name] for name in links}, **left_out}
    del value["export_metadata"]["memglot"]["scope"]
    (tmp_path / "a.json").write_text(json.dumps(value))
    with Memory.open(":memory:") as other:
        # In a file that is not marked as one scope, a row without details was altered.
        assert len(list(other.sync_import(tmp_path / "a.json").errors)) == 1


def test_own_rows_are_recognized_on_import(audited: tuple[Path, dict[str, Any]], memory: Memory) -> None:
    path, value = audited
    before = memory.store.things.count(Blob)
    assert memory.sync_import(path).import_id is None
    assert memory.store.things.count(Blob) == before


def test_rows_that_differ_only_in_their_number_are_all_kept(memory: Memory, tmp_path: Path) -> None:
    event = {"event_type": "denied", "ts": "2026-03-01T06:00:00+00:00", "tool": "x"}
    link = {"ts": "2026-03-01T06:00:00Z", "action": "denied", "details": {"tool": "x"}, "this_hash": raw_hash(event)}
    chain = [{"seq": seq, **link, "prev_hash": raw_hash(event)} for seq in (1, 2, 3)]
    given = put(tmp_path / "in.json", row("x"), audit_chain=chain)
    memory.sync_import(given)
    assert sorted(found["origin"]["seq"] for found in memory.audit_imported()) == [1, 2, 3]
    assert memory.sync_import(given).import_id is None
    out = export(memory, tmp_path / "out.json", include_audit_chain=True)
    kept = [found["origin"]["seq"] for found in out["audit_chain"] if found["action"] == "denied"]
    assert sorted(kept) == [1, 2, 3] and verify(tmp_path / "out.json").ok
    assert memory.sync_import(tmp_path / "out.json").import_id is None
    with Memory.open(":memory:") as other:
        other.sync_import(tmp_path / "out.json")
        assert [found["action"] for found in other.audit_imported()].count("denied") == 3
        assert other.sync_import(given).import_id is None


# Shapes


@pytest.mark.parametrize("place", ["frontmatter", "metadata"])
def test_a_row_without_a_body_has_its_title_as_content(memory: Memory, tmp_path: Path, place: str) -> None:
    given = {**row(""), place: {"title": "only a title"}}
    assert memory.sync_import(put(tmp_path / "in.json", given)).imported == 1
    (record,) = memory.list()
    assert (record.content, record.title) == ("only a title", "only a title")
    (out,) = export(memory, tmp_path / "out.json")["memories"]
    assert (out["content"], out["content_hash"]) == ("", given["content_hash"])
    assert memory.sync_import(tmp_path / "out.json").import_id is None and verify(tmp_path / "out.json").ok
    memory.export(tmp_path / "v5.json", format="mcp-memory-v5")
    assert json.loads((tmp_path / "v5.json").read_text())["memories"][0]["content"] == "only a title"
    memory.update(record.id, content="a body")
    (out,) = export(memory, tmp_path / "out.json")["memories"]
    assert out["content"] == "a body" and out["content_hash"] == "sha256:" + sha("a body")


def test_an_encrypted_row_without_a_body_has_its_title_as_content(memory: Memory, tmp_path: Path) -> None:
    given = row("", frontmatter={"title": "only a title"}, scope="sec", sensitive=True)
    del given["content_hash"]
    memory.sync_import(put(tmp_path / "in.json", given))
    export(memory, tmp_path / "out.json", passphrase="p")
    with Memory.open(":memory:") as other:
        assert other.sync_import(tmp_path / "out.json", passphrase="p").imported == 1
        assert [record.content for record in other.list()] == ["only a title"]


def test_a_row_without_a_body_and_a_title_is_refused(memory: Memory, tmp_path: Path) -> None:
    (fault,) = memory.sync_import(put(tmp_path / "in.json", row("", frontmatter={"title": ""}))).errors
    assert "content" in str(fault)


def test_a_file_gives_the_same_result_from_every_input(tmp_path: Path) -> None:
    text = put(tmp_path / "in.json", row("x")).read_bytes()
    (tmp_path / "bom.json").write_bytes(b"\xef\xbb\xbf" + text)
    for given in (text, tmp_path / "bom.json", tmp_path / "in.json"):
        with Memory.open(":memory:") as memory:
            result = memory.import_from(given)
            assert (result.format, result.imported, list(result.errors)) == ("memories-json", 1, [])


def test_a_cut_file_yields_its_complete_rows_and_reports_it(memory: Memory, tmp_path: Path) -> None:
    for number in range(5):
        memory.add(f"memory {number}")
    out = tmp_path / "out.json"
    memory.sync_export(out)
    whole = out.read_bytes()
    for cut in range(whole.index(b'"memories"') + 20, len(whole) - 3, 37):
        out.write_bytes(whole[:cut])
        rows = whole[:cut].count(b'"export_source":"test-machine"}')
        with Memory.open(":memory:") as other:
            result = other.sync_import(out)
            assert other.count() == result.imported == rows
            assert result.exit_code == (1 if rows else 2) and list(result.errors)


def test_the_graph_is_imported_and_completes_the_rows(memory: Memory, tmp_path: Path) -> None:
    path = put(
        tmp_path / "in.json",
        row("a", "a", entities=["entity:library:Solid"], supersedes=["b"],
            relations=[{"predicate": "uses", "subject_id": "memory:a", "object_id": "entity:library:Solid"}]),
        row("b", "b"),
        entities=[{"id": "entity:library:Solid", "name": "Solid", "type": "library"}],
        relations=[{"subject_id": "entity:person:x", "predicate": "likes", "object_id": "entity:library:Solid",
                    "source_memory_id": "b", "created_at": "2026-01-01T00:00:00Z"}],
    )  # fmt: skip
    result = memory.sync_import(path)
    assert result.failed == 0 and any("likes" in note for note in result.notes)
    store = memory.store
    assert [thing.id for thing in store.things.select(Entity)] == ["entity:library:solid"]
    assert (store.things.count(Relation), store.things.count(Supersession)) == (2, 1)
    value = export(memory, tmp_path / "out.json")
    rows = {one["id"]: one for one in value["memories"]}
    assert rows["b"]["entities"] == ["entity:library:Solid", "entity:person:x"]
    assert rows["a"]["supersedes"] == ["b"] and rows["a"]["entities"] == ["entity:library:Solid"]
    assert value["supersedes_chain"][0]["older_memory_id"] == "b"


def test_the_later_identity_is_current_and_the_others_are_history(memory: Memory, tmp_path: Path) -> None:
    def bring(text: str, at: str) -> None:
        value = {"export_metadata": {**META, "export_timestamp": at}, "memories": [], "identity_snapshot": text}
        (tmp_path / "in.json").write_text(json.dumps(value))
        memory.sync_import(tmp_path / "in.json")

    bring("first", "2026-01-02T00:00:00Z")
    bring("older", "2026-01-01T00:00:00Z")
    bring("newer", "2026-01-03T00:00:00Z")
    identity = memory.identity()
    assert isinstance(identity, Document) and identity.content == "newer"
    assert [document.content for document in memory.identity_history()] == ["older", "first", "newer"]
    assert export(memory, tmp_path / "out.json")["identity_snapshot"] == "newer"


def test_only_our_own_files_are_replaced(memory: Memory, tmp_path: Path) -> None:
    from memglot.errors import TargetExists

    memory.add("x")
    out = tmp_path / "out.json"
    memory.sync_export(out)
    memory.sync_export(out)
    put(out, row("x"))
    with pytest.raises(TargetExists):
        memory.sync_export(out)
    memory.sync_export(out, force=True)


# Merging, compared with the results of memoryd's own function


KEPT = {
    "remote newer content",
    "local newer content",
    "tie -> remote",
    "tags union order, case sensitive",
    "relations none vs list",
    "entities union",
    "supersedes + superseded_by union",
    "created min updated max",
    "audit names field without value -> ts",
    "audit capture action ignored",
    "audit other target ignored",
    "decay_state/scope/source LWW",
    "remote null scalar overwrites when newer",
    "local merge_notes kept, remote's dropped",
}
OTHERWISE: dict[str, dict[str, Any]] = {
    "relations union by triple, later wins": {},
    "audit value beats ts": {"content": "L"},
    "audit by after keys only": {"content": "L", "memory_type": "a"},
    "audit last seq wins": {"content": "R"},
    "frontmatter + metadata whole-object LWW": {
        "metadata": {"k": 1, "j": 2},
        "frontmatter": {"a": 1, "b": 2, "triggers": ["l", "r"]},
    },
    "extra unknown keys: local kept, remote's dropped": {"zzz": 1, "yyy": 2},
}


def vectors() -> list[Any]:
    path = MEMORYD / "merge_vectors.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def comparable(value: Any) -> Any:
    """Return a value for comparison: lists as sets, and None for empty values."""
    if isinstance(value, list):
        return sorted(json.dumps(comparable(one), sort_keys=True) for one in value) or None
    return value or None


@real
@pytest.mark.parametrize("vector", vectors(), ids=[vector["name"] for vector in vectors()])
@pytest.mark.parametrize("order", ["local first", "remote first"])
def test_merging_gives_the_results_of_memoryd(memory: Memory, tmp_path: Path, vector: Any, order: str) -> None:
    # The hashes are invented, so the files name a tool whose hashes are ids.
    head = {**META, "exporter_version": "5.0.1"}
    sides = ["local", "remote"] if order == "local first" else ["remote", "local"]
    conflicts = 0
    for side in sides:
        chain = vector["audit_chain"] if side == "remote" else []
        value = {"export_metadata": head, "memories": [vector[side]], "audit_chain": chain}
        (tmp_path / "in.json").write_text(json.dumps(value))
        # The invented audit rows do not form a chain.
        conflicts += memory.sync_import(tmp_path / "in.json", accept_broken_audit=True).conflicts
    value = export(memory, tmp_path / "out.json")
    (found,) = value["memories"]
    found["metadata"].pop("memglot")
    expected = {**vector["merged"], **OTHERWISE.get(vector["name"], {})}
    assert vector["name"] in KEPT or vector["name"] in OTHERWISE
    if vector["name"].startswith("relations union"):
        relations = [(one["subject_id"], one["predicate"], one["object_id"]) for one in found["relations"]]
        assert sorted(relations) == [("s", "p", "o"), ("s2", "p", "o")]
        assert [one["confidence"] for one in value["relations"] if "confidence" in one] == [0.1]
        return
    aside = {"content_hash", "merge_notes"}
    for key in expected.keys() - aside:
        assert comparable(found.get(key)) == comparable(expected[key]), key
    tie = vector["local"]["updated_at"] == vector["remote"]["updated_at"]
    clash = tie and vector["local"]["content"] != vector["remote"]["content"]
    assert bool(conflicts) == clash and bool(memory.conflicts()) == clash
