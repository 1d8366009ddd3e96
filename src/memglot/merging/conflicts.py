"""Conflicts: values that no rule decides between. List them, show one, settle it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from memglot.editing.memory import get, resolve_id, update
from memglot.errors import NotFound, UsageError
from memglot.merging.registers import DEFAULTS, REMOVED, Path, parse_path, split_record
from memglot.model import Conflict, Record, canonical, format_time
from memglot.model.record_errors import wrong_types
from memglot.store.contract import Store

_UNSET: Any = object()


def conflicts(store: Store, id: str | None = None, field: str | None = None) -> list[Conflict]:
    """All conflicts, those of one memory, or the one of a field."""
    if id is None:
        return list(store.things.select(Conflict))
    record = resolve_id(store, id)
    found = [one for one in store.things.select(Conflict, [record]) if field in (None, one.field)]
    if not found:
        name = f"{id} {field}" if field else id
        raise NotFound("conflict", name, "`memglot conflicts` lists them")
    return found


def conflicts_with_records(store: Store, ids: Sequence[str] | None = None) -> Iterator[tuple[Conflict, Record]]:
    """All conflicts, or those of some memories, each with its memory; one at a time, however large they are."""
    for conflict in store.things.select(Conflict, ids):
        for record in store.records.get([conflict.record]):
            yield conflict, record


def value_text(value: Any) -> str:
    """A value as a person reads it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else canonical(value).decode()


def conflict_value(record: Record, conflict: Conflict) -> dict[str, Any]:
    """A conflict as JSON shows it, with the number of the value that stands in a version of its memory."""
    return {
        "id": conflict.record,
        "field": conflict.field,
        "at": format_time(conflict.clock),
        "values": conflict.values,
        "stands": current_number(record, conflict),
    }


def current_number(record: Record, conflict: Conflict) -> int:
    """The number of the value that stands meanwhile, counted from 1; 0 where it is none of them."""
    register = split_record(record).registers.get(parse_path(conflict.field) or ())
    shown = canonical(register.shown) if register is not None else b""
    return next((number for number, value in enumerate(conflict.values, 1) if canonical(value) == shown), 0)


def resolve_conflict(
    store: Store, id: str, field: str | None = None, *, take: int | None = None, value: Any = _UNSET
) -> Record:
    """Settle a conflict with one of its values, by number from 1, or with another one.

    It is an ordinary edit, later than the clash, so it travels to other machines. `null` sets a field to its default
    and takes a key away.
    """
    with store.writing():
        found = conflicts(store, id, field)
        if len(found) > 1:
            raise UsageError(
                "several fields of this memory clash: say which", "one of: " + ", ".join([one.field for one in found])
            )
        conflict = found[0]
        if take is not None:
            if not 1 <= take <= len(conflict.values):
                raise _no_such_value(take, len(conflict.values))
            value = conflict.values[take - 1]
        elif value is _UNSET:
            raise _no_such_value(None, len(conflict.values))
        record = get(store, conflict.record)
        changes = _with_value(record, parse_path(conflict.field) or (), value)
        return update(store, record.id, changes, deed="resolve", settles=conflict.field)


def _with_value(record: Record, path: Path, value: Any) -> dict[str, Any]:
    """The change that gives a register a value."""
    if len(path) == 1:
        if value is None:
            return {path[0]: DEFAULTS[path[0]]}
        try:
            made = msgspec.convert({"content": record.content, path[0]: value}, Record)
        except msgspec.ValidationError as error:
            raise wrong_types(str(error)) from None
        return {path[0]: getattr(made, path[0])}
    register = split_record(record).registers.get(path)
    if register is not None and register.value is not REMOVED and canonical(register.shown) == canonical(value):
        return {}
    whole = dict(getattr(record, path[0]))
    inner = whole
    for key in path[1:-1]:
        inner[key] = dict(inner.get(key) or {})
        inner = inner[key]
    if value is None:
        inner.pop(path[-1], None)
    else:
        inner[path[-1]] = value
    return {path[0]: whole}


def _no_such_value(number: int | None, count: int) -> UsageError:
    """A number that no value of a conflict has, or none at all."""
    what = f"there is no value {number}" if number is not None else "no value is given"
    return UsageError(what, f"take one from 1 to {count}, or give a value of your own")
