"""The object that the AgentOS program itself writes and reads: a list for each table, JSON columns as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from memglot.errors import BadRecord, bad_syntax
from memglot.formats._agentos.fields import object_of, trace_from
from memglot.formats._agentos.graph import NODES, Graph, edge_row, made_node, node_row
from memglot.formats._agentos.places import Places
from memglot.formats._agentos.rows import META, blob_of, to_value
from memglot.formats._agentos.trace import PROGRAM, TOOL, Trace, items_of, trace_of
from memglot.formats._json.sections import sections
from memglot.formats.carry import bundles
from memglot.formats.format import Options
from memglot.formats.proof import Prover
from memglot.formats.source import Source
from memglot.formats.target import Target
from memglot.model import Blob, Entity, Item, Relation, Thing
from memglot.report import Report, Spool

TABLES = {"documents": "documents", "chunks": "document_chunks", "images": "document_images"}
TABLES |= {"conversations": "conversations", "messages": "messages"}
_BYTES = {"nodes": ("embedding",), "chunks": ("embedding",), "images": ("data", "embedding")}


def read_program(source: Source, report: Report, known: dict[str, str], space: str | None) -> Iterator[Item]:
    """Yield all that the object holds, list by list."""
    graph: Graph | None = None
    brain = space or ""
    for section, raw, value in sections(source, report, msgspec.json.decode):
        try:
            if section == "meta" and isinstance(value, dict):
                for key, text in value.items():
                    if key != "exported_at":
                        yield blob_of(META, {"key": key, "value": text}, brain)
                continue
            row = object_of(raw, value, report)
            brain = space or str(row.pop("brain_id", brain))
            if section == "traces":
                yield from items_of(trace_from(row, known), brain, PROGRAM, report)
                continue
            graph = graph or Graph(brain)
            item = _item(section, row, brain, graph)
            if item is not None:
                yield item
        except BadRecord as error:
            _fault(section, error, report)
        except msgspec.ValidationError as error:
            _fault(section, bad_syntax("row", str(error)), report)


def _fault(section: str, error: BadRecord, report: Report) -> None:
    if section == "traces":
        report.failed_record(error)
    else:
        line = report.find_line() if report.find_line else None
        report.fault(f"{section}: {error}", line=line, item=report.item)


def _item(section: str, row: dict[str, Any], brain: str, graph: Graph) -> Item | None:
    for column in _BYTES.get(section, ()):
        if isinstance(row.get(column), str):
            row[column] = {"base64": row[column]}
    if section == "nodes":
        return graph.node(row)
    if section == "edges":
        return graph.edge(row)
    return blob_of(TABLES.get(section, section), row, brain)


def write_program(
    items: Iterable[Item], target: Target, report: Report, options: Options, known: dict[str, str]
) -> None:
    """Write the object; what it has no list for goes beside it."""
    brain = options.space or (target.path.stem if target.path else "brain")
    shelf = _Shelf(target)
    prover = Prover()
    with target.file() as out:
        out.write(b'{\n  "traces": [')
        before = b"\n    "
        for record, riders, last in bundles(items, shelf, report, with_deleted=True):
            prover.add(record)
            relations = [rider for rider in riders if isinstance(rider, Relation)]
            rest: list[Thing] = [rider for rider in riders if not isinstance(rider, Relation)]
            end = prover.end(target.beside_count, alone=True) if last else None
            bundle = (record, rest, last)
            trace = trace_of(bundle, brain, PROGRAM, report, plain=options.plain, end=end, known=known)
            shelf.places.add(record.id, trace.id)
            for relation in relations:
                shelf.beside(relation, report)
            out.write(before + _pretty(_trace_row(trace, brain)))
            before = b",\n    "
        out.write(b"\n  ]" if prover.count else b"]")
        shelf.write(out, brain)
        out.write(b"\n}\n")
    shelf.places.close()
    report.written(prover.end(target.beside_count, alone=True))


def _trace_row(trace: Trace, brain: str) -> dict[str, Any]:
    return {
        "brain_id": brain,
        "id": trace.id,
        "type": trace.type,
        "scope": trace.scope,
        "content": trace.content,
        "embedding": to_value(trace.embedding)["base64"] if trace.embedding else None,
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


class _Shelf:
    """Keeps what is no trace until its list is written."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.places = Places()
        self._rows: dict[str, Spool[Any]] = {}
        self._meta: dict[str, Any] = {}
        self._sections = {table: section for section, table in TABLES.items()} | {NODES: "nodes"}

    def beside(self, item: Item, report: Report) -> None:
        """Keep an item for its list, or beside the file where it has none."""
        if isinstance(item, Entity):
            self._keep("entities", msgspec.to_builtins(item))
        elif isinstance(item, Relation):
            self._keep("relations", msgspec.to_builtins(item))
        elif isinstance(item, Blob) and item.tool == TOOL and isinstance(item.row, dict):
            if item.table == META:
                self._meta[str(item.row.get("key"))] = item.row.get("value")
            elif item.table in self._sections:
                self._keep(self._sections[item.table], item.row)
            else:
                self._target.beside(item, report)
        else:
            self._target.beside(item, report)

    def _keep(self, section: str, row: Any) -> None:
        self._rows.setdefault(section, Spool()).append(row)

    def write(self, out: BinaryIO, brain: str) -> None:
        """Write every list but that of the traces."""
        nodes = [row["id"] for row in self._rows.get("nodes", ())]
        known = set(nodes)
        for value in self._rows.get("entities", ()):
            entity = msgspec.convert(value, Entity)
            row = node_row(entity, brain)
            self.places.add(entity.id, row["id"], entity=True)
            known.add(row["id"])
            self._keep("nodes", row)
        for value in self._rows.get("relations", ()):
            relation = msgspec.convert(value, Relation)
            found = [self.places.find(end.id, entity=end.entity) for end in (relation.subject, relation.object)]
            ends = [place or end.id for place, end in zip(found, (relation.subject, relation.object), strict=True)]
            are_entities = [
                place is not None and end.entity
                for place, end in zip(found, (relation.subject, relation.object), strict=True)
            ]
            for id in ends:
                if id not in known:
                    known.add(id)
                    self._keep("nodes", made_node(id))
            self._keep("edges", edge_row(relation, ends, are_entities, brain))
        for section in ("nodes", "edges", *TABLES):
            self._write_list(out, section, brain)
        out.write(b',\n  "meta": ' + msgspec.json.encode(self._meta))

    def _write_list(self, out: BinaryIO, section: str, brain: str) -> None:
        out.write(b',\n  "' + section.encode() + b'": [')
        before = b"\n    "
        for row in self._rows.get(section, ()):
            plain_row = {key: _as_json(value) for key, value in row.items()}
            out.write(before + _pretty({"brain_id": brain, **plain_row}))
            before = b",\n    "
        out.write(b"\n  ]" if before.startswith(b",") else b"]")


def _as_json(value: Any) -> Any:
    """Bytes are base64 text in the program's object."""
    return value["base64"] if isinstance(value, dict) and value.keys() == {"base64"} else value


def _pretty(row: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(row), indent=2).replace(b"\n", b"\n    ")


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
