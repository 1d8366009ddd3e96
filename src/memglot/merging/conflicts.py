"""List, show and resolve conflicts: fields with several values set at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from memglot.editing.memory import get, resolve_id, update
from memglot.errors import NotFound, UsageError
from memglot.merging.registers import REMOVED, split_record
from memglot.model import Conflict, Record, canonical, format_time
from memglot.model.paths import DEFAULTS, Path, parse_path
from memglot.model.record_errors import wrong_types
from memglot.store.contract import Store

_UNSET: Any = object()


def conflicts(store: Store, id: str | None = None, field: str | None = None) -> list[Conflict]:
    """Return all conflicts, those of one memory, or the one of a field."""
    if id is None:
        return list(store.things.select(Conflict))
    record = resolve_id(store, id)
    found = [one for one in store.things.select(Conflict, [record]) if field in (None, one.field)]
    if not found:
        name = f"{id} {field}" if field else id
        raise NotFound("conflict", name, "run `memglot conflicts` to list them")
    return found


def conflicts_with_records(store: Store, ids: Sequence[str] | None = None) -> Iterator[tuple[Conflict, Record]]:
    """Yield all conflicts, or those of some memories, each with its record."""
    for conflict in store.things.select(Conflict, ids):
        for record in store.records.get([conflict.record]):
            yield conflict, record


def value_text(value: Any) -> str:
    """Return a value for display: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else canonical(value).decode()


def conflict_value(record: Record, conflict: Conflict) -> dict[str, Any]:
    """Return a conflict as a JSON object; `stands` is the number of the value that is used in a record."""
    return {
        "id": conflict.record,
        "field": conflict.field,
        "at": format_time(conflict.clock),
        "values": conflict.values,
        "stands": current_number(record, conflict),
    }


def current_number(record: Record, conflict: Conflict) -> int:
    """Return the number, from 1, of the value that is used until the conflict is resolved; 0 if it is none of them."""
    register = split_record(record).registers.get(parse_path(conflict.field) or ())
    current = canonical(register.json_value) if register is not None else b""
    return next((number for number, value in enumerate(conflict.values, 1) if canonical(value) == current), 0)


def resolve_conflict(
    store: Store, id: str, field: str | None = None, *, take: int | None = None, value: Any = _UNSET
) -> Record:
    """Resolve a conflict with one of its values, by number from 1, or with another value.

    This is an ordinary edit, later than the conflict, so it also applies on other machines. `null` sets a field to its
    default and removes a key.
    """
    with store.writing():
        found = conflicts(store, id, field)
        if len(found) > 1:
            raise UsageError(
                "several fields of this memory have conflicts",
                "name one of: " + ", ".join([one.field for one in found]),
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
        return update(store, record.id, changes, action="resolve", resolves=conflict.field)


def _with_value(record: Record, path: Path, value: Any) -> dict[str, Any]:
    """Return the change that sets a register to a value."""
    if len(path) == 1:
        if value is None:
            return {path[0]: DEFAULTS[path[0]]}
        try:
            made = msgspec.convert({"content": record.content, path[0]: value}, Record)
        except msgspec.ValidationError as error:
            raise wrong_types(str(error)) from None
        return {path[0]: getattr(made, path[0])}
    register = split_record(record).registers.get(path)
    if register is not None and register.value is not REMOVED and canonical(register.json_value) == canonical(value):
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
    """Return the error for a missing or invalid number."""
    what = f"this conflict has no value `{number}`" if number is not None else "no value was given"
    return UsageError(what, f"choose a value with `--take 1` to `--take {count}`, or set another with `--value`")
