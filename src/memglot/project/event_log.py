"""The event log: append to it, and repair an incomplete last line from the other files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from memglot.display import plural
from memglot.project.save.errors import conflict_markers
from memglot.project.snapshot import Snapshot
from memglot.project.storage.hashes import canonical_json
from memglot.project.storage.journal import Appended
from memglot.project.storage.paths import EVENTS, FOLDER

_MARKERS = (b"<<<<<<< ", b"||||||| ", b">>>>>>> ")
_DELETED = re.compile(rb'"event":"(memory|relation)\.deleted","(?:relation_)?id":"([^"]+)"')


_NEVER = datetime.min.replace(tzinfo=UTC)


class Tail(NamedTuple):
    """The end of a log: the size of its intact part, and the bytes of an incomplete last line."""

    keep: int
    torn: bytes
    lacks_newline: bool = False


def parse_time(time: str | None) -> datetime:
    """Parse the time of an event or a node; the earliest possible time if it is missing or invalid."""
    try:
        found = datetime.fromisoformat(time or "")
    except ValueError:
        return _NEVER
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def read_tail(path: Path) -> Tail:
    """Return how a log ends; blank lines at its end do not count, and a missing log is empty.

    Raise `ProjectError` if it contains an unresolved merge conflict: appending would hide it.
    """
    try:
        with open(path, "rb") as log:
            size = end = 0
            line = b""
            for number, raw in enumerate(log, 1):
                if raw.startswith(_MARKERS):
                    raise conflict_markers(f"{FOLDER}/{EVENTS}", number)
                size += len(raw)
                if raw.strip():
                    end, line = size, raw
    except FileNotFoundError:
        return Tail(0, b"")
    if not line:
        return Tail(0, b"")
    if _event(line) is None:
        return Tail(end - len(line), line)
    return Tail(end, b"", not line.endswith(b"\n"))


def append_events(tail: Tail, events: Iterable[dict[str, Any]]) -> Appended:
    """Return the log with events appended to its intact part."""
    lines = b"".join(canonical_json(event) + b"\n" for event in events)
    return Appended(tail.keep, (b"\n" if tail.lacks_newline else b"") + lines)


def lost_events(snapshot: Snapshot, tail: Tail) -> list[dict[str, Any]]:
    """Restore the events of an incomplete last line: what the files show and the log lacks.

    Reasons are lost with the line. A deletion leaves no file; it is restored if the incomplete line still names it.
    """
    logged, last, latest = set(), parse_time(None), ""
    for event in _events(snapshot.project.folder / EVENTS, tail.keep):
        time = str(event.get("timestamp", ""))
        logged.add((event.get("id") or event.get("relation_id"), time))
        if parse_time(time) >= last:
            last, latest = parse_time(time), time
    found = []
    for node in snapshot.nodes():
        is_first = node.kind == "project" and node.created_at == node.updated_at
        if parse_time(node.updated_at) >= last and (node.id, node.updated_at) not in logged and not is_first:
            how = "memory.created" if node.created_at == node.updated_at else "memory.updated"
            how = {"stale": "memory.marked_stale", "superseded": "memory.superseded"}.get(node.status, how)
            found.append({"actor": "agent", "event": how, "id": node.id, "timestamp": node.updated_at})
    for link in snapshot.links():
        fields = snapshot.link_fields(link)
        time = fields["updated_at"]
        if parse_time(time) >= last and (link.id, time) not in logged:
            how = "relation.created" if fields["created_at"] == time else "relation.updated"
            found.append({"actor": "agent", "event": how, "relation_id": link.id, "timestamp": time})
    return [*found, *_deleted(snapshot, tail, latest)]


def _deleted(snapshot: Snapshot, tail: Tail, time: str) -> Iterator[dict[str, Any]]:
    if (seen := _DELETED.search(tail.torn)) is None:
        return
    what, id = seen[1].decode(), seen[2].decode("utf-8", "replace")
    exists = snapshot.node(id) is not None if what == "memory" else snapshot.has_link_id(id)
    if not exists:
        key = "id" if what == "memory" else "relation_id"
        yield {"actor": "agent", "event": f"{what}.deleted", key: id, "timestamp": time}


def _events(path: Path, keep: int) -> Iterator[dict[str, Any]]:
    with open(path, "rb") as log:
        for line in log:
            keep -= len(line)
            if keep < 0:
                return
            if (event := _event(line)) is not None:
                yield event


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def note_log_repaired(copy: str, events: int) -> str:
    """Return the warning for a log whose last line was incomplete."""
    restored = plural(events, "event was", "events were")
    return (
        f"The last line of .memory/events.jsonl was incomplete; {restored} restored from the other files, and a copy "
        f"of the log is kept in {copy}."
    )
