"""Registers: the parts of a memory that are edited, and merged, each by itself, with the time of its last edit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from memglot.errors import UsageError
from memglot.model import LATEST, Record, canonical, format_time, now, to_builtins

DECAY_KEY = "consolidation"
"""Where `extra` keeps what a strength decays from."""
SCALARS = ("content", "title", "kind", "scope", "tree", "temporal", "status", "strength", "confidence")
OBJECTS = ("meta", "source", "extra")
DEFAULTS: dict[str, Any] = {name: getattr(Record(content=""), name) for name in Record.__struct_fields__}
UNION_LISTS = frozenset(
    {"tags", "triggers", "relations", "supersedes", "superseded_by", "entities", "aliases", "foreign", "places"}
)
"""What a tool keeps as lists of these names is united, as are the lists of a record."""
_FRONTMATTER = "frontmatter"
_MACHINE, _DECAYING = ("source", "machine"), ("extra", DECAY_KEY)

Path = tuple[str, ...]
"""Where a register stands: `("title",)`, `("meta", key)`, `("extra", tool, key)`."""


class _Removed:
    def __repr__(self) -> str:
        return "GONE"


REMOVED: Any = _Removed()
"""The value of a key that was taken away: unlike a key that was never there, it has a clock and may win."""


class Register(NamedTuple):
    """A value, and when it was set."""

    clock: int
    value: Any

    @property
    def shown(self) -> Any:
        """The value as plain JSON; `null` for one that is gone."""
        return None if self.value is REMOVED else to_builtins(self.value)

    def rank(self) -> tuple[int, bytes, bool]:
        """The later one stands, and of two of one time the one with the greater digest, so that all machines agree."""
        return self.clock, digest(self.shown), self.value is not REMOVED


def digest(value: Any) -> bytes:
    """SHA-256 of a value's canonical JSON."""
    return sha256(canonical(value)).digest()


@dataclass
class Parts:
    """A record taken apart. Only registers have clocks; lists unite, and pieces are chosen by what they say."""

    registers: dict[Path, Register] = field(default_factory=dict)
    lists: dict[Path, list[Any]] = field(default_factory=dict)
    pieces: dict[Path, Any] = field(default_factory=dict)

    def holding(self, path: Path) -> bool:
        """Tell whether anything stands below a path, or did once."""
        size = len(path)
        return any(len(one) > size and one[:size] == path for one in (*self.registers, *self.lists))


def path_name(path: Path) -> str:
    """A path as clocks and conflicts name it; a dot in a tool's name is written `%2E`."""
    if path[0] != "extra" or len(path) == 1:
        return ".".join(path)
    parts = ["extra", path[1].replace("%", "%25").replace(".", "%2E")]
    if len(path) == 4:
        parts += [_FRONTMATTER, path[3]]
    elif len(path) == 3:
        clear = not path[2].startswith((f"{_FRONTMATTER}.", f"{_FRONTMATTER}%"))
        parts.append(path[2] if clear else path[2].replace("%", "%25").replace(".", "%2E"))
    return ".".join(parts)


def parse_path(name: str) -> Path | None:
    """The path of a name; `None` for a name that stands for no register."""
    head, dot, rest = name.partition(".")
    if not dot:
        return (head,) if head in SCALARS or head in OBJECTS else None
    if head in ("meta", "source"):
        return head, rest
    if head != "extra":
        return None
    tool, dot, key = rest.partition(".")
    tool = _unescape(tool)
    if not dot:
        return head, tool
    if "." in tool:
        return None
    if key.startswith(f"{_FRONTMATTER}."):
        return head, tool, _FRONTMATTER, key[len(_FRONTMATTER) + 1 :]
    return head, tool, _unescape(key) if key.startswith(f"{_FRONTMATTER}%") else key


def _unescape(text: str) -> str:
    return text.replace("%2E", ".").replace("%25", "%")


def is_layout(path: Path) -> bool:
    """Tell whether a register is nothing that a person could decide about: the bytes around a note."""
    return len(path) == 2 and path[0] == "extra" and "." in path[1]


def clock_of(record: Record, name: str) -> int:
    """When a field was last edited; `meta.key` falls back to `meta`, and that to the record's own time."""
    return _clock(record, parse_path(name) or (name,))


def _clock(record: Record, path: Path) -> int:
    clocks = record.clocks
    if clocks:
        for size in range(len(path), 0, -1):
            if (found := clocks.get(path_name(path[:size]))) is not None:
                return found
    return record.updated_at


