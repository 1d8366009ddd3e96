"""The official MCP memory server's `memory.jsonl`: entities with observations, and relations between them.

Each observation of an entity is a `fact` memory about it. Any other memory is written as an entity named by its title
and id. Other fields are carried on the line under `memglot`, which the server ignores, and drops when it rewrites the
file.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from memglot.formats.base import Format, MergeSupport, WriteOptions, WriteSupport
from memglot.formats.core.carry import KEY, bundles
from memglot.formats.core.proof import Prover
from memglot.formats.core.sidecar import LineProver, encode_item
from memglot.formats.core.target import Target
from memglot.formats.mcp_graph.lines import TOOL
from memglot.formats.mcp_graph.reader import read_graph
from memglot.formats.mcp_graph.writer import GraphBuffer, GraphLine, LineWriter
from memglot.formats.syntax.json_shape import first_keys
from memglot.formats.syntax.json_surrogates import encode
from memglot.model import Item, Record
from memglot.report import Proof, Report

NATIVE_FIELDS = frozenset({"id", "content", "title", "kind"})


def recognise(head: bytes) -> bool:
    """Return True if the first line that is an entity or a relation looks like a graph."""
    for line in head.split(b"\n"):
        keys = first_keys(line)
        if not keys and not line.strip():
            continue
        if keys.get("type") != b'"' or "content" in keys:
            return False
        is_entity = "name" in keys and not keys.keys().isdisjoint({"entityType", "observations"})
        if is_entity or {"from", "to"} <= keys.keys():
            return True
    return False


def write(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write a graph as the server does, without a final newline; items without a line go to the sidecar."""
    buffer = GraphBuffer(target, options.space or "")
    writer = LineWriter(buffer, report, plain=options.plain)
    proof = _GraphProver()
    try:
        with target.file() as out:
            for record, attached, _ in bundles(items, buffer, report):
                buffer.add(record, attached)
            buffer.tables.bind()
            before = b""
            held: GraphLine | None = None
            for line in writer.lines():
                if held is not None:
                    out.write(before + _encoded(held, plain=options.plain))
                    before = b"\n"
                held = line
                proof.add(line.items)
            # They come last: the first line shows what format the file has.
            proof.add(buffer.ignored_lines())
            end = proof.end(target.sidecar_count)
            target.has_records = held is not None
            if held is not None:
                held.slot.end = end
                out.write(before + _encoded(held, plain=options.plain))
                before = b"\n"
            for blob in buffer.ignored_lines():
                out.write(before + blob.row.encode())
                before = b"\n"
    finally:
        writer.close()
    report.proof = end


def _encoded(line: GraphLine, *, plain: bool) -> bytes:
    slot = {} if plain else msgspec.to_builtins(line.slot)
    return encode({**line.keys, KEY: slot} if slot else line.keys)


class _GraphProver:
    """Digests the memories and other items of a file, in file order."""

    def __init__(self) -> None:
        self._records, self._rest = Prover(), LineProver()

    def add(self, items: Iterable[Item]) -> None:
        """Add the items of a line."""
        for item in items:
            if isinstance(item, Record):
                self._records.add(item)
            else:
                self._rest.add(encode_item(item))

    def end(self, beside: int) -> Proof:
        """Return the proof of all added items."""
        end = self._records.end(beside, alone=True)
        end.rest = self._rest.end().digest if self._rest.count else ""
        return end


FORMAT = Format(
    name="mcp-graph",
    title="MCP memory server, its knowledge graph",
    tool=TOOL,
    family="json",
    extensions=(".jsonl", ".json"),
    fields=NATIVE_FIELDS,
    carry="memglot",
    read=read_graph,
    write=write,
    dedup="id",
    conflict="merge",
    empty_is_error=False,
    blank_is_error=False,
    recognise=recognise,
    merging=MergeSupport(by_hand=True),
    writing=WriteSupport(proves_rest=True),
)
