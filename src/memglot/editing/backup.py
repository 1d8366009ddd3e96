"""Back up a store, and replace it with a backup."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from memglot.editing.rotation import new_path, parse_keep, remove_old
from memglot.errors import (
    CannotWrite,
    DamagedStore,
    FailedDisk,
    NotAStore,
    StoreError,
    TargetExists,
    Unreadable,
    UsageError,
)
from memglot.exporting.verify import verify_store
from memglot.files import is_unreadable, replace_database, replace_file, sqlite_files
from memglot.formats.sqlite import is_store
from memglot.merging.conflict_files import write_conflict_files
from memglot.store.contract import Store
from memglot.store.location import merge_log, open_store, store_file

_HEADER = 100
"""Size of the header of a SQLite database, in bytes."""
_BLOCK = 1 << 20


class Backup(msgspec.Struct):
    """A backup that was written, and the older ones that were removed."""

    path: Path
    bytes: int
    memories: int
    removed: list[Path] = []
    notes: list[str] = []

    def value(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        removed = [str(path) for path in self.removed]
        return {
            "path": str(self.path),
            "bytes": self.bytes,
            "memories": self.memories,
            "removed": removed,
            "notes": self.notes,
        }


def backup(store: Store, path: Path, *, force: bool = False, keep: str | None = None) -> Backup:
    """Write a verified copy of the store to a file, or to a new file in a folder.

    With `keep`, such as `7d,4w,12m`, the path is a folder, in which older backups that need not be kept are removed.
    """
    wanted = parse_keep(keep) if keep is not None else {}
    if wanted and path.exists() and not path.is_dir():
        raise UsageError(f"`{path}` is a file", "name the folder of the backups with `--keep`")
    folder = path if wanted or path.is_dir() else None
    if folder is not None:
        path = new_path(folder, store.url)
    elif path.exists():
        if not force or (os.path.exists(store.url) and os.path.samefile(path, store.url)):
            raise TargetExists(str(path))
        merge_log(path)
    with replace_database(path) as new:
        _copy(store, new, path)
        count = _verified_count(new, store, path)
    result = Backup(path, path.stat().st_size, count)
    if wanted and folder is not None:
        result.removed, result.notes = remove_old(path, store.url, wanted)
    return result


def _verified_count(new: Path, store: Store, path: Path) -> int:
    """Verify a copy, and return the number of its memories."""
    copy = open_store(str(new), write=False)
    try:
        verdict = verify_store(copy)
    finally:
        copy.close()
    if verdict.problems:
        raise _damaged(store, verdict.problems[0], path)
    return verdict.count


def _damaged(store: Store, reason: str, path: Path) -> DamagedStore:
    """Return the error for a store that cannot be backed up."""
    error = DamagedStore(store.url, reason)
    error.hint = (
        f"nothing was written to `{path}`; `memglot doctor --fix` rebuilds indexes, and `memglot doctor --salvage OUT` "
        "copies what can be read to a new store"
    )
    return error


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
        if verdict.problems and is_unreadable(path):
            raise FailedDisk(str(path))
        if verdict.problems:
            raise NotAStore(str(path), verdict.problems[0])
        with replace_database(store_path, before=lambda: _set_aside(store_path, new)) as new:
            _copy(backup_store, new, store_path)
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


def _copy(store: Store, new: Path, path: Path) -> None:
    """Write a complete copy under a temporary name; `path` is the name that it will get."""
    try:
        store.copy_to(str(new))
    except DamagedStore as error:
        raise _damaged(store, error.reason, path) from error
    except StoreError as error:
        raise CannotWrite(str(path), str(error)) from error


def _set_aside(store_path: Path, new: Path) -> None:
    """Give the files of the present store, if there is one, a second name.

    The store keeps its own name until it is replaced, so that a killed restore never leaves a folder without a store.
    """
    if store_path.exists():
        try:
            merge_log(store_path)
        except (DamagedStore, NotAStore):
            # It cannot be used, but its files may still contain something to recover.
            pass
        if _is_copy(store_path, new):
            # Nothing would be lost. A killed restore is repeated.
            return
    kept = _free_name(store_path)
    if store_path.exists() and not kept.exists():
        _link_or_copy(store_path, kept)
    for log, kept_log in zip(sqlite_files(store_path)[1:], sqlite_files(kept)[1:], strict=True):
        if log.exists():
            os.replace(log, kept_log)


def _is_copy(store_path: Path, new: Path) -> bool:
    """Return True if a store without logs differs from a new one only in the header, which counts changes."""
    if any(log.exists() for log in sqlite_files(store_path)[1:]) or store_path.stat().st_size != new.stat().st_size:
        return False
    with open(store_path, "rb") as one, open(new, "rb") as other:
        one.seek(_HEADER)
        other.seek(_HEADER)
        while block := one.read(_BLOCK):
            if block != other.read(_BLOCK):
                return False
    return True


def _free_name(store_path: Path) -> Path:
    """Return an unused path for the present store, or the one that a killed restore gave it."""
    number = 1
    kept = store_path.with_name(store_path.name + ".before-restore")
    while any(file.exists() for file in sqlite_files(kept)):
        if kept.exists() and store_path.exists() and os.path.samefile(kept, store_path):
            break
        number += 1
        kept = store_path.with_name(f"{store_path.name}.before-restore-{number}")
    return kept


def _link_or_copy(path: Path, second: Path) -> None:
    try:
        os.link(path, second)
    except OSError:
        # Some file systems have no hard links.
        with open(path, "rb") as present, replace_file(second) as out:
            shutil.copyfileobj(present, out)
