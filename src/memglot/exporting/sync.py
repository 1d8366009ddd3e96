"""Sync machines with memories.json: export it, and show what importing one would change."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from memglot.arguments import parse_size
from memglot.disk import DiskList
from memglot.display import shorten
from memglot.errors import GIVE_PASSPHRASE, NoPassphrase, UsageError
from memglot.exporting.run import INCLUDE, LEAVE_OUT, ExportOptions, export_to
from memglot.formats import registry
from memglot.formats.base import Format, ReadOptions, WriteOptions
from memglot.formats.core.audit_chain import is_audit
from memglot.formats.core.carry import KEY
from memglot.formats.core.read import read_inputs
from memglot.formats.core.sidecar import kind_name
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.formats.syntax.json_sections import sections
from memglot.formats.syntax.json_shape import first_keys
from memglot.importing.access import refuse_hidden_records
from memglot.merging.records import merge_records
from memglot.merging.things import merge_things
from memglot.model import FIELDS, Blob, Conflict, Document, Entity, Record, Thing, Tombstone
from memglot.report import Report, SourceReport
from memglot.settings import BATCH_SIZE, Passphrase
from memglot.store.contract import Store
from memglot.store.hidden import HiddenScopes, complete, sensitive_scopes
from memglot.store.query import Filter

FORMAT, V5 = "memories-json", "mcp-memory-v5"


def sync_export(
    store: Store,
    target: Target,
    report: Report,
    *,
    scope: str | None = None,
    audit: bool = False,
    embeddings: bool = False,
    passphrase: Passphrase = None,
    plaintext: bool = False,
    v5: bool = False,
    chunk_size: int = 5,
) -> Format:
    """Write memories.json; sensitive scopes need a passphrase to be encrypted with, or `plaintext`.

    Scopes that are hidden from the caller are written only encrypted, and no note mentions them.
    """
    if v5 and audit:
        raise UsageError("the format of mcp-memory-service cannot store an audit chain", "omit `--include-audit-chain`")
    closed = store.hidden is not None
    if not (plaintext or v5):
        store = complete(store)
    marked = sensitive_scopes(store)
    secret = sorted(_in_use(store, marked if scope is None else marked & {scope}))
    if secret and not (plaintext or v5):
        passphrase = passphrase() if callable(passphrase) else passphrase
        if not passphrase:
            raise _no_passphrase(secret, hidden=closed)
    target.force = target.force or wrote(target.path)
    encrypting = bool(secret and not plaintext and not v5)
    options = ExportOptions(
        format=V5 if v5 else FORMAT,
        filter=Filter(scope=() if scope is None else (scope,)),
        include_embeddings=embeddings,
        closed=closed,
        sensitive=INCLUDE if encrypting or plaintext else LEAVE_OUT,
        follow_scope=True,
        audit=audit,
        writing=WriteOptions(
            passphrase=passphrase if encrypting else None,
            plaintext=plaintext,
            encrypted_scopes=marked,
            only_scope=scope,
            chunk_size=chunk_size,
            store_name=_shown(store.url),
            closed=closed,
        ),
    )
    return export_to(store, target, options, report)[0]


def _in_use(store: Store, scopes: frozenset[str]) -> Iterator[str]:
    """Return the scopes that have memories, entities, identities or deletions."""
    if not scopes:
        return
    found = {name for name, _ in store.records.count_by("scope", Filter(with_deleted=True))} & scopes
    if found != scopes:
        found |= {thing.scope for thing in store.things.select(Entity)} & scopes
        found |= {thing.scope for thing in store.things.select(Document)} & scopes
        found |= {thing.scope for thing in store.things.select(Tombstone)} & scopes
    yield from found


def wrote(path: Path | None) -> bool:
    """Return True if a file is a memories.json by memglot, which the next export may replace."""
    if path is None or not path.is_file():
        return False
    source = Source.file(path)
    try:
        if next(iter(first_keys(source.head)), None) != "export_metadata":
            return False
        key, _, value = next(sections(source, SourceReport(), msgspec.json.decode), ("", b"", None))
        own = value.get(KEY) if isinstance(value, dict) else None
        return key == "export_metadata" and isinstance(own, dict) and "version" in own
    finally:
        source.close()


def _shown(url: str) -> str:
    """Return a store's path as a file may show it: relative to the user's home, otherwise only its name."""
    home = os.path.expanduser("~")
    if url.startswith(home + os.sep):
        return "~" + url[len(home) :].replace(os.sep, "/")
    return os.path.basename(url)


class RemoteDiff:
    """What importing a file would change, by the ids of memories; the lists are on disk."""

    def __init__(self) -> None:
        self.new: DiskList[str] = DiskList()
        self.updates: DiskList[dict[str, Any]] = DiskList()
        self.conflicts: DiskList[dict[str, Any]] = DiskList()
        self.unchanged: DiskList[str] = DiskList()
        self.ahead: DiskList[dict[str, Any]] = DiskList()
        """Memories that are newer here than in the file; importing it does not change them."""
        self.deletes: DiskList[str] = DiskList()
        """Memories that were deleted there, and would be deleted here."""
        self.deleted: DiskList[str] = DiskList()
        """Memories that were deleted here, and stay deleted."""
        self.others: Counter[str] = Counter()
        """Number of entities, relations and other items that would be added or changed, by kind."""
        self.remote_total = 0
        self.report = Report()

    @property
    def exit_code(self) -> int:
        """0 success; 1 errors, but something was compared; 2 errors and nothing compared."""
        return 0 if not len(self.report.errors) else 1 if self.remote_total else 2

    def value(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        names = ("new", "updates", "conflicts", "unchanged", "ahead", "deletes", "deleted")
        found = {name: getattr(self, name) for name in names}
        found |= {"others": dict(self.others), "remote_total": self.remote_total, "failed": self.report.failed}
        return {**found, "errors": self.report.errors, "notes": self.report.notes}


def diff_with_remote(
    store: Store,
    path: str | Path,
    report: Report,
    *,
    passphrase: Passphrase = None,
    max_record: int | str | None = None,
) -> RemoteDiff:
    """Return what `sync import` of a file would change."""
    options = ReadOptions(passphrase=passphrase, max_record=parse_size(max_record))
    found = RemoteDiff()
    found.report = report
    items = ((item, place.source) for item, place in read_inputs([path], registry.get(FORMAT), report, options))
    while batch := list(islice(items, BATCH_SIZE)):
        records = [item for item, _ in batch if isinstance(item, Record)]
        things: list[Thing] = [item for item, _ in batch if not isinstance(item, Record)]
        if (view := store.hidden) is not None:
            sources = [source for item, source in batch if isinstance(item, Record)]
            hidden = HiddenScopes(view.store, view.scopes | report.inputs.sensitive)
            records, things = refuse_hidden_records(hidden, records, things, report, sources)
        _compare_records(found, store, records)
        _compare_things(found, store, things)
        report.tick()
    return found


def _compare_records(found: RemoteDiff, store: Store, records: list[Record]) -> None:
    ids = [record.id for record in records]
    there = {record.id: record for record in store.records.get(ids)}
    dead = {tombstone.id: tombstone for tombstone in store.things.select(Tombstone, ids)}
    known: dict[str, list[Conflict]] = {}
    for conflict in store.things.select(Conflict, ids):
        known.setdefault(conflict.record, []).append(conflict)
    for record in records:
        found.remote_total += 1
        _compare(found, there.get(record.id), record, dead.get(record.id), known.get(record.id, []))


def _compare_things(found: RemoteDiff, store: Store, things: list[Thing]) -> None:
    things = [
        thing
        for thing in things
        if not isinstance(thing, Conflict)
        and not (isinstance(thing, Blob) and is_audit(thing) and store.history.has_event(thing.key))
    ]
    changes = merge_things(store, things, "merge")
    alive = store.records.known([thing.id for thing in changes.put if isinstance(thing, Tombstone)])
    for thing in (*changes.put, *changes.removed):
        if isinstance(thing, Tombstone) and thing.id in alive:
            found.deletes.append(thing.id)
        else:
            found.others[kind_name(thing)] += 1


def _has_value(remote: Record, field: str) -> bool:
    """Return True unless the field is a time of a record without times."""
    return bool(remote.updated_at) or field not in ("created_at", "updated_at", "clocks")


def _compare(
    found: RemoteDiff, local: Record | None, remote: Record, dead: Tombstone | None, known: list[Conflict]
) -> None:
    if local is None:
        gone = dead is not None and dead.deleted_at >= remote.updated_at
        (found.deleted if gone else found.new).append(remote.id)
        return
    merged, conflicts = merge_records(local, remote, "merge", known)
    taken = [field for field in FIELDS if getattr(merged, field) != getattr(local, field)]
    fresh = sorted({one.field for one in conflicts if one not in known})
    if fresh:
        found.conflicts.append({"id": local.id, "fields": fresh})
    elif taken:
        found.updates.append({"id": local.id, "fields": taken})
    elif kept := [
        field for field in FIELDS if getattr(merged, field) != getattr(remote, field) and _has_value(remote, field)
    ]:
        found.ahead.append({"id": local.id, "fields": kept})
    else:
        found.unchanged.append(local.id)


def _no_passphrase(scopes: Sequence[str], *, hidden: bool) -> NoPassphrase:
    if hidden:
        # A caller from whom the scopes are hidden does not learn their names.
        return NoPassphrase(
            "there are sensitive scopes, and no passphrase was given to encrypt them with",
            "`memglot mcp --passphrase-file FILE` or `$MEMGLOT_PASSPHRASE` gives the server one; a `scope` that is "
            "not sensitive needs none",
        )
    names = ", ".join(f"`{shorten(scope)}`" for scope in scopes[:5]) + (", ..." if len(scopes) > 5 else "")
    noun, verb, them = ("scope", "is", "it") if len(scopes) == 1 else ("scopes", "are", "them")
    return NoPassphrase(
        f"the {noun} {names} {verb} sensitive, and no passphrase was given to encrypt {them} with",
        f"{GIVE_PASSPHRASE}; `--plaintext` writes {them} unencrypted",
    )
