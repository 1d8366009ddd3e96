"""Back up a store, and replace it with a backup."""

import os
from collections.abc import Callable
from pathlib import Path

from memglot.errors import CannotWrite, DamagedStore, NotAStore, StoreError, TargetExists, Unreadable
from memglot.exporting.verify import verify_store
from memglot.files import replace_database, sqlite_files
from memglot.formats.sqlite import is_store
from memglot.merging.conflict_files import write_conflict_files
from memglot.store.contract import Store
from memglot.store.location import merge_log, open_store, store_file


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
