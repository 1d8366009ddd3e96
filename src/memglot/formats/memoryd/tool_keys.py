"""Keys of a row that only the page, memoryd or mcp-memory-service use.

memoryd repeats fields of a row in its front matter and metadata. Repeated keys are not stored: their names are, and
their values are set again when the row is written. A repeated key with a different value is kept as it is.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, TypeAlias

from memglot.formats.base import MergeRule, MergeSupport
from memglot.formats.memoryd.graph import read_relation, read_supersession
from memglot.formats.memoryd.values import PREFIX, hash_content, is_seconds, microseconds, seconds
from memglot.model import (
    Foreign,
    Record,
    Relation,
    Supersession,
    check_value,
    derive_id,
    format_time,
    is_id,
    set_times_from_id,
)

MEMORYD, SERVICE = "memoryd", "mcp-memory"
ROW_DETAILS = "memoryd.json"
"""Key of `extra` for the form of a row: its hash, the keys it repeated or left empty, its tags and times."""
EMPTY = "empty"
"""Key of these details for a row without a body; its content is its title."""
TIMES = ("created_at", "updated_at")
RowLinks: TypeAlias = list[Relation | Supersession]
"""Relations and supersessions found in rows."""
KNOWN_KEYS = frozenset(
    """
    content content_hash tags created_at updated_at memory_type metadata export_source id scope source
    frontmatter sensitive encrypted cipher_blob large_file_pointer large_file_manifest embedding embedding_model
    """.split()
)
"""Keys that are read into fields or computed, and never written back unchanged."""
# Our file may nest a value this much deeper than the file it was read from.
_DEEPER = 8
_SERVICE_KEYS = (
    "import_info",
    "access_count",
    "access_queries",
    "last_accessed_at",
    "last_consolidated_at",
    "quality_score",
    "quality_provider",
    "quality_components",
    "quality_boost_applied",
    "quality_boost_connection_count",
    "quality_boost_date",
    "quality_boost_reason",
    "computed_quality",
    "original_quality_before_boost",
    "relevance_calculated_at",
    "relevance_score",
)
_RECALLS = ("decay_state", "recall_count", "last_recalled_at")
BOOKKEEPING = {
    # mcp-memory-service sets these with each import, search and consolidation.
    **{f"meta.{name}": MergeRule.LATEST for name in _SERVICE_KEYS},
    "extra.mcp-memory.deleted_at": MergeRule.LATEST,
    # memoryd changes these as memories are recalled or fade; it repeats some of them.
    "extra.memoryd.merge_notes": MergeRule.LATEST,
    **{f"meta.{name}": MergeRule.LATEST for name in _RECALLS},
    **{f"extra.memoryd.{name}": MergeRule.LATEST for name in _RECALLS},
    **{f"extra.memoryd.frontmatter.{name}": MergeRule.LATEST for name in _RECALLS},
}
"""Values that the tools change by themselves."""
TOOLS = frozenset({MEMORYD, SERVICE})
MERGING = MergeSupport(
    has_edit_times=True,
    carries_all=True,
    tools=TOOLS,
    # Files of memoryd may come from several devices.
    whole_lists=frozenset({SERVICE}),
    bookkeeping=BOOKKEEPING,
)
_OPTIONAL = frozenset(
    """
    memory_type source scope frontmatter sensitive encrypted cipher_blob large_file_pointer large_file_manifest
    entities relations supersedes superseded_by merge_notes decay_state
    """.split()
)


def read_tool_keys(record: Record, row: dict[str, Any], links: RowLinks, *, strict: bool) -> None:
    """Read the keys of the page, memoryd or mcp-memory-service into a record."""
    slug = _identify(record, row)
    tool = MEMORYD if strict or isinstance(row.get("id"), str) else SERVICE
    if isinstance(scope := row.get("scope"), str):
        record.scope = scope
    if "source" in row and (row["source"] is None or isinstance(row["source"], str)):
        record.source["tool"] = row["source"]
    if isinstance(machine := row.get("export_source"), str) and machine:
        record.source["machine"] = machine
    more = {key: value for key, value in row.items() if key not in KNOWN_KEYS}
    blank = {key: row[key] for key in row if key in _OPTIONAL and _is_blank(key, row[key])}
    residue = _read_repeated(record, row, slug, more) if tool == MEMORYD else _spelling(record, row)
    _read_links(record, more, slug, links)
    if "source" in row and not isinstance(row["source"], str) and row["source"] is not None:
        more["source"] = row["source"]
    more = {key: value for key, value in more.items() if key not in blank}
    if more:
        check_value(more, "another key", _DEEPER)
        record.extra[tool] = {**record.extra.get(tool, {}), **more}
    given = row.get("content_hash")
    if isinstance(given, (str, int)) and given != "" and given != hash_content(record.content):
        residue |= {"content_hash": given, "of": hash_content(record.content)[len(PREFIX) :][:16]}
    if blank:
        residue["blank"] = blank
    if residue:
        record.extra[ROW_DETAILS] = residue


def _is_blank(key: str, value: Any) -> bool:
    if key == "memory_type" and value == "":
        return True
    return value in (None, [], {}) or value is False and key in ("sensitive", "encrypted")


def _spelling(record: Record, row: dict[str, Any]) -> dict[str, Any]:
    """Return repeated tags, and times that microseconds cannot express: a creation in 1970, digits below them."""
    found: dict[str, Any] = {}
    tags = row.get("tags")
    if isinstance(tags, list) and tags != record.tags and all(isinstance(tag, str) for tag in tags):
        found["tags"] = tags
    times = {key: row.get(key) for key in TIMES}
    times = {key: at for key, at in times.items() if is_seconds(at) and at != seconds(getattr(record, key))}
    return found | ({"times": times} if times else {})


def _identify(record: Record, row: dict[str, Any]) -> str:
    """Derive a record's id from its id in the other tool; return the other id."""
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
    hash = _bare(given) if given not in (None, "") else ""
    hash = hash or sha256(record.content.encode("utf-8")).hexdigest()
    record.id = service_id(hash)
    record.foreign = [Foreign(SERVICE, hash)]
    return ""


