"""memoryd's data folder, read-only: Markdown files, encrypted files, `index.db` and the audit log.

A memory is the same as in a memories.json that memoryd exports from this folder. Write `memories-json` for memoryd.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from memglot.disk import DiskMap
from memglot.display import first_few, plural, quoted
from memglot.errors import GIVE_PASSPHRASE, BadRecord, Unreadable
from memglot.formats.base import FolderSupport, Format, Glimpse, MergeSupport, ReadOptions
from memglot.formats.core.audit_chain import RowBlobs, check_log, log_rows, lost_in_export
from memglot.formats.core.compression import is_tar
from memglot.formats.core.source import Source, walk
from memglot.formats.memoryd.bundle import unpack_bundle
from memglot.formats.memoryd.folder_index import INDEX, PROFILES, TABLES, MemorydIndex, open_index
from memglot.formats.memoryd.folder_memory import MemoryFile, ScopeKeys, memory_row, split_file
from memglot.formats.memoryd.graph import record_id
from memglot.formats.memoryd.read_rows import RowContext, read_row
from memglot.formats.memoryd.scan import judge_chain
from memglot.formats.memoryd.tool_keys import BOOKKEEPING, MEMORYD, TOOLS
from memglot.model import Blob, Document, Item, Supersession, check_text, identity_document
from memglot.report import SourceReport

_MEMORY = re.compile(r"(?:data/)?scopes/[^/]+/[^/]+/[^/]+\.md(?:\.enc)?")
_FILE = re.compile(r"scopes/(?!_conflicts/)[^/]+/(?:[^/]+/)+[^/]+\.md(?:\.enc)?")
_CONFLICT = re.compile(r"scopes/_conflicts/(.+)\.md-[0-9a-f]+")
_LOG, _IDENTITY = "audit/audit.jsonl", "profile/identity.md"
# What memoryd makes again, or what belongs to one machine.
_SKIPPED = re.compile(r"milvus.*|(?:logs|grants)/.*|config\.toml")
_LARGEST = 1 << 24
_HINT = "give memoryd's data folder, usually `~/.local/share/memoryd`"


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the items of a sync bundle."""
    if not is_tar(source.head):
        raise Unreadable(source.name, "memoryd's data is read as a folder or as its sync bundle", _HINT)
    with tempfile.TemporaryDirectory(prefix="memglot-") as folder:
        unpack_bundle(source, Path(folder), report)
        if _find_root(Path(folder)) is None:
            raise Unreadable(
                source.name, "it is an archive of a folder, but not memoryd's bundle", "unpack it and import the folder"
            )
        yield from read_folder(Path(folder), report, options)


