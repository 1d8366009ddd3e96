"""The mirror: conflicts as readable files in a folder beside the store. Settled ones go."""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote_from_bytes

from memglot.display import excerpt, is_one_line
from memglot.files import replace_file
from memglot.formats.core.source import CONFLICT_MARK, CONFLICTS
from memglot.merging.conflict_pages import conflict_page, note_no_mirror, note_own_file
from memglot.merging.conflicts import conflicts_with_records, current_number, value_text
from memglot.model import Conflict, Record, format_time
from memglot.store.contract import Store
from memglot.store.hidden import sensitive_scopes


def write_conflict_files(store: Store, ids: Sequence[str] | None = None) -> None:
    """Show the conflicts of a store that is a file, or only those of some memories, as they are now.

    The conflicts themselves are in the store: where a file cannot be written, a note says so.
    """
    if store.url == ":memory:" or "://" in store.url:
        return
    # A link to a store is not where it lies: whoever opens it otherwise must find the same files.
    file = Path(os.path.realpath(store.url))
    folder = file.parent / CONFLICTS
    if not folder.is_dir() and not store.things.count(Conflict):
        return
    try:
        _ConflictFolder(store, file, folder).show(ids)
    except OSError as error:
        _note(store, note_no_mirror(str(folder), error.strerror or str(error)))


def _note(store: Store, note: str) -> None:
    if note not in store.notes:
        store.notes.append(note)


class _ConflictFolder:
    """The folder of a store's conflicts, where files of other stores and of people may lie too."""

    def __init__(self, store: Store, file: Path, folder: Path) -> None:
        self._store, self._file, self._folder = store, file, folder
        self._secret = sensitive_scopes(store)
        # Another store may lie in the same folder, with a name that begins like this one's.
        self._mark = f"{CONFLICT_MARK}{quote_from_bytes(os.fsencode(file.name))} -->\n".encode()

    def show(self, ids: Sequence[str] | None) -> None:
        """Write the pages of some memories, or all, one at a time; take away those that nothing is said on."""
        if self._folder.is_symlink():
            # What the link leads to is not ours.
            raise OSError("it is a link")
        wanted: set[str] = set()
        for conflict, record in conflicts_with_records(self._store, ids):
            path = self._folder / self._name(record.id, conflict.field)
            if not wanted:
                self._folder.mkdir(exist_ok=True)
            wanted.add(path.name)
            self._put(path, self._page(record, conflict))
        gone = [path for path in self._there(ids) if path.name not in wanted and self._is_ours(path)]
        for path in gone:
            path.unlink(missing_ok=True)
        if gone:
            with suppress(OSError):
                self._folder.rmdir()

    def _there(self, ids: Sequence[str] | None) -> Iterator[Path]:
        """Files by whose names they may be pages of this store, and of these memories."""
        stem = f"{self._file.name}."
        owners = set(ids) if ids is not None else None
        with suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            for entry in entries:
                rest = entry.name.removeprefix(stem)
                if rest != entry.name and (owners is None or rest.partition(".")[0] in owners):
                    yield Path(entry.path)

    def _put(self, path: Path, text: bytes) -> None:
        if os.path.lexists(path):
            if not self._is_ours(path):
                _note(self._store, note_own_file(str(path)))
                return
            if path.read_bytes() == text:
                return
        temporary = path.with_name(f".{secrets.token_hex(4)}.new")
        with replace_file(path, temporary=temporary, mode=0o600, durable=False) as out:
            out.write(text)

    def _is_ours(self, path: Path) -> bool:
        if path.is_symlink() or not path.is_file():
            return False
        with open(path, "rb") as file:
            return file.read(len(self._mark)) == self._mark

    def _name(self, id: str, field: str) -> str:
        return f"{self._file.name}.{id}.{_safe(field)}.md"

    def _page(self, record: Record, conflict: Conflict) -> bytes:
        secret = record.scope in self._secret
        command = f"memglot --store {_quoted(str(self._file))} conflicts resolve {record.id} {_quoted(conflict.field)}"
        text = conflict_page(
            record=record.id,
            title=None if secret else excerpt(record.title or record.content),
            field=conflict.field,
            at=format_time(conflict.clock),
            values=None if secret else map(value_text, conflict.values),
            stands=current_number(record, conflict),
            command=command,
        )
        # A path may have bytes that are no UTF-8.
        return self._mark + text.encode("utf-8", "surrogateescape")


def _safe(field: str) -> str:
    """A field as part of a file's name, on every system: small letters and digits stay, the rest is hexadecimal."""
    name = "".join(sign if sign in _PLAIN else f"~{ord(sign):x}~" for sign in field)
    return name if len(name) <= 80 else f"{name[:60]}~{sha256(field.encode()).hexdigest()[:16]}"


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


def _quoted(text: str) -> str:
    """A word of a shell's command, on one line whatever is in it."""
    if is_one_line(text):
        return shlex.quote(text)
    # bash, zsh and ksh know `$'...'`; a line end inside plain quotes would break the block that it stands in.
    return f"$'{''.join(sign if sign.isalnum() else _escaped(sign) for sign in text)}'"


def _escaped(sign: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(sign))
