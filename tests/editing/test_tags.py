"""Tags: count, add, remove and rename them; change many memories at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot import Memory
from memglot.editing.tags import Changes, TagCount
from memglot.errors import Ambiguous, BadRecord, NotFound, UnknownChoice, UsageError
from memglot.model import Record

TAGS = st.lists(st.sampled_from("abcd"), unique=True)


def tags(memory: Memory) -> dict[str, list[str]]:
    return {record.content: record.tags for record in memory.list()}


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.add("one", tags=["a", "b"], tree="work")
    memory.add("two", tags=["b"], tree="work.deep")
    memory.add("three", tags=["c"], tree="home")
    return memory


def test_the_most_common_tags_come_first(filled: Memory) -> None:
    assert list(filled.tags()) == [TagCount("b", 2), TagCount("a", 1), TagCount("c", 1)]
    assert list(filled.tags(tree="work.deep")) == [TagCount("b", 1)]


def test_tags_are_added_and_removed_without_the_others(filled: Memory) -> None:
    one = next(record for record in filled.list() if record.content == "one")
    assert filled.update(one.id, add_tags=["z", "a"], remove_tags="b").tags == ["a", "z"]
    assert filled.update(one.id, tags=["new"], add_tags=["z"]).tags == ["new", "z"]


def test_a_tag_is_renamed_in_its_place(filled: Memory) -> None:
    assert filled.rename_tag("b", "B", dry_run=True) == 2
    assert filled.rename_tag("b", "B") == 2
    assert tags(filled) == {"one": ["a", "B"], "two": ["B"], "three": ["c"]}


def test_renaming_to_a_tag_that_exists_makes_them_one(filled: Memory) -> None:
    assert filled.rename_tag("b", "a") == 2
    assert tags(filled) == {"one": ["a"], "two": ["a"], "three": ["c"]}


def test_wrong_tags_are_errors(filled: Memory) -> None:
    with pytest.raises(NotFound, match="no tag `x`"):
        filled.rename_tag("x", "y")
    wrong: list[Callable[[], object]] = [
        lambda: filled.rename_tag("a", " "),
        lambda: filled.update_many(add_tags=[""]),
        lambda: filled.update_many(where="words", add_tags=["x"]),
        lambda: filled.update_many(where=" ", add_tags=["x"]),
        lambda: filled.update_many("0194a000", where="tag:a", add_tags=["x"]),
        lambda: filled.update_many("0194a000", tags="a", add_tags=["x"]),
    ]
    for call in wrong:
        with pytest.raises(UsageError):
            call()
    with pytest.raises(UnknownChoice):
        filled.update_many(changes={"id": "x"})  # type: ignore[arg-type]
    assert "x" not in {one.tag for one in filled.tags()}


def test_memories_are_changed_by_filter(filled: Memory) -> None:
    assert filled.update_many(where="tree:work -tag:a", changes={"status": "stale"}, dry_run=True) == 1
    assert filled.count(status="stale") == 0
    assert filled.update_many(where="tree:work -tag:a", changes={"status": "stale"}) == 1
    assert filled.update_many(tree="work", changes={"status": "stale"}) == 1
    assert {record.content for record in filled.list(status="stale")} == {"one", "two"}


def test_a_change_of_many_batches_is_undone_at_once(memory: Memory) -> None:
    for number in range(120):
        memory.add(f"memory {number}", tags=["x"])
    assert memory.update_many(where="tag:x", add_tags=["y"]) == 120
    assert memory.rename_tag("x", "z") == 120
    memory.undo()
    memory.undo()
    assert list(memory.tags()) == [TagCount("x", 120)]


def test_a_bad_value_changes_nothing(filled: Memory) -> None:
    ids = [record.id for record in filled.list()]
    for chosen in (ids, []):
        with pytest.raises(BadRecord):
            filled.update_many(*chosen, changes={"tree": "not a tree", "status": "stale"})
    with pytest.raises(NotFound):
        filled.update_many(*ids, "0194a000-0001", changes={"status": "stale"})
    assert filled.count(status="stale") == 0


def test_only_memories_that_differ_get_a_version(filled: Memory) -> None:
    assert filled.update_many(add_tags=["b"]) == 1
    versions = {record.content: len(filled.history(record.id)[0]) for record in filled.list()}
    assert versions == {"one": 1, "two": 1, "three": 2}


def test_the_history_of_an_ambiguous_id_lists_the_candidates(memory: Memory) -> None:
    for number in (1, 2):
        memory.add(f"memory {number}", id=f"0194a000-000{number}-7000-8000-000000000001")
    with pytest.raises(Ambiguous):
        memory.history("0194a000")


@given(before=TAGS, added=TAGS, removed=TAGS)
def test_changed_tags_keep_their_order(before: list[str], added: list[str], removed: list[str]) -> None:
    changes = Changes(add_tags=tuple(added), remove_tags=tuple(removed))
    after = changes.of(Record(content="x", tags=before)).get("tags", before)
    kept = [tag for tag in before if tag not in removed]
    assert after[: len(kept)] == kept and set(after) == set(kept) | set(added) and len(after) == len(set(after))
    assert changes.of(Record(content="x", tags=after)).get("tags", after) == [
        *(tag for tag in after if tag not in removed),
        *(tag for tag in added if tag in removed),
    ]
