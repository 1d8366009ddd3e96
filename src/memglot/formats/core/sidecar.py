"""What belongs to no record, one JSON object a line: `<out>.memglot.ndjson` beside a file of records.

The last line is an end mark, `{"end": {"count", "digest"}}`, so that a cut or edited file is noticed.
"""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from memglot.errors import BadRecord
from memglot.formats.core.source import SIDECAR, Source
from memglot.model import THINGS, Item, Record, Thing, canonical, check_record, check_thing
from memglot.model.record_errors import bad_syntax
from memglot.report import Proof, SourceReport

_KINDS: dict[str, type[Any]] = {**THINGS, "record": Record}
_NAMES = {struct: name for name, struct in _KINDS.items()}
_END = b'{"end":'


def kind_name(item: Item) -> str:
    """The word for what an item is."""
    return _NAMES[type(item)]


def display_key(item: Item) -> str:
    """What tells an item from others of its kind, for people."""
    for field in ("id", "key", "record", "newer"):
        if value := getattr(item, field, None):
            return str(value)
    return ""


def encode_item(item: Item) -> bytes:
    """An item as a line."""
    return b'{"' + kind_name(item).encode() + b'":' + canonical(item) + b"}"


def decode_item(line: bytes) -> Item:
    """The item in a line; raises `BadRecord`."""
    try:
        ((name, value),) = msgspec.json.decode(line, type=dict[str, msgspec.Raw]).items()
        item: Item = msgspec.json.decode(value, type=_KINDS[name])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, ValueError) as error:
        raise bad_syntax("memglot line", str(error)) from None
    if isinstance(item, Record):
        check_record(item)
    else:
        check_thing(item)
    return item


class LineProver:
    """Sums up lines for their end mark."""

    def __init__(self) -> None:
        self._whole = sha256()
        self.count = 0

    def add(self, line: bytes) -> None:
        """Take in a line, without its newline."""
        self.count += 1
        self._whole.update(sha256(line).digest())

    def end(self) -> Proof:
        """The end mark for all that was taken in."""
        return Proof(self.count, "sha256:" + self._whole.hexdigest())

    def end_line(self) -> bytes:
        """The end mark as a line."""
        return msgspec.json.encode({"end": self.end()})


def sidecar_path(path: Path) -> Path | None:
    """The file beside a file of records, if there is one; a link is not followed."""
    place = path.with_name(path.name + SIDECAR)
    return place if place.is_file() and not place.is_symlink() else None


def read_sidecar(source: Source, report: SourceReport) -> Iterator[Record | Thing]:
    """The items in the lines of a source."""
    for number, line in enumerate(source.stream, 1):
        report.line = report.item = number
        if line.startswith(_END):
            continue
        try:
            yield decode_item(line)
        except BadRecord as error:
            report.failed_record(error)
    source.close()


def sidecar_count(place: Path) -> int | None:
    """How many items lie beside a file; `None` where the end mark does not fit the lines."""
    found = LineProver()
    last = b""
    with open(place, "rb") as file:
        for line in file:
            if last:
                found.add(last)
            last = line.rstrip(b"\n")
    return found.count if last == found.end_line() else None
