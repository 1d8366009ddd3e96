"""Write unresolved conflicts as readable files to a folder next to the store; remove resolved ones."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote_from_bytes

from memglot.display import excerpt, is_one_line, one_line
from memglot.files import FileBatch, create_folders, remove_abandoned
from memglot.formats.core.source import CONFLICT_MARK, CONFLICTS
from memglot.merging.conflicts import conflicts_with_records, current_number, value_text
from memglot.model import Conflict, Record, format_time
from memglot.store.contract import Store
from memglot.store.hidden import sensitive_scopes


def write_conflict_files(store: Store, ids: Sequence[str] | None = None) -> None:
    """Update the conflict files of a store, or only those of some memories.

    The conflicts themselves are in the store; a note reports a file that cannot be written.
    """
    if store.url == ":memory:" or "://" in store.url:
        return
    # Resolve links, so that the files are in one place however the store is opened.
    file = Path(os.path.realpath(store.url))
    folder = file.parent / CONFLICTS
    if not folder.is_dir() and not store.things.count(Conflict):
        return
    try:
        _ConflictFolder(store, file, folder).update(ids)
    except OSError as error:
        _note(
            store,
            f"cannot write conflict files to `{folder}` ({error.strerror or str(error)}); "
            "run `memglot conflicts` to see the conflicts",
        )


def _note(store: Store, note: str) -> None:
    if note not in store.notes:
        store.notes.append(note)


class _ConflictFolder:
    """The folder with conflict files of a store; it may contain files of other stores and of users."""

    def __init__(self, store: Store, file: Path, folder: Path) -> None:
        self._store, self._file, self._folder = store, file, folder
        self._files = FileBatch()
        self._sensitive = sensitive_scopes(store)
        # Another store in the same folder may have a name that begins like this one's.
        self._mark = f"{CONFLICT_MARK}{quote_from_bytes(os.fsencode(file.name))} -->\n".encode()

    def update(self, ids: Sequence[str] | None) -> None:
        """Write the files of some memories, or all; remove those without a conflict."""
        if self._folder.is_symlink():
            # The target of the link does not belong to memglot.
            raise OSError("it is a symbolic link")
        remove_abandoned(self._folder)
        with self._files:
            self._update(ids)

    def _update(self, ids: Sequence[str] | None) -> None:
        wanted: set[str] = set()
        for conflict, record in conflicts_with_records(self._store, ids):
            path = self._folder / self._name(record.id, conflict.field)
            if not wanted:
                create_folders(self._folder)
            wanted.add(path.name)
            self._write(path, self._page(record, conflict))
        gone = [path for path in self._existing(ids) if path.name not in wanted and self._is_ours(path)]
        if self._store.hidden is not None:
            # The conflicts of hidden memories are not in view, so their files stay.
            hidden = self._store.hidden.ids([self._owner(path.name) for path in gone])
            gone = [path for path in gone if self._owner(path.name) not in hidden]
        for path in gone:
            self._files.remove(path)
        if gone:
            with suppress(OSError):
                self._folder.rmdir()

    def _owner(self, name: str) -> str:
        return name.removeprefix(f"{self._file.name}.").partition(".")[0]

    def _existing(self, ids: Sequence[str] | None) -> Iterator[Path]:
        """Yield files whose names say that they are of this store and of these memories."""
        stem = f"{self._file.name}."
        owners = set(ids) if ids is not None else None
        with suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            for entry in entries:
                if entry.name.startswith(stem) and (owners is None or self._owner(entry.name) in owners):
                    yield Path(entry.path)

    def _write(self, path: Path, text: bytes) -> None:
        if os.path.lexists(path):
            if not self._is_ours(path):
                _note(
                    self._store,
                    f"kept `{path}`, which memglot did not write; run `memglot conflicts` to see the conflict",
                )
                return
            if path.read_bytes() == text:
                return
        self._files.put(path, text)

    def _is_ours(self, path: Path) -> bool:
        if path.is_symlink() or not path.is_file():
            return False
        with open(path, "rb") as file:
            return file.read(len(self._mark)) == self._mark

    def _name(self, id: str, field: str) -> str:
        return f"{self._file.name}.{id}.{_safe_name(field)}.md"

    def _page(self, record: Record, conflict: Conflict) -> bytes:
        hidden = record.scope in self._sensitive
        command = f"memglot --store {_quoted(str(self._file))} conflicts resolve {record.id} {_quoted(conflict.field)}"
        text = conflict_page(
            record=record.id,
            title=None if hidden else excerpt(record.title or record.content),
            field=conflict.field,
            at=format_time(conflict.clock),
            values=None if hidden else map(value_text, conflict.values),
            current=current_number(record, conflict),
            command=command,
        )
        # A path may have bytes that are not valid UTF-8.
        return self._mark + text.encode("utf-8", "surrogateescape")


def _safe_name(field: str) -> str:
    """Return a field as part of a file name that is valid on every system: other characters become hexadecimal."""
    name = "".join(character if character in _SAFE else f"~{ord(character):x}~" for character in field)
    return name if len(name) <= 80 else f"{name[:60]}~{sha256(field.encode()).hexdigest()[:16]}"


_SAFE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


def _quoted(text: str) -> str:
    """Return a text quoted for a shell, on one line whatever it contains."""
    if is_one_line(text):
        return shlex.quote(text)
    # A line break inside ordinary quotes would end the indented block; bash, zsh and ksh support `$'...'`.
    return f"$'{''.join(character if character.isalnum() else _escaped(character) for character in text)}'"


def _escaped(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))


def conflict_page(
    *, record: str, title: str | None, field: str, at: str, values: Iterable[str] | None, current: int, command: str
) -> str:
    """Return a page that shows a conflict: the memory, every value with its number, and how to resolve it.

    Text from memories is in indented blocks, which no line of it can leave.
    """
    lines = [f"# Conflict in memory {record}", ""]
    lines += [*_block(title), ""] if title is not None else []
    lines += [f"This field was set to different values at {at}:", ""]
    lines += [*_block(field), ""]
    if values is None:
        lines += [
            f"The scope is sensitive, so no value is shown here; value {current} is used until you resolve it.",
            "",
        ]
    for number, value in enumerate(values or (), 1):
        lines += [f"## {number}" + (" (used until resolved)" if number == current else ""), ""]
        lines += [*_block(value), ""]
    lines += [
        "To resolve the conflict, on any machine:",
        "",
        *_block(f"{command} --take 1"),
        "",
        "Use `--value TEXT` to set another value. memglot removes this file when the conflict is resolved.",
    ]
    return "\n".join(lines) + "\n"


def _block(text: str) -> list[str]:
    """Return the lines of a text, indented, with control characters escaped."""
    found = [f"    {one_line(line)}" for line in text.splitlines()]
    # Markdown ignores a block of white space.
    return found if text.strip() else [f"    {ascii(text)}"]
