"""The objects of a JSON file in any layout: an array, a single object, or one object per line."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from memglot.errors import BadRecord
from memglot.formats.core.source import Source
from memglot.formats.syntax.json_duplicates import note_duplicate_keys
from memglot.formats.syntax.json_shape import type_name
from memglot.formats.syntax.json_split import JsonSplitter, TooLarge, has_too_many_values, is_deeper, is_json
from memglot.formats.syntax.json_surrogates import decode_with_surrogates, replace_lone_surrogates
from memglot.model.record_errors import bad_bytes, bad_syntax, not_an_object, too_deep, too_large, too_many_values
from memglot.report import SourceReport
from memglot.settings import MAX_DEPTH, MAX_VALUES

Decode = Callable[[bytes], Any]
_PIECE = 1 << 20
_TRUNCATED = "Input data was truncated"


def objects(source: Source, report: SourceReport, decode: Decode) -> Iterator[tuple[bytes, Any]]:
    """Yield the text of each value with its decoded value, or with `None` if `decode` failed."""
    start = source.head.lstrip(b" \t\r\n")
    if not start:
        yield from _after_space(source, report, decode)
    elif start[:1] == b"[" and not _list_and_more(start):
        yield from _array(source, report, decode)
    elif start[:1] == b"{" and not _one_a_line(start):
        yield from _sequence(source, report)
    else:
        yield from _lines(source, report, decode)


def _after_space(source: Source, report: SourceReport, decode: Decode) -> Iterator[tuple[bytes, Any]]:
    """Yield the values after white space that is longer than the head."""
    values = JsonSplitter(source.stream, source.start, source.max_record)
    report.find_line = lambda: values.line
    if values.peek() == b"[":
        values.skip()
        yield from elements(values, report, decode)
    else:
        yield from _values(values, report)


def _list_and_more(start: bytes) -> bool:
    """Return True for lines of which the first happens to be a list."""
    first, _, rest = start.partition(b"\n")
    return rest.lstrip()[:1] == b"{" and is_json(first)


def _one_a_line(start: bytes) -> bool:
    """Return True for NDJSON, False for objects over several lines."""
    first, newline, rest = start.partition(b"\n")
    if is_json(first) or not newline or is_json(rest.lstrip().partition(b"\n")[0]):
        return True
    try:
        msgspec.json.decode(first)
    except RecursionError:
        return True
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return str(error) != _TRUNCATED
    return True


def _lines(source: Source, report: SourceReport, decode: Decode) -> Iterator[tuple[bytes, Any]]:
    begin = report.results.begin_lines
    offset, before, item = msgspec.structs.astuple(begin(report, source)) if begin else (source.start, 0, 0)
    digest = report.lines
    read_line = partial(source.stream.readline, source.max_record + len(b"\r\n"))
    for number, line in enumerate(iter(read_line, b""), before + 1):
        if digest is not None:
            digest.add(line)
        if len(line) > source.max_record and len(line.rstrip(b"\r\n")) > source.max_record:
            item += 1
            report.line, report.item = number, item
            report.failed_record(too_large(source.max_record))
            while line and not line.endswith(b"\n"):
                offset += len(line)
                line = source.stream.readline(_PIECE)
            offset += len(line)
            continue
        try:
            value = None if has_too_many_values(line) else decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            value = None
            if not line.strip():
                offset += len(line)
                continue
        item += 1
        report.line = number
        report.item = item
        report.offset = offset
        offset += len(line)
        if digest is not None:
            digest.place(offset, number, item)
        yield line, value


def _array(source: Source, report: SourceReport, decode: Decode) -> Iterator[tuple[bytes, Any]]:
    values = JsonSplitter(source.stream, source.start, source.max_record)
    report.find_line = lambda: values.line
    values.peek()
    values.skip()
    yield from elements(values, report, decode)
    if values.peek():
        report.fault(bad_syntax("JSON", "there is text after the list"), line=values.line)


def elements(
    values: JsonSplitter, report: SourceReport, decode: Decode, *, memories: bool = True
) -> Iterator[tuple[bytes, Any]]:
    """Yield the values of a list that was just opened; report errors.

    `memories` says whether they are memories, so that a truncated one counts as one.
    """
    item = 0
    separated, last = True, b""
    while (byte := values.peek()) != b"]":
        report.item, report.offset = item + 1, values.offset
        if not byte:
            report.fault(bad_syntax("JSON", "the file ends inside the list"), line=values.line)
            return
        if byte == b",":
            line, count = values.line, values.skip_commas()
            if (separated or count > 1) and last != b",":
                report.fault(bad_syntax("JSON", "unexpected comma instead of a memory"), line=line)
            separated, last = True, b"," if separated or count > 1 else b""
            continue
        if not separated:
            report.fault(bad_syntax("JSON", "missing comma between two memories"), line=values.line)
        item += 1
        last = byte
        try:
            found = _element(values, decode, byte)
        except TooLarge:
            separated = not _skip_large(values, report)
            continue
        if found is None:
            if memories:
                report.failed_record(bad_syntax("JSON", "the file ends inside this memory"))
            else:
                report.fault(bad_syntax("JSON", "the file ends inside this list"), line=values.line)
            separated = values.skip_to_next_object()
            continue
        yield found
        values.position += len(found[0])
        separated = False
    if separated and item:
        report.fault(bad_syntax("JSON", "trailing comma at the end of the list"), line=values.line)
    values.skip()


def _element(values: JsonSplitter, decode: Decode, byte: bytes) -> tuple[bytes, Any] | None:
    """Return the text and the decoded value at the current position; `None` if it has no end. Raise `TooLarge`."""
    if byte == b"{" and (found := values.try_object(decode)) is not None:
        raw, value = found
    elif (whole := values.read_value()) is not None:
        raw, value = whole, None
    else:
        return None
    if len(raw) > values.max_size:
        raise TooLarge
    return raw if value is not None or is_json(raw) else values.cut_at_next_object(raw), value


def _skip_large(values: JsonSplitter, report: SourceReport) -> bool:
    """Report the value at the current position as too large, and skip it; return False if the file ends inside it."""
    report.failed_record(too_large(values.max_size))
    if values.skip_value():
        return True
    report.fault(bad_syntax("JSON", "the file ends inside this memory"), line=values.line)
    return False


def _sequence(source: Source, report: SourceReport) -> Iterator[tuple[bytes, Any]]:
    yield from _values(JsonSplitter(source.stream, source.start, source.max_record), report)


def _values(values: JsonSplitter, report: SourceReport) -> Iterator[tuple[bytes, Any]]:
    item = 0
    while values.peek():
        item += 1
        report.item, report.line, report.offset = item, values.line, values.offset
        try:
            raw = values.read_value()
        except TooLarge:
            _skip_large(values, report)
            continue
        if raw is None:
            report.failed_record(bad_syntax("JSON", "this memory is not closed"))
            values.skip_to_next_object()
            continue
        raw = raw if is_json(raw) else values.cut_at_next_object(raw)
        yield raw, None
        values.position += len(raw)


def check_structure(raw: bytes) -> None:
    """Raise `BadRecord` for a value that is nested too deeply or has too many values; counting clears nearly all."""
    if len(raw) <= MAX_DEPTH:
        return
    if has_too_many_values(raw):
        raise too_many_values(MAX_VALUES)
    if is_deeper(raw, MAX_DEPTH):
        raise too_deep("the memory")


def decode_object(raw: bytes, value: Any, report: SourceReport, unchecked: str = "") -> dict[str, Any]:
    """Decode an object that was split off a file; raise `BadRecord` for anything else.

    The value of the key `unchecked`, a text or a list of texts, may contain lone surrogates.
    """
    check_structure(raw)
    data = decode_value(raw, report, unchecked) if value is None else value
    if not isinstance(data, dict):
        raise not_an_object(type_name(data))
    note_duplicate_keys(raw, data, report)
    return data


def decode_value(raw: bytes, report: SourceReport, unchecked: str = "") -> Any:
    """Decode a value that the fast path rejected, like `decode_object`; raise `BadRecord` with the reason."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise bad_bytes(report.offset + error.start) from None
    if b"\0" in raw:
        raise bad_bytes(report.offset + raw.index(b"\0"), "NUL")
    check_structure(raw)
    try:
        if (replaced := replace_lone_surrogates(raw)) is not raw:
            return decode_with_surrogates(raw, replaced, report.offset, unchecked)
        return msgspec.json.decode(raw)
    except RecursionError:
        raise too_deep("the memory") from None
    except msgspec.DecodeError as error:
        raise _explain(raw, str(error)) from None


def _explain(raw: bytes, reason: str) -> BadRecord:
    if "trailing characters" in reason and raw.lstrip()[:1] == b"{":
        return bad_syntax("JSON", "more than one value on a line")
    if reason == _TRUNCATED:
        return bad_syntax("JSON", "unexpected end of the value")
    return bad_syntax("JSON", reason.removeprefix("JSON is malformed: "))
