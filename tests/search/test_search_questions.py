"""Unusual queries of people and programs: each gets results or a clear error in every mode."""

from __future__ import annotations

import string
from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memglot import Memory
from memglot.errors import BadRecord, UsageError
from memglot.search.run import MODES


@pytest.fixture(scope="module")
def small() -> Iterator[Memory]:
    with Memory.open(":memory:") as memory:
        memory.add(
            "the cat sleeps 🎉 in a garden", title="NEAR(cat)", tags=["a"], meta={"session": "1", "speaker": "I"}
        )
        memory.add("重跑gen-itgc后再看 `read_only`")
        yield memory


def answered(memory: Memory, question: str) -> None:
    for mode in MODES:
        try:
            results = memory.search(question, mode=mode, context=1)
        except (UsageError, BadRecord) as error:
            assert str(error).count("\n") == 0
        else:
            assert len(results) <= results.total <= 2
    assert not memory.notes


@pytest.mark.parametrize("size", [1, 2])
def test_queries_of_punctuation_work(small: Memory, size: int) -> None:
    for signs in product(string.punctuation, repeat=size):
        answered(small, "".join(signs))
        if size == 1:
            answered(small, f"cat{signs[0]}")
            answered(small, f"{signs[0]}cat")


LONG = {
    "letters": "x" * 100_000,
    "words": "cat garden " * 10_000,
    "different words": " ".join(f"w{number}" for number in range(20_000)),
    "a phrase": '"' + "a " * 50_000,
    "phrases": " ".join(f'"w{number}"' for number in range(20_000)),
    "exclusions": " ".join(f"-w{number}" for number in range(20_000)),
    "excluded phrases": " ".join(f'-"w{number}"' for number in range(20_000)),
    "tags": " ".join(f"tag:w{number}" for number in range(20_000)),
    "trees": " ".join(f"tree:w{number}" for number in range(20_000)),
    "the same operators": "tree:a -cat " * 10_000,
    "pairs": "重跑" * 50_000,
    "a path": "a/b" * 30_000,
    "quotes": '"' * 100_000,
    "marks": "a" + "\u0301" * 99_999,
}


@pytest.mark.parametrize("name", LONG)
def test_long_queries_work(small: Memory, name: str) -> None:
    answered(small, LONG[name])


@pytest.mark.parametrize("question", ["\ud800", "cat \udfff", "\0", "cat\0garden", '"\ud800"', "tag:\ud800", "tree:\0"])
def test_queries_of_invalid_text_work(small: Memory, question: str) -> None:
    answered(small, question)


PIECES = st.sampled_from(
    [*"\"'-:*()^+{}", "tag:", "tree:", "NEAR(", " OR ", " ", "cat", "后", "🎉", "before:", "\0", "a."]
)


@settings(max_examples=300)
@given(st.text(max_size=30) | st.text('\ud800\udc00a"- ') | st.lists(PIECES, max_size=8).map("".join))
def test_any_text_works_as_a_query(small: Memory, question: str) -> None:
    answered(small, question)


def test_only_tags_can_be_excluded_by_an_operator(small: Memory) -> None:
    with pytest.raises(UsageError, match="`-kind:decision` is not supported") as raised:
        small.search('cat -kind:"decision"')
    assert raised.value.hint == "name the values you want instead; several `kind:` match any of them"
    with pytest.raises(UsageError, match="`-tree:home`") as raised:
        small.search("cat -tree:home")
    assert small.search("cat " + str(raised.value.hint).split("`")[1], mode="fulltext").total == 0
    with pytest.raises(UsageError, match="`-before:2024`"):
        small.search("cat -before:2024")
    assert small.search("cat -std::vector", mode="fulltext").total == 1


def test_a_word_of_several_scripts_is_excluded_completely(memory: Memory) -> None:
    other = memory.add("重跑 only")
    memory.add("重跑gen-itgc后再看")
    for question in ("重跑 -重跑gen", "重跑 -重跑gen-itgc", "重跑 -后再看", "重跑 -gen", "重跑 -gen-itgc"):
        assert found(memory, question, "fulltext") == {other.id}, question


def found(memory: Memory, question: str, mode: str) -> set[str]:
    return {hit.id for hit in memory.search(question, mode=mode)}


def test_a_symbol_is_found_alone_and_with_words(memory: Memory) -> None:
    party, both, _ = memory.add("a party 🎉"), memory.add("🎉 for the cat"), memory.add("only the cat")
    for mode in ("hybrid", "fulltext"):
        assert found(memory, "🎉", mode) == {party.id, both.id}
        assert memory.search('"🎉" cat', mode=mode)[0].id == both.id
        assert memory.search('"🎉" cat', mode=mode).total == 2
        # With words, a symbol has little weight and must not hide their matches.
        for sign in ("🎉", "→", "–", "•", "…"):
            assert found(memory, f"{sign} cat", mode) == found(memory, "cat", mode)
        assert party.id not in found(memory, "party -🎉", mode)
    assert not memory.notes
