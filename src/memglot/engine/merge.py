"""Merges two versions of one memory, field by field, so that every machine comes to the same result."""

from collections.abc import Iterable
from typing import Any

from memglot.model import Conflict, Record, canonical, content_hash, plain

MERGED = "merged into "
"""How the reason of a tombstone begins whose memory lives on in another one."""
DECAY = "consolidation"
"""Where `extra` keeps what a strength decays from."""
_SCALARS = ("content", "title", "kind", "scope", "tree", "temporal", "status", "strength", "confidence")
_LISTS = ("tags", "triggers", "foreign")
PLACED = ("obsidian", "agentos-markdown")
"""Whose notes have places: `extra.<tool>.path`, and what is around the content in `extra.<tool>.note`."""
_OBJECTS = ("meta", "source", "extra")
_DEFAULTS: dict[str, Any] = {field: getattr(Record(content=""), field) for field in Record.__struct_fields__}


def same(local: Record, remote: Record) -> bool:
    """Tell whether taking over what the remote record says would change nothing, whatever the times."""
    fields = (*_SCALARS, "tags", "triggers", *_OBJECTS)
    if all(getattr(local, field) == getattr(remote, field) for field in fields):
        return True
    taken, _ = merge_records(local, remote, "prefer-remote")
    return all(getattr(local, field) == getattr(taken, field) for field in fields)


def merge_records(local: Record, remote: Record, policy: str = "merge") -> tuple[Record, list[Conflict]]:
    """The merged record and the clashes that no rule decides.

    A field is a register: the later clock wins. A field that one side leaves at its default is absent there and
    never wins. Equal clocks with different values are a conflict, and the value with the greater SHA-256 of its
    canonical JSON stands meanwhile. `prefer-local` and `prefer-remote` decide every difference instead.
    """
    merging = _Merging(local, remote, policy)
    values: dict[str, Any] = {field: merging.scalar(field) for field in _SCALARS}
    values |= {field: merging.union(field) for field in _LISTS}
    values |= {field: merging.object(field) for field in _OBJECTS}
    # A record straight from a reader may have no time, which is 0; it got one when it was stored.
    values["created_at"] = min(filter(None, (local.created_at, remote.created_at)), default=0)
    values["updated_at"] = max(local.updated_at, remote.updated_at)
    values["last_accessed"] = max(filter(None, (local.last_accessed, remote.last_accessed)), default=None)
    values["access_count"] = max(local.access_count, remote.access_count)
    clocks = {field: clock for field, clock in merging.clocks.items() if clock != values["updated_at"]}
    return Record(id=local.id, clocks=clocks, **values), merging.conflicts


