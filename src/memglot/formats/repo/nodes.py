"""Convert a node to a memory.

`extra.repo` has the fields of a sidecar that only project memory knows. `extra.repo.node` has the path of the node, how
its times and its JSON are written, and `of`, a digest of its content when it was read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from memglot.formats.core.original_text import repair_content
from memglot.model import (
    DEFAULT_KIND,
    DEFAULT_STATUS,
    Foreign,
    Record,
    check_record,
    check_value,
    derive_id,
    format_time,
    parse_time,
)
from memglot.model.record_errors import bad_syntax
from memglot.project.storage import shapes, vocabulary
from memglot.project.storage.hashes import follows_tool, node_hash, stable_json
from memglot.project.storage.ids import kind_of

TOOL = "repo"
BYTES_KEY = "repo.node"
FALLBACK_KIND = "gotcha"
"""The kind of node for memories of kinds that project memory does not know.

A gotcha is something to know: it has no stage and asks nothing, a query finds it, and it stays out of the product map,
which is for the project's own features, decisions and questions. The true kind is carried.
"""
MODEL_FIELDS = (
    "id",
    "type",
    "status",
    "title",
    "created_at",
    "updated_at",
    "tags",
    "source",
    "body_path",
    "content_hash",
)
TOOL_FIELDS: dict[str, Any] = {
    "stage": vocabulary.Stage,
    "anchors": list[shapes.Text],
    "evidence": list[shapes.EvidenceItem],
    "origin": shapes.Origin,
    "superseded_by": shapes.Id | None,
}
"""Fields of a sidecar that only project memory knows, with their types."""
TIMES = ("created_at", "updated_at")
_REMOVABLE = ("stage", "anchors", "superseded_by")


class NodeFiles(NamedTuple):
    """The two files of a node."""

    fields: dict[str, Any]
    """The fields of the sidecar."""
    body: bytes
    place: str
    """Path of the sidecar below `.memory`, without its ending."""


def utc_text(microseconds: int) -> str:
    """Return a time as sidecars store it: in UTC, so that every machine writes the same bytes."""
    return format_time(microseconds).removesuffix("Z") + "+00:00"


def record_of(node: NodeFiles, space: str, raw: bytes | None = None) -> Record:
    """Return the memory of a node whose fields are valid, without made-up ones. Raise `BadRecord`.

    `raw` is the sidecar on disk; without it, the memory does not record the path and the bytes of the node.
    """
    fields, text = node.fields, _text(node.body)
    own = {key: value for key, value in fields.items() if key not in MODEL_FIELDS}
    if own.get("evidence") == []:
        del own["evidence"]
    check_value(own, "sidecar")
    record = Record(
        id=derive_id(TOOL, space, fields["id"]),
        content=text or fields.get("title") or fields["id"],
        title=fields.get("title"),
        kind=fields.get("type", DEFAULT_KIND),
        status=fields.get("status", DEFAULT_STATUS),
        tags=list(dict.fromkeys(fields.get("tags", ()))),
        created_at=parse_time(fields["created_at"]),
        updated_at=parse_time(fields["updated_at"]),
        source=fields.get("source", {}),
        foreign=[Foreign(TOOL, fields["id"], space)],
        extra={TOOL: own} if own else {},
    )
    repair_content(record, TOOL)
    record.clocks = _implied_clocks(record, own)
    check_record(record)
    if raw is not None:
        record.extra[BYTES_KEY] = _residue(node, record, raw)
    return record


def _implied_clocks(record: Record, own: dict[str, Any]) -> dict[str, int]:
    """Return clocks for the fields that an updated node leaves out, which says that it is active or lost a field.

    Otherwise a field at its default would never win over an earlier version of the node.
    """
    if record.updated_at <= record.created_at:
        return {}
    gone = [name for name in _REMOVABLE if name not in own and (name != "stage" or record.kind == "feature")]
    clocks = {f"extra.{TOOL}.{name}": record.updated_at for name in gone}
    return clocks | ({"status": record.updated_at} if record.status == DEFAULT_STATUS else {})


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise bad_syntax("UTF-8", f"byte {error.start}") from None


def _residue(node: NodeFiles, record: Record, raw: bytes) -> dict[str, Any]:
    """Return the path of a node, and what its values do not say about its bytes."""
    fields = node.fields
    found: dict[str, Any] = {"path": node.place, "of": digest_of(fields, node.body)}
    if fields["body_path"] != f"{node.place}.md":
        found["body"] = fields["body_path"]
    if fields["type"] != kind_of(fields["id"]):
        found["type"] = fields["type"]
    if fields.get("tags", []) != record.tags:
        found["tags"] = fields["tags"]
    found |= {name: fields[name] for name in TIMES if fields[name] != utc_text(getattr(record, name))}
    if without := [name for name in ("tags", "evidence") if name not in fields]:
        found["without"] = without
    if unknown := sorted(key for key in fields if key not in MODEL_FIELDS and key not in TOOL_FIELDS):
        found["unknown"] = unknown
    if not node.body:
        found["empty"] = record.content
    rule = follows_tool(fields, node.body)
    if rule:
        found["rule"] = "tool"
    if rule is None or stable_json(fields) != raw:
        found["text"] = raw.decode("utf-8")
    return found


def digest_of(fields: dict[str, Any], body: bytes) -> str:
    """Return a short digest of a node's content, without its own hash."""
    return node_hash(fields, body)[7:23]
