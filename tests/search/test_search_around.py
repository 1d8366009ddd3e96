"""The surroundings of a match: neighbours, context, and fields of memories that affect ranking."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memglot import Memory, Record, Results

NEXT_TO = "next to a match"


def contents(results: Results) -> list[str]:
    return [hit.content for hit in results]


def say(memory: Memory, session: str, *turns: str) -> None:
    for turn in turns:
        memory.add(turn, meta={"session": session, "speaker": turn.split(":")[0]})


def context(memory: Memory, question: str, count: int = 1, **options: Any) -> list[str]:
    found = memory.search(question, mode="fulltext", limit=1, context=count, **options)
    return [record.content for record in found[0].context]


def change(memory: Memory, id: str, **values: Any) -> None:
    """Set fields that only an import can set."""
    store: Any = memory.store
    record: Record = store.records.get([id])[0]
    with store.writing():
        for name, value in values.items():
            setattr(record, name, value)
        store.records.replace(record)


@pytest.mark.parametrize("mode", ["hybrid", "fulltext"])
def test_the_answer_to_a_question_is_found_with_it(memory: Memory, mode: str) -> None:
    say(memory, "1", "Ann: which zeppelin did you like best?", "Bob: the yellow one over the lake", "Ann: I see.")
    say(memory, "2", "Eve: nothing to do with it at all")
    found = {hit.content: hit for hit in memory.search("zeppelin", mode=mode)}
    answer = found["Bob: the yellow one over the lake"]
    assert NEXT_TO in answer.why and not answer.matched
    assert NEXT_TO not in found["Ann: which zeppelin did you like best?"].why
    assert "Eve: nothing to do with it at all" not in found


def test_neighbours_are_those_of_the_same_session(memory: Memory) -> None:
    for turn in range(6):
        say(memory, "1", f"Ann: {'zeppelin' if turn == 2 else 'something'} one {turn}")
        say(memory, "2", f"Bob: something two {turn}")
    found = memory.search("zeppelin", mode="fulltext")
    assert found.total == 5
    assert set(contents(found)) == {f"Ann: {'zeppelin' if turn == 2 else 'something'} one {turn}" for turn in range(5)}


def test_a_deleted_neighbour_is_not_found(memory: Memory) -> None:
    say(memory, "1", "Ann: which zeppelin?", "Bob: the yellow one")
    change(memory, memory.search("yellow", mode="fulltext")[0].id, status="deleted")
    assert contents(memory.search("zeppelin")) == ["Ann: which zeppelin?"]


@pytest.mark.parametrize("key", ["session", "conversation", "thread", "note", "document", "file", "path"])
@pytest.mark.parametrize("value", ["one", 1])
def test_context_is_of_the_same_thread(memory: Memory, key: str, value: str | int) -> None:
    for name in ("before", "the zeppelin", "after"):
        memory.add(name, meta={key: value})
        memory.add("in between", meta={key: "another"})
    assert context(memory, "zeppelin") == ["before", "after"]


def test_an_edited_turn_keeps_its_position_and_a_moved_one_is_last(memory: Memory) -> None:
    added = [memory.add(f"{name} turn", meta={"session": "1"}) for name in ("first", "second", "third", "fourth")]
    memory.add("other turn", meta={"session": "2"})
    memory.update(added[1].id, content="the zeppelin")
    assert context(memory, "zeppelin") == ["first turn", "third turn"]
    memory.update(added[0].id, meta={"session": "2"})
    assert context(memory, "zeppelin", 2) == ["third turn", "fourth turn"]
    assert context(memory, '"other turn"', 2) == ["first turn"]
    memory.update(added[0].id, meta={})
    assert context(memory, '"other turn"', 2) == []


def test_a_load_finds_the_places_that_single_additions_find(memory: Memory) -> None:
    lines = [f'{{"content": "turn {n}", "meta": {{"session": "{n % 3}"}}}}\n' for n in range(12)]
    memory.import_from("".join(lines).encode(), format="ndjson")
    memory.add("turn 12", meta={"session": "0"})
    assert context(memory, '"turn 9"', 2) == ["turn 3", "turn 6", "turn 12"]
    assert memory.doctor(fix=True).ok
    assert context(memory, '"turn 9"', 2) == ["turn 3", "turn 6", "turn 12"]


def test_a_conversation_of_the_source_comes_before_a_session(memory: Memory) -> None:
    for number, name in enumerate(("before", "the zeppelin", "not this one", "after")):
        added = memory.add(name, meta={"session": "1"})
        change(memory, added.id, source={"conversation": "b" if number == 2 else "a"})
    store: Any = memory.store
    store.text.rebuild()
    assert context(memory, "zeppelin") == ["before", "after"]


def test_context_of_no_thread_is_what_arrived_next_to_it_in_its_scope(memory: Memory) -> None:
    for name in ("before", "the zeppelin", "after"):
        memory.add(name)
        memory.add("of the project", scope="project")
        say(memory, "1", "Ann: in a session")
    assert context(memory, "zeppelin") == ["before", "after"]
    assert context(memory, "zeppelin", 5) == ["before", "after"]


def test_context_skips_deleted_memories(memory: Memory) -> None:
    for meta in ({}, {"session": "1"}):
        added = [memory.add(f"{name} {meta}", meta=meta) for name in ("far", "near", "zeppelin", "next", "last")]
        memory.delete(added[1].id)
        change(memory, added[3].id, status="deleted")
        expected = [f"far {meta}", f"last {meta}"]
        assert context(memory, f"zeppelin {'session' if meta else ''}", meta=meta or None) == expected


def test_relations_come_last_and_none_is_repeated(memory: Memory) -> None:
    records = [memory.add(name) for name in ("one", "two", "zeppelin", "four", "five", "six")]
    hit = records[2]
    memory.link(hit.id, "supports", records[5].id)
    memory.link(records[3].id, "supports", hit.id)
    gone = memory.add("deleted")
    memory.link(hit.id, "supports", gone.id)
    change(memory, gone.id, status="deleted")
    assert context(memory, "zeppelin") == ["two", "four", "six"]
    assert context(memory, "zeppelin", 2) == ["one", "two", "four", "five", "six"]
    found = memory.search("zeppelin four", mode="fulltext", context=3)
    shown = [record.content for each in found for record in [each.record, *each.context]]
    assert sorted(shown) == sorted(set(shown)) and "deleted" not in shown


def test_context_keeps_to_the_scopes_that_were_asked_for(memory: Memory) -> None:
    hit, secret = memory.add("zeppelin", scope="project"), memory.add("of the user")
    memory.link(hit.id, "supports", secret.id)
    assert context(memory, "zeppelin") == ["of the user"]
    assert context(memory, "zeppelin", scope="project") == []
    assert context(memory, "zeppelin scope:project") == []


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(["", "1", "2"]), st.booleans()), min_size=1, max_size=20), st.integers(1, 4))
def test_context_is_near_and_never_deleted(kept: list[tuple[str, bool]], count: int) -> None:
    with Memory.open(":memory:") as memory:
        texts = []
        for number, (session, is_deleted) in enumerate(kept):
            added = memory.add(f"cat {number}", meta={"session": session} if session else {})
            if is_deleted:
                change(memory, added.id, status="deleted")
            else:
                texts.append((added.content, session))
        for text, session in texts:
            row = [other for other, own in texts if own == session]
            place = row.index(text)
            expected = row[max(0, place - count) : place] + row[place + 1 : place + 1 + count]
            assert context(memory, f'"{text}"', count) == expected


def order(memory: Memory, question: str) -> list[str]:
    return contents(memory.search(question, mode="fulltext"))


@pytest.mark.parametrize(
    "meta", [{}, {"author": "Ann"}, {"path": "a.md", "author": "Ann"}, {"note": "x", "name": "Todo"}, {"file": "a.py"}]
)
def test_notes_are_not_ranked_as_turns(memory: Memory, meta: dict[str, Any]) -> None:
    short, asks = "Todo: zeppelin hangar", "Todo: zeppelin hangar?"
    for first, second in ((short, asks), (asks, short)):
        # Far from each other, so that neither affects the rank of the other.
        for number, text in enumerate((first, *["nothing"] * 4, second)):
            memory.add(
                text, meta={name: f"{value}{number}" if name != "author" else value for name, value in meta.items()}
            )
        found = memory.search("zeppelin", mode="fulltext")
        scores = {hit.content: hit.score for hit in found}
        assert scores[short] == pytest.approx(scores[asks], abs=0.01)
        memory.delete(*[record.id for record in memory.list()])


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [
        ({"status": "superseded"}, {}),
        ({"status": "stale"}, {}),
        ({"status": "closed"}, {}),
        ({"created_at": 1_500_000_000_000_000}, {}),
        ({"strength": 0.1}, {"strength": 0.9}),
        ({}, {"access_count": 50}),
    ],
)
def test_fields_of_a_memory_order_equal_matches(
    memory: Memory, weaker: dict[str, Any], stronger: dict[str, Any]
) -> None:
    # The weaker one came last, which is what counts among equals.
    added = [memory.add(f"{name} zeppelin", scope=name) for name in ("one", "two")]
    assert order(memory, "zeppelin") == ["two zeppelin", "one zeppelin"]
    change(memory, added[0].id, **stronger)
    change(memory, added[1].id, **weaker)
    assert order(memory, "zeppelin") == ["one zeppelin", "two zeppelin"]


def test_a_better_match_is_not_outranked_by_being_new(memory: Memory) -> None:
    old = memory.add("the zeppelin hangar", scope="one")
    memory.add("a hangar", scope="two")
    change(memory, old.id, created_at=1_500_000_000_000_000)
    assert order(memory, "zeppelin hangar")[0] == "the zeppelin hangar"
