"""AgentOS's JSON with one trace per line; other fields are carried in `metadata.memglot`.

The AgentOS program writes and reads one object with all its tables, whose JSON columns are text. Both are read;
`--dialect program` writes that object, with graph, documents and conversations.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from memglot.errors import BadRecord
from memglot.formats.agentos.program_json import read_program, write_program
from memglot.formats.base import Format, MergeSupport, ReadOptions, WriteOptions, WriteSupport
from memglot.formats.core.proof import proved
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.formats.core.trace import (
    BOOKKEEPING,
    NATIVE_FIELDS,
    NOTE_LINES,
    PAGE,
    TOOL,
    TOOL_DEFAULTS,
    Trace,
    read_trace,
    trace_from_record,
)
from memglot.formats.core.trace_fields import parse_trace
from memglot.formats.core.vectors import numbers_of
from memglot.formats.syntax.json_shape import first_keys
from memglot.formats.syntax.json_stream import decode_object, objects
from memglot.formats.syntax.json_surrogates import encode_lines
from memglot.model import Item
from memglot.report import Report, SourceReport

KNOWN = {
    **{name: name for name in ("id", "type", "scope", "content", "strength", "tags", "emotions", "metadata")},
    **{name: name for name in ("created_at", "last_accessed", "retrieval_count", "deleted", "embedding")},
    "createdAt": "created_at",
    "lastAccessed": "last_accessed",
    "retrievalCount": "retrieval_count",
    "brain_id": "",
}
_TRACE_KEYS = frozenset({"createdAt", "strength", "retrievalCount", "lastAccessed", "emotions"})
_TRACE_ID = re.compile(rb'\s*(?:\[\s*)?\{\s*"id"\s*:\s*"mt_')
_AT_ONCE = 100


def recognise(head: bytes) -> bool:
    """Return True if the keys of the first object are AgentOS's."""
    keys = first_keys(head)
    if keys.get("traces") == b"[":
        return True
    return "content" in keys and (not _TRACE_KEYS.isdisjoint(keys) or _TRACE_ID.match(head) is not None)


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the traces of lines, of an array or of the program's object."""
    space = options.space or (source.inner_path.stem if source.inner_path else "")
    keys = first_keys(source.head)
    if "content" not in keys and keys.get("traces") == b"[":
        yield from read_program(source, report, KNOWN, options.space)
        return
    for raw, value in objects(source, report, msgspec.json.decode):
        try:
            data = decode_object(raw, value, report, "content")
            place = options.space or str(data.get("brain_id") or space)
            yield from read_trace(parse_trace(data, KNOWN), place, PAGE, report)
        except BadRecord as error:
            report.failed_record(error)


def write(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write one trace per line, or one object in the program's dialect."""
    space = options.space or (target.inner_path.stem if target.inner_path else "")
    if options.dialect == "program":
        write_program(items, target, report, options, KNOWN)
        return
    with target.file() as out:
        lines: list[dict[str, Any]] = []
        is_empty = True
        for bundle, end in proved(items, target, report):
            trace = trace_from_record(bundle, space, PAGE, report, plain=options.plain, end=end, known=KNOWN)
            lines.append(_line(trace))
            if len(lines) >= _AT_ONCE:
                out.write(encode_lines(lines))
                lines.clear()
            is_empty = False
        # An empty file would not be valid JSON.
        out.write(b"[]\n" if is_empty else encode_lines(lines))
    if report.proof is not None and report.proof.count:
        report.note(NOTE_LINES)


def _line(trace: Trace) -> dict[str, Any]:
    line: dict[str, Any] = {
        "id": trace.id,
        "type": trace.type,
        "scope": trace.scope,
        "content": trace.content,
        "strength": trace.strength,
        "tags": trace.tags,
        "emotions": trace.emotions,
        "metadata": trace.metadata,
        "createdAt": _milliseconds(trace.created_at),
        "lastAccessed": _milliseconds(trace.last_accessed),
        "retrievalCount": trace.retrieval_count,
        **trace.more,
    }
    if trace.embedding is not None:
        line["embedding"] = _numbers(trace.embedding)
    return line


def _milliseconds(at: int | None) -> int | None:
    return None if at is None else at // 1000


def _numbers(vector: bytes) -> list[float] | str:
    """Return a vector as numbers, or as base64 if JSON cannot represent one of them."""
    values = numbers_of(vector)
    return b64encode(vector).decode() if values is None else values


FORMAT = Format(
    name="agentos-json",
    title="AgentOS JSON, one trace a line",
    tool=TOOL,
    family="json",
    extensions=(".json", ".ndjson", ".jsonl"),
    fields=NATIVE_FIELDS,
    carry="metadata.memglot",
    read=read,
    write=write,
    dedup="content",
    conflict="merge",
    empty_is_error=False,
    recognise=recognise,
    dialects=("program",),
    writing=WriteSupport(needs_ids=True),
    merging=MergeSupport(defaults=TOOL_DEFAULTS, bookkeeping=BOOKKEEPING),
)
