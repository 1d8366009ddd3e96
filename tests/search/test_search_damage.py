"""A damaged full-text index is reported, bypassed and repaired."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memglot import Memory, Results
from memglot.errors import DamagedStore, StoreError, UsageError


def contents(results: Results) -> list[str]:
    return [hit.content for hit in results]


def drop(db: apsw.Connection) -> None:
    db.execute("DROP TABLE record_text")


def empty(db: apsw.Connection) -> None:
    db.execute("DELETE FROM record_text_data")


def lose_pages(db: apsw.Connection) -> None:
    db.execute("DELETE FROM record_text_data WHERE id > 10")


def scramble(db: apsw.Connection) -> None:
    db.execute("UPDATE record_text_data SET block = x'00ff' WHERE id > 10")


def lose_part(db: apsw.Connection) -> None:
    db.execute("DROP TABLE record_text_data")


QUESTIONS = [
    "test",
    "cat garden",
    '"the cat"',
    "cat -garden",
    "-test",
    '-"the cat" cat',
    "cat tag:a",
    "重跑",
    "duong 🎉",
]


@pytest.mark.parametrize("damage", [drop, empty, lose_pages, scramble, lose_part])
def test_a_damaged_index_is_reported_and_repaired(tmp_path: Path, damage: Callable[[apsw.Connection], None]) -> None:
    path = tmp_path / "store.db"
    with Memory.open(path) as memory:
        for text in (
            "the cat sleeps",
            "cats in gardens",
            "all tests pass",
            "testing the garden",
            "重跑gen-itgc后",
            "Đường 🎉",
        ):
            memory.add(text, title="Of a cat" if "pass" in text else None, tags=["a"] if "all" in text else [])
        before = {question: set(contents(memory.search(question, mode="fulltext"))) for question in QUESTIONS}
    assert before["test"] and before["-test"] and before["cat -garden"]
    db = apsw.Connection(str(path))
    db.set_busy_timeout(1000)
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    damage(db)
    db.close()
    # Opening a store for writing rebuilds a missing index, as it does after an interrupted load.
    for write in (False, True) if damage is not drop else (False,):
        with Memory.open(path, write=write) as memory:
            for question in QUESTIONS:
                assert set(contents(memory.search(question, mode="fulltext"))) == before[question], question
                for mode in ("hybrid", "semantic"):
                    memory.search(question, mode=mode)
            assert len([note for note in memory.notes if "doctor --fix" in note]) == 1, memory.notes
            assert ["doctor --fix" in problem for problem in memory.doctor().problems] == [True]
            if write and damage is lose_part:
                with pytest.raises(DamagedStore, match="full-text index") as raised:
                    memory.add("new")
                assert "memglot doctor --fix" in str(raised.value.hint)
    with Memory.open(path) as memory:
        assert memory.doctor(fix=True).ok
        assert {question: set(contents(memory.search(question, mode="fulltext"))) for question in QUESTIONS} == before
        assert not memory.notes


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_truncated_store_is_reported(tmp_path: Path, share: float) -> None:
    path = tmp_path / "store.db"
    with Memory.open(path) as memory:
        for number in range(300):
            memory.add(f"cat number {number} in the garden")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share) // 4096 * 4096])
    with pytest.raises(StoreError), Memory.open(path, write=False) as memory:
        memory.search("cat -garden", limit=None)
        memory.search("cat", limit=None)
        assert not memory.doctor().ok
        raise StoreError(str(path))


# Words of many scripts, in forms that the index treats as equal and in others.
WORDS = (
    "cat cats running run 重跑 重跑gen gen-itgc ภาษาไทย Straße strasse naïve getUserName get_user_name a.b.c v1.2 1.2"
)
WORDS += " don't the und nicht Häuser Haus книга книги كتاب الكتب 한국어 한국 किताब 日本語"
WORDS += " x É 🎉 C++ ﬁne İstanbul __init__ ǂdehaus"
words = st.sampled_from(WORDS.split())
asked = st.one_of(words, words.map(lambda word: f"-{word}"), words.map(lambda word: f'"{word}"'))


@settings(max_examples=100)
@given(
    st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=4), st.lists(asked, min_size=1, max_size=4)
)
def test_results_and_reasons_are_the_same_without_the_index(texts: list[list[str]], question: list[str]) -> None:
    with Memory.open(":memory:") as memory:
        for text in texts:
            memory.add(" ".join(text), title=text[0] if len(text) % 2 else None, tags=text[1:2], meta={"a": text[-1]})
        by_index = reasons(memory, " ".join(question))
        assert not memory.notes
        store: Any = memory.store
        store.connection.db.execute("DROP TABLE record_text")
        assert reasons(memory, " ".join(question)) == by_index


def reasons(memory: Memory, question: str) -> dict[str, list[str]]:
    try:
        found = memory.search(question, mode="fulltext", limit=None)
    except UsageError:
        return {}
    return {hit.id: hit.matched for hit in found}
