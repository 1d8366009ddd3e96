"""memories.json with invalid values: an error affects only its own row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_memories_json import META, export, put, row

from memglot import Memory
from memglot.cli.main import run
from memglot.exporting.verify import verify
from memglot.model import Entity, Tombstone

HUGE = "1" + "0" * 400


def raw(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


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
def test_one_bad_value_does_not_affect_the_file(memory: Memory, tmp_path: Path, text: str) -> None:
    path = raw(tmp_path / "in.json", text.replace("HUGE", HUGE))
    result = memory.sync_import(path)
    assert result.imported == 1 and len(list(result.errors)) == 1
    assert len(list(memory.diff_with_remote(path).unchanged)) == 1
    memory.sync_export(tmp_path / "out.json")
    assert verify(tmp_path / "out.json").ok


@pytest.mark.parametrize("time", ["[1]", '"soon"', "true", "{}"])
def test_a_carried_time_of_another_type_affects_only_its_row(memory: Memory, tmp_path: Path, time: str) -> None:
    row = '{"content":"%s","content_hash":"%s","tags":[],"metadata":{"memglot":{"updated_at":%s}}}'
    rows = f"{row % ('a', '1', time)},{row % ('b', '2', '1772300000123000')}"
    result = memory.sync_import(raw(tmp_path / "in.json", f'{{"export_metadata":{{}},"memories":[{rows}]}}'))
    assert (result.imported, result.failed) in {(1, 1), (2, 0)}
    assert "b" in [record.content for record in memory.list()]


def test_an_export_time_outside_of_the_calendar_is_ignored(memory: Memory, tmp_path: Path) -> None:
    text = '{"export_metadata":{"export_timestamp":1e308},"memories":[{"content":"g"}],"identity_snapshot":"me"}'
    assert memory.sync_import(raw(tmp_path / "in.json", text)).imported == 1


@pytest.mark.parametrize("end", ['"entities":null}', '"memories":null}', '"x":5}', '"audit_chain":null}', '"x":true}'])
def test_a_last_value_directly_before_the_brace(memory: Memory, tmp_path: Path, end: str) -> None:
    text = '{"export_metadata":{},"memories":[{"content":"g"}],' + end
    result = memory.sync_import(raw(tmp_path / "in.json", text))
    assert (result.imported, list(result.errors)) == (1, [])


def test_an_identity_with_many_lines_is_read_fast(memory: Memory, tmp_path: Path) -> None:
    value = {"export_metadata": META, "memories": [], "identity_snapshot": "---\r\n" + "a: b\r\n" * 10_000 + "end"}
    (tmp_path / "in.json").write_text(json.dumps(value))
    memory.sync_import(tmp_path / "in.json")
    identity = memory.identity()
    assert identity is not None and identity.content.endswith("end")


def test_a_huge_section_that_is_not_a_list_is_skipped_with_an_error(memory: Memory, tmp_path: Path) -> None:
    text = '{"memories":[{"content":"g"}],"other":{"x":"' + "y" * (17 << 20) + '"}}'
    result = memory.sync_import(raw(tmp_path / "in.json", text))
    (fault,) = result.errors
    assert result.imported == 1 and "more than 16 MiB" in str(fault)


def test_many_relations_of_one_memory_are_written_once(
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


def test_values_nested_too_deeply_are_rejected(memory: Memory, tmp_path: Path) -> None:
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
def test_an_invalid_scope_affects_only_its_row(memory: Memory, tmp_path: Path, harm: str) -> None:
    text = '{"memories":[{"content":"g"},{"id":"b","content":"x","sensitive":true,%s}]}'.replace("%s", harm)
    result = memory.sync_import(raw(tmp_path / "in.json", text))
    assert result.imported >= 1 and result.imported + result.failed == 2


@pytest.mark.parametrize("key", [b'"oth\xffer"', b'"other"'])
def test_invalid_utf8_is_an_error(memory: Memory, tmp_path: Path, key: bytes) -> None:
    (tmp_path / "in.json").write_bytes(b'{"memories":[{"content":"g"}],' + key + b':"\xb3"}')
    result = memory.sync_import(tmp_path / "in.json")
    assert result.imported == 1 and len(list(result.errors)) == 1


def test_nothing_is_converted_if_nothing_can_be_read(tmp_path: Path, capsys: Any) -> None:
    from memglot.cli.session import Session

    raw(tmp_path / "in.json", '{"export_metadata":{},"memories":[{"content":7}]}')
    code = run(Session(), ["convert", str(tmp_path / "in.json"), str(tmp_path / "out.yaml")])
    assert code == 2 and "nothing was written" in capsys.readouterr().out
    assert not (tmp_path / "out.yaml").exists()


def test_other_kinds_of_items_are_validated_like_records(tmp_path: Path) -> None:
    from memglot.errors import BadRecord
    from memglot.model import check_thing

    for thing in (
        Entity(id="e", name="n", last_seen=1 << 62),
        Tombstone(id="t", content_hash="", deleted_at=-(1 << 62)),
    ):
        with pytest.raises(BadRecord):
            check_thing(thing)
