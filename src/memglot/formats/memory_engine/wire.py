"""Memory Engine's memory as an object with five keys, the same in JSON, NDJSON, YAML and Markdown."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from memglot.display import plural, quoted
from memglot.formats.base import ReadOptions, WriteOptions
from memglot.formats.core.carry import KEY, Bundle, is_plain, pack, take_slot
from memglot.formats.core.original_text import original_content, repair_content, without_original
from memglot.formats.core.proof import proved
from memglot.formats.core.target import Target
from memglot.formats.memory_engine.dialects import (
    LATER,
    TOOL,
    AcceptsName,
    Names,
    has_other_labels,
    is_name,
    is_path,
    kept_path,
    path_of,
    path_to_keep,
    tree_of,
)
from memglot.formats.syntax.json_duplicates import END_OF_KEY, note_duplicate_keys
from memglot.formats.syntax.json_shape import type_name
from memglot.formats.syntax.json_stream import check_structure, decode_value
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

FIELDS = frozenset({"id", "content", "meta", "tree", "temporal"})
_OTHER_TOOLS = frozenset(
    "createdAt strength retrievalCount lastAccessed emotions traces mapping content_hash hash export_metadata".split()
)
"""Keys by which the files of other tools are recognized."""


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
        temporal = _temporal(wire.temporal, report, id)
    if not wire.content:
        raise empty_content()
    tree, path = _tree(wire.tree, report, False) if wire.tree else ("", "")
    record = Record(
        id=id,
        content=wire.content,
        tree=tree,
        meta=wire.meta,
        temporal=temporal,
        created_at=at,
        updated_at=at,
        extra={TOOL: {"tree": path}} if path else {},
    )
    if "\0" in wire.content:
        repair_content(record, TOOL)
    return record


def read_value(raw: bytes, value: Wire | None, report: SourceReport, options: ReadOptions) -> Iterable[Item]:
    """Return the record of a JSON text, then its attached items. Raise `BadRecord`.

    `value` is the decoded text, or `None` if it is not a simple memory.
    """
    if value is not None and not options.lenient:
        check_structure(raw)
        record = _quick_record(value, report)
        if record is not None:
            if raw.count(END_OF_KEY) != _fewest_keys(value):
                note_duplicate_keys(raw, msgspec.to_builtins(value), report)
            return (record,)
    data = decode_value(raw, report, "content")
    if isinstance(data, dict):
        note_duplicate_keys(raw, data, report)
    return items_of_object(data, report, options)


def _fewest_keys(wire: Wire) -> int:
    """Return the number of keys of a simple memory, without those of objects in its metadata, which are rare."""
    count = 1 + (wire.id is not msgspec.UNSET) + (wire.tree != "")
    if wire.meta:
        count += 1 + len(wire.meta)
    if wire.temporal is not msgspec.UNSET:
        count += 1 + len(wire.temporal) if type(wire.temporal) is dict else 1
    return count


def items_of_object(data: Any, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the record of a decoded object, then its attached items. Raise `BadRecord`."""
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
    if "temporal" in data:
        record.temporal = _temporal(data["temporal"], report, record.id)
    if "meta" in data:
        record.meta = _meta(data["meta"])
    unknown = {key: value for key, value in data.items() if key not in FIELDS}
    if unknown:
        check_value(unknown, "a further key")
        record.extra[TOOL] = unknown
    path = ""
    if "tree" in data:
        record.tree, path = _tree(_text(data, "tree", "text"), report, options.lenient)
    set_times_from_id(record)
    attached = take_slot(record.meta, record, report) if KEY in record.meta else None
    if path:
        # The slot may have the path from before the memory was moved.
        own = record.extra.get(TOOL)
        record.extra[TOOL] = {**(own if isinstance(own, dict) else {}), "tree": path}
    yield record
    yield from attached or ()


def to_objects(
    items: Iterable[Item], target: Target, report: Report, options: WriteOptions, *, json: bool
) -> Iterator[dict[str, Any]]:
    """Yield each memory as an object; the last one has the proof."""
    # The first object of a file shows which tool wrote it.
    reserved = FIELDS | _OTHER_TOOLS
    with Names() as names:
        for bundle, end in proved(items, target, report):
            yield to_object(bundle, report, options, end, names.add, json=json, reserved=reserved)
            reserved = FIELDS


