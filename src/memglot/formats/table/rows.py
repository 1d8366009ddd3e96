"""The memory that a row of a table becomes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from memglot.errors import BadRecord
from memglot.formats.core.original_text import repair_content
from memglot.formats.syntax import cells
from memglot.formats.table.mapping import FIELDS, value_at
from memglot.formats.table.times import parse_time_of_table
from memglot.model import (
    Foreign,
    Record,
    canonical_value,
    check_text,
    check_tree,
    check_value,
    derive_id,
    is_id,
    set_times_from_id,
)
from memglot.model.record_errors import empty_content
from memglot.report import SourceReport

TOOL = "table"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TIMES = ("created_at", "updated_at", "last_accessed")
_TEXTS = ("title", "kind", "scope", "status")
_NUMBERS = ("strength", "confidence")


class RowMapper:
    """Makes memories of rows. What no field holds is kept in `meta`, under the names of the columns."""

    def __init__(self, columns: dict[str, str], space: str, report: SourceReport) -> None:
        self._columns = {field: column for field, column in columns.items() if field in FIELDS}
        self._space, self._report = space, report
        self._setters: dict[str, Callable[[Record, str, Any], bool]] = {
            "id": self._id,
            "tree": _tree,
            "tags": _tags,
            "access_count": _count,
            "meta": _meta,
            **dict.fromkeys(_TIMES, _time),
            **dict.fromkeys(_TEXTS, _text),
            **dict.fromkeys(_NUMBERS, _number),
        }

    def record(self, row: dict[str, Any]) -> Record:
        """Return the memory of a row; raise `BadRecord`."""
        content = value_at(row, self._columns["content"])
        record = Record(content="" if content is None else _as_text(content))
        if not record.content:
            raise empty_content()
        used = [self._columns["content"]]
        for field, column in self._columns.items():
            value = value_at(row, column) if field != "content" else None
            if value is None or value == "" or (field in _TEXTS and str(value).strip() == ""):
                continue
            if self._setters[field](record, field, value):
                used.append(column)
            else:
                name = self._report.source
                self._report.note(
                    f"`{column}` in {name} is not always a valid `{field}`; such values are kept in `meta`"
                )
        rest = _without(row, used)
        check_value(rest, "meta")
        # Columns of `meta` itself come first, so that no other column replaces them.
        record.meta = rest | record.meta if not record.meta.keys() & rest.keys() else {**record.meta, "columns": rest}
        repair_content(record, TOOL)
        set_times_from_id(record)
        return record

    def _id(self, record: Record, field: str, value: Any) -> bool:
        if isinstance(value, (dict, list)):
            return False
        text = check_text(_as_text(value).strip(), "id")
        if not text:
            return False
        if is_id(text.lower()):
            record.id = text.lower()
            return True
        # A UUID is globally unique, in whatever table it is.
        space = "" if _UUID.fullmatch(text) else self._space
        record.id = derive_id(TOOL, space, text)
        record.foreign = [Foreign(TOOL, text, space)]
        return True


def _as_text(value: Any) -> str:
    """Return a value as text; a list of texts as its lines, and anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return "\n".join(value)
    return canonical_value(value).decode()


def _text(record: Record, field: str, value: Any) -> bool:
    if isinstance(value, (dict, list)):
        return False
    setattr(record, field, check_text(_as_text(value), field))
    return True


def _tags(record: Record, field: str, value: Any) -> bool:
    found = value if isinstance(value, list) else cells.tags(_as_text(value))
    texts = [check_text(_as_text(tag), "tags").strip() for tag in found]
    record.tags = list(dict.fromkeys(filter(None, texts)))
    return True


def _time(record: Record, field: str, value: Any) -> bool:
    found = parse_time_of_table(value)
    if found is None:
        return False
    setattr(record, field, found)
    return True


def _tree(record: Record, field: str, value: Any) -> bool:
    try:
        record.tree = check_tree(value.strip().strip("/").replace("/", ".") if isinstance(value, str) else "?")
    except BadRecord:
        return False
    return True


def _number(record: Record, field: str, value: Any) -> bool:
    number = cells.number(_as_text(value).strip()) if isinstance(value, (str, int, float)) else None
    if number is None or isinstance(value, bool):
        return False
    setattr(record, field, number)
    return True


def _count(record: Record, field: str, value: Any) -> bool:
    found = cells.count(_as_text(value).strip()) if isinstance(value, (str, int, float)) else None
    if found is None or isinstance(value, bool):
        return False
    record.access_count = found
    return True


def _meta(record: Record, field: str, value: Any) -> bool:
    if isinstance(value, str):
        try:
            value = cells.json_value(value)
        except BadRecord:
            return False
    if not isinstance(value, dict):
        return False
    check_value(value, "meta")
    record.meta = value
    return True


def _without(row: dict[str, Any], paths: list[str]) -> dict[str, Any]:
    """Return a row without the values at some paths; what is left empty goes too."""
    rest = dict(row)
    for path in paths:
        _remove(rest, path)
    return rest


def _remove(row: dict[str, Any], path: str) -> bool:
    if path in row:
        del row[path]
        return True
    head, dot, rest = path.partition(".")
    while dot:
        inner = row.get(head)
        if isinstance(inner, dict):
            row[head] = copied = dict(inner)
            if _remove(copied, rest):
                if not copied:
                    del row[head]
                return True
        more, dot, rest = rest.partition(".")
        head += "." + more
    # An item of a list: the list stays whole.
    return False
