"""The audit chain of a file: check it row by row when reading, and chain the rows again when writing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, TypeAlias

import msgspec

from memglot.disk import DiskMap, SortedLines
from memglot.errors import BadRecord
from memglot.formats.core.source import Source
from memglot.model import Blob, Event, canonical_value, check_value, format_time, parse_time

TOOL, TABLE = "memoryd", "audit"
RULE = "memglot-1"
GENESIS = "0" * 64
_PREFIX = "sha256:"
_HASHES = ("prev_hash", "this_hash")
# How much deeper a row may be nested in another format than in its file.
_DEEPER = 8
ENCRYPTED = "sealed"
EncryptRow: TypeAlias = Callable[[dict[str, Any], bool], str | None]
"""Encrypts a row that must be hidden; returns `None` for a readable row, empty text for one that must be left out."""
_LINK = frozenset({"seq", "ts", *_HASHES})
LEFT_OUT = "left_out"
# memoryd refuses a file with a row that has no action or no details.
_LINK_ONLY: dict[str, Any] = {"action": LEFT_OUT, "details": {"memglot": LEFT_OUT}}
_COPY = "copy"
# Keys of an event that do not go into the details of its exported row.
_NOT_DETAILS = frozenset({"ts", "prev_hash", "event_type", "action", "target_id"})
_NAMED = frozenset({"seq", "ts", "actor", "event_type", "action", "scope_hash", "target_id", "details"})


class ChainCheck:
    """Checks the rows of a chain in their order, and keeps the first that does not match."""

    def __init__(self, *, ours: bool, scoped: bool) -> None:
        self._ours, self._scoped = ours, scoped
        self._last: str | None = None
        self.count = self.verified = self.linked = 0
        self.broken: tuple[int, str] | None = None
        """Number of the first bad row, and what is wrong with it."""

    def add(self, row: Any) -> None:
        """Check a row."""
        self.count += 1
        this = _bare(row.get("this_hash")) if isinstance(row, dict) else None
        if this is None:
            self.fault("it has no hash")
            return
        if self._last is not None and _bare(row.get("prev_hash")) != self._last:
            self.fault("it does not follow the row before it")
        self._last = this
        if row.get("hash_rule") == RULE:
            if _own_hash(row) == this:
                self.verified += 1
            else:
                self.fault("it was edited")
        elif self._ours and not (self._scoped and _is_link(row)):
            self.fault("it was edited")
        elif _program_hash(row) == this:
            self.verified += 1
        else:
            self.linked += 1

    def end(self, head: Any) -> bool:
        """Return True if the last row matches the recorded head; in a file of memglot it must."""
        said = _bare(head)
        if said is None or said == self._last:
            return True
        if self._ours:
            self.count += 1
            self.fault("it is missing")
        return False

    def fault(self, reason: str) -> None:
        """Keep the first row that does not match."""
        self.broken = self.broken or (self.count, reason)


def check_log(source: Source) -> ChainCheck:
    """Check memoryd's log, one event per line: each has the hash of the one before."""
    check, expected = ChainCheck(ours=False, scoped=False), GENESIS
    for line in source.stream:
        if not line.strip():
            continue
        check.count += 1
        try:
            event = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            check.fault("it cannot be read")
            continue
        if _bare(event.get("prev_hash")) != expected:
            check.fault("it does not follow the row before it")
        expected = raw_hash(event)
    source.close()
    # No later event has the hash of the last one.
    check.verified, check.linked = max(check.count - 1, 0), min(check.count, 1)
    return check


def log_rows(source: Source) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    """Yield the events of memoryd's log with their line numbers, each as memoryd exports it and as it is.

    Lines that cannot be read are skipped; `check_log` finds them.
    """
    for number, line in enumerate((line for line in source.stream if line.strip()), 1):
        try:
            event = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        yield number, _exported_row(event, number), event
    source.close()


def _exported_row(event: dict[str, Any], number: int) -> dict[str, Any]:
    rest = {name: value for name, value in event.items() if name not in _NOT_DETAILS}
    return {
        "seq": event.get("seq") or number,
        "ts": exported_time(event.get("ts")),
        "action": event.get("event_type") or event.get("action") or "unknown",
        "target_id": event.get("target_id") or event.get("slug"),
        "details": event.get("details") or rest,
        "prev_hash": event.get("prev_hash"),
        "this_hash": raw_hash(event),
    }


