"""A complete store as a format: exporting copies it, importing merges it."""

from __future__ import annotations

import io
import sqlite3
from pathlib import Path

import pytest

from memglot import Memory
from memglot.errors import TargetExists
from memglot.exporting.convert import convert
from memglot.exporting.diff import diff
from memglot.exporting.verify import verify_path
from memglot.formats.core.sidecar import encode_item
from memglot.formats.sqlite import is_store
from memglot.model import Blob, Conflict, Embedding, Endpoint, Entity, Item, Record, Relation, Supersession, Tombstone
from memglot.report import Report
from memglot.store.stream import everything
from memglot.testing.samples import make, one_of_each_thing, whole_record


def lines(memory: Memory) -> list[str]:
    """Return everything in a store as lines."""
    return sorted(encode_item(item).decode() for item in everything(memory.store))


def filled(path: str | Path = ":memory:", *items: Item) -> Memory:
    memory = Memory.open(str(path))
    with memory.store.writing():
        for item in items:
            if isinstance(item, Record):
                memory.store.records.add([item])
            else:
                memory.store.things.put([item])
    return memory


def test_a_full_export_is_a_copy_of_the_store(tmp_path: Path) -> None:
    record = whole_record()
    with filled(tmp_path / "store.db", record, make("gone", status="deleted"), *one_of_each_thing()) as memory:
        memory.add("with history")
        result = memory.export(tmp_path / "copy.sqlite")
        assert (result.format, result.count, result.losses) == ("sqlite", 3, {})
        assert result.digest.startswith("sha256:")
        with Memory.open(str(tmp_path / "copy.sqlite"), write=False) as copy:
            assert lines(copy) == lines(memory)
            assert copy.audit_log() == memory.audit_log()
        assert verify_path(tmp_path / "copy.sqlite", Report()).state == "whole"
        assert list(diff(tmp_path / "store.db", tmp_path / "copy.sqlite")) == []
        with pytest.raises(TargetExists):
            memory.export(tmp_path / "copy.sqlite")
        memory.export(tmp_path / "copy.sqlite", force=True)
        assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.sqlite"]
        stream = io.BytesIO()
        memory.export(stream=stream, format="sqlite")
        (tmp_path / "streamed").write_bytes(stream.getvalue())
        assert is_store(tmp_path / "streamed")


def test_a_filtered_export_is_a_store_of_the_selected_memories(tmp_path: Path) -> None:
    a, b = make("a", tree="x"), make("b", tree="y")
    vector = Embedding(record=a.id, vector=b"\0\0\0\0", dimensions=1)
    with filled(":memory:", a, b, vector) as memory:
        assert memory.export(tmp_path / "part.db", tree="x").count == 1
    with Memory.open(str(tmp_path / "part.db"), write=False) as part:
        assert lines(part) == sorted(encode_item(item).decode() for item in (a, vector))
        assert part.doctor().problems == []


def test_without_conversations_everything_else_is_exported(tmp_path: Path) -> None:
    chat = Blob(tool="agentos", table="messages", key="m", row={"id": "m"})
    other = Blob(tool="agentos", table="documents", key="d", row={"id": "d"})
    said, known = make("said", source={"conversation": "c"}), make("known")
    rides = Relation(id="r", subject=Endpoint(said.id), predicate="p", object=Endpoint(known.id))
    with filled(":memory:", said, known, chat, other, rides, Entity(id="e", name="E")) as memory:
        memory.export(tmp_path / "part.db", include_conversations=False)
        memory.export(tmp_path / "part.ndjson", include_conversations=False)
    for name in ("part.db", "part.ndjson"):
        with Memory.open(":memory:") as part:
            part.import_from(tmp_path / name)
            expected = sorted(encode_item(item).decode() for item in (known, other, Entity(id="e", name="E")))
            assert lines(part) == expected


def test_importing_a_store_adds_everything_once(tmp_path: Path) -> None:
    record = whole_record()
    things = [thing for thing in one_of_each_thing() if not isinstance(thing, Tombstone)]
    for thing in things:
        if isinstance(thing, Conflict):
            # A conflict is part of its memory, and is imported only with it.
            thing.record = record.id
    with filled(tmp_path / "one.db", record, make("gone", status="deleted"), *things) as one:
        before = lines(one)
    with Memory.open(":memory:") as two:
        assert two.import_from(tmp_path / "one.db").imported == 2
        assert lines(two) == before
        again = two.import_from(tmp_path / "one.db")
        assert (again.imported, again.merged, again.skipped, again.import_id) == (0, 0, 2, None)
        two.undo("last")
        assert lines(two) == []


def test_converting_there_and_back_keeps_everything(tmp_path: Path) -> None:
    with filled(tmp_path / "one.db", whole_record(), make("gone", status="deleted"), *one_of_each_thing()) as one:
        before = lines(one)
    convert(tmp_path / "one.db", tmp_path / "brain.sqlite", to="agentos-sqlite")
    assert not is_store(tmp_path / "brain.sqlite")
    convert(tmp_path / "brain.sqlite", tmp_path / "two.db", to="sqlite")
    with Memory.open(str(tmp_path / "two.db"), write=False) as two:
        assert lines(two) == before


