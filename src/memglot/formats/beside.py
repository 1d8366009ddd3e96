"""What belongs to no record, one JSON object a line: `<out>.memglot.ndjson` beside a file of records."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from memglot.errors import BadRecord, bad_syntax
from memglot.formats.source import BESIDE, Source
from memglot.model import THINGS, Item, Record, Thing, canonical, check_record
from memglot.report import Report

_KINDS: dict[str, type[Any]] = {**THINGS, "record": Record}
_NAMES = {struct: name for name, struct in _KINDS.items()}


def name_of(item: Item) -> str:
    """The word for what an item is."""
    return _NAMES[type(item)]


def key_of(item: Item) -> str:
    """What tells an item from others of its kind, for people."""
    for field in ("id", "key", "record", "newer"):
        if value := getattr(item, field, None):
            return str(value)
    return ""


def line_of(item: Item) -> bytes:
    """An item as a line."""
    return b'{"' + name_of(item).encode() + b'":' + canonical(item) + b"}"


def item_of(line: bytes) -> Item:
    """The item in a line; raises `BadRecord`."""
    try:
        ((name, value),) = msgspec.json.decode(line, type=dict[str, msgspec.Raw]).items()
        item: Item = msgspec.json.decode(value, type=_KINDS[name])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, ValueError) as error:
        raise bad_syntax("memglot line", str(error)) from None
    if isinstance(item, Record):
        check_record(item)
    return item


def read_beside(path: Path, report: Report) -> Iterator[Record | Thing]:
    """The items beside a file of records, if there are any."""
    place = path.with_name(path.name + BESIDE)
    if not place.is_file():
        return
    source = Source.file(place)
    report.start_source(source.name)
    for number, line in enumerate(source.stream, 1):
        report.line = report.item = number
        try:
            yield item_of(line)
        except BadRecord as error:
            report.failed_record(error)
    source.close()
