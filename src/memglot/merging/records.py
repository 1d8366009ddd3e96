"""Merges two versions of one memory, field by field, so that every machine comes to the same result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from memglot.merging.registers import (
    DEFAULTS,
    OBJECTS,
    REMOVED,
    SCALARS,
    Parts,
    Path,
    Register,
    is_layout,
    join_parts,
    parse_path,
    path_name,
    split_record,
)
from memglot.model import Conflict, Record, canonical

MERGED_INTO = "merged into "
"""How the reason of a tombstone begins whose memory lives on in another one."""
NOTE_TOOLS = ("obsidian", "agentos-markdown")
"""Whose notes have places: `extra.<tool>.path`, and what is around the content in `extra.<tool>.note`."""
_LISTS = ("tags", "triggers", "foreign")
_SHARED_FIELDS = ("content", "kind", "scope", "status")
"""What doubles have in common."""


def is_unchanged_by(local: Record, remote: Record) -> bool:
    """Tell whether taking over what the remote record says would change nothing, whatever the times."""
    fields = (*SCALARS, "tags", "triggers", *OBJECTS)
    if all(getattr(local, field) == getattr(remote, field) for field in fields):
        return True
    taken, _ = merge_records(local, remote, "prefer-remote")
    return all(getattr(local, field) == getattr(taken, field) for field in fields)


def merge_records(
    local: Record, remote: Record, policy: str = "merge", known: Iterable[Conflict] = ()
) -> tuple[Record, list[Conflict]]:
    """The merged record and all its clashes that no rule decides, of which some may be `known` already.

    Each part is a register: the later clock wins. A field that one side leaves at its default, with no clock named
    for it, is absent there and never wins. Equal clocks with different values are a conflict, and the value with the
    greater SHA-256 of its canonical JSON stands meanwhile. `prefer-local` and `prefer-remote` decide every difference
    instead.
    """
    mine, theirs = split_record(local), split_record(remote)
    parts = Parts(
        registers={
            path: _choose(mine.registers.get(path), theirs.registers.get(path), policy)
            for path in {**mine.registers, **theirs.registers}
        },
        lists={
            path: join_lists(mine.lists.get(path, []), theirs.lists.get(path, []), _list_policy(path, policy))
            for path in {**mine.lists, **theirs.lists}
        },
        pieces=_merge_unclocked(mine.pieces, theirs.pieces),
    )
    merged = msgspec.structs.replace(local, **_times(local, remote))
    for field in SCALARS:
        setattr(merged, field, DEFAULTS[field])
    for field in _LISTS:
        setattr(merged, field, join_lists(getattr(local, field), getattr(remote, field), policy))
    join_parts(merged, parts)
    if policy == "merge":
        return merged, conflicts_of(merged, [*known, *_new_conflicts(local.id, mine, theirs)])
    # What was preferred is decided; a clash lives on where nothing was.
    return merged, [one for one in conflicts_of(merged, known) if _is_untouched(one, mine, parts)]


def _times(local: Record, remote: Record) -> dict[str, Any]:
    return {
        # A record straight from a reader may have no time, which is 0; it got one when it was stored.
        "created_at": min(filter(None, (local.created_at, remote.created_at)), default=0),
        "updated_at": max(local.updated_at, remote.updated_at),
        "last_accessed": max(
            (time for time in (local.last_accessed, remote.last_accessed) if time is not None), default=None
        ),
        "access_count": max(local.access_count, remote.access_count),
    }


def _choose(mine: Register | None, theirs: Register | None, policy: str) -> Register:
    if mine is None or theirs is None:
        found = mine if theirs is None else theirs
        assert found is not None
        return found
    if policy != "merge" and canonical(mine.shown) != canonical(theirs.shown):
        return mine if policy == "prefer-local" else theirs
    return max(mine, theirs, key=Register.rank)


def _list_policy(path: Path, policy: str) -> str:
    # Places are what is known of a memory's notes, and no value that one could prefer.
    return "merge" if path[-1] == "places" else policy


def _merge_unclocked(mine: dict[Path, Any], theirs: dict[Path, Any]) -> dict[Path, Any]:
    """Where a copy came from is no clash: the lesser stays. What a strength decays from goes by what is written."""
    found = {**theirs, **mine}
    for path in mine.keys() & theirs.keys():
        choose = min if path[0] == "source" else max
        found[path] = choose(mine[path], theirs[path], key=canonical)
    return found


def _new_conflicts(id: str, mine: Parts, theirs: Parts) -> list[Conflict]:
    found = []
    for path in mine.registers.keys() & theirs.registers.keys():
        one, other = mine.registers[path], theirs.registers[path]
        if one.clock == other.clock:
            found.append(Conflict(record=id, field=path_name(path), clock=one.clock, values=[one.shown, other.shown]))
    return found


def conflicts_of(record: Record, known: Iterable[Conflict]) -> list[Conflict]:
    """The clashes of a record, of all that were ever known: those of one clock unite, and a later edit settles them."""
    known = list(known)
    if not known:
        return []
    registers = split_record(record).registers
    values: dict[Path, dict[bytes, Any]] = {}
    for conflict in known:
        path = parse_path(conflict.field)
        register = registers.get(path) if path is not None else None
        if path is None or register is None or register.clock != conflict.clock or is_layout(path):
            continue
        found = values.setdefault(path, {canonical(register.shown): register.shown})
        found.update((canonical(value), value) for value in conflict.values)
    return [
        Conflict(
            record=record.id,
            field=path_name(path),
            clock=registers[path].clock,
            values=[found[key] for key in sorted(found)],
        )
        for path, found in sorted(values.items())
        if len(found) > 1
    ]


def includes_value_of(conflict: Conflict, record: Record) -> bool:
    """Tell whether the value that stands in a record is one of those that clash."""
    register = split_record(record).registers.get(parse_path(conflict.field) or ())
    return register is not None and canonical(register.shown) in map(canonical, conflict.values)


def _is_untouched(conflict: Conflict, before: Parts, after: Parts) -> bool:
    path = parse_path(conflict.field) or ()
    return path in before.registers and before.registers[path].rank() == after.registers[path].rank()


def absorb(stays: Record, double: Record) -> None:
    """Give a record what a double of it says.

    Of two values the later one stands, with its own clock, so that it travels and every machine comes to the same;
    what was taken away in a double was not taken away here. What a tool keeps of a memory goes together: the double's
    only where that tool keeps nothing of the one that stays.
    """
    add_tags_and_places(stays, double)
    stays.triggers = join_lists(stays.triggers, double.triggers)
    mine, theirs = split_record(stays), split_record(double)
    tools = {_tool_of(path) for path in (*mine.registers, *mine.lists, *mine.pieces) if path[0] == "extra"}
    for path, register in theirs.registers.items():
        known = mine.registers.get(path)
        if (
            path[0] not in _SHARED_FIELDS
            and not (path[0] == "extra" and _tool_of(path) in tools)
            and not (path == ("strength",) and known is not None)
            and register.value is not REMOVED
            and register.value != DEFAULTS.get(path_name(path), REMOVED)
            and (known is None or known.clock < register.clock)
        ):
            mine.registers[path] = register
    for path, value in theirs.lists.items():
        if _tool_of(path) not in tools:
            mine.lists[path] = value
    for path, value in theirs.pieces.items():
        if path[0] == "source":
            mine.pieces.setdefault(path, value)
    join_parts(stays, mine)
    stays.access_count = max(stays.access_count, double.access_count)
    stays.last_accessed = max(filter(None, (stays.last_accessed, double.last_accessed)), default=None)


def _tool_of(path: Path) -> str:
    """The tool that a path below `extra` belongs to; `obsidian.note` belongs to `obsidian`."""
    return path[1].partition(".")[0]


def add_tags_and_places(stays: Record, *skipped: Record) -> None:
    """Give the record that stays the tags, foreign ids and places of those that were skipped as its doubles."""
    for field in ("tags", "foreign"):
        mine = getattr(stays, field)
        theirs = [value for record in skipped for value in getattr(record, field)]
        if not set(theirs) <= set(mine):
            setattr(stays, field, sorted_union([*mine, *theirs]))
    _add_places(stays, skipped)


def _add_places(stays: Record, skipped: Iterable[Record]) -> None:
    """Let the record that stays know the notes that the skipped ones stand in."""
    for tool in NOTE_TOOLS:
        found: list[dict[str, Any]] = []
        for record in skipped:
            theirs, note = record.extra.get(tool), record.extra.get(f"{tool}.note")
            if isinstance(theirs, dict) and _has_path(theirs):
                found.append({**(note if isinstance(note, dict) else {}), "path": theirs["path"]})
            found += places_in(theirs)
        if not found:
            continue
        mine = stays.extra.get(tool)
        mine = mine if isinstance(mine, dict) else {}
        places = {_place_key(place): place for place in [*places_in(mine), *found]}
        around = stays.extra.get(f"{tool}.note")
        places.pop(_place_key({**(around if isinstance(around, dict) else {}), "path": mine.get("path")}), None)
        if places:
            united = {**mine, "places": [places[key] for key in sorted(places)]}
            stays.extra = {**stays.extra, tool: united}


def _place_key(place: dict[str, Any]) -> bytes:
    """Where a note lies: its vault and its path there."""
    return canonical([place.get("vault", ""), place.get("path")])


def _has_path(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("path"), str)


def places_in(own: Any) -> list[dict[str, Any]]:
    """The further places of a memory's notes; what is none is passed over."""
    places = own.get("places") if isinstance(own, dict) else None
    return [place for place in places if _has_path(place)] if isinstance(places, list) else []


def sorted_union(values: Iterable[Any]) -> list[Any]:
    """Each value once, in an order that does not tell which came first: merging again changes nothing."""
    return sorted({canonical(value): value for value in values}.values(), key=canonical)


def join_lists(mine: list[Any], theirs: list[Any], policy: str = "merge") -> list[Any]:
    """Equal lists as they are, of different ones the sorted union; an empty one says nothing."""
    if not theirs or canonical(mine) == canonical(theirs):
        return list(mine)
    if not mine or policy == "prefer-remote":
        return list(theirs)
    return list(mine) if policy == "prefer-local" else sorted_union([*mine, *theirs])
