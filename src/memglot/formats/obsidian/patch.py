"""Edit a note that somebody wrote: change the lines of what was edited in memglot, and leave all others.

What the note has no place for goes into the proof of the folder, so that nothing is added to the note.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from memglot.errors import BadRecord
from memglot.formats.core.carry import KEY, differences, pack_found
from memglot.formats.core.encoding import BOM
from memglot.formats.core.note_layout import NotePlace, note_slot, places_of
from memglot.formats.obsidian.chat_names import conversation_of, exact_tags, valid_tags
from memglot.formats.obsidian.links import is_in_text
from memglot.formats.obsidian.markup import tag_line, tags_in, without_code
from memglot.formats.obsidian.note import BYTES_KEY, RESERVED, TOOL, front_record, front_tags, split_body
from memglot.formats.obsidian.render import about_text, is_empty, text_digest, without_place
from memglot.formats.syntax.front_edit import REMOVED, edit_front
from memglot.formats.syntax.markdown_frame import NoteFrame, split_note, without_front_matter
from memglot.formats.syntax.yaml_reader import BrokenYaml
from memglot.model import Record, Relation, Thing
from memglot.model.fingerprints import fingerprints
from memglot.report import Report
from memglot.settings import MAX_MARKUP

_MARK = BOM.decode()
_IN_SLOT = frozenset({"id", "created_at", "updated_at", "foreign", "clocks", "extra"})
"""What the slot of a note that must not change has in any case."""


_TRAITS = {"type": "kind", "scope": "scope", "strength": "strength"}
"""Properties that AgentOS knows, which change where they are, with the fields they set."""


class Patched(NamedTuple):
    """An edited note, and what the proof of its folder carries for it."""

    data: bytes
    slot: dict[str, Any]


def patch(
    record: Record, attached: list[Thing], place: NotePlace, related: str, vault: str, report: Report, *, plain: bool
) -> Patched | None:
    """Return a note with the memory's values; `None` if it must be rendered again.

    `related` has the lines of the related notes that were linked in memglot and by hand.
    """
    if not place.of or place.nul:
        return None
    # A reader takes the title for the content of an empty note.
    is_bare = is_empty(record) and record.content == (record.title or place.path.rpartition("/")[2])
    content = "" if is_bare else record.content
    mark = _MARK if place.head.startswith(_MARK) else ""
    head = place.head.removeprefix(mark)
    before = _frame(head + content + place.tail)
    native = _native(before, content, place.path, vault)
    # Front matter that is not valid YAML is text, which gets no other front matter above it.
    is_text = not before.fenced and content.startswith("---")
    edits = {} if is_text else _edits(record, native, before.front, content, place.path)
    edited = edit_front(head, edits, before.front)
    if edited is None:
        return None
    tail = _tail(place.tail, front_tags(before.front), front_tags(_frame(edited).front), related)
    if content.startswith(("\n", "\r\n")) and _content(edited, content, tail) != content:
        # A reader drops the newline below the front matter, and the last one.
        edited += "\n"
    if content.endswith("\n") and not tail:
        tail = "\n"
    if _content(edited, content, tail) != content:
        return None
    if KEY in before.front:
        edited = _with_slot(edited, record, attached, content, tail, place.path, vault, report, plain)
        if edited is None or _content(edited, content, tail) != content:
            return None
        return Patched(NotePlace(path="", head=mark + edited, tail=tail, encoding=place.encoding).data(content), {})
    frame = _frame(edited + content + tail)
    # Of an empty note, a reader sees its blank lines.
    read = content or (edited + tail)[frame.start : frame.end]
    slot = _slot(record, attached, frame, read, place.path, vault, edited + content, report, plain)
    if _has_related(tail) and frame.front.get("id") is None and not plain:
        slot["own"] = ["related"]
    return Patched(NotePlace(path="", head=mark + edited, tail=tail, encoding=place.encoding).data(content), slot)


def _with_slot(
    head: str,
    record: Record,
    attached: list[Thing],
    content: str,
    tail: str,
    path: str,
    vault: str,
    report: Report,
    plain: bool,
) -> str | None:
    """Return the head of a note with the carry slot that it has among its properties."""
    front = _frame(head + content + tail).front
    bare = {key: value for key, value in front.items() if key != KEY}
    placed = without_place(record)
    native = _native(NoteFrame(bare, 0, 0, True), content, path, vault)
    spelled = spelled_tags(record, front_tags(bare), front)
    native.tags = exact_tags(native.tags, {"tag_names": spelled})
    slot = pack_found(differences(placed, native), placed, attached, report, plain, native)
    text = content + tail.removesuffix("\n").removesuffix("\r")
    slot |= about_text(record, content, text[len(content) :], bare, _has_related(tail))
    if spelled:
        slot["tag_names"] = spelled
    if slot == front[KEY]:
        return head
    return edit_front(head, {KEY: slot or REMOVED}, front)


def spelled_tags(record: Record, tags: list[str], front: dict[str, Any]) -> dict[str, str]:
    """Return the tags of a note that are spelled in another way than in the memory, with the exact ones."""
    slot = front.get(KEY)
    known = slot.get("tag_names") if isinstance(slot, dict) else None
    names = {**valid_tags(record.tags), **(known if isinstance(known, dict) else {})}
    return {tag: names[tag] for tag in tags if names.get(tag, tag) != tag and names[tag] in record.tags}


def _has_related(tail: str) -> bool:
    """Return True if the end of a note has a block of related notes, which only memglot writes below other notes."""
    return bool(split_body("x" + tail.replace("\r\n", "\n"), [], ["related"]).related)


def _content(head: str, content: str, tail: str) -> str:
    """Return what a reader finds between the head and the tail of a note."""
    text = head + content + tail
    frame = _frame(text)
    body = text[frame.start : frame.end]
    if frame.front.get("id") is not None:
        body = split_body(body, front_tags(frame.front)).content
    elif _has_related(tail):
        body = split_body(body, [], ["related"]).content
    return body if content else body.strip()


def _frame(text: str) -> NoteFrame:
    try:
        return split_note(text)
    except (BadRecord, BrokenYaml):
        return without_front_matter(text)


def _native(frame: NoteFrame, content: str, path: str, vault: str) -> Record:
    return front_record(frame.front, content or path.rpartition("/")[2], path, vault)


def _edits(record: Record, native: Record, front: dict[str, Any], content: str, path: str) -> dict[str, Any]:
    """Return the properties that must change so that a reader finds the values of the memory."""
    edits: dict[str, Any] = {}
    if record.title and record.title != native.title:
        is_name = record.title == path.rpartition("/")[2].rpartition(".")[0]
        edits["title"] = REMOVED if is_name and "title" in front else record.title
    for key, field in _TRAITS.items():
        value = getattr(record, field)
        if isinstance(front.get(key), str | float) and value not in (None, getattr(native, field)):
            edits[key] = value
    for key in [*native.meta, *(key for key in sorted(record.meta) if key not in native.meta)]:
        is_same = key in record.meta and record.meta[key] == native.meta.get(key, REMOVED)
        if is_same or key in RESERVED and key not in native.meta:
            continue
        if key in record.meta:
            edits[key] = record.meta[key]
        elif key in front:
            edits[key] = REMOVED
    aliases = _aliases(record)
    if aliases != _aliases(native):
        edits["aliases"] = aliases or REMOVED
    tags = _tags(record, front, content)
    if tags is not None:
        edits["tags"] = tags or (REMOVED if "tags" in front else [])
    return {key: value for key, value in edits.items() if value is not REMOVED or key in front}


def _aliases(record: Record) -> Any:
    own = record.extra.get(TOOL)
    return own.get("aliases") if isinstance(own, dict) else None


def _tags(record: Record, front: dict[str, Any], content: str) -> list[str] | None:
    """Return the new tags of the front matter, as they are spelled there; `None` if they need not change.

    Tags in the text are not repeated in the front matter, nor are those of other notes with the same text.
    """
    elsewhere = {tag for place in places_of(record, TOOL, BYTES_KEY)[1] for tag in place.tags}
    elsewhere.update(_tags_in_text(content))
    slot = front[KEY] if isinstance(front.get(KEY), dict) else {}
    spelled = {exact_tags([tag.removeprefix("#") or tag], slot)[0]: tag for tag in front_tags(front)}
    kept = [spelled[tag] for tag in spelled if tag in record.tags]
    new = [tag for tag in record.tags if tag not in spelled and tag not in elsewhere]
    if conversation_of(record) is not None:
        valid = {tag: name for name, tag in valid_tags(record.tags).items()}
        new = [valid[tag] for tag in new]
    return [*kept, *new] if new or len(kept) < len(spelled) else None


def retag(place: NotePlace, record: Record) -> NotePlace:
    """Return another note with the text of a memory, without the tags that the memory no longer has."""
    head = place.head.removeprefix(_MARK)
    content = "" if place.empty else record.content
    front = _frame(head + content + place.tail).front
    old = front_tags(front)
    kept = [tag for tag in old if (tag.removeprefix("#") or tag) in record.tags]
    if KEY in front or place.nul or len(kept) == len(old):
        return place
    edited = edit_front(head, {"tags": kept or REMOVED}, front)
    tail = _tail(place.tail, old, kept, "")
    if edited is None or not place.empty and _content(edited, content, tail) != content:
        return place
    return msgspec.structs.replace(place, head=place.head[: len(place.head) - len(head)] + edited, tail=tail)


def _tags_in_text(content: str) -> list[str]:
    return tags_in(without_code(content[:MAX_MARKUP])) if "#" in content else []


def _tail(tail: str, before: list[str], after: list[str], related: str) -> str:
    """Return the end of a note with other tags in its line of tags, and other related notes."""
    if before != after and before and (old := tag_line(before)) in tail:
        new = tag_line(after)
        parts = tail.split(old)
        tail = new.join(parts) if new else "".join(part.removesuffix("\n\n") for part in parts[:-1]) + parts[-1]
    if not related:
        return tail
    newline = "\r\n" if "\r\n" in tail else "\n"
    end = newline if tail.endswith(newline) else ""
    own = tail.removesuffix(end)
    found = split_body("x" + own.replace("\r\n", "\n"), [], ["related"])
    lines = [*found.content[1:].split("\n"), "", "## Related", *related.split("\n")]
    if found.related:
        heading = found.own.strip("\n").partition("\n")[0]
        lines = [*found.content[1:].split("\n"), "", heading, *related.split("\n")]
    return newline.join(["", *lines] if not lines[0] == "" else lines) + end


def _is_written(thing: Thing, text: str) -> bool:
    """Return True for a link that a reader finds in the text of the note."""
    return isinstance(thing, Relation) and is_in_text(thing) and thing.extra[TOOL]["link"] in text


def _slot(
    record: Record,
    attached: list[Thing],
    frame: NoteFrame,
    content: str,
    path: str,
    vault: str,
    text: str,
    report: Report,
    plain: bool,
) -> dict[str, Any]:
    """Return what the proof carries, because the note has no place for it."""
    placed = without_place(record)
    native = _native(frame, content, path, vault)
    found = {name: value for name, value in differences(placed, native).items() if name not in _IN_SLOT}
    marked: dict[str, Any] = {}
    inline = _tags_in_text(content)
    elsewhere = {tag for other in places_of(record, TOOL, BYTES_KEY)[1] for tag in other.tags}
    if {*native.tags, *inline} <= set(record.tags) <= {*native.tags, *inline, *elsewhere}:
        found.pop("tags", None)
    elif not set(inline) <= set(record.tags):
        # A tag that was removed here is still in the text, and must not be read there again.
        marked = {"text": text_digest(record)}
    rest = [item for item in attached if marked or not _is_written(item, text)]
    slot = note_slot(record, {TOOL, "agentos"}, BYTES_KEY)
    for tool in (TOOL, "agentos"):
        if tool in placed.extra and placed.extra[tool] != native.extra.get(tool):
            slot.setdefault("extra", {})[tool] = placed.extra[tool]
    packed = pack_found(found, record, rest, report, plain, native)
    # What memglot wrote shows what somebody edits in the note later.
    return {} if plain else {**slot, **packed, **marked, "base": fingerprints(native)}
