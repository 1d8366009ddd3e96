"""Merge two versions of a memory field by field, so that every machine gets the same result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from memglot.merging.registers import REMOVED, Parts, Register, join_parts, split_record
from memglot.model import Conflict, Record, canonical
from memglot.model.paths import DEFAULTS, OBJECTS, SCALARS, Path, is_layout, parse_path, path_name

MERGED_INTO = "merged into "
"""Prefix of the reason of a tombstone whose memory was merged into another one."""
NOTE_TOOLS = ("obsidian", "agentos-markdown")
"""Tools whose notes have paths: `extra.<tool>.path`, with the text around the content in `extra.<tool>.note`."""
LISTS = ("tags", "triggers", "foreign")
"""Lists of a record that are merged by union."""
_SHARED_FIELDS = ("content", "kind", "scope", "status")
"""Fields that are equal in duplicates."""


def is_unchanged_by(local: Record, remote: Record) -> bool:
    """Return True if accepting the remote record would change nothing but times."""
    fields = (*SCALARS, "tags", "triggers", *OBJECTS)
    if all(getattr(local, field) == getattr(remote, field) for field in fields):
        return True
    accepted, _ = merge_records(local, remote, "prefer-remote")
    return all(getattr(local, field) == getattr(accepted, field) for field in fields)


def merge_records(
    local: Record, remote: Record, policy: str = "merge", known: Iterable[Conflict] = ()
) -> tuple[Record, list[Conflict]]:
    """Return the merged record and all its conflicts, including those of the `known` ones that still hold.

    Each part is a register: the later clock wins. A field that has its default value and no clock on one side is
    absent there and never wins. Equal clocks with different values are a conflict; until it is resolved, the value
    with the greater SHA-256 of its canonical JSON is used. `prefer-local` and `prefer-remote` decide every difference
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
        unclocked=merge_unclocked(mine.unclocked, theirs.unclocked),
    )
    merged = msgspec.structs.replace(local, **_times(local, remote))
    for field in SCALARS:
        setattr(merged, field, DEFAULTS[field])
    for field in LISTS:
        setattr(merged, field, join_lists(getattr(local, field), getattr(remote, field), policy))
    join_parts(merged, parts)
    if policy == "merge":
        return merged, conflicts_of(merged, [*known, *_new_conflicts(local.id, mine, theirs)])
    # A preference decides a conflict; one that it did not affect remains.
    return merged, [one for one in conflicts_of(merged, known) if _is_untouched(one, mine, parts)]


def _times(local: Record, remote: Record) -> dict[str, Any]:
    return {
        # A record from a reader may have no time (0); the stored one has.
        "created_at": min(filter(None, (local.created_at, remote.created_at)), default=0),
        "updated_at": max(local.updated_at, remote.updated_at),
        "last_accessed": latest_access(local, remote),
        "access_count": max(local.access_count, remote.access_count),
    }


def latest_access(one: Record, other: Record) -> int | None:
    """Return when one of two versions of a memory was last used, if either says so; 0 is a time too."""
    return max((at for at in (one.last_accessed, other.last_accessed) if at is not None), default=None)


def _choose(mine: Register | None, theirs: Register | None, policy: str) -> Register:
    if mine is None or theirs is None:
        found = mine if theirs is None else theirs
        assert found is not None
        return found
    if policy != "merge" and canonical(mine.json_value) != canonical(theirs.json_value):
        return mine if policy == "prefer-local" else theirs
    return max(mine, theirs, key=Register.rank)


def _list_policy(path: Path, policy: str) -> str:
    # Places say where the notes of a memory are; there is nothing to prefer.
    return "merge" if path[-1] == "places" else policy


def merge_unclocked(mine: dict[Path, Any], theirs: dict[Path, Any]) -> dict[Path, Any]:
    """Choose unclocked values: the smaller machine name (no conflict), the greater decay base."""
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
            found.append(
                Conflict(record=id, field=path_name(path), clock=one.clock, values=[one.json_value, other.json_value])
            )
    return found


def conflicts_of(record: Record, known: Iterable[Conflict]) -> list[Conflict]:
    """Return the known conflicts that a record still has: those of one clock are united, a later edit resolves them."""
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
        found = values.setdefault(path, {canonical(register.json_value): register.json_value})
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
    """Return True if the value in a record is one of the conflicting values."""
    register = split_record(record).registers.get(parse_path(conflict.field) or ())
    return register is not None and canonical(register.json_value) in map(canonical, conflict.values)


