"""A conversation as one note: its memories below each other, each after a comment that says the rest of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from memglot.display import plural
from memglot.formats.core.carry import KEY, differences, pack_found, take_slot
from memglot.formats.obsidian.chat_names import conversation_of, valid_tags
from memglot.formats.obsidian.note import TOOL, front_tags
from memglot.formats.obsidian.render import without_place
from memglot.formats.syntax.front_edit import edit_front
from memglot.formats.syntax.markdown_frame import NoteFrame, split_note
from memglot.formats.syntax.yaml_writer import dump
from memglot.model import Foreign, Record, Thing, derive_id, format_time, mark_as_note
from memglot.model.fingerprints import ABSENT, fingerprint, list_fingerprint
from memglot.model.paths import path_name
from memglot.report import Report, SourceReport

LAYOUT_KEY = "obsidian.chat"
"""The key of `extra` with what somebody changed around the memories; the first of them has it."""
_CONVERSATION, _MARK = "conversation", "memglot"


class ChatLayout(msgspec.Struct, omit_defaults=True):
    """What the note of a conversation looked like when somebody had edited it."""

    path: str
    head: str = ""
    seen: str = ""
    """The beginning of the digest of the note."""


class NoteFile(NamedTuple):
    """Where a note is: its path, its vault and the beginning of its digest."""

    path: str
    vault: str
    seen: str


def layout_of(record: Record) -> ChatLayout | None:
    """Return what somebody changed around the memories of a conversation."""
    try:
        return msgspec.convert(record.extra.get(LAYOUT_KEY), ChatLayout)
    except msgspec.ValidationError:
        return None


def render_conversation(bundles: list[tuple[Record, list[Thing]]], head: str, report: Report, *, plain: bool) -> str:
    """Return the note of a conversation; `head` is its front matter as somebody wrote it, or empty."""
    first = bundles[0][0]
    mark, number = _MARK, 1
    while any(f"%% {mark} {{" in record.content for record, _ in bundles):
        number += 1
        mark = f"{_MARK}-{number}"
    tags = valid_tags(dict.fromkeys(tag for record, _ in bundles for tag in record.tags))
    front: dict[str, Any] = {"title": first.title} if first.title else {}
    front |= {"tags": list(tags)} if tags else {}
    front |= {"created": format_time(first.created_at)} if first.created_at else {}
    slot: dict[str, Any] = {"id": conversation_of(first), "title": first.title, "tags": tags, "mark": mark}
    if not plain:
        front[KEY] = {_CONVERSATION: slot}
    text = f"---\n{dump(front)}---\n\n" if front else ""
    if head and not plain:
        given = split_note(head + "x").front
        edits = {key: value for key, value in front.items() if given.get(key) != value}
        text = (edit_front(head, edits, given) or text) if edits else head
    parts = [_part(record, attached, mark, report, plain) for record, attached in bundles]
    return text + "\n\n".join(parts) + "\n"


def _part(record: Record, attached: list[Thing], mark: str, report: Report, plain: bool) -> str:
    native = Record(content=record.content)
    placed = without_place(record)
    placed.extra = {key: value for key, value in placed.extra.items() if key != LAYOUT_KEY}
    slot = pack_found(differences(placed, native), placed, attached, report, plain, native)
    if plain:
        return record.content
    # A comment ends at two percent signs.
    text = msgspec.json.encode(slot).decode().replace("%", "\\u0025")
    return f"%% {mark} {text} %%\n{record.content}"


def slot_of(frame: NoteFrame) -> dict[str, Any] | None:
    """Return what the front matter says about a conversation; `None` for any other note."""
    given = frame.front.get(KEY)
    found = given.get(_CONVERSATION) if isinstance(given, dict) and len(given) == 1 else None
    return found if isinstance(found, dict) and isinstance(found.get("mark"), str) and found["mark"] else None


class _Part(NamedTuple):
    slot: dict[str, Any]
    content: str


def read_conversation(
    text: str, frame: NoteFrame, place: NoteFile, report: SourceReport, *, is_written: bool, is_edited: bool
) -> Iterator[tuple[Record, list[Thing]]]:
    """Yield the memories of a conversation's note, with their attached items."""
    slot = slot_of(frame)
    assert slot is not None
    before, parts = _split(text[frame.start : frame.end], slot["mark"])
    seen: set[str] = set()
    layout = None if is_written else ChatLayout(place.path, text[: frame.start], place.seen)
    blank = 0
    for part in parts:
        record = Record(content=part.content)
        if not part.content.strip():
            blank += 1
            continue
        attached = take_slot({KEY: part.slot}, record, report) or []
        if not record.id or record.id in seen:
            # Somebody copied it, or its comment was damaged.
            record = _own_record(part.content, slot, f"{place.path}#{len(seen)}", place.vault)
            attached = []
        seen.add(record.id)
        _apply_edits(record, slot, frame.front)
        if layout is not None:
            _keep_layout(record, layout)
            layout = None
        if is_edited:
            mark_as_note(record, edited=True)
        yield record, attached
    if blank:
        report.note(f"{plural(blank, 'memory', 'memories')} of {place.path} without a text stayed as before")
    if before.strip():
        yield _own_record(before.strip("\r\n"), slot, place.path, place.vault), []


