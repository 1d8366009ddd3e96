"""The carry slot: the place in each format for model fields that have no field of their own."""

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
from memglot.model.fingerprints import ABSENT, copy_value, fingerprints, is_name
from memglot.model.record_errors import not_a_slot
from memglot.report import Proof, Report, SourceReport

KEY = "memglot"


class Carry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The content of a carry slot: fields of the record, its attached items, and the proof."""

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
    base: dict[str, str] | None = None
    """Fingerprints of what memglot wrote into the format's own fields; others differ if another tool edited them."""
    end: Proof | None = None


_ATTACHED: dict[type, str] = {
    Relation: "relations",
    Supersession: "supersessions",
    Embedding: "embeddings",
    Conflict: "conflicts",
}
_ORDER = tuple(_ATTACHED)
_FIELDS = tuple(name for name in Carry.__struct_fields__ if name not in {*_ATTACHED.values(), "base", "end"})
_MARKS = frozenset({"own", "text", "tag_names", "sealed", "repeats"})
"""Keys that some formats add to a slot, so that a key of a later version with this name needs another place."""


Bundle: TypeAlias = tuple[Record, list[Thing], bool]
"""A record, its attached items, and whether it is the last record."""


class Leftovers(Protocol):
    """Where items go that belong to no record."""

    def add_leftover(self, item: Item, report: Report) -> None:
        """Add an item."""


def bundles(
    items: Iterable[Item], target: Leftovers, report: Report, *, with_deleted: bool = False
) -> Iterator[Bundle]:
    """Group items for a writer of records; items that belong to no record are leftovers.

    So are deleted records, unless the format can store them.
    """
    current: Record | None = None
    attached: list[Thing] = []
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
                yield current, attached, False
                attached = []
            current = item
        elif current is not None and type(item) in _ATTACHED and owner_of(item) == current.id:
            attached.append(item)
        else:
            target.add_leftover(item, report)
    if current is not None:
        yield current, attached, True


def is_plain(record: Record) -> bool:
    """Return True if Memory Engine's five fields hold all values of a record."""
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


def other_fields(record: Record, fields: frozenset[str]) -> dict[str, Any]:
    """Return the values of a record that are not in the `fields` of a format and differ from their defaults."""
    values: dict[str, Any] = to_builtins(record)
    found = {name: value for name, value in values.items() if name not in fields and name != "content"}
    if "created_at" in found and record.id and record.created_at == id_time(record.id) * 1000:
        del found["created_at"]
    if record.updated_at == record.created_at:
        found.pop("updated_at", None)
    return found


