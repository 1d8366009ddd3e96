"""What happened on the way: counts, errors with their places, notes, losses, progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from memglot.errors import MemglotError

T = TypeVar("T")
_IN_MEMORY = 1 << 20


class Spool(Generic[T]):
    """A list that grows on disk: appended to in order, read as often as wanted, never held in memory."""

    def __init__(self) -> None:
        import tempfile

        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)
        self._length = 0

    def __del__(self) -> None:
        self._file.close()

    def append(self, value: T) -> None:
        """Add one value that JSON can hold."""
        self.extend([value])

    def extend(self, values: list[T]) -> None:
        """Add several at once."""
        if values:
            self._file.seek(0, 2)
            self._file.write(msgspec.json.Encoder().encode_lines(values))
            self._length += len(values)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        decode = msgspec.json.Decoder().decode
        place = 0
        while True:
            # The place is kept here, so that two readers, or a reader and a writer, do not disturb each other.
            self._file.seek(place)
            lines = self._file.readlines(1 << 16)
            if not lines:
                return
            place = self._file.tell()
            for line in lines:
                yield decode(line)


class Fault(msgspec.Struct, omit_defaults=True):
    """One thing that could not be read: where it stands, and why."""

    source: str
    error: str
    item: int | None = None
    line: int | None = None
    hint: str | None = None

    def __str__(self) -> str:
        place = self.source
        if self.line is not None:
            place += f":{self.line}"
        elif self.item is not None:
            place += f" item {self.item}"
        return f"{place}: {self.error}"


class End(msgspec.Struct):
    """The end mark of a record file: how many records it holds, and their joint digest."""

    count: int
    digest: str


class Report:
    """Collects what one deed has to tell.

    Readers set `line` and `item` before they yield a record; where the line is dear to know, `find_line` finds it.
    """

    def __init__(self, progress: Callable[[Report], None] | None = None) -> None:
        self.source = ""
        self.line: int | None = None
        self.item: int | None = None
        self.offset = 0
        self.find_line: Callable[[], int] | None = None
        self.read = self.imported = self.merged = self.skipped = self.failed = 0
        self.written_count = 0
        self.format = ""
        self.current: Any = None
        self.errors: Spool[dict[str, Any]] = Spool()
        self.ids: Spool[str] = Spool()
        self.skipped_ids: Spool[str] = Spool()
        self.notes: list[str] = []
        self.formats: Counter[str] = Counter()
        self.kept: Counter[str] = Counter()
        self.carried: Counter[str] = Counter()
        self.dropped_counts: Counter[str] = Counter()
        self.dropped_records: Spool[tuple[str, str]] = Spool()
        self.end: End | None = None
        self._progress = progress

    def failed_record(self, error: MemglotError | str, *, line: int | None = None, item: int | None = None) -> None:
        """Count a record that could not be read or kept, and say why."""
        self.read += 1
        self.failed += 1
        if line is None:
            line = self.line if self.find_line is None else self.find_line()
        self.fault(error, line=line, item=item or self.item)

    def fault(self, error: MemglotError | str, *, line: int | None = None, item: int | None = None) -> None:
        """Tell of something wrong with an input that is not one of its records."""
        reason = getattr(error, "reason", None) or str(error)
        fault = Fault(self.source, reason, item, line, getattr(error, "hint", None))
        self.errors.append(msgspec.to_builtins(fault))

    def faults(self) -> Iterator[Fault]:
        """The errors, in the order they were met."""
        for error in self.errors:
            yield msgspec.convert(error, Fault)

    def note(self, text: str) -> None:
        """Keep a sentence that a person should read; the same sentence once."""
        if text not in self.notes:
            self.notes.append(text)

    def dropped(self, field: str, record: str) -> None:
        """Record that a field of a record did not survive."""
        self.dropped_counts[field] += 1
        self.dropped_records.append((field, record))

    def losses(self) -> list[dict[str, Any]]:
        """What was dropped, by field, with the records it was dropped from."""
        found: dict[str, list[str]] = {}
        for field, record in self.dropped_records:
            found.setdefault(field, []).append(record)
        return [{"field": field, "records": records} for field, records in sorted(found.items())]

    def written(self, end: End) -> None:
        """Say what a writer wrote."""
        self.end = end

    def start_source(self, name: str) -> None:
        """Begin with the next input."""
        self.source = name
        self.line = self.item = self.find_line = None
        self.end = None

    def tick(self) -> None:
        """Let a progress bar move on."""
        if self._progress is not None:
            self._progress(self)


# What the notes say ---------------------------------------------------------------------------------------------------


def note_left_out(names: list[str]) -> str:
    """Files in a folder that no reader is known for."""
    return f"left out {_count(names, 'file')} of no known format: {_some(names)}"


def note_links(names: list[str]) -> str:
    """Links in a folder."""
    return f"did not follow {_count(names, 'symbolic link')}: {_some(names)}"


def note_foreign_carry(source: str, reason: str) -> str:
    """A key with our name that we did not write."""
    return f"`memglot` in {source} is not this tool's carry slot and stays in `meta`: {reason}"


def _count(names: list[str], noun: str) -> str:
    return f"{len(names):,} {noun}" + ("" if len(names) == 1 else "s")


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def note_incomplete() -> str:
    """A store whose last load was cut off."""
    return (
        "an import was cut off before its indexes were built; searching without them until the next writing command "
        "completes them (`memglot doctor --fix` does only that)"
    )


def note_damage(text: str) -> str:
    """What SQLite found."""
    return f"the file is damaged: {text}"


def note_altered(id: str) -> str:
    """A record that was changed behind our back."""
    return f"memory {id} does not fit its digest: it was altered outside memglot"


def note_text_index() -> str:
    """A full text index that does not fit."""
    return "the full text index does not fit the memories; `memglot doctor --fix` rebuilds it"


def note_no_records(source: str) -> str:
    """A well-formed input that holds nothing."""
    return f"{source} holds no memories"


def note_cut_off(source: str, said: int, read: int) -> str:
    """An end mark that does not fit what was read."""
    return f"{source} says it holds {said:,} memories, but {read:,} were read: `memglot verify` tells more"


def note_no_ids(count: int) -> str:
    """Records without ids, in a format that compares ids alone."""
    return f"{_many(count)} no id and got a new one: importing the same file again will add them again"


def note_twice(count: int) -> str:
    """Ids that stand in the input more than once."""
    return f"{_many(count)} an id that stands earlier in the input: the first one was kept"


def note_differ(count: int) -> str:
    """Skipped records that are not what is stored."""
    return f"{_many(count)} an id that is stored with other values: `--conflict prefer-remote` takes the file's"


def note_deleted(count: int) -> str:
    """Records that were deleted before."""
    return f"{_many(count)} been deleted earlier and stay so: `--restore-deleted` brings them back"


def _many(count: int) -> str:
    return "1 memory has" if count == 1 else f"{count:,} memories have"


def note_no_match() -> str:
    """An export whose filter selects nothing."""
    return "no memory matches the filter"


def note_filtered(count: int) -> str:
    """What a filtered export leaves out."""
    return f"a filtered export holds memories and their relations only: {count:,} other things stayed in the store"


def note_kept_since(count: int) -> str:
    """Records that were edited after the import that is undone."""
    return f"{_many(count)} been changed since and stayed as they are now: `--force` undoes them too"
