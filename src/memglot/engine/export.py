"""Export: records and what rides with them, streamed from a store into a writer."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from memglot.errors import CannotWrite, StoreError
from memglot.formats.detect import format_to_write
from memglot.formats.format import Format, Options
from memglot.formats.proof import Prover
from memglot.formats.target import Target
from memglot.model import Item
from memglot.notes import note_filtered, note_no_match
from memglot.report import Report
from memglot.store.contract import Filter, Store
from memglot.store.items import ALONE, all_items, some_items

STORE = "sqlite"
"""The format that is a store itself."""


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
    if target.path is not None and os.path.exists(target.path) and os.path.exists(store.url):
        if os.path.samefile(target.path, store.url):
            raise CannotWrite(str(target.path), "it is the store itself")
    if format.name == STORE and _asks_for_all(options):
        _copy(store, target, report)
        return format
    whole = replace(options, include_embeddings=options.include_embeddings or format.whole)
    format.write(store_items(store, whole, report), target, report, options.writing)
    if report.end is not None and not report.end.count and not options.filter.is_all:
        report.note(note_no_match())
    return format


def store_items(store: Store, options: ExportOptions, report: Report) -> Iterator[Item]:
    """Everything an export holds: each record with its riders behind it, then what belongs to no record."""
    filter, embeddings = options.filter, options.include_embeddings
    if options.limit is None and filter.is_all:
        return all_items(store, embeddings=embeddings, conversations=filter.with_conversations, sealed=True)
    if alone := sum(store.count_things(kind) for kind in ALONE):
        report.note(note_filtered(alone))
    return some_items(store, filter, options.limit, embeddings=embeddings)


def _asks_for_all(options: ExportOptions) -> bool:
    return options.limit is None and options.filter.is_all and options.filter.with_conversations


def _copy(store: Store, target: Target, report: Report) -> None:
    """Write the store itself, with its history and its log."""
    prover = Prover()
    with target.place() as path:
        try:
            store.copy_to(str(path))
        except StoreError as error:
            raise CannotWrite(str(target.path or "stream"), str(error)) from error
        for record in store.records(Filter(with_deleted=True), sealed=True):
            prover.add(record)
    report.written(prover.end(alone=True))
