"""The file that machines sync with: what it is, what it contains, and how it is replaced without losing anything."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from memglot.disk import DiskMap
from memglot.errors import CannotWrite, Unreadable, UsageError
from memglot.formats import registry
from memglot.formats.base import Format, ReadOptions
from memglot.formats.core.carry import KEY
from memglot.formats.core.read import read_source
from memglot.formats.core.sidecar import encode_item, read_sidecar, sidecar_path
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.formats.detect import detect
from memglot.formats.syntax.json_sections import sections
from memglot.model import Item, Record, content_hash, stored_digest
from memglot.report import Report, SourceReport

FORMAT, V5 = "memories-json", "mcp-memory-v5"
ATTEMPTS = 5
"""How often a file that changes meanwhile is read again."""
_VERSION = re.compile(r"\d+\.")
_MARKS = (b'"cipher_blob":', b'"large_file_pointer":', b'"sealed":')
"""Keys that show how a row is written: encrypted, or with its text in a file of its own."""
_PIECE = 1 << 20
_raw = msgspec.json.Decoder(msgspec.Raw).decode


class Changed(Exception):
    """Raised if somebody else changed the file meanwhile."""


class NothingNew(Exception):
    """Raised if the file already contains what would be written."""


class SideChanges(msgspec.Struct, repr_omit_defaults=True):
    """What one side of a sync got: numbers of memories, and of other items such as relations and deletions."""

    new: int = 0
    changed: int = 0
    deleted: int = 0
    others: int = 0

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.deleted or self.others)


@dataclass(frozen=True)
class FileFacts:
    """What a file says about itself."""

    format: str = FORMAT
    exists: bool = False
    is_ours: bool = False
    is_encrypted: bool = False
    scope: str | None = None
    """The only scope that was exported, if it was only one."""
    has_audit: bool = False
    has_embeddings: bool = False


def facts_of(path: Path) -> FileFacts:
    """Return what the file at a path is; one that is empty counts as missing. Raise `UsageError` for another format."""
    if not path.exists():
        return FileFacts()
    source = Source.file(path)
    try:
        if source.is_blank():
            return FileFacts()
        _check_format(path, source)
        metadata: dict[str, Any] = {}
        found: set[str] = set()
        for key, _, value in sections(source, SourceReport(), _raw):
            found.add(key)
            if key == "export_metadata" and isinstance(value, dict):
                metadata = value
                if _own(metadata):
                    # memglot writes everything else that is asked for here into the metadata.
                    break
    finally:
        source.close()
    own = _own(metadata)
    version = metadata.get("exporter_version")
    return FileFacts(
        format=V5 if isinstance(version, str) and _VERSION.match(version) else FORMAT,
        exists=True,
        is_ours=bool(own),
        is_encrypted="encryption" in found or isinstance(metadata.get("encryption"), dict),
        scope=own.get("scope"),
        has_audit=metadata.get("include_audit_chain") is True or "audit_chain" in found,
        has_embeddings=metadata.get("include_embeddings") is True,
    )


def _own(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return what memglot wrote into the metadata of a file."""
    own = metadata.get(KEY)
    return own if isinstance(own, dict) and "version" in own else {}


def _check_format(path: Path, source: Source) -> None:
    """Raise `UsageError` if a file is not a memories.json."""
    try:
        format = detect(source)
    except Unreadable:
        format = None
    if format is not None and format.name == FORMAT and source.head.lstrip()[:1] == b"{":
        return
    raise UsageError(f"`{path}` is not a memories.json: it looks like {_described(format)}", _other_file(path, format))


def _described(format: Format | None) -> str:
    if format is None:
        return "a file that memglot cannot read"
    if format.name == FORMAT:
        return "a list of memories without `export_metadata`"
    return f"`{format.name}` ({format.title})"


def _other_file(path: Path, format: Format | None) -> str:
    read = "" if format is None else f"`memglot import {path}` imports it; "
    return f"{read}name another file to sync with, which may be a new one"


def fingerprint(path: Path) -> bytes:
    """Return a digest of a file and its sidecar; empty if there is no file."""
    places = [path] if path.exists() else []
    if places and (sidecar := sidecar_path(path)) is not None:
        places.append(sidecar)
    found = sha256()
    try:
        for place in places:
            with open(place, "rb") as file:
                while piece := file.read(_PIECE):
                    found.update(piece)
            found.update(b"\0")
    except OSError as error:
        raise Unreadable(str(path), (error.strerror or str(error)).lower()) from error
    return found.digest() if places else b""