def _bare(hash: Any) -> str:
    return str(hash).removeprefix(PREFIX).lower()


def service_id(hash: str) -> str:
    """Return the id of a memory from its hash in mcp-memory-service."""
    return derive_id(SERVICE, "", _bare(hash))


def _read_repeated(record: Record, row: dict[str, Any], slug: str, more: dict[str, Any]) -> dict[str, Any]:
    """Read title, triggers and access count from front matter and metadata, and remove what repeats the row."""
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
    known = repeated_values(record, slug, row)
    residue = {"frontmatter": remove_repeated(front, known), "metadata": remove_repeated(record.meta, known)}
    if front:
        more["frontmatter"] = front
    return {name: names for name, names in residue.items() if names}


def _read_links(record: Record, more: dict[str, Any], slug: str, links: RowLinks) -> None:
    """Move relations and supersessions from a row to `links`; keep other values."""
    if isinstance(given := more.get("relations"), list) and given:
        found = [read_relation(value, source=slug) if isinstance(value, dict) else None for value in given]
        links += [relation for relation in found if relation is not None]
        rest = [value for value, relation in zip(given, found, strict=True) if relation is None]
        more["relations"] = rest
        if not rest:
            del more["relations"]
    if isinstance(given := more.get("supersedes"), list) and given and all(isinstance(id, str) and id for id in given):
        del more["supersedes"]
        links += [_superseded(record, slug, older) for older in given]


def _superseded(record: Record, slug: str, older: str) -> Supersession:
    return read_supersession({"newer_memory_id": slug or record.id, "older_memory_id": older}, newer=record.id)


def repeated_values(record: Record, slug: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return the keys that may repeat a field, with their expected values."""
    return {
        "slug": slug,
        "type": record.kind,
        "scope_hash": record.scope,
        "tags": record.tags,
        "source": record.source.get("tool"),
        "created_at": format_time(record.created_at),
        "updated_at": format_time(record.updated_at),
        "last_recalled_at": None if record.last_accessed is None else format_time(record.last_accessed),
        "recall_count": record.access_count,
        "decay_state": row.get("decay_state"),
        "title": record.title,
        "triggers": record.triggers,
        "supersedes": row.get("supersedes"),
    }


def remove_repeated(found: dict[str, Any], known: dict[str, Any]) -> list[str]:
    """Remove repeated keys from an object; return their names."""
    names = [name for name, value in known.items() if name in found and found[name] == value and value is not None]
    # True equals 1 in Python, but not in JSON.
    names = [name for name in names if isinstance(found[name], bool) == isinstance(known[name], bool)]
    for name in names:
        del found[name]
    return names


def restore_repeated(names: Any, known: dict[str, Any]) -> dict[str, Any]:
    """Return the repeated keys with the current values of the row."""
    if not isinstance(names, list):
        return {}
    return {name: known[name] for name in names if isinstance(name, str) and known.get(name) is not None}
