"""memories.json: one file across devices and tools, as memoryd's page describes it; mcp-memory-service reads it too.

What the file has no place for rides in `metadata.memglot` of its memory, and in a list `memglot` at the top level. The
proof stands in `export_metadata.memglot`.
"""

from __future__ import annotations

from memglot.formats.base import Format, WriteSupport
from memglot.formats.memoryd.reader import read_file
from memglot.formats.memoryd.tool_keys import MEMORYD
from memglot.formats.memoryd.writer import write_file
from memglot.formats.syntax.json_shape import first_keys

_EMERGENCY = frozenset({"hash", "content", "type"})
_ROW = frozenset({"content", "content_hash", "memory_type"})


def recognise(head: bytes) -> bool:
    """Tell memories.json by its sections, and a bare list of its rows by their keys."""
    keys = first_keys(head)
    if "content" not in keys and (keys.get("export_metadata") in (b"{", b"n") or keys.get("memories") == b"["):
        return True
    return head.lstrip()[:1] == b"[" and (_EMERGENCY <= keys.keys() or _ROW <= keys.keys())


FORMAT = Format(
    name="memories-json",
    title="memories.json, of memoryd and mcp-memory-service",
    tool=MEMORYD,
    family="json",
    extensions=(".json",),
    fields=frozenset("id content title kind scope tags triggers meta source created_at updated_at".split()),
    carry="metadata.memglot",
    read=read_file,
    write=write_file,
    conflict="merge",
    recognise=recognise,
    writing=WriteSupport(needs_ids=True, graph_first=True, proves_rest=True, includes_audit=True, encrypts=True),
)
