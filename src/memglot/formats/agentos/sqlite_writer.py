"""Writer of a brain: traces and rows as they come, then edges and the proof."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw
import msgspec

from memglot.disk import DiskList
from memglot.display import plural
from memglot.errors import BadRecord, CannotWrite
from memglot.formats.agentos.graph import EDGES, NODES, edge_row, node_row, placeholder_node
from memglot.formats.agentos.other_tables import META, column_value, is_binary
from memglot.formats.agentos.sqlite_reader import END, INSTEAD, ITEM, MAIN, SPACE
from memglot.formats.agentos.sqlite_rows import BRAIN, SCHEMA, RowReader, digest
from memglot.formats.agentos.sqlite_schema import (
    INDEXES,
    OURS,
    OWN_TABLE,
    TABLES,
    TEXT,
    TRACES,
    known_columns,
    own_meta,
)
from memglot.formats.agentos.sqlite_tables import RowInserter, TableWriter
from memglot.formats.agentos.sqlite_trace import BYTES_KEY, COLUMNS, TraceRow, parse_row, restore_columns, trace_row
from memglot.formats.agentos.vector_sizes import VectorSizes
from memglot.formats.base import WriteOptions
from memglot.formats.core.carry import Bundle, bundles, differences, pack_found
from memglot.formats.core.proof import Prover
from memglot.formats.core.sidecar import display_key, encode_item, kind_name
from memglot.formats.core.target import Target
from memglot.formats.core.trace import (
    PROGRAM,
    TOOL,
    Trace,
    add_slot,
    is_unique,
    move_vector,
    native_trace,
    record_from_trace,
)
from memglot.formats.core.written_ids import WrittenIds
from memglot.model import Blob, Entity, Foreign, Item, Record, Relation, Thing, canonical
from memglot.report import Proof, Report

_PRAGMAS = ("page_size = 4096", "journal_mode = OFF", "synchronous = OFF", "foreign_keys = OFF")
_LARGEST = (1 << 63) - 1


def write_brain(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write a brain; the file is replaced when it is complete."""
    name = target.inner_path.stem if target.inner_path else "brain"
    with target.place() as path:
        try:
            writer = _BrainWriter(path, name, report, options)
            try:
                for bundle in bundles(items, writer, report, with_deleted=True):
                    writer.trace(bundle)
                end = writer.finish()
            finally:
                writer.close()
        except (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError) as error:
            raise CannotWrite(str(target.path or name), str(error)) from error
    report.proof = end


