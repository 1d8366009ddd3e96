"""Statistics, health checks and backups of a store."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memglot.errors import CannotWrite, DamagedStore, NotAStore, StoreError, TargetExists, Unreadable
from memglot.exporting.verify import Verdict, verify_store
from memglot.files import replace_database, sqlite_files
from memglot.formats.sqlite import is_store
from memglot.merging.conflict_files import write_conflict_files
from memglot.model import DELETED, THINGS
from memglot.store.contract import Store
from memglot.store.location import merge_log, open_store, store_file
from memglot.store.query import Filter, Query


def stats(store: Store) -> dict[str, Any]:
    """Return statistics about the store."""
    kinds: dict[str, int] = {}
    scopes: dict[str, int] = {}
    tags: dict[str, int] = {}
    for record in store.records.select():
        kinds[record.kind] = kinds.get(record.kind, 0) + 1
        scopes[record.scope] = scopes.get(record.scope, 0) + 1
        for tag in record.tags:
            tags[tag] = tags.get(tag, 0) + 1
    things = {name: store.things.count(kind) for name, kind in THINGS.items()}
    every = Filter(with_deleted=True)
    with_vector = store.vectors.count(Query(), every)
    vectors = {
        "model": store.vectors.state().model,
        "count": with_vector,
        "missing": store.records.count(every) - with_vector,
    }
    size = os.path.getsize(store.url) if os.path.exists(store.url) else 0
    return {
        "store": store.url,
        "bytes": size,
        "memories": sum(kinds.values()),
        "deleted_in_source": store.records.count(Filter(status=(DELETED,))),
        "kinds": _most_common(kinds),
        "scopes": _most_common(scopes),
        "tags": _most_common(tags),
        "things": {name: count for name, count in things.items() if count},
        "vectors": vectors,
        "imports": sum(1 for _ in store.history.imports()),
        "events": store.history.count_events(),
    }


def _most_common(counts: dict[str, int]) -> dict[str, int]:
    """Return the twenty most common, most common first."""
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:20])


def doctor(store: Store, *, fix: bool) -> Verdict:
    """Check the store; with `fix`, first rebuild what can be rebuilt from the records."""
    if fix:
        store.repair()
    return verify_store(store)


def backup(store: Store, path: Path, *, force: bool = False) -> int:
    """Write a copy of the store to a path, replaced only when the copy is complete; return its size."""
    if path.exists():
        if not force or (os.path.exists(store.url) and os.path.samefile(path, store.url)):
            raise TargetExists(str(path))
        merge_log(path)
    _copy(store, path)
    return path.stat().st_size


def restore(
    path: Path | str, url: str | None = None, *, force: bool = False, tell: Callable[[str], object] | None = None
) -> tuple[Path, int]:
    """Replace the store with a backup; the present store is kept next to it as `<name>.before-restore`.

    Return the path of the store and the number of its memories. `tell` is called with each note.
    """
    path = Path(path)
    store_path = store_file(url)
    if not path.exists():
        raise Unreadable(str(path), "no such file")
    if not is_store(path):
        raise NotAStore(str(path), "it is not a database, or belongs to another program")
    if store_path.exists() and (not force or os.path.samefile(path, store_path)):
        raise TargetExists(str(store_path))
    backup_store = open_store(str(path), write=False)
    try:
        verdict = verify_store(backup_store)
        if verdict.problems:
            raise NotAStore(str(path), verdict.problems[0])
        _copy(backup_store, store_path, before=lambda: _set_aside(store_path))
        count = backup_store.records.count()
    finally:
        backup_store.close()
    for note in _rewrite_conflict_files(store_path):
        if tell is not None:
            tell(note)
    return store_path, count


def _rewrite_conflict_files(store_path: Path) -> list[str]:
    """Replace the conflict files of the previous store with those of the restored one."""
    store = open_store(str(store_path), write=False)
    try:
        write_conflict_files(store)
        return store.notes
    finally:
        store.close()


def _copy(store: Store, path: Path, before: Callable[[], None] | None = None) -> None:
    """Write a complete copy next to a path, call `before`, then move it there."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    with replace_database(path, temporary=part, before=before):
        try:
            store.copy_to(str(part))
        except StoreError as error:
            raise CannotWrite(str(path), str(error)) from error


def _set_aside(store_path: Path) -> None:
    """Keep the files of the present store, if there is one, under another name."""
    if store_path.exists():
        try:
            merge_log(store_path)
        except (DamagedStore, NotAStore):
            # It cannot be used, but its files may still contain something to recover.
            pass
    number = 1
    aside = store_path.name + ".before-restore"
    while any(file.exists() for file in sqlite_files(store_path.with_name(aside))):
        number += 1
        aside = f"{store_path.name}.before-restore-{number}"
    for file, kept in zip(sqlite_files(store_path), sqlite_files(store_path.with_name(aside)), strict=True):
        if file.exists():
            os.replace(file, kept)
