"""The columns of a CSV and the record of a row."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from memglot.display import shorten
from memglot.errors import BadRecord
from memglot.formats.core.carry import KEY, take_slot
from memglot.formats.core.original_text import repair_content
from memglot.formats.syntax import cells
from memglot.model import (
    DELETED,
    Foreign,
    Record,
    Thing,
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

TOOL = "csv"
AGENTOS = "agentos"
AGENTOS_ID = "mt_"
# AgentOS keeps these in `metadata`; hashes are always computed, never read from a file.
_HASHES = frozenset({"content_hash", "import_hash", "contentHash"})
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MARKED = f'"{cells.MARKED}"'
_MAX_COLUMNS = 16_384
_YES, _NO = frozenset({"1", "true", "yes"}), frozenset({"0", "false", "no"})


class CsvContext:
    """The file being read: the space of its ids, and its report."""

    def __init__(self, space: str, report: SourceReport) -> None:
        self.space, self.report = space, report

    def keep_as_text(self, record: Record, column: str, text: str, wanted: str) -> None:
        """Keep a value of an unexpected type as text."""
        record.meta[_free(record.meta, column)] = text
        self.report.note(
            f"`{column}` in {self.report.source} is not always {wanted}; such values are kept as text in "
            f"`meta.{column}`"
        )

    def time(self, column: str, text: str) -> int:
        """Return the time in a cell."""
        found, exact = cells.parse_timestamp(text)
        if not exact:
            self.report.dropped(f"{column} (digits beyond a microsecond)", f"{self.report.source}:{self.report.line}")
        return found


SetField: TypeAlias = Callable[[Record, str, CsvContext], None]


def _metadata(record: Record, text: str, context: CsvContext) -> None:
    value = cells.json_value(text)
    check_value(value, "the cell")
    if isinstance(value, dict):
        record.meta = {key: inner for key, inner in value.items() if key not in _HASHES}
    else:
        record.meta["metadata"] = value


def _id(record: Record, text: str, context: CsvContext) -> None:
    if is_id(text.lower()):
        record.id = text.lower()
        return
    tool, space = TOOL, context.space
    if text.startswith(AGENTOS_ID):
        tool, space = AGENTOS, ""
    elif _UUID.fullmatch(text):
        # A UUID is globally unique, in whatever file it is.
        space = ""
    record.id = derive_id(tool, space, text)
    record.foreign = [Foreign(tool, text, space)]


def _kind(record: Record, text: str, context: CsvContext) -> None:
    record.kind = text


def _scope(record: Record, text: str, context: CsvContext) -> None:
    record.scope = text


def _status(record: Record, text: str, context: CsvContext) -> None:
    record.status = text


def _deleted(record: Record, text: str, context: CsvContext) -> None:
    if text.lower() in _YES:
        record.status = DELETED
    elif text.lower() not in _NO:
        context.keep_as_text(record, "deleted", text, "true or false")


def _tags(record: Record, text: str, context: CsvContext) -> None:
    found = cells.tags(text)
    record.tags = list(dict.fromkeys(found))
    if found != record.tags:
        record.extra.setdefault(AGENTOS, {})["tags"] = found


def _tree(record: Record, text: str, context: CsvContext) -> None:
    try:
        record.tree = check_tree(text)
    except BadRecord:
        context.keep_as_text(record, "tree", text, "labels joined by dots")


def _strength(record: Record, text: str, context: CsvContext) -> None:
    record.strength = cells.number(text)
    if record.strength is None:
        context.keep_as_text(record, "strength", text, "a number")


def _count(record: Record, text: str, context: CsvContext) -> None:
    found = cells.count(text)
    record.access_count = found or 0
    if found is None:
        context.keep_as_text(record, "retrieval_count", text, "a count")


def _created(record: Record, text: str, context: CsvContext) -> None:
    record.created_at = context.time("created_at", text)


def _updated(record: Record, text: str, context: CsvContext) -> None:
    record.updated_at = context.time("updated_at", text)


def _accessed(record: Record, text: str, context: CsvContext) -> None:
    record.last_accessed = context.time("last_accessed", text)


def _emotions(record: Record, text: str, context: CsvContext) -> None:
    try:
        value = cells.json_value(text)
        check_value(value, "the cell")
    except BadRecord:
        value = None
    if not isinstance(value, dict):
        context.keep_as_text(record, "emotions", text, "a JSON object")
    elif value:
        record.extra.setdefault(AGENTOS, {})["emotions"] = value


# In the order they are applied: `metadata` first, since others add to it; `deleted` overrides `status`.
_SETTERS: dict[str, SetField] = {
    "metadata": _metadata,
    "id": _id,
    "type": _kind,
    "scope": _scope,
    "tree": _tree,
    "tags": _tags,
    "status": _status,
    "deleted": _deleted,
    "strength": _strength,
    "created_at": _created,
    "updated_at": _updated,
    "last_accessed": _accessed,
    "retrieval_count": _count,
    "emotions": _emotions,
}
_ORDER = {name: place for place, name in enumerate(_SETTERS)}
# Their text is kept exactly.
_EXACT = ("content", "title", KEY)
_ALIASES = {
    "kind": "type",
    "createdat": "created_at",
    "updatedat": "updated_at",
    "lastaccessed": "last_accessed",
    "retrievalcount": "retrieval_count",
    "access_count": "retrieval_count",
}


class CsvHeader:
    """The header of a CSV; raise `BadRecord` if it has no `content` column, or too many columns."""

    def __init__(self, names: Sequence[str]) -> None:
        if len(names) > _MAX_COLUMNS:
            raise BadRecord(
                f"the header has {len(names):,} columns; the maximum is {_MAX_COLUMNS:,}",
                "remove the ones without data",
            )
        names = [check_text(name, "the header").strip() for name in names]
        self._names = names
        self.width = len(names)
        self._exact: dict[str, int] = {}
        self._others: list[tuple[int, str]] = []
        setters: dict[str, tuple[int, str, SetField]] = {}
        seen: dict[str, int] = {}
        for index, name in enumerate(names):
            known = _ALIASES.get(name.lower(), name.lower())
            if known in _EXACT and known not in self._exact:
                self._exact[known] = index
            elif known in _SETTERS and known not in setters:
                setters[known] = (index, known, _SETTERS[known])
            else:
                shown = _unused(seen, name or f"column {index + 1}")
                self._others.append((index, shown))
        if "content" not in self._exact:
            raise _no_content_column(names)
        self._setters = sorted(setters.values(), key=lambda setter: _ORDER[setter[1]])
        self._content = self._exact["content"]
        self._title = self._exact.get("title", -1)
        self._slot = self._exact.get(KEY, -1)

    def record(self, fields: list[str], context: CsvContext) -> tuple[Record, list[Thing]]:
        """Return the record of a row and its attached items; raise `BadRecord`."""
        if len(fields) != self.width:
            fields = self._filled(fields)
        if self._slot >= 0 and _MARKED in fields[self._slot]:
            fields = self._without_marks(fields)
        record = self._with_content(fields)
        if self._title >= 0 and fields[self._title]:
            record.title = fields[self._title]
        for index, name, set_field in self._setters:
            if text := fields[index].strip():
                try:
                    set_field(record, text, context)
                except BadRecord as error:
                    raise BadRecord(f"`{name}`: {error}", error.hint) from None
        _join_scope(record)
        for index, name in self._others:
            if text := fields[index]:
                record.meta[_free(record.meta, name)] = text
        set_times_from_id(record)
        if self._slot >= 0 and (text := fields[self._slot]):
            return record, self._carried(record, text, context)
        return record, []

    def _with_content(self, fields: list[str]) -> Record:
        """Return a record with its content; raise `BadRecord` if another field has NUL, which only content may have."""
        record = Record(content=fields[self._content])
        if not record.content:
            raise empty_content()
        if "\0" in "".join(fields):
            for index, (name, text) in enumerate(zip(self._names, fields, strict=True)):
                if index != self._content:
                    check_text(text, name or f"column {index + 1}")
            repair_content(record, TOOL)
        return record

    def _without_marks(self, fields: list[str]) -> list[str]:
        """Remove the marks for spreadsheets from the cells that the slot names, and these names from the slot."""
        try:
            slot = cells.json_value(fields[self._slot])
        except BadRecord:
            return fields
        marked = slot.pop(cells.MARKED, None) if isinstance(slot, dict) else None
        if not isinstance(marked, list):
            return fields
        fields = list(fields)
        for place, name in enumerate(self._names):
            text = fields[place].removeprefix(cells.FORMULA_MARK)
            # A cell that somebody edited may have lost its mark.
            if name.lower() in marked and text != fields[place] and cells.is_formula(text):
                fields[place] = text
        fields[self._slot] = canonical_value(slot).decode() if slot else ""
        return fields

    def _filled(self, fields: list[str]) -> list[str]:
        """Pad a short row with empty fields."""
        if len(fields) > self.width:
            raise BadRecord(
                f"the row has {len(fields):,} fields, but the header has {self.width:,}",
                "quote fields that contain a delimiter",
            )
        return fields + [""] * (self.width - len(fields))

    def _carried(self, record: Record, text: str, context: CsvContext) -> list[Thing]:
        """Apply the carry slot; a foreign column of that name is kept like any other."""
        slot: Any = None
        try:
            slot = cells.json_value(text)
        except BadRecord:
            pass
        attached = take_slot({KEY: slot}, record, context.report)
        if attached is None:
            record.meta[_free(record.meta, KEY)] = text
        return attached or []


def _join_scope(record: Record) -> None:
    """Add the second part of a scope, which AgentOS has in the metadata."""
    scope_id = record.meta.get("scopeId")
    if isinstance(scope_id, str) and scope_id:
        record.scope = f"{record.scope}:{scope_id}"
        del record.meta["scopeId"]


def _free(taken: dict[str, Any], name: str) -> str:
    """Return a key that is not in use."""
    number, found = 0, name
    while found in taken:
        number += 1
        found = _another(name, number)
    return found


def _unused(seen: dict[str, int], name: str) -> str:
    """Return a name that no column has yet, and remember it with the number of columns that wanted it."""
    found = name
    while found in seen:
        seen[name] += 1
        found = _another(name, seen[name])
    seen[found] = 0
    return found


def _another(name: str, number: int) -> str:
    return f"{name} (column)" if number == 1 else f"{name} (column {number})"


def _no_content_column(names: Sequence[str]) -> BadRecord:
    """Return the error for a CSV without a `content` column."""
    found = ", ".join(f"`{shorten(name)}`" for name in names[:20]) + (", ..." if len(names) > 20 else "")
    return BadRecord(
        f"no column is named `content`; the columns are {found}", "rename the column that has the text of a memory"
    )
