"""Other tables of a brain, kept row by row: documents, chats, logs, unknown tables."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from hashlib import sha256
from math import isfinite
from typing import Any

from memglot.formats.core.trace import TOOL, identify
from memglot.model import Blob, canonical

META = "brain_meta"
_LOGS = frozenset({"consolidation_log", "retrieval_feedback"})
_KEYS = {META: ("key",), "archived_traces": ("trace_id",), "archive_access_log": ("trace_id", "accessed_at")}
_OF_TRACE = ("trace_id", "source_trace_id")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def row_blob(table: str, row: dict[str, Any], brain: str, keys: tuple[str, ...] | None = None) -> Blob:
    """Return the blob of a row; `keys` are the key columns of an unknown table."""
    columns = _KEYS.get(table) or keys or ("id",)
    if table in _LOGS or not all(row.get(column) is not None for column in columns):
        # Each brain numbers the rows of a log from 1, so only the complete row identifies one.
        key = sha256(canonical(row)).hexdigest()[:32]
    else:
        values = [row[column] for column in columns]
        # A JSON list, so that no two combinations of values look alike.
        key = str(values[0]) if len(values) == 1 else canonical(values).decode()
    if _UUID.search(key) is None:
        key = f"{brain}/{key}"
    owner = next((row[column] for column in _OF_TRACE if isinstance(row.get(column), str)), "")
    return Blob(tool=TOOL, table=table, key=key, owner=identify(owner, brain)[0], row=row)


def brain_of(blob: Blob, default: str) -> str:
    """Return the brain that a row came from by its key, else the default."""
    own = blob.row.get("brain_id")
    if isinstance(own, str):
        return own
    end = row_blob(blob.table, blob.row, "").key
    return blob.key.removesuffix(end) if end.startswith("/") and blob.key.endswith(end) else default


def json_value(value: Any) -> Any:
    """Convert a column's value to one that JSON can represent."""
    if isinstance(value, bytes):
        return {"base64": b64encode(value).decode()}
    # SQLite stores infinity, but JSON cannot.
    return {"number": str(value)} if isinstance(value, float) and not isfinite(value) else value


def is_binary(value: Any) -> bool:
    """Return True for the JSON value of bytes."""
    return isinstance(value, dict) and value.keys() == {"base64"}


def column_value(value: Any) -> Any:
    """Convert a `json_value` back to a column's value; unsupported values become JSON text."""
    if is_binary(value):
        try:
            return b64decode(value["base64"])
        except (ValueError, TypeError):
            return value["base64"]
    if isinstance(value, dict) and value.keys() == {"number"} and value["number"] in ("inf", "-inf"):
        return float(value["number"])
    if isinstance(value, (dict, list)):
        return canonical(value).decode()
    return int(value) if isinstance(value, bool) else value
