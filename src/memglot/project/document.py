"""A node as one text to edit: its fields between two lines of `---`, one per line, then its Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from memglot.project.by_hand import state_of
from memglot.project.node_ids import find_node
from memglot.project.project import Project
from memglot.project.save.errors import invalid_save
from memglot.project.save.parse import trimmed
from memglot.project.save.request import FullSaveNode
from memglot.project.snapshot import snapshot_of
from memglot.project.storage.errors import ProjectError

_FENCE = "---"
_FIELD = re.compile(r"([a-z]+)[ \t]*:[ \t]*(.*)")
_ITEM = re.compile(r"-[ \t]+(.*)")
_LINES = ("title", "status", "stage")
_LISTS = ("tags", "anchors")


def open_node(project: Project, id: str) -> dict[str, Any]:
    """Return a node for an edit: its id, its text with all fields, and the state that the edit starts from."""
    with snapshot_of(project) as snapshot:
        node = find_node(snapshot, id)
        if len(snapshot.places(node.id)) > 1:
            raise ProjectError("MemoryDuplicateId", f"`{node.id}` is in several files.", {"id": node.id})
        fields = {"title": node.title, "status": node.status, "stage": node.stage}
        text = document_of(fields | {"tags": node.tags, "anchors": node.anchors}, snapshot.body(node))
        return {"id": node.id, "text": text, "state": state_of(snapshot, node)}


def document_of(fields: dict[str, Any], body: str) -> str:
    """Return a node as a text; fields that are None are left out."""
    lines = [_FENCE, *(f"{name}: {fields[name]}" for name in _LINES if fields.get(name) is not None)]
    for name in _LISTS:
        items = fields.get(name) or ()
        lines += [f"{name}:", *(f"- {item}" for item in items)]
    return "\n".join([*lines, _FENCE, "", trimmed(body), ""])


def node_of(text: str, before: str | None = None) -> FullSaveNode:
    """Return the fields of a node that a text sets; with the text `before` an edit, those that differ from it.

    Raise `ProjectError` with the line that is wrong.
    """
    fields = _fields_of(text)
    if before is None:
        given = {name: value for name, value in fields.items() if value}
    else:
        old = _fields_of(before)
        for name in ("stage", "status"):
            if old.get(name) and not fields.get(name):
                raise invalid_save(f"The line `{name}: {old[name]}` is missing; a node keeps its {name}.", name)
        given = {
            name: fields.get(name) or _empty(name) for name in {**old, **fields} if fields.get(name) != old.get(name)
        }
    if given.get("status") == "superseded":
        message = "A node is superseded by another: run `memglot repo supersede OLD NEW`."
        raise invalid_save(message, "status", allowed=["active", "stale", "open", "closed"])
    return _node(given)


def _node(given: dict[str, Any]) -> FullSaveNode:
    try:
        return msgspec.convert(given, FullSaveNode)
    except msgspec.ValidationError as error:
        name = str(error).rpartition("`$.")[2].rstrip("`")
        raise invalid_save(f"`{given.get(name)}` is not a valid {name}.", name) from None


def new_node(kind: str, text: str | None, fields: dict[str, Any]) -> FullSaveNode:
    """Return a new node from a text, or from fields, which a text replaces. Raise `ProjectError`."""
    given = node_of(text) if text is not None else _node(fields)
    return msgspec.structs.replace(given, kind=kind, title=given.title or fields.get("title"))


def changed_node(
    project: Project, id: str, text: str | None, fields: dict[str, Any], opened: dict[str, Any] | None
) -> FullSaveNode:
    """Return what an edit of a node changes: from a text, compared with the one that was opened, or from fields.

    Raise `ProjectError`.
    """
    if text is None:
        return _node(fields)
    before = opened if opened is not None else open_node(project, id)
    return node_of(text, before["text"])


def _empty(name: str) -> Any:
    return [] if name in _LISTS else ""


def _fields_of(text: str) -> dict[str, Any]:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() == _FENCE), None)
    if lines[0].rstrip() != _FENCE or end is None:
        raise _wrong_line(
            1 if lines[0].rstrip() != _FENCE else len(lines), "The fields must be between two lines `---`."
        )
    found: dict[str, Any] = {"body": trimmed("\n".join(lines[end + 1 :]))}
    target: list[str] | None = None
    for number, line in enumerate(map(str.strip, lines[1:end]), 2):
        if not line or line.startswith("#"):
            continue
        if target is not None and (item := _ITEM.fullmatch(line)):
            target.append(item[1].strip())
            continue
        target = _add_field(found, line, number)
    return found


def _add_field(found: dict[str, Any], line: str, number: int) -> list[str] | None:
    """Add the field of a line; return the list that the next lines add to."""
    field = _FIELD.fullmatch(line)
    names = (*_LINES, *_LISTS)
    if field is None or field[1] not in names:
        raise _wrong_line(number, f"`{line}` is not a field; fields are {', '.join(names)}.")
    name, value = field[1], field[2].strip()
    if name in found:
        raise _wrong_line(number, f"`{name}` is here a second time.")
    if name in _LINES:
        found[name] = value
        return None
    # Tags contain no commas, but a glob may.
    items: Sequence[str] = value.strip("[]").split(",") if name == "tags" else [value]
    found[name] = [item.strip() for item in items if item.strip()]
    target: list[str] = found[name]
    return target


def _wrong_line(number: int, message: str) -> ProjectError:
    return ProjectError("MemoryValidationFailed", f"Line {number}: {message}", {"line": number})