class _Merging:
    def __init__(self, local: Record, remote: Record, policy: str) -> None:
        self.local, self.remote, self.policy = local, remote, policy
        self.clocks: dict[str, int] = {}
        self.conflicts: list[Conflict] = []

    def scalar(self, field: str) -> Any:
        mine, theirs, default = getattr(self.local, field), getattr(self.remote, field), _DEFAULTS[field]
        if mine == theirs or theirs == default:
            self._clock(field, self.local if mine != theirs else None)
            return mine
        if mine == default:
            self._clock(field, self.remote)
            return theirs
        return self._choose(field, mine, theirs)

    def object(self, field: str) -> dict[str, Any]:
        mine, theirs = getattr(self.local, field), getattr(self.remote, field)
        found = {**theirs, **mine}
        for key in sorted(mine.keys() & theirs.keys()):
            if mine[key] == theirs[key]:
                continue
            if (field, key) == ("source", "machine"):
                found[key] = min(mine[key], theirs[key], key=canonical)
            elif (field, key) == ("extra", DECAY):
                # It goes by the strength it was written with, and means nothing beside another one.
                found[key] = max(mine[key], theirs[key], key=canonical)
            elif field == "extra" and "." in key:
                # The bytes around a note are one piece, and nothing that a person could decide about.
                found[key] = self._later(mine[key], theirs[key])
            elif field == "extra" and _is_mapping(key, mine[key]) and _is_mapping(key, theirs[key]):
                found[key] = self._inner(f"{field}.{key}", mine[key], theirs[key])
            else:
                found[key] = self._choose(f"{field}.{key}", mine[key], theirs[key])
        return found

    def _later(self, mine: Any, theirs: Any) -> Any:
        """The value of the record that was edited later, else one that every machine chooses alike."""
        if self.policy == "merge" and self.local.updated_at == self.remote.updated_at:
            return max(mine, theirs, key=canonical)
        later = self.local.updated_at > self.remote.updated_at
        mine_wins = later if self.policy == "merge" else self.policy == "prefer-local"
        return mine if mine_wins else theirs

    def _inner(self, field: str, mine: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
        """What a tool keeps of a memory, key by key; its places are united."""
        found = {**theirs, **mine}
        for key in sorted(mine.keys() & theirs.keys()):
            if mine[key] == theirs[key]:
                continue
            if key == "places" and isinstance(mine[key], list) and isinstance(theirs[key], list):
                found[key] = _united(mine[key], theirs[key])
            else:
                found[key] = self._choose(f"{field}.{key}", mine[key], theirs[key])
        return found

    def union(self, field: str) -> list[Any]:
        mine, theirs = getattr(self.local, field), getattr(self.remote, field)
        if mine == theirs or not theirs:
            return list(mine)
        if not mine or self.policy == "prefer-remote":
            return list(theirs)
        if self.policy == "prefer-local":
            return list(mine)
        return _united(mine, theirs)

    def _choose(self, field: str, mine: Any, theirs: Any) -> Any:
        if self.policy != "merge":
            side = self.local if self.policy == "prefer-local" else self.remote
            self._clock(field, side)
            return mine if side is self.local else theirs
        my_clock, their_clock = clock_of(self.local, field), clock_of(self.remote, field)
        self.clocks[field] = max(my_clock, their_clock)
        if my_clock != their_clock:
            return mine if my_clock > their_clock else theirs
        self.conflicts.append(
            Conflict(
                record=self.local.id,
                field=field,
                local=plain(mine),
                remote=plain(theirs),
                local_clock=my_clock,
                remote_clock=their_clock,
            )
        )
        return max(mine, theirs, key=lambda value: content_hash(canonical(value).decode()))

    def _clock(self, field: str, side: Record | None) -> None:
        """Keep the clock of the side whose value stands; of both where they agree."""
        sides = (self.local, self.remote) if side is None else (side,)
        self.clocks[field] = max(clock_of(record, field) for record in sides)


def _is_mapping(tool: str, value: Any) -> bool:
    """Tell whether a tool's part of `extra` may be merged by its keys; what mirrors a note's bytes is one piece."""
    return isinstance(value, dict) and "." not in tool


def clock_of(record: Record, field: str) -> int:
    """When a field was last edited; `meta.key` falls back to `meta`, and that to the record's own time."""
    own = record.clocks.get(field)
    if own is None:
        own = record.clocks.get(field.partition(".")[0], record.updated_at)
    return own


def absorb(stays: Record, double: Record) -> None:
    """Give a record what a double of it says and it does not: fields that it leaves at their default, further keys."""
    for field in ("title", "tree", "temporal", "strength", "confidence", "triggers", "last_accessed"):
        if getattr(stays, field) == _DEFAULTS[field]:
            setattr(stays, field, getattr(double, field))
    stays.access_count = max(stays.access_count, double.access_count)
    for field in _OBJECTS:
        setattr(stays, field, {**getattr(double, field), **getattr(stays, field)})


def unite(stays: Record, *skipped: Record) -> None:
    """Give the record that stays the tags, foreign ids and places of those that were skipped as its doubles."""
    for field in ("tags", "foreign"):
        mine = getattr(stays, field)
        theirs = [value for record in skipped for value in getattr(record, field)]
        if not set(theirs) <= set(mine):
            setattr(stays, field, _united(mine, theirs))
    _unite_places(stays, skipped)


def _unite_places(stays: Record, skipped: Iterable[Record]) -> None:
    """Let the record that stays know the notes that the skipped ones stand in."""
    for tool in PLACED:
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
        places = {_spot(place): place for place in [*places_in(mine), *found]}
        around = stays.extra.get(f"{tool}.note")
        places.pop(_spot({**(around if isinstance(around, dict) else {}), "path": mine.get("path")}), None)
        if places:
            united = {**mine, "places": [places[key] for key in sorted(places)]}
            stays.extra = {**stays.extra, tool: united}


def _spot(place: dict[str, Any]) -> bytes:
    """Where a note lies: its vault and its path there."""
    return canonical([place.get("vault", ""), place.get("path")])


def _has_path(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("path"), str)


def places_in(own: Any) -> list[dict[str, Any]]:
    """The further places of a memory's notes; what is none is passed over."""
    places = own.get("places") if isinstance(own, dict) else None
    return [place for place in places if _has_path(place)] if isinstance(places, list) else []


def _united(mine: list[Any], theirs: list[Any]) -> list[Any]:
    """Both lists as one, in an order that does not tell which came first: merging again changes nothing."""
    return sorted({canonical(value): value for value in (*mine, *theirs)}.values(), key=canonical)
