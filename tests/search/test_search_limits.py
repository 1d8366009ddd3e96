"""Limits of a search: regular expressions, phrases and numbers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memglot import Memory
from memglot.errors import UsageError


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:") as found:
        yield found


def test_the_length_of_a_phrase_is_limited(memory: Memory) -> None:
    memory.add("ab " * 100)
    with pytest.raises(UsageError, match="at most 500 characters"):
        memory.search('"' + "ab " * 300 + '"')
    assert memory.search("ab-" * 3_000, mode="fulltext").total == 1


def test_the_time_limit_of_a_regular_expression_is_per_search(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memglot.text.grep.GREP_SECONDS", 0.5)
    for number in range(3):
        memory.add(f"deploy {number} " + "a" * 19 + "b")
    for _ in range(12):
        assert memory.search("deploy", grep="(a|aa)+$", mode="fulltext").total == 0


@pytest.mark.parametrize("name", ["limit", "offset", "context", "budget"])
@pytest.mark.parametrize("value", ["2", 2.5, True, 10**30])
def test_numbers_must_be_integers(memory: Memory, name: str, value: object) -> None:
    memory.add("cat")
    with pytest.raises(UsageError, match=f"`{name}` must be a whole number"):
        memory.search("cat", **{name: value})  # type: ignore[arg-type]
