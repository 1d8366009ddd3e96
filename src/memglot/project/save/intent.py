"""What a save asks for, read from its JSON; whatever breaks a rule is named by its place in dots."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct

from memglot.project.save import messages as said
from memglot.project.save.messages import invalid_save
from memglot.project.storage.ids import is_id
from memglot.project.storage.vocabulary import CONFIDENCES, EVIDENCE_KINDS, PREDICATES, SAVED_KINDS, STAGES

T = TypeVar("T")
_ALL_STATUSES = ("active", "stale", "open", "closed")
_SPACE = "".join(map(chr, range(9, 14))) + " \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"
_SPACE += "".join(map(chr, range(0x2000, 0x200B)))


_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
MAX_LINE = 2_000
"""How many letters a title, a task, a reason, a tag or an anchor may have."""


class Related(Struct):
    """A relation from the node it stands in."""

    predicate: str
    to: str
    confidence: str | None


class NodeIntent(Struct):
    """A node to make or to change; what is `None` was not said."""

    field: str
    id: str | None
    kind: str | None
    title: str | None
    body: str | None
    stage: str | None
    status: str | None
    anchors: list[str] | None
    tags: list[str] | None
    evidence: list[dict[str, str]] | None
    related: list[Related]


class Judgement(Struct):
    """A node that no longer holds, is replaced, or goes; and why."""

    field: str
    id: str
    reason: str
    superseded_by: str = ""


class Intent(Struct):
    """A whole save."""

    task: str
    nodes: list[NodeIntent]
    stale: list[Judgement]
    supersede: list[Judgement]
    delete: list[Judgement]


def read_intent(value: Any) -> Intent:
    """Read the input of a save. Raises `ProjectError` with the field that is wrong."""
    if not isinstance(value, dict):
        raise invalid_save(said.NO_OBJECT, "<input>")
    _known(value, ("task", "nodes", "stale", "supersede", "delete"), "")
    intent = Intent(
        _line(value.get("task"), "task"),
        _list(value, "nodes", "", _node),
        _list(value, "stale", "", _judgement("stale", "id", "reason")),
        _list(value, "supersede", "", _judgement("supersede", "id", "superseded_by", "reason")),
        _list(value, "delete", "", _judgement("delete", "id", "reason")),
    )
    if not (intent.nodes or intent.stale or intent.supersede or intent.delete):
        raise invalid_save(said.NOTHING_TO_DO, "nodes|stale|supersede|delete")
    return intent


def _node(value: Any, field: str) -> NodeIntent:
    if not isinstance(value, dict):
        raise invalid_save(said.NODE_NO_OBJECT, field)
    keys = ("id", "kind", "title", "body", "stage", "status", "anchors", "tags", "evidence", "related")
    _known(value, keys, field)

    def given(key: str, read: Callable[[Any, str], T]) -> T | None:
        return read(value[key], f"{field}.{key}") if key in value else None

    return NodeIntent(
        field,
        given("id", _id),
        given("kind", _choice(said.KIND, SAVED_KINDS)),
        given("title", _line),
        given("body", _text),
        given("stage", _choice(said.STAGE, STAGES)),
        given("status", _choice(said.STATUS, _ALL_STATUSES)),
        given("anchors", _texts),
        given("tags", _texts),
        given("evidence", _evidence),
        _list(value, "related", field, _related),
    )


def _related(value: Any, field: str) -> Related:
    if not isinstance(value, dict):
        raise invalid_save(said.RELATED_NO_OBJECT, field)
    _known(value, ("predicate", "to", "confidence"), field)
    choose_predicate = _choice(said.PREDICATE, PREDICATES)
    choose_confidence = _choice(said.CONFIDENCE, CONFIDENCES)
    return Related(
        choose_predicate(value.get("predicate"), f"{field}.predicate"),
        _id(value.get("to"), f"{field}.to"),
        choose_confidence(value["confidence"], f"{field}.confidence") if "confidence" in value else None,
    )


def _judgement(name: str, *keys: str) -> Callable[[Any, str], Judgement]:
    def read(value: Any, field: str) -> Judgement:
        if not isinstance(value, dict):
            raise invalid_save(f"Save {name} item must be an object.", field)
        _known(value, keys, field)
        id = _id(value.get("id"), f"{field}.id")
        by = _id(value.get("superseded_by"), f"{field}.superseded_by") if "superseded_by" in keys else ""
        return Judgement(field, id, _line(value.get("reason"), f"{field}.reason"), by)

    return read


def _known(value: dict[str, Any], keys: tuple[str, ...], field: str) -> None:
    for key in value:
        if key not in keys:
            raise invalid_save(said.UNKNOWN_FIELD, f"{field}.{key}" if field else key)


def _list(value: dict[str, Any], key: str, field: str, read: Callable[[Any, str], T]) -> list[T]:
    place = f"{field}.{key}" if field else key
    items = value.get(key, [])
    if not isinstance(items, list):
        raise invalid_save(said.NO_ARRAY, place)
    return [read(item, f"{place}.{number}") for number, item in enumerate(items)]


def trimmed(text: str) -> str:
    """A text without the white space around it, and with newlines as line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip(_SPACE)


