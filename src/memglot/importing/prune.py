"""Find memories of a vault whose notes are gone, so that an import can delete them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from memglot.display import first_few, plural
from memglot.errors import Unreadable, UsageError
from memglot.formats.core.folder_proof import FolderProof
from memglot.formats.detect import detect_folder, glance_at
from memglot.merging.records import places_in
from memglot.merging.registers import next_time, stamp_edit
from memglot.model import Record, Tombstone, content_hash, to_builtins
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Store
from memglot.store.query import Filter

TOOL, BYTES_KEY = "obsidian", "obsidian.note"
NOT_ALL_READ = "deleted nothing: not all notes could be read, and one of them may be a note that was moved"
Confirm = Callable[[str], bool]
"""Asks a question that can be answered with yes."""


@dataclass
class Vanished:
    """Notes of a vault that are gone."""

    paths: list[str] = field(default_factory=list)
    deleted: list[Record] = field(default_factory=list)
    """Memories that have no other note."""
    moved: list[tuple[dict[str, Any], Record]] = field(default_factory=list)
    """Memories with other notes, each with its old value."""
    known: int = 0
    """Number of notes that the store knows of, also those that are there."""
    elsewhere: set[str] = field(default_factory=set)
    """Other folders of the same name, which some of these notes were read from."""

    @property
    def question(self) -> str:
        """What must be asked first, because the folder may not be what it should be; empty if nothing must be."""
        gone = f"{plural(len(self.paths), 'note is', 'notes are')} gone: {first_few(self.paths)}"
        if self.elsewhere:
            return f"{gone}; some were read from another folder, {first_few(sorted(self.elsewhere))}"
        if self.known > 1 and len(self.paths) * 2 > self.known:
            return f"{len(self.paths):,} of {plural(self.known, 'note is', 'notes are')} gone: {first_few(self.paths)}"
        return ""

    def note(self, deleted: int, *, dry_run: bool) -> str:
        """Return the note about what was done; a dry run names all notes."""
        paths = ", ".join(self.paths) if dry_run else first_few(self.paths)
        would = "would delete" if dry_run else "deleted"
        done = f"{would} {plural(deleted, 'memory', 'memories')} whose notes are gone from the vault"
        if self.moved:
            done += f", and kept {plural(len(self.moved), 'memory that has', 'memories that have')} another place"
        asked = " (after a question)" if dry_run and self.question else ""
        undo = "" if dry_run or not deleted else "; `memglot undo` restores them"
        return f"{done}{asked}: {paths}{undo}"


def not_a_vault(folder: Path) -> str:
    """Return the note about a folder that is not read as a vault."""
    return f"deleted nothing: {folder} is not an Obsidian vault; use `--format obsidian` if it is one"


def check_prunable(inputs: list[Any], format: str | None) -> None:
    """Raise `UsageError` for an import that cannot delete what is gone from its inputs."""
    if format not in (None, "auto", TOOL):
        raise UsageError("`--prune` works only with Obsidian vaults", f"leave out `--format {format}`")
    for given in inputs:
        path = None if isinstance(given, bytes) or str(given) == "-" else Path(given)
        if path is None or path.exists() and not path.is_dir():
            name = "content" if isinstance(given, bytes) else str(given)
            raise UsageError(
                f"`--prune` needs the folder of a vault, not `{name}`", "name the folder, such as `~/vault`"
            )


def is_vault(folder: Path, format: str | None) -> bool:
    """Return True if a folder is read as a vault."""
    if format == TOOL:
        return True
    try:
        proof = FolderProof.at(folder)
    except Unreadable:
        return False
    found = detect_folder(glance_at(folder)) if proof is None else None
    return proof.format == TOOL if proof is not None else found is not None and found.name == TOOL


def tombstones(records: list[Record], at: int) -> Iterator[Tombstone]:
    """Yield the tombstones of memories whose notes are gone."""
    for record in records:
        yield Tombstone(
            id=record.id,
            content_hash=content_hash(record.content).hex(),
            kind=record.kind,
            scope=record.scope,
            deleted_at=max(at, record.updated_at),
            reason="its note is gone",
        )


def find_vanished(store: Store, folder: Path, vault: str) -> Vanished:
    """Return the notes that were read from a vault, or written to it, and are no longer there."""
    found = Vanished()
    try:
        proof = FolderProof.at(folder)
    except Unreadable:
        proof = None
    written = dict(proof.names()) if proof is not None else {}
    sources = {entry.id: entry.sources for entry in store.history.imports()}
    for batch in _batches(store, written):
        origins = store.history.origins([record.id for record in batch])
        for record in batch:
            origin = origins.get(record.id)
            is_from_vault = origin is not None and origin.format == TOOL
            if _check(found, folder, vault, record, written.get(record.id), is_from_vault):
                imported = store.history.import_of(record.id) if is_from_vault else None
                found.elsewhere |= _elsewhere(sources.get(imported or "", []), folder)
    found.paths.sort()
    return found


def _batches(store: Store, written: dict[str, str]) -> Iterator[list[Record]]:
    """Yield the memories that have or had a note in some vault."""
    ids = dict.fromkeys(written)
    ids |= dict.fromkeys(record.id for record in store.records.select(Filter(source=({"tool": TOOL},))))
    found = sorted(ids)
    for start in range(0, len(found), BATCH_SIZE):
        # A dry run selects the memories of the store, but gets them as it would leave them.
        yield store.records.get(found[start : start + BATCH_SIZE])


def _check(found: Vanished, folder: Path, vault: str, record: Record, written: str | None, is_from_vault: bool) -> bool:
    """Add a memory if one of its notes is gone; return True if so."""
    own = record.extra.get(TOOL)
    own = own if isinstance(own, dict) else {}
    around = record.extra.get(BYTES_KEY)
    around = around if isinstance(around, dict) else {}
    first = {**around, "path": own["path"]} if isinstance(own.get("path"), str) else None
    if first is not None and "vault" not in first:
        first["vault"] = next((place.space for place in record.foreign if place.id == first["path"]), vault)
    places = [*([first] if first is not None else []), *places_in(own)]
    here = [place for place in places if place.get("vault", vault) == vault]
    gone = [place for place in here if _is_gone(folder, place["path"])]
    if not places and written is not None:
        found.known += 1
        if not _is_gone(folder, written):
            return False
        found.paths.append(written)
        found.deleted.append(record)
        return True
    found.known += len(here)
    if not gone:
        return False
    found.paths += [place["path"] for place in gone]
    left = [place for place in places if place not in gone]
    if not left and (is_from_vault or first is not None):
        found.deleted.append(record)
    else:
        found.moved.append((to_builtins(record), _without_places(record, own, left, first)))
    return True


def _is_gone(folder: Path, path: str) -> bool:
    """Return True if there is certainly no such file; a folder that cannot be read says nothing."""
    try:
        os.lstat(folder / path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        pass
    return False


def _without_places(
    record: Record, own: dict[str, Any], left: list[dict[str, Any]], first: dict[str, Any] | None
) -> Record:
    """Return a memory with only the notes that are left; the first of them becomes its own, if it has one."""
    rest = {key: value for key, value in own.items() if key not in ("path", "places", "empty")}
    extra = {key: value for key, value in record.extra.items() if key not in (TOOL, BYTES_KEY)}
    if first is not None and left:
        place, *left = left
        rest["path"] = place["path"]
        around = {key: value for key, value in place.items() if key != "path"}
        if around.get("empty"):
            rest["empty"] = record.content
        if around:
            extra[BYTES_KEY] = around
    if left:
        rest["places"] = left
    if rest:
        extra[TOOL] = rest
    after = msgspec.structs.replace(record, extra=extra)
    if first is not None and "path" in rest and record.title == _name(first["path"]):
        # The name of a moved note was its title.
        after.title = _name(rest["path"])
        stamp_edit(record, after, next_time(record.updated_at, *record.clocks.values()))
    return after


def _name(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _elsewhere(sources: list[str], folder: Path) -> set[str]:
    """Return the other folders of the same name among the sources of an import."""
    here = folder.resolve()
    paths = [Path(source) for source in sources]
    if any(path.is_absolute() and path.resolve() == here for path in paths):
        return set()
    return {str(path) for path in paths if path.is_absolute() and path.name == here.name and path.resolve() != here}
