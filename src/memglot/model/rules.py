"""The rules that every record follows, whatever its format."""

import math
import re
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from memglot.display import shorten
from memglot.errors import BadRecord
from memglot.model.graph import Endpoint
from memglot.model.ids import UUID7, Minter, id_time
from memglot.model.record import Foreign, Record, Temporal
from memglot.model.record_errors import (
    bad_number,
    bad_text,
    bad_tree,
    bad_vector,
    empty_content,
    empty_text,
    time_out_of_range,
    too_deep,
    wrong_type,
    wrong_types,
)
from memglot.model.stored import Embedding
from memglot.model.times import EARLIEST, LATEST
from memglot.settings import MAX_DEPTH

_TREE = re.compile(r"([A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*)?")
ItemT = TypeVar("ItemT")
ThingT = TypeVar("ThingT")
_THING_TIMES = frozenset("created_at updated_at superseded_at first_seen last_seen decided_at deleted_at clock".split())
_WORDS = ("kind", "scope", "status")
"""Fields of things whose values are also those of records; others keep what another tool wrote, even NUL."""
_IDS = frozenset(("id", "subject", "object", "newer", "older", "record"))
"""Fields of things that must name something."""
_PLAIN = frozenset((int, bool, type(None)))
"""Types whose values JSON can always represent."""
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def check_id(text: str) -> str:
    """Return an id in lower case; raise `BadRecord` if it is not a UUIDv7."""
    id = text.lower()
    if UUID7.fullmatch(id) is None:
        raise BadRecord(f"`id` must be a UUIDv7, not `{shorten(text)}`", "leave `id` out to get a new one")
    return id


@lru_cache(1024)
def check_tree(text: str) -> str:
    """Return a dotted path; raise `BadRecord` if it is not valid."""
    if _TREE.fullmatch(text) is None:
        raise bad_tree(text)
    return text


def check_text(text: str, field: str) -> str:
    """Return a text; raise `BadRecord` if it contains NUL or a lone surrogate."""
    if "\0" in text:
        raise bad_text(field, "NUL", text.index("\0"))
    if not text.isascii() and (match := _LONE_SURROGATE.search(text)):
        raise bad_text(field, "a lone surrogate", match.start())
    return text


def repair_text(text: str) -> tuple[str, list[list[int]]]:
    """Return a text with U+FFFD for each NUL and lone surrogate, and the position and code of each of them."""
    if "\0" not in text and (text.isascii() or not _LONE_SURROGATE.search(text)):
        return text, []
    return _UNSTORABLE.sub(REPLACEMENT, text), [[found.start(), ord(found[0])] for found in _UNSTORABLE.finditer(text)]


def check_content(text: str) -> str:
    """Return the text of a memory; raise `BadRecord` if it is empty or cannot be stored."""
    if not text:
        raise empty_content()
    return check_text(text, "content")


def check_temporal(start: int, end: int | None) -> Temporal:
    """Return a point or a range; a range that ends where it starts is a point."""
    if end is None or end == start:
        return Temporal(start)
    if end < start:
        raise BadRecord("`temporal` ends before it starts")
    return Temporal(start, end)


def check_value(value: Any, field: str, depth: int = 1) -> None:
    """Raise `BadRecord` if JSON cannot represent a value, or if it is nested too deeply."""
    if depth > MAX_DEPTH:
        raise too_deep(field)
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise wrong_type(f"{field} key", "text", type(key).__name__)
            if not key.isascii():
                _check_scalar(key, field)
            if type(inner) not in _PLAIN and (type(inner) is not str or not inner.isascii()):
                check_value(inner, field, depth + 1)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            if type(inner) not in _PLAIN and (type(inner) is not str or not inner.isascii()):
                check_value(inner, field, depth + 1)
    else:
        _check_scalar(value, field)


def _check_scalar(value: Any, field: str) -> None:
    if isinstance(value, str):
        if not value.isascii() and (match := _LONE_SURROGATE.search(value)):
            raise bad_text(field, "a lone surrogate", match.start())
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise bad_number(field, value)
    elif value is not None and not isinstance(value, (bool, int)):
        raise wrong_type(field, "a value that JSON can hold", type(value).__name__)


def check_types(record: Record) -> None:
    """Raise `BadRecord` if a field of a record made by a caller has the wrong type."""
    try:
        msgspec.convert(msgspec.to_builtins(record), Record)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise wrong_types(str(error)) from None


