"""What `install` made or replaced in a client's file, so that `uninstall` can leave it as it was.

A receipt holds no copy of the file: only what stood around our entry, and the one entry that was replaced.
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
    """What was done to one file for one entry."""

    client: str
    path: str
    name: str
    keys: list[str]
    marks: list[tuple[str, str]] = []
    """What was written around the entry, and around the object that holds it if that was made too."""
    blank: str | None = None
    """The text of a file that held nothing before."""
    is_new: bool = False
    """Whether the file was not there before."""
    folders: list[str] = []
    """The folders that were made for it."""
    replaced: str | None = None
    """The text of the entry that was there before."""


class Receipts:
    """The receipts of a user, one a file and entry."""

    def __init__(self, data: Path) -> None:
        self.folder = data / "clients"

    def get(self, path: Path, name: str) -> Receipt | None:
        """The receipt of an entry; one that cannot be read is none."""
        try:
            found = msgspec.json.decode(read(self._place(path, name)) or b"", type=Receipt)
        except (MemglotError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        return found if found.path == str(path) and found.name == name else None

    def put(self, receipt: Receipt) -> None:
        """Keep a receipt, readable for its user alone. Raises `CannotWrite`."""
        place = self._place(Path(receipt.path), receipt.name)
        if not write(place, msgspec.json.encode(receipt), expected=read(place), private=True):
            raise keeps_changing(str(place))

    def drop(self, path: Path, name: str) -> None:
        """Forget a receipt, if there is one."""
        self._place(path, name).unlink(missing_ok=True)

    def _place(self, path: Path, name: str) -> Path:
        key = sha256(f"{name}\0{path}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return self.folder / f"{key}.json"
