"""Build a row of `memories[]` for mcp-memory-service, the page and memoryd.

The carry slot has every field that mcp-memory-service cannot store, so a file that passes through that tool loses
nothing. In a row with a slot, the other keys are for other readers only.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from memglot.errors import BadRecord
from memglot.formats.core.carry import KEY
from memglot.formats.core.original_text import original_content
from memglot.formats.memoryd.chunks import ChunkWriter
from memglot.formats.memoryd.encryption import Cipher
from memglot.formats.memoryd.read_rows import BASE, ENCRYPTED, REPEATS, UNTAGGED, show_row, visible_values
from memglot.formats.memoryd.tool_keys import (
    EMPTY,
    KNOWN_KEYS,
    MEMORYD,
    ROW_DETAILS,
    SERVICE,
    TIMES,
    repeated_values,
    restore_repeated,
)
from memglot.formats.memoryd.values import hash_content, hash_matches, is_seconds, microseconds, row_times, seconds
from memglot.formats.syntax.json_surrogates import encode
from memglot.model import DEFAULT_KIND, DEFAULT_SCOPE, DEFAULT_STATUS, Record, derive_id, to_builtins

NATIVE_FIELDS = frozenset({"content", "tags", "meta", "kind", "created_at", "updated_at"})
"""Fields that mcp-memory-service itself stores."""
# Types that every version of it keeps; others become `observation`, so they are carried too.
_KINDS = frozenset(
    """
    observation decision learning error pattern planning ceremony milestone stakeholder meeting research
    communication note document conversation session reference insight bug gotcha
    """.split()
)
_RARE = frozenset(
    ("triggers temporal status strength confidence clocks last_accessed access_count source foreign extra").split()
)
# Below this, the error of a float is less than half a microsecond.
_SURELY = 1 << 51
_CLEAR = frozenset({"id", "content", "created_at", "updated_at", "memory_type", "export_source", "scope"})
_TEXTS = frozenset({"decay_state"})
_GRAPH_KEYS = ("entities", "relations", "supersedes")


def slug_of(record: Record) -> str:
    """Return the id of a record in the file."""
    for place in record.foreign:
        if place.tool == MEMORYD and place.id:
            return place.id
    return record.id


def carry_slot(record: Record) -> dict[str, Any]:
    """Return the fields that mcp-memory-service cannot store."""
    # Field by field for speed: it runs for every memory of an export, and most fields have their default.
    found: dict[str, Any] = {"id": record.id, "updated_at": record.updated_at}
    if record.tree:
        found["tree"] = record.tree
    if record.title is not None:
        found["title"] = record.title
    if record.kind not in _KINDS:
        found["kind"] = record.kind
    if record.scope != DEFAULT_SCOPE:
        found["scope"] = record.scope
    if record.tags and (record.tags == UNTAGGED or not all(map(_is_safe, record.tags))):
        found["tags"] = record.tags
    if not (_is_exact(record.created_at) and _is_exact(record.updated_at)) or _is_created_in_1970(record):
        found["created_at"] = record.created_at
    if KEY in record.meta:
        found["meta"] = {KEY: record.meta[KEY]}
    if record.extra or record.source or record.foreign or record.clocks or not _is_common(record):
        found |= _rare(record)
    return found


def _is_common(record: Record) -> bool:
    return (
        record.temporal is None
        and record.status == DEFAULT_STATUS
        and record.strength is None
        and record.confidence is None
        and record.last_accessed is None
        and not record.triggers
        and not record.access_count
    )


def _rare(record: Record) -> dict[str, Any]:
    return {name: value for name, value in to_builtins(record).items() if name in _RARE}


def _is_safe(tag: str) -> bool:
    """Return True if mcp-memory-service keeps a tag unchanged; it stores tags as one text with commas."""
    return bool(tag) and "," not in tag and tag == tag.strip()


def _is_exact(at: int) -> bool:
    """Return True if a time survives the conversion to seconds and back."""
    return -_SURELY < at < _SURELY or microseconds(seconds(at), "") == at


def _is_created_in_1970(record: Record) -> bool:
    """Return True if the row says that a record was created at 0, which a reader takes for the last change."""
    return ROW_DETAILS in record.extra and microseconds(_given_times(record).get("created_at"), "") == 0


def v5_row(record: Record, machine: str, slot: dict[str, Any], hash: str) -> dict[str, Any]:
    """Return the row that mcp-memory-service reads."""
    meta = record.meta
    if slot:
        meta = {**meta, KEY: slot}
    row: dict[str, Any] = {
        "content": original_content(record, MEMORYD),
        "content_hash": hash,
        "tags": record.tags,
        "created_at": seconds(record.created_at),
        "updated_at": seconds(record.updated_at),
        "memory_type": record.kind,
        "metadata": meta,
        "export_source": machine,
    }
    if ROW_DETAILS in record.extra:
        row |= _given_tags(record) | _given_times(record)
    return row


def _given_tags(record: Record) -> dict[str, list[str]]:
    """Return the tags as they were read, with repetitions, if they are unchanged."""
    tags = _details(record).get("tags")
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        return {}
    return {"tags": tags} if list(dict.fromkeys(tags)) == record.tags else {}


def _given_times(record: Record) -> dict[str, float]:
    """Return the times as they were read where they say more than microseconds, if both are unchanged."""
    given = _details(record).get("times")
    if not isinstance(given, dict):
        return {}
    known = {key: given[key] if is_seconds(given.get(key)) else seconds(getattr(record, key)) for key in TIMES}
    try:
        same = row_times(known) == (record.created_at, record.updated_at)
    except BadRecord:
        return {}
    return {key: known[key] for key in TIMES if key in given} if same else {}


def _details(record: Record) -> dict[str, Any]:
    found = record.extra.get(ROW_DETAILS)
    return found if isinstance(found, dict) else {}


def add_base(row: dict[str, Any], record: Record) -> None:
    """Add to the slot of a row what the row itself says, so that a reader finds what other tools edit."""
    metadata = row["metadata"]
    slot = metadata[KEY]
    repeats = slot.get(REPEATS, ())
    meta = {key: value for key, value in metadata.items() if key not in repeats}
    kind = row["memory_type"] or DEFAULT_KIND
    shown = Record(content=record.content, tags=row["tags"], kind=kind, meta=meta)
    show_row(shown, row)
    row["metadata"] = {**metadata, KEY: {**slot, BASE: visible_values(shown)}}


def original_hash(record: Record) -> Any:
    """Return the hash that a record was read with if its content is unchanged, else `None`."""
    residue = _details(record)
    if "content_hash" not in residue:
        return None
    same = residue.get("of") == sha256(record.content.encode("utf-8")).hexdigest()[:16]
    return residue["content_hash"] if same else None


def _original_content(record: Record, residue: dict[str, Any], content: str) -> dict[str, Any]:
    """Return the content and hash of an unchanged record as they were read, where they differ from ours."""
    given = original_hash(record)
    if residue.get(EMPTY) is True and record.content == record.title:
        return {"content": "", "content_hash": given if hash_matches("", given) else hash_content("")}
    return {"content_hash": given} if hash_matches(content, given) else {}


def source_machine(record: Record, machine: str) -> str:
    """Return the machine that a record came from, or the default."""
    own = record.source.get("machine") if record.source else None
    return own if isinstance(own, str) and own else machine


class RowBuilder:
    """Builds rows that all three tools accept."""

    def __init__(self, machine: str, chunks: ChunkWriter) -> None:
        self._machine, self._chunks = machine, chunks

    def build(
        self,
        record: Record,
        slot: dict[str, Any],
        graph_keys: dict[str, Any],
        *,
        sensitive: bool = False,
        cipher: Cipher | None = None,
    ) -> bytes:
        """Return the row of a record as JSON; `graph_keys` are its graph keys."""
        slug = slug_of(record) if slot else self._plain_slug(record)
        machine = source_machine(record, self._machine if slot else "")
        row = {"id": slug, **v5_row(record, machine, slot, "")}
        is_large = self._chunks.is_large(record.content)
        if cipher is not None or is_large:
            # Outside of JSON the text is UTF-8; the slot has the original.
            row["content"] = record.content
        row["content_hash"] = hash_content(row["content"])
        if record.scope != DEFAULT_SCOPE:
            # memoryd has no such scope, and the key is optional.
            row["scope"] = record.scope
        if record.extra or record.source or record.title is not None or record.triggers or graph_keys:
            self._extend(row, record, slug, slot, graph_keys)
        if slot:
            add_base(row, record)
        if sensitive:
            row["sensitive"] = True
            if cipher is not None:
                return encode(self._encrypted(row, cipher))
        if is_large:
            row |= {**self._chunks.write(record.content), "content": ""}
        return encode(row)

    def _plain_slug(self, record: Record) -> str:
        # Without a slot, the id must be derivable from the row.
        slug = slug_of(record)
        return slug if derive_id(MEMORYD, "", slug) == record.id else record.id

    def _extend(
        self, row: dict[str, Any], record: Record, slug: str, slot: dict[str, Any], graph_keys: dict[str, Any]
    ) -> None:
        if "tool" in record.source and isinstance(record.source["tool"], (str, type(None))):
            row["source"] = record.source["tool"]
        for tool in (MEMORYD, SERVICE):
            own = record.extra.get(tool)
            if isinstance(own, dict):
                more = {key: value for key, value in own.items() if key not in KNOWN_KEYS and key != KEY}
                row |= {key: value for key, value in more.items() if _is_accepted(key, value)}
        for name in _GRAPH_KEYS:
            given = row.get(name)
            if found := graph_keys.get(name):
                row[name] = [*(given if isinstance(given, list) else ()), *_not_in(found, given)]
        row |= {name: graph_keys[name] for name in ("embedding", "embedding_model") if graph_keys.get(name)}
        residue = _details(record)
        known = repeated_values(record, slug, row)
        self._set_front(row, record, residue, known)
        restored = restore_repeated(residue.get("metadata"), known)
        repeats = {name: value for name, value in restored.items() if name not in record.meta}
        if repeats:
            row["metadata"] = {**repeats, **row["metadata"]}
            if slot:
                row["metadata"][KEY] = {**slot, REPEATS: list(repeats)}
        blank = residue.get("blank")
        if isinstance(blank, dict):
            row |= {key: value for key, value in blank.items() if key not in row and key != "memory_type"}
        row |= _original_content(record, residue, row["content"])

    def _set_front(self, row: dict[str, Any], record: Record, residue: dict[str, Any], known: dict[str, Any]) -> None:
        own = record.extra.get(MEMORYD)
        kept = own.get("frontmatter") if isinstance(own, dict) else None
        front = restore_repeated(residue.get("frontmatter"), known)
        front |= kept if isinstance(kept, dict) else {}
        if record.title is not None and "title" not in (residue.get("metadata") or ()):
            front.setdefault("title", record.title)
        if record.triggers:
            front.setdefault("triggers", record.triggers)
        if front:
            row["frontmatter"] = front

    def _encrypted(self, row: dict[str, Any], cipher: Cipher) -> dict[str, Any]:
        """Return a row of which only the id, times, type, scope and machine are readable."""
        inner = {key: value for key, value in row.items() if key not in _CLEAR}
        clear = {key: value for key, value in row.items() if key in _CLEAR}
        slot = {ENCRYPTED: cipher.encrypt(encode(inner), str(row["id"]))}
        return {
            **clear,
            "content": "",
            "content_hash": "",
            "tags": [],
            "metadata": {KEY: slot},
            "sensitive": True,
            "encrypted": True,
            "cipher_blob": cipher.encrypt(row["content"]),
        }


def _is_accepted(key: str, value: Any) -> bool:
    """Return True if memoryd accepts a value; it rejects the whole file for an unexpected one."""
    if key in _TEXTS:
        return isinstance(value, str)
    wanted: type[Any] | None = {
        "entities": str,
        "supersedes": str,
        "superseded_by": str,
        "merge_notes": str,
        "relations": dict,
    }.get(key)
    return wanted is None or isinstance(value, list) and all(isinstance(one, wanted) for one in value)


def _not_in(found: list[Any], given: Any) -> list[Any]:
    return [value for value in found if value not in given] if isinstance(given, list) else found
