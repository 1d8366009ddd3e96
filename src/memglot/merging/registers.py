"""Registers: the parts of a memory that are edited and merged independently, each with the time of its last edit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from memglot.errors import UsageError
from memglot.model import LATEST, Record, canonical, format_time, now, to_builtins
from memglot.model.paths import DEFAULTS, OBJECTS, SCALARS, UNCLOCKED, Path, is_union_list, leaves
from memglot.model.paths import parse_path as parse_path
from memglot.model.paths import path_name as path_name


class _Removed:
    def __repr__(self) -> str:
        return "REMOVED"


REMOVED: Any = _Removed()
"""The value of a removed key: unlike a key that never existed, it has a clock and may win."""


class Register(NamedTuple):
    """A value and the time when it was set."""

    clock: int
    value: Any

    @property
    def json_value(self) -> Any:
        """The value as JSON; `null` if it was removed."""
        return None if self.value is REMOVED else to_builtins(self.value)

    def rank(self) -> tuple[int, bytes, bool]:
        """Return the sort key: the later value wins; at the same time the greater digest, so all machines agree."""
        return self.clock, digest(self.json_value), self.value is not REMOVED


def digest(value: Any) -> bytes:
    """Return the SHA-256 of a value's canonical JSON."""
    return sha256(canonical(value)).digest()


@dataclass
class Parts:
    """The parts of a record.

    Registers have clocks. Lists are merged by union. Of two `unclocked` values one is chosen by its content.
    """

    registers: dict[Path, Register] = field(default_factory=dict)
    lists: dict[Path, list[Any]] = field(default_factory=dict)
    unclocked: dict[Path, Any] = field(default_factory=dict)

    def has_below(self, path: Path) -> bool:
        """Return True if there is, or once was, a register or list below a path."""
        size = len(path)
        return any(len(one) > size and one[:size] == path for one in (*self.registers, *self.lists))


def clock_of(record: Record, name: str) -> int:
    """Return when a field was last edited; `meta.key` falls back to `meta`, and that to the record's own time."""
    return _clock(record, parse_path(name) or (name,))


def _clock(record: Record, path: Path) -> int:
    clocks = record.clocks
    if clocks:
        for size in range(len(path), 0, -1):
            if (found := clocks.get(path_name(path[:size]))) is not None:
                return found
    return record.updated_at


def split_record(record: Record) -> Parts:
    """Split a record into its parts.

    A field with its default value has no register, unless it has a clock: then somebody set it to the default.
    """
    parts = Parts()
    for name in SCALARS:
        value = getattr(record, name)
        if name in record.clocks or value != DEFAULTS[name]:
            parts.registers[name,] = Register(_clock(record, (name,)), value)
    for path, value in leaves(record):
        if path in UNCLOCKED:
            parts.unclocked[path] = value
        elif is_union_list(path, value):
            parts.lists[path] = value
        else:
            parts.registers[path] = Register(_clock(record, path), value)
    for name, clock in record.clocks.items():
        path = parse_path(name) or ()
        if len(path) > 1 and _is_removed(record, path):
            parts.registers[path] = Register(clock, REMOVED)
    return parts


def _is_removed(record: Record, path: Path) -> bool:
    """Return True if there is no value at a path, nor one above it that is not an object."""
    if path in UNCLOCKED:
        return False
    found = getattr(record, path[0])
    for key in path[1:]:
        if not isinstance(found, dict):
            return False
        if key not in found:
            return True
        found = found[key]
    return False


