"""Statistics: what is counted is what is there, after any change, and read from an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memglot import Memory
from memglot.editing import stats
from memglot.model import DELETED
from memglot.store.query import Filter
from memglot.store.sqlite.store import SqliteStore

IDS = [f"0194a000-000{number}-7000-8000-00000000000{number}" for number in range(6)]
WORDS = st.sampled_from(["", "a", "b", "ä ö", "x'y"])
FIELDS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["semantic", "note", "Ä"]),
        "scope": st.sampled_from(["user", "team"]),
        "tags": st.lists(WORDS.filter(bool), max_size=3),
    }
)
Change = Callable[[Memory], Any]


def _changes() -> st.SearchStrategy[Change]:
    ids = st.sampled_from(IDS)
    lines = st.lists(st.tuples(ids, FIELDS, st.sampled_from(["active", DELETED])), max_size=4)
    return st.one_of(
        st.builds(lambda id, fields: lambda memory: memory.add("text", id=id, **fields), ids, FIELDS),
        st.builds(lambda id, fields: lambda memory: memory.update(id, **fields), ids, FIELDS),
        st.builds(lambda id: lambda memory: memory.delete(id), ids),
        st.builds(lambda id: lambda memory: memory.undelete(id), ids),
        st.builds(lambda found: lambda memory: memory.import_from(_file(found), embed=False, format="ndjson"), lines),
        st.just(lambda memory: memory.undo("last")),
        st.just(lambda memory: memory.consolidate()),
        st.just(lambda memory: memory.doctor(fix=True)),
    )


def _file(lines: list[tuple[str, dict[str, Any], str]]) -> bytes:
    import msgspec

    return b"".join(
        msgspec.json.encode({"id": id, "content": f"{id} {fields}", "meta": {"memglot": {**fields, "status": status}}})
        + b"\n"
        for id, fields, status in lines
    )


@given(st.lists(_changes(), max_size=12))
@settings(max_examples=40, deadline=None)
def test_counts_are_those_of_the_memories_after_any_change(changes: list[Change]) -> None:
    from memglot.errors import MemglotError

    with Memory.open(":memory:") as memory:
        for change in changes:
            try:
                change(memory)
            except MemglotError:
                pass
            _check(memory)


def _check(memory: Memory) -> None:
    records = list(memory.store.records.select())
    found = memory.stats()
    assert found["memories"] == len(records)
    assert found["deleted_in_source"] == memory.store.records.count(Filter(status=(DELETED,)))
    assert found["kinds"] == Counter(record.kind for record in records)
    assert found["scopes"] == Counter(record.scope for record in records)
    assert found["tags"] == Counter(tag for record in records for tag in record.tags)


def test_the_most_common_values_come_first() -> None:
    with Memory.open(":memory:") as memory:
        for number in range(30):
            memory.add(f"text {number}", tags=["all", f"t{number:02}", *(["some"] if number % 2 else [])])
        tags = memory.stats()["tags"]
    assert list(tags)[:3] == ["all", "some", "t00"] and len(tags) == 20


def test_counting_reads_no_memory(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store.db") as memory:
        memory.import_from(_file([(id, {"kind": "note", "tags": ["a"]}, "active") for id in IDS]), format="ndjson")
        store = memory.store
        assert isinstance(store, SqliteStore)
        queries: list[str] = []
        store.connection.db.trace_v2(1, lambda event: queries.append(event["sql"]))
        memory.stats()
        store.connection.db.trace_v2(0, None)
        counting = [sql for sql in queries if "GROUP BY tags" in sql]
        assert len(counting) == 3
        for sql in counting:
            plan = [row[3] for row in store.connection.db.execute(f"EXPLAIN QUERY PLAN {sql}")]
            assert any("COVERING INDEX records_counted" in step for step in plan), plan


def test_a_store_without_the_index_is_counted_too(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Memory.open(path) as memory:
        memory.add("text", tags=["a"], kind="note")
        store = memory.store
        assert isinstance(store, SqliteStore)
        store.connection.db.execute("DROP INDEX records_counted")
    with Memory.open(path, write=False) as memory:
        assert memory.stats()["tags"] == {"a": 1} and not memory.notes
    with Memory.open(path) as memory:
        assert memory.doctor().ok and stats.stats(memory.store)["kinds"] == {"note": 1}
        _check(memory)
