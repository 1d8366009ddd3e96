"""SQL functions for the queries of the SQLite store."""

from functools import lru_cache
from itertools import count
from typing import Any

import apsw
import msgspec

from memglot.store.sqlite.failures import of_texts
from memglot.text.grep import Grep
from memglot.text.tree_pattern import matches_tree

# The number of a search separates its time limit from those of searches in other connections and threads.
_SEARCHES = count(1)


def register(db: apsw.Connection) -> None:
    """Define the functions in a connection."""
    functions: dict[str, Any] = {
        "memglot_holds": _holds,
        "memglot_holds_any": _holds_any,
        "memglot_grep": _grep,
        "memglot_matches_tree": matches_tree,
    }
    for name, function in functions.items():
        db.create_scalar_function(name, of_texts(function), -1, deterministic=True)


def _holds(stored: str | None, wanted: str) -> bool:
    """Return True if a JSON object contains another: its keys with equal values, lists as subsets."""
    return contains(msgspec.json.decode(stored) if stored else {}, _decoded(wanted))


def _holds_any(stored: str | None, wanted: str) -> bool:
    """Return True if a JSON object contains at least one of a list of others."""
    if stored is None:
        return {} in _decoded(wanted)
    found = msgspec.json.decode(stored)
    return any(contains(found, one) for one in _decoded(wanted))


def contains(stored: Any, wanted: Any) -> bool:
    """Return True if one JSON value contains another, as with PostgreSQL's `@>`."""
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
    """Return an SQL condition, with bindings, that the content or title of a record matches a pattern.

    Each call starts a search; all conditions with the same bindings share its time limit.
    """
    return "memglot_grep(?, ?, records.id, records.content, records.title)", [pattern, next(_SEARCHES)]


def _grep(pattern: str, search: int, id: str, *texts: str | None) -> bool:
    return _searched(pattern, search).found_in(id, *texts)


@lru_cache(32)
def _searched(pattern: str, search: int) -> Grep:
    return Grep(pattern)


@lru_cache(8)
def _decoded(text: str) -> Any:
    return msgspec.json.decode(text)
