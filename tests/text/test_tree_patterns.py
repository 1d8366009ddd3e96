"""Patterns of tree paths: compared with PostgreSQL's ltree and with a plain matcher, and malicious ones."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot.errors import UsageError
from memglot.text.tree_pattern import check_tree_pattern, is_pattern, literal_prefix, matches_tree

AGREED = Path(__file__).parent / "tree-patterns.tsv"
"""Pattern, path, and what PostgreSQL 15 said: drawn at random, and the examples of its documentation."""


def answer(pattern: str, tree: str) -> str:
    try:
        return str(matches_tree(pattern, tree)).lower()
    except UsageError:
        return "error"


def test_patterns_match_as_in_postgresql() -> None:
    with AGREED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert {expected for _, _, expected in rows} == {"true", "false", "error"}
    assert len(rows) > 300
    wrong = [row for row in rows if answer(row[0], row[1]) != row[2]]
    assert wrong == []


@pytest.mark.parametrize(
    ("pattern", "expected", "position"),
    [
        ("*.", "a label", 2),
        ("a..*", "a label", 2),
        ("*a", "`.` or the end", 1),
        ("a|", "a label", 2),
        ("!!a", "a label", 1),
        ("work-2.*", "`.` or the end", 4),
        ("ü*", "a label", 0),
        ("a*{2,1}", "n <= m", 2),
        ("*{}", "`{n}`", 1),
        ("*{" + "9" * 5000 + "}", "65535", 1),
        ("a{1", "`{n}`", 1),
        ("(a|b)", "a label", 0),
        ("a & ", "a label", 4),
        ("a & (b", "a `)` for the `(`", 4),
        ("a & b)", "a `(` for the `)`", 5),
        ("a b & c", "`&`, `|`, `)` or the end", 2),
        ("a & *", "a label", 4),
        ("a\n*", "`.` or the end", 1),
    ],
)
def test_errors_are_reported_with_their_position(pattern: str, expected: str, position: int) -> None:
    with pytest.raises(UsageError) as caught:
        check_tree_pattern(pattern)
    assert expected in str(caught.value)
    assert str(caught.value).endswith(f" at position {position}")
    assert caught.value.hint


@pytest.mark.parametrize("text", ["", "a", "a.b_c.D1"])
def test_a_path_is_not_a_pattern(text: str) -> None:
    assert not is_pattern(text)


LABELS = st.sampled_from(["a", "b", "A", "ab", "a_b"])
COUNTS = st.sampled_from([(0, 9), (1, 1), (2, 2), (0, 1), (1, 9), (0, 0), (1, 2)])
ITEMS = st.lists(st.tuples(st.none() | st.sets(LABELS, min_size=1), st.booleans(), COUNTS), min_size=1, max_size=4)


def written(items: list[tuple[set[str] | None, bool, tuple[int, int]]]) -> str:
    return ".".join(
        ("*" if labels is None else ("!" if unlike else "") + "|".join(sorted(labels))) + f"{{{least},{most}}}"
        for labels, unlike, (least, most) in items
    )


def tried(items: list[tuple[set[str] | None, bool, tuple[int, int]]], labels: list[str]) -> bool:
    """Match by trying every distribution of the labels."""
    if not items:
        return not labels
    (wanted, unlike, (least, most)), *others = items
    return any(
        all(wanted is None or (label in wanted) is not unlike for label in labels[:count])
        and tried(others, labels[count:])
        for count in range(least, min(most, len(labels)) + 1)
    )


@given(ITEMS, st.lists(LABELS, max_size=5))
def test_patterns_match_as_in_a_plain_matcher(
    items: list[tuple[set[str] | None, bool, tuple[int, int]]], labels: list[str]
) -> None:
    assert matches_tree(written(items), ".".join(labels)) is tried(items, labels)


@given(st.lists(LABELS, max_size=3), ITEMS, st.lists(LABELS, max_size=5))
def test_every_match_is_below_the_literal_prefix(
    start: list[str], items: list[tuple[set[str] | None, bool, tuple[int, int]]], labels: list[str]
) -> None:
    pattern, path = ".".join([*start, written(items)]), [*start, *labels]
    assert literal_prefix(pattern) == ".".join(start)
    for tree in (path, labels):
        if matches_tree(pattern, ".".join(tree)):
            assert tree[: len(start)] == start


def test_malicious_patterns_are_matched_fast() -> None:
    """Each would run forever in a backtracking matcher, or overflow the stack of a recursive one."""
    path = ".".join(["a"] * 300)
    assert not matches_tree(".".join(["*", "a*"] * 150) + ".b", path)
    assert matches_tree(".".join(["a{,}"] * 300), path)
    assert not matches_tree(".".join(["*{1}"] * 301), path)
    assert matches_tree("(" * 50_000 + "a" + ")" * 50_000 + "&" + "!" * 50_000 + "a", path)
    assert not matches_tree("_".join("b" * 2_000) + "%*", "_".join("a" * 2_000))
    assert matches_tree("|".join(f"x{number}" for number in range(20_000)) + "|a", "a")
