"""Sync: memories.json between machines: what goes out, what a file would change, and what it is sealed with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from memglot.engine.export import INCLUDE, LEAVE_OUT, ExportOptions, export_to
from memglot.engine.merge import merge_records
from memglot.errors import NoPassphrase
from memglot.formats import registry
from memglot.formats.carry import KEY
from memglot.formats.format import Format, Options
from memglot.formats.reading import read_inputs
from memglot.formats.source import Source
from memglot.formats.target import Target
from memglot.model import FIELDS, Record, Tombstone
from memglot.report import Report, Spool
from memglot.settings import BATCH_SIZE, Passphrase
from memglot.store.contract import Filter, Store
from memglot.store.sensitive import sensitive_scopes

FORMAT, V5 = "memories-json", "mcp-memory-v5"
_WROTE = f'"{KEY}"'.encode()


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
    """Write memories.json. Sensitive scopes are sealed; without a passphrase that is refused, unless `plaintext`."""
    marked = sensitive_scopes(store)
    asked = marked if scope is None else marked & {scope}
    secret = {name for name, _ in store.scopes(Filter(with_deleted=True)) if name in asked}
    if secret and not (plaintext or v5):
        passphrase = passphrase() if callable(passphrase) else passphrase
        if not passphrase:
            raise NoPassphrase(sorted(secret))
    target.force = target.force or wrote(target.path)
    sealing = bool(secret and passphrase and not plaintext and not v5)
    options = ExportOptions(
        format=V5 if v5 else FORMAT,
        filter=Filter(scope=scope),
        include_embeddings=embeddings,
        sensitive=LEAVE_OUT if v5 and not plaintext else INCLUDE,
        follow_scope=True,
        audit=audit,
        writing=Options(
            passphrase=passphrase if sealing else None,
            plaintext=plaintext,
            sealed_scopes=marked,
            only_scope=scope,
            chunk_size=chunk_size,
            store_name=_shown(store.url),
        ),
    )
    return export_to(store, target, options, report)


def wrote(path: Path | None) -> bool:
    """Tell whether a file is a memories.json of this tool's, which the next export may replace."""
    if path is None or not path.is_file():
        return False
    source = Source.file(path)
    try:
        return registry.get(FORMAT).recognise(source.head) and _WROTE in source.head  # type: ignore[misc]
    finally:
        source.close()


def _shown(url: str) -> str:
    """A store's place as a file may tell it: within the home of its user, else by its name alone."""
    home = os.path.expanduser("~")
    if url.startswith(home + os.sep):
        return "~" + url[len(home) :].replace(os.sep, "/")
    return os.path.basename(url)


class RemoteDiff:
    """What importing a file would change, by the ids of memories. Lists are read from disk, never held."""

    def __init__(self) -> None:
        self.new: Spool[str] = Spool()
        self.updates: Spool[dict[str, Any]] = Spool()
        self.conflicts: Spool[dict[str, Any]] = Spool()
        self.unchanged: Spool[str] = Spool()
        self.ahead: Spool[dict[str, Any]] = Spool()
        """What is newer here than in the file: importing it changes nothing about these."""
        self.deleted: Spool[str] = Spool()
        """What was deleted here, and stays so."""
        self.remote_total = 0
        self.report = Report()

    @property
    def exit_code(self) -> int:
        """0 compared; 1 errors, but something could be compared; 2 errors and nothing could."""
        return 0 if not len(self.report.errors) else 1 if self.remote_total else 2

    def value(self) -> dict[str, Any]:
        """The result as its JSON shows it."""
        names = ("new", "updates", "conflicts", "unchanged", "ahead", "deleted")
        found = {name: getattr(self, name) for name in names}
        found |= {"remote_total": self.remote_total, "failed": self.report.failed}
        return {**found, "errors": self.report.errors, "notes": self.report.notes}


def diff_with_remote(store: Store, path: str | Path, options: Options, report: Report) -> RemoteDiff:
    """What `sync import` of a file would do, without doing it."""
    found = RemoteDiff()
    found.report = report
    records = _records(path, options, report)
    while batch := list(islice(records, BATCH_SIZE)):
        ids = [record.id for record in batch]
        there = {record.id: record for record in store.get(ids)}
        dead = {tombstone.id: tombstone for tombstone in store.things(Tombstone, ids)}
        for record in batch:
            found.remote_total += 1
            _compare(found, there.get(record.id), record, dead.get(record.id))
        report.tick()
    return found


def _records(path: str | Path, options: Options, report: Report) -> Iterator[Record]:
    for item in read_inputs([path], registry.get(FORMAT), report, options):
        if isinstance(item, Record):
            report.read += 1
            yield item


def _compare(found: RemoteDiff, local: Record | None, remote: Record, dead: Tombstone | None) -> None:
    if local is None:
        gone = dead is not None and dead.deleted_at >= remote.updated_at
        (found.deleted if gone else found.new).append(remote.id)
        return
    merged, conflicts = merge_records(local, remote)
    taken = [field for field in FIELDS if getattr(merged, field) != getattr(local, field)]
    if conflicts:
        found.conflicts.append({"id": local.id, "fields": sorted({conflict.field for conflict in conflicts})})
    elif taken:
        found.updates.append({"id": local.id, "fields": taken})
    elif kept := [field for field in FIELDS if getattr(merged, field) != getattr(remote, field)]:
        found.ahead.append({"id": local.id, "fields": kept})
    else:
        found.unchanged.append(local.id)
