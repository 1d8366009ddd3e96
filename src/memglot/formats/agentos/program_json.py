"""The JSON object that the AgentOS program writes and reads: a list for each table, JSON columns as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from memglot.disk import DiskList
from memglot.errors import BadRecord
from memglot.formats.agentos.graph import NODES, KnowledgeGraph, edge_row, node_row, placeholder_node
from memglot.formats.agentos.other_tables import META, brain_of, json_value, row_blob
from memglot.formats.base import WriteOptions
from memglot.formats.core.carry import KEY, bundles
from memglot.formats.core.proof import Prover
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.formats.core.trace import PROGRAM, TOOL, Trace, find_space, read_trace, trace_from_record
from memglot.formats.core.trace_fields import parse_trace
from memglot.formats.core.written_ids import WrittenIds
from memglot.formats.syntax.json_sections import sections
from memglot.formats.syntax.json_stream import decode_object
from memglot.formats.syntax.json_surrogates import encode
from memglot.model import Blob, Entity, Item, Relation, Thing
from memglot.model.record_errors import bad_item
from memglot.report import Report, SourceReport

TABLES = {"documents": "documents", "chunks": "document_chunks", "images": "document_images"}
TABLES |= {"conversations": "conversations", "messages": "messages"}
_BYTES = {"nodes": ("embedding",), "chunks": ("embedding",), "images": ("data", "embedding")}


def read_program(source: Source, report: SourceReport, known: dict[str, str], space: str | None) -> Iterator[Item]:
    """Yield the items of the object, list by list; edges and settings come last."""
    reader = _ProgramReader(report, known, space)
    for section, raw, value in sections(source, report, msgspec.json.decode, memories="traces"):
        try:
            if section == "meta" and isinstance(value, dict):
                reader.meta.update(value)
            elif section == KEY and isinstance(value, dict) and isinstance(value.get("brain"), str):
                reader.meta_brain = value["brain"]
            else:
                unchecked = "content" if section == "traces" else ""
                yield from reader.row(section, decode_object(raw, value, report, unchecked))
        except BadRecord as error:
            _fault(section, error, report)
        except msgspec.ValidationError as error:
            _fault(section, bad_item("row", str(error)), report)
    yield from reader.remaining()


class _ProgramReader:
    """Reads one object."""

    def __init__(self, report: SourceReport, known: dict[str, str], space: str | None) -> None:
        self._report, self._known, self._space = report, known, space
        self._graphs: dict[str, KnowledgeGraph] = {}
        self._edges: DiskList[Any] = DiskList()
        self._main: str | None = None
        self.meta: dict[str, Any] = {}
        self.meta_brain: str | None = None
        """The brain of the settings, which the program does not name."""

    def row(self, section: str, row: dict[str, Any]) -> Iterator[Item]:
        """Yield the items of a row."""
        own = row.pop("brain_id", None)
        brain = self._space or (own if isinstance(own, str) else self._main or "")
        self._main = brain if self._main is None else self._main
        if section == "traces":
            yield from read_trace(parse_trace(row, self._known), brain, PROGRAM, self._report)
            return
        for column in _BYTES.get(section, ()):
            if isinstance(row.get(column), str):
                row[column] = {"base64": row[column]}
        if section == "edges":
            self._edges.append([brain, row])
        elif section == "nodes":
            item = self._graph(brain).node(row)
            yield from [] if item is None else [item]
        else:
            yield row_blob(TABLES.get(section, section), row, brain)

    def _graph(self, brain: str) -> KnowledgeGraph:
        return self._graphs.setdefault(brain, KnowledgeGraph(brain))

    def remaining(self) -> Iterator[Item]:
        """Yield the edges, now that all nodes are known, and the settings of the brain."""
        for brain, row in self._edges:
            try:
                yield self._graph(brain).edge(row)
            except (BadRecord, msgspec.ValidationError) as error:
                self._report.fault(f"edges: {error}")
        for key, text in self.meta.items():
            if key != "exported_at":
                brain = self.meta_brain if self.meta_brain is not None else self._main or ""
                yield row_blob(META, {"key": key, "value": text}, self._space or brain)


def _fault(section: str, error: BadRecord, report: SourceReport) -> None:
    if section == "traces":
        report.failed_record(error)
    else:
        line = report.find_line() if report.find_line else None
        report.fault(f"{section}: {error}", line=line, item=report.item)


def write_program(
    items: Iterable[Item], target: Target, report: Report, options: WriteOptions, known: dict[str, str]
) -> None:
    """Write the object; items without a list go to the sidecar."""
    brain = options.space or (target.inner_path.stem if target.inner_path else "brain")
    buffer = _ProgramBuffer(target, brain, plain=options.plain)
    prover = Prover()
    with target.file() as out:
        out.write(b'{\n  "traces": [')
        before = b"\n    "
        for record, attached, last in bundles(items, buffer, report, with_deleted=True):
            prover.add(record)
            relations = [item for item in attached if isinstance(item, Relation)]
            rest: list[Thing] = [item for item in attached if not isinstance(item, Relation)]
            end = prover.end(target.sidecar_count, alone=True) if last else None
            bundle = (record, rest, last)
            own = find_space(record, brain)
            trace = trace_from_record(bundle, own, PROGRAM, report, plain=options.plain, end=end, known=known)
            buffer.written_ids.add(record.id, trace.id)
            for relation in relations:
                buffer.add_leftover(relation, report)
            out.write(before + _pretty(_trace_row(trace, own)))
            before = b",\n    "
        out.write(b"\n  ]" if prover.count else b"]")
        buffer.write(out, report)
        out.write(b"\n}\n")
    buffer.written_ids.close()
    report.proof = prover.end(target.sidecar_count, alone=True)


def _trace_row(trace: Trace, brain: str) -> dict[str, Any]:
    return {
        "brain_id": brain,
        "id": trace.id,
        "type": trace.type,
        "scope": trace.scope,
        "content": trace.content,
        "embedding": json_value(trace.embedding)["base64"] if trace.embedding else None,
        "strength": trace.strength,
        "created_at": trace.created_at // 1000 if trace.created_at is not None else None,
        "last_accessed": trace.last_accessed // 1000 if trace.last_accessed is not None else None,
        "retrieval_count": trace.retrieval_count,
        "tags": _text(trace.tags),
        "emotions": _text(trace.emotions),
        "metadata": _text(trace.metadata),
        "deleted": int(trace.deleted),
        **trace.more,
    }


class _ProgramBuffer:
    """Collects everything that is not a trace until its list is written."""

    def __init__(self, target: Target, brain: str, *, plain: bool) -> None:
        self._target, self._brain, self._plain = target, brain, plain
        self.written_ids = WrittenIds()
        self._rows: dict[str, DiskList[Any]] = {}
        self._meta: dict[str, Any] = {}
        self._meta_of: str | None = None
        self._sections = {table: section for section, table in TABLES.items()} | {NODES: "nodes"}

    def add_leftover(self, item: Item, report: Report) -> None:
        """Add an item to its list, or to the sidecar if it has none."""
        if isinstance(item, Entity):
            self._keep("entities", msgspec.to_builtins(item))
        elif isinstance(item, Relation):
            self._keep("relations", msgspec.to_builtins(item))
        elif isinstance(item, Blob) and item.tool == TOOL and isinstance(item.row, dict) and self._has_list(item):
            own = brain_of(item, self._brain)
            if item.table == META:
                self._meta_of = own
                self._meta[str(item.row.get("key"))] = item.row.get("value")
            else:
                self._keep(self._sections[item.table], {"brain_id": own, **item.row})
        else:
            self._target.add_leftover(item, report)

    def _has_list(self, blob: Blob) -> bool:
        """Return True if the object can store a row: settings of one brain, and nodes with an id."""
        if blob.table == META:
            return self._meta_of in (None, brain_of(blob, self._brain))
        return blob.table in self._sections and isinstance(blob.row.get("id"), str)

    def _keep(self, section: str, row: Any) -> None:
        self._rows.setdefault(section, DiskList()).append(row)

    def write(self, out: BinaryIO, report: Report) -> None:
        """Write every list but the traces."""
        known = {row["id"] for row in self._rows.get("nodes", ())}
        for value in self._rows.get("entities", ()):
            entity = msgspec.convert(value, Entity)
            own = find_space(entity, self._brain)
            row = node_row(entity, own, plain_only=self._plain)
            self.written_ids.add(entity.id, row["id"], entity=True)
            known.add(row["id"])
            self._keep("nodes", {"brain_id": own, **row})
        for value in self._rows.get("relations", ()):
            self._edge(msgspec.convert(value, Relation), known)
        for section in ("nodes", "edges", *TABLES):
            self._write_list(out, section)
        out.write(b',\n  "meta": ' + msgspec.json.encode(self._meta))
        if self._meta and not self._plain:
            out.write(b',\n  "memglot": ' + msgspec.json.encode({"brain": self._meta_of}))

    def _edge(self, relation: Relation, known: set[str]) -> None:
        ends = (relation.subject, relation.object)
        found = [self.written_ids.get(end.id, entity=end.entity) for end in ends]
        ids = [place or end.id for place, end in zip(found, ends, strict=True)]
        are_entities = [place is not None and end.entity for place, end in zip(found, ends, strict=True)]
        own = find_space(relation, self._brain)
        for id in ids:
            if id not in known:
                known.add(id)
                self._keep("nodes", {"brain_id": own, **placeholder_node(id)})
        self._keep("edges", {"brain_id": own, **edge_row(relation, ids, are_entities, own, plain_only=self._plain)})

    def _write_list(self, out: BinaryIO, section: str) -> None:
        out.write(b',\n  "' + section.encode() + b'": [')
        before = b"\n    "
        for row in self._rows.get(section, ()):
            for column in _BYTES.get(section, ()):
                if column in row:
                    row[column] = _as_json(row[column])
            out.write(before + _pretty(row))
            before = b",\n    "
        out.write(b"\n  ]" if before.startswith(b",") else b"]")


def _as_json(value: Any) -> Any:
    """Return bytes as the base64 text that the program writes."""
    return value["base64"] if isinstance(value, dict) and value.keys() == {"base64"} else value


def _pretty(row: dict[str, Any]) -> bytes:
    return encode(row, indent=2).replace(b"\n", b"\n    ")


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
