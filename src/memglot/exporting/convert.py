"""Convert one format to another, without a store."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from memglot.arguments import parse_size
from memglot.errors import UsageError
from memglot.formats import registry
from memglot.formats.base import STORE, Format, ReadOptions, WriteOptions
from memglot.formats.core.read import Input, read_items
from memglot.formats.core.target import Target
from memglot.formats.detect import format_to_write
from memglot.model import FIELDS, Item, Minter, Record, assign_id_and_times, now, owner_of, to_builtins
from memglot.report import Fault, Report, ShowProgress
from memglot.settings import Passphrase


def convert(
    src: Input,
    dst: str | Path | None = None,
    *,
    from_: str | None = None,
    to: str | None = None,
    plain: bool = False,
    lenient: bool = False,
    dialect: str | None = None,
    force: bool = False,
    passphrase: Passphrase = None,
    plaintext: bool = False,
    for_spreadsheets: bool = False,
    one_note_per: str | None = None,
    max_record: int | str | None = None,
    stream: BinaryIO | None = None,
    progress: ShowProgress | None = None,
) -> Conversion:
    """Convert a file or folder to another format, without a store. The result lists what was lost."""
    if dst is None and stream is None:
        raise UsageError("no path or stream to write to")
    report = Report(progress)
    target = Target(Path(dst) if dst is not None else None, stream, force=force, plain=plain)
    options = WriteOptions(
        plain=plain,
        dialect=dialect,
        passphrase=passphrase,
        plaintext=plaintext,
        for_spreadsheets=for_spreadsheets,
        one_note_per=one_note_per,
    )
    format = format_to_write(to, target.path, options)
    # A file that another tool can read is an export, whatever it was made from.
    reading = ReadOptions(
        lenient=lenient,
        passphrase=passphrase,
        sensitive=format.name == STORE,
        max_record=parse_size(max_record),
    )
    items = read_items([src], registry.get(from_) if from_ else None, report, reading)
    _write(items, format, target, report, options)
    return Conversion(report, format.name)


def _write(items: Iterator[Item], format: Format, target: Target, report: Report, options: WriteOptions) -> None:
    assert format.write is not None
    if not (options.plaintext or format.writing.encrypts or format.name == STORE):
        items = _without_sensitive(items, report)
    items = _prepared(items, format, report)
    first = next(items, None)
    if first is None and len(report.errors):
        # Nothing could be read, so an existing target is kept.
        return
    format.write(chain([] if first is None else [first], items), target, report, options)


def _without_sensitive(items: Iterator[Item], report: Report) -> Iterator[Item]:
    """Leave out the items of scopes that the input marks as sensitive, and their attached items."""
    hidden: set[str] = set()
    scopes: set[str] = set()
    memories = others = 0
    for item in items:
        scope = getattr(item, "scope", None)
        if isinstance(scope, str) and scope in report.inputs.sensitive:
            scopes.add(scope)
            if isinstance(item, Record):
                memories += 1
                report.skipped += 1
            else:
                others += 1
            hidden.add(getattr(item, "id", ""))
        elif hidden and not isinstance(item, Record) and owner_of(item) in hidden:
            others += 1
        else:
            yield item
    if memories or others:
        report.note_sensitive(memories, others, sorted(scopes))


def _prepared(items: Iterator[Item], format: Format, report: Report) -> Iterator[Item]:
    minter = Minter(now() // 1000)
    seen: set[str] = set()
    repeated = 0
    for item in items:
        if isinstance(item, Record):
            if format.writing.makes_folder and item.id in seen:
                # A note is named by its id, so a second one would replace the first.
                repeated += 1
                report.skipped += 1
                report.dropped("record", item.id)
                continue
            if format.writing.makes_folder and item.id:
                seen.add(item.id)
            report.imported += 1
            if format.writing.makes_folder or format.writing.needs_ids:
                # A note is named by its id, so a record without an id gets one.
                assign_id_and_times(item, minter)
            for field in to_builtins(item):
                if field in format.fields:
                    report.kept[field] += 1
            report.tick()
        yield item
    if repeated:
        report.note_repeated_ids(repeated)


def kept_fields(report: Report) -> list[str]:
    """Return the fields that were stored in native fields, in the order of the model."""
    return [field for field in FIELDS if report.kept[field]]


class Conversion:
    """What a conversion kept, carried and dropped."""

    def __init__(self, report: Report, format: str) -> None:
        self._report = report
        self.format = format
        self.count = report.proof.count if report.proof else 0
        self.kept = kept_fields(report)
        self.carried = sorted(report.carried)
        self.dropped = report.losses()
        self.failed = report.failed
        self.notes = report.notes

    @property
    def errors(self) -> Iterator[Fault]:
        """Return what could not be read, with places and reasons."""
        return self._report.faults()

    @property
    def exit_code(self) -> int:
        """0 success; 1 errors, but something was written; 2 errors and nothing written."""
        return 0 if not len(self._report.errors) else 1 if self.count else 2

    def value(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        value = {"count": self.count, "kept": self.kept, "carried": self.carried, "dropped": self.dropped}
        return {
            **value,
            "failed": self.failed,
            "errors": [msgspec.to_builtins(fault) for fault in self.errors],
            "notes": self.notes,
        }
