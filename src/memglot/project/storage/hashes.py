"""Stable and canonical JSON, hashes and times, as the files of storage version 5 have them."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from typing import Any


def stable_json(value: Any) -> bytes:
    """Return JSON for a file: sorted keys, two spaces, one newline at the end."""
    return (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False) + "\n").encode()


def canonical_json(value: Any) -> bytes:
    """Return JSON for hashes and events: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def normal_body(text: str) -> str:
    """Return a body as the original tool hashes it: without a byte order mark, with newlines as line ends."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def body_hash(body: bytes) -> str:
    """Return the hash of a body alone, as the documentation of the original tool describes it."""
    return "sha256:" + sha256(body).hexdigest()


def node_hash(sidecar: Mapping[str, Any], body: bytes) -> str:
    """Return the hash of a sidecar, without its hash, and the body, as the original tool computes it."""
    return "sha256:" + sha256(_without_hash(sidecar) + b"\n" + _tool_bytes(body)).hexdigest()


def link_hash(link: Mapping[str, Any]) -> str:
    """Return the hash of a relation, which is the same by both rules."""
    return "sha256:" + sha256(_without_hash(link)).hexdigest()


def follows_tool(sidecar: Mapping[str, Any], body: bytes) -> bool | None:
    """Return True if a sidecar's hash is `node_hash`, False if it is `body_hash`, and None if it is neither."""
    present = sidecar.get("content_hash")
    if present == node_hash(sidecar, body):
        return True
    return False if present == body_hash(body) else None


def _without_hash(value: Mapping[str, Any]) -> bytes:
    return canonical_json({key: item for key, item in value.items() if key != "content_hash"})


def _tool_bytes(body: bytes) -> bytes:
    return normal_body(body.decode("utf-8", "replace")).encode()


def local_time(microseconds: int, offset_minutes: int | None = None) -> str:
    """Return a time as files store it: in seconds, as local time with its offset."""
    moment = datetime.fromtimestamp(microseconds // 1_000_000, UTC)
    if offset_minutes is None:
        return moment.astimezone().isoformat()
    return moment.astimezone(timezone(timedelta(minutes=offset_minutes))).isoformat()
