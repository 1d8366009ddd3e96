"""Edit properties in front matter, and leave every other line as somebody wrote it."""

from __future__ import annotations

import json
import re
from typing import Any

from memglot.errors import BadRecord
from memglot.formats.syntax.markdown_frame import OPENING, split_note
from memglot.formats.syntax.yaml_reader import BrokenYaml
from memglot.formats.syntax.yaml_writer import dump

_CLOSING = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)
_ITEM = re.compile(r"([ \t]*-[ \t]+)(\S.*)")
_FLOW_LIST = re.compile(r"\[[^\[\]{}\"'#\\]*\]")
REMOVED = object()
"""The value of a property that is removed."""


def edit_front(head: str, edits: dict[str, Any], before: dict[str, Any]) -> str | None:
    """Return the head of a note with other values of some properties; `None` if its front matter cannot be edited.

    `head` is everything before the content, and `before` has the values of its front matter. The lines of other
    properties stay, and so do the items of a list that are still in it.
    """
    edited = _edited(head, edits, before)
    wanted = {key: value for key, value in {**before, **edits}.items() if value is not REMOVED}
    try:
        # What cannot be read back as it is meant is not written.
        return edited if edited is not None and split_note(edited).front == wanted else None
    except (BadRecord, BrokenYaml):
        return None


def _edited(head: str, edits: dict[str, Any], before: dict[str, Any]) -> str | None:
    opening = OPENING.match(head)
    if opening is None:
        if head.strip() or head and edits:
            return None
        added = "".join(dump({key: value}) for key, value in edits.items() if value is not REMOVED)
        return f"---\n{added}---\n" if added else head
    newline = opening[1]
    closing = _CLOSING.search(head, opening.end())
    if closing is None:
        return None
    lines = [f"{line}\n" for line in head[opening.end() : closing.start()].split("\n")[:-1]]
    for key, value in edits.items():
        start, end = _lines_of(lines, key)
        if start is None and key in before:
            return None
        old = lines[start:end] if start is not None else []
        new = [] if value is REMOVED else _written(key, value, before.get(key), old)
        at = len(lines) if start is None else start
        lines[at : at + len(old)] = [line.rstrip("\r\n") + newline for line in new]
    return head[: opening.end()] + "".join(lines) + head[closing.start() :]


def _lines_of(lines: list[str], key: str) -> tuple[int | None, int]:
    """Return the first line of a property, and the first after it; a comment above the next property is not part."""
    names = "|".join(re.escape(name) for name in (key, json.dumps(key, ensure_ascii=False), f"'{key}'"))
    is_start = re.compile(rf"(?:{names})[ \t]*:(?=\s|$)").match
    start = next((number for number, line in enumerate(lines) if is_start(line)), None)
    if start is None:
        return None, 0
    end = start + 1
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if line.startswith((" ", "\t", "- ")) or line.rstrip() == "-":
            end = number + 1
        elif line.strip() and not line.startswith("#"):
            break
    return start, end


def _written(key: str, value: Any, before: Any, lines: list[str]) -> list[str]:
    """Return the lines of a property; those of list items that stay are kept."""
    if isinstance(value, list) and isinstance(before, list) and lines and value:
        edited = _edited_items(value, before, lines) or _edited_flow(value, before, lines)
        if edited is not None:
            return edited
    return dump({key: value}).split("\n")[:-1]


def _edited_items(value: list[Any], before: list[Any], lines: list[str]) -> list[str] | None:
    """Return a block list with other items, in the style of the old ones."""
    items = [_ITEM.match(line) for line in lines[1:]]
    if not items or len(items) != len(before) or None in items:
        return None
    indent = next(match[1] for match in items if match is not None)
    there: dict[str, list[str]] = {}
    for one, line in zip(before, lines[1:], strict=True):
        there.setdefault(json.dumps(one, sort_keys=True), []).append(line)
    found = [lines[0]]
    for one in value:
        kept = there.get(json.dumps(one, sort_keys=True))
        text = kept.pop(0) if kept else indent + dump([one]).removeprefix("- ").rstrip("\n")
        if "\n" in text.rstrip("\r\n"):
            return None
        found.append(text)
    return found


def _edited_flow(value: list[Any], before: list[Any], lines: list[str]) -> list[str] | None:
    """Return a list in one line, such as `[a, b]`, with other items."""
    head, colon, rest = lines[0].rstrip("\r\n").partition(":")
    if len(lines) != 1 or not _FLOW_LIST.fullmatch(rest.strip()):
        return None
    return [f"{head}{colon} [{', '.join(_in_flow(one) for one in value)}]"]


def _in_flow(value: Any) -> str:
    text = dump([value]).removeprefix("- ").rstrip("\n")
    is_plain = isinstance(value, str) and text == value and not set(text) & set(",[]{}\n")
    return text if is_plain else json.dumps(value, ensure_ascii=False)
