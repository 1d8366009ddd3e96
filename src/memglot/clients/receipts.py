"""Receipts: what `install` added or replaced in a client's file, so that `uninstall` can restore it exactly.

A receipt has no copy of the file, only what was written around our entry, and an entry that was replaced.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from memglot.clients.errors import keeps_changing
from memglot.clients.files import read, write
from memglot.errors import MemglotError


class Receipt(Struct, omit_defaults=True):
    """What `install` did to one file for one entry."""

    client: str
    path: str
    name: str
    keys: list[str]
    marks: list[tuple[str, str]] = []
    """Text written around the entry, and around the object that contains it if that is new too."""
    blank: str | None = None
    """The text of a file that was blank before."""
    is_new: bool = False
    """Whether the file did not exist before."""
    folders: list[str] = []
    """The folders that were created for it."""
    replaced: str | None = None
    """The text of the entry that was replaced."""


class Receipts:
    """The receipts of a user, one per file and entry."""

    def __init__(self, data: Path) -> None:
        self.folder = data / "clients"

    def get(self, path: Path, name: str) -> Receipt | None:
        """Return the receipt of an entry, or None if there is none or it is damaged."""
        try:
            found = msgspec.json.decode(read(self._file(path, name)) or b"", type=Receipt)
        except (MemglotError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        return found if found.path == str(path) and found.name == name else None

    def put(self, receipt: Receipt) -> None:
        """Store a receipt, readable for its user only. Raise `CannotWrite` on failure."""
        file = self._file(Path(receipt.path), receipt.name)
        if not write(file, msgspec.json.encode(receipt), expected=read(file)):
            raise keeps_changing(str(file))

    def delete(self, path: Path, name: str) -> None:
        """Delete a receipt, if there is one."""
        self._file(path, name).unlink(missing_ok=True)

    def _file(self, path: Path, name: str) -> Path:
        key = sha256(f"{name}\0{path}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return self.folder / f"{key}.json"
