"""Read a JSON object with long lists as values, one element at a time."""

from collections.abc import Iterator
from typing import Any

import msgspec

from memglot.errors import BadRecord
from memglot.formats.core.source import Source
from memglot.formats.syntax.json_split import JsonSplitter, TooLarge, is_json
from memglot.formats.syntax.json_stream import Decode, check_structure, elements
from memglot.model.record_errors import bad_syntax
from memglot.report import SourceReport
from memglot.settings import MAX_SECTION_BYTES

_MAX_KEYS = 10_000


def sections(
    source: Source, report: SourceReport, decode: Decode, *, memories: str = "memories"
) -> Iterator[tuple[str, bytes, Any]]:
    """Yield the elements of all lists in an object, each with its list's key; other values are yielded as they are.

    `memories` is the key of the list of memories. If the object is broken between two values, that is reported, and
    reading stops.
    """
    values = JsonSplitter(source.stream, source.start, source.max_record)
    report.find_line = lambda: values.line
    values.peek()
    values.skip()
    keys = 0
    while (byte := values.peek()) != b"}":
        if byte == b",":
            values.skip()
            continue
        key = _key(values) if byte == b'"' else None
        if key is None:
            reason = "the file ends inside the object" if not byte else "a key was expected here"
            report.fault(bad_syntax("JSON", reason), line=values.line)
            return
        keys += 1
        if keys > _MAX_KEYS:
            report.fault(_too_many_keys(), line=values.line)
            return
        if values.peek() == b"[":
            values.skip()
            for raw, value in elements(values, report, decode, memories=key == memories):
                yield key, raw, value
        else:
            report.item = None
            found = _single(values, key, report)
            if found is None:
                return
            if found[1]:
                yield key, found[0], found[1][0]
    values.skip()
    if values.peek():
        report.fault(bad_syntax("JSON", "there is text after the object"), line=values.line)


def _single(values: JsonSplitter, key: str, report: SourceReport) -> tuple[bytes, list[Any]] | None:
    """Read a value that is not a list, decoded in a list; report one that is left out. `None` if it is broken."""
    line = values.line
    try:
        raw = values.read_value()
    except TooLarge:
        report.fault(_large_value(key), line=line)
        if values.skip_value():
            return b"", []
        raw = None
    if raw is None or not is_json(raw):
        report.fault(bad_syntax("JSON", f"`{key[:40]}` has no valid value"), line=line)
        return None
    values.position += len(raw)
    if len(raw) > MAX_SECTION_BYTES:
        report.fault(_large_value(key), line=line)
        return raw, []
    try:
        check_structure(raw)
        return raw, [msgspec.json.decode(raw)]
    except (msgspec.MsgspecError, UnicodeDecodeError, BadRecord) as error:
        report.fault(bad_syntax("JSON", f"`{key[:40]}` cannot be read: {error}"), line=line)
        return raw, []


def _large_value(key: str) -> BadRecord:
    return BadRecord(
        f"`{key[:40]}` is a single value of more than {MAX_SECTION_BYTES >> 20} MiB and was left out",
        "only lists may be larger",
    )


def _too_many_keys() -> BadRecord:
    return BadRecord(
        f"the object has more than {_MAX_KEYS:,} keys; the rest was not read",
        "check that this is the right file: memories belong in its list `memories`",
    )


def _key(values: JsonSplitter) -> str | None:
    raw = values.read_value()
    if raw is None or not is_json(raw):
        return None
    values.position += len(raw)
    if values.peek() != b":":
        return None
    values.skip()
    values.peek()
    try:
        return str(msgspec.json.decode(raw))
    except UnicodeDecodeError:
        return None
