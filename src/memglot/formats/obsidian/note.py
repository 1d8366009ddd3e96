"""The memory of one note, from its front matter, text and path."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from memglot.errors import BadRecord
from memglot.formats.core.carry import KEY
from memglot.formats.core.file_names import safe_name
from memglot.formats.core.trace import NOTES, Trace, record_from_trace
from memglot.formats.core.trace_fields import FIELDS, FRONT, type_by_folder
from memglot.formats.obsidian.markup import tag_line
from memglot.formats.syntax.markdown_frame import split_note
from memglot.formats.syntax.yaml_reader import BrokenYaml
from memglot.model import DEFAULT_KIND, Foreign, Record, check_value, derive_id

TOOL, BYTES_KEY = "obsidian", "obsidian.note"
RESERVED = frozenset({*FRONT, "title", "aliases", KEY})
_HEADING = re.compile(r"(?:## Related|\*\*Related:\*\*)[ \t]*\r?")
_MAX_REPEATS = 100
_RELATED = re.compile(r"[ \t]*- \[\[[^\[\]\n]+\]\][^\n]*")


class NoteBody(NamedTuple):
    """The text of a note: its content and the lines that a tool wrote below it."""

    content: str
    own: str
    related: str
    """The links of a block of related notes, one per line."""


def split_body(body: str, tags: list[str], only: list[str] | None = None, *, edited: bool = False) -> NoteBody:
    """Split off what memglot or AgentOS wrote below the content: tags, then related notes.

    AgentOS reads both as content and writes them again, so they may be there several times. `only` names the blocks
    that were written, if the content itself ends like one. In an `edited` note, tags may have been added to the front
    matter alone.
    """
    line = tag_line(tags)
    content, related = _split_related(body) if only is None or "related" in only else (body, "")
    before = _before_tags(content, line, all_tags=not edited) if only is None or "tags" in only else None
    content = content if before is None else before
    for _ in range(_MAX_REPEATS if only is None and len(content) < len(body) else 0):
        rest, earlier = _split_related(content)
        before = _before_tags(rest, line, all_tags=False)
        if before is None and not (earlier and set(earlier.split("\n")) <= set(related.split("\n"))):
            break
        content = rest if before is None else before
        related = "\n".join(dict.fromkeys(filter(None, [*related.split("\n"), *earlier.split("\n")])))
    return NoteBody(content, body[len(content) :], related)


def has_tag_line(text: str) -> bool | None:
    """Return True if a note of AgentOS ends with its tags, as in its vaults; `None` if it has no tags."""
    try:
        frame = split_note(text)
    except (BadRecord, BrokenYaml):
        return None
    tags = front_tags(frame.front)
    if frame.front.get("id") is None or not tags:
        return None
    return bool(split_body(text[frame.start : frame.end], tags).own)


def _split_related(text: str) -> tuple[str, str]:
    """Return the text before the closing block of related notes, and its links."""
    start = _related_start(text)
    return (text, "") if start is None else (text[:start], text[start:].lstrip("\r\n").partition("\n")[2])


def _before_tags(text: str, line: str, *, all_tags: bool = True) -> str | None:
    """Return the text before a closing line of all tags, or of some; `None` if there is no such line."""
    before, _, last = text.rpartition("\n")
    if not last or last != line and (all_tags or not set(last.split(" ")) <= set(line.split(" "))):
        return None
    return next((before[: -len(end)] for end in ("\r\n\r", "\n") if before.endswith(end)), None)


def _related_start(text: str) -> int | None:
    """Return where the closing block of related notes begins, if there is one."""
    end = len(text.rstrip("\r\n")) if text.endswith("\n") else len(text)
    links = 0
    while True:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end]
        if links and _HEADING.fullmatch(line):
            before = text[:start]
            for newline in ("\r\n\r\n", "\n\n"):
                if before.endswith(newline):
                    return start - len(newline)
            return None
        if not _RELATED.fullmatch(line) or not start:
            return None
        links += 1
        end = start - 1


def front_record(front: dict[str, Any], content: str, path: str, vault: str) -> Record:
    """Return the memory from a note's front matter and path, without the tags in its text."""
    values: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    title = None
    for key, value in front.items():
        field = FRONT.get(key)
        if field is not None and value is not None and (read := _read(field, value)) is not None:
            values[field] = read
        elif key == "title" and isinstance(value, str) and value:
            title = value
        elif key == "aliases" and value:
            extra["aliases"] = value
        elif key != KEY:
            properties[key] = value
    values.setdefault("type", type_by_folder(path, DEFAULT_KIND))
    if "id" not in values:
        tags = (tag.removeprefix("#") or tag for tag in values.get("tags", []))
        values["tags"] = list(dict.fromkeys(filter(None, tags)))
    record = record_from_trace(Trace(content=content, **values), vault, NOTES)
    if not record.id:
        record.id = derive_id(TOOL, vault, path)
        record.foreign = [Foreign(TOOL, path, vault)]
    if properties:
        check_value(properties, "front matter")
        record.meta.update(properties)
    if extra:
        check_value(extra, "front matter")
        record.extra[TOOL] = extra
    record.title = title if title is not None else _name(path, values.get("id", ""))
    return record


def _read(field: str, value: Any) -> Any:
    """Return a field as AgentOS defines it; `None` for a property of the same name with another type."""
    reader: Callable[[str, Any], Any] = FIELDS[field]
    if field in ("type", "scope") and not isinstance(value, str):
        return None
    try:
        return reader(field, value)
    except BadRecord:
        return None


def front_tags(front: dict[str, Any]) -> list[str]:
    """Return the tags of the front matter."""
    value = front.get("tags")
    return (_read("tags", value) or []) if value is not None else []


def _name(path: str, id: str) -> str | None:
    stem = path.rpartition("/")[2].rpartition(".")[0]
    return None if id and stem == file_stem(id) else stem


def file_stem(id: str) -> str:
    """Return a file name for an id that is valid on every system."""
    name = safe_name(id)
    return name if name == id else f"{name}-{derive_id(TOOL, 'name', id)[-8:]}"


def default_path(record: Record, id: str, dialect: str | None = None) -> str:
    """Return the path of a new note: in the folder of its kind, named by its id.

    The program's dialect adds a folder for the scope.
    """
    path = f"{safe_name(record.kind)}/{file_stem(id)}.md"
    return f"{safe_name(record.scope.partition(':')[0])}/{path}" if dialect == "program" else path


def aliases_of(record: Record) -> list[str]:
    """Return the other names of a note."""
    own = record.extra.get(TOOL)
    value = own.get("aliases") if isinstance(own, dict) else None
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [alias for alias in value if isinstance(alias, str) and alias] if isinstance(value, list) else []


def agentos_ids(record: Record, front: dict[str, Any]) -> list[str]:
    """Return the ids that a link may use for a note."""
    found = [str(front["id"])] if isinstance(front.get("id"), (str, int)) else []
    return [*found, record.id]
