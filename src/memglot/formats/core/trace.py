"""The trace, AgentOS's form of a memory, in all of its file formats, and the conversion to and from records."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import Any, NamedTuple

import msgspec

from memglot.formats.base import MergeRule
from memglot.formats.core.carry import KEY, Bundle, differences, pack_found, take_slot
from memglot.formats.core.original_text import original_content, repair_content
from memglot.model import (
    DELETED,
    Embedding,
    Entity,
    Foreign,
    Item,
    Record,
    Relation,
    Thing,
    content_hash,
    derive_id,
    is_id,
)
from memglot.model.record_errors import empty_content
from memglot.report import Proof, Report, SourceReport

TOOL = "agentos"
NATIVE_FIELDS = frozenset(
    "id content kind scope tags meta status strength created_at last_accessed access_count extra foreign".split()
)
DEFAULT_TYPE, DEFAULT_SCOPE = "episodic", "user"
_HASHES = ("contentHash", "content_hash", "import_hash")
_OWN = frozenset({"entities", "decay"})
BOOKKEEPING = dict.fromkeys(("strength", "extra.agentos.decay", "extra.agentos.hashes"), MergeRule.LATEST)
"""Values that AgentOS changes by itself, for example with each recall."""


def mark_program_note(record: Record, front: dict[str, Any]) -> None:
    """Mark a note that AgentOS itself wrote: without metadata, title and the id of a scope; its times are numbers."""
    if isinstance(front.get("createdAt"), int) and not record.is_carried:
        record.unsaid = frozenset({"meta", "title", "extra", "scope"})


def note_bookkeeping(tool: str) -> dict[str, MergeRule]:
    """Return the values that a format of notes keeps for itself, also where its notes are."""
    return {**BOOKKEEPING, f"extra.{tool}.path": MergeRule.LATEST, f"extra.{tool}.places": MergeRule.UNION}


TOOL_DEFAULTS = {"strength": 1.0}
"""Values that AgentOS gives to a memory that has none."""
_RESERVED = frozenset({*_HASHES, *_OWN, "scopeId", KEY})
_UNIQUE = re.compile(r"mt_.*|.*[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}.*|[0-9a-f]{32,}", re.DOTALL)


NOTE_TIMES = (
    "AgentOS's program ignores the times in this export and uses the time of import; use `--dialect program` for it"
)
NOTE_LINES = "AgentOS's program reads JSON of another shape; use `--dialect program` for it"


class TraceDialect(NamedTuple):
    """How a format writes traces: hash keys that are always in `metadata`, hash keys that are there by default, the
    strength of a trace without one, whether the format has vectors, and whether its text may have lone surrogates.
    """

    required_hashes: tuple[str, ...] = ()
    default_hashes: tuple[str, ...] = _HASHES
    default_strength: float | None = None
    has_vectors: bool = True
    has_escapes: bool = True


PAGE = TraceDialect(required_hashes=("contentHash",))
PROGRAM = TraceDialect(default_strength=1.0)
NOTES = TraceDialect(default_hashes=(), has_vectors=False, has_escapes=False)


class Trace(msgspec.Struct, kw_only=True):
    """One trace. Times are in microseconds; `more` has the keys that AgentOS does not know.

    Tags may be empty or repeated. `inexact` names the times that have more digits than microseconds.
    """

    id: str = ""
    type: str = DEFAULT_TYPE
    scope: str = DEFAULT_SCOPE
    content: str
    strength: float | None = None
    tags: list[str] = []
    emotions: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    created_at: int | None = None
    last_accessed: int | None = None
    retrieval_count: int = 0
    deleted: bool = False
    embedding: bytes | None = None
    more: dict[str, Any] = {}
    inexact: list[str] = []


def identify(foreign_id: str, space: str) -> tuple[str, list[Foreign]]:
    """Return the id of a memory with this id in AgentOS, and its foreign id.

    An id of ours is kept. `mt_` ids and UUIDs are globally unique; others belong to their brain or vault.
    """
    if not foreign_id or is_id(foreign_id):
        return foreign_id, []
    place = Foreign(TOOL, foreign_id, "" if _UNIQUE.fullmatch(foreign_id) else space)
    return derive_id(TOOL, place.space, foreign_id), [place]


def is_unique(foreign_id: str) -> bool:
    """Return True if an id means the same memory in every brain."""
    return not foreign_id or _UNIQUE.fullmatch(foreign_id) is not None or is_id(foreign_id)


def read_trace(trace: Trace, space: str, dialect: TraceDialect, report: SourceReport) -> Iterator[Item]:
    """Yield the memory of a trace and its attached items; raise `BadRecord`."""
    if not trace.content:
        raise empty_content()
    yield from items_of_trace(record_from_trace(trace, space, dialect), trace, report)


def items_of_trace(record: Record, trace: Trace, report: SourceReport) -> Iterator[Item]:
    """Yield a memory with its carry slot applied, and its attached items."""
    attached = (take_slot(record.meta, record, report) if KEY in record.meta else None) or []
    for field in trace.inexact:
        report.dropped(f"{field} (digits beyond a microsecond)", record.id or trace.id)
    yield record
    if trace.embedding:
        yield Embedding(record=record.id, vector=trace.embedding, dimensions=len(trace.embedding) // 4)
    yield from attached


def record_from_trace(trace: Trace, space: str, dialect: TraceDialect) -> Record:
    """Return the memory from the trace's own fields."""
    id, foreign = identify(trace.id, space)
    meta: dict[str, Any] = {}
    own: dict[str, Any] = {}
    scope = trace.scope
    hashes = []
    for key, value in trace.metadata.items():
        if key not in _RESERVED or key == KEY:
            meta[key] = value
        elif key in _OWN:
            own[key] = value
        elif key == "scopeId":
            if isinstance(value, str) and value:
                scope = f"{scope}:{value}"
            else:
                own[key] = value
        elif key not in dialect.required_hashes:
            hashes.append(key)
    if sorted(hashes) != sorted(set(dialect.default_hashes) - set(dialect.required_hashes)):
        own["hashes"] = sorted(hashes)
    # The epoch itself is 0, which means no time in the model.
    created_at = 0 if trace.created_at is None else trace.created_at or 1
    tags = _unique(trace.tags)
    kept = {"emotions": trace.emotions, "more": trace.more, "tags": trace.tags if tags != trace.tags else None}
    own.update((key, value) for key, value in kept.items() if value)
    record = Record(
        id=id,
        content=trace.content,
        kind=trace.type,
        scope=scope,
        tags=tags,
        meta=meta,
        status=DELETED if trace.deleted else "active",
        strength=trace.strength,
        created_at=created_at,
        updated_at=created_at,
        last_accessed=trace.last_accessed,
        access_count=trace.retrieval_count,
        source=_source(meta),
        foreign=foreign,
        extra={TOOL: own} if own else {},
    )
    repair_content(record, TOOL)
    return record


