"""Which format an input has: by its extension, then by its shape."""

from pathlib import Path

from memglot.errors import NotWritable, Unreadable, is_database
from memglot.formats import registry
from memglot.formats.format import Format
from memglot.formats.source import Source

SQLITE_MAGIC = b"SQLite format 3\0"


def detect(source: Source) -> Format:
    """The format of a source that nobody named; raises `Unreadable` for one that is empty and has no extension."""
    if source.head.startswith(SQLITE_MAGIC):
        raise is_database(source.name)
    known = registry.by_extension(source.extension)
    start = source.head.lstrip()
    if known is None and not start:
        raise Unreadable(source.name, "it is empty")
    fallback = known or registry.get(_sniff(start))
    for format in registry.formats():
        if format.recognise is not None and format.family == fallback.family and format.recognise(source.head):
            return format
    return fallback


def _sniff(start: bytes) -> str:
    if start.startswith(b"---"):
        return "markdown"
    return "json" if start[:1] in (b"{", b"[") else "yaml"


def format_to_write(name: str | None, path: Path | None) -> Format:
    """The format that was asked for; else by the extension of the path; else JSON. Raises `NotWritable`."""
    if name is not None and name != "auto":
        format = registry.get(name)
    else:
        format = (registry.by_extension(path.suffix.lower()) if path else None) or registry.get("json")
    if format.write is None:
        raise NotWritable(format.name)
    return format
