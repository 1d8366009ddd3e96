"""Detect the format of an input: by its extension, then by its shape; of a folder, by its files."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from memglot.errors import NotWritable, Unreadable, UsageError
from memglot.formats import registry
from memglot.formats.base import Format, WriteOptions
from memglot.formats.core.compression import check_writable, compression_by_name, inner_extension, inner_path, is_tar
from memglot.formats.core.encoding import head_as_utf8
from memglot.formats.core.source import Source
from memglot.formats.syntax.sqlite_input import is_database, schema_of

_MAX_NAMES = 1_000
_HEAD = 1 << 14


def detect(source: Source) -> Format:
    """Return the format of a source. Raise `Unreadable` if it is empty and has no extension."""
    if is_tar(source.head):
        return registry.get("memoryd-folder")
    if is_database(source.head):
        # The tables of a database may be anywhere in it, or still in its log.
        return _by_shape(source.head + schema_of(source), registry.get("agentos-sqlite"))
    known = registry.by_extension(source.extension)
    start = source.head.lstrip()
    if known is None and not start:
        raise Unreadable(source.name, "it is empty")
    return _by_shape(source.head, known or registry.get(_sniff(start)))


def _by_shape(head: bytes, fallback: Format) -> Format:
    for format in registry.family(fallback.family):
        if format.recognise is not None and format.recognise(head):
            return format
    return fallback


def other_shape(head: bytes, format: Format) -> Format:
    """Return the format of another tool with the same name, if the input has that shape."""
    if format.name not in registry.SHARED_NAMES:
        return format
    tool = registry.SHARED_NAMES[format.name]
    for other in registry.family(format.family):
        # A note of AgentOS may also have the shape of a third format, a vault.
        if other.tool in (format.tool, tool) and other.recognise is not None and other.recognise(head):
            return other if other.tool == tool else format
    return format


def _sniff(start: bytes) -> str:
    if start.startswith(b"---"):
        return "markdown"
    if start[:1] in (b"{", b"["):
        return "json"
    return "csv" if _is_header(start.partition(b"\n")[0]) else "yaml"


def _is_header(line: bytes) -> bool:
    """Return True if a line contains the column names of a table, one of them `content`."""
    names = [name.strip(b' "\r').lower() for name in re.split(rb"[,;\t]", line)]
    return len(names) > 1 and b"content" in names


class Glance:
    """A first look at the files of a folder or a zip, for formats that consist of several files."""

    def __init__(self, names: Iterator[str], head: Callable[[str], bytes]) -> None:
        self.names = [name for name, _ in zip(names, range(_MAX_NAMES), strict=False)]
        self._head = head
        self._heads: dict[str, bytes] = {}

    def heads(self, extension: str) -> Iterator[bytes]:
        """Return the first bytes of the files with an extension."""
        for name in self.names:
            if name.lower().endswith(extension) and not _is_hidden(name):
                if name not in self._heads:
                    self._heads[name] = head_as_utf8(self._head(name)[:_HEAD])
                yield self._heads[name]


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def glance_at(folder: Path) -> Glance:
    """Take a first look at a folder."""

    def head(name: str) -> bytes:
        try:
            with open(folder / name, "rb") as file:
                return file.read(_HEAD)
        except OSError:
            return b""

    return Glance(_names_in(folder), head)


def _names_in(folder: Path) -> Iterator[str]:
    for format in registry.by_folder():
        if format.folder.folder_name:
            # However many other files there are, and also if this folder itself is given.
            inner = format.folder.find_in(folder)
            yield from (f"{inner.name}/{path.name}" for path in sorted(inner.glob("*.json")) if not inner.is_symlink())
    if (folder / ".obsidian").is_dir():
        # However many notes come first.
        yield ".obsidian/"
    waiting = [folder]
    while waiting:
        try:
            found = sorted(waiting.pop(0).iterdir())
        except OSError:
            continue
        for path in found:
            if path.is_symlink():
                continue
            if path.is_dir():
                waiting.append(path)
            elif path.is_file():
                # Nothing else is opened: reading a pipe would wait.
                yield path.relative_to(folder).as_posix()


def detect_folder(glance: Glance) -> Format | None:
    """Return the format of a folder; `None` if each of its files is detected separately."""
    for format in registry.by_folder():
        if format.folder.recognise is not None and format.folder.recognise(glance):
            return format
    return None


def format_to_write(name: str | None, path: Path | None, options: WriteOptions = WriteOptions()) -> Format:
    """Return the format with this name, or the default for the path's extension, or JSON. Raise `NotWritable`."""
    if name is not None and name != "auto":
        format = registry.get(name)
    else:
        format = _by_name(path) if path else registry.get("json")
    if format.write is None:
        raise NotWritable(format.name)
    if path is not None and (compression := compression_by_name(path)):
        check_writable(path)
        if format.writing.makes_folder:
            raise UsageError(
                f"`{format.name}` is a folder of files, so it cannot be the {compression} file `{path.name}`",
                f"leave out the ending: `{inner_path(path).name}`, or choose another format with `--format`",
            )
    if options.dialect is not None and options.dialect not in format.dialects:
        raise UsageError(
            f"`{format.name}` has no dialect `{options.dialect}`", "leave `--dialect` out, or choose another format"
        )
    if options.for_spreadsheets and not format.writing.marks_formulas:
        raise UsageError(f"`{format.name}` has no cells to mark for spreadsheets", "use `--format csv`")
    if options.one_note_per is not None and not format.writing.groups_notes:
        raise UsageError(f"`{format.name}` cannot write a conversation as one note", "use `--format obsidian`")
    return format


def _by_name(path: Path) -> Format:
    """Return the format for the extension of a file to write; JSON without one. Raise `UsageError`."""
    extension = inner_extension(path.name).lower()
    format = registry.by_extension(extension) if extension else registry.get("json")
    if format is None:
        known = [f"`{one}`" for one in sorted(registry.extensions()) if one.count(".") == 1]
        raise UsageError(
            f"no format has the extension `{extension}` of `{path.name}`",
            f"choose a format with `--format`, or one of these extensions: {', '.join(known)}; each of a single file "
            "may be followed by `.gz`",
        )
    return format