def split_record(record: Record) -> Parts:
    """A record taken apart.

    A field at its default is absent and has no register, unless a clock is named for it: then somebody set it so.
    """
    parts = Parts()
    for name in SCALARS:
        value = getattr(record, name)
        if name in record.clocks or value != DEFAULTS[name]:
            parts.registers[name,] = Register(_clock(record, (name,)), value)
    for path, value in _leaves(record):
        if path in (_MACHINE, _DECAYING):
            parts.pieces[path] = value
        elif _is_union_list(path, value):
            parts.lists[path] = value
        else:
            parts.registers[path] = Register(_clock(record, path), value)
    for name, clock in record.clocks.items():
        path = parse_path(name) or ()
        if len(path) > 1 and _is_removed(record, path):
            parts.registers[path] = Register(clock, REMOVED)
    return parts


def _leaves(record: Record) -> Iterator[tuple[Path, Any]]:
    for name in ("meta", "source"):
        for key, value in getattr(record, name).items():
            yield (name, key), value
    for tool, own in record.extra.items():
        if not isinstance(own, dict) or not own or "." in tool or tool == DECAY_KEY:
            yield ("extra", tool), own
            continue
        for key, value in own.items():
            if key == _FRONTMATTER and isinstance(value, dict) and value:
                yield from ((("extra", tool, _FRONTMATTER, inner), found) for inner, found in value.items())
            else:
                yield ("extra", tool, key), value


def _is_union_list(path: Path, value: Any) -> bool:
    return len(path) > 2 and path[-1] in UNION_LISTS and isinstance(value, list)


def _is_removed(record: Record, path: Path) -> bool:
    """Tell whether nothing stands at a path, nor anything above it that leaves no room for it."""
    if path in (_MACHINE, _DECAYING):
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
    """Give a record the values and the clocks of its parts; its own time is set already.

    Equal parts give equal bytes: a register is named where its clock is not the record's own time, one whose value is
    the default always, and the object above stands for all its keys where these share one clock.
    """
    above = {path[:size] for path in (*parts.registers, *parts.lists) for size in range(2, len(path))}
    # What has keys, or is a list, stands over what has none, whatever the clocks.
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
    for path, value in (*parts.lists.items(), *parts.pieces.items()):
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
    """Give a record another time of its own; what it says keeps the clocks that it has."""
    parts = split_record(record)
    record.updated_at = at
    join_parts(record, parts)


def normalise(record: Record) -> None:
    """Bring the clocks of a record into the one form that says the same."""
    if record.clocks:
        set_time(record, record.updated_at)


def stamp_edit(before: Record, after: Record, at: int, settled: Iterable[Path] = ()) -> None:
    """Note in `after` that it was made of `before` by an edit at a time: what changed gets that clock.

    A field that was set to its default, and a key that was taken away, are news too. `settled` are registers that get
    the clock though their value is the same.
    """
    settled = set(settled)
    old = split_record(before).registers
    after.clocks = {}
    parts = split_record(after)
    for path, register in parts.registers.items():
        known = old.get(path)
        same = known is not None and canonical(known.shown) == canonical(register.shown) and known.value is not REMOVED
        parts.registers[path] = (
            known if known is not None and same and path not in settled else Register(at, register.value)
        )
    for path, known in old.items():
        if path not in parts.registers and path not in parts.lists:
            _mark_removed(after, parts, path, known, at, path in settled)
    after.updated_at = at
    join_parts(after, parts)


def _mark_removed(after: Record, parts: Parts, path: Path, known: Register, at: int, settled: bool) -> None:
    """Note that a register which was known has no value any more."""
    if len(path) == 1:
        default = DEFAULTS[path[0]]
        same = known.value == default and not settled
        parts.registers[path] = known if same else Register(at, default)
        return
    above = (parts.registers.get(path[:size]) for size in range(2, len(path)))
    if any(found is not None and found.value != {} and found.value is not REMOVED for found in above):
        return
    if not parts.holding(path):
        parts.registers[path] = known if known.value is REMOVED and not settled else Register(at, REMOVED)


def next_time(*times: int) -> int:
    """The present, or the moment after the latest of the given times where a clock ran ahead.

    Nothing is later than the last moment there is: an edit must not pretend to be, and raises.
    """
    if max(times) >= LATEST:
        raise _last_moment(format_time(LATEST))
    return max(now(), *(time + 1 for time in times))


def _last_moment(time: str) -> UsageError:
    """An edit of what has the last time that there is."""
    text = f"its clock is the last moment there is, {time}, and no edit can be later"
    return UsageError(text, "`memglot delete` takes it away; add it anew to change it")
