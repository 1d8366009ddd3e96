"""Scopes: the number of their memories, and which are sensitive."""

from collections.abc import Iterable, Sequence

import msgspec

from memglot.model import check_text
from memglot.store.contract import Store
from memglot.store.hidden import SENSITIVE, sensitive_scopes


class Scope(msgspec.Struct):
    """A scope, the number of its memories, and whether it leaves the store only encrypted."""

    scope: str
    memories: int
    sensitive: bool


def scopes(store: Store) -> list[Scope]:
    """Return every scope that has memories or is marked, sorted by name."""
    marked = sensitive_scopes(store)
    counts = dict.fromkeys(marked, 0) | dict(store.records.count_by("scope"))
    return [Scope(scope, counts[scope], scope in marked) for scope in sorted(counts)]


def mark_all(store: Store, names: Iterable[str], *, sensitive: bool) -> Sequence[str]:
    """Mark scopes as sensitive or normal; return those that changed."""
    wanted = dict.fromkeys(check_text(name, "scope") for name in names)
    with store.writing():
        marked = sensitive_scopes(store)
        changed = [scope for scope in wanted if (scope in marked) is not sensitive]
        for scope in changed:
            store.put_setting(SENSITIVE + scope, "" if sensitive else None)
            store.history.log("mark_sensitive" if sensitive else "mark_normal", scope, scope, {})
    return changed
