"""Take back a change of a value, and leave alone what was changed since."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from memglot.model import Record, canonical
from memglot.model.record import FIELDS

MISSING: Any = object()
"""The value of a key that is not there."""
_LISTS = frozenset({"tags", "triggers", "foreign"})
_COUNTS = frozenset({"access_count", "last_accessed"})
"""What searches change too."""
_TIMES = frozenset({"id", "created_at", "updated_at", "clocks"})
_VALUES = tuple(name for name in FIELDS if name not in _TIMES)


def revert(before: Any, after: Any, present: Any, *, force: bool = False) -> tuple[Any, bool]:
    """Return the present value without the change from `before` to `after`, and whether a part of it is kept.

    A value that was changed since is kept, unless `force` is set. Objects are compared key by key.
    """
    if same(before, after) or same(present, before):
        return present, False
    if same(present, after):
        return before, False
    if all(isinstance(value, dict) for value in (before, after, present)):
        return _revert_object(before, after, present, force)
    return (before, False) if force else (present, True)


def _revert_object(before: Any, after: Any, present: Any, force: bool) -> tuple[Any, bool]:
    found, is_kept = {}, False
    for key in dict.fromkeys([*present, *before]):
        values = (one.get(key, MISSING) for one in (before, after, present))
        value, kept = revert(*values, force=force)
        is_kept |= kept
        if value is not MISSING:
            found[key] = value
    return found, is_kept


def revert_list(before: Iterable[Any], after: Iterable[Any], present: Iterable[Any]) -> list[Any]:
    """Return the present list without what a change added, and with what it removed."""
    old, new = _by_value(before), _by_value(after)
    added = new.keys() - old.keys()
    kept = {key: value for key, value in _by_value(present).items() if key not in added}
    removed = {key: value for key, value in old.items() if key not in new}
    if kept.keys() | removed.keys() == old.keys():
        return list(old.values())
    return list({**kept, **removed}.values())


def revert_record(before: Record, after: Record, present: Record, *, force: bool) -> tuple[dict[str, Any], bool]:
    """Return the fields of a record that are different without a change, and whether a part of it is kept."""
    changes: dict[str, Any] = {}
    is_kept = False
    for name in _VALUES:
        values = [getattr(record, name) for record in (before, after, present)]
        if name in _LISTS:
            found, kept = (present_list := values[2]), False
            if not same(values[0], values[1]):
                found = revert_list(*values)
            found = present_list if same(found, present_list) else found
        else:
            found, kept = revert(*values, force=force)
        is_kept |= kept and name not in _COUNTS
        if not same(found, values[2]):
            changes[name] = found
    return changes, is_kept


def same_record(one: Record, other: Record) -> bool:
    """Return True if two records have the same values, whenever these were set."""
    return all(same(getattr(one, name), getattr(other, name)) for name in _VALUES if name not in _COUNTS)


def same(one: Any, other: Any) -> bool:
    """Return True if two values are equal as JSON."""
    if one is other:
        return True
    if one is MISSING or other is MISSING:
        return False
    if isinstance(one, str) and isinstance(other, str):
        return one == other
    return canonical(one) == canonical(other)


def _by_value(values: Iterable[Any]) -> dict[bytes, Any]:
    return {canonical(value): value for value in values}