def _is_untouched(conflict: Conflict, before: Parts, after: Parts) -> bool:
    path = parse_path(conflict.field) or ()
    return path in before.registers and before.registers[path].rank() == after.registers[path].rank()


def absorb(kept: Record, duplicate: Record) -> None:
    """Merge a duplicate into the record that is kept.

    Of two values the later one wins, with its own clock, so that every machine gets the same result. Removals in the
    duplicate are ignored. The data of one tool in `extra` is not mixed: the duplicate's is used only if the tool has
    none in the record that is kept.
    """
    add_tags_and_places(kept, duplicate)
    kept.triggers = join_lists(kept.triggers, duplicate.triggers)
    mine, theirs = split_record(kept), split_record(duplicate)
    tools = {_tool_of(path) for path in (*mine.registers, *mine.lists, *mine.unclocked) if path[0] == "extra"}
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
    for path, value in theirs.unclocked.items():
        if path[0] == "source":
            mine.unclocked.setdefault(path, value)
    join_parts(kept, mine)
    kept.access_count = max(kept.access_count, duplicate.access_count)
    kept.last_accessed = latest_access(kept, duplicate)


def _tool_of(path: Path) -> str:
    """Return the tool that a path below `extra` belongs to; `obsidian.note` belongs to `obsidian`."""
    return path[1].partition(".")[0]


def add_tags_and_places(kept: Record, *skipped: Record) -> None:
    """Add the tags, foreign ids and note places of skipped duplicates to the record that is kept."""
    for field in ("tags", "foreign"):
        mine = getattr(kept, field)
        theirs = [value for record in skipped for value in getattr(record, field)]
        if not set(theirs) <= set(mine):
            setattr(kept, field, sorted_union([*mine, *theirs]))
    _add_places(kept, skipped)


def _add_places(kept: Record, skipped: Iterable[Record]) -> None:
    """Add the places of the notes that the skipped records came from."""
    for tool in NOTE_TOOLS:
        found: list[dict[str, Any]] = []
        for record in skipped:
            theirs, note = record.extra.get(tool), record.extra.get(f"{tool}.note")
            if isinstance(theirs, dict) and _has_path(theirs):
                found.append({**(note if isinstance(note, dict) else {}), "path": theirs["path"]})
            found += places_in(theirs)
        if not found:
            continue
        mine = kept.extra.get(tool)
        mine = mine if isinstance(mine, dict) else {}
        places = {_place_key(place): place for place in places_in(mine)}
        for place in found:
            before = places.get(_place_key(place), {})
            if {**before, "of": ""} != {**place, "of": ""}:
                # The digest of another note changes with the text of the memory, and says nothing else.
                places[_place_key(place)] = place
        around = kept.extra.get(f"{tool}.note")
        places.pop(_place_key({**(around if isinstance(around, dict) else {}), "path": mine.get("path")}), None)
        if places:
            own = {**mine, "places": [places[key] for key in sorted(places)]}
            kept.extra = {**kept.extra, tool: own}


def _place_key(place: dict[str, Any]) -> bytes:
    """Return the key of a note: its vault and its path there."""
    return canonical([place.get("vault", ""), place.get("path")])


def is_note(record: Record) -> bool:
    """Return True if a record was read from a note, whose place is kept with its memory."""
    return any(_has_path(record.extra.get(tool)) for tool in NOTE_TOOLS)


def _has_path(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("path"), str)


def places_in(own: Any) -> list[dict[str, Any]]:
    """Return the further places of a memory's notes, without invalid ones."""
    places = own.get("places") if isinstance(own, dict) else None
    return [place for place in places if _has_path(place)] if isinstance(places, list) else []


def sorted_union(values: Iterable[Any]) -> list[Any]:
    """Return each value once, sorted by canonical JSON, so that merging again changes nothing."""
    return sorted({canonical(value): value for value in values}.values(), key=canonical)


def join_lists(mine: list[Any], theirs: list[Any], policy: str = "merge") -> list[Any]:
    """Return equal lists unchanged, different ones as their sorted union; an empty list adds nothing."""
    if not theirs or canonical(mine) == canonical(theirs):
        return list(mine)
    if not mine or policy == "prefer-remote":
        return list(theirs)
    return list(mine) if policy == "prefer-local" else sorted_union([*mine, *theirs])
