"""One memory as Markdown, for display and editing."""

from typing import Any

from memglot.errors import BadRecord
from memglot.formats.base import ReadOptions, WriteOptions
from memglot.formats.core.source import Source
from memglot.formats.memory_engine.markdown import read, to_text
from memglot.model import Record
from memglot.report import Report, SourceReport


def markdown_of(record: Record) -> str:
    """Return a memory as the Markdown file that `export` would write."""
    text = to_text((record, [], True), Report(), WriteOptions(), None)
    return text.decode("utf-8")


def changes_from_markdown(text: str) -> dict[str, Any]:
    """Return the fields of an edited Markdown form; raise `BadRecord` if it is not valid."""
    report = SourceReport()
    found = [
        item for item in read(Source.text(text.encode("utf-8")), report, ReadOptions()) if isinstance(item, Record)
    ]
    for fault in report.results.faults():
        raise BadRecord(fault.error, fault.hint)
    for note in report.results.notes:
        if not report.results.is_counted(note):
            raise BadRecord(note)
    fields = ("content", "title", "kind", "scope", "tree", "tags", "triggers", "meta", "temporal", "status", "extra")
    return {field: getattr(found[0], field) for field in fields}
