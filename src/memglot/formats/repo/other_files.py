"""The other files of project memory as blobs: its settings, its sync marker and its event log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from memglot.errors import BadRecord, Unreadable
from memglot.formats.repo.nodes import TOOL
from memglot.model import Blob, parse_time
from memglot.model.record_errors import bad_item
from memglot.project.storage import paths, shapes, vocabulary
from memglot.project.storage.faults import FileFault
from memglot.project.storage.hashes import stable_json
from memglot.project.storage.ids import project_name, project_slug
from memglot.project.storage.reader import StoreReader, to_config
from memglot.report import SourceReport

TABLES = {"config": paths.CONFIG, "sync": paths.SYNC_MARKER}
"""Tables of blobs that are files, with their paths."""
LOG = "events"


class OtherStorageVersion(Unreadable):
    """Project memory of a storage version that cannot be read."""

    code = "other_version"
    exit_code = 3


def refuse_link(path: Path) -> None:
    """Raise `Unreadable` if a path is a symbolic link."""
    if path.is_symlink():
        raise Unreadable(str(path), "it is a symbolic link, and project memory does not follow links")


def read_config(folder: Path) -> tuple[bytes, dict[str, Any]]:
    """Return the settings of a store, as bytes and decoded. Raise `Unreadable`."""
    try:
        return StoreReader(folder).config()
    except FileFault as fault:
        name = str(folder / fault.path)
        if fault.code == "CanonicalFileMissing":
            hint = "give a repository, or its `.memory` folder"
            raise Unreadable(str(folder), "it has no `.memory/config.json`", hint) from None
        if fault.code == "JsonInvalid":
            raise Unreadable(name, f"invalid JSON: {fault.reason}") from None
        raise OtherStorageVersion(name, fault.reason) from None


def default_config(folder: str, project: tuple[str, str] | None = None) -> bytes:
    """Return the settings of a new store, named after its project node or its folder."""
    slug = project_slug(folder)
    id, name = project or (f"project.{slug}", project_name(slug))
    memory = {"autoIndex": True, "defaultTokenBudget": 2000}
    return stable_json({"memory": memory, "project": {"id": id, "name": name}, "version": vocabulary.STORAGE_VERSION})


def file_blob(table: str, space: str, raw: bytes, at: int) -> Blob:
    """Return a file as a blob, with its bytes only if its value does not determine them; `at` decides between two."""
    try:
        value: Any = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = None
    if isinstance(value, dict) and isinstance(last := value.get("last_sync_at"), str):
        at = _moment(last) or at
    row = {"value": value, "updated_at": at}
    return Blob(tool=TOOL, table=table, key=space, row=row, data=None if stable_json(value) == raw else raw)


def _moment(text: str) -> int | None:
    try:
        return parse_time(text)
    except BadRecord:
        return None


def bytes_of(blob: Blob) -> bytes:
    """Return the file that a blob was made from."""
    if blob.data is not None:
        return blob.data
    return stable_json(blob.row.get("value") if isinstance(blob.row, dict) else None)


def event_blobs(folder: Path, space: str, report: SourceReport) -> Iterator[Blob]:
    """Yield the lines of the event log; report and skip lines that are not events, which would break the log."""
    seen: Counter[str] = Counter()
    for number, raw in StoreReader(folder).lines(paths.EVENTS):
        if number == 1:
            report.start_source(str(folder / paths.EVENTS))
        text = raw.removesuffix(b"\n")
        try:
            check_event(text)
        except BadRecord as error:
            report.fault(error, line=number)
            continue
        # Skipped lines do not count: a log that was written again does not have them.
        yield _event(space, seen.total() + 1, text, seen, ends=raw != text)


def check_event(text: bytes) -> None:
    """Raise `BadRecord` if a line of the log is not an event."""
    try:
        msgspec.json.decode(text, type=shapes.MemoryEvent)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise bad_item("event", str(error)) from None


def _event(space: str, number: int, text: bytes, seen: Counter[str], *, ends: bool) -> Blob:
    # Two saves in the same second may write the same line, so that lines are numbered.
    mark = sha256(text).hexdigest()[:24]
    seen[mark] += 1
    key = f"{space} {mark}" if seen[mark] == 1 else f"{space} {mark}-{seen[mark]}"
    row: dict[str, Any] = {"space": space, "line": number, "text": text.decode("utf-8")}
    if not ends:
        row["open"] = True
    return Blob(tool=TOOL, table=LOG, key=key, row=row)


def event_of(blob: Blob) -> tuple[str, int, str, bool] | None:
    """Return the space, line, text and missing line end of an event; None for a blob that is not an event."""
    row = blob.row
    if not isinstance(row, dict):
        return None
    space, line, text = row.get("space"), row.get("line"), row.get("text")
    if not isinstance(space, str) or not isinstance(line, int) or not isinstance(text, str):
        return None
    try:
        check_event(text.encode())
    except BadRecord:
        return None
    return None if "\n" in text or not 0 <= line < 1 << 60 else (space, line, text, bool(row.get("open")))


def is_config(blob: Blob) -> bool:
    """Return True if a blob contains valid settings of a store; with others, every command of the tool fails."""
    try:
        to_config(_value(bytes_of(blob)))
    except FileFault:
        return False
    return True


def project_of(config: bytes) -> str:
    """Return the id of the project in the settings."""
    value = _value(config)
    project = value.get("project") if isinstance(value, dict) else None
    id = project.get("id") if isinstance(project, dict) else None
    return id if isinstance(id, str) else ""


def _value(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
