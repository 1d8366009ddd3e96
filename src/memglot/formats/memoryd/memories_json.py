"""memories.json: one file for several devices and tools, as memoryd's page describes it; mcp-memory-service reads it
too.

Other fields are carried in `metadata.memglot` of each memory and in the top-level list `memglot`. The proof is in
`export_metadata.memglot`.
"""

from __future__ import annotations

from memglot.formats.base import Format, WriteSupport
from memglot.formats.memoryd.reader import read_file
from memglot.formats.memoryd.tool_keys import MEMORYD, MERGING
from memglot.formats.memoryd.writer import write_file
from memglot.formats.syntax.json_shape import first_keys

_EMERGENCY = frozenset({"hash", "content", "type"})
_ROW = frozenset({"content", "content_hash", "memory_type"})


def recognise(head: bytes) -> bool:
    """Return True for a file with the sections of memories.json, or a list of its rows."""
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
    merging=MERGING,
    recognise=recognise,
    writing=WriteSupport(needs_ids=True, graph_first=True, proves_rest=True, includes_audit=True, encrypts=True),
)
