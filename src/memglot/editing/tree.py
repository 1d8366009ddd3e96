"""Show, move, copy and delete branches of the tree of memories."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from memglot.editing.memory import delete, update
from memglot.errors import UsageError
from memglot.model import Minter, Record, check_tree, content_hash, now
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Store
from memglot.store.query import Filter


class Branch(msgspec.Struct):
    """A node of the tree, with the number of memories on it (`here`), and on it and below (`total`)."""

    path: str
    here: int
    total: int


def branches(store: Store, path: str = "", depth: int | None = None) -> list[Branch]:
    """The nodes at and below a path, in order, with the counts of their memories."""
    check_tree(path)
    found: dict[str, Branch] = {}
    for tree, count in store.records.count_by("tree", _below(path)):
        for node in _up_to(tree, path):
            branch = found.setdefault(node, Branch(node, 0, 0))
            branch.total += count
            branch.here += count if node == tree else 0
    base = path.count(".") + 1 if path else 0
    shown = (branch for branch in found.values() if depth is None or _level(branch.path) - base <= depth)
    return sorted(shown, key=lambda branch: branch.path.split(".") if branch.path else [])


def _level(path: str) -> int:
    return path.count(".") + 1 if path else 0


def _up_to(tree: str, path: str) -> Iterator[str]:
    """Yield a path and its parents, up to the requested one."""
    while True:
        yield tree
        if tree == path or not tree:
            return
        tree = tree.rpartition(".")[0]


def move(store: Store, source: str, target: str, *, dry_run: bool = False) -> int:
    """Move every memory at and below `source` to `target`; ids stay the same. Return their number."""
    _check(source, target)

    def change(batch: list[Record]) -> None:
        for record in batch:
            update(store, record.id, {"tree": _moved(record.tree, source, target)}, action="move")

    return _each_batch(store, _below(source), None if dry_run else change)


def copy(store: Store, source: str, target: str, *, dry_run: bool = False) -> int:
    """Copy every memory at and below `source` to `target`, with new ids. Return their number."""
    _check(source, target)
    minter = Minter(now() // 1000)

    def change(batch: list[Record]) -> None:
        copies = []
        for record in batch:
            values: dict[str, Any] = {"id": minter.mint(), "tree": _moved(record.tree, source, target), "foreign": []}
            copies.append(msgspec.structs.replace(record, **values))
        store.records.add(copies)
        for record in copies:
            store.history.log("copy", record.id, record.scope, {"content_hash": content_hash(record.content).hex()})

    return _each_batch(store, _below(source), None if dry_run else change)


def delete_tree(store: Store, path: str, *, dry_run: bool = False, reason: str = "") -> int:
    """Delete every memory at and below a path. Return their number."""
    check_tree(path)

    def change(batch: list[Record]) -> None:
        delete(store, [record.id for record in batch], reason=reason)

    return _each_batch(store, _below(path), None if dry_run else change)


def _check(source: str, target: str) -> None:
    check_tree(source)
    check_tree(target)
    if source == target or (target + ".").startswith(source + ".") or not source:
        raise UsageError(
            f"`{source or '(root)'}` cannot be moved or copied to `{target or '(root)'}`, which is inside it"
        )


def _moved(tree: str, source: str, target: str) -> str:
    rest = tree[len(source) :].lstrip(".")
    return ".".join(part for part in (target, rest) if part)


def _below(path: str) -> Filter:
    return Filter(tree=path or None)


def _each_batch(store: Store, filter: Filter, change: Callable[[list[Record]], None] | None) -> int:
    """Change all selected records in one transaction, a batch at a time; return their number."""
    total = store.records.count(filter)
    if change is None or not total:
        return total
    with store.writing():
        ids = [record.id for record in store.records.select(filter)]
        for start in range(0, len(ids), BATCH_SIZE):
            change(store.records.get(ids[start : start + BATCH_SIZE]))
    return total
