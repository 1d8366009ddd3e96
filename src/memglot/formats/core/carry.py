"""The carry slot: one place in each format where the model fields ride that the format has no home for."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeAlias

import msgspec

from memglot.display import excerpt
from memglot.errors import BadRecord
from memglot.model import (
    DELETED,
    Conflict,
    Embedding,
    Foreign,
    Item,
    Record,
    Relation,
    Supersession,
    Temporal,
    Thing,
    check_id,
    check_record,
    check_thing,
    id_time,
    owner_of,
    set_times_from_id,
    to_builtins,
)
from memglot.model.record_errors import not_a_slot
from memglot.report import Proof, Report, SourceReport

KEY = "memglot"


class Carry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What may stand in a carry slot: fields of the record, what rides with it, and the end mark."""

    id: str | None = None
    title: str | None = None
    kind: str | None = None
    scope: str | None = None
    tree: str | None = None
    tags: list[str] | None = None
    triggers: list[str] | None = None
    meta: dict[str, Any] | None = None
    temporal: Temporal | None = None
    status: str | None = None
    strength: float | None = None
    confidence: float | None = None
    created_at: int | None = None
    updated_at: int | None = None
    clocks: dict[str, int] | None = None
    last_accessed: int | None = None
    access_count: int | None = None
    source: dict[str, Any] | None = None
    foreign: list[Foreign] | None = None
    extra: dict[str, Any] | None = None
    relations: list[Relation] = []
    supersessions: list[Supersession] = []
    embeddings: list[Embedding] = []
    conflicts: list[Conflict] = []
    end: Proof | None = None


_RIDERS: dict[type, str] = {
    Relation: "relations",
    Supersession: "supersessions",
    Embedding: "embeddings",
    Conflict: "conflicts",
}
_ORDER = tuple(_RIDERS)
_FIELDS = tuple(name for name in Carry.__struct_fields__ if name not in {*_RIDERS.values(), "end"})


Bundle: TypeAlias = tuple[Record, list[Thing], bool]
"""A record, what rides with it, and whether it is the last."""


class Leftovers(Protocol):
    """Where things go that belong to no record."""

    def add_leftover(self, item: Item, report: Report) -> None:
        """Keep an item there."""


def bundles(
    items: Iterable[Item], target: Leftovers, report: Report, *, with_deleted: bool = False
) -> Iterator[Bundle]:
    """Group items for a writer of records; what belongs to no record goes beside the file.

    So do deleted records, unless the format has a place for them.
    """
    current: Record | None = None
    riders: list[Thing] = []
    count = 0
    for item in items:
        if isinstance(item, Record):
            if item.status == DELETED and not with_deleted:
                target.add_leftover(item, report)
                continue
            if current is not None:
                count += 1
                if count % 1_000 == 0:
                    report.progress.written = count
                    report.tick()
                yield current, riders, False
                riders = []
            current = item
        elif current is not None and type(item) in _RIDERS and owner_of(item) == current.id:
            riders.append(item)
        else:
            target.add_leftover(item, report)
    if current is not None:
        yield current, riders, True


def is_plain(record: Record) -> bool:
    """Tell whether Memory Engine's five fields say all there is to say about a record."""
    at = record.created_at
    return (
        record.kind == "semantic"
        and record.scope == "user"
        and record.status == "active"
        and record.updated_at == at
        and record.title is None
        and record.strength is None
        and record.confidence is None
        and record.last_accessed is None
        and not (record.tags or record.extra or record.source or record.foreign or record.triggers or record.clocks)
        and not record.access_count
        and (at == 0 or (record.id != "" and at == id_time(record.id) * 1000))
    )


def homeless(record: Record, homes: frozenset[str]) -> dict[str, Any]:
    """The fields of a record that have no home in a format and differ from their default, as plain values."""
    values: dict[str, Any] = to_builtins(record)
    found = {name: value for name, value in values.items() if name not in homes and name != "content"}
    if "created_at" in found and record.id and record.created_at == id_time(record.id) * 1000:
        del found["created_at"]
    if record.updated_at == record.created_at:
        found.pop("updated_at", None)
    return found


def differences(record: Record, native: Record) -> dict[str, Any]:
    """What a reader cannot know of a record that takes `native` from the format's own fields.

    `null` says that a field is absent which the format cannot leave out. What `native` has in `meta` and `extra`, the
    record must have too: keys can be added and replaced, not taken away.
    """
    ours, theirs = to_builtins(record), to_builtins(native)
    found: dict[str, Any] = {}
    for name in _FIELDS:
        mine, given = ours.get(name), theirs.get(name)
        if mine == given:
            continue
        if name in ("meta", "extra"):
            found[name] = _added(mine or {}, given or {}, deep=name == "extra")
        else:
            found[name] = mine
    if "created_at" in found:
        # A carried time of making stands for both, unless the other is carried too.
        found["updated_at"] = record.updated_at
        if record.updated_at == record.created_at:
            del found["updated_at"]
    return found


