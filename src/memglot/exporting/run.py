"""Export: stream records and their attached items from a store to a writer."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

import msgspec

from memglot.arguments import check_choice
from memglot.display import plural
from memglot.errors import CannotWrite, DamagedStore, StoreError
from memglot.exporting.exchange import ToolExchange
from memglot.exporting.partial import readable_items, salvage_for
from memglot.formats.base import STORE, Format, WriteOptions
from memglot.formats.core.audit_chain import blob_of_event, is_audit
from memglot.formats.core.proof import Prover
from memglot.formats.core.target import Target
from memglot.formats.detect import format_to_write
from memglot.model import Blob, Item
from memglot.report import Proof, Report
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Store
from memglot.store.hidden import HiddenScopes, sensitive_scopes
from memglot.store.location import merge_log, open_store
from memglot.store.own_files import store_files
from memglot.store.query import Filter
from memglot.store.sqlite.store import SqliteStore
from memglot.store.stream import UNATTACHED, everything, selected

LEAVE_OUT, INCLUDE = "leave-out", "include"
"""What an export does with sensitive scopes."""


@dataclass(frozen=True)
class ExportOptions:
    """Options of an export."""

    format: str | None = None
    filter: Filter = Filter()
    limit: int | None = None
    include_embeddings: bool = False
    closed: bool = False
    """Whether no note mentions the scopes that are left out."""
    sensitive: str = LEAVE_OUT
    """`leave-out`, or `include` for a caller that encrypts them, or that does not pass them on."""
    follow_scope: bool = False
    """Whether an export of one scope also includes its items that are not memories."""
    graph_first: bool = False
    """Whether entities and their relations come before the records."""
    partial: bool = False
    """Whether what can be read of a damaged store is exported."""
    audit: bool = False
    """Whether the audit chain is exported too."""
    writing: WriteOptions = field(default_factory=WriteOptions)


def export_to(store: Store, target: Target, options: ExportOptions, report: Report) -> tuple[Format, ToolExchange]:
    """Write what the filter selects, ordered by `created_at`, then id.

    Return the format used, and what was written, for the store to remember.
    """
    format = format_to_write(options.format, target.path, options.writing)
    assert format.write is not None
    report.format = format.name
    refuse_own(store, target)
    exchange = ToolExchange(format, options.writing)
    if format.name == STORE and _asks_for_all(options) and store.hidden is None:
        _copy(store, target, report, partial=options.partial)
        return format, exchange
    vectors = options.include_embeddings or format.writing.includes_vectors
    options = replace(options, include_embeddings=vectors, graph_first=format.writing.graph_first)
    if format.name == STORE:
        # A part of a store is a store too, and also says which scopes are sensitive.
        options = replace(options, sensitive=INCLUDE)
        report.inputs.sensitive |= sensitive_scopes(store)
    items = _items(store, options, report)
    if format.writing.includes_audit:
        items = with_audit(store, items, wanted=options.audit)
    format.write(exchange.watch(items), target, report, options.writing)
    exchange.rename(report)
    if report.proof is not None and not report.proof.count and not options.filter.is_all:
        if not store.records.count(options.filter):
            report.note("no memory matches the filter")
    return format, exchange


def _items(store: Store, options: ExportOptions, report: Report) -> Iterator[Item]:
    if not options.partial:
        return store_items(store, options, report)

    def read(found: Store, records: int) -> Iterator[Item]:
        limit = options.limit if options.limit is None else options.limit - records
        return store_items(found, replace(options, limit=limit), report)

    return readable_items(store, read, report)


def refuse_own(store: Store, target: Target) -> None:
    """Raise `CannotWrite` for the file of the store and the files of its database next to it."""
    if target.path is None or not os.path.exists(store.url):
        return
    path = os.path.realpath(target.path)
    is_same = os.path.exists(path) and os.path.samefile(path, store.url)
    if is_same or path in store_files(store):
        raise CannotWrite(str(target.path), "it is the store itself")


def store_items(store: Store, options: ExportOptions, report: Report) -> Iterator[Item]:
    """Yield all items of an export: each record with its attached items, then those that belong to no record."""
    filter, embeddings = options.filter, options.include_embeddings
    check_choice("sensitive", options.sensitive, (LEAVE_OUT, INCLUDE))
    marked = sensitive_scopes(store) if options.sensitive == LEAVE_OUT else frozenset()
    left_out = HiddenScopes(store, marked) if marked else None
    scope = filter.scope[0] if options.follow_scope and len(filter.scope) == 1 else None
    if options.limit is None and (filter.is_all or scope is not None and filter == _scope_alone(filter)):
        talk = filter.with_conversations
        items = everything(
            store,
            embeddings=embeddings,
            conversations=talk,
            with_digest=True,
            scope=scope,
            hidden=left_out,
            graph_first=options.graph_first,
        )
        filter = msgspec.structs.replace(filter, with_deleted=True)
    else:
        if alone := sum(store.things.count(kind) for kind in UNATTACHED):
            report.note(
                f"left out {plural(alone, 'other item')}: a filtered export has only memories and their relations"
            )
        items = selected(store, filter, options.limit, embeddings=embeddings, hidden=left_out)
    return items if left_out is None or options.closed else _with_note(items, filter, left_out, report)


def with_audit(store: Store, items: Iterator[Item], *, wanted: bool) -> Iterator[Item]:
    """Yield the items with all audit rows, those of the store and of imported files; or without any.

    A row about something in a sensitive scope gets an owner, which tells a writer to encrypt it.
    """
    for item in items:
        if not (isinstance(item, Blob) and is_audit(item)):
            yield item
    if not wanted:
        return
    marked = sensitive_scopes(store)
    left_out = HiddenScopes(store, marked) if marked else None
    rows = chain(
        map(blob_of_event, store.history.events()), (blob for blob in store.things.select(Blob) if is_audit(blob))
    )
    while batch := list(islice(rows, BATCH_SIZE)):
        strings = {blob.key: set(_strings(blob.row)) for blob in batch}
        hidden = left_out.ids(sorted(set().union(*strings.values()))) if left_out is not None else set()
        for blob in batch:
            # The digest of an import would let anybody test guesses about its content.
            secret = left_out is not None and (
                blob.row.get("action") == "import" or not hidden.isdisjoint(strings[blob.key])
            )
            yield msgspec.structs.replace(blob, owner="sensitive") if secret else blob


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _scope_alone(filter: Filter) -> Filter:
    """Return a filter that selects only by scope."""
    return Filter(scope=filter.scope, with_deleted=filter.with_deleted, with_conversations=filter.with_conversations)


def _with_note(items: Iterator[Item], filter: Filter, left_out: HiddenScopes, report: Report) -> Iterator[Item]:
    """Yield the items, and then add a note about what was left out."""
    yield from items
    left_out.report_left_out(report, filter)


def _asks_for_all(options: ExportOptions) -> bool:
    return options.limit is None and options.filter.is_all and options.filter.with_conversations


def _copy(store: Store, target: Target, report: Report, *, partial: bool) -> None:
    """Copy the store itself, with its history and its log."""
    with target.place() as path:
        try:
            store.copy_to(str(path))
            report.proof = _proof_of(store)
        except DamagedStore:
            if not partial or not isinstance(store, SqliteStore):
                raise
            path.unlink(missing_ok=True)
            salvage_for(store, path, report)
            merge_log(path)
            copy = open_store(str(path), write=False)
            try:
                report.proof = _proof_of(copy)
            finally:
                copy.close()
        except StoreError as error:
            raise CannotWrite(str(target.path or "stream"), str(error)) from error


def _proof_of(store: Store) -> Proof:
    prover = Prover()
    for record in store.records.select(Filter(with_deleted=True), with_digest=True):
        prover.add(record)
    return prover.end(alone=True)
