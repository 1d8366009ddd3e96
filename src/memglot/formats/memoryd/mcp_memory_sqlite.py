"""mcp-memory-service's own database, `sqlite_vec.db`, of every version since 5.0: memories, versions, graph, vectors.

It is only read. To bring memories into the service, write `mcp-memory-v5`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memglot.formats.base import Format, ReadOptions
from memglot.formats.core.source import Source
from memglot.formats.memoryd.tool_keys import MERGING, SERVICE
from memglot.formats.memoryd.write_rows import NATIVE_FIELDS
from memglot.formats.syntax.sqlite_input import is_database
from memglot.model import Item
from memglot.report import SourceReport

# memoryd has a table of this name too, without hashes.
_MEMORIES = re.compile(rb'CREATE TABLE (?:IF NOT EXISTS )?["\'\[`]?memories["\'\]`]?\s*\([^)]*\bcontent_hash\b')


def recognise(head: bytes) -> bool:
    """Return True for a database with the table of the service's memories."""
    return is_database(head) and _MEMORIES.search(head) is not None


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the items of a database."""
    # SQLite is loaded when a database is read, not when formats are listed.
    from memglot.formats.memoryd.service_database import read_database

    yield from read_database(source, report)


FORMAT = Format(
    name="mcp-memory-sqlite",
    title="mcp-memory-service's own database",
    tool=SERVICE,
    family="sqlite",
    extensions=(".db", ".sqlite", ".sqlite3"),
    fields=NATIVE_FIELDS | {"id", "status", "confidence", "last_accessed", "foreign", "extra"},
    carry="",
    read=read,
    write=None,
    conflict="merge",
    merging=MERGING,
    recognise=recognise,
)