def _added(mine: dict[str, Any], given: dict[str, Any], *, deep: bool) -> dict[str, Any]:
    found = {}
    for key, value in mine.items():
        if key in given and given[key] == value:
            continue
        both = deep and isinstance(value, dict) and isinstance(given.get(key), dict)
        found[key] = _added(value, given[key], deep=False) if both else value
    return found


def pack(bundle: Bundle, homes: frozenset[str], report: Report, plain_only: bool) -> dict[str, Any]:
    """What goes into the carry slot of a record; with `plain_only` nothing does, and the report names the losses."""
    record, riders, _ = bundle
    return pack_found({} if is_plain(record) else homeless(record, homes), record, riders, report, plain_only)


def pack_found(
    found: dict[str, Any], record: Record, riders: list[Thing], report: Report, plain_only: bool
) -> dict[str, Any]:
    """Like `pack`, for fields that were found already."""
    # In the order of the slot's own fields, so that the same things give the same bytes.
    for rider in sorted(riders, key=lambda rider: _ORDER.index(type(rider))):
        found.setdefault(_RIDERS[type(rider)], []).append(to_builtins(rider))
    if plain_only:
        for name in found:
            report.dropped(name, record.id or excerpt(record.content))
        return {}
    for name in found:
        report.carried[name] += 1
    unknown = found["extra"].get(KEY) if isinstance(found.get("extra"), dict) else None
    if isinstance(unknown, dict) and unknown and not is_slot(unknown):
        del found["extra"][KEY]
        found.update(unknown)
        if not found["extra"]:
            del found["extra"]
    return found


def is_slot(value: dict[str, Any]) -> bool:
    """Tell whether an object under our key may be ours: it has at least one of our fields."""
    return not value.keys().isdisjoint(Carry.__struct_fields__)


def _join(extra: dict[str, Any], carried: dict[str, Any]) -> None:
    """Add what was carried for a tool to what the format itself gave for it."""
    for tool, value in carried.items():
        given = extra.get(tool)
        extra[tool] = {**given, **value} if isinstance(given, dict) and isinstance(value, dict) else value


def unpack(slot: dict[str, Any], record: Record, report: SourceReport) -> list[Thing]:
    """Put what rode in the carry slot back into the record, and return what rode with it.

    Raises `msgspec.ValidationError` or `BadRecord` for a slot that this tool cannot have written.
    """
    carry = msgspec.convert(slot, Carry)
    for name in _FIELDS:
        value = getattr(carry, name)
        if value is None:
            if name in slot:
                # Said to be absent, where the format itself has no way to say so.
                setattr(record, name, getattr(Record(content=""), name))
            continue
        if name == "meta":
            record.meta.update(value)
        elif name == "extra":
            _join(record.extra, value)
        else:
            setattr(record, name, value)
    unknown = {name: value for name, value in slot.items() if name not in Carry.__struct_fields__}
    if unknown:
        record.extra[KEY] = unknown
    if carry.end is not None:
        report.inputs.proof = carry.end
    if carry.created_at is not None and carry.updated_at is None:
        record.updated_at = carry.created_at
    if record.id:
        record.id = check_id(record.id)
    set_times_from_id(record)
    check_record(record)
    riders: list[Thing] = [*carry.relations, *carry.supersessions, *carry.embeddings, *carry.conflicts]
    return [check_thing(rider) for rider in riders]


def take_slot(holder: dict[str, Any], record: Record, report: SourceReport) -> list[Any] | None:
    """Take the carry slot out of the object that holds it, and return what rode with the record.

    What is not ours stays where it was, with a note, and `None` is returned.
    """
    slot = holder[KEY]
    # The slot is tried on a copy, so that a slot that turns out to be foreign leaves no trace.
    trial = msgspec.structs.replace(record, meta=dict(record.meta), extra=dict(record.extra))
    if KEY in trial.meta and trial.meta[KEY] is slot:
        del trial.meta[KEY]
    try:
        if not isinstance(slot, dict) or not is_slot(slot):
            raise not_a_slot()
        riders = unpack(slot, trial, report)
    except (msgspec.ValidationError, BadRecord) as error:
        report.note(note_foreign_slot(report.source, error))
        return None
    for name in record.__struct_fields__:
        setattr(record, name, getattr(trial, name))
    return riders


def note_foreign_slot(source: str, error: Exception) -> str:
    """Return the note about a `memglot` key that is not a carry slot."""
    return f"`memglot` in {source} is not a valid carry slot and was kept as it is: {error}"
