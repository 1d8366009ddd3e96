"""Sensitive scopes: marked scopes leave the store only in a complete copy, and no other export reveals them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memglot
from memglot import MemglotError, Memory
from memglot.editing.scopes import mark_all, scopes
from memglot.exporting.run import INCLUDE, ExportOptions, store_items
from memglot.formats import registry
from memglot.formats.base import ReadOptions, WriteOptions
from memglot.importing.run import ImportOptions, import_into
from memglot.model import (
    DELETED,
    Blob,
    Conflict,
    Document,
    Embedding,
    Endpoint,
    Entity,
    Item,
    Record,
    Relation,
    Supersession,
    Thing,
    Tombstone,
    canonical,
    to_builtins,
)
from memglot.report import Place, Report
from memglot.store.contract import Store
from memglot.store.hidden import HiddenScopes, sensitive_scopes
from memglot.store.location import open_store
from memglot.store.overlay import overlay
from memglot.store.query import Filter
from memglot.testing.samples import make

SCOPES = ["user", "health", "", "two\nlines"]
WRITABLE = [format for format in registry.formats() if format.write is not None and format.name != "sqlite"]


@st.composite
def graphs(draw: Any) -> tuple[list[Record], list[Thing]]:
    """Generate memories of several scopes, and items of every kind about them, entities and deleted memories."""
    scope = st.sampled_from(SCOPES)
    status = st.sampled_from(["active", DELETED])
    records = [
        make(f"content {n}", scope=draw(scope), status=draw(status), created_at=n + 1)
        for n in range(draw(st.integers(0, 4)))
    ]
    entities = [Entity(id=f"entity-{n}-", name="e", scope=draw(scope)) for n in range(2)]
    gone = Tombstone(id="tombstone-1-", content_hash="ab", scope=draw(scope), deleted_at=1)
    ids = [*(Endpoint(record.id) for record in records), Endpoint("nowhere-1-"), Endpoint(gone.id)]
    ends = st.sampled_from([*ids, *(Endpoint(entity.id, entity=True) for entity in entities)])
    any_id = st.sampled_from([end.id for end in ids])
    things: list[Thing] = [*entities, gone, Document(id="d", name="identity", content="I", scope=draw(scope))]
    for n in range(draw(st.integers(0, 4))):
        things += [
            Relation(
                id=f"r{n}", subject=draw(ends), predicate="p", object=draw(ends), scope=draw(scope),
                source_record=draw(st.none() | any_id),
            ),
            Supersession(newer=draw(any_id), older=draw(any_id), entity=draw(st.none() | st.just(entities[0].id))),
            Blob(tool="t", table="x", key=str(n), owner=draw(any_id | st.just("")), row={"scope": draw(scope)}),
            Embedding(record=draw(any_id), vector=b"\0\0\x80?", dimensions=1),
            Conflict(record=draw(any_id), field="title", clock=1, values=[1, 2]),
        ]  # fmt: skip
    return records, things


def fill(store: Store, records: list[Record], things: list[Thing]) -> list[Item]:
    """Store the items, and return those that are stored: of two items with one key, the last."""
    with store.writing():
        store.records.add(records)
        store.things.put(things)
    kept = {repr(to_builtins(found)): found for found in store.things.same_keys(things) if found is not None}
    return [*records, *kept.values()]


def shown(items: Any) -> list[str]:
    return sorted(type(item).__name__ + canonical(item).decode() for item in items)


def reveals(item: Item, marked: set[str], hidden: set[str], known: set[str]) -> bool:
    """Return True if an item names something hidden or belongs to it, independently of the implementation."""
    if any(id in canonical(item).decode() for id in hidden):
        return True
    if isinstance(item, (Blob, Conflict, Embedding)) and _owner(item) not in known and "user" in marked:
        return True
    if isinstance(item, Blob):
        return item.row["scope"] in marked
    if isinstance(item, Relation) and item.scope == "user" and not (item.subject.entity or item.object.entity):
        return False
    return getattr(item, "scope", None) in marked


@given(graphs(), st.sets(st.sampled_from(SCOPES)))
def test_an_export_contains_exactly_what_does_not_reveal_a_sensitive_scope(
    graph: tuple[list[Record], list[Thing]], marked: set[str]
) -> None:
    store = open_store(":memory:")
    kept = fill(store, *graph)
    mark_all(store, marked, sensitive=True)
    hidden = {item.id for item in kept if isinstance(item, (Record, Entity, Tombstone)) and item.scope in marked}
    ids = {item.id for item in kept if isinstance(item, (Record, Tombstone))}
    report = Report()
    found = shown(store_items(store, ExportOptions(include_embeddings=True), report))
    assert found == shown(item for item in kept if not reveals(item, marked, hidden, ids))
    left = sum(record.scope in marked for record in graph[0])
    assert len(report.notes) == (len(found) < len(kept))
    assert all(note.startswith(f"left out {left:,} ") for note in report.notes)
    everything = store_items(store, ExportOptions(include_embeddings=True, sensitive=INCLUDE), Report())
    assert shown(everything) == shown(kept)
    some = store_items(store, ExportOptions(filter=Filter(kind=("semantic",))), Report())
    assert set(shown(some)) <= set(found)


@given(graphs(), st.sampled_from(SCOPES))
def test_an_export_of_a_scope_includes_its_attached_items(graph: tuple[list[Record], list[Thing]], scope: str) -> None:
    store = open_store(":memory:")
    kept = fill(store, *graph)
    report = Report()
    found = list(store_items(store, ExportOptions(filter=Filter(scope=(scope,)), follow_scope=True), report))
    ids = {record.id for record in graph[0] if record.scope == scope}
    for kind in (Record, Entity, Document, Tombstone):
        assert shown(item for item in found if isinstance(item, kind)) == shown(
            item for item in kept if isinstance(item, kind) and getattr(item, "scope", None) == scope
        )
    riding = [item for item in kept if isinstance(item, (Relation, Supersession, Conflict))]
    # A relation with another scope does not belong to this one.
    own = [item for item in riding if _owner(item) in ids and getattr(item, "scope", scope) in (scope, "user")]
    assert set(shown(own)) <= set(shown(found))
    assert report.notes == []
    others = {record.id for record in graph[0]} - ids
    assert not any(_owner(item) in others for item in found)


def _owner(item: Item) -> str:
    if isinstance(item, Relation):
        return item.subject.id
    return str(getattr(item, "newer", "") or getattr(item, "record", "") or getattr(item, "owner", ""))


def test_attached_items_are_exported_only_if_the_scope_is_the_only_filter(memory: Memory) -> None:
    memory.add("x", scope="work", tags=["t"])
    memory.set_identity("I work", scope="work")
    for filter, limit in ((Filter(scope=("work",), tags=("t",)), None), (Filter(scope=("work",)), 1), (Filter(), 1)):
        report = Report()
        options = ExportOptions(filter=filter, limit=limit, follow_scope=True)
        assert len(list(store_items(memory.store, options, report))) == 1
        assert any("a filtered export has only memories" in note for note in report.notes)
    memory.mark_sensitive("work")
    assert (
        list(store_items(memory.store, ExportOptions(filter=Filter(scope=("work",)), follow_scope=True), report)) == []
    )


def secret_store(path: str) -> Memory:
    memory = Memory.open(path)
    open_one = memory.add("an open memory")
    secret = memory.add("SECRET content", title="SECRET", scope="health", tags=["SECRET"])
    gone = memory.add("SECRET and gone", scope="health")
    memory.delete(gone.id, reason="SECRET reason")
    memory.link(open_one.id, "SECRETLY_MENTIONS", secret.id)
    memory.link(secret.id, "mentions", open_one.id)
    memory.add_entity("SECRET doctor", "person", scope="health")
    memory.set_identity("SECRET identity", scope="health")
    with memory.store.writing():
        memory.store.things.put([Blob(tool="t", table="messages", key="1", owner=secret.id, row={"text": "SECRET"})])
    memory.mark_sensitive("health")
    return memory


@pytest.mark.parametrize("format", WRITABLE, ids=[format.name for format in WRITABLE])
def test_no_format_exports_a_sensitive_scope(tmp_path: Path, format: Any) -> None:
    with secret_store(str(tmp_path / "store.db")) as memory:
        result = memory.export(tmp_path / "out" / "export", format=format.name)
        only = memory.export(tmp_path / "only", format=format.name, scope="health")
        hidden = {record.id for record in memory.list(scope="health")}
    assert (result.count, only.count) == (1, 0)
    assert any("left out 1 memory and" in note and "`health`" in note for note in result.notes)
    assert any("left out 1 memory" in note for note in only.notes)
    assert not any("no memory matches" in note for note in only.notes)
    memglot.convert(tmp_path / "store.db", tmp_path / "converted" / "export", to=format.name)
    for folder in ("out", "converted"):
        files = [path for path in (tmp_path / folder).rglob("*") if path.is_file()]
        text = b"".join(path.read_bytes() for path in files)
        assert b"an open memory" in text
        for word in ("SECRET", *hidden):
            assert word.encode() not in text, folder


def test_copies_of_the_store_contain_everything_and_the_marks(tmp_path: Path) -> None:
    with secret_store(str(tmp_path / "store.db")) as memory:
        memory.backup(tmp_path / "backup.db")
        memory.export(tmp_path / "whole.sqlite")
        memory.export(tmp_path / "some.sqlite", kind="semantic")
    memglot.convert(tmp_path / "store.db", tmp_path / "converted.sqlite", to="sqlite")
    for name in ("backup.db", "whole.sqlite", "some.sqlite", "converted.sqlite"):
        with Memory.open(tmp_path / name, write=False) as copy:
            assert copy.count(scope="health") == 1, name
            assert sensitive_scopes(copy.store) == {"health"}, name


def test_an_imported_store_includes_its_marks(tmp_path: Path, memory: Memory) -> None:
    secret_store(str(tmp_path / "store.db")).close()
    dry = memory.import_from(tmp_path / "store.db", dry_run=True)
    assert sensitive_scopes(memory.store) == frozenset()
    result = memory.import_from(tmp_path / "store.db")
    assert sensitive_scopes(memory.store) == {"health"}
    assert "would mark 1 scope as sensitive, as the file says: `health`" in dry.notes
    assert "marked 1 scope as sensitive, as the file says: `health`" in result.notes
    assert list(memory.audit_log(target="health"))[0].action == "mark_sensitive"
    events = memory.audit_verify()["events"]
    assert not any("marked" in note for note in memory.import_from(tmp_path / "store.db").notes)
    assert memory.audit_verify() == {**memory.audit_verify(), "ok": True, "events": events}


def test_a_scope_is_marked_before_its_first_memory_is_written(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a killed import would leave memories of a sensitive scope without its mark."""
    report = Report()

    def inputs(*_: Any) -> Any:
        report.inputs.sensitive.add("health")
        for number in range(1_500):
            yield make(f"{number}", scope="health"), Place("content", "json")
        raise KeyboardInterrupt

    monkeypatch.setattr("memglot.importing.run.read_inputs", inputs)
    with pytest.raises(KeyboardInterrupt):
        import_into(memory.store, [], ImportOptions(), report)
    assert memory.count() == 1_000
    assert sensitive_scopes(memory.store) == {"health"}


