"""Writes memories.json: the memories first, then what connects them, then what rides along."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from typing import Any, BinaryIO

import msgspec

from memglot import __version__
from memglot.formats.base import Options
from memglot.formats.core.carry import KEY, bundles, pack_found
from memglot.formats.core.proof import Prover
from memglot.formats.core.sidecar import line_of
from memglot.formats.core.target import Target
from memglot.formats.core.vectors import numbers_of
from memglot.formats.memoryd.chunks import ChunkWriter
from memglot.formats.memoryd.losses import tell_losses
from memglot.formats.memoryd.scan import PROOF
from memglot.formats.memoryd.sections import Shelf, write_list
from memglot.formats.memoryd.write_rows import PageRows, slot_of, slug_of
from memglot.model import Embedding, Item, Record, Thing, format_time, to_builtins
from memglot.report import Proof, Report
from memglot.settings import export_time, this_machine

_COMPAT = ["mcp-memory-v5", "memoryd-1"]


def write_file(items: Iterable[Item], target: Target, report: Report, options: Options) -> None:
    """Write everything to one file; bodies that are too large for it go beside it."""
    writing = _Writing(target, report, options)
    try:
        with target.file() as out, tempfile.SpooledTemporaryFile(max_size=1 << 20) as body:
            writing.body(items, body)  # type: ignore[arg-type]
            # The head proves what comes behind it, so it is written last and put first.
            out.write(writing.head())
            body.seek(0)
            shutil.copyfileobj(body, out, 1 << 20)
    except BaseException:
        writing.chunks.abandon()
        raise
    finally:
        writing.shelf.close()
    report.written(writing.end)
    if others := writing.chunks.others():
        report.note(_other_bodies(target.path.name if target.path else "", others))


class _Writing:
    """A file under way."""

    def __init__(self, target: Target, report: Report, options: Options) -> None:
        self._report, self._options = report, options
        self._machine = this_machine()
        self._prover = Prover()
        self._embeddings = False
        self.chunks = ChunkWriter(target, options.chunk_size)
        self.shelf = Shelf(self._prover, options, report)
        self._rows = PageRows(self._machine.name, self.chunks)
        self.end = Proof(0, "")

    def body(self, items: Iterable[Item], out: BinaryIO) -> None:
        """Write all but the head."""
        before = b'"memories": [\n'
        for record, riders, _ in bundles(items, self.shelf, self._report):
            if row := self._row(record, riders):
                out.write(before + row)
                before = b",\n"
        out.write(b"\n]" if self._prover.count else b'"memories": []')
        self.total = self._prover.count
        self.shelf.write(out, self._options.only_scope)
        write_list(out, "large_file_manifest", iter(self.chunks.manifest()))
        if self.shelf.sealer is not None:
            out.write(b',\n"encryption": ' + msgspec.json.encode(self.shelf.sealer.for_page()))
        self.shelf.write_last(out)
        out.write(b"\n}\n")
        self.end = self._prover.end(alone=True)
        self.end.rest = self.shelf.sum.end().digest if self.shelf.sum.count else ""

    def _row(self, record: Record, riders: list[Thing]) -> bytes:
        """The row of a record; empty where it may not go out."""
        shelf, sealer = self.shelf, None
        sensitive = shelf.is_sensitive(record.scope)
        if sensitive and not self._options.plaintext:
            shelf.hide(record)
            sealer = shelf.sealing()
            if sealer is None:
                for item in (record, *riders):
                    shelf.leave(item)
                return b""
        self._prover.add(record)
        slot = {} if self._options.plain else slot_of(record)
        # What a sealed row says of others is sealed with it.
        open_row = sealer is None and shelf.may_hide
        views = shelf.views.of(record, riders, shelf.hides if open_row else None)
        carried = self._take_riders(riders, views) if riders else []
        if carried and slot:
            slot = pack_found(slot, record, carried, self._report, False)
        row = self._rows.row(record, slot, views, sensitive=sensitive, sealer=sealer)
        if record.foreign and (slug := slug_of(record)) != record.id:
            shelf.written_ids.add(record.id, slug)
        if not slot:
            tell_losses(record, msgspec.json.decode(row), carried, self._report)
        return row

    def _take_riders(self, riders: list[Thing], views: dict[str, Any]) -> list[Thing]:
        """Put what rides with a record into its section; the first vector stands in the row, others are carried."""
        vectors = [rider for rider in riders if isinstance(rider, Embedding)]
        for rider in riders:
            if not isinstance(rider, Embedding):
                self.shelf.beside(rider, self._report)
        for vector in vectors:
            self.shelf.sum.add(line_of(vector))
        numbers = numbers_of(vectors[0].vector) if vectors else None
        if numbers is None:
            return [*vectors]
        self._embeddings = True
        views |= {"embedding": numbers, "embedding_model": vectors[0].model}
        return [*vectors[1:]]

    def _proof(self) -> dict[str, Any]:
        """The proof; where something is sealed, a digest of it would let anybody try what it says."""
        sealer = self.shelf.sealer
        return to_builtins(self.end) if sealer is None else {PROOF: sealer.seal(msgspec.json.encode(self.end), KEY)}

    def head(self) -> bytes:
        """The opening of the file: what it says of itself, a key a line."""
        options, machine = self._options, self._machine
        values: dict[str, Any] = {
            "source_machine": machine.name,
            "export_timestamp": format_time(export_time()),
            "total_memories": self.total,
            "database_path": options.store_name,
            "platform": machine.platform,
            "python_version": machine.python,
            "exporter_version": "memoryd-1",
            "schema_compat": _COMPAT,
            "include_embeddings": self._embeddings,
            "include_audit_chain": bool(len(self.shelf.audit)),
        }
        if self.shelf.audit.head is not None:
            values["audit_chain_head"] = self.shelf.audit.head
        if self.shelf.sealer is not None:
            values["encryption"] = self.shelf.sealer.for_program()
        if not options.plain:
            own = {"version": __version__, **self._proof()}
            values[KEY] = own | ({"scope": options.only_scope} if options.only_scope is not None else {})
        lines = (b"  " + msgspec.json.encode(key) + b": " + msgspec.json.encode(value) for key, value in values.items())
        return b'{\n"export_metadata": {\n' + b",\n".join(lines) + b"\n},\n"


def _other_bodies(file: str, count: int) -> str:
    """Bodies that an export of the past put beside a file."""
    noun = "1 body" if count == 1 else f"{count:,} bodies"
    return f"{noun} of earlier exports stay in {file}.chunks: copies of these may need them; delete what none does"