def read_folder(folder: Path, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the items of a data folder. Raise `Unreadable` if it is not one, or if its audit log is broken."""
    root = _find_root(folder)
    if root is None:
        raise Unreadable(report.source, f"it has no `scopes` folder and no `{INDEX}`", _HINT)
    yield from _FolderReader(folder, root, report, options).items()


def recognise_folder(glimpse: Glimpse) -> bool:
    """Return True for memoryd's data folder, or a folder that has it in `data`."""
    tops = {name.partition("/")[0] for name in glimpse.names}
    # An archive often has one folder that contains everything.
    start = len(tops.pop()) + 1 if len(tops) == 1 else 0
    for names in ({*glimpse.names}, {name[start:] for name in glimpse.names}):
        has_index = not names.isdisjoint({INDEX, f"data/{INDEX}"})
        files = [name for name in names if _MEMORY.fullmatch(name)]
        if files and (has_index or any(name.endswith(".enc") for name in files)):
            return True
        if files and any(b"\nslug:" in head and b"\nscope_hash:" in head for head in glimpse.heads(".md")):
            return True
        if has_index and any(b"scope_hash" in head and b"body_path" in head for head in glimpse.heads(".db")):
            return True
    return False


def _find_root(folder: Path) -> Path | None:
    """Return the data folder in a folder: itself, `data`, or the same in the only folder in it."""
    inner = [path for path in folder.iterdir() if not path.name.startswith(".")]
    tops = [folder] + [path for path in inner if len(inner) == 1 and path.is_dir() and not path.is_symlink()]
    for place in (place for top in tops for place in (top, top / "data")):
        if place.is_symlink():
            continue
        if (place / "scopes").is_dir() or (place / INDEX).is_file():
            return place
    return None


class _FolderReader:
    """Reads one data folder."""

    def __init__(self, folder: Path, root: Path, report: SourceReport, options: ReadOptions) -> None:
        self._folder, self._root, self._report, self._options = folder, root, report, options
        self._shown = report.source
        self._file = RowContext(strict=True)
        self._slugs, self._texts = DiskMap(), set[str]()
        """Slugs with the paths of their files, and ids of the identities in the index."""
        self._locked: dict[str, list[str]] = {}
        self._opened: set[str] = set()
        self._skipped: list[str] = []
        self._kept: list[str] = []
        configs = (root.parent / "config" / "config.toml", root / "config.toml", folder / "config.toml")
        inside = [path for path in configs if path.is_file() and path.resolve().is_relative_to(folder.resolve())]
        self._keys = ScopeKeys(inside[0] if inside else None, options)

    def items(self) -> Iterator[Item]:
        """Yield everything: memories, the graph, identities, the audit log, and what is only kept."""
        self._check_log()
        with open_index(self._root / INDEX, self._name(self._root / INDEX), self._report) as index:
            self._report.inputs.sensitive |= index.sensitive_scopes() | self._encrypted_scopes()
            self._texts |= {document.id for document in index.identities()}
            for place in walk(self._folder, None, self._report.results, vault=True, own=self._options.own):
                yield from self._read(place, index)
            yield from self._without_file(index)
            self._report_locked()
            self._report.start_source(self._name(self._root / INDEX))
            yield from self._graph(index)
            yield from index.identities()
            yield from self._other_rows(index)
        yield from self._log()
        self._add_notes()
        self._slugs.close()

    def _encrypted_scopes(self) -> set[str]:
        """Return the scopes that have encrypted files, whatever the index says."""
        return {path.parts[-3] for path in self._root.glob("scopes/*/*/*.md.enc")}

    def _name(self, path: Path) -> str:
        return f"{self._shown}/{path.relative_to(self._folder).as_posix()}"

    # Files

    def _read(self, place: Path, index: MemorydIndex) -> Iterator[Item]:
        """Yield the items of one file."""
        report = self._report
        report.start_source(self._name(place))
        report.modified_at = place.stat().st_mtime_ns // 1000
        path = place.relative_to(self._root).as_posix() if place.is_relative_to(self._root) else ""
        try:
            check_text(place.name, "the path")
            if not path or _SKIPPED.fullmatch(path):
                self._skipped.append(place.relative_to(self._folder).as_posix())
            elif _FILE.fullmatch(path):
                report.item = 1
                yield from self._memory(MemoryFile(path), place.read_bytes(), index)
            elif path != _LOG and path not in (INDEX, f"{INDEX}-wal", f"{INDEX}-shm", f"{INDEX}-journal"):
                yield from self._other_file(path, place)
        except (BadRecord, OSError) as error:
            if _FILE.fullmatch(path):
                # It has a file, although that cannot be read.
                self._slugs[MemoryFile(path).slug] = path
            reason = error if isinstance(error, BadRecord) else (error.strerror or str(error)).lower()
            report.failed_record(reason)

    def _memory(self, file: MemoryFile, raw: bytes, index: MemorydIndex) -> Iterator[Item]:
        text = self._decrypted(file, raw) if file.encrypted else raw
        if text is None:
            self._slugs[file.slug] = file.path
            return
        front, body = split_file(text, self._report)
        given = front.get("slug")
        slug = given if isinstance(given, str) and given else file.slug
        found = index.memory(slug) or {}
        if slug in self._slugs or self._is_elsewhere(found.get("body_path"), file.path):
            # The copy that memoryd shows is the memory. Without it, nothing would protect a sensitive copy.
            if file.scope in self._locked:
                self._skipped.append(file.path)
            else:
                yield self._keep(file.path, raw, record_id(slug))
            return
        self._slugs[slug] = file.path
        sensitive = file.encrypted or bool(found.get("scope_sensitive"))
        yield from self._record(memory_row(file, slug, front, body, found, sensitive=sensitive))

    def _record(self, row: dict[str, object]) -> Iterator[Item]:
        record, attached = read_row(row, self._file, self._report)
        yield record
        yield from attached

    def _is_elsewhere(self, known: object, path: str) -> bool:
        """Return True if the index has another file for a memory, and that file exists."""
        if not isinstance(known, str) or known == path or not _FILE.fullmatch(known) or ".." in known.split("/"):
            return False
        return (self._root / known).is_file()

    def _decrypted(self, file: MemoryFile, raw: bytes) -> bytes | None:
        """Return the text of an encrypted file; `None` if there is no passphrase or it does not fit."""
        try:
            text = self._keys.decrypt(raw, file.scope) if self._keys.given else None
        except BadRecord:
            text = None
        if text is None:
            self._locked.setdefault(file.scope, []).append(self._report.source)
        else:
            self._opened.add(file.scope)
        return text

    def _report_locked(self) -> None:
        """Report the encrypted memories that were not read: once, unless single files of a scope were altered."""
        report, results = self._report, self._report.results
        closed = {scope: names for scope, names in self._locked.items() if scope not in self._opened}
        for name in (name for scope in self._opened for name in self._locked.get(scope, ())):
            report.start_source(name)
            report.failed_record(BadRecord("the encrypted text cannot be decrypted: it was altered"), item=1)
        if not closed:
            return
        count = sum(map(len, closed.values()))
        noun = "the scope" if len(closed) == 1 else "the scopes"
        what = f"{plural(count, 'memory')} of {noun} {first_few([quoted(scope) for scope in sorted(closed)])}"
        verb = "is" if count == 1 else "are"
        if self._keys.given:
            error = BadRecord(f"{what} {verb} encrypted, and the passphrase does not decrypt them", _WRONG_KEY)
        else:
            error = BadRecord(f"{what} {verb} encrypted, and no passphrase was given", GIVE_PASSPHRASE)
            report.inputs.undecrypted += count
        results.read += count
        results.refused(error, self._shown, count)

    def _other_file(self, path: str, place: Path) -> Iterator[Item]:
        """Keep a file that is neither a memory nor the index, unless it must stay secret."""
        parts, conflict = path.split("/"), _CONFLICT.fullmatch(path)
        secret = parts[0] == "scopes" and parts[1] in self._report.inputs.sensitive
        if secret or place.stat().st_size > _LARGEST:
            self._skipped.append(place.relative_to(self._folder).as_posix())
            return
        raw = place.read_bytes()
        if parts[0] == "profile" and path.endswith(".md"):
            document = self._identity(raw, place)
            if document is not None and document.id in self._texts:
                return
            if document is not None and path == _IDENTITY:
                yield document
                return
        yield self._keep(path, raw, record_id(conflict[1]) if conflict else "")

    def _identity(self, raw: bytes, place: Path) -> Document | None:
        try:
            text = check_text(raw.decode("utf-8"), "the text")
        except (UnicodeDecodeError, BadRecord):
            return None
        return identity_document(text, created_at=place.stat().st_mtime_ns // 1_000) if text else None

    def _keep(self, path: str, raw: bytes, owner: str) -> Blob:
        self._kept.append(path)
        key = f"{sha256(raw).hexdigest()[:16]}/{path}"
        return Blob(tool=MEMORYD, table="folder", key=key, owner=owner, row={"path": path}, data=raw)

    # The index and the log

    def _without_file(self, index: MemorydIndex) -> Iterator[Item]:
        """Yield the memories of which the index has only a title, and those that memoryd imported and never showed."""
        missing = 0
        self._report.start_source(self._name(self._root / INDEX))
        for row in index.memories():
            slug, path = row.get("slug"), row.get("body_path")
            if not isinstance(slug, str) or slug in self._slugs:
                continue
            missing += 1
            self._report.item = missing
            self._slugs[slug] = ""
            file = MemoryFile(
                path if isinstance(path, str) and _FILE.fullmatch(path) else f"scopes/unknown/x/{slug}.md"
            )
            yield from self._tried(memory_row(file, slug, {}, "", row, sensitive=bool(row.get("scope_sensitive"))))
        if missing:
            self._report.note(f"{plural(missing, 'memory')} of {INDEX} without a file: the title was imported")
        for row in index.imported():
            if row["id"] not in self._slugs:
                missing += 1
                self._report.item = missing
                if row["id"] == row["content_hash"]:
                    # memoryd uses the hash of a memory without an id.
                    del row["id"]
                self._file.strict = False
                yield from self._tried({key: value for key, value in row.items() if value is not None})
                self._file.strict = True

    def _tried(self, row: dict[str, object]) -> Iterator[Item]:
        try:
            yield from self._record(row)
        except BadRecord as error:
            self._report.failed_record(error)

    def _graph(self, index: MemorydIndex) -> Iterator[Item]:
        """Yield the graph; of what front matter says, only what the index lacks."""
        known: set[tuple[str, str]] = set()
        for item in index.graph():
            if isinstance(item, Supersession):
                known.add((item.newer, item.older))
            yield item
        for link in self._file.links:
            if not isinstance(link, Supersession) or (link.newer, link.older) not in known:
                yield link

    def _other_rows(self, index: MemorydIndex) -> Iterator[Item]:
        hidden = 0
        for blob in index.other_rows():
            scope = blob.row.get("scope_hash")
            # Without its memory, nothing would protect a row of a sensitive scope.
            if scope in self._report.inputs.sensitive and (not blob.owner or scope in self._locked):
                hidden += 1
                continue
            if blob.table != PROFILES:
                self._kept.append(f"{INDEX} ({blob.table.removeprefix(TABLES)})")
            yield blob
        if hidden:
            self._report.note(f"skipped {plural(hidden, 'row')} of {INDEX} that belong to sensitive scopes")

    def _log_source(self) -> Source | None:
        path = self._root / _LOG
        if path.is_symlink() or path.parent.is_symlink() or not path.is_file():
            return None
        return Source.file(path, self._name(path))

    def _check_log(self) -> None:
        if (source := self._log_source()) is not None:
            judge_chain(check_log(source), source.name, self._report, self._options)

    def _log(self) -> Iterator[Item]:
        """Yield the rows of the audit log as memoryd exports them, and events of which the export lacks values."""
        source = self._log_source()
        if source is None:
            return
        self._report.start_source(source.name)
        rows = RowBlobs()
        for number, row, event in log_rows(source):
            self._report.line = number
            try:
                blob = rows.add(row)
            except BadRecord as error:
                self._report.fault(error, line=number)
                continue
            if blob is None:
                continue
            yield blob
            if lost_in_export(event):
                slug = row["target_id"]
                owner = record_id(slug) if isinstance(slug, str) and slug else ""
                yield Blob(tool=MEMORYD, table="audit.event", key=blob.key, owner=owner, row=event)
        rows.close()

    def _add_notes(self) -> None:
        if self._kept:
            names = first_few(sorted(set(self._kept)))
            self._report.note(f"kept {plural(len(self._kept), 'item')} that memglot does not read: {names}")
        if self._skipped:
            self._report.note(f"skipped {plural(len(self._skipped), 'other file')}: {first_few(sorted(self._skipped))}")


_WRONG_KEY = (
    f"{GIVE_PASSPHRASE}; a key that memoryd keeps in the system's keyring is not a passphrase: export such memories "
    "with memoryd"
)

FORMAT = Format(
    name="memoryd-folder",
    title="memoryd's data folder, or its sync bundle",
    tool=MEMORYD,
    family="memoryd",
    extensions=(".tar.gz",),
    fields=frozenset("id content title kind scope tags triggers meta source created_at updated_at".split()),
    carry="",
    read=read,
    write=None,
    conflict="merge",
    merging=MergeSupport(has_edit_times=True, by_hand=True, tools=TOOLS, bookkeeping=BOOKKEEPING),
    folder=FolderSupport(recognise=recognise_folder, read=read_folder),
)
