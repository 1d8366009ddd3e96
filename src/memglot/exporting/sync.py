"""Sync machines with memories.json: export it, and show what importing one would change."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from memglot.arguments import parse_size
from memglot.disk import DiskList
from memglot.display import plural, shorten
from memglot.errors import GIVE_PASSPHRASE, CannotWrite, NoPassphrase, TargetExists, UnseenFile, UsageError
from memglot.exporting.run import INCLUDE, LEAVE_OUT, ExportOptions, export_to, refuse_own
from memglot.exporting.sync_file import (
    ATTEMPTS,
    FORMAT,
    V5,
    Changed,
    FileFacts,
    FileState,
    NothingNew,
    Replacement,
    facts_of,
    fingerprint,
)
from memglot.files import folder_lock
from memglot.formats import registry
from memglot.formats.base import Format, ReadOptions, WriteOptions
from memglot.formats.core.audit_chain import is_audit
from memglot.formats.core.read import read_inputs
from memglot.formats.core.sidecar import kind_name
from memglot.formats.core.target import Target
from memglot.importing.access import refuse_hidden_records
from memglot.merging.records import merge_records
from memglot.merging.things import merge_things
from memglot.model import FIELDS, Blob, Conflict, Document, Entity, Item, Record, Thing, Tombstone
from memglot.report import Report
from memglot.settings import BATCH_SIZE, Passphrase
from memglot.store.contract import Store
from memglot.store.hidden import HiddenScopes, complete, sensitive_scopes
from memglot.store.query import Filter


def sync_export(
    store: Store, target: Target, report: Report, *, passphrase: Passphrase = None, v5: bool = False, **options: Any
) -> tuple[Format, bool]:
    """Write memories.json, with the options of `write_sync_file`; return the format, and False if nothing is new.

    A file that contains what the store has not seen is not replaced, unless `target.force` is set.
    """
    if callable(passphrase):
        passphrase = cache(passphrase)
    path = target.path
    if path is None or target.force or target.is_special() or path.is_symlink() and not path.exists():
        return write_sync_file(store, target, report, passphrase=passphrase, v5=v5, **options), True
    refuse_own(store, target)
    with folder_lock(path.resolve().parent):
        for _ in range(ATTEMPTS):
            with closing(FileState()) as state:
                replacement = _seen(store, target, passphrase, state)
                replacement.format = V5 if v5 else FORMAT
                target.before_replacing = replacement.check
                target.force = replacement.facts.exists
                try:
                    return write_sync_file(store, target, report, passphrase=passphrase, v5=v5, **options), True
                except NothingNew:
                    return registry.get(replacement.format), False
                except Changed:
                    continue
    raise keeps_changing(path)


def _seen(store: Store, target: Target, passphrase: Passphrase, state: FileState) -> Replacement:
    """Raise `UnseenFile` if a file contains what the store has not seen; return the check of its replacement."""
    path = target.path
    assert path is not None
    before = fingerprint(path)
    try:
        facts = facts_of(path)
    except UsageError:
        raise TargetExists(str(path)) from None
    if facts.exists:
        if not facts.is_ours:
            raise UnseenFile(str(path), "already exists, and memglot did not write it")
        check_passphrase(path, facts, passphrase)
        found = diff_with_remote(complete(store), path, Report(), passphrase=passphrase, watch=state.add)
        if reason := _unseen(found, closed=store.hidden is not None):
            raise UnseenFile(str(path), reason)
    return Replacement(target, facts, before, state, ReadOptions(passphrase=passphrase), reads_back=facts.exists)


def _unseen(found: RemoteDiff, *, closed: bool) -> str:
    """Return why a file cannot be replaced; empty if the store has seen everything in it."""
    for fault in found.report.faults():
        return f"cannot be read completely: {fault.error}"
    count = len(found.new) + len(found.updates) + len(found.conflicts) + len(found.deletes) + found.others.total()
    # A caller from whom scopes are hidden does not learn how much is in them.
    number = "memories or edits" if closed else plural(count, "memory or edit", "memories or edits")
    return f"contains {number} that this store has not seen" if count else ""


def check_passphrase(path: Path, facts: FileFacts, passphrase: Passphrase) -> None:
    """Raise `NoPassphrase` for an encrypted file without a passphrase."""
    if facts.is_encrypted and not (passphrase() if callable(passphrase) else passphrase):
        raise NoPassphrase(f"`{path}` is encrypted, and no passphrase was given to read it with", GIVE_PASSPHRASE)


def keeps_changing(path: Path) -> CannotWrite:
    """Return the error for a file that somebody else changes all the time."""
    return CannotWrite(str(path), f"it changed {ATTEMPTS} times while it was read; try again later")


def write_sync_file(
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
    """Write memories.json over what is there; sensitive scopes need a passphrase to be encrypted with, or `plaintext`.

    Scopes that are hidden from the caller are written only encrypted, and no note mentions them.
    """
    if v5 and audit:
        raise UsageError("the format of mcp-memory-service cannot store an audit chain", "omit `--include-audit-chain`")
    closed = store.hidden is not None
    encrypting = False
    if not (plaintext or v5):
        store = complete(store)
        if encrypting := bool(secret := _sensitive_in_use(store, scope)):
            passphrase = passphrase() if callable(passphrase) else passphrase
            if not passphrase:
                raise _no_passphrase(secret, hidden=closed)
    marked = sensitive_scopes(store)
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


def require_passphrase(store: Store, passphrase: Passphrase, scope: str | None = None) -> None:
    """Raise `NoPassphrase` if a store, or a scope of it, cannot be written without a passphrase and there is none."""
    secret = _sensitive_in_use(store, scope)
    if secret and not (passphrase() if callable(passphrase) else passphrase):
        raise _no_passphrase(secret, hidden=False, plaintext=False)


def _sensitive_in_use(store: Store, scope: str | None) -> list[str]:
    marked = sensitive_scopes(store)
    return sorted(_in_use(store, marked if scope is None else marked & {scope}))


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
    watch: Callable[[Item], object] | None = None,
) -> RemoteDiff:
    """Return what `sync import` of a file would change; `watch` is called with each of its items."""
    options = ReadOptions(passphrase=passphrase, max_record=parse_size(max_record))
    found = RemoteDiff()
    found.report = report
    items = ((item, place.source) for item, place in read_inputs([path], registry.get(FORMAT), report, options))
    while batch := list(islice(items, BATCH_SIZE)):
        if watch is not None:
            for item, _ in batch:
                watch(item)
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


def _no_passphrase(scopes: Sequence[str], *, hidden: bool, plaintext: bool = True) -> NoPassphrase:
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
        GIVE_PASSPHRASE + (f"; `--plaintext` writes {them} unencrypted" if plaintext else ""),
    )
