"""memories.json from somebody who means harm, or had bad luck: nothing leaks, nothing breaks, nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_memories_json import META, export, put, row

from memglot import Memory
from memglot.cli.main import run
from memglot.errors import NoPassphrase, TargetExists, UsageError
from memglot.exporting.verify import verify
from memglot.model import Conflict, Entity, Record, Tombstone

HUGE = "1" + "0" * 400


def raw(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def bring(memory: Memory, path: Path, *items: Any) -> None:
    """Put things into a store as they are."""
    with memory.store.writing():
        memory.store.records.add([item for item in items if isinstance(item, Record)])
        memory.store.things.put([item for item in items if not isinstance(item, Record)])


# What must not leak


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
def test_a_sealed_file_tells_nothing(secret: Memory, tmp_path: Path, dead: bool) -> None:
    if dead:
        secret.delete(ID % 2)
    out = tmp_path / "out.json"
    secret.sync_export(out, passphrase="p", include_audit_chain=True)
    assert leaks(out) == []
    assert verify(out, passphrase="p").ok
    assert secret.sync_import(out, passphrase="p").import_id is None
    with Memory.open(":memory:") as other:
        assert list(other.sync_import(out, passphrase="p").errors) == []
        # What was sealed marks its scope, so that the next export does not let it out.
        with pytest.raises(NoPassphrase):
            other.sync_export(tmp_path / "next.json")
        other.sync_export(tmp_path / "next.json", passphrase="p", include_audit_chain=True)
        assert leaks(tmp_path / "next.json") == []


@pytest.mark.parametrize("dead", [False, True])
def test_the_file_of_another_scope_tells_nothing(secret: Memory, tmp_path: Path, dead: bool) -> None:
    if dead:
        secret.delete(ID % 2)
    out = tmp_path / "out.json"
    secret.sync_export(out, scope="user", include_audit_chain=True)
    assert leaks(out) == [] and verify(out).ok
    secret.sync_export(tmp_path / "v5.json", v5=True)
    assert leaks(tmp_path / "v5.json") == []


def test_the_proof_of_a_sealed_file_is_no_oracle(secret: Memory, tmp_path: Path) -> None:
    value = export(secret, tmp_path / "out.json", passphrase="p", include_audit_chain=True)
    own = value["export_metadata"]["memglot"]
    assert "digest" not in own and "rest" not in own
    assert not any("digest" in event["details"] for event in value["audit_chain"])


def test_a_scope_of_which_only_a_deletion_is_left_still_travels_sealed(memory: Memory, tmp_path: Path) -> None:
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
        assert result.count == 1 and not any("says it holds" in note for note in result.notes)
        assert any("left out 2 memories" in note for note in result.notes)


def test_a_plain_file_leaves_out_what_it_could_only_seal(secret: Memory, tmp_path: Path) -> None:
    from memglot import convert

    secret.sync_export(tmp_path / "in.json", passphrase="p")
    result = convert(tmp_path / "in.json", tmp_path / "out.json", to="memories-json", plain=True, passphrase="p")
    assert leaks(tmp_path / "out.json") == [] and b"memglot" not in (tmp_path / "out.json").read_bytes()
    assert result.count == 1 and any("left out 1 memory" in note for note in result.notes)


def test_a_plain_file_tells_which_identities_it_drops(memory: Memory, tmp_path: Path) -> None:
    for text in ("first", "second", "third"):
        memory.set_identity(text)
    result = memory.export(tmp_path / "out.json", format="memories-json", plain=True)
    assert result.losses == {"document": 2}
    assert json.loads((tmp_path / "out.json").read_text())["identity_snapshot"] == "third"


def test_bodies_that_change_places_are_found(memory: Memory, tmp_path: Path) -> None:
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


# What must not break


@pytest.mark.parametrize(
    "text",
    [
        '{"memories":[{"id":"ok","content":"g"},{"id":"b","content":"x","created_at":1e308}]}',
        '{"memories":[{"id":"ok","content":"g"},{"id":"b","content":"x","updated_at":HUGE}]}',
        '{"memories":[{"id":"ok","content":"g"}],"entities":[{"id":"e","name":"n","first_seen_at":1e308}]}',
        '{"memories":[{"id":"ok","content":"g"}],"relations":[{"subject_id":"a","predicate":"p","object_id":"b",'
        '"confidence":HUGE}]}',
        '{"memories":[{"id":"ok","content":"g"}],"supersedes_chain":[{"newer_memory_id":"a","older_memory_id":"b",'
        '"confidence":HUGE}]}',
        '{"memories":[{"id":"ok","content":"g"}],"x":-1e400}',
        '{"memories":[{"id":"ok","content":"g"}],"entities":[{"memglot":{"id":"e","name":"n","first_seen":'
        "9223372036854775807}}]}",
        '{"memories":[{"id":"ok","content":"g"}],"memglot":[{"document":{"id":"d","name":"identity","content":"x",'
        '"created_at":9223372036854775807}}]}',
    ],
)
def test_one_bad_value_never_costs_the_file(memory: Memory, tmp_path: Path, text: str) -> None:
    path = raw(tmp_path / "in.json", text.replace("HUGE", HUGE))
    result = memory.sync_import(path)
    assert result.imported == 1 and len(list(result.errors)) == 1
    assert len(list(memory.diff_with_remote(path).unchanged)) == 1
    memory.sync_export(tmp_path / "out.json")
    assert verify(tmp_path / "out.json").ok


def test_a_time_of_export_that_no_calendar_has_is_none(memory: Memory, tmp_path: Path) -> None:
    text = '{"export_metadata":{"export_timestamp":1e308},"memories":[{"content":"g"}],"identity_snapshot":"me"}'
    assert memory.sync_import(raw(tmp_path / "in.json", text)).imported == 1


@pytest.mark.parametrize("end", ['"entities":null}', '"memories":null}', '"x":5}', '"audit_chain":null}', '"x":true}'])
def test_a_last_value_may_stand_right_before_the_brace(memory: Memory, tmp_path: Path, end: str) -> None:
    text = '{"export_metadata":{},"memories":[{"content":"g"}],' + end
    result = memory.sync_import(raw(tmp_path / "in.json", text))
    assert (result.imported, list(result.errors)) == (1, [])


def test_a_row_without_a_hash_is_taken_when_the_chain_is(memory: Memory, tmp_path: Path) -> None:
    chain = [{"seq": 1, "ts": "2026-01-01T00:00:00Z", "action": "x", "details": {}}]
    path = put(tmp_path / "in.json", row("g"), audit_chain=chain)
    assert memory.sync_import(path).imported == 0
    assert memory.sync_import(path, accept_broken_audit=True).imported == 1
    assert [event["action"] for event in memory.audit_imported()] == ["x"]


def test_an_identity_with_many_lines_is_read_at_once(memory: Memory, tmp_path: Path) -> None:
    value = {"export_metadata": META, "memories": [], "identity_snapshot": "---\r\n" + "a: b\r\n" * 10_000 + "end"}
    (tmp_path / "in.json").write_text(json.dumps(value))
    memory.sync_import(tmp_path / "in.json")
    identity = memory.identity()
    assert identity is not None and identity.content.endswith("end")


def test_a_huge_section_that_is_no_list_is_left_out_and_told(memory: Memory, tmp_path: Path) -> None:
    text = '{"memories":[{"content":"g"}],"other":{"x":"' + "y" * (17 << 20) + '"}}'
    result = memory.sync_import(raw(tmp_path / "in.json", text))
    (fault,) = result.errors
    assert result.imported == 1 and "more than 16 MiB" in str(fault)


def test_many_relations_of_one_memory_cost_no_more_each(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memglot.disk import DiskMap

    written = []
    put_there = DiskMap.__setitem__

    def counting(self: DiskMap, name: str, value: Any) -> None:
        written.append(len(json.dumps(value)))
        put_there(self, name, value)

    count = 1_000
    relations = [
        {"subject_id": f"entity:a:{n}", "predicate": "p", "object_id": "entity:b:b", "source_memory_id": "m"}
        for n in range(count)
    ]
    memory.sync_import(put(tmp_path / "in.json", row("g", "m"), relations=relations))
    monkeypatch.setattr(DiskMap, "__setitem__", counting)
    value = export(memory, tmp_path / "out.json")
    assert len(value["memories"][0]["relations"]) == count
    # Each is written once, and not again with every one that follows.
    assert sum(written) < 1_000 * count


def test_depth_that_could_not_be_read_back_is_not_taken(memory: Memory, tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(96):
        deep = {"a": deep}
    chain = [
        {"seq": 1, "ts": "2026-01-01T00:00:00Z", "action": "x", "details": deep, "prev_hash": "a", "this_hash": "b"}
    ]
    entity = {"id": "entity:a:b", "name": "n", "deep": deep}
    path = put(tmp_path / "in.json", row("g"), row("h", "two", deep=deep), entities=[entity], audit_chain=chain)
    result = memory.sync_import(path)
    assert (result.imported, result.failed, len(list(result.errors))) == (1, 1, 3)
    memory.sync_export(tmp_path / "out.json", include_audit_chain=True)
    assert memory.sync_import(tmp_path / "out.json").import_id is None


@pytest.mark.parametrize(
    "harm", ['"scope":"\\u0000"', '"scope":"sec","cipher_blob":"AAAA","encrypted":true', '"scope":7', '"scope":["x"]']
)
def test_a_scope_that_is_none_costs_only_its_row(memory: Memory, tmp_path: Path, harm: str) -> None:
    text = '{"memories":[{"content":"g"},{"id":"b","content":"x","sensitive":true,%s}]}'.replace("%s", harm)
    result = memory.sync_import(raw(tmp_path / "in.json", text))
    assert result.imported >= 1 and result.imported + result.failed == 2


@pytest.mark.parametrize("key", [b'"oth\xffer"', b'"other"'])
def test_bytes_that_are_no_text_are_told(memory: Memory, tmp_path: Path, key: bytes) -> None:
    (tmp_path / "in.json").write_bytes(b'{"memories":[{"content":"g"}],' + key + b':"\xb3"}')
    result = memory.sync_import(tmp_path / "in.json")
    assert result.imported == 1 and len(list(result.errors)) == 1


def test_a_sealed_row_that_lost_its_rule_is_not_kept(memory: Memory, tmp_path: Path) -> None:
    chain = [{"seq": 1, "ts": "2026-01-01T00:00:00Z", "event_type": "sealed", "action": "sealed",
              "details": {"sealed": "AAAA"}, "prev_hash": "a", "this_hash": "b"}]  # fmt: skip
    memory.sync_import(put(tmp_path / "in.json", row("g"), audit_chain=chain))
    memory.sync_export(tmp_path / "out.json", include_audit_chain=True)
    again = memory.sync_import(tmp_path / "out.json")
    assert (again.import_id, list(again.errors)) == (None, [])


# What must not pass


def test_a_chain_that_is_gone_altogether_is_found(memory: Memory, tmp_path: Path) -> None:
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


def test_another_tools_file_that_mentions_us_is_not_ours(memory: Memory, tmp_path: Path) -> None:
    memory.add("x")
    given = put(tmp_path / "other.json", row("the only copy", tags=["memglot"], metadata={"memglot": {"id": "x"}}))
    with pytest.raises(TargetExists):
        memory.sync_export(given)
    with pytest.raises(UsageError):
        memory.sync_export(tmp_path / "v5.json", v5=True, include_audit_chain=True)


def test_a_file_cut_behind_its_memories_counts_no_memory_more(memory: Memory, tmp_path: Path) -> None:
    memory.add("one")
    memory.add_entity("Anna", "person")
    out = tmp_path / "out.json"
    memory.sync_export(out)
    text = out.read_bytes()
    out.write_bytes(text[: text.index(b'"name":"Anna"') + 8])
    with Memory.open(":memory:") as other:
        result = other.sync_import(out)
        assert (result.imported, result.failed) == (1, 0) and list(result.errors)
        assert not any("says it holds" in note for note in result.notes)


def test_a_sealed_row_of_a_file_that_does_not_say_how_is_told_so(memory: Memory, tmp_path: Path) -> None:
    path = put(tmp_path / "in.json", row("", cipher_blob="A" * 40, encrypted=True))
    (fault,) = memory.sync_import(path, passphrase="p").errors
    assert "has no `encryption` block" in str(fault)


def test_a_diff_tells_of_all_that_an_import_would_change(memory: Memory, tmp_path: Path) -> None:
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


def test_a_memory_that_was_never_updated_is_as_old_as_it_is(memory: Memory, tmp_path: Path) -> None:
    path = put(tmp_path / "in.json", row("g", created_at=100, updated_at=0))
    memory.sync_import(path)
    memory.sync_export(tmp_path / "out.json")
    assert memory.sync_import(tmp_path / "out.json").import_id is None


@pytest.mark.parametrize("numbers", [[0.1, 0.2], [True, 1], [1e300, 1.0], ["x"]])
def test_what_a_vector_cannot_hold_is_told_or_given_back(memory: Memory, tmp_path: Path, numbers: Any) -> None:
    result = memory.sync_import(put(tmp_path / "in.json", row("g", embedding=numbers)))
    (found,) = export(memory, tmp_path / "out.json", include_embeddings=True)["memories"]
    told = any("embedding" in note for note in result.notes)
    slot = found["metadata"]["memglot"].get("extra", {}).get("mcp-memory", {})
    assert told or slot.get("embedding") == numbers


def test_nothing_is_converted_where_nothing_could_be_read(tmp_path: Path, capsys: Any) -> None:
    from memglot.cli.session import Session

    raw(tmp_path / "in.json", '{"export_metadata":{},"memories":[{"content":7}]}')
    code = run(Session(), ["convert", str(tmp_path / "in.json"), str(tmp_path / "out.yaml")])
    assert code == 2 and "nothing was written" in capsys.readouterr().out
    assert not (tmp_path / "out.yaml").exists()


def test_things_of_other_kinds_are_checked_as_records_are(tmp_path: Path) -> None:
    from memglot.errors import BadRecord
    from memglot.model import check_thing

    for thing in (
        Entity(id="e", name="n", last_seen=1 << 62),
        Tombstone(id="t", content_hash="", deleted_at=-(1 << 62)),
    ):
        with pytest.raises(BadRecord):
            check_thing(thing)