def differences(record: Record, native: Record) -> dict[str, Any]:
    """Return what a reader cannot know of a record if it reads `native` from the format's own fields.

    `null` means that a field is absent although the format cannot leave it out. The record must have all keys that
    `native` has in `meta` and `extra`: keys can be added and replaced, not removed.
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
        # A carried `created_at` is also `updated_at`, unless that is carried too.
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


def pack(bundle: Bundle, fields: frozenset[str], report: Report, plain_only: bool) -> dict[str, Any]:
    """Return the carry slot of a record; with `plain_only` it is empty, and the report lists the losses."""
    record, attached, _ = bundle
    return pack_found({} if is_plain(record) else other_fields(record, fields), record, attached, report, plain_only)


def pack_found(
    found: dict[str, Any],
    record: Record,
    attached: list[Thing],
    report: Report,
    plain_only: bool,
    native: Record | None = None,
) -> dict[str, Any]:
    """Return the carry slot for values that were already found, like `pack`.

    `native` is what a reader finds in the format's own fields; the slot then shows what another tool changes there.
    """
    # In the order of the slot's fields, so that the same items give the same bytes.
    for item in sorted(attached, key=lambda item: _ORDER.index(type(item))):
        found.setdefault(_ATTACHED[type(item)], []).append(to_builtins(item))
    if plain_only:
        for name in found:
            report.dropped(name, record.id or excerpt(record.content))
        return {}
    for name in found:
        report.carried[name] += 1
    unknown = found["extra"].get(KEY) if isinstance(found.get("extra"), dict) else None
    # Without a known key, the slot would not be recognised.
    is_alone = len(found) == 1 and len(found.get("extra") or ()) == 1 and native is None
    if isinstance(unknown, dict) and unknown and not is_slot(unknown) and not is_alone and _MARKS.isdisjoint(unknown):
        del found["extra"][KEY]
        found.update(unknown)
        if not found["extra"]:
            del found["extra"]
    if found and native is not None:
        found["base"] = fingerprints(native)
    return found


def is_slot(value: dict[str, Any]) -> bool:
    """Return True if an object has at least one field of a carry slot."""
    return not value.keys().isdisjoint(Carry.__struct_fields__)


def _joined(extra: dict[str, Any], carried: dict[str, Any]) -> dict[str, Any]:
    """Return the values that the format has for each tool, with those carried for it."""
    found = dict(extra)
    for tool, value in carried.items():
        given = extra.get(tool)
        found[tool] = {**given, **value} if isinstance(given, dict) and isinstance(value, dict) else value
    return found


def _keep_tool_edits(record: Record, native: Record, base: dict[str, str]) -> None:
    """Let the values that another tool changed since memglot wrote them win over those in the slot."""
    now, carried = fingerprints(native), fingerprints(record)
    record.tool_edits = {}
    for name in filter(is_name, {**base, **now}):
        seen, written = now.get(name, ABSENT), base.get(name, ABSENT)
        if seen == written:
            continue
        if (value := carried.get(name, ABSENT)) != seen:
            # The format could not hold the value: the slot has it.
            written = value
        copy_value(name, native, record)
        record.tool_edits[name] = written


def unpack(slot: dict[str, Any], record: Record, report: SourceReport) -> list[Thing]:
    """Set the carried fields of a record, and return its attached items.

    Raise `msgspec.ValidationError` or `BadRecord` for a slot that memglot cannot have written.
    """
    carry = msgspec.convert(slot, Carry)
    native = msgspec.structs.replace(record)
    _set_fields(record, carry, slot)
    if carry.end is not None:
        report.inputs.proof = carry.end
    if record.id:
        record.id = check_id(record.id)
    set_times_from_id(record)
    # A slot that only ends the file says nothing about its memory.
    record.is_carried = slot.keys() != {"end"}
    if carry.base is not None:
        _keep_tool_edits(record, native, carry.base)
    check_record(record)
    attached: list[Thing] = [*carry.relations, *carry.supersessions, *carry.embeddings, *carry.conflicts]
    return [check_thing(item) for item in attached]


def _set_fields(record: Record, carry: Carry, slot: dict[str, Any]) -> None:
    for name in _FIELDS:
        value = getattr(carry, name)
        if value is None:
            if name in slot:
                # `null` in the slot: the field is absent, which the format itself cannot express.
                setattr(record, name, getattr(Record(content=""), name))
            continue
        if name == "meta":
            record.meta = {**record.meta, **value}
        elif name == "extra":
            record.extra = _joined(record.extra, value)
        else:
            setattr(record, name, value)
    unknown = {name: value for name, value in slot.items() if name not in Carry.__struct_fields__}
    if unknown:
        record.extra = {**record.extra, KEY: unknown}
    if carry.created_at is not None and carry.updated_at is None:
        record.updated_at = carry.created_at


def take_slot(holder: dict[str, Any], record: Record, report: SourceReport) -> list[Any] | None:
    """Remove the carry slot from the object that holds it, and return the attached items of the record.

    A value that is not a carry slot is kept, with a note; then return `None`.
    """
    slot = holder[KEY]
    # The slot is applied to a copy, so that a foreign one changes nothing.
    trial = msgspec.structs.replace(record, meta=dict(record.meta), extra=dict(record.extra))
    if KEY in trial.meta and trial.meta[KEY] is slot:
        del trial.meta[KEY]
    try:
        if not isinstance(slot, dict) or not is_slot(slot):
            raise not_a_slot()
        attached = unpack(slot, trial, report)
    except (msgspec.ValidationError, BadRecord) as error:
        report.note(note_foreign_slot(report.source, error))
        return None
    for name in record.__struct_fields__:
        setattr(record, name, getattr(trial, name))
    record.is_carried |= trial.is_carried
    if trial.tool_edits is not None:
        record.tool_edits = trial.tool_edits
    return attached


def note_foreign_slot(source: str, error: Exception) -> str:
    """Return the note about a `memglot` key that is not a carry slot."""
    return f"`memglot` in {source} is not a valid carry slot and was kept as it is: {error}"
