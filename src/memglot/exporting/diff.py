"""Compare two files, folders or stores, record by record and field by field."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from memglot.arguments import parse_size
from memglot.disk import DiskList, DiskMap
from memglot.exporting.run import INCLUDE, ExportOptions, store_items
from memglot.formats.base import ReadOptions
from memglot.formats.core.read import read_items
from memglot.formats.sqlite import is_store
from memglot.model import FIELDS, Item, Record, canonical, content_hash, to_builtins
from memglot.report import Report
from memglot.settings import Passphrase
from memglot.store.location import open_input_store

_TIMES = frozenset({"created_at", "updated_at", "clocks"})


class Difference(msgspec.Struct):
    """A memory on one side only (`added`, `removed`), or a different one (`changed`) with its fields."""

    state: str
    id: str
    title: str
    fields: dict[str, list[Any]] = {}


def items_of(path: str, report: Report, options: ReadOptions) -> Iterator[Item]:
    """Yield all items of a file, a folder or a store."""
    if "://" in path or (path != "-" and is_store(Path(path))):
        store = open_input_store(path, lambda error, _: report.fault(error, path), options.max_record)
        try:
            # Nothing leaves this machine, so sensitive scopes are included.
            for item in store_items(store, ExportOptions(sensitive=INCLUDE), report):
                report.read += isinstance(item, Record)
                yield item
        finally:
            store.close()
    else:
        yield from read_items([path], None, report, options)


def diff(
    before: str | Path,
    after: str | Path,
    report: Report | None = None,
    *,
    passphrase: Passphrase = None,
    max_record: int | str | None = None,
) -> Iterator[Difference]:
    """Return what must change for one file, folder or store to become the other.

    Records are matched by their ids, otherwise by their content. The report lists what could not be read.
    """
    report = report or Report()
    before, after = str(before), str(after)
    options = ReadOptions(passphrase=passphrase, max_record=parse_size(max_record))
    keys: DiskList[str] = DiskList()
    matched = 0
    with DiskMap() as unmatched:
        for key, record in _keyed(items_of(before, report, options)):
            while key in unmatched:
                # A second record with the same id is compared with the second one on the other side.
                key += "+"
            unmatched[key] = canonical(record).decode()
            keys.append(key)
        for key, record in _keyed(items_of(after, report, options)):
            while (stored := unmatched.get(key)) is None and key in unmatched:
                key += "+"
            if stored is None:
                yield Difference("added", record.id, record.content)
                continue
            unmatched[key] = None
            matched += 1
            if stored == canonical(record).decode():
                report.skipped += 1
                continue
            old = msgspec.json.decode(stored, type=Record)
            fields = _fields(old, record)
            if fields:
                yield Difference("changed", record.id or old.id, record.content, fields)
            else:
                report.skipped += 1
        for key in keys if matched < len(keys) else ():
            if (stored := unmatched[key]) is not None:
                old = msgspec.json.decode(stored, type=Record)
                yield Difference("removed", old.id, old.content)


def _keyed(items: Iterator[Item]) -> Iterator[tuple[str, Record]]:
    seen: dict[str, int] = {}
    for item in items:
        if not isinstance(item, Record):
            continue
        if item.id:
            yield item.id, item
        else:
            # Several memories with the same text are distinguished by a number.
            hash = content_hash(item.content).hex()
            seen[hash] = seen.get(hash, 0) + 1
            yield f"{hash} {seen[hash]}", item


def _fields(old: Record, new: Record) -> dict[str, list[Any]]:
    left, right = ({field: to_builtins(getattr(one, field)) for field in FIELDS} for one in (old, new))
    # Times do not differ if one side has none, because its records have neither ids nor dates.
    timeless = not old.created_at or not new.created_at
    return {
        field: [left.get(field), right.get(field)]
        for field in Record.__struct_fields__
        if getattr(old, field) != getattr(new, field) and not (timeless and field in _TIMES)
    }
