"""Memory Engine's memory as an object with five keys, the same in JSON, NDJSON, YAML and Markdown."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from memglot.errors import BadRecord
from memglot.formats.base import ReadOptions, WriteOptions
from memglot.formats.core.carry import KEY, Bundle, is_plain, pack, take_slot
from memglot.formats.core.original_text import original_content, repair_content, without_original
from memglot.formats.memory_engine.dialects import lenient_tree
from memglot.formats.syntax.json_shape import type_name
from memglot.formats.syntax.json_stream import check_depth, decode_value
from memglot.model import (
    LATEST,
    Item,
    Record,
    Temporal,
    check_content,
    check_id,
    check_temporal,
    check_tree,
    check_value,
    finer_than_microseconds,
    format_time,
    id_time,
    parse_time,
    set_times_from_id,
)
from memglot.model.record_errors import (
    bad_temporal,
    bad_time,
    empty_content,
    missing_content,
    not_an_object,
    wrong_type,
)
from memglot.report import Proof, Report, SourceReport

TOOL = "memory-engine"
FIELDS = frozenset({"id", "content", "meta", "tree", "temporal"})


class Wire(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A memory whose keys are all known and have the right types, like almost every line of a file."""

    content: str
    id: str | msgspec.UnsetType = msgspec.UNSET
    meta: dict[str, Any] = {}
    tree: str = ""
    temporal: Any = msgspec.UNSET


def _quick_record(wire: Wire, report: SourceReport) -> Record | None:
    """Return the record of a simple memory; `None` if only `items_of_object` can read it."""
    if KEY in wire.meta:
        return None
    id, at = "", 0
    if wire.id is not msgspec.UNSET:
        id = check_id(wire.id)
        at = id_time(id) * 1000
        if at > LATEST:
            return None
    temporal = None
    if wire.temporal is not msgspec.UNSET:
        temporal = _temporal(wire.temporal, report, True, id)
    if not wire.content:
        raise empty_content()
    record = Record(
        id=id,
        content=wire.content,
        tree=check_tree(wire.tree) if wire.tree else "",
        meta=wire.meta,
        temporal=temporal,
        created_at=at,
        updated_at=at,
    )
    if "\0" in wire.content:
        repair_content(record, TOOL)
    return record


def read_value(raw: bytes, value: Wire | None, report: SourceReport, options: ReadOptions) -> Iterable[Item]:
    """Return the record of a JSON text, then its attached items. Raise `BadRecord`.

    `value` is the decoded text, or `None` if it is not a simple memory.
    """
    if value is not None and not options.lenient:
        check_depth(raw)
        record = _quick_record(value, report)
        if record is not None:
            return (record,)
    return items_of_object(decode_value(raw, report, "content"), report, options, json=True)


def items_of_object(data: Any, report: SourceReport, options: ReadOptions, *, json: bool) -> Iterator[Item]:
    """Yield the record of a decoded object, then its attached items. Raise `BadRecord`.

    `json` allows `temporal` to be an object.
    """
    if not isinstance(data, dict):
        raise not_an_object(type_name(data))
    if "content" not in data:
        raise missing_content()
    if not isinstance(data["content"], str):
        raise wrong_type("content", "text", type_name(data["content"]))
    record = Record(content=data["content"])
    repair_content(record, TOOL)
    check_content(record.content)
    if "id" in data:
        record.id = check_id(_text(data, "id", "a UUIDv7"))
    if "tree" in data:
        _set_tree(record, _text(data, "tree", "text"), options.lenient)
    if "temporal" in data:
        record.temporal = _temporal(data["temporal"], report, json or options.lenient, record.id)
    if "meta" in data:
        record.meta = _meta(data["meta"])
    unknown = {key: value for key, value in data.items() if key not in FIELDS}
    if unknown:
        check_value(unknown, "a further key")
        record.extra.setdefault(TOOL, {}).update(unknown)
    set_times_from_id(record)
    attached = take_slot(record.meta, record, report) if KEY in record.meta else None
    yield record
    yield from attached or ()