def test_diff_compares_sensitive_scopes_too(tmp_path: Path) -> None:
    secret_store(str(tmp_path / "store.db")).close()
    (tmp_path / "empty.json").write_text("[]")
    found = list(memglot.diff(tmp_path / "empty.json", tmp_path / "store.db"))
    assert sorted(difference.title for difference in found) == ["SECRET content", "an open memory"]


def test_marking_again_changes_nothing_and_is_not_logged(memory: Memory) -> None:
    store = memory.store
    assert mark_all(store, ["health"], sensitive=True)
    assert not mark_all(store, ["health"], sensitive=True)
    assert not mark_all(store, ["work"], sensitive=False)
    assert memory.mark_sensitive("health", "work", "work") == ["work"]
    assert memory.mark_normal("health", "other") == ["health"]
    events = [(event.action, event.target, event.scope) for event in store.history.events()]
    assert events == [
        ("mark_sensitive", "health", "health"),
        ("mark_sensitive", "work", "work"),
        ("mark_normal", "health", "health"),
    ]
    assert memory.audit_verify()["ok"]


def test_scopes_are_listed_with_their_memories_and_marks(memory: Memory) -> None:
    memory.add("a")
    memory.add("b", scope="")
    memory.mark_sensitive("", "empty", "two\nlines")
    assert [(found.scope, found.memories, found.sensitive) for found in memory.scopes()] == [
        ("", 1, True),
        ("empty", 0, True),
        ("two\nlines", 0, True),
        ("user", 1, False),
    ]
    result = memory.export()
    assert result.count == 1
    with pytest.raises(MemglotError, match="scope"):
        memory.mark_sensitive("half \ud800 of a pair")


