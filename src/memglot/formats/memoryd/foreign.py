"""What the page, memoryd and mcp-memory-service say of a memory in keys of their own."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, TypeAlias

from memglot.formats.memoryd.graph import relation_in, supersession_in
from memglot.formats.memoryd.repeated import repeated, take_out
from memglot.formats.memoryd.values import PREFIX, microseconds, own_hash
from memglot.model import Foreign, Record, Relation, Supersession, check_value, derive_id, is_id, set_times_from_id

MEMORYD, SERVICE = "memoryd", "mcp-memory"
RESIDUE = "memoryd.json"
"""Where `extra` keeps what a row looked like: its hash, what it repeated, what it left empty."""
Listed: TypeAlias = list[Relation | Supersession]
"""What stands in the lists of rows."""
TAKEN = frozenset(
    ("content content_hash tags created_at updated_at memory_type metadata export_source id scope source frontmatter "
     "sensitive encrypted cipher_blob large_file_pointer large_file_manifest embedding embedding_model").split()
)  # fmt: skip
"""Keys that are taken apart, or made anew, and never given back as they were."""
# How much deeper a value may lie in the file that we write than in the one it was read from.
_DEEPER = 8
_OPTIONAL = frozenset(
    ("memory_type source scope frontmatter sensitive encrypted cipher_blob large_file_pointer large_file_manifest "
     "entities relations supersedes superseded_by merge_notes decay_state").split()
)  # fmt: skip


def take_foreign(record: Record, row: dict[str, Any], listed: Listed, *, strict: bool) -> None:
    """Take what the page, memoryd or mcp-memory-service say in keys of their own."""
    slug = _identify(record, row)
    tool = MEMORYD if strict or isinstance(row.get("id"), str) else SERVICE
    if isinstance(scope := row.get("scope"), str):
        record.scope = scope
    if "source" in row and (row["source"] is None or isinstance(row["source"], str)):
        record.source["tool"] = row["source"]
    if isinstance(machine := row.get("export_source"), str) and machine:
        record.source["machine"] = machine
    more = {key: value for key, value in row.items() if key not in TAKEN}
    blank = {key: row[key] for key in row if key in _OPTIONAL and _is_blank(key, row[key])}
    residue: dict[str, Any] = {}
    if tool == MEMORYD:
        residue = _take_repeated(record, row, slug, more)
    _take_lists(record, more, slug, listed)
    if "source" in row and not isinstance(row["source"], str) and row["source"] is not None:
        more["source"] = row["source"]
    more = {key: value for key, value in more.items() if key not in blank}
    if more:
        check_value(more, "a further key", _DEEPER)
        record.extra[tool] = {**record.extra.get(tool, {}), **more}
    given = row.get("content_hash")
    if isinstance(given, (str, int)) and given != "" and given != own_hash(record.content):
        residue |= {"content_hash": given, "of": own_hash(record.content)[len(PREFIX) :][:16]}
    if blank:
        residue["blank"] = blank
    if residue:
        record.extra[RESIDUE] = residue


def _is_blank(key: str, value: Any) -> bool:
    return value in (None, [], {}) or value is False and key in ("sensitive", "encrypted")


def _identify(record: Record, row: dict[str, Any]) -> str:
    """Give a record the id that follows from its own in the other tool, and return that."""
    id = row.get("id")
    if isinstance(id, int) and not isinstance(id, bool):
        id = str(id)
    if isinstance(id, str) and id:
        if is_id(id.lower()):
            record.id = id.lower()
            set_times_from_id(record)
        else:
            record.id = derive_id(MEMORYD, "", id)
            record.foreign = [Foreign(MEMORYD, id)]
        return id
    given = row.get("content_hash")
    hash = str(given).removeprefix(PREFIX).lower() if given not in (None, "") else ""
    hash = hash or sha256(record.content.encode("utf-8")).hexdigest()
    record.id = derive_id(SERVICE, "", hash)
    record.foreign = [Foreign(SERVICE, hash)]
    return ""


def _take_repeated(record: Record, row: dict[str, Any], slug: str, more: dict[str, Any]) -> dict[str, Any]:
    """Take title, triggers and use out of front matter and metadata, and what only repeats the row."""
    front = row.get("frontmatter")
    front = dict(front) if isinstance(front, dict) else {}
    title = front.get("title", record.meta.get("title"))
    if isinstance(title, str):
        record.title = title
    triggers = front.get("triggers")
    if isinstance(triggers, list) and all(isinstance(word, str) for word in triggers):
        record.triggers = list(dict.fromkeys(triggers))
    used = record.meta.get("recall_count", front.get("recall_count"))
    if isinstance(used, int) and not isinstance(used, bool) and 0 <= used < 1 << 63:
        record.access_count = used
    if isinstance(recalled := front.get("last_recalled_at"), str):
        record.last_accessed = microseconds(recalled, "last_recalled_at")
    known = repeated(record, slug, row)
    residue = {"frontmatter": take_out(front, known), "metadata": take_out(record.meta, known)}
    if front:
        more["frontmatter"] = front
    return {name: names for name, names in residue.items() if names}


def _take_lists(record: Record, more: dict[str, Any], slug: str, listed: Listed) -> None:
    """Take the relations and supersessions that stand in a row; what is none of these stays."""
    if isinstance(given := more.get("relations"), list) and given:
        found = [relation_in(value, source=slug) if isinstance(value, dict) else None for value in given]
        listed += [relation for relation in found if relation is not None]
        rest = [value for value, relation in zip(given, found, strict=True) if relation is None]
        more["relations"] = rest
        if not rest:
            del more["relations"]
    if isinstance(given := more.get("supersedes"), list) and given and all(isinstance(id, str) and id for id in given):
        del more["supersedes"]
        listed += [_superseded(record, slug, older) for older in given]


def _superseded(record: Record, slug: str, older: str) -> Supersession:
    return supersession_in({"newer_memory_id": slug or record.id, "older_memory_id": older}, newer=record.id)
