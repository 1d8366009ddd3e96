"""Reader of memories.json in all of its dialects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from memglot.disk import DiskList, DiskMap
from memglot.display import first_few
from memglot.errors import BadRecord
from memglot.formats.base import ReadOptions
from memglot.formats.core.audit_chain import RowBlobs, encrypted_part
from memglot.formats.core.carry import KEY
from memglot.formats.core.sidecar import decode_item, encode_item
from memglot.formats.core.source import Source
from memglot.formats.memoryd.encryption import needs_passphrase
from memglot.formats.memoryd.graph import read_entity, read_relation, read_supersession
from memglot.formats.memoryd.read_rows import ENCRYPTED, RowContext, read_row
from memglot.formats.memoryd.scan import Header, scan_file
from memglot.formats.memoryd.sections import section_blob
from memglot.formats.memoryd.values import microseconds
from memglot.formats.syntax.json_sections import sections
from memglot.formats.syntax.json_shape import first_keys
from memglot.formats.syntax.json_stream import decode_object, objects
from memglot.model import PREDICATES, Document, Item, Relation, Supersession, identity_document
from memglot.report import SourceReport

_FRONT = 1 << 14
_LISTS = frozenset({"memories", "entities", "relations", "supersedes_chain", "audit_chain", KEY})


def read_file(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the items of a file; raise `Unreadable` for a broken audit chain or a wrong passphrase."""
    if source.head.lstrip()[:1] == b"[":
        yield from _read_list(source, report)
        return
    if source.can_reopen:
        yield from _FileReader(source, source, report, options).items()
        return
    with source.as_file() as copy:
        # A stream can be read only once, but may have to be scanned first.
        again = Source.file(copy, source.name)
        report.watch(again)
        try:
            yield from _FileReader(again, source, report, options).items()
        finally:
            again.close()


def _read_list(source: Source, report: SourceReport) -> Iterator[Item]:
    """Yield the rows of a bare list, as mcp-memory-service writes it in an emergency."""
    file = RowContext(path=source.path if source.on_disk else None, emergency="hash" in first_keys(source.head))
    report.note(_no_metadata(source.name))
    for raw, value in objects(source, report, msgspec.json.decode):
        yield from _row(raw, value, file, report)


def _row(raw: bytes, value: Any, file: RowContext, report: SourceReport) -> Iterator[Item]:
    try:
        record, attached = read_row(decode_object(raw, value, report, "content"), file, report)
    except BadRecord as error:
        report.failed_record(error)
        return
    yield record
    yield from attached


