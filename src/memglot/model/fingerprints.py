"""Fingerprints: short digests of the values of a memory, which show whether another tool changed one."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Any

from memglot.model.canonical import canonical_value
from memglot.model.paths import (
    DEFAULTS,
    OBJECTS,
    SCALARS,
    UNCLOCKED,
    Path,
    is_layout,
    is_union_list,
    leaves,
    parse_path,
    path_name,
)
from memglot.model.record import Record

LISTS = ("tags", "triggers")
"""Lists of a record that tools edit; their order does not count."""
ABSENT = ""
"""The fingerprint of a value that is not there."""
_EXACT = 1 << 53
_LONG = 64
_JOIN, _SHORT = "+", 8


def fingerprint(value: Any) -> str:
    """Return the fingerprint of a value. Whole numbers have one, however a tool writes them: 1 and 1.0 are equal."""
    if isinstance(value, str):
        return _of_word(value) if len(value) < _LONG else _of_text(value)
    return blake2b(canonical_value(_normalise(value)), digest_size=6).hexdigest()


def _of_text(text: str) -> str:
    return blake2b(canonical_value(text), digest_size=6).hexdigest()


# Kinds, scopes and tags are the same in many memories.
_of_word = lru_cache(4096)(_of_text)


def list_fingerprint(values: list[Any]) -> str:
    """Return the fingerprint of a list whose order does not count: those of its values, so that sets can be merged."""
    return _JOIN.join(sorted(set(map(_short, values))))


def merge_lists(mine: list[Any], theirs: list[Any], said: str) -> list[Any]:
    """Return my values with those that the other side added since it `said` some, and without those that it removed."""
    known, there = set(said.split(_JOIN)), {_short(value): value for value in theirs}
    here = {_short(value): value for value in mine}
    kept = {short: value for short, value in here.items() if short in there or short not in known}
    found = kept | {short: value for short, value in there.items() if short in here or short not in known}
    return list(theirs) if found.keys() == there.keys() else list(found.values())


def is_kept(before: str | None, after: str | None) -> bool:
    """Return True if a value is as it was; a list may have more values."""
    if before is None or after is None:
        return before is after
    return set(before.split(_JOIN)) <= set(after.split(_JOIN))


def _short(value: Any) -> str:
    return fingerprint(value)[:_SHORT]


def fingerprints(record: Record) -> dict[str, str]:
    """Return the fingerprints of all values that another tool may edit, by the names of their registers."""
    found = {name: fingerprint(value) for name in SCALARS if (value := getattr(record, name)) != DEFAULTS[name]}
    for name in LISTS:
        if values := getattr(record, name):
            found[name] = list_fingerprint(values)
    if record.meta or record.source or record.extra:
        for path, value in leaves(record):
            if path in UNCLOCKED or is_layout(path):
                continue
            found[path_name(path)] = list_fingerprint(value) if is_union_list(path, value) else fingerprint(value)
    return found


def parse_name(name: str) -> Path | None:
    """Return the path of a name, also of a list; `None` if it names nothing."""
    return (name,) if name in LISTS else parse_path(name)


def is_name(name: str) -> bool:
    """Return True if a value that a tool may edit has this name."""
    path = parse_name(name)
    if path is None or path in UNCLOCKED or path[0] in OBJECTS and len(path) == 1:
        return False
    return path_name(path) == name


def copy_value(name: str, source: Record, target: Record) -> None:
    """Make a value of one record that of another; remove it there if the first one does not have it."""
    path = parse_name(name)
    if path is None:
        return
    if len(path) == 1:
        setattr(target, path[0], getattr(source, path[0]))
        return
    found: Any = getattr(source, path[0])
    for key in path[1:]:
        if not isinstance(found, dict) or key not in found:
            _remove(path, target)
            return
        found = found[key]
    _set(path, target, found)


def _set(path: Path, record: Record, value: Any) -> None:
    holder = getattr(record, path[0])
    copy = dict(holder)
    setattr(record, path[0], copy)
    for key in path[1:-1]:
        inner = copy.get(key)
        copy[key] = dict(inner) if isinstance(inner, dict) else {}
        copy = copy[key]
    copy[path[-1]] = value


def _remove(path: Path, record: Record) -> None:
    """Remove a value, and the objects that are empty without it."""
    holder = getattr(record, path[0])
    setattr(record, path[0], _without(holder, path[1:]))


def _without(holder: dict[str, Any], keys: Path) -> dict[str, Any]:
    inner = holder.get(keys[0])
    if len(keys) > 1 and isinstance(inner, dict) and (rest := _without(inner, keys[1:])):
        return {**holder, keys[0]: rest}
    if len(keys) > 1 and not isinstance(inner, dict):
        return holder
    return {key: value for key, value in holder.items() if key != keys[0]}


def _normalise(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    if isinstance(value, dict):
        return {key: _normalise(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_normalise(inner) for inner in value]
    return value
