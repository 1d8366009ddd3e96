"""Read a save request from JSON, and check and clean its texts. Every error names the field with a dotted path."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_args

import msgspec

from memglot.project.save.errors import invalid_save
from memglot.project.save.request import (
    FullSaveNode,
    FullSaveRequest,
    OutdatedNode,
    SaveEvidence,
    SaveNode,
    SaveRelation,
    SaveRequest,
    SettableStatus,
    SupersededNode,
)
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.ids import is_id
from memglot.project.storage.json_place import place_of
from memglot.project.storage.vocabulary import CONFIDENCES, PREDICATES, SAVED_KINDS, STAGES

V = TypeVar("V")
MAX_LINE = 2_000
"""Maximum length of a title, task, reason, tag or anchor, in characters."""
# The white space that JavaScript's `trim` removes, as the original tool does.
_SPACE = "".join(map(chr, (*range(9, 14), 0x20, 0xA0, 0x1680, *range(0x2000, 0x200B)))) + "\u2028\u2029\u202f\u205f"
_SPACE += "\u3000\ufeff"
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

# What the original tool says of a value of the wrong type, by the end of its path.
_EMPTY = "Save input field must be a non-empty string."
_NOT_A_LIST = "Save input field must be an array."
_NOT_STRINGS = "Save input field must be an array of strings."
_EMPTY_ITEM = "Save input array item must be a non-empty string."
_NOT_AN_ID = "Save input field must be a Memory object ID."
_MESSAGES = {
    "nodes": _NOT_A_LIST,
    "stale": _NOT_A_LIST,
    "supersede": _NOT_A_LIST,
    "delete": _NOT_A_LIST,
    "related": _NOT_A_LIST,
    "anchors": _NOT_STRINGS,
    "tags": _NOT_STRINGS,
    "evidence": "Save evidence must be an array.",
    "nodes.*": "Save node must be an object.",
    "stale.*": "Save stale item must be an object.",
    "supersede.*": "Save supersede item must be an object.",
    "delete.*": "Save delete item must be an object.",
    "related.*": "Save related item must be an object.",
    "anchors.*": _EMPTY_ITEM,
    "tags.*": _EMPTY_ITEM,
    "evidence.*": "Save evidence item must be an object.",
    "evidence.*.kind": "Save evidence kind is not supported.",
    "evidence.*.id": "Save evidence id must be a non-empty string.",
    "id": _NOT_AN_ID,
    "to": _NOT_AN_ID,
    "superseded_by": _NOT_AN_ID,
    "kind": "Save node kind is not supported.",
    "stage": "Save node stage is not supported.",
    "status": "Save node status is not supported.",
    "predicate": "Save relation predicate is not supported.",
    "confidence": "Save relation confidence is not supported.",
}
_ALLOWED: dict[str, Sequence[str]] = {
    "kind": SAVED_KINDS,
    "stage": STAGES,
    "status": get_args(SettableStatus),
    "predicate": PREDICATES,
    "confidence": CONFIDENCES,
}
_PLACE = re.compile(r" - at `\$([\w.\[\]]+)`$")
_UNKNOWN = "Object contains unknown field `"
_MISSING = "Object missing required field `"


def decode_json(text: bytes, source: str = "stdin") -> Any:
    """Decode JSON text from a source, such as a file. Raise `ProjectError` with line and column if it is not valid."""
    text = text.removeprefix(BOM_UTF8)
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        place = place_of(text, error)
        details: dict[str, Any] = {"source": source, "message": place.reason}
        if place.line is not None:
            details |= {"line": place.line, "column": place.column}
        raise ProjectError("MemoryInvalidJson", f"Save input contains invalid JSON: {place}.", details) from None


def read_request(value: Any) -> FullSaveRequest:
    """Convert a decoded JSON value to a request. Raise `ProjectError` with the field that is wrong."""
    try:
        request = msgspec.convert(value, FullSaveRequest)
    except msgspec.ValidationError as error:
        raise _translated(str(error)) from None
    # The structs accept null, which MCP clients send for what they leave out; JSON input has no such rule.
    if (field := _find_null(value)) is not None:
        raise _invalid_value(field)
    return request


def checked_request(request: SaveRequest) -> FullSaveRequest:
    """Return a request with clean texts. Raise `ProjectError` with the field that breaks a rule."""
    checked = FullSaveRequest(
        _line(request.task, "task"),
        [_node(item, f"nodes.{number}") for number, item in enumerate(request.nodes or ())],
        [_outdated(item, f"stale.{number}") for number, item in enumerate(request.stale or ())],
        [_superseded(item, f"supersede.{number}") for number, item in enumerate(request.supersede or ())],
        [_outdated(item, f"delete.{number}") for number, item in enumerate(request.delete or ())],
    )
    if not (checked.nodes or checked.stale or checked.supersede or checked.delete):
        raise invalid_save("Save input must include at least one memory action.", "nodes|stale|supersede|delete")
    return checked


def trimmed(text: str) -> str:
    """Return a text without white space around it and with newlines as line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip(_SPACE)


