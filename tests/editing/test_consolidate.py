"""Consolidation: exact duplicates are merged, strengths fade from arrival, and weak memories are not deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot import Memory
from memglot.editing import consolidate as module
from memglot.model import Embedding, Endpoint, Foreign, Record, Relation, Supersession, Temporal, Tombstone, now
from memglot.testing.samples import make

DAY = 86_400_000_000


def put(memory: Memory, *records: Record) -> None:
    with memory.store.writing():
        memory.store.records.add(records)


def one(memory: Memory) -> Record:
    (record,) = memory.list()
    return record


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that moves the clock forward by a number of days."""

    def pass_days(days: float) -> None:
        monkeypatch.setattr(module, "now", lambda: now() + round(days * DAY))

    return pass_days


def test_duplicates_are_merged_into_the_oldest_without_loss(memory: Memory) -> None:
    at = now()
    put(
        memory,
        make("same", created_at=at, tags=["a"], meta={"k": 1, "x": 1}, title="t", last_accessed=9),
        make("same", created_at=at + 2, access_count=2, tags=["b"], meta={"k": 2}, strength=0.4),
        make(
            "same", created_at=at + 1, tree="a.b", foreign=[Foreign("csv", "1", "s")], strength=0.9, triggers=["when"]
        ),
        make("same", kind="note"),
        make("same", scope="team"),
        make("same", status="stale"),
    )
    result = memory.consolidate()
    assert (result.merged, result.updated, result.memories, result.exit_code) == (2, 0, 4, 0)
    found = next(record for record in memory.list() if record.access_count == 2)
    assert (found.created_at, found.tags, found.meta, found.title) == (at, ["a", "b"], {"k": 2, "x": 1}, "t")
    assert (found.tree, found.foreign, found.triggers) == ("a.b", [Foreign("csv", "1", "s")], ["when"])
    assert (found.strength, found.last_accessed) == (0.9, 9)
    assert [event.action for event in memory.audit_log()] == ["consolidate"]
    assert memory.doctor().ok


def test_a_second_run_changes_nothing(memory: Memory, later: Any) -> None:
    put(memory, make("same", strength=0.5), make("same", strength=0.8), make("other", strength=1.0))
    later(400)
    first = memory.consolidate()
    assert (first.merged, first.updated, first.faded) == (1, 2, 2)
    before = list(memory.list())
    second = memory.consolidate()
    assert (second.merged, second.updated, second.faded) == (0, 0, 2)
    assert list(memory.list()) == before
    assert len(memory.audit_log()) == 1


def test_a_dry_run_reports_the_same_and_writes_nothing(memory: Memory, later: Any) -> None:
    put(memory, make("same", strength=0.5), make("same", strength=0.8), make("same"), make("other", strength=1.0))
    later(400)
    before = list(memory.list())
    dry = memory.consolidate(dry_run=True)
    assert list(memory.list()) == before and memory.audit_log() == []
    wet = memory.consolidate()
    assert dry.value() == {**wet.value(), "durationMs": dry.duration_ms, "dryRun": True}
    assert wet.value() == {"merged": 2, "updated": 2, "faded": 2, "memories": 2, "durationMs": wet.duration_ms}


def test_a_new_import_is_not_changed(memory: Memory) -> None:
    old = "2001-01-01T00:00:00Z"
    memory.import_from(f"content,strength,created_at,last_accessed\na,0.9,{old},{old}\n".encode(), format="csv")
    before = one(memory)
    result = memory.consolidate()
    assert (result.merged, result.updated, result.faded) == (0, 0, 0)
    assert one(memory) == before


def test_strength_fades_from_arrival_by_the_formula_and_never_twice(memory: Memory, later: Any) -> None:
    old = "2001-01-01T00:00:00Z"
    memory.import_from(f"content,strength,created_at\na,0.8,{old}\n".encode(), format="csv")
    for days, strength in ((0.5, 0.485225), (1, 0.294304), (1.001, 0.294304), (2, 0.108268)):
        later(days)
        memory.consolidate()
        assert one(memory).strength == pytest.approx(strength, abs=1e-4)
    assert one(memory).updated_at < now() - DAY
    later(30)
    assert memory.consolidate().faded == 1
    assert memory.count() == 1


def test_strength_fades_from_the_last_access_or_edit(memory: Memory, later: Any) -> None:
    put(memory, make("a", strength=0.8, created_at=now() - 10 * DAY))
    memory.consolidate()
    weak = one(memory)
    assert weak.strength is not None and weak.strength < 0.01
    weak.last_accessed = now()
    with memory.store.writing():
        memory.store.records.replace(weak)
    memory.consolidate()
    assert one(memory).strength == pytest.approx(0.8, abs=1e-3)
    memory.update(weak.id, strength=0.5)
    later(1)
    memory.consolidate()
    assert one(memory).strength == pytest.approx(0.18394, abs=1e-3)


def test_agentos_own_stability_is_used(memory: Memory, later: Any) -> None:
    put(memory, make("a", strength=1.0, created_at=now(), extra={"agentos": {"decay": {"stability": 864_000_000}}}))
    later(10)
    memory.consolidate()
    assert one(memory).strength == pytest.approx(0.367879, abs=1e-4)