class _FileReader:
    """Reads one file, section by section."""

    def __init__(self, source: Source, given: Source, report: SourceReport, options: ReadOptions) -> None:
        self._source, self._report = source, report
        self._header, cipher = scan_file(source, report, options)
        self._file = RowContext(path=given.path if given.on_disk else None, cipher=cipher)
        self._file.lacks_encryption_block = self._header.key_block() is None
        self._in_sections, self._audit_rows = DiskMap(), RowBlobs()
        self._waiting: DiskList[str] = DiskList()
        self._predicates: set[str] = set()
        self._links = self._encrypted = 0
        self._time_text = self._header.metadata is not None
        self._apply_header(self._header)

    def items(self) -> Iterator[Item]:
        """Yield all items in file order; relations found only in rows come last."""
        try:
            for key, raw, value in sections(self._source, self._report, msgspec.json.decode):
                yield from self._section(key, raw, value)
            yield from self._from_rows()
        finally:
            self._in_sections.close()
            self._audit_rows.close()
        self._finish()

    def _apply_header(self, header: Header) -> None:
        file, own = self._file, header.own
        file.strict, file.at = header.strict, header.at
        file.ours = own is not None
        if (end := header.proof(file.cipher)) is not None:
            self._report.inputs.proof = end

    def _section(self, key: str, raw: bytes, value: Any) -> Iterator[Item]:
        if key in _LISTS and self._report.item is None:
            # The elements of a list come one by one, so this is not a list.
            if value is not None:
                self._fault(key, _bad_section(key))
        elif key == "memories":
            yield from _row(raw, value, self._file, self._report)
            if self._file.links:
                self._waiting.extend([encode_item(thing).decode() for thing in self._file.links])
                self._file.links = []
        elif key == "export_metadata":
            if isinstance(value, dict):
                self._time_text = True
                self._header.metadata = value
                self._apply_header(self._header)
        elif key in _LISTS:
            try:
                yield from self._element(key, decode_object(raw, value, self._report))
            except BadRecord as error:
                self._fault(key, error)
            except msgspec.ValidationError as error:
                self._fault(key, BadRecord(str(error)))
        else:
            yield from self._other(key, value)

    def _element(self, key: str, row: dict[str, Any]) -> Iterator[Item]:
        if key == KEY:
            yield from self._own(row)
        elif key == "entities":
            yield read_entity(row)
        elif key == "supersedes_chain":
            yield self._remember(read_supersession(row))
        elif key == "audit_chain":
            yield from self._audit_row(row)
        else:
            relation = read_relation(row)
            if relation is None:
                raise _bad_section("relations")
            self._note_predicate(relation)
            yield self._remember(relation)

    def _audit_row(self, row: dict[str, Any]) -> Iterator[Item]:
        if (blob := encrypted_part(row)) is not None:
            if self._file.cipher is None:
                self._encrypted += 1
                return
            row = msgspec.json.decode(self._file.cipher.decrypt(blob, KEY), type=dict[str, Any])
        found = self._audit_rows.add(row)
        self._links += found is None
        yield from [] if found is None else [found]

    def _remember(self, thing: Relation | Supersession) -> Relation | Supersession:
        """Remember a relation of a section, so that a row that repeats it adds nothing."""
        if not self._file.ours:
            self._in_sections[_link_key(thing)] = ""
        return thing

    def _own(self, row: dict[str, Any]) -> Iterator[Item]:
        """Yield an item from our own section."""
        if ENCRYPTED not in row:
            yield decode_item(msgspec.json.encode(row))
        elif self._file.cipher is None:
            self._encrypted += 1
        else:
            item = decode_item(self._file.cipher.decrypt(row[ENCRYPTED], KEY))
            if not isinstance(item, Relation) and isinstance(scope := getattr(item, "scope", None), str):
                # A relation may be encrypted because of its ends; any other item because of its scope.
                self._report.inputs.sensitive.add(scope)
            yield item

    def _other(self, key: str, value: Any) -> Iterator[Item]:
        if key == "identity_snapshot":
            if isinstance(value, str) and value and not self._file.ours:
                yield self._identity(value)
        elif key not in ("large_file_manifest", "encryption", "export_date", "total_memories", "exported_memories"):
            yield section_blob(key, self._report.item, value)

    def _identity(self, text: str) -> Document:
        """Return the identity document of a file, with the time it was generated if it has one."""
        at = self._file.at
        try:
            at = microseconds(_generated(text), "generated_at") or at
        except BadRecord:
            pass
        return identity_document(text, created_at=at)

    def _from_rows(self) -> Iterator[Item]:
        """Yield the links that are in rows but in no section."""
        for line in self._waiting:
            thing = decode_item(line.encode())
            assert isinstance(thing, (Relation, Supersession))
            if _link_key(thing) not in self._in_sections:
                if isinstance(thing, Relation):
                    self._note_predicate(thing)
                yield thing

    def _note_predicate(self, relation: Relation) -> None:
        if relation.predicate not in PREDICATES and len(self._predicates) < 100:
            self._predicates.add(relation.predicate)

    def _fault(self, section: str, error: BadRecord) -> None:
        report = self._report
        line = report.find_line() if report.find_line else None
        report.fault(f"{section}: {error}", line=line, item=report.item)

    def _finish(self) -> None:
        report = self._report
        if not self._time_text:
            report.note(_no_metadata(report.source))
        if self._predicates and not self._file.ours:
            report.note(
                f"kept relations with predicates that memoryd does not know: {first_few(sorted(self._predicates))}"
            )
        if self._links:
            report.note(_linked_rows(self._links))
        if self._encrypted:
            report.inputs.undecrypted += self._encrypted
            report.fault(needs_passphrase(self._encrypted))


def _generated(text: str) -> str | None:
    """Return the `generated_at` value from the front matter of an identity."""
    lines = text[:_FRONT].replace("\r\n", "\n").split("\n")
    if not lines or lines[0] != "---":
        return None
    for line in lines[1:]:
        if line == "---":
            break
        key, colon, value = line.partition(":")
        if colon and key == "generated_at":
            return value.strip().strip("'\"")
    return None


def _link_key(thing: Relation | Supersession) -> str:
    if isinstance(thing, Supersession):
        return f"{thing.newer}\0{thing.older}"
    ends = (thing.subject, thing.object)
    return "\0".join((*(f"{end.entity:d}{end.id}" for end in ends), thing.predicate))


def _no_metadata(source: str) -> str:
    """Return the note for a file without metadata."""
    return f"{source} has no `export_metadata`, so its hashes were not checked"


def _linked_rows(count: int) -> str:
    """Return the note for audit rows of other scopes."""
    noun = "1 audit row" if count == 1 else f"{count:,} audit rows"
    return f"{noun} of other scopes only linked the chain and were not kept"


def _bad_section(name: str) -> BadRecord:
    """Return the error for a section, or one of its elements, of the wrong type."""
    return BadRecord(f"`{name}` is not a list of the expected items")
