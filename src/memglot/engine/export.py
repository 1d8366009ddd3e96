"""Export: records and what rides with them, streamed from a store into a writer."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

from memglot.formats.detect import format_to_write
from memglot.formats.format import Format, Options
from memglot.formats.target import Target
from memglot.model import (
    Blob,
    Conflict,
    Document,
    Embedding,
    Entity,
    Item,
    Record,
    Relation,
    Supersession,
    Thing,
    Tombstone,
)
from memglot.notes import note_filtered, note_no_match
from memglot.report import Report
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Filter, Store

_RIDING: tuple[type[Thing], ...] = (Relation, Supersession, Conflict)
_ALONE: tuple[type[Thing], ...] = (Entity, Document, Blob, Tombstone)


@dataclass(frozen=True)
class ExportOptions:
    """What a caller may ask of an export."""

    format: str | None = None
    filter: Filter = Filter()
    limit: int | None = None
    include_embeddings: bool = False
    writing: Options = field(default_factory=Options)


def export_to(store: Store, target: Target, options: ExportOptions, report: Report) -> Format:
    """Write what the filter selects, by `created_at`, then id. Returns the format that was used."""
    format = format_to_write(options.format, target.path, options.writing)
    assert format.write is not None
    report.format = format.name
    format.write(store_items(store, options, report), target, report, options.writing)
    if report.end is not None and not report.end.count and not options.filter.is_all:
        report.note(note_no_match())
    return format


def store_items(store: Store, options: ExportOptions, report: Report) -> Iterator[Item]:
    """Everything an export holds: each record with its riders behind it, then what belongs to no record."""
    everything = options.filter.is_all and options.limit is None
    filter = Filter(with_deleted=True) if everything else options.filter
    riding = [kind for kind in _RIDING if store.count_things(kind)]
    if options.include_embeddings and store.count_things(Embedding):
        riding.append(Embedding)
    records: Iterator[Item] = store.records(filter, limit=options.limit, sealed=True)
    if riding:
        records = _with_riders(store, records, riding)
    if everything:
        return chain(records, *(store.things(kind) for kind in _ALONE), _ownerless(store, riding))
    if alone := sum(store.count_things(kind) for kind in _ALONE):
        report.note(note_filtered(alone))
    return records


def _with_riders(store: Store, records: Iterator[Item], riding: list[type[Thing]]) -> Iterator[Item]:
    while batch := list(islice(records, BATCH_SIZE)):
        ids = [record.id for record in batch if isinstance(record, Record)]
        found: dict[str, list[Thing]] = {}
        for kind in riding:
            for thing in store.things(kind, ids):
                found.setdefault(_owner(thing), []).append(thing)
        for record in batch:
            assert isinstance(record, Record)
            yield record
            yield from found.get(record.id, ())


def _ownerless(store: Store, riding: list[type[Thing]]) -> Iterator[Item]:
    """What would ride with a record that is not there rides with nobody."""
    for kind in riding:
        for thing in store.things(kind):
            if not store.known([_owner(thing)]):
                yield thing


def _owner(thing: Thing) -> str:
    if isinstance(thing, Relation):
        return thing.subject.id
    if isinstance(thing, Supersession):
        return thing.newer
    assert isinstance(thing, (Embedding, Conflict))
    return thing.record
