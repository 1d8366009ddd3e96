"""The sidecar `<out>.memglot`: items that belong to no record, one JSON object per line.

The last line is a proof, `{"end": {"count", "digest"}}`, which shows if the file was truncated or edited.
"""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from memglot.display import quoted
from memglot.errors import BadRecord
from memglot.formats.core.source import OLD_SIDECAR, SIDECAR, Source
from memglot.model import THINGS, Item, Record, Thing, canonical, check_record, check_thing
from memglot.model.record_errors import bad_item
from memglot.report import Proof, SourceReport

_KINDS: dict[str, type[Any]] = {**THINGS, "record": Record}
_NAMES = {struct: name for name, struct in _KINDS.items()}
_END = b'{"end":'


def kind_name(item: Item) -> str:
    """Return the name of an item's kind."""
    return _NAMES[type(item)]


def display_key(item: Item) -> str:
    """Return what identifies an item among others of its kind, for people."""
    for field in ("id", "key", "record", "newer"):
        if value := getattr(item, field, None):
            return str(value)
    return ""


def display_name(item: Item) -> str:
    """Return the kind of an item and what identifies it, for people."""
    return f"{kind_name(item)} {quoted(display_key(item))}"


def encode_item(item: Item) -> bytes:
    """Return an item as a line."""
    return b'{"' + kind_name(item).encode() + b'":' + canonical(item) + b"}"


def decode_item(line: bytes) -> Item:
    """Return the item of a line. Raise `BadRecord`."""
    try:
        ((name, value),) = msgspec.json.decode(line, type=dict[str, msgspec.Raw]).items()
        item: Item = msgspec.json.decode(value, type=_KINDS[name])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, ValueError) as error:
        raise bad_item("memglot line", str(error)) from None
    if isinstance(item, Record):
        check_record(item)
    else:
        check_thing(item)
    return item


class LineProver:
    """Computes the proof of lines."""

    def __init__(self) -> None:
        self._sum = sha256()
        self.count = 0

    def add(self, line: bytes) -> None:
        """Add a line without its newline."""
        self.count += 1
        self._sum.update(sha256(line).digest())

    def end(self, *, alone: bool = False) -> Proof:
        """Return the proof of all lines so far."""
        return Proof(self.count, "sha256:" + self._sum.hexdigest(), alone=alone)

    def end_line(self, *, alone: bool = False) -> bytes:
        """Return the proof as a line; `alone` if the file next to it has no memories."""
        return msgspec.json.encode({"end": self.end(alone=alone)})


def sidecar_places(path: Path) -> tuple[Path, Path]:
    """Return where the sidecar of a file is, and where earlier versions put it."""
    return path.with_name(path.name + SIDECAR), path.with_name(path.name + OLD_SIDECAR)


def sidecar_path(path: Path) -> Path | None:
    """Return the sidecar of a file, if it exists and is not a link."""
    for place in sidecar_places(path):
        if place.is_file() and not place.is_symlink():
            return place
    return None


def read_sidecar(source: Source, report: SourceReport) -> Iterator[Record | Thing]:
    """Yield the items of a sidecar."""
    for number, line in enumerate(source.stream, 1):
        report.line = report.item = number
        if line.startswith(_END):
            continue
        try:
            yield decode_item(line)
        except BadRecord as error:
            report.failed_record(error)
    source.close()


def sidecar_proof(place: Path) -> Proof | None:
    """Return the proof of a sidecar; `None` if it does not match."""
    found = LineProver()
    last = b""
    with open(place, "rb") as file:
        for line in file:
            if last:
                found.add(last)
            last = line.rstrip(b"\n")
    proofs = (found.end(alone=alone) for alone in (False, True))
    return next((proof for proof in proofs if last == msgspec.json.encode({"end": proof})), None)
