"""The passage of a text that shows why it was found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot.text.highlight import matches_in, passage


def marked(text: str, *words: str, length: int = 60) -> str:
    line, spans = passage(text, words, length)
    for start, end in reversed(spans):
        line = f"{line[:start]}[{line[start:end]}]{line[end:]}"
    return line


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("We keep the task queue", ["queue", "task"], "We keep the [task] [queue]"),
        ("Deployments are frozen", ["deploy"], "[Deployments] are frozen"),
        ("Queues and running tasks", ["queue", "run", "task"], "[Queues] and [running] [tasks]"),
        ("Über café", ["uber", "CAFE"], "[Über] [café]"),
        ("我喜欢喝茶", ["喝茶"], "我喜欢[喝茶]"),
        ("one\n\n  two", ["two"], "one [two]"),
        ("nothing here", [], "nothing here"),
        ("a\x1b[31mred", ["red"], "a\\u001b[31mred"),
        ("run build-index now", ["build-index"], "run [build]-[index] now"),
    ],
)
def test_matches_are_marked(text: str, words: list[str], expected: str) -> None:
    assert marked(text, *words) == expected


def test_the_passage_shows_most_words() -> None:
    text = "queue " + "and other words " * 30 + "the task queue in PostgreSQL " + "and more words " * 30
    line = marked(text, "task", "queue", "postgresql")
    assert "[task] [queue] in [PostgreSQL]" in line and line.startswith("…") and line.endswith("…")


@given(st.text(max_size=300), st.lists(st.text(min_size=1, max_size=8), max_size=4), st.integers(8, 80))
def test_a_passage_fits_and_its_matches_are_in_it(text: str, words: list[str], length: int) -> None:
    line, spans = passage(text, words, length)
    assert len(line) <= length
    assert "\n" not in line
    assert all(0 <= start < end <= len(line) for start, end in spans)
    assert [line[start:end] for start, end in spans] == [line[a:b] for a, b in sorted(spans)]


def test_matches_do_not_overlap() -> None:
    spans = matches_in("東京都の東京", ["東京", "京都"])
    assert spans == [(0, 3), (4, 6)]
