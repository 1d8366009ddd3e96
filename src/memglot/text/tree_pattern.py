"""Patterns for tree paths, in the syntax of PostgreSQL's ltree.

A pattern consists of items separated by dots that match a complete path (`lquery`): `*` matches any number of labels,
`a|b` one of them, `!a` any other; after an item `{n}`, `{n,}`, `{n,m}` or `{,m}` is the number of consecutive labels.
A pattern with `&` matches paths by their labels in any position (`ltxtquery`): `a & (b | !c)`. After a label `@`
ignores case, `*` matches a prefix, and `%` matches words separated by `_`.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from memglot.display import shorten
from memglot.errors import UsageError

MAX_LABELS = 65_535
"""Maximum number in braces."""
_SPECIAL = re.compile(r"[*!{}|@%&]")
_LABEL = re.compile(r"([A-Za-z0-9_]+)([@*%]*)")
_TIMES = re.compile(r"\{(?=[0-9,])([0-9]*)(,?)([0-9]*)\}")
_A_LABEL = "a label of letters, digits and `_`"
_NUMBERS = f"`{{n}}`, `{{n,}}`, `{{,m}}` or `{{n,m}}` with n <= m <= {MAX_LABELS}"


def is_pattern(text: str) -> bool:
    """Return True if a text is a pattern, not a path, which selects itself and everything below."""
    return _SPECIAL.search(text) is not None


def check_tree_pattern(text: str) -> str:
    """Return a valid pattern; raise `UsageError` with the position of an error."""
    _compiled(text)
    return text


def literal_prefix(text: str) -> str:
    """Return the path at or below which all matches are, so that an index can be used."""
    labels: list[str] = []
    for item in text.split("."):
        if is_pattern(item):
            break
        labels.append(item)
    return ".".join(labels)


# Called for every record, and many records share a path.
@lru_cache(1 << 14)
def matches_tree(pattern: str, tree: str) -> bool:
    """Return True if a pattern matches a path; takes at most the product of their lengths."""
    return _compiled(pattern)(tree.split(".") if tree else [])


class _Word(NamedTuple):
    """A label of a pattern, with its modifiers."""

    text: str
    any_case: bool
    begins: bool
    in_words: bool

    def fits(self, label: str) -> bool:
        text = self.text
        if self.any_case:
            text, label = text.lower(), label.lower()
        if self.in_words:
            there = set(filter(None, label.split("_")))
            return all(self._one(word, there) for word in text.split("_") if word)
        return label.startswith(text) if self.begins else label == text

    def _one(self, word: str, there: set[str]) -> bool:
        return any(other.startswith(word) for other in there) if self.begins else word in there


class _Item(NamedTuple):
    """A number of consecutive labels that match one of some words, or with `unlike` none; any label without words."""

    plain: frozenset[str]
    words: tuple[_Word, ...]
    unlike: bool
    least: int
    most: int

    def fits(self, label: str) -> bool:
        found = label in self.plain or any(word.fits(label) for word in self.words)
        return found is not self.unlike


@lru_cache(64)
def _compiled(text: str) -> Callable[[list[str]], bool]:
    return _labels_query(text) if "&" in text else _path_query(text)


def _path_query(text: str) -> Callable[[list[str]], bool]:
    items: list[_Item] = []
    place = 0
    while True:
        item, place = _item(text, place)
        items.append(item)
        if place == len(text):
            return lambda labels: _matches_path(items, labels)
        if text[place] != ".":
            raise _bad_tree_pattern(text, "`.` or the end", place)
        place += 1


def _matches_path(items: list[_Item], labels: list[str]) -> bool:
    """Return True if the items match all labels; tracks where each item can end, so there is no backtracking."""
    reached = [True] + [False] * len(labels)
    for item in items:
        before = [0, *accumulate(reached)]
        run = 0
        after: list[bool] = []
        for place in range(len(reached)):
            if place and not item.fits(labels[place - 1]):
                run = place
            first, last = max(run, place - item.most), place - item.least
            after.append(first <= last and before[last + 1] > before[first])
        reached = after
    return reached[-1]


def _item(text: str, place: int) -> tuple[_Item, int]:
    if text.startswith("*", place):
        least, most, place = _times(text, place + 1, (0, MAX_LABELS))
        return _Item(frozenset(), (), True, least, most), place
    unlike = text.startswith("!", place)
    words: list[_Word] = []
    place += unlike
    while True:
        word, place = _word(text, place)
        words.append(word)
        if not text.startswith("|", place):
            break
        place += 1
    least, most, place = _times(text, place, (1, 1))
    plain = frozenset(word.text for word in words if not any(word[1:]))
    return _Item(plain, tuple(word for word in words if any(word[1:])), unlike, least, most), place


def _word(text: str, place: int) -> tuple[_Word, int]:
    match = _LABEL.match(text, place)
    if match is None:
        raise _bad_tree_pattern(text, _A_LABEL, place)
    modifiers = match[2]
    return _Word(match[1], "@" in modifiers, "*" in modifiers, "%" in modifiers), match.end()


def _times(text: str, place: int, usual: tuple[int, int]) -> tuple[int, int, int]:
    """Return the minimum and maximum count, and the position after them."""
    if not text.startswith("{", place):
        return *usual, place
    match = _TIMES.match(text, place)
    if match is None:
        raise _bad_tree_pattern(text, _NUMBERS, place)
    least = _number(match[1] or "0")
    most = _number(match[3] or str(MAX_LABELS)) if match[2] else least
    if not least <= most <= MAX_LABELS:
        raise _bad_tree_pattern(text, _NUMBERS, place)
    return least, most, match.end()


def _number(digits: str) -> int:
    # Python rejects very long numbers, and any number of six digits is too large.
    return int(digits.lstrip("0")[:6] or "0")


def _labels_query(text: str) -> Callable[[list[str]], bool]:
    """Compile a query to postfix notation, so that nesting needs no stack frames."""
    query: list[_Word | str] = []
    waiting: list[tuple[str, int]] = []
    place, wants_word = 0, True
    while place < len(text):
        character = text[place]
        if character in " \t\r\n":
            place += 1
        elif wants_word and character in "!(":
            waiting.append((character, place))
            place += 1
        elif wants_word:
            word, place = _word(text, place)
            query.append(word)
            wants_word = False
        else:
            wants_word = _join(text, place, waiting, query)
            place += 1
    if wants_word:
        raise _bad_tree_pattern(text, _A_LABEL, place)
    while waiting:
        operator, where = waiting.pop()
        if operator == "(":
            raise _bad_tree_pattern(text, "a `)` for the `(`", where)
        query.append(operator)
    return lambda labels: _evaluate(query, labels)


def _join(text: str, place: int, waiting: list[tuple[str, int]], query: list[_Word | str]) -> bool:
    """Process the operator after a word; return True if another word must follow."""
    sign = text[place]
    if sign not in "&|)":
        raise _bad_tree_pattern(text, "`&`, `|`, `)` or the end", place)
    # Operators that bind more tightly come first.
    while waiting and waiting[-1][0] in ("!&" if sign == "&" else "!&|"):
        query.append(waiting.pop()[0])
    if sign != ")":
        waiting.append((sign, place))
        return True
    if not waiting:
        raise _bad_tree_pattern(text, "a `(` for the `)`", place)
    waiting.pop()
    return False


def _evaluate(query: list[_Word | str], labels: list[str]) -> bool:
    stack: list[bool] = []
    for part in query:
        if isinstance(part, _Word):
            stack.append(any(part.fits(label) for label in labels))
        elif part == "!":
            stack.append(not stack.pop())
        else:
            one, other = stack.pop(), stack.pop()
            stack.append(one and other if part == "&" else one or other)
    return stack[-1]


def _bad_tree_pattern(pattern: str, expected: str, position: int) -> UsageError:
    """Return the error for an invalid tree pattern."""
    return UsageError(
        f"`{shorten(pattern)}` is not a valid tree pattern: expected {expected} at position {position}",
        "`work.*` matches `work` and everything below, `*.a|b` a path that ends in a or b, `a & !b` one with a, not b",
    )