def _translated(error: str) -> ProjectError:
    """Return the original tool's error for one of msgspec."""
    found = _PLACE.search(error)
    reason = error[: found.start()] if found else error
    path = found[1].replace("[", ".").replace("]", "").removeprefix(".") if found else ""
    before = f"{path}." if path else ""
    if reason.startswith(_UNKNOWN):
        return invalid_save("Save input field is not supported.", before + reason[len(_UNKNOWN) : -1])
    if reason.startswith(_MISSING):
        return _invalid_value(before + reason[len(_MISSING) : -1])
    return _invalid_value(path) if path else invalid_save("Save input must be an object.", "<input>")


def _invalid_value(field: str) -> ProjectError:
    """Return the error for a missing, empty or wrong value."""
    parts = ["*" if part.isdigit() else part for part in field.split(".")]
    for start in range(len(parts)):
        if (key := ".".join(parts[start:])) in _MESSAGES:
            allowed = {"allowed": list(_ALLOWED[key])} if key in _ALLOWED else {}
            return invalid_save(_MESSAGES[key], field, **allowed)
    return invalid_save(_EMPTY, field)


def _find_null(request: dict[str, Any]) -> str | None:
    """Return the path of a null in a JSON value."""
    values: list[tuple[str, Any]] = list(request.items())
    for field, value in values:  # The list grows while it is read.
        if value is None:
            return field
        if isinstance(value, dict):
            values += [(f"{field}.{key}", inner) for key, inner in value.items()]
        elif isinstance(value, list):
            values += [(f"{field}.{number}", inner) for number, inner in enumerate(value)]
    return None


def _node(node: SaveNode, field: str) -> FullSaveNode:
    extra = node if isinstance(node, FullSaveNode) else FullSaveNode()
    return FullSaveNode(
        id=_optional(_id, node.id, f"{field}.id"),
        kind=node.kind,
        title=_optional(_line, node.title, f"{field}.title"),
        body=_optional(_text, node.body, f"{field}.body"),
        stage=node.stage,
        status=extra.status,
        anchors=_optional(_strings, node.anchors, f"{field}.anchors"),
        tags=_optional(_strings, node.tags, f"{field}.tags"),
        evidence=_optional(_evidence, extra.evidence, f"{field}.evidence"),
        related=[_relation(item, f"{field}.related.{number}") for number, item in enumerate(node.related or ())],
    )


def _optional(check: Callable[[V, str], V], value: V | None, field: str) -> V | None:
    return None if value is None else check(value, field)


def _relation(relation: SaveRelation, field: str) -> SaveRelation:
    return SaveRelation(relation.predicate, _id(relation.to, f"{field}.to"), relation.confidence)


def _outdated(item: OutdatedNode, field: str) -> OutdatedNode:
    return OutdatedNode(_id(item.id, f"{field}.id"), _line(item.reason, f"{field}.reason"))


def _superseded(item: SupersededNode, field: str) -> SupersededNode:
    id, by = _id(item.id, f"{field}.id"), _id(item.superseded_by, f"{field}.superseded_by")
    return SupersededNode(id, by, _line(item.reason, f"{field}.reason"))


def _evidence(items: list[SaveEvidence], field: str) -> list[SaveEvidence]:
    return [
        SaveEvidence(item.kind, _short(_plain(item.id, f"{field}.{number}.id"), f"{field}.{number}.id"))
        for number, item in enumerate(items)
    ]


def _strings(values: list[str], field: str) -> list[str]:
    """Return the strings in order, without duplicates."""
    places = ((value, f"{field}.{number}") for number, value in enumerate(values))
    return list(dict.fromkeys(_short(_plain(value, place), place) for value, place in places))


def _line(text: str, field: str) -> str:
    """Return a text on one line; line breaks become spaces."""
    return _short(" ".join(_text(text, field).split()), field)


def _text(text: str, field: str) -> str:
    """Return a trimmed text without control characters."""
    text = _plain(text, field)
    if _CONTROLS.search(text):
        raise invalid_save("Save input field must not contain control characters.", field)
    return text


def _plain(text: str, field: str) -> str:
    """Return a trimmed text that is not empty."""
    text = trimmed(text)
    if not text:
        raise _invalid_value(field)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise invalid_save("Save input field must be valid Unicode; it contains a lone surrogate.", field) from None
    return text


def _short(text: str, field: str) -> str:
    if len(text) > MAX_LINE:
        message = f"Save input field has {len(text):,} characters; at most {MAX_LINE:,} are allowed."
        raise invalid_save(message, field, limit=MAX_LINE, actual=len(text))
    return text


def _id(id: str, field: str) -> str:
    if not is_id(id):
        raise _invalid_value(field)
    return id