def to_object(
    bundle: Bundle,
    report: Report,
    options: WriteOptions,
    end: Proof | None,
    accepts_name: AcceptsName = is_name,
    *,
    json: bool,
    reserved: frozenset[str] = FIELDS,
    surrogates: bool = True,
) -> dict[str, Any]:
    """Return the memory as an object with Memory Engine's keys in its order, the rest in `meta.memglot`.

    Unknown keys that were read are added, except `reserved` ones, which are in the carry slot. Version 0.8 keeps no
    unknown key, so in its dialect all of them are in the carry slot. `surrogates` says whether the format can express
    lone surrogates.
    """
    record, attached, _ = bundle
    original = original_content(record, TOOL, surrogates=surrogates)
    if original is not record.content:
        extra = without_original(record.extra, TOOL)
        bundle = msgspec.structs.replace(record, extra=extra), attached, bundle[2]
        again = to_object(bundle, report, options, end, accepts_name, json=json, reserved=reserved)
        return {**again, "content": original}
    later = options.dialect == LATER
    data: dict[str, Any] = {"tree": path_of(record.tree) if later else record.tree}
    if end is None and not attached and KEY not in record.meta and is_plain(record):
        return _wire(record, record.meta, data, json)
    own = record.extra.get(TOOL)
    if isinstance(own, dict):
        found = (
            _later_keys(record, own, report, accepts_name) if later else _unknown_keys(record, own, report, reserved)
        )
        kept = {key: value for key, value in own.items() if key not in found}
        extra = {tool: value for tool, value in record.extra.items() if tool != TOOL}
        if kept or not found:
            extra[TOOL] = kept
        data.update(found)
        bundle = (msgspec.structs.replace(record, extra=extra), attached, bundle[2])
    return _wire(record, _meta_with_slot(bundle, report, options, end), data, json)


def _unknown_keys(record: Record, own: dict[str, Any], report: Report, reserved: frozenset[str]) -> dict[str, Any]:
    """Return the keys of other versions that are written as they were read."""
    if has_other_labels(kept_path(record)):
        report.count_note(
            "trees written",
            lambda count: (
                f"wrote {plural(count, 'tree path')} with the labels that Memory Engine documents; "
                f"use `--dialect {LATER}` to write the paths that version {LATER} has"
            ),
        )
        # Two paths may have the same labels now, and version 0.8 refuses a file with one name twice in a tree.
        reserved |= {"name"}
    return {key: value for key, value in own.items() if key not in reserved}


def _later_keys(record: Record, own: dict[str, Any], report: Report, accepts_name: AcceptsName) -> dict[str, Any]:
    """Return the keys that version 0.8 accepts: the path that a memory has there, and its name."""
    found = {"tree": path} if (path := kept_path(record)) else {}
    name = own.get("name")
    if isinstance(name, str):
        if accepts_name(path or path_of(record.tree), name):
            found["name"] = name
        else:
            report.count_note(
                "names",
                lambda count: (
                    f"kept {plural(count, 'name')} in the carry slot only: Memory Engine refuses names that are not "
                    "valid file names, or occur twice in a tree"
                ),
            )
    return found


def _meta_with_slot(bundle: Bundle, report: Report, options: WriteOptions, end: Proof | None) -> dict[str, Any]:
    meta = bundle[0].meta
    slot = pack(bundle, FIELDS, report, options.plain)
    if end is not None and not options.plain:
        slot["end"] = msgspec.to_builtins(end)
    if KEY in meta and not options.plain:
        slot["meta"] = {KEY: meta[KEY]}
    return {**meta, KEY: slot} if slot else meta


def _wire(record: Record, meta: dict[str, Any], more: dict[str, Any], json: bool) -> dict[str, Any]:
    """Return an object in Memory Engine's order; `more` has the tree and the keys after it."""
    data: dict[str, Any] = {"id": record.id, "content": record.content}
    if not record.id:
        del data["id"]
    if meta:
        data["meta"] = meta
    if more["tree"]:
        data["tree"] = more["tree"]
    if "name" in more:
        data["name"] = more["name"]
    if record.temporal is not None:
        data["temporal"] = _temporal_out(record.temporal, json=json)
    return data | {key: value for key, value in more.items() if key not in data and key != "tree"}


def _temporal_out(temporal: Temporal, *, json: bool) -> Any:
    start = format_time(temporal.start)
    if temporal.end is None:
        return {"start": start} if json else start
    end = format_time(temporal.end)
    return {"start": start, "end": end} if json else [start, end]


def _temporal(value: Any, report: SourceReport, id: str) -> Temporal:
    if isinstance(value, dict):
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


def _tree(text: str, report: SourceReport, lenient: bool) -> tuple[str, str]:
    """Return a tree of the model, and the path to keep with it, if any."""
    if not lenient and not is_path(text):
        return check_tree(text), ""
    tree = tree_of(text)
    path = path_to_keep(text, tree)
    if path and has_other_labels(path):
        report.results.count_note(
            "trees read",
            lambda count: (
                f"changed {plural(count, 'tree path')}, such as {quoted(text)} to {quoted(tree)}: "
                f"export with `--dialect {LATER}` to restore the original paths"
            ),
        )
    return tree, path


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
