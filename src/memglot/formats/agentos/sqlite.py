"""AgentOS's brain: one SQLite file with all its tables; other fields are carried in `metadata.memglot`.

Items without a row, and the proof, are in a table `memglot`, which AgentOS keeps and ignores.
"""

from collections.abc import Iterable, Iterator

from memglot.formats.base import Format, MergeSupport, ReadOptions, WriteOptions, WriteSupport
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.formats.core.trace import BOOKKEEPING, NATIVE_FIELDS, TOOL, TOOL_DEFAULTS
from memglot.formats.syntax.sqlite_input import is_database
from memglot.model import Item
from memglot.report import Report, SourceReport


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the items of a brain of either schema version."""
    # SQLite is loaded when a brain is read or written, not when formats are listed.
    from memglot.formats.agentos.sqlite_reader import read_brain

    yield from read_brain(source, report, options)


def write(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write a brain of schema version 2."""
    from memglot.formats.agentos.sqlite_writer import write_brain

    write_brain(items, target, report, options)


FORMAT = Format(
    name="agentos-sqlite",
    title="AgentOS brain, a SQLite file",
    tool=TOOL,
    family="sqlite",
    extensions=(".sqlite", ".db", ".sqlite3"),
    fields=NATIVE_FIELDS,
    carry="metadata.memglot",
    read=read,
    write=write,
    dedup="content",
    conflict="merge",
    recognise=is_database,
    writing=WriteSupport(needs_ids=True, includes_vectors=True),
    merging=MergeSupport(defaults=TOOL_DEFAULTS, bookkeeping=BOOKKEEPING),
)