def _plain(value: Any, field: str) -> str:
    """A text without the white space around it."""
    text = trimmed(value) if isinstance(value, str) else ""
    if not text:
        raise invalid_save(said.NO_TEXT, field)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise invalid_save(said.HALF_CHARACTER, field) from None
    return text


def _text(value: Any, field: str) -> str:
    """A text that people read."""
    text = _plain(value, field)
    if _CONTROLS.search(text):
        raise invalid_save(said.CONTROLS, field)
    return text


def _line(value: Any, field: str) -> str:
    """A text of one line; line ends within it become spaces."""
    return _short(" ".join(_text(value, field).split()), field)


def _short(text: str, field: str) -> str:
    if len(text) > MAX_LINE:
        raise invalid_save(
            f"Save input field has {len(text):,} characters; at most {MAX_LINE:,} are allowed.",
            field,
            limit=MAX_LINE,
            actual=len(text),
        )
    return text


def _texts(value: Any, field: str) -> list[str]:
    if not isinstance(value, list):
        raise invalid_save(said.NO_STRINGS, field)
    found: dict[str, None] = {}
    for number, item in enumerate(value):
        if not isinstance(item, str) or not trimmed(item):
            raise invalid_save(said.BLANK_ITEM, f"{field}.{number}")
        found[_short(_plain(item, f"{field}.{number}"), f"{field}.{number}")] = None
    return list(found)


def _evidence(value: Any, field: str) -> list[dict[str, str]]:
    if not isinstance(value, list):
        raise invalid_save(said.EVIDENCE_NO_ARRAY, field)
    found = []
    for number, item in enumerate(value):
        place = f"{field}.{number}"
        if not isinstance(item, dict):
            raise invalid_save(said.EVIDENCE_NO_OBJECT, place)
        _known(item, ("kind", "id"), place)
        if item.get("kind") not in EVIDENCE_KINDS:
            raise invalid_save(said.EVIDENCE_KIND, f"{place}.kind")
        if not isinstance(item.get("id"), str) or not trimmed(item["id"]):
            raise invalid_save(said.EVIDENCE_ID, f"{place}.id")
        found.append({"kind": item["kind"], "id": _short(_plain(item["id"], f"{place}.id"), f"{place}.id")})
    return found


def _id(value: Any, field: str) -> str:
    if not is_id(value):
        raise invalid_save(said.NO_ID, field)
    return str(value)


def _choice(message: str, allowed: tuple[str, ...]) -> Callable[[Any, str], str]:
    def read(value: Any, field: str) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise invalid_save(message, field, allowed=list(allowed))
        return value

    return read