def test_a_note_names_scopes_on_one_line(memory: Memory) -> None:
    memory.mark_sensitive("two\nlines", "x" * 500)
    memory.add("a", scope="two\nlines")
    memory.add("b", scope="x" * 500)
    (note,) = memory.export().notes
    assert note == "left out 2 memories of the sensitive scopes `two\\nlines`, `" + "x" * 57 + "...`"


def test_ten_thousand_scopes(memory: Memory) -> None:
    names = [f"scope {number:05}" for number in range(10_000)]
    with memory.store.writing():
        memory.store.records.add([make("x", scope=name) for name in names])
    assert memory.mark_sensitive(*names[1:]) == names[1:]
    assert len(memory.scopes()) == 10_000
    result = memory.export(format="ndjson")
    assert result.count == 1
    (note,) = result.notes
    assert note.startswith("left out 9,999 memories of the sensitive scopes `scope 00001`, ") and len(note) < 200
    assert memory.mark_normal(*names) == names[1:]
    assert memory.export(format="ndjson").count == 10_000


@pytest.mark.parametrize(
    "large",
    [
        lambda n: Blob(tool="t", table="x", key=str(n), data=b"x" * (1 << 19)),
        lambda n: Blob(tool="t", table="x", key=str(n), row={"text": "x" * (1 << 19)}),
        lambda n: Document(id=str(n), name="identity", content="x" * (1 << 19)),
    ],
)
def test_large_items_are_not_collected_in_memory(memory: Memory, large: Any) -> None:
    taken = []

    def things() -> Any:
        for number in range(500):
            taken.append(number)
            yield large(number)

    found = HiddenScopes(memory.store, frozenset({"health"})).visible(things())
    assert next(found) == large(0)
    assert len(taken) <= 3
    assert sum(1 for _ in found) == 499


def test_a_dry_run_sees_marks_and_leaves_none(memory: Memory) -> None:
    mark_all(memory.store, ["health"], sensitive=True)
    with overlay(memory.store) as scratch:
        assert mark_all(scratch, ["work"], sensitive=True) and mark_all(scratch, ["health"], sensitive=False)
        assert sensitive_scopes(scratch) == {"work"}
    assert [scope.scope for scope in scopes(memory.store)] == ["health"]


def test_options_never_show_the_passphrase() -> None:
    assert "hunter2" not in repr(WriteOptions(passphrase="hunter2")) + repr(
        ImportOptions(reading=ReadOptions(passphrase="hunter2"))
    )