class _BrainWriter:
    """Writes one brain."""

    def __init__(self, path: Path, name: str, report: Report, options: WriteOptions) -> None:
        self._stem, self._report, self._plain = name, report, options.plain
        # The main brain gets its name at the end; one of the same length is replaced fast.
        self._name = "\1" * len(name.encode())
        self._names: set[str] = set()
        self._space: str | None = options.space
        self._db = apsw.Connection(str(path))
        for pragma in _PRAGMAS:
            self._db.execute(f"PRAGMA {pragma}").fetchall()
        self._db.execute("BEGIN")
        self._db.execute(TABLES if self._plain else f"{TABLES};{OWN_TABLE}")
        self._columns = RowInserter(self._db)
        self._tables = TableWriter(self._db, self._name, self._columns)
        self._vectors = VectorSizes(self._db)
        self._written_ids = WrittenIds()
        self._relations: DiskList[Any] = DiskList()
        self._unknown_rows: DiskList[Any] = DiskList()
        self._schemas: dict[str, Blob] = {}
        self._prover = Prover()

    def close(self) -> None:
        """Delete the temporary files and close the database."""
        self._written_ids.close()
        self._db.close()

    # Traces

    def trace(self, bundle: Bundle) -> None:
        """Write a memory and its attached items."""
        record, attached, last = bundle
        self._prover.add(record)
        rest: list[Thing] = []
        for item in attached:
            if isinstance(item, Relation):
                self._relations.append(msgspec.to_builtins(item))
            else:
                rest.append(item)
        brain = self._brain_of(record)
        native = native_trace(record, PROGRAM, self._columns.unstorable_keys(record, brain))
        native.retrieval_count = max(-_LARGEST - 1, min(native.retrieval_count, _LARGEST))
        if brain is None:
            self._choose_space(native.id, record.foreign)
        again = 0
        while True:
            row, trace = self._row((record, rest, last), msgspec.structs.replace(native), brain)
            if self._columns.insert(TRACES, {BRAIN: brain or self._name, **trace.more}, COLUMNS, row):
                self._vectors.add(brain or self._name, record.id, row[COLUMNS.index("embedding")])
                break
            # Two spaces may use one id for different memories; the second gets its own id.
            again += 1
            native.id = record.id if again == 1 else f"{record.id}~{again}"
        self._written_ids.add(record.id, trace.id)

    def _brain_of(self, record: Record) -> str | None:
        own = record.extra.get(TOOL)
        more = own.get("more") if isinstance(own, dict) else None
        brain = more.get(BRAIN) if isinstance(more, dict) else None
        return brain if isinstance(brain, str) and brain else None

    def _row(self, bundle: Bundle, trace: Trace, brain: str | None) -> tuple[TraceRow, Trace]:
        """Return the row of a trace: unchanged if the trace is, with a carry slot if needed."""
        record, attached, _ = bundle
        space = brain or self._space or self._stem
        rest = move_vector(trace, attached)
        made = trace_row(trace)
        kept = record.extra.get(BYTES_KEY)
        row, used = restore_columns(made, kept)
        native = self._read(row, trace, used, space)
        found = self._lacking(record, native)
        if isinstance(kept, dict) and "metadata" in used and (found or rest):
            # The kept text of `metadata` has no room for a slot.
            row, used = restore_columns(made, {name: entry for name, entry in kept.items() if name != "metadata"})
            native = self._read(row, trace, used, space)
            found = self._lacking(record, native)
        slot = pack_found(found, record, rest, self._report, self._plain, native)
        if slot:
            trace.metadata = dict(trace.metadata)
            add_slot(trace, slot)
            row[COLUMNS.index("metadata")] = trace_row(trace)[COLUMNS.index("metadata")]
        return row, trace

    def _lacking(self, record: Record, read: Record) -> dict[str, Any]:
        return {} if record == read else differences(record, read)

    def _read(self, row: TraceRow, trace: Trace, used: dict[str, Any], space: str) -> Record:
        """Return the record that a reader will find in a row."""
        if not used:
            return record_from_trace(trace, space, PROGRAM)
        read = parse_row(row)
        read.more = trace.more
        record = record_from_trace(read, space, PROGRAM)
        record.extra[BYTES_KEY] = used
        return record

    def _choose_space(self, id: str, places: list[Foreign]) -> None:
        """Use the space of the first id that is not globally unique."""
        if self._space is None and not self._plain and not is_unique(id):
            for place in places:
                if place.tool == TOOL and place.id == id:
                    self._space = place.space

    # Other tables

    def add_leftover(self, item: Item, report: Report) -> None:
        """Add an item to its table, or to our own if it has none."""
        if isinstance(item, Entity):
            self._entity(item)
        elif isinstance(item, Relation):
            self._relations.append(msgspec.to_builtins(item))
        elif isinstance(item, Blob) and item.tool == TOOL and isinstance(item.row, dict) and item.data is None:
            if item.table == SCHEMA and isinstance(item.row.get("name"), str):
                self._schemas[item.row["name"]] = item
            elif item.table in known_columns():
                self._blob(item)
            else:
                self._unknown_rows.append(msgspec.to_builtins(item))
        else:
            self._write_item(item)

    def _write_item(self, item: Item) -> None:
        if self._plain:
            self._report.dropped(kind_name(item), display_key(item))
        else:
            self._write_own(ITEM, encode_item(item).decode())

    def _write_own(self, kind: str, value: str) -> None:
        self._db.execute(f"INSERT INTO {OURS} VALUES (?, ?)", (kind, value))

    def _blob(self, blob: Blob) -> None:
        """Insert a row into its table; if it cannot hold all of the blob, keep a replacement in our own table."""
        if BRAIN not in blob.row and (space := self._tables.space_in(blob)):
            self._space = self._space or (None if self._plain else space)
            if blob.table == META:
                self._names.add(space)
        row_reader = RowReader(self._space or self._stem)
        written, found = (False, None) if _is_readable(blob) else self._tables.insert_blob(blob, row_reader)
        if not written:
            self._write_item(blob)
        elif found != blob:
            self._write_replacement(found, blob)

    def _write_replacement(self, found: Item | None, blob: Blob | None) -> None:
        if self._plain:
            return
        value = {"of": digest(found), "blob": msgspec.to_builtins(blob)}
        self._write_own(INSTEAD, canonical(value).decode())

    def _entity(self, entity: Entity) -> None:
        own = entity.extra.get(TOOL)
        brain = own.get(BRAIN) if isinstance(own, dict) and isinstance(own.get(BRAIN), str) else None
        for place in entity.foreign:
            self._choose_space(place.id, [] if brain else [place])
        space = brain or self._space or self._stem
        row = node_row(entity, space, plain_only=self._plain)
        if not self._tables.insert(NODES, row):
            row = node_row(entity, space, plain_only=self._plain, id=entity.id)
            if not self._tables.insert(NODES, row):
                self._write_item(entity)
                return
        self._written_ids.add(entity.id, row["id"], entity=True)

    def _relation(self, relation: Relation) -> None:
        own = relation.extra.get(TOOL)
        brain = own.get(BRAIN) if isinstance(own, dict) and isinstance(own.get(BRAIN), str) else None
        both = (relation.subject, relation.object)
        found = [self._written_ids.get(end.id, entity=end.entity) for end in both]
        ends = [place or end.id for place, end in zip(found, both, strict=True)]
        are_entities = [place is not None and end.entity for place, end in zip(found, both, strict=True)]
        for place in relation.foreign:
            self._choose_space(place.id, [] if brain else [place])
        space = brain or self._space or self._stem
        for id in ends:
            if not self._tables.has_row(NODES, brain or self._name, id):
                self._tables.insert(
                    NODES, {**placeholder_node(id, plain_only=self._plain), **({BRAIN: brain} if brain else {})}
                )
        row = edge_row(relation, ends, are_entities, space, plain_only=self._plain)
        if not self._tables.insert(EDGES, row):
            row = edge_row(relation, ends, are_entities, space, plain_only=self._plain, id=relation.id)
            if not self._tables.insert(EDGES, row):
                self._write_item(relation)

    # Finishing

    def finish(self) -> Proof:
        """Write postponed rows, the indexes and the proof."""
        for value in self._unknown_rows:
            blob = msgspec.convert(value, Blob)
            if self._tables.create(blob.table, self._schemas.get(blob.table)):
                self._blob(blob)
            else:
                self._write_item(blob)
        for name, schema in self._schemas.items():
            self._tables.create(name, schema)
        for value in self._relations:
            self._relation(msgspec.convert(value, Relation))
        self._finish_schemas()
        self._move_vectors()
        name = self._finish_name()
        end = self._prover.end(alone=True)
        if not self._plain:
            self._write_own(MAIN, name)
            if self._space not in (None, name):
                self._write_own(SPACE, str(self._space))
            self._write_own(END, msgspec.json.encode(end).decode())
        self._db.execute(INDEXES)
        self._db.execute(TEXT)
        self._db.execute("COMMIT")
        return end

    def _move_vectors(self) -> None:
        """Keep vectors that do not fit the model of their brain outside of the traces, where AgentOS ignores them."""
        count = 0
        for vector in self._vectors.remove_others(self._tables):
            self._write_item(vector)
            count += 1
        if count and not self._plain:
            vectors = plural(count, "vector of another size than the others", "vectors of other sizes than the others")
            self._report.note(f"{vectors} kept for memglot only: a brain has vectors of one size")

    def _finish_name(self) -> str:
        """Add missing settings of the main brain, and give it the id it had in the store, or the name of the file."""
        made = []
        for key, text in own_meta(self._db, self._name).items():
            if self._tables.insert(META, {"key": key, "value": text}):
                made.append(key)
        name = self._tables.rename_main(self._names.pop() if len(self._names) == 1 else self._stem)
        row_reader = RowReader(self._space or name)
        for key in made:
            self._write_replacement(self._tables.find_setting(name, key, row_reader), None)
        if name != self._stem:
            self._report.note(
                f"1 brain keeps its id `{name}`; AgentOS finds it in a file named `{name}.sqlite`, or with `brainId`"
            )
        return name

    def _finish_schemas(self) -> None:
        """Keep the schema of each table where a reader would find a different one."""
        found = self._tables.schemas()
        for name, schema in found.items():
            if schema != self._schemas.get(name):
                self._write_replacement(schema, self._schemas.get(name))
        for name, schema in self._schemas.items():
            if name not in found:
                self._write_item(schema)


def _is_readable(blob: Blob) -> bool:
    """Return True for a damaged row of a trace that could be read after all, since its damaged texts are bytes now."""
    if blob.table != TRACES or not any(map(is_binary, blob.row.values())):
        return False
    try:
        return bool(parse_row([column_value(blob.row.get(column)) for column in COLUMNS]).content)
    except BadRecord:
        return False
