"""Regressions of merging, deduplicating and undoing, found by review."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memglot import Memory
from memglot.errors import CannotWrite
from memglot.importing import run
from memglot.merging.shared_tags import add_shared_tags, missing_shared_tags
from memglot.model import Record, Relation
from memglot.store.contract import Store

ID = "01890000-0000-7000-8000-000000000001"


def test_a_memory_that_is_active_on_both_sides_stays(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "a.db") as one, Memory.open(tmp_path / "b.db") as two:
        two.add("beta fact", id=ID)
        one.add("beta fact")
        two.import_from(tmp_path / "a.db", dedup=False)
        two.consolidate()
        for _ in range(2):
            one.import_from(tmp_path / "b.db")
            assert [record.content for record in one.list()] == ["beta fact"]
        assert one.import_from(tmp_path / "b.db").import_id is None


def test_a_store_is_imported_completely_with_equal_contents(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "a.db") as one, Memory.open(tmp_path / "b.db") as two:
        one.add("same", tree="a")
        one.add("same", tree="b", title="OTHER", meta={"k": 2})
        one.add("same", title="THIRD", meta={"k": 3})
        result = two.import_from(tmp_path / "a.db")
        assert (result.imported, result.skipped) == (3, 0)
        assert list(two.list()) == list(one.list())
        assert two.import_from(tmp_path / "a.db").import_id is None


def test_memories_with_one_content_share_tags_without_an_edit(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "a.db") as one, Memory.open(tmp_path / "b.db") as two:
        mine = one.add("same", tags=["x", "c"])
        alone = [one.add("same", kind="note", tags=["x"]), one.add("same", scope="work", tags=["x"])]
        gone = one.update(one.add("same", tags=["x"]).id, status="deleted")
        theirs = two.add("same", tags=["y", "b"], title="T", meta={"k": 1})
        result = one.import_from(tmp_path / "b.db")
        assert (result.imported, result.merged, result.skipped) == (1, 0, 0)
        tags = ["b", "c", "x", "y"]
        assert one.get(mine.id) == msgspec.structs.replace(mine, tags=tags)
        assert one.get(theirs.id) == msgspec.structs.replace(theirs, tags=tags)
        assert [one.get(record.id) for record in (*alone, gone)] == [*alone, gone]
        assert one.import_from(tmp_path / "b.db").import_id is None
        one.undo("last")
        assert one.get(mine.id) == mine and one.count() == 3


def test_only_merging_shares_tags(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "a.db") as one, Memory.open(tmp_path / "b.db") as two:
        mine = one.add("same", tags=["x"])
        two.add("same", tags=["y"])
        one.import_from(tmp_path / "b.db", dry_run=True)
        one.import_from(tmp_path / "b.db", conflict="skip")
        two.export(tmp_path / "b.ndjson")
        one.import_from(tmp_path / "b.ndjson", conflict="merge")
        assert one.count() == 2 and one.get(mine.id) == mine
        # No memory is new, but the tags were not shared yet.
        assert one.import_from(tmp_path / "b.db").import_id is not None
        assert one.get(mine.id).tags == ["x", "y"]


def test_many_groups_share_their_tags_while_others_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(place: int, tag: str) -> bytes:
        return "\n".join(
            json.dumps({"id": f"0189{number:04d}-0000-7000-8000-00000000000{place}", "content": f"same {number}",
                        "meta": {"memglot": {"tags": [tag]}}})
            for number in range(1_200)
        ).encode()  # fmt: skip

    with Memory.open(tmp_path / "a.db") as one, Memory.open(tmp_path / "b.db") as two:
        one.import_from(rows(1, "x"), format="ndjson")
        two.import_from(rows(2, "y"), format="ndjson")
        edited = next(two.list()).id

        def meanwhile(store: Store, wanted: dict[str, list[str]]) -> list[tuple[dict[str, Any], Record]]:
            found = add_shared_tags(store, wanted)
            assert edited not in wanted or ["x", "y", "z"] in [after.tags for _, after in found]
            return found

        def lacking(store: Store) -> Iterator[dict[str, list[str]]]:
            for wanted in missing_shared_tags(store):
                with Memory.open(tmp_path / "b.db") as other:
                    if edited in wanted:
                        other.update(edited, tags=["z", "y"])
                    other.add("another")
                yield wanted

        monkeypatch.setattr(run, "missing_shared_tags", lacking)
        monkeypatch.setattr(run, "add_shared_tags", meanwhile)
        assert two.import_from(tmp_path / "a.db").imported == 1_200
        assert two.count(tags=["x", "y"]) == 2_400 and two.get(edited).tags == ["x", "y", "z"]
        assert two.doctor().ok


def test_duplicates_in_several_batches_share_their_tags(tmp_path: Path) -> None:
    rows = [
        json.dumps({"id": f"0189{number:04d}-0000-7000-8000-000000000001", "content": "same"})
        for number in range(1_500)
    ]
    with Memory.open(tmp_path / "a.db") as one, Memory.open(tmp_path / "b.db") as two:
        one.import_from("\n".join(rows).encode(), format="ndjson")
        two.add("same", tags=["x"])
        assert two.import_from(tmp_path / "a.db").imported == 1_500
        assert two.count() == two.count(tags=["x"]) == 1_501
        assert two.doctor().ok


def test_duplicates_that_differ_are_reported() -> None:
    with Memory.open(":memory:") as memory:
        result = memory.import_from(b"content,owner\nHello,alice\nHello,bob\n", format="csv")
        assert (result.imported, result.skipped) == (1, 1)
        assert any("other fields differ" in note for note in result.notes)


def test_undo_keeps_attached_items_of_a_memory_that_stays(tmp_path: Path) -> None:
    rows = [{"id": f"mt_{name}", "content": name, "createdAt": 1} for name in "ab"]
    with Memory.open(":memory:") as memory:
        memory.import_from("\n".join(map(json.dumps, rows)).encode(), format="agentos-json")
        one, two = memory.list()
        memory.link(one.id, "causes", two.id)
        memory.export(tmp_path / "x.ndjson")
    with Memory.open(":memory:") as memory:
        memory.import_from(tmp_path / "x.ndjson")
        memory.update(one.id, tags=["mine"])
        memory.undo("last")
        assert [record.id for record in memory.list()] == [one.id]
        assert len(list(memory.relations())) == 1


def test_undoing_all_imports_leaves_nothing() -> None:
    def text(title: str, updated: int) -> bytes:
        row = {"id": "conv_1", "title": title, "created_at": 1, "updated_at": updated, "metadata": "{}"}
        return json.dumps({"traces": [], "conversations": [row]}).encode()

    with Memory.open(":memory:") as memory:
        for title, updated in (("one", 1), ("two", 2)):
            memory.import_from(text(title, updated), format="agentos-json")
        for entry in memory.imports():
            memory.undo(entry.id)
        assert memory.stats()["things"] == {}


def test_a_repeated_undo_of_the_last_import_keeps_the_one_before(memory: Memory) -> None:
    for text in ("one", "two"):
        memory.import_from(json.dumps({"content": text}).encode(), format="ndjson")
    assert memory.undo("last").imported == 1
    again = memory.undo("last")
    assert again.imported == 0 and "is already undone" in again.notes[0]
    assert [record.content for record in memory.list()] == ["one"]


def test_a_bad_entry_of_a_zip_affects_only_itself(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("a.sqlite", b"SQLite format 3\0" + b"x" * 200)
        archive.writestr("b.json", '[{"content":"good"}]')
    with Memory.open(":memory:") as memory:
        result = memory.import_from(tmp_path / "z.zip")
        assert (result.imported, len(list(result.errors))) == (1, 1)


@pytest.mark.parametrize("format", ["json", "sqlite", "agentos-sqlite", "csv"])
def test_a_store_is_not_replaced_by_its_own_export(format: str, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "s.db") as memory:
        memory.add("x")
        with pytest.raises(CannotWrite, match="store itself"):
            memory.export(tmp_path / "s.db", format=format, force=True)
        assert memory.count() == 1


def test_many_duplicates_and_leading_spaces_are_read_fast(tmp_path: Path) -> None:
    rows = "\n".join(
        json.dumps({"id": f"mt_{number}", "content": "same", "createdAt": 1, "tags": [f"t{number}"]})
        for number in range(4_000)
    )
    with Memory.open(":memory:") as memory:
        result = memory.import_from(rows.encode(), format="agentos-json")
        assert (result.imported, result.skipped) == (1, 3_999)
        assert len(next(memory.list()).tags) == 4_000
        (tmp_path / "x.json").write_bytes(b" " * 3_000_000 + b'[{"content":"after space"}]')
        assert memory.import_from(tmp_path / "x.json").imported == 1


@pytest.mark.parametrize(
    "row", [{"created_at": 1e999}, {"confidence": "high"}, {"label": None}, {"id": 7}, {"type": None}]
)
def test_invalid_nodes_are_reported_and_affect_nothing_else(row: dict[str, object]) -> None:
    node = {"id": "n", "type": "t", "label": "l", "created_at": 1, **row}
    text = {"traces": [{"id": "mt_1", "content": "x", "created_at": 1}], "nodes": [node]}
    with Memory.open(":memory:") as memory:
        result = memory.import_from(json.dumps(text).replace("Infinity", "1e999").encode(), format="agentos-json")
        assert result.imported == 1 and len(list(result.errors)) == 1
        assert memory.export(format="agentos-json", dialect="program").count == 1


def test_edges_may_come_before_their_nodes() -> None:
    edge = {"id": "e", "source_id": "n", "target_id": "mt_1", "type": "about", "created_at": 1}
    nodes = [{"id": "n", "type": "person", "label": "Ann", "created_at": 1}]
    text = {"edges": [edge], "nodes": nodes, "traces": [{"id": "mt_1", "content": "x", "created_at": 1}]}
    with Memory.open(":memory:") as memory:
        memory.import_from(json.dumps(text).encode(), format="agentos-json")
        (relation,) = memory.store.things.select(Relation)
        (entity,) = memory.entities()
        assert relation.subject.entity and relation.subject.id == entity.id


def test_the_programs_object_does_not_grow(tmp_path: Path) -> None:
    row = {"id": "conv_1", "title": "t", "created_at": 1, "updated_at": 2, "metadata": "{}", "brain_id": "b"}
    text = {
        "meta": {"agent_name": "x"},
        "traces": [{"brain_id": "b", "id": "7", "content": "x", "created_at": 1}],
        "conversations": [row],
    }
    with Memory.open(":memory:") as memory:
        memory.import_from(json.dumps(text).encode(), format="agentos-json")
        before = memory.stats()["things"]
        for name in ("one.json", "two.json"):
            memory.export(tmp_path / name, format="agentos-json", dialect="program")
            assert memory.import_from(tmp_path / name).import_id is None, name
        assert memory.stats()["things"] == before


def test_a_note_with_fewer_fields_removes_nothing(tmp_path: Path) -> None:
    with Memory.open(":memory:") as memory:
        text = b'{"id":"mt_1","content":" x \\n\\n","scope":"thread","metadata":{"scopeId":"t1"},"createdAt":1000}'
        memory.import_from(text, format="agentos-json")
        (before,) = memory.list()
        (tmp_path / "v" / "semantic").mkdir(parents=True)
        note = "---\nid: mt_1\ntype: semantic\nscope: thread\ncreatedAt: 1000\n---\nx\n"
        (tmp_path / "v" / "semantic" / "mt_1.md").write_text(note, encoding="utf-8")
        for format in ("obsidian", "agentos-markdown"):
            result = memory.import_from(tmp_path / "v", format=format)
            (after,) = memory.list()
            assert (after.content, after.scope, after.kind) == (before.content, before.scope, before.kind)
            assert result.conflicts == 0
            assert memory.import_from(tmp_path / "v", format=format).import_id is None