class FileState:
    """What a file contains: the digest of each memory by its id, and of everything else, on disk."""

    def __init__(self) -> None:
        self._records, self._others = DiskMap(), DiskMap()
        self.count = 0
        """Number of memories."""

    def add(self, item: Item) -> None:
        """Add an item of the file, as it was read."""
        if isinstance(item, Record):
            self.count += 1
            self._records[item.id or f"content {content_hash(item.content).hex()}"] = stored_digest(item).hex()
        else:
            self._others[sha256(encode_item(item)).hexdigest()] = 1

    @classmethod
    def of(cls, path: Path, sidecar: Path | None, format: str, options: ReadOptions) -> FileState:
        """Read a new file. Raise `CannotWrite` if it cannot be read back completely."""
        state, report = cls(), Report()
        for item, _ in read_source(Source.file(path), registry.get(format), report, options):
            state.add(item)
        if sidecar is not None:
            for item in read_sidecar(Source.file(sidecar), SourceReport(report)):
                state.add(item)
        for fault in report.faults():
            raise CannotWrite(str(path), f"it cannot be read back: {fault.error}")
        return state

    def changes_to(self, new: FileState) -> SideChanges:
        """Return what must change for this file to become another one."""
        found = SideChanges()
        for _, before, after in _joined(self._records, new._records):
            found.new += before is None
            found.deleted += after is None
            found.changed += None not in (before, after) and before != after
        added = sum(before is None for _, before, _ in _joined(self._others, new._others))
        # The deletion of a memory is an item of its own.
        found.others = max(0, added - found.deleted)
        return found

    def ids_missing_in(self, new: FileState) -> Iterator[str]:
        """Yield the ids of memories that another file does not contain."""
        return (id for id, _, after in _joined(self._records, new._records) if after is None)

    def has_same_items(self, new: FileState) -> bool:
        """Return True if another file contains exactly the same."""
        pairs = (_joined(self._records, new._records), _joined(self._others, new._others))
        return all(before == after for pair in pairs for _, before, after in pair)

    def close(self) -> None:
        """Delete the files."""
        self._records.close()
        self._others.close()


def _joined(one: DiskMap, other: DiskMap) -> Iterator[tuple[str, Any, Any]]:
    """Yield the keys of two maps in order, each with its value in both."""
    left, right = one.pairs(), other.pairs()
    mine, theirs = next(left, None), next(right, None)
    while mine is not None or theirs is not None:
        if theirs is None or (mine is not None and mine[0] < theirs[0]):
            assert mine is not None
            yield mine[0], mine[1], None
            mine = next(left, None)
        elif mine is None or theirs[0] < mine[0]:
            yield theirs[0], None, theirs[1]
            theirs = next(right, None)
        else:
            yield mine[0], mine[1], theirs[1]
            mine, theirs = next(left, None), next(right, None)


def layout_of(path: Path) -> bytes:
    """Return a digest of how the rows of a file are written: which are encrypted, and which have their text elsewhere.

    Equal memories may be written in several ways.
    """
    source, found = Source.file(path), sha256()
    source.max_record = sys.maxsize
    try:
        for key, raw, _ in sections(source, SourceReport(), _raw):
            found.update(key.encode() + b"\0" + bytes(mark in raw for mark in _MARKS))
    finally:
        source.close()
    return found.digest()


class Replacement:
    """Checks a new file just before it replaces the one that was read.

    Somebody who changes the same file may be on another machine, so that no lock can stop them: the file is compared
    with what was read.
    """

    def __init__(
        self,
        target: Target,
        facts: FileFacts,
        before: bytes,
        state: FileState,
        options: ReadOptions,
        *,
        reads_back: bool = True,
    ) -> None:
        assert target.path is not None
        self._target, self.facts = target, facts
        self._before, self._state, self._options, self._reads_back = before, state, options, reads_back
        self.path = target.path
        """The file that is compared with what was read."""
        self.format = facts.format
        self.count = 0
        """Number of memories in the new file."""
        self.changes = SideChanges()
        """What the new file changes."""

    def check(self, new: Path, sidecar: Path | None) -> None:
        """Raise `NothingNew` or `Changed`."""
        if self._reads_back and self._is_same(new, sidecar):
            raise NothingNew
        if fingerprint(self.path) != self._before:
            self._target.keeps_bodies = True
            raise Changed

    def _is_same(self, new: Path, sidecar: Path | None) -> bool:
        """Read the new file back, and return True if the file already contains the same."""
        with closing(FileState.of(new, sidecar, self.format, self._options)) as found:
            self.check_missing(self._state.ids_missing_in(found))
            self.count, self.changes = found.count, self._state.changes_to(found)
            if not self.facts.exists or self.facts.format != self.format or not self._state.has_same_items(found):
                return False
        return layout_of(self.path) == layout_of(new)

    def check_missing(self, ids: Iterator[str]) -> None:
        """Check which memories of the file are not in the new one."""
