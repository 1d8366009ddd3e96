"""Regular expressions: they match as in Python, get clear errors, and never run forever."""

from __future__ import annotations

import re
import subprocess
import sys
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot import Memory
from memglot.errors import MemglotError, UsageError
from memglot.search.parse import parse_query
from memglot.text import grep
from memglot.text.grep import MAX_PATTERN, Grep, compile_pattern

SLOW = "(a+)+$"
SLOW_TEXT = "a" * 5_000 + "b"


@pytest.fixture
def short_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the time limit, because the tested patterns never finish."""
    monkeypatch.setattr(grep, "GREP_SECONDS", 0.05)


def found(memory: Memory, pattern: str, query: str = "") -> list[str]:
    results = memory.search(query, grep=pattern, mode="fulltext")
    assert results.total == len(results)
    return sorted(hit.content for hit in results)


def test_content_and_title_are_searched_case_insensitively(memory: Memory) -> None:
    memory.add("A quick answer")
    memory.add("Ответ: Больше", title="A Title")
    memory.add("nothing here")
    assert found(memory, "^a.*ANSWER$") == ["A quick answer"]
    assert found(memory, "больше|quick") == ["A quick answer", "Ответ: Больше"]
    assert found(memory, r"^a t\w+$") == ["Ответ: Больше"]
    assert found(memory, "quick", "answer") == ["A quick answer"]
    assert found(memory, "title$", "answer") == []
    assert found(memory, "") == ["A quick answer", "nothing here", "Ответ: Больше"]


atoms = st.sampled_from(
    ["a", "b", "A", "é", "ß", " ", ".", r"\w", r"\d", r"\s", r"\b", "[ab]", "[^a]", "1", r"\.", "日"]
)
patterns = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "*?"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
        inner.map(lambda part: f"({part})"),
        inner.map(lambda part: f"^{part}"),
        inner.map(lambda part: f"{part}$"),
        inner.map(lambda part: f"(?!{part})"),
    ),
    max_leaves=6,
)


@given(patterns, st.text(alphabet="abAB1 .é日ß\n", max_size=12))
def test_ordinary_patterns_find_what_those_of_python_find(pattern: str, text: str) -> None:
    expected = re.search(pattern, text, re.IGNORECASE) is not None
    assert Grep(pattern).found_in("id", text) == expected


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "`(` is not a valid regular expression: missing ) at position 1"),
        ("a**", "`a**` is not a valid regular expression: multiple repeat at position 2"),
        ("[z-a]", "`[z-a]` is not a valid regular expression: bad character range at position 4"),
        ("x(?V1)", "`x(?V1)` is not a valid regular expression: VERSION0 and VERSION1 flags are mutually incompatible"),
        ("ab\ud800", "`ab\ufffd` is not a valid regular expression: a lone surrogate at position 2"),
        ("(a)(?1)", "the pattern `(a)(?1)` is recursive at position 3"),
        (r"\\(?R)", r"the pattern `\\(?R)` is recursive at position 2"),
    ],
)
def test_a_bad_pattern_is_named_with_its_position(memory: Memory, pattern: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        memory.search("x", grep=pattern)
    assert error.value.message == message


def test_text_that_looks_like_a_call_is_accepted() -> None:
    assert Grep(r"\(?R").found_in("id", "(r")
    assert Grep("(?-i:A)").found_in("id", "A")
    assert not Grep("(?-i:A)").found_in("id", "a")


@pytest.mark.parametrize(
    "pattern",
    [
        "a" * (MAX_PATTERN + 1),
        "a{1000000}",
        "(?:a{1000}){1000}",
        "(((a{999}){999}){999})",
        "(?:a?){4000000000}b",
        "(?x)(?:a{1000}) # counted\n { 1 0 # so often\n 0 0 }",
        "(?x)(?:a{1000}) # ends in a backslash\\\n{1000}",
        "(" * 490 + "a" + ")" * 490,
    ],
)
def test_a_pattern_that_would_use_too_much_memory_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match="is too large: ") as error:
        parse_query("", grep=pattern)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    "pattern",
    [
        "(((a{1,999}){1,999}){1,999})",
        "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        r"\d{4}-\d{2}-\d{2}",
        "a" * MAX_PATTERN,
        r"^.{1000,}$",
        r"\{99999999\}",
    ],
)
def test_ordinary_repetition_counts_are_accepted(pattern: str) -> None:
    assert compile_pattern(pattern).pattern == pattern


@pytest.mark.usefixtures("short_time")
def test_a_slow_pattern_is_stopped_and_the_memory_named(memory: Memory) -> None:
    memory.add("harmless")
    slow = memory.add(SLOW_TEXT)
    with pytest.raises(UsageError) as error:
        memory.search("", grep=SLOW)
    assert (
        error.value.message == f"the pattern `{SLOW}` was stopped at memory `{slow.id}`: it took 0.05 seconds too long"
    )
    assert "fewer memories" in (error.value.hint or "")
    # The store still works, and the next search has its full time limit.
    assert found(memory, "^harm") == ["harmless"]
    assert found(memory, SLOW, "harmless") == []


@pytest.mark.usefixtures("short_time")
def test_a_slow_pattern_is_stopped_in_a_thread(store_path: str) -> None:
    raised: list[Exception] = []

    def search() -> None:
        with Memory.open(store_path) as memory:
            memory.add(SLOW_TEXT)
            try:
                memory.search("", grep=SLOW)
            except MemglotError as error:
                raised.append(error)

    thread = Thread(target=search)
    thread.start()
    thread.join()
    assert ["was stopped at memory" in str(error) for error in raised] == [True]


@pytest.mark.usefixtures("short_time")
def test_the_time_limit_is_for_all_memories_together() -> None:
    search = Grep("(?:a|aa)+$")
    text = "a" * 24 + "b"  # takes some milliseconds
    with pytest.raises(UsageError, match="was stopped at memory `id-"):
        for number in range(10_000):
            search.found_in(f"id-{number}", text)


@pytest.mark.usefixtures("short_time")
def test_a_fair_pattern_is_never_stopped_by_the_number_of_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10**9))
    # Each text takes 20 microseconds by this clock, together far more than the time limit.
    monkeypatch.setattr(grep, "thread_time", lambda: next(clock) * 0.000_02)
    search = Grep("b$")
    assert sum(search.found_in("id", "a" * 20 + "b") for _ in range(20_000)) == 20_000


def test_a_pattern_that_uses_too_much_memory_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Greedy:
        def search(self, text: str, timeout: float) -> None:
            raise MemoryError

    monkeypatch.setattr(grep, "compile_pattern", lambda pattern: Greedy())
    with pytest.raises(UsageError, match="`x` was stopped at memory `id`: it took too much memory"):
        Grep("x").found_in("id", "text")


def test_the_command_line_stops_a_slow_pattern(store_path: str) -> None:
    with Memory.open(store_path) as memory:
        slow = memory.add(SLOW_TEXT)
    done = subprocess.run(
        [sys.executable, "-m", "memglot", "--store", store_path, "search", "--grep", SLOW, ""],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(
        f"error: the pattern `{SLOW}` was stopped at memory `{slow.id}`: it took 2 seconds too long\n\nhint: "
    )
