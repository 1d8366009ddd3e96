"""Options that a server is started with."""

from pathlib import Path

import msgspec

from memglot.settings import Passphrase


class ServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The store to serve, and what agents may do with it and with files."""

    store: str | None = None
    roots: tuple[Path, ...] = ()
    """Folders that tools may use; if empty, the client's folders, or else the working directory."""
    read_only: bool = False
    allow_sensitive: bool = False
    passphrase: Passphrase = None
