"""The JSON export of mcp-memory-service, read and written by every version since 5.0.1; it has no ids and no graph.

Other fields are carried in `metadata.memglot`, which the service keeps, and in the sidecar file.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from memglot import __version__
from memglot.formats.base import Format, WriteOptions, WriteSupport
from memglot.formats.core.carry import KEY, bundles, pack_found
from memglot.formats.core.proof import Prover
from memglot.formats.core.target import Target
from memglot.formats.core.vectors import numbers_of
from memglot.formats.memoryd.read_rows import report_losses
from memglot.formats.memoryd.reader import read_file
from memglot.formats.memoryd.tool_keys import KNOWN_KEYS, MERGING, ROW_DETAILS, SERVICE
from memglot.formats.memoryd.unique_hashes import UniqueHashes
from memglot.formats.memoryd.write_rows import (
    NATIVE_FIELDS,
    add_base,
    carry_slot,
    original_hash,
    source_machine,
    v5_row,
)
from memglot.formats.syntax.json_surrogates import encode
from memglot.model import DEFAULT_KIND, Embedding, Item, Record, Thing, to_builtins
from memglot.report import Proof, Report
from memglot.settings import export_time, this_machine

VERSION = "5.0.1"


def write(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write an object of metadata and rows, without chunks and without encryption."""
    prover, writing = Prover(), _Rows(report, options)
    with target.file() as out, tempfile.SpooledTemporaryFile(max_size=1 << 20) as body, UniqueHashes(body) as hashes:
        before = b"\n"
        for record, attached, _ in bundles(items, target, report):
            prover.add(record, attached)
            hash = hashes.choose(record, _read_hash(record))
            row = encode(writing.row(record, attached, hash))
            hashes.set_place(record, hash, row, body.tell() + len(before))
            body.write(before + row)
            before = b",\n"
        end = prover.end(target.sidecar_count)
        # The head has the proof of everything after it, so it is built last and written first.
        out.write(_head(end, writing.vectors, options))
        body.seek(0)
        shutil.copyfileobj(body, out, 1 << 20)
        out.write(b"\n]\n}\n" if end.count else b"]\n}\n")
        report.proof = end


def _head(end: Proof, vectors: bool, options: WriteOptions) -> bytes:
    machine = this_machine()
    values: dict[str, Any] = {
        "source_machine": machine.name.lower().replace(" ", "-"),
        # As the service writes it: without an offset.
        "export_timestamp": datetime.fromtimestamp(export_time() / 1_000_000, UTC).replace(tzinfo=None).isoformat(),
        "total_memories": end.count,
        "database_path": options.store_name,
        "platform": machine.platform,
        "python_version": machine.python,
        "include_embeddings": vectors,
        "filter_tags": None,
        "exporter_version": VERSION,
    }
    if not options.plain:
        values[KEY] = {"version": __version__, **to_builtins(end)}
    return b'{\n"export_metadata": ' + msgspec.json.format(msgspec.json.encode(values)) + b',\n"memories": ['


def _read_hash(record: Record) -> Any:
    """Return the hash that the service gave a record, if its content is unchanged, else `None`."""
    return original_hash(record) if any(place.tool == SERVICE for place in record.foreign) else None


class _Rows:
    """Build the rows of an export."""

    def __init__(self, report: Report, options: WriteOptions) -> None:
        self._report, self._plain = report, options.plain
        machine = this_machine().name
        self._machine = "" if options.plain else machine.lower().replace(" ", "-")
        self.vectors = False

    def row(self, record: Record, attached: list[Thing], hash: Any) -> dict[str, Any]:
        """Return the row of a record; attached items are carried in its slot."""
        vectors = [item for item in attached if isinstance(item, Embedding)]
        numbers = numbers_of(vectors[0].vector) if vectors else None
        rest = [item for item in attached if numbers is None or item is not vectors[0]]
        slot = {} if self._plain else pack_found(carry_slot(record), record, rest, self._report, False)
        row = v5_row(record, source_machine(record, self._machine), slot, hash)
        residue, own = record.extra.get(ROW_DETAILS), record.extra.get(SERVICE)
        if isinstance(residue, dict) and record.kind == DEFAULT_KIND:
            blank = residue.get("blank")
            row |= {"memory_type": blank["memory_type"]} if isinstance(blank, dict) and "memory_type" in blank else {}
        if isinstance(own, dict):
            row |= {key: value for key, value in own.items() if key not in KNOWN_KEYS and key != KEY}
        if numbers is not None:
            self.vectors = True
            row |= {"embedding": numbers} | ({"embedding_model": vectors[0].model} if vectors[0].model else {})
        if self._plain:
            report_losses(record, row, rest, self._report)
        else:
            add_base(row, record)
        return row


FORMAT = Format(
    name="mcp-memory-v5",
    title="mcp-memory-service's JSON export",
    tool=SERVICE,
    family="json",
    extensions=(".json",),
    fields=NATIVE_FIELDS,
    carry="metadata.memglot",
    read=read_file,
    write=write,
    conflict="merge",
    merging=MERGING,
    writing=WriteSupport(needs_ids=True),
)
