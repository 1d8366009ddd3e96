"""SQL functions that the queries of the SQLite store use."""

import re
from functools import lru_cache
from itertools import count
from typing import Any
from unicodedata import combining, normalize

import apsw
import msgspec

from memglot.store.grep import Grep

# Scripts that put no space between words: the index holds their whole sentences, so a word is looked for in the text.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
# The number of a search keeps its time apart from that of others, in whatever connection or thread they are.
_SEARCHES = count(1)


def register(db: apsw.Connection) -> None:
    """Make the functions known to a connection."""
    functions: dict[str, Any] = {"memglot_holds": _holds, "memglot_grep": _grep, "memglot_has": _has}
    for name, function in functions.items():
        db.create_scalar_function(name, function, -1, deterministic=True)


def _holds(stored: str | None, wanted: str) -> bool:
    """Tell whether a JSON object contains another: its keys with equal values, lists as subsets."""
    return contains(msgspec.json.decode(stored) if stored else {}, _decoded(wanted))


def contains(stored: Any, wanted: Any) -> bool:
    """Containment as PostgreSQL's `@>` has it."""
    if isinstance(wanted, dict):
        return isinstance(stored, dict) and all(
            key in stored and contains(stored[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(stored, list) and all(any(contains(inner, value) for inner in stored) for value in wanted)
    return type(stored) is type(wanted) and bool(stored == wanted) or _equal_numbers(stored, wanted)


def _equal_numbers(one: Any, other: Any) -> bool:
    numbers = (int, float)
    booleans = isinstance(one, bool) or isinstance(other, bool)
    return not booleans and isinstance(one, numbers) and isinstance(other, numbers) and one == other


def grep_condition(pattern: str) -> tuple[str, list[Any]]:
    """An SQL condition on records, and its bindings: their content or title matches a pattern, within its time.

    Each call begins a search of its own; all that use the same bindings share its time.
    """
    return "memglot_grep(?, ?, id, content, title)", [pattern, next(_SEARCHES)]


def _grep(pattern: str, search: int, id: str, *texts: str | None) -> bool:
    return _searched(pattern, search).found_in(id, *texts)


@lru_cache(32)
def _searched(pattern: str, search: int) -> Grep:
    return Grep(pattern)


def _has(wanted: str, *texts: str | None) -> bool:
    """Tell whether words stand in one of the texts as the index would find them; without spaces, as they are."""
    pattern = _words(wanted)
    return any(text is not None and pattern.search(_folded(text)) is not None for text in texts)


@lru_cache(8)
def _words(wanted: str) -> re.Pattern[str]:
    folded = _folded(wanted)
    if UNSPACED.search(wanted):
        return re.compile(re.escape(folded))
    return re.compile(r"(?<!\w)" + r"\W+".join(map(re.escape, re.findall(r"\w+", folded))) + r"(?!\w)")


def _folded(text: str) -> str:
    """Without case and accents, as the index folds it."""
    if text.isascii():
        return text.lower()
    return "".join(letter for letter in normalize("NFD", text.casefold()) if not combining(letter))


@lru_cache(8)
def _decoded(text: str) -> Any:
    return msgspec.json.decode(text)
