"""Convert the file of a relation to a relation of the model, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from memglot.errors import MemglotError
from memglot.formats.repo.nodes import TOOL, utc_text
from memglot.model import Endpoint, Foreign, Relation, check_thing, check_value, derive_id, parse_time, to_builtins
from memglot.project.storage import paths, shapes, vocabulary
from memglot.project.storage.faults import FileFault
from memglot.project.storage.hashes import link_hash, stable_json
from memglot.project.storage.ids import file_slug
from memglot.project.storage.reader import to_relation

BYTES_KEY = "repo.link"
_MODEL_FIELDS = frozenset(
    ("id", "from", "to", "predicate", "status", "created_at", "updated_at", "confidence", "evidence", "content_hash")
)


class RelationFields(NamedTuple):
    """The file of a relation."""

    fields: dict[str, Any]
    place: str
    """Path below `.memory`, without its ending."""


def relation_of(link: RelationFields, space: str, memory: Callable[[str], str], raw: bytes | None = None) -> Relation:
    """Return the relation in a file whose fields are valid; `memory` returns the memory of a node. Raise `BadRecord`.

    `raw` is the file on disk; without it, the relation does not record its path and its bytes.
    """
    fields = link.fields
    unknown = {key: value for key, value in fields.items() if key not in _MODEL_FIELDS}
    check_value(unknown, "relation")
    relation = Relation(
        id=derive_id(TOOL, space, fields["id"]),
        subject=Endpoint(memory(fields["from"])),
        predicate=fields["predicate"],
        object=Endpoint(memory(fields["to"])),
        confidence=fields.get("confidence"),
        status=fields["status"],
        evidence=fields.get("evidence", []),
        created_at=parse_time(fields["created_at"]),
        updated_at=parse_time(fields["updated_at"]),
        foreign=[Foreign(TOOL, fields["id"], space)],
        extra={TOOL: unknown} if unknown else {},
    )
    residue: dict[str, Any] = {}
    if link.place != usual_place(fields["id"]):
        residue["path"] = link.place
    if raw is not None and raw != stable_json(fields_of(relation, fields["id"], fields["from"], fields["to"])):
        residue["text"] = raw.decode("utf-8")
    if residue and raw is not None:
        relation.extra[BYTES_KEY] = residue
    return check_thing(relation)


def usual_place(id: str) -> str:
    """Return the usual path of a relation with this id, without its ending."""
    return f"{paths.RELATIONS}/{file_slug(id.removeprefix('rel.'))}"


def can_be_file(relation: Relation) -> bool:
    """Return True if the values of a relation between two nodes are allowed in a file."""
    if relation.predicate not in vocabulary.PREDICATES or relation.status not in vocabulary.RELATION_STATUSES:
        return False
    if relation.confidence is not None and relation.confidence not in vocabulary.CONFIDENCES:
        return False
    try:
        shape = list[shapes.EvidenceItem]
        return bool(msgspec.to_builtins(msgspec.convert(relation.evidence, shape)) == relation.evidence)
    except msgspec.ValidationError:
        return False


def fields_of(relation: Relation, id: str, subject: str, object: str) -> dict[str, Any]:
    """Return the fields of the file of a relation between two nodes."""
    fields: dict[str, Any] = {
        "id": id,
        "from": subject,
        "predicate": relation.predicate,
        "to": object,
        "status": relation.status,
        "created_at": utc_text(relation.created_at),
        "updated_at": utc_text(relation.updated_at or relation.created_at),
    }
    if relation.confidence is not None:
        fields["confidence"] = relation.confidence
    if relation.evidence:
        fields["evidence"] = relation.evidence
    fields["content_hash"] = link_hash(fields)
    return fields


def file_of(relation: Relation, id: str, ends: tuple[str, str], place: str) -> tuple[RelationFields, bytes]:
    """Return the file of a relation: unchanged if the relation is, else written again."""
    fields = fields_of(relation, id, *ends)
    link, raw = RelationFields(fields, place), stable_json(fields)
    residue = relation.extra.get(BYTES_KEY)
    text = residue.get("text") if isinstance(residue, dict) else None
    if not isinstance(text, str):
        return link, raw
    try:
        former: dict[str, Any] = msgspec.json.decode(text.encode(), type=dict[str, Any])
        to_relation("", former, allow_unknown=True)
        before = relation_of(RelationFields(former, place), "", lambda node: node)
        now = relation_of(link, "", lambda node: node)
    except (msgspec.DecodeError, ValueError, MemglotError, FileFault):
        return link, raw
    own = relation.extra.get(TOOL, {})
    same = before.extra.get(TOOL, {}) == own and to_builtins(msgspec.structs.replace(before, extra={})) == to_builtins(
        now
    )
    return (RelationFields(former, place), text.encode()) if same else (link, raw)