def _unique(tags: list[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, tags)))


def _source(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the conversation that a trace came from."""
    conversation = meta.get("conversation_id")
    return {"conversation": conversation} if isinstance(conversation, str) and conversation else {}


def trace_from_record(
    bundle: Bundle,
    space: str,
    dialect: TraceDialect,
    report: Report,
    *,
    plain: bool,
    end: Proof | None = None,
    known: Container[str] = (),
) -> Trace:
    """Return the trace of a memory; other fields and the proof are carried in `metadata.memglot`."""
    record, attached, _ = bundle
    trace = native_trace(record, dialect, known)
    rest = move_vector(trace, attached) if dialect.has_vectors else attached
    # Only fields that differ from what a reader finds in the trace must be carried.
    native = record_from_trace(trace, space, dialect)
    slot = pack_found(differences(record, native), record, rest, report, plain, native)
    add_slot(trace, slot, None if plain else end)
    return trace


def move_vector(trace: Trace, attached: list[Thing]) -> list[Thing]:
    """Move the only vector from the attached items to the trace; return the other items."""
    vectors = [item for item in attached if isinstance(item, Embedding)]
    if len(vectors) == 1 and not vectors[0].model and len(vectors[0].vector) == 4 * vectors[0].dimensions > 0:
        trace.embedding = vectors[0].vector
        return [item for item in attached if item is not vectors[0]]
    return attached


def add_slot(trace: Trace, slot: dict[str, Any], end: Proof | None = None) -> None:
    """Add the carry slot to `metadata`."""
    if end is not None:
        slot["end"] = msgspec.to_builtins(end)
    if slot:
        trace.metadata[KEY] = slot


def native_trace(record: Record, dialect: TraceDialect, known: Container[str] = ()) -> Trace:
    """Return the trace of a memory without a carry slot; unknown keys may not replace those in `known`."""
    own = record.extra.get(TOOL)
    own = own if isinstance(own, dict) else {}
    scope, colon, scope_id = record.scope.partition(":")
    if not scope_id:
        scope = record.scope
    more = own["more"] if isinstance(own.get("more"), dict) else {}
    # Notes keep what was replaced in their own way.
    content = original_content(record, TOOL) if dialect.has_escapes else record.content
    return Trace(
        id=written_id(record),
        type=record.kind,
        scope=scope,
        content=content,
        strength=dialect.default_strength if record.strength is None else record.strength,
        tags=_written_tags(record, own),
        emotions=own["emotions"] if isinstance(own.get("emotions"), dict) else {},
        metadata=_metadata(record, content, own, scope_id, dialect),
        # AgentOS stores milliseconds.
        created_at=record.created_at // 1000 * 1000 if record.created_at else None,
        last_accessed=record.last_accessed // 1000 * 1000 if record.last_accessed is not None else None,
        retrieval_count=record.access_count,
        deleted=record.status == DELETED,
        more={key: value for key, value in more.items() if key not in known},
    )


def _written_tags(record: Record, own: dict[str, Any]) -> list[str]:
    """Return the tags as they were read, with empty and repeated ones, while the memory still has the same tags."""
    tags, read = _unique(record.tags), own.get("tags")
    if isinstance(read, list) and all(isinstance(tag, str) for tag in read) and _unique(read) == tags:
        return read
    return tags


def is_from_agentos(record: Record) -> bool:
    """Return True if a memory came from AgentOS, so that its files may be meant for it."""
    return TOOL in record.extra or any(place.tool == TOOL for place in record.foreign)


def find_space(thing: Record | Entity | Relation, default: str) -> str:
    """Return the brain of an item's foreign id, if it has one, else the default."""
    return next((place.space for place in thing.foreign if place.tool == TOOL and place.space), default)


def written_id(record: Record) -> str:
    """Return the id that AgentOS's formats write: AgentOS's own if the memory came from there."""
    for place in record.foreign:
        if place.tool == TOOL and derive_id(TOOL, place.space, place.id) == record.id:
            return place.id
    return record.id


def _metadata(
    record: Record, content: str, own: dict[str, Any], scope_id: str, dialect: TraceDialect
) -> dict[str, Any]:
    stated = own.get("hashes")
    keys = stated if isinstance(stated, list) else dialect.default_hashes
    if content is not record.content:
        # AgentOS hashes U+FFFD for a lone surrogate, but NUL as it is.
        content = content.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    hash = content_hash(content).hex()
    found: dict[str, Any] = {key: hash for key in _HASHES[:2] if key in keys or key in dialect.required_hashes}
    if "entities" in own:
        found["entities"] = own["entities"]
    if scope_id:
        found["scopeId"] = scope_id
    elif "scopeId" in own and not (isinstance(own["scopeId"], str) and own["scopeId"]):
        found["scopeId"] = own["scopeId"]
    if "decay" in own:
        found["decay"] = own["decay"]
    found.update({key: record.meta[key] for key in sorted(record.meta) if key not in _RESERVED})
    if _HASHES[2] in keys:
        found[_HASHES[2]] = hash
    return found
