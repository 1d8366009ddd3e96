"""What a server was told when it was started."""

from pathlib import Path

import msgspec

from memglot.settings import Passphrase


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """The store that is served, and what agents may do with it and with files."""

    store: str | None = None
    roots: tuple[Path, ...] = ()
    """Folders that files may lie in; without any, those that the client names, else the working directory."""
    read_only: bool = False
    allow_sensitive: bool = False
    passphrase: Passphrase = None
