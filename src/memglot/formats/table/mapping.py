"""Which column of a table becomes which field of a memory: as somebody wrote it, or guessed from the first rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from memglot.display import first_few, quoted, shorten
from memglot.errors import BadRecord, UsageError

AUTO = "auto"
RECORDS = "records"
"""Key of the path of the list that has the rows, in a JSON object."""
FIELDS = (
    *("content", "title", "id", "kind", "scope", "tree", "tags", "status", "strength", "confidence"),
    *("created_at", "updated_at", "last_accessed", "access_count", "meta"),
)
"""Fields that a column can fill."""
_HINT = f"write it as `content=text,tags=labels`; the fields are {', '.join(FIELDS)}"
_NAMES = {
    "content": "content text body note memory message description fact observation summary quote highlight comment "
    "transcript answer value",
    "title": "title name subject heading headline",
    "id": "id uuid guid note_id memory_id",
    "kind": "kind type",
    "tags": "tags labels categories keywords topics tag label category",
    "created_at": "created_at created date_created creation_date created_time create_time createdat date datetime "
    "timestamp time added_at added posted_at ts",
    "updated_at": "updated_at updated modified_at modified last_modified update_time updatedat edited_at",
}
_WORDS = re.compile(r"[^a-z0-9]+")
_DEPTH = 3


def parse_mapping(given: str | Mapping[str, str] | Iterable[str]) -> dict[str, str]:
    """Return columns by field, from `content=text,tags=labels`, several such texts, JSON or a mapping.

    The key `auto` says that the other fields are guessed. Raise `UsageError`.
    """
    if isinstance(given, Mapping):
        found = dict(given)
    else:
        found = {}
        for text in [given] if isinstance(given, str) else given:
            for field, column in _pairs(text).items():
                if found.setdefault(field, column) != column:
                    raise UsageError(f"the mapping has two columns for `{field}`", _HINT)
    for field, column in found.items():
        if field not in (*FIELDS, AUTO, RECORDS):
            near = get_close_matches(field, FIELDS, 1)
            raise UsageError(
                f"`{shorten(field)}` is not a field that a column can fill",
                f"did you mean `{near[0]}`?" if near else _HINT,
            )
        if not isinstance(column, str) or not column and field != AUTO:
            raise UsageError(f"the mapping has no column for `{field}`", _HINT)
    if AUTO not in found and "content" not in found:
        raise UsageError("the mapping needs a column for `content`", _HINT)
    return found


def _pairs(text: str) -> dict[str, str]:
    if text.lstrip().startswith("{"):
        try:
            return msgspec.json.decode(text, type=dict[str, str])
        except msgspec.MsgspecError as error:
            raise UsageError(f"the mapping is not a valid JSON object of texts: {error}", _HINT) from None
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        field, equals, column = part.partition("=")
        if not equals and field != AUTO:
            raise UsageError(f"`{shorten(part)}` is not a valid mapping", _HINT)
        if field.strip() in found:
            raise UsageError(f"the mapping has two columns for `{shorten(field.strip())}`", _HINT)
        found[field.strip()] = column.strip()
    return found


def complete_mapping(mapping: dict[str, str], sample: list[dict[str, Any]], columns: list[str]) -> dict[str, str]:
    """Return the columns by field, guessed where asked for; raise `BadRecord` for a column that does not exist."""
    found = {field: _column(column, sample, columns) for field, column in mapping.items() if field in FIELDS}
    if AUTO in mapping:
        found |= _guess(sample, columns, found)
    if "content" not in found:
        lists = [column for column in columns if any(_is_table(value_at(row, column)) for row in sample)]
        how = (
            f"the rows may be in a list: `--map auto,{RECORDS}={lists[0]}`"
            if lists
            else "name it: `--map content=COLUMN`"
        )
        raise BadRecord("no column looks like the text of a memory", _has(columns, how))
    return {field: found[field] for field in FIELDS if field in found}


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def columns_of(sample: list[dict[str, Any]]) -> list[str]:
    """Return the paths of all values in some rows, in order; a list is one value."""
    found: dict[str, None] = {}

    def add(value: dict[str, Any], prefix: str, depth: int) -> None:
        for key, inner in value.items():
            if isinstance(inner, dict) and inner and depth < _DEPTH:
                add(inner, f"{prefix}{key}.", depth + 1)
            else:
                found[f"{prefix}{key}"] = None

    for row in sample:
        add(row, "", 1)
    return list(found)


def _column(column: str, sample: list[dict[str, Any]], columns: list[str]) -> str:
    """Return a column as the table spells it; raise `BadRecord` if there is none."""
    if column in columns or any(value_at(row, column) is not None for row in sample):
        return column
    same = [other for other in columns if other.strip().lower() == column.lower()]
    if len(same) == 1:
        return same[0]
    near = get_close_matches(column, columns, 1)
    raise BadRecord(
        f"there is no column `{shorten(column)}`", _has(columns, f"did you mean `{shorten(near[0])}`?" if near else "")
    )


def _has(columns: list[str], more: str) -> str:
    return "; ".join(filter(None, [f"its columns are {first_few([quoted(one, 40) for one in columns], 20)}", more]))


def value_at(row: Any, path: str) -> Any:
    """Return the value of a column, or at a path such as `message.text` or `parts.0`; `None` if there is none."""
    if isinstance(row, dict) and path in row:
        return row[path]
    head, dot, rest = path.partition(".")
    while dot:
        inner = row.get(head) if isinstance(row, dict) else None
        if isinstance(row, list) and head.isascii() and head.isdigit() and len(head) < 9:
            inner = row[int(head)] if int(head) < len(row) else None
        if isinstance(inner, (dict, list)) and (found := value_at(inner, rest)) is not None:
            return found
        more, dot, rest = rest.partition(".")
        head += "." + more
    if isinstance(row, list) and path.isascii() and path.isdigit() and len(path) < 9 and int(path) < len(row):
        return row[int(path)]
    return None


def _guess(sample: list[dict[str, Any]], columns: list[str], given: dict[str, str]) -> dict[str, str]:
    """Return columns for the fields that have none yet, by their names; for the content, else the longest text."""
    taken, found = set(given.values()), {}
    names = {column: _WORDS.sub("_", column.rpartition(".")[2].lower()).strip("_") for column in columns}
    for field, words in _NAMES.items():
        if field in given:
            continue
        for word in words.split():
            named = [column for column in columns if names[column] == word and column not in taken]
            fitting = [column for column in named if _fits(field, [value_at(row, column) for row in sample])]
            if fitting:
                # The least nested one.
                found[field] = min(fitting, key=lambda column: column.count("."))
                taken.add(found[field])
                break
    if "content" not in given and "content" not in found:
        lengths = {
            column: _length([value_at(row, column) for row in sample]) for column in columns if column not in taken
        }
        longest = max(lengths, key=lambda column: lengths[column], default="")
        if lengths.get(longest, 0) > 0:
            found["content"] = longest
    return found


def _fits(field: str, values: list[Any]) -> bool:
    """Return True if the values of a column can fill a field."""
    there = [value for value in values if value not in (None, "")]
    if not there:
        return False
    if field in ("content", "title", "kind"):
        return all(isinstance(value, str) for value in there)
    if field == "id":
        return all(isinstance(value, (str, int)) for value in there) and len(set(map(str, there))) == len(values)
    return not any(isinstance(value, dict) for value in there)


def _length(values: list[Any]) -> float:
    texts = [value for value in values if isinstance(value, str)]
    return sum(map(len, texts)) / len(values) if texts else 0.0
