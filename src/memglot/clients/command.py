"""The command with which a client starts the server: this memglot with the requested options."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from memglot.clients.launcher import launcher
from memglot.clients.registry import ServerCommand
from memglot.errors import UnknownStore, UsageError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def server_command(
    *,
    store: str | None = None,
    roots: Sequence[str | Path] = (),
    read_only: bool = False,
    allow_sensitive: bool = False,
    program: str | None = None,
    python: str | None = None,
    prefix: str | None = None,
) -> ServerCommand:
    """Return the command that starts the server, with absolute paths, since a client may start it in any folder.

    `program`, `python` and the `prefix` of the environment default to those of this process. Raise `UsageError` for a
    store that a configuration should not name, for a path that is not valid UTF-8, and if this memglot will be removed.
    """
    arguments = ["mcp"]
    if store:
        arguments += ["--store", store_argument(store)]
    for root in roots:
        arguments += ["--root", os.path.abspath(root)]
    arguments += ["--read-only"] * read_only + ["--allow-sensitive"] * allow_sensitive
    script = _script(program or sys.argv[0])
    start = launcher(prefix or sys.prefix) or ([script] if script else [python or sys.executable, "-m", "memglot"])
    words = [*start, *arguments]
    for word in words:
        if not _is_text(word):
            shown = word.encode("utf-8", "backslashreplace").decode()
            raise UsageError(f"`{shown}` is not valid UTF-8, so a configuration cannot contain it", "rename or move it")
    return ServerCommand(words[0], tuple(words[1:]))


def store_argument(url: str) -> str:
    """Return a store as a configuration names it. Raise `UsageError` for a password or an in-memory store."""
    found = _SCHEME.match(url)
    scheme = found[1].lower() if found else "sqlite"
    if scheme in ("postgresql", "postgres"):
        if _has_password(url):
            raise UsageError(
                "the store's URL contains a password, which would be written to the client's configuration",
                "leave it out of the URL and use `~/.pgpass` or `$PGPASSWORD`",
            )
        return url
    if scheme != "sqlite" or found and not url.startswith("sqlite:///"):
        raise UnknownStore(scheme)
    path = url.removeprefix("sqlite:///")
    if path in ("", ":memory:"):
        raise UsageError("an in-memory store would be lost when the client stops the server", "use the path of a file")
    return os.path.abspath(path)


def _has_password(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.password is not None or "password" in parse_qs(parts.query, keep_blank_values=True)
    except ValueError:
        # A URL that cannot be parsed may contain a password.
        return True


def _script(program: str) -> str | None:
    """Return the path of the `memglot` script, or None if Python itself was started."""
    # Links are not resolved, because they stay valid after an upgrade.
    path = os.path.abspath(program)
    name = os.path.basename(path).lower()
    if name.removesuffix(".exe") != "memglot":
        return None
    return next((found for found in (path, path + ".exe") if os.path.isfile(found)), None)


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True
