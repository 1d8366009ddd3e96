"""Results of a command: counts, errors with their places, notes and losses; and its progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol, TypeAlias

import msgspec

from memglot.disk import DiskList
from memglot.display import first_few, plural, printable, quoted
from memglot.errors import MemglotError, Unreadable
from memglot.settings import MANY_ITEMS, MAX_ERRORS, MIN_ITEM_BYTES

_TICK = 1_000
"""Number of failed records after which progress is shown, even if none was imported."""


class Fault(msgspec.Struct, omit_defaults=True):
    """One error in an input: where it is, and the reason."""

    source: str
    error: str
    item: int | None = None
    line: int | None = None
    hint: str | None = None
    batch: int | None = None
    """Number of the batch, from 0, if a batch could not be stored; `count` and `ids` describe its records."""
    count: int = 0
    ids: list[str] = []

    def __str__(self) -> str:
        place = self.source
        if self.line is not None:
            place += f":{self.line}"
        elif self.item is not None:
            place += f" item {self.item}"
        return f"{place}: {self.error}"


class Proof(msgspec.Struct, omit_defaults=True):
    """The end mark of a file of records: their number, and their joint digest."""

    count: int
    digest: str
    beside: int = 0
    """Number of items in the sidecar file."""
    alone: bool = False
    """Whether the digest covers the records only, without their attached items."""
    rest: str = ""
    """Digest of all items that are not records, in the order of the file; empty if they are not covered."""


class FailFast(Exception):
    """Raised at the first error, if the caller asked for that."""


class NotMemories(Exception):
    """Raised if a file cannot be one of memories; the text says why the rest was not read."""


def too_many_errors() -> NotMemories:
    """Return the error for a file of which most is not valid."""
    return NotMemories(f"stopped after {MAX_ERRORS:,} errors, because most of it is not valid; the rest was not read")


def too_many_items(count: int) -> NotMemories:
    """Return the error for a file of nothing but tiny items."""
    return NotMemories(
        f"stopped after {count:,} memories and other items, because they have fewer than {MIN_ITEM_BYTES} bytes each "
        "on average; the rest was not read"
    )


class Stopped(Exception):
    """Raised by a progress callback to stop the command; batches that are complete stay."""


class Measured(Protocol):
    """An input whose reading position is known."""

    @property
    def size(self) -> int | None:
        """Size in bytes, if known."""

    @property
    def consumed(self) -> int:
        """Number of bytes read so far."""

    @property
    def modified_at(self) -> int:
        """When it was modified, in microseconds; 0 if unknown."""


class Progress:
    """How far a command is; the callback shows it, or raises `Stopped`."""

    def __init__(self, callback: Callable[[Progress], None] | None = None) -> None:
        self._callback = callback
        self.source = ""
        """Name of the input that is being read."""
        self.position: Measured | None = None
        """Position in this input, if it is one file."""
        self.read = self.imported = self.failed = self.written = 0
        self.embedded = self.to_embed = 0
        """Number of vectors built after an import, and of all that will be."""

    def count_embedded(self, done: int, total: int) -> None:
        """Show how many vectors of how many are built."""
        self.embedded, self.to_embed = done, total
        self.tick()

    def tick(self) -> None:
        """Call the callback."""
        if self._callback is not None:
            self._callback(self)


ShowProgress: TypeAlias = Callable[[Progress], None]
"""A callback that shows progress."""


class InputFacts:
    """What inputs say about themselves, apart from their items."""

    def __init__(self) -> None:
        self.proof: Proof | None = None
        """The proof in the source that was read last."""
        self.sensitive: set[str] = set()
        """Scopes marked as sensitive; readers add a scope before they yield its records."""
        self.broken_chain: str | None = None
        """What is wrong with an audit chain that was accepted anyway."""
        self.undecrypted = 0
        """Number of encrypted items that could not be read without a passphrase."""


@dataclass
class _CountedNote:
    """A note whose count grows."""

    index: int
    text: Callable[[int], str]
    count: int = 0


class Report:
    """Collects the results of one command."""

    def __init__(self, progress: ShowProgress | None = None) -> None:
        self.progress = Progress(progress)
        self.inputs = InputFacts()
        self.fail_fast = False
        self.read = self.imported = self.merged = self.skipped = self.failed = self.conflicts = 0
        self.deleted = 0
        """Number of memories that an import deleted, because they were deleted in its input."""
        self.others = 0
        """Number of items other than memories that an import added, changed or removed, deletions included."""
        self.batches = 0
        """Number of batches that were stored, or failed."""
        self.format = ""
        """Name of the format that was read last, or written."""
        self.errors: DiskList[dict[str, Any]] = DiskList()
        self.error_counts: DiskList[int] = DiskList()
        """Number of records that each of the errors affects."""
        self.ids: DiskList[str] = DiskList()
        self.skipped_ids: DiskList[str] = DiskList()
        self.replaced_edits: DiskList[str] = DiskList()
        """Ids of memories of which an edit made here was replaced by a later one."""
        self.other_errors = 0
        """Number of errors that affect no record, such as a file that cannot be read."""
        self._cannot_read = False
        self.notes: list[str] = []
        self._counted: dict[str, _CountedNote] = {}
        self.formats: Counter[str] = Counter()
        self.kept: Counter[str] = Counter()
        self.carried: Counter[str] = Counter()
        self.dropped_counts: Counter[str] = Counter()
        self.dropped_records: DiskList[tuple[str, str]] = DiskList()
        self.marked: list[str] = []
        """Scopes that an import marked as sensitive."""
        self.proof: Proof | None = None
        """The proof of what was written."""
        self.begin_lines: Callable[[SourceReport, Any], LinePosition] | None = None
        """Called with a source of lines before they are read; skips the first ones, and returns the position then."""
        self.is_partial = False
        """Whether an export lacks what could not be read of a damaged store."""
        self.renamed: DiskList[tuple[str, str]] = DiskList()
        """Ids under which a tool will return memories that were written, each with the id that the memory has here."""

    def fault(
        self,
        error: MemglotError | str,
        source: str,
        *,
        line: int | None = None,
        item: int | None = None,
        count: int = 0,
    ) -> None:
        """Add an error in a source that affects `count` records."""
        reason = getattr(error, "reason", None) or str(error)
        self._cannot_read |= isinstance(error, Unreadable)
        self._add(Fault(printable(source), printable(reason), item, line, getattr(error, "hint", None)), count)

    def _add(self, fault: Fault, count: int) -> None:
        self.errors.append(msgspec.to_builtins(fault))
        self.other_errors += not count
        self.error_counts.append(count)
        if self.fail_fast:
            raise FailFast

    @property
    def has_unread(self) -> bool:
        """Return True if there are files that could not be opened, or that the first error kept from being read."""
        return self._cannot_read or self.fail_fast and len(self.errors) > 0

    def failed_batch(self, error: MemglotError, source: str, count: int, ids: list[str]) -> None:
        """Count the records of a batch that could not be stored, and add the reason."""
        self.failed += count
        self._add(Fault(printable(source), str(error), None, None, error.hint, self.batches, count, ids), count)

    def refused(self, error: MemglotError, source: str, count: int) -> None:
        """Count records of a source that may not be imported, and add the reason."""
        self.failed += count
        self._add(Fault(printable(source), str(error), hint=error.hint), count)

    def faults(self) -> Iterator[Fault]:
        """Return the errors in the order they were found."""
        for error in self.errors:
            yield msgspec.convert(error, Fault)

    def note(self, text: str) -> None:
        """Add a note, unless the same note was added before."""
        text = printable(text)
        if text not in self.notes:
            self.notes.append(text)

    def count_note(self, key: str, text: Callable[[int], str]) -> None:
        """Count something in one note; `text` returns the note for a count, as it was given the first time."""
        if key not in self._counted:
            self._counted[key] = _CountedNote(len(self.notes), text)
            self.notes.append("")
        note = self._counted[key]
        note.count += 1
        self.notes[note.index] = printable(note.text(note.count))

    def is_counted(self, note: str) -> bool:
        """Return True if a note counts something."""
        return any(self.notes[counted.index] == note for counted in self._counted.values())

    def note_repeated_ids(self, count: int) -> None:
        """Note that records were skipped because their id occurs earlier in the input."""
        self.note(f"skipped {plural(count, 'memory')} whose id occurs earlier in the input")

    def note_sensitive(self, memories: int, others: int, scopes: list[str]) -> None:
        """Note what was left out because its scope is marked as sensitive."""
        left = plural(memories, "memory")
        if others:
            left += f" and {plural(others, 'other item')}"
        noun = "scope" if len(scopes) == 1 else "scopes"
        names = first_few([quoted(scope) for scope in scopes])
        self.note(f"left out {left} of the sensitive {noun} {names}")

    def note_unfinished(self, error: MemglotError) -> None:
        """Note that all batches of an import were stored, but the work after them failed."""
        self.note(f"the memories were imported, but finishing the import failed: {error}")

    def dropped(self, field: str, record: str) -> None:
        """Record that a field of a record was lost."""
        self.dropped_counts[field] += 1
        self.dropped_records.append((field, record))

    def losses(self) -> list[dict[str, Any]]:
        """Return what was dropped, by field, with the records it was dropped from."""
        found: dict[str, list[str]] = {}
        for field, record in self.dropped_records:
            found.setdefault(field, []).append(record)
        return [{"field": field, "records": records} for field, records in sorted(found.items())]

    def tick(self) -> None:
        """Show the progress."""
        progress = self.progress
        progress.read, progress.imported, progress.failed = self.read, self.imported, self.failed
        progress.tick()


class Place:
    """Where a reader is: the source, its format, and the line and number of the current item, if known.

    A reader has one place, which moves with it: read it before you ask for the next item.
    """

    __slots__ = ("format", "item", "line", "modified_at", "source")

    def __init__(self, source: str = "", format: str = "") -> None:
        self.source = source
        self.format = format
        self.modified_at = 0
        """When the source was modified, in microseconds; 0 if unknown."""
        self.line: int | None = None
        self.item: int | None = None


class LinePosition(msgspec.Struct, frozen=True, array_like=True):
    """A position between two lines of a file: its offset in bytes, and the numbers of lines and items before it."""

    offset: int
    line: int
    item: int


class LineDigest:
    """The digest of the lines that were read since it was last taken, and the position after them."""

    def __init__(self) -> None:
        self._hash = sha256()
        self._last = b""
        self._before: LinePosition | None = None
        self._after: LinePosition | None = None

    def add(self, line: bytes) -> None:
        """Add a line; its position follows if it is an item."""
        self._hash.update(self._last)
        self._last = line
        self._before, self._after = self._after, None

    def place(self, offset: int, line: int, item: int) -> None:
        """Say which position is after the line that was added last."""
        self._after = LinePosition(offset, line, item)

    def take(self, *, complete: bool) -> tuple[LinePosition | None, bytes]:
        """Return the position after the last line, or before it, and the digest up to there; begin again from there."""
        if complete:
            self._hash.update(self._last)
            self._last = b""
        digest, self._hash = self._hash.digest(), sha256()
        return (self._after if complete else self._before), digest


class SourceReport(Place):
    """Reports what happens while one source is read, with its place.

    Readers set `line` and `item` before they yield a record; if the line is expensive to know, they set `find_line`.
    """

    __slots__ = ("_errors", "_valid_before", "find_line", "lines", "offset", "results")

    def __init__(self, results: Report | None = None, source: str = "", format: str = "") -> None:
        super().__init__()
        self.results = results or Report()
        self.format = format
        self.start_source(source)

    def start_source(self, name: str) -> None:
        """Begin with the next source; a folder that is read as one has several."""
        self.source = self.results.progress.source = name
        self.line = self.item = None
        self.find_line: Callable[[], int] | None = None
        self.offset = 0
        """Position of the current item in bytes."""
        self.lines: LineDigest | None = None
        """Digest of the lines that are read, if somebody wants it."""
        self.inputs.proof = None
        self._errors = 0
        self._valid_before = self.results.read - self.results.failed

    def watch(self, position: Measured) -> None:
        """Show the progress by the position in an input, and remember when that was modified."""
        self.results.progress.position = position
        self.modified_at = position.modified_at

    @property
    def inputs(self) -> InputFacts:
        """What the inputs say about themselves."""
        return self.results.inputs

    def failed_record(self, error: MemglotError | str, *, line: int | None = None, item: int | None = None) -> None:
        """Count a record that could not be read, and add the reason."""
        results = self.results
        results.read += 1
        results.failed += 1
        if not results.failed % _TICK:
            results.tick()
        if line is None:
            line = self.line if self.find_line is None else self.find_line()
        results.fault(error, self.source, line=line, item=item or self.item, count=1)
        self._count_error()

    def fault(self, error: MemglotError | str, *, line: int | None = None, item: int | None = None) -> None:
        """Add an error in the source that affects none of its records."""
        self.results.fault(error, self.source, line=line, item=item)
        self._count_error()

    def check_density(self, items: int) -> None:
        """Raise `NotMemories` if the source has too many items for its size."""
        position = self.results.progress.position
        if items > MANY_ITEMS and position is not None:
            if (position.consumed or position.size or items * MIN_ITEM_BYTES) < items * MIN_ITEM_BYTES:
                raise too_many_items(items)

    def _count_error(self) -> None:
        self._errors += 1
        if self._errors >= MAX_ERRORS:
            valid = self.results.read - self.results.failed - self._valid_before
            if self._errors > valid:
                raise too_many_errors()

    def note(self, text: str) -> None:
        """Add a note, unless the same note was added before."""
        self.results.note(text)

    def dropped(self, field: str, record: str) -> None:
        """Record that a field of a record was lost."""
        self.results.dropped(field, record)