def test_attached_items_of_a_duplicate_move_to_the_one_that_stays(memory: Memory) -> None:
    stays, goes, third = make("same", created_at=1), make("same", created_at=2), make("third")
    put(memory, stays, goes, third)
    with memory.store.writing():
        memory.store.things.put(
            [
                Relation(
                    id="1", subject=Endpoint(goes.id), predicate="p", object=Endpoint(third.id), source_record=goes.id
                ),
                Relation(id="2", subject=Endpoint(third.id), predicate="q", object=Endpoint(goes.id)),
                Relation(id="3", subject=Endpoint(stays.id), predicate="p", object=Endpoint(goes.id)),
                Relation(id="4", subject=Endpoint(stays.id), predicate="r", object=Endpoint(third.id)),
                Relation(id="5", subject=Endpoint(goes.id), predicate="r", object=Endpoint(third.id)),
                Relation(id="6", subject=Endpoint(goes.id, entity=True), predicate="p", object=Endpoint(third.id)),
                Supersession(newer=goes.id, older="x"),
                Supersession(newer="y", older=goes.id),
                Supersession(newer=stays.id, older=goes.id),
                Embedding(record=goes.id, vector=b"\0\0\x80?", dimensions=1, model="m"),
            ]
        )
    memory.consolidate()
    found = {relation.id: (relation.subject.id, relation.object.id) for relation in memory.relations()}
    assert found == {
        "1": (stays.id, third.id),
        "2": (third.id, stays.id),
        "4": (stays.id, third.id),
        "6": (goes.id, third.id),
    }
    store = memory.store
    decisions = {(decision.newer, decision.older) for decision in store.things.select(Supersession)}
    assert decisions == {(stays.id, "x"), ("y", stays.id)}
    assert [vector.record for vector in store.things.select(Embedding)] == [stays.id]


def test_a_merged_duplicate_can_be_restored(memory: Memory) -> None:
    stays, goes = make("same", created_at=1), make("same", created_at=2, tags=["t"], temporal=Temporal(1))
    put(memory, stays, goes)
    memory.consolidate()
    assert memory.store.things.get(Tombstone, goes.id).reason == f"merged into {stays.id}"  # type: ignore[union-attr]
    back = memory.undelete(goes.id)
    # It was restored just now, and its fields keep their timestamps.
    assert back.updated_at > goes.updated_at
    assert back.clocks == {"content": goes.updated_at, "temporal": goes.updated_at}
    assert msgspec.structs.replace(back, updated_at=goes.updated_at, clocks={}) == goes
    assert memory.count() == 2
    assert memory.consolidate().merged == 1
    versions, _ = memory.history(stays.id)
    assert versions[0].record == stays


@pytest.mark.parametrize("with_ids", [True, False])
def test_the_same_file_does_not_restore_duplicates(memory: Memory, tmp_path: Path, with_ids: bool) -> None:
    path = tmp_path / "notes.json"
    records = [{"id": make("x").id, "content": "same"} if with_ids else {"content": "same"} for _ in range(3)]
    path.write_bytes(msgspec.json.encode(records))
    memory.import_from(path)
    assert memory.count() == 3
    assert memory.consolidate().merged == 2
    again = memory.import_from(path)
    assert (again.imported, again.merged, again.skipped) == (0, 0, 3)
    assert memory.count() == 1
    assert not [note for note in again.notes if "deleted" in note]


def test_importing_again_after_a_strength_faded_changes_nothing(memory: Memory, later: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,content,strength,created_at,title\n1,a,0.8,2001-01-01,t\n")
    memory.import_from(path)
    later(1)
    assert memory.consolidate().updated == 1
    again = memory.import_from(path)
    assert (again.imported, again.merged, again.skipped, again.import_id) == (0, 0, 1, None)


def test_a_large_group_is_merged_in_batches(memory: Memory) -> None:
    put(memory, *(make("same", meta={f"k{number % 7}": 1}) for number in range(2_500)))
    assert memory.consolidate().merged == 2_499
    assert sorted(one(memory).meta) == [f"k{number}" for number in range(7)]
    assert memory.doctor().ok


CONTENTS = st.sampled_from(["a", "b", "c"])
RECORDS: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    content=CONTENTS,
    kind=st.sampled_from(["semantic", "note"]),
    status=st.sampled_from(["active", "active", "stale"]),
    strength=st.sampled_from([None, 0.0, 0.04, 1.0]),
    access_count=st.sampled_from([0, 3]),
    tags=st.lists(st.sampled_from(["x", "y"]), unique=True),
    created_at=st.sampled_from([1, 2]),
)


@given(st.lists(RECORDS, max_size=8))
def test_only_exact_duplicates_are_merged(values: list[dict[str, Any]]) -> None:
    with Memory.open(":memory:") as memory:
        memory.import_from(
            b"\n".join(
                msgspec.json.encode(
                    {
                        "id": make("x").id,
                        "content": value.pop("content"),
                        "meta": {"memglot": {name: inner for name, inner in value.items() if inner is not None}},
                    }
                )
                for value in values
            )
            or b"[]",
            format="ndjson",
        )
        before = list(memory.list())
        result = memory.consolidate()
        after = list(memory.list())
        assert len(after) == len(before) - result.merged == result.memories
        assert {_key(record) for record in after} == {_key(record) for record in before}
        active = [_key(record) for record in after if record.status == "active"]
        assert len(active) == len(set(active))
        assert {tag for record in after for tag in record.tags} == {tag for record in before for tag in record.tags}
        assert memory.consolidate().merged == 0
        assert list(memory.list()) == after
        assert memory.doctor().ok


def _key(record: Record) -> tuple[str, str, str, str]:
    return record.content, record.kind, record.scope, record.status
