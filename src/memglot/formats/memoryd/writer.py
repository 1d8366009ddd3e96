"""Writer of memories.json."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from typing import Any, BinaryIO

import msgspec

from memglot import __version__
from memglot.formats.base import WriteOptions
from memglot.formats.core.carry import KEY, bundles, pack_found
from memglot.formats.core.proof import Prover
from memglot.formats.core.sidecar import encode_item
from memglot.formats.core.target import Target
from memglot.formats.core.vectors import numbers_of
from memglot.formats.memoryd.chunks import ChunkWriter
from memglot.formats.memoryd.read_rows import report_losses
from memglot.formats.memoryd.scan import ENCRYPTED_PROOF
from memglot.formats.memoryd.sections import SectionBuffer, write_list
from memglot.formats.memoryd.write_rows import RowBuilder, carry_slot, slug_of
from memglot.formats.syntax.json_surrogates import replace_lone_surrogates
from memglot.model import Embedding, Item, Record, Thing, format_time, to_builtins
from memglot.report import Proof, Report
from memglot.settings import export_time, this_machine

_COMPAT = ["mcp-memory-v5", "memoryd-1"]


def write_file(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write all items to one file; large bodies go to files next to it."""
    writing = _FileWriter(target, report, options)
    try:
        with target.file() as out, tempfile.SpooledTemporaryFile(max_size=1 << 20) as body:
            writing.body(items, body)  # type: ignore[arg-type]
            # The head has the proof of everything after it, so it is built last and written first.
            out.write(writing.head())
            body.seek(0)
            shutil.copyfileobj(body, out, 1 << 20)
            report.proof = writing.end
    except BaseException:
        writing.chunks.remove_written()
        raise
    finally:
        writing.buffer.close()
    if others := writing.chunks.count_unused():
        report.note(_other_bodies(target.path.name if target.path else "", others))


class _FileWriter:
    """Writes one file."""

    def __init__(self, target: Target, report: Report, options: WriteOptions) -> None:
        self._report, self._options = report, options
        self._machine = this_machine()
        self._prover = Prover()
        self._embeddings = False
        self.chunks = ChunkWriter(target, options.chunk_size)
        self.buffer = SectionBuffer(self._prover, options, report)
        self._rows = RowBuilder(self._machine.name, self.chunks)
        self.end = Proof(0, "")

    def body(self, items: Iterable[Item], out: BinaryIO) -> None:
        """Write everything but the head."""
        before = b'"memories": [\n'
        for record, attached, _ in bundles(items, self.buffer, self._report):
            if row := self._row(record, attached):
                out.write(before + row)
                before = b",\n"
        out.write(b"\n]" if self._prover.count else b'"memories": []')
        self.total = self._prover.count
        self.buffer.write(out, self._options.only_scope)
        write_list(out, "large_file_manifest", iter(self.chunks.manifest()))
        if self.buffer.cipher is not None:
            out.write(b',\n"encryption": ' + msgspec.json.encode(self.buffer.cipher.page_block()))
        self.buffer.write_last(out)
        out.write(b"\n}\n")
        self.end = self._prover.end(alone=True)
        self.end.rest = self.buffer.sum.end().digest if self.buffer.sum.count else ""

    def _row(self, record: Record, attached: list[Thing]) -> bytes:
        """Return the row of a record, or nothing if it may not be exported."""
        buffer, cipher = self.buffer, None
        sensitive = buffer.is_sensitive(record.scope)
        if sensitive and not self._options.plaintext:
            buffer.mark_encrypted(record)
            cipher = buffer.get_cipher()
            if cipher is None:
                for item in (record, *attached):
                    buffer.count_omitted(item)
                return b""
        self._prover.add(record)
        slot = {} if self._options.plain else carry_slot(record)
        graph_keys = buffer.graph_keys(record, attached, encrypted=cipher is not None)
        carried = self._add_attached(attached, graph_keys) if attached else []
        if carried and slot:
            slot = pack_found(slot, record, carried, self._report, False)
        row = self._rows.build(record, slot, graph_keys, sensitive=sensitive, cipher=cipher)
        if record.foreign and (slug := slug_of(record)) != record.id:
            buffer.written_ids.add(record.id, slug)
        if not slot:
            report_losses(record, msgspec.json.decode(replace_lone_surrogates(row)), carried, self._report)
        return row

    def _add_attached(self, attached: list[Thing], graph_keys: dict[str, Any]) -> list[Thing]:
        """Add attached items to their sections; the first vector goes into the row, others are carried."""
        vectors = [item for item in attached if isinstance(item, Embedding)]
        for item in attached:
            if not isinstance(item, Embedding):
                self.buffer.add_leftover(item, self._report)
        for vector in vectors:
            self.buffer.sum.add(encode_item(vector))
        numbers = numbers_of(vectors[0].vector) if vectors else None
        if numbers is None:
            return [*vectors]
        self._embeddings = True
        graph_keys |= {"embedding": numbers, "embedding_model": vectors[0].model}
        return [*vectors[1:]]

    def _proof(self) -> dict[str, Any]:
        """Return the proof; it is encrypted if anything else is, because a digest would let anyone test guesses."""
        cipher = self.buffer.cipher
        if cipher is None:
            return dict(to_builtins(self.end))
        return {ENCRYPTED_PROOF: cipher.encrypt(msgspec.json.encode(self.end), KEY)}

    def head(self) -> bytes:
        """Return the head of the file, with one key per line."""
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
            "include_audit_chain": bool(len(self.buffer.audit)),
        }
        if self.buffer.audit.head is not None:
            values["audit_chain_head"] = self.buffer.audit.head
        if self.buffer.cipher is not None:
            values["encryption"] = self.buffer.cipher.memoryd_block()
        if not options.plain:
            own = {"version": __version__, **self._proof()}
            values[KEY] = own | ({"scope": options.only_scope} if options.only_scope is not None else {})
        lines = (b"  " + msgspec.json.encode(key) + b": " + msgspec.json.encode(value) for key, value in values.items())
        return b'{\n"export_metadata": {\n' + b",\n".join(lines) + b"\n},\n"


def _other_bodies(file: str, count: int) -> str:
    """Return the note for bodies from earlier exports."""
    noun = "1 body" if count == 1 else f"{count:,} bodies"
    return f"kept {noun} of earlier exports in {file}.chunks; delete them if no copy of those exports needs them"