def to_object(
    bundle: Bundle,
    report: Report,
    options: WriteOptions,
    end: Proof | None,
    *,
    json: bool,
    reserved: frozenset[str] = FIELDS,
    surrogates: bool = True,
) -> dict[str, Any]:
    """Return the memory as an object with Memory Engine's keys in its order, the rest in `meta.memglot`.

    Unknown keys that were read are added, except `reserved` ones, which are in the carry slot. `surrogates` says
    whether the format can express lone surrogates.
    """
    record, attached, _ = bundle
    meta = record.meta
    original = original_content(record, TOOL, surrogates=surrogates)
    if original is not record.content:
        extra = without_original(record.extra, TOOL)
        bundle = msgspec.structs.replace(record, extra=extra), attached, bundle[2]
        found = to_object(bundle, report, options, end, json=json, reserved=reserved)
        return {**found, "content": original}
    if end is None and not attached and KEY not in meta and is_plain(record):
        return _plain_wire(record, meta, json)
    extra = record.extra
    foreign: dict[str, Any] = {}
    if isinstance(extra.get(TOOL), dict):
        foreign = {key: value for key, value in extra[TOOL].items() if key not in reserved}
        kept = {key: value for key, value in extra[TOOL].items() if key in reserved}
        extra = {tool: value for tool, value in extra.items() if tool != TOOL} | (
            {TOOL: kept} if kept or not foreign else {}
        )
        bundle = (msgspec.structs.replace(record, extra=extra), attached, bundle[2])
    slot = pack(bundle, FIELDS, report, options.plain)
    if end is not None and not options.plain:
        slot["end"] = msgspec.to_builtins(end)
    if KEY in meta and not options.plain:
        slot["meta"] = {KEY: meta[KEY]}
    if slot:
        meta = {**meta, KEY: slot}
    return {**_plain_wire(record, meta, json), **foreign}


def _plain_wire(record: Record, meta: dict[str, Any], json: bool) -> dict[str, Any]:
    data: dict[str, Any] = {"id": record.id, "content": record.content}
    if not record.id:
        del data["id"]
    if meta:
        data["meta"] = meta
    if record.tree:
        data["tree"] = record.tree
    if record.temporal is not None:
        data["temporal"] = _temporal_out(record.temporal, json=json)
    return data


def _temporal_out(temporal: Temporal, *, json: bool) -> Any:
    start = format_time(temporal.start)
    if temporal.end is None:
        return {"start": start} if json else start
    end = format_time(temporal.end)
    return {"start": start, "end": end} if json else [start, end]


def _temporal(value: Any, report: SourceReport, object_allowed: bool, id: str) -> Temporal:
    if isinstance(value, dict):
        if not object_allowed:
            raise BadRecord(
                "`temporal` as an object is accepted in JSON only",
                "write a time or a list of two, or import with `--lenient`, which accepts it",
            )
        value = _from_object(value)
    elif isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise bad_temporal(type_name(value))
    if not 1 <= len(value) <= 2 or not all(isinstance(part, str) for part in value):
        raise bad_temporal("a list of anything else")
    if any(finer_than_microseconds(part) for part in value):
        report.dropped("temporal (digits beyond a microsecond)", id or f"{report.source}:{report.line}")
    start, *end = map(parse_time, value)
    return check_temporal(start, end[0] if end else None)


def _from_object(value: dict[str, Any]) -> list[str]:
    for key in ("start", "end"):
        if key in value and not isinstance(value[key], str):
            raise wrong_type(f"temporal.{key}", "a time", type_name(value[key]))
    if "start" not in value:
        raise wrong_type("temporal.start", "a time", "missing")
    if not value["start"]:
        raise bad_time("")
    return [value["start"]] + ([value["end"]] if "end" in value else [])


def _set_tree(record: Record, text: str, lenient: bool) -> None:
    record.tree = lenient_tree(text) if lenient else check_tree(text)
    if "-" in text or "~" in text:
        # The labels of the model do not allow it, so the original is kept.
        record.extra[TOOL] = {"tree": text}


def _meta(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise wrong_type("meta", "an object", type_name(value))
    check_value(value, "meta")
    return value


def _text(data: dict[str, Any], field: str, wanted: str) -> str:
    value = data[field]
    if not isinstance(value, str):
        raise wrong_type(field, wanted, type_name(value))
    return value