def join_parts(record: Record, parts: Parts) -> None:
    """Set the values and clocks of a record from its parts; its `updated_at` must be set already.

    Equal parts give equal bytes. `clocks` lists a register if its clock differs from the record's own time, or if its
    value is the default. If all keys of an object share one clock, the object is listed instead of its keys.
    """
    above = {path[:size] for path in (*parts.registers, *parts.lists) for size in range(2, len(path))}
    # An object with keys, or a list, wins over a scalar at the same path, whatever the clocks.
    for path in [path for path in parts.registers if path in above or path in parts.lists]:
        del parts.registers[path]
    for name in OBJECTS:
        setattr(record, name, {})
    present: dict[Path, Register] = {}
    clocks: dict[str, int] = {}
    for path, register in parts.registers.items():
        if len(path) == 1:
            setattr(record, path[0], register.value)
            unset = register.value == DEFAULTS[path[0]]
        elif not (unset := register.value is REMOVED):
            _set_value(record, path, register.value)
        if unset:
            clocks[path_name(path)] = register.clock
        else:
            present[path] = register
    for path, value in (*parts.lists.items(), *parts.unclocked.items()):
        _set_value(record, path, value)
    record.clocks = {**clocks, **dict(_clock_names(present, 1, record.updated_at))}


def _set_value(record: Record, path: Path, value: Any) -> None:
    found = getattr(record, path[0])
    for key in path[1:-1]:
        found = found.setdefault(key, {})
    found[path[-1]] = value


def _clock_names(registers: dict[Path, Register], depth: int, fallback: int) -> Iterator[tuple[str, int]]:
    groups: dict[Path, dict[Path, Register]] = {}
    for path, register in registers.items():
        groups.setdefault(path[:depth], {})[path] = register
    for path, inner in groups.items():
        clocks = {register.clock for register in inner.values()}
        if len(clocks) > 1:
            yield from _clock_names(inner, depth + 1, fallback)
        elif clocks != {fallback}:
            yield path_name(path), clocks.pop()


def set_time(record: Record, at: int) -> None:
    """Set `updated_at` of a record; all values keep their clocks."""
    parts = split_record(record)
    record.updated_at = at
    join_parts(record, parts)


def normalise(record: Record) -> None:
    """Bring the clocks of a record into canonical form."""
    if record.clocks:
        set_time(record, record.updated_at)


def stamp_edit(before: Record, after: Record, at: int, resolved: Iterable[Path] = ()) -> None:
    """Set the clocks of `after`, which an edit at time `at` made from `before`: changed values get that time.

    Fields set to their default and removed keys count as changed. Registers in `resolved` get the new clock even if
    their value is the same.
    """
    resolved = set(resolved)
    old = split_record(before).registers
    after.clocks = {}
    parts = split_record(after)
    for path, register in parts.registers.items():
        known = old.get(path)
        same = (
            known is not None
            and canonical(known.json_value) == canonical(register.json_value)
            and known.value is not REMOVED
        )
        parts.registers[path] = (
            known if known is not None and same and path not in resolved else Register(at, register.value)
        )
    for path, known in old.items():
        if path not in parts.registers and path not in parts.lists:
            _mark_removed(after, parts, path, known, at, path in resolved)
    after.updated_at = at
    join_parts(after, parts)


def _mark_removed(after: Record, parts: Parts, path: Path, known: Register, at: int, resolved: bool) -> None:
    """Record that a register has lost its value."""
    if len(path) == 1:
        default = DEFAULTS[path[0]]
        same = known.value == default and not resolved
        parts.registers[path] = known if same else Register(at, default)
        return
    above = (parts.registers.get(path[:size]) for size in range(2, len(path)))
    if any(found is not None and found.value != {} and found.value is not REMOVED for found in above):
        return
    if not parts.has_below(path):
        parts.registers[path] = known if known.value is REMOVED and not resolved else Register(at, REMOVED)


def next_time(*times: int) -> int:
    """Return the present, or one microsecond after the latest of the given times if a clock ran ahead.

    Raise `UsageError` if one of them is the maximum, since no edit can be later.
    """
    if max(times) >= LATEST:
        raise UsageError(
            f"its timestamp is already the maximum ({format_time(LATEST)}), so it cannot be edited",
            "delete it with `memglot delete`, then add it again",
        )
    return max(now(), *(time + 1 for time in times))