def check_item(item: ItemT) -> ItemT:
    """Return an item whose values follow all rules, wherever it came from; raise `BadRecord` for any other."""
    # For structs, `isinstance` is several times slower.
    found: Any = item
    if type(found) is Record:
        check_record(found)
    else:
        check_thing(found)
    return item


def check_record(record: Record) -> None:
    """Check all rules for the values of a record; raise `BadRecord`."""
    check_fields(record)
    if record.meta or record.source or record.extra:
        for field in ("meta", "source", "extra"):
            check_value(getattr(record, field), field)
    _check_foreign(record.foreign)
    if record.clocks:
        check_value(record.clocks, "clocks")
    for field in ("strength", "confidence"):
        if (value := getattr(record, field)) is not None:
            check_value(value, field)


def _check_foreign(places: list[Foreign]) -> None:
    for place in places:
        for text in msgspec.structs.astuple(place):
            if not text.isascii():
                _check_scalar(text, "foreign")


def check_fields(record: Record) -> None:
    """Check the rules for a record whose objects are decoded JSON, which follows the others; raise `BadRecord`."""
    check_content(record.content)
    check_tree(record.tree)
    if record.id and UUID7.fullmatch(record.id) is None:
        check_id(record.id)
    _check_short_texts(record)
    _check_times(record)


def _check_short_texts(record: Record) -> None:
    found = f"{record.title or ''}{record.kind}{record.scope}{record.status}"
    if record.tags or record.triggers:
        found = "".join((found, *record.tags, *record.triggers))
    if "\0" not in found and found.isascii():
        return
    for field in ("title", "kind", "scope", "status"):
        if (text := getattr(record, field)) is not None:
            check_text(text, field)
    for field in ("tags", "triggers"):
        for text in getattr(record, field):
            check_text(text, field)


def _check_times(record: Record) -> None:
    _check_time(record.created_at)
    _check_time(record.updated_at)
    _check_time(record.last_accessed or 0)
    for time in record.clocks.values():
        _check_time(time)
    if record.temporal is not None:
        check_temporal(record.temporal.start, record.temporal.end)
        _check_time(record.temporal.start)
        _check_time(record.temporal.end or 0)


def _check_time(time: int) -> None:
    if type(time) is not int:
        raise wrong_type("a time", "a number of microseconds", type(time).__name__)
    if not EARLIEST <= time <= LATEST:
        raise time_out_of_range(time)


def check_thing(thing: ThingT) -> ThingT:
    """Return a thing whose values follow all rules; raise `BadRecord` for any other."""
    found: Any = thing
    if type(found) is Embedding and len(found.vector) != 4 * found.dimensions:
        raise bad_vector(len(found.vector), found.dimensions)
    _check_values(found)
    return thing


def _check_values(struct: msgspec.Struct) -> None:
    for field, value in zip(struct.__struct_fields__, msgspec.structs.astuple(struct), strict=True):
        if type(value) is Endpoint:
            value = value.id
        if not value:
            if value == "" and field in _IDS:
                raise empty_text(field)
        elif isinstance(value, str):
            if not value.isascii() or "\0" in value:
                _check_thing_text(value, field)
        elif isinstance(value, int) and field in _THING_TIMES:
            _check_time(value)
        elif field == "foreign":
            _check_foreign(value)
        elif not isinstance(value, bytes):
            check_value(value, field)


def _check_thing_text(text: str, field: str) -> None:
    if not text and field in _IDS:
        raise empty_text(field)
    if field in _WORDS:
        check_text(text, field)
    else:
        check_value(text, field)


def set_times_from_id(record: Record) -> None:
    """Set missing times of a record from the time in its id, if it has one."""
    if not record.created_at and record.id:
        at = id_time(record.id) * 1000
        # The time in an id may be out of range; then it is ignored.
        record.created_at = at if at <= LATEST else 0
    if not record.updated_at:
        record.updated_at = record.created_at


def assign_id_and_times(record: Record, minter: Minter) -> None:
    """Set the id and times that a record lacks, using the time of its note or of its import."""
    at = minter.milliseconds * 1000
    if not record.created_at:
        # A time in the future is that of a plan, or of a wrong clock.
        record.created_at = record.dated_at if 0 < record.dated_at <= at else at
        if record.created_at < record.modified_at <= at:
            record.updated_at = record.updated_at or record.modified_at
    if not record.updated_at:
        record.updated_at = record.created_at
    if not record.id:
        record.id = minter.mint()
