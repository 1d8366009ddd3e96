"""Show, move, copy and delete branches of the tree of memories."""

from collections.abc import Iterable, Iterator

import msgspec

from memglot.disk import DiskList, DiskMap
from memglot.editing.batches import ShowCount, change_in_batches, ids_of
from memglot.editing.memory import delete_all, update_all
from memglot.editing.operations import Recorder, created
from memglot.errors import UsageError
from memglot.model import Minter, Record, check_tree, content_hash, now
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


def move(store: Store, source: str, target: str, *, dry_run: bool = False, progress: ShowCount | None = None) -> int:
    """Move every memory at and below `source` to `target`; ids stay the same. Return their number.

    After an interruption, the same call moves the rest.
    """
    _check(source, target)
    below = _below(source)
    if dry_run:
        return store.records.count(below)

    def change(records: list[Record]) -> int:
        found = [record for record in records if _is_below(record.tree, source)]
        update_all(store, [(record, {"tree": _moved(record.tree, source, target)}) for record in found], action="move")
        return len(found)

    # A memory that ends up below `source` again must not be moved twice after an interruption: these are moved last,
    # and together.
    ids, last = DiskList(str), []
    for record in store.records.select(below):
        if _is_below(_moved(record.tree, source, target), source):
            last.append(record.id)
        else:
            ids.append(record.id)
    recorder = Recorder(store, "move", {"source": source, "target": target})
    count = change_in_batches(store, ids, change, progress, recorder)
    if last:
        with recorder.transaction():
            count += change_in_batches(store, last, change)
    return count


def copy(store: Store, source: str, target: str, *, dry_run: bool = False, progress: ShowCount | None = None) -> int:
    """Copy every memory at and below `source` to `target`, with new ids. Return their number.

    Memories that are at the target already, with the same text, kind and scope, are not copied again, so that after
    an interruption the same call copies the rest.
    """
    _check(source, target)
    minter = Minter(now() // 1000)
    with DiskMap() as there:
        for record in store.records.select(_below(target)):
            there[_copy_key(record, record.tree)] = True

        def missing(records: Iterable[Record]) -> Iterator[Record]:
            return (record for record in records if _copy_key(record, _moved(record.tree, source, target)) not in there)

        def change(records: list[Record]) -> int:
            copies = []
            for record in missing(records):
                values = {"id": minter.mint(), "tree": _moved(record.tree, source, target), "foreign": []}
                copies.append(msgspec.structs.replace(record, **values))
            store.records.add(copies)
            store.history.add_revisions(created("record", (record.id for record in copies), now(), "copy"))
            for record in copies:
                store.history.log("copy", record.id, record.scope, {"content_hash": content_hash(record.content).hex()})
            return len(copies)

        found = missing(store.records.select(_below(source)))
        if dry_run:
            return sum(1 for _ in found)
        recorder = Recorder(store, "copy", {"source": source, "target": target})
        return change_in_batches(store, ids_of(found), change, progress, recorder)


def delete_tree(
    store: Store, path: str, *, dry_run: bool = False, reason: str = "", progress: ShowCount | None = None
) -> int:
    """Delete every memory at and below a path. Return their number. After an interruption, call it again."""
    check_tree(path)
    below = _below(path)
    if dry_run:
        return store.records.count(below)

    def change(records: list[Record]) -> int:
        found = [record for record in records if _is_below(record.tree, path)]
        delete_all(store, found, reason=reason)
        return len(found)

    recorder = Recorder(store, "delete-tree", {"tree": path})
    return change_in_batches(store, ids_of(store.records.select(below)), change, progress, recorder)


def _check(source: str, target: str) -> None:
    check_tree(source)
    check_tree(target)
    if source == target or (target + ".").startswith(source + ".") or not source:
        raise UsageError(
            f"`{source or '(root)'}` cannot be moved or copied to `{target or '(root)'}`, which is inside it"
        )


def _is_below(tree: str, path: str) -> bool:
    return not path or tree == path or tree.startswith(path + ".")


def _copy_key(record: Record, tree: str) -> str:
    return "\0".join((content_hash(record.content).hex(), record.kind, record.scope, tree))


def _moved(tree: str, source: str, target: str) -> str:
    rest = tree[len(source) :].lstrip(".")
    return ".".join(part for part in (target, rest) if part)


def _below(path: str) -> Filter:
    return Filter(tree=path or None)