def lost_in_export(event: dict[str, Any]) -> bool:
    """Return True if the exported row of an event lacks some of its values: the event's own details replace them."""
    shown = {"seq", "details", *_NOT_DETAILS} | (set() if event.get("target_id") else {"slug"})
    return bool(event.get("details")) and not event.keys() <= shown


def exported_time(text: Any) -> Any:
    """Return a time as memoryd exports it: in UTC, with `Z`. A time without an offset is in UTC."""
    try:
        at = datetime.fromisoformat(text) if isinstance(text, str) else None
        if at is None:
            return text
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return text
    return at.isoformat().replace("+00:00", "Z")


def blob_of(row: dict[str, Any]) -> Blob | None:
    """Return a row as it is stored, under its first hash; `None` for a row that has only hashes."""
    details, event = row.get("details"), row.get("event_type") or row.get("action")
    if _is_link(row) or event == ENCRYPTED and ENCRYPTED in _details(details):
        return None
    origin = row.get("origin")
    if not isinstance(origin, dict) or _bare(origin.get("this_hash")) is None:
        origin = {name: row[name] for name in ("seq", *_HASHES) if name in row}
    kept = {name: value for name, value in row.items() if name not in ("seq", "hash_rule", *_HASHES)}
    check_value(kept, "the audit row", _DEEPER)
    # A row without a hash, of a broken chain that was accepted, is identified by its content.
    if _bare(origin.get("this_hash")) is None:
        origin = {**origin, "this_hash": sha256(canonical_value(kept)).hexdigest()}
    return Blob(tool=TOOL, table=TABLE, key=_key(origin), row=_normal({**kept, "origin": origin}))


class RowBlobs:
    """Turns the rows of one chain into blobs. Rows that differ only in their number are all kept.

    memoryd hashes neither the number of a row nor the hash of the row before, so such rows have the same hash.
    """

    def __init__(self) -> None:
        self._copies = DiskMap()
        """The rows so far by their keys, with the number of the last copy."""

    def close(self) -> None:
        """Delete the file."""
        self._copies.close()

    def add(self, row: dict[str, Any]) -> Blob | None:
        """Return a row as it is stored; `None` for a row that has only hashes."""
        blob = blob_of(row)
        if blob is None:
            return None
        key, origin = blob.key, blob.row["origin"]
        if key in self._copies:
            copy = self._copies[key] + 1
            while (other := _key({**origin, _COPY: copy})) in self._copies:
                copy += 1
            self._copies[key] = copy
            blob.key, blob.row["origin"] = other, {**origin, _COPY: copy}
        self._copies[blob.key] = 1
        return blob


def _key(origin: dict[str, Any]) -> str:
    """Return the key of a row: its first hash, with a number if an earlier row of the chain has the same hash."""
    copy, hash = origin.get(_COPY), _bare(origin["this_hash"]) or ""
    return f"{hash}#{copy}" if isinstance(copy, int) and not isinstance(copy, bool) else hash


def _is_link(row: dict[str, Any]) -> bool:
    """Return True if a row only links the chain. Earlier versions wrote such rows without an action."""
    rest = {name: value for name, value in row.items() if name not in _LINK}
    return not rest or rest == _LINK_ONLY


def blob_of_event(event: Event) -> Blob:
    """Return a row of a store's chain as other files contain it."""
    origin = {"seq": event.seq, "prev_hash": event.prev_hash, "this_hash": event.this_hash}
    row = {
        "ts": format_time(event.at),
        "actor": event.actor,
        "event_type": event.action,
        "scope_hash": event.scope,
        "target_id": event.target,
        "details": event.details,
        "origin": origin,
    }
    return Blob(tool=TOOL, table=TABLE, key=event.this_hash, row=_normal(row))


def is_audit(blob: Blob) -> bool:
    """Return True if a blob is a row of an audit chain."""
    return blob.tool == TOOL and blob.table == TABLE and isinstance(blob.row, dict)


