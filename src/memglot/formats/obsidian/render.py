"""The text of a note that memglot writes: front matter, content, tags, related notes."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from memglot.formats.core.carry import KEY, differences, pack_found
from memglot.formats.core.trace import NOTES, native_trace, written_id
from memglot.formats.obsidian.chat_names import conversation_of, exact_tags, valid_tags
from memglot.formats.obsidian.markup import links_in, property_links, tag_line, tags_in, without_code
from memglot.formats.obsidian.note import BYTES_KEY, RESERVED, TOOL, front_record, split_body
from memglot.formats.syntax.yaml_writer import dump
from memglot.model import Record, Thing, canonical_value, format_time
from memglot.report import Report

_AGENTOS = frozenset({"contentHash", "content_hash", "import_hash", "entities", "decay", "scopeId"})
_PLACE = frozenset({"path", "places", "empty"})


class RenderOptions(NamedTuple):
    """How a note is written: path, vault, dialect, and whether without a carry slot."""

    path: str
    vault: str
    dialect: str | None = None
    plain: bool = False

    @property
    def heading(self) -> str:
        """Heading of the related notes."""
        return "**Related:**" if self.dialect == "program" else "## Related"

    def time(self, at: int) -> str | int:
        """Return a time in the format of the dialect."""
        return at // 1000 if self.dialect == "program" else format_time(at)


def render(record: Record, attached: list[Thing], related: str, layout: RenderOptions, report: Report) -> str:
    """Return the text of a note; `related` has the lines of its related notes."""
    path, vault, plain = layout.path, layout.vault, layout.plain
    placed = without_place(record)
    front = _front(placed, layout)
    # A reader takes the title for the content of an empty note, and until then the name of its file.
    name = path.rpartition("/")[2]
    is_bare = is_empty(record) and record.content == (record.title or name)
    content = "" if is_bare else record.content
    own = (f"\n\n{tag_line(front['tags'])}" if front["tags"] else "") + (
        f"\n\n{layout.heading}\n{related}" if related else ""
    )
    native = front_record(front, content or name, path, vault)
    spelled = _spelled(record, layout)
    native.tags = exact_tags(native.tags, {"tag_names": spelled})
    slot = pack_found(differences(placed, native), placed, attached, report, plain, native)
    about = about_text(record, content, own, front, bool(related))
    if spelled:
        about["tag_names"] = spelled
    if not plain:
        slot |= about
    elif about:
        report.dropped("content" if "own" in about else "tags", record.id)
    if slot:
        front[KEY] = slot
    return f"---\n{dump(front)}---\n\n{content}{own}\n"


def about_text(record: Record, content: str, own: str, front: dict[str, Any], has_related: bool) -> dict[str, Any]:
    """Return what a reader must know to parse the text correctly."""
    found: dict[str, Any] = {}
    if split_body(content + own, front["tags"]).content != content:
        found["own"] = [name for name, present in (("tags", front["tags"]), ("related", has_related)) if present]
    if has_markup(content, front):
        found["text"] = text_digest(record)
    return found


def _spelled(record: Record, layout: RenderOptions) -> dict[str, str]:
    """Return the tags of a chat that Obsidian accepts only with another spelling, with the exact ones."""
    if layout.dialect is not None or conversation_of(record) is None:
        return {}
    return {valid: tag for valid, tag in valid_tags(record.tags).items() if valid != tag}


def has_markup(content: str, front: dict[str, Any]) -> bool:
    """Return True if a note's text or properties have tags or links."""
    if "#" in content or "[[" in content:
        bare = without_code(content)
        if tags_in(bare) or any(links_in(bare)):
            return True
    return any(property_links({key: value for key, value in front.items() if key != KEY}))


def text_digest(record: Record) -> str:
    """Return a short digest of the text that tags and links are read from."""
    return sha256(canonical_value([record.content, record.meta])).hexdigest()[:16]


def is_empty(record: Record) -> bool:
    """Return True if a memory is a note without a body and still has none."""
    own = record.extra.get(TOOL)
    return isinstance(own, dict) and own.get("empty") == record.content


def without_place(record: Record) -> Record:
    """Return the memory without the path of its note."""
    if TOOL not in record.extra and BYTES_KEY not in record.extra:
        return record
    extra = {key: value for key, value in record.extra.items() if key != BYTES_KEY}
    if isinstance(extra.get(TOOL), dict) and "path" in extra[TOOL]:
        extra[TOOL] = {key: value for key, value in extra[TOOL].items() if key not in _PLACE}
        if not extra[TOOL]:
            del extra[TOOL]
    return msgspec.structs.replace(record, extra=extra)


def _front(record: Record, layout: RenderOptions) -> dict[str, Any]:
    trace = native_trace(record, NOTES)
    front: dict[str, Any] = {"id": written_id(record), "type": record.kind, "scope": trace.scope}
    if record.strength is not None:
        front["strength"] = record.strength
    is_chat = layout.dialect is None and conversation_of(record) is not None
    front["tags"] = list(valid_tags(record.tags)) if is_chat else trace.tags
    if trace.created_at is not None:
        front["createdAt"] = layout.time(trace.created_at)
    if record.title and record.title != layout.path.rpartition("/")[2].rpartition(".")[0]:
        front["title"] = record.title
    own = record.extra.get(TOOL)
    if isinstance(own, dict) and own.get("aliases"):
        front["aliases"] = own["aliases"]
    if trace.emotions:
        front["emotions"] = trace.emotions
    if trace.last_accessed is not None:
        front["lastAccessed"] = layout.time(trace.last_accessed)
    if trace.retrieval_count:
        front["retrievalCount"] = trace.retrieval_count
    metadata = {key: value for key, value in trace.metadata.items() if key in _AGENTOS}
    if metadata:
        front["metadata"] = metadata
    front.update({key: value for key, value in sorted(record.meta.items()) if key not in RESERVED})
    return front