def test_relations_of_a_duplicate_move_to_the_one_that_stays(tmp_path: Path) -> None:
    stays = make("same", tags=["mine"], title="b", updated_at=5)
    double, other, last = (
        make("same", tags=["theirs"], title="b", updated_at=5),
        make("other"),
        make("same", kind="note"),
    )
    vector = Embedding(record=double.id, vector=b"\0\0\0\0", dimensions=1)
    things: list[Item] = [
        Relation(id="1-forward", subject=Endpoint(other.id), predicate="p", object=Endpoint(double.id)),
        Relation(
            id="2-back", subject=Endpoint(double.id), predicate="p", object=Endpoint(other.id), source_record=double.id
        ),
        Relation(id="3-entity", subject=Endpoint(double.id), predicate="p", object=Endpoint(double.id, entity=True)),
        Supersession(newer=other.id, older=double.id),
        vector,
        Conflict(record=double.id, field="title", clock=double.updated_at, values=["a", "b"]),
        Blob(tool="t", table="t", key="k", owner=double.id, row={}),
    ]
    filled(tmp_path / "theirs.db", other, double, last, *things).close()
    with filled(":memory:", stays) as memory:
        before = lines(memory)
        result = memory.import_from(tmp_path / "theirs.db", dedup="content")
        assert (result.imported, result.skipped) == (2, 1)
        assert memory.get(stays.id).tags == ["mine", "theirs"]
        relations = {relation.id: relation for relation in memory.relations()}
        assert relations["1-forward"].object == Endpoint(stays.id)
        assert (relations["2-back"].subject, relations["2-back"].source_record) == (Endpoint(stays.id), stays.id)
        assert relations["3-entity"].object == Endpoint(double.id, entity=True)
        assert [decision.older for decision in memory.store.things.select(Supersession)] == [stays.id]
        assert [found.record for found in memory.store.things.select(Embedding)] == [stays.id]
        assert [(found.record, found.values) for found in memory.store.things.select(Conflict)] == [
            (stays.id, ["a", "b"])
        ]
        assert [found.owner for found in memory.store.things.select(Blob)] == [stays.id]
        after = lines(memory)
        again = memory.import_from(tmp_path / "theirs.db", dedup="content")
        assert (again.imported, again.merged, again.import_id) == (0, 0, None)
        assert lines(memory) == after
        memory.undo("last")
        assert lines(memory) == before


def test_a_relation_between_duplicates_is_reported_and_a_vector_stays(tmp_path: Path) -> None:
    stays, one, two = make("same"), make("same"), make("same")
    mine = Embedding(record=stays.id, vector=b"\1\1\1\1", dimensions=1)
    theirs = Embedding(record=one.id, vector=b"\0\0\0\0", dimensions=1)
    rides = Relation(id="r", subject=Endpoint(one.id), predicate="p", object=Endpoint(two.id))
    filled(tmp_path / "theirs.db", one, two, theirs, rides).close()
    with filled(":memory:", stays, mine) as memory:
        result = memory.import_from(tmp_path / "theirs.db", dedup="content")
        assert any("between a memory and its duplicate" in note for note in result.notes)
        assert list(memory.relations()) == []
        assert list(memory.store.things.select(Embedding)) == [mine]


def test_deleted_memories_are_not_duplicates(tmp_path: Path) -> None:
    filled(tmp_path / "theirs.db", make("same", status="deleted"), make("same")).close()
    with filled(":memory:", make("same", status="deleted")) as memory:
        assert memory.import_from(tmp_path / "theirs.db", dedup="content").imported == 2
        assert memory.count(with_deleted=True) == 3


def test_two_stores_agree_whichever_is_imported_first(tmp_path: Path) -> None:
    blobs = [
        Blob(tool="t", table="t", key="k", row={"v": value, "updated_at": at})
        for value, at in (("old", 1), ("new", 2), ("other", 2))
    ]
    entities = [Entity(id="e", name=name) for name in "abc"]
    for number in range(3):
        filled(tmp_path / f"{number}.db", blobs[number], entities[number]).close()
    found = []
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        with Memory.open(":memory:") as memory:
            for number in order:
                memory.import_from(tmp_path / f"{number}.db")
            found.append(lines(memory))
    assert found[0] == found[1] == found[2]
    assert '"old"' not in "".join(found[0])


def test_a_store_of_another_version_is_reported(tmp_path: Path) -> None:
    filled(tmp_path / "new.db", make("x")).close()
    with sqlite3.connect(tmp_path / "new.db") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with Memory.open(":memory:") as memory:
        (fault,) = memory.import_from(tmp_path / "new.db").errors
        assert "version 99" in fault.error
        assert fault.hint == "`pip install --upgrade memglot`"


def test_a_live_store_is_detected(tmp_path: Path) -> None:
    with Memory.open(str(tmp_path / "live.db")) as live:
        live.add("x")
        assert is_store(tmp_path / "live.db")
        with Memory.open(":memory:") as memory:
            assert memory.import_from(tmp_path / "live.db", format="sqlite").imported == 1


def test_the_same_store_may_be_imported_into_itself(tmp_path: Path) -> None:
    with Memory.open(str(tmp_path / "one.db")) as memory:
        memory.add("x")
        result = memory.import_from(tmp_path / "one.db", format="sqlite")
        assert (result.imported, result.skipped) == (0, 1)


def test_a_repeated_id_is_reported(tmp_path: Path) -> None:
    record = make("x")
    text = b'{"id":"' + record.id.encode() + b'","content":"x"}\n'
    (tmp_path / "twice.ndjson").write_bytes(text * 2)
    result = convert(tmp_path / "twice.ndjson", tmp_path / "out.db")
    assert result.count == 1
    assert result.dropped == [{"field": "record", "records": [record.id]}]
