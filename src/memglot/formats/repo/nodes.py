"""A node and a memory, each made of the other: what the sidecar says, what the model has no home for, and the bytes.

`extra.repo` has the fields of a sidecar that only project memory knows; `extra.repo.node` where the node lies, how its
times and its JSON are utc_text, and `of`, a digest of all that it said when it was read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
RESIDUE = "repo.node"
FALLBACK_KIND = "gotcha"
"""The kind of node that a memory becomes whose kind project memory does not know.

A gotcha is what one has to know: it has no stage and asks nothing, a query finds it, and it stays out of the product
map, which is for the project's own features, decisions and questions. The true kind is carried.
"""
TOLD = ("id", "type", "status", "title", "created_at", "updated_at", "tags", "source", "body_path", "content_hash")
OWN: dict[str, Any] = {
    "stage": vocabulary.Stage,
    "anchors": list[shapes.Text],
    "evidence": list[shapes.EvidenceItem],
    "origin": shapes.Origin,
    "superseded_by": shapes.Id | None,
}
TIMES = ("created_at", "updated_at")
_REMOVABLE = ("stage", "anchors", "superseded_by")


class NodeFiles(NamedTuple):
    """The two files of a node."""

    fields: dict[str, Any]
    """What the sidecar says."""
    body: bytes
    place: str
    """The sidecar's path below `.memory`, without its ending."""


def utc_text(microseconds: int) -> str:
    """A moment as a sidecar of ours says it: in UTC, so that every machine writes the same bytes."""
    return format_time(microseconds).removesuffix("Z") + "+00:00"


def record_of(node: NodeFiles, space: str, raw: bytes | None = None) -> Record:
    """The memory of a node whose fields were checked; those that this tool made up are not among them.

    `raw` is the sidecar as it lies there; without it nothing is told of its place and its bytes. Raises `BadRecord`.
    """
    fields, text = node.fields, _text(node.body)
    own = {key: value for key, value in fields.items() if key not in TOLD}
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
    record.clocks = _implied_clocks(record, own)
    check_record(record)
    if raw is not None:
        record.extra[RESIDUE] = _residue(node, record, raw)
    return record


def _implied_clocks(record: Record, own: dict[str, Any]) -> dict[str, int]:
    """The clocks of what an updated node states by saying nothing: that it holds, and has no such field any more.

    A field at its default would else never win over what an earlier version of the node said.
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
    """Where a node lies, and what of its bytes its values do not tell."""
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
    if unknown := sorted(key for key in fields if key not in TOLD and key not in OWN):
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
    """A short digest of all that a node says, its own hash aside."""
    return node_hash(fields, body)[7:23]