def _split(body: str, mark: str) -> tuple[str, list[_Part]]:
    """Return the text before the first memory, and the memories."""
    line = re.compile(rf"^%% {re.escape(mark)} (\{{.*\}}) %%[ \t]*(\r?)$", re.MULTILINE)
    found: list[tuple[int, int, dict[str, Any]]] = []
    for match in line.finditer(body):
        try:
            slot = msgspec.json.decode(match[1], type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            continue
        found.append((match.start(), match.end() + 1, slot))
    parts = []
    has_returns = any(body[end - 2 : end - 1] == "\r" for _, end, _ in found)
    for number, (_, end, slot) in enumerate(found):
        content = body[end : found[number + 1][0]] if number + 1 < len(found) else body[end:]
        if has_returns:
            content = content.replace("\r\n", "\n")
        if number + 1 < len(found):
            content = content[:-2] if content.endswith("\n\n") else content.removesuffix("\n")
        parts.append(_Part(slot, content))
    return body[: found[0][0]] if found else body, parts


def _own_record(content: str, slot: dict[str, Any], key: str, vault: str) -> Record:
    """Return a memory for a text that somebody added to a conversation."""
    id, title = slot.get("id"), slot.get("title")
    return Record(
        id=derive_id(TOOL, vault, key),
        content=content,
        title=title if isinstance(title, str) and title else None,
        source={"conversation": id} if isinstance(id, str) and id else {},
        foreign=[Foreign(TOOL, key, vault)],
    )


def _apply_edits(record: Record, slot: dict[str, Any], front: dict[str, Any]) -> None:
    """Apply the title and the tags that somebody changed for the whole conversation."""
    edits = record.tool_edits
    if edits is None:
        return
    title = front.get("title")
    if isinstance(title, str) and title and title != slot.get("title"):
        edits["title"] = fingerprint(record.title) if record.title else ABSENT
        record.title = title
    written = slot.get("tags")
    written = written if isinstance(written, dict) else {}
    now = [tag.removeprefix("#") for tag in front_tags(front)]
    gone = {exact for tag, exact in written.items() if tag not in now}
    new = [tag for tag in now if tag and tag not in written]
    tags = list(dict.fromkeys([*(tag for tag in record.tags if tag not in gone), *new]))
    if tags != record.tags:
        edits["tags"] = list_fingerprint(record.tags)
        record.tags = tags


def _keep_layout(record: Record, layout: ChatLayout) -> None:
    record.extra = {**record.extra, LAYOUT_KEY: msgspec.to_builtins(layout)}
    if record.tool_edits is not None:
        record.tool_edits.setdefault(path_name(("extra", LAYOUT_KEY)), ABSENT)
