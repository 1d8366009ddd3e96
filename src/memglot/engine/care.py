"""Care of a store: its figures, its health, its backups."""

import os
import shutil
from pathlib import Path
from typing import Any

from memglot.engine.verify import Verdict, is_store, verify_store
from memglot.errors import NotAStore, TargetExists, Unreadable
from memglot.formats.target import replacing
from memglot.model import DELETED, THINGS
from memglot.store.contract import Filter, Store
from memglot.store.location import open_store


def stats(store: Store) -> dict[str, Any]:
    """How much of what the store keeps."""
    kinds: dict[str, int] = {}
    scopes: dict[str, int] = {}
    tags: dict[str, int] = {}
    for record in store.records():
        kinds[record.kind] = kinds.get(record.kind, 0) + 1
        scopes[record.scope] = scopes.get(record.scope, 0) + 1
        for tag in record.tags:
            tags[tag] = tags.get(tag, 0) + 1
    things = {name: store.count_things(kind) for name, kind in THINGS.items()}
    size = os.path.getsize(store.url) if os.path.exists(store.url) else 0
    return {
        "store": store.url,
        "bytes": size,
        "memories": sum(kinds.values()),
        "deleted_in_source": store.count(Filter(status=DELETED)),
        "kinds": _most(kinds),
        "scopes": _most(scopes),
        "tags": _most(tags),
        "things": {name: count for name, count in things.items() if count},
        "imports": sum(1 for _ in store.imports()),
        "events": store.chain_head()[0],
    }


def _most(counts: dict[str, int]) -> dict[str, int]:
    """The twenty most common, most common first."""
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:20])


def doctor(store: Store, *, fix: bool) -> Verdict:
    """Check everything; with `fix`, rebuild what can be rebuilt from the records and check again."""
    if fix:
        store.repair()
    return verify_store(store)


def backup(store: Store, path: Path, *, force: bool = False) -> int:
    """Write a clean copy of the whole store beside its place, and put it there when it is whole. Tells its size."""
    if path.exists() and not force:
        raise TargetExists(str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    try:
        store.copy_to(str(part))
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path.stat().st_size


def restore(path: Path, store_path: Path, *, force: bool = False) -> int:
    """Put a backup in the place of the store; an existing one is kept beside it as `<name>.before-restore`.

    Tells how many memories it holds.
    """
    if not path.exists():
        raise Unreadable(str(path), "no such file")
    if not is_store(path):
        raise NotAStore(str(path), "it is not a database")
    copy = open_store(str(path), write=False)
    try:
        count = copy.count()
        verdict = verify_store(copy)
    finally:
        copy.close()
    if verdict.problems:
        raise NotAStore(str(path), verdict.problems[0])
    if store_path.exists():
        if not force:
            raise TargetExists(str(store_path))
        _set_aside(store_path)
    with open(path, "rb") as source, replacing(store_path) as out:
        shutil.copyfileobj(source, out)
    return count


def _set_aside(store_path: Path) -> None:
    """Keep the present store under another name, its write-ahead log taken in."""
    aside = store_path.with_name(store_path.name + ".before-restore")
    aside.unlink(missing_ok=True)
    if is_store(store_path):
        present = open_store(str(store_path), write=False)
        try:
            present.copy_to(str(aside))
        finally:
            present.close()
    else:
        os.replace(store_path, aside)
    for suffix in ("-wal", "-shm"):
        store_path.with_name(store_path.name + suffix).unlink(missing_ok=True)