class ChainWriter:
    """Collects rows in any order, and chains them again by time."""

    def __init__(self) -> None:
        self._lines = SortedLines()
        self.head: str | None = None

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, blob: Blob) -> None:
        """Add a row; a row with an owner is about something that must be encrypted."""
        at = _moment(blob.row.get("ts")) + (1 << 63)
        key = sha256(blob.key.encode("utf-8")).hexdigest().encode()
        self._lines.add(b"%020d %s %d %s" % (at, key, bool(blob.owner), msgspec.json.encode(blob.row)))

    def rows(self, only: str | None = None, encrypt: EncryptRow | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows, encrypted where `encrypt` says so; outside the `only` scope just their links."""
        previous, seq = GENESIS, 0
        for line in self._lines:
            _, _, secret, text = line.split(b" ", 3)
            kept, hidden = msgspec.json.decode(text), False
            if encrypt is not None and (blob := encrypt(kept, secret == b"1")) is not None:
                hidden = not blob
                if hidden and only is None:
                    continue
                if not hidden:
                    kept = _normal({"ts": kept.get("ts"), "event_type": ENCRYPTED, "details": {ENCRYPTED: blob}})
            seq += 1
            row = {"seq": seq, **kept, "hash_rule": RULE, "prev_hash": _PREFIX + previous}
            previous = _own_hash(row)
            row["this_hash"] = _PREFIX + previous
            if hidden or only is not None and scope_of(row) != only and row["event_type"] != ENCRYPTED:
                row = {name: row[name] for name in ("seq", "ts", *_HASHES) if name in row} | _LINK_ONLY
            yield row
        self.head = _PREFIX + previous if seq else None


def encrypted_part(row: dict[str, Any]) -> Any:
    """Return the encrypted part of a row, if it has one."""
    details = row.get("details")
    own = row.get("hash_rule") == RULE and row.get("event_type") == ENCRYPTED and isinstance(details, dict)
    return details.get(ENCRYPTED) if own and isinstance(details, dict) else None


def scope_of(row: dict[str, Any]) -> Any:
    """Return the scope of a row; memoryd has it in the details."""
    own = row.get("scope_hash")
    details = row.get("details")
    return own if own is not None or not isinstance(details, dict) else details.get("scope_hash")


def _normal(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as both the web page and the program read it, so that a round trip changes nothing."""
    event = row.get("event_type") or row.get("action") or "unknown"
    found = {
        "ts": row.get("ts"),
        "actor": row.get("actor"),
        "event_type": event,
        "action": row.get("action") or event,
        "scope_hash": row.get("scope_hash"),
        "target_id": row.get("target_id"),
        "details": _details(row.get("details")),
        **{name: value for name, value in row.items() if name not in _NAMED},
    }
    return {name: value for name, value in found.items() if value is not None or name == "target_id"}


def _details(value: Any) -> dict[str, Any]:
    """Return details as an object; the web page writes them as text."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            value = {"text": value} if value else {}
    return value if isinstance(value, dict) else {} if value is None else {"value": value}


def _own_hash(row: dict[str, Any]) -> str:
    rest = {name: value for name, value in row.items() if name not in _HASHES}
    return sha256((_bare(row.get("prev_hash")) or "").encode() + canonical_value(rest)).hexdigest()


def _program_hash(row: dict[str, Any]) -> str | None:
    """Return the hash by memoryd's rule, as far as an exported row has the hashed values."""
    details, ts = row.get("details"), row.get("ts")
    if not isinstance(details, dict) or not isinstance(ts, str):
        return None
    event = {"event_type": row.get("action"), "ts": ts.removesuffix("Z") + "+00:00", **details}
    if row.get("target_id") is not None:
        event["target_id"] = row["target_id"]
    return raw_hash(event)


def raw_hash(event: dict[str, Any]) -> str:
    """Return the hash of a line in memoryd's log: of the event without the previous hash."""
    rest = {name: value for name, value in event.items() if name != "prev_hash"}
    return sha256(json.dumps(rest, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def _bare(hash: Any) -> str | None:
    return hash.removeprefix(_PREFIX) if isinstance(hash, str) and hash else None


def _moment(ts: Any) -> int:
    try:
        return parse_time(ts) if isinstance(ts, str) else 0
    except BadRecord:
        return 0
