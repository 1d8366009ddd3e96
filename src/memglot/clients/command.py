"""The command that a client is told to start: the memglot that is running now, with what was asked for."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from memglot.clients.table import Server
from memglot.errors import UnknownStore, UsageError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def server(
    *,
    store: str | None = None,
    roots: Sequence[str | Path] = (),
    read_only: bool = False,
    allow_sensitive: bool = False,
    program: str | None = None,
    python: str | None = None,
) -> Server:
    """The server to start, by absolute paths: a client starts it wherever it likes.

    `program` and `python` are what this process was started by. Raises `UsageError` for a store that no
    configuration should name, and for a path that none can.
    """
    arguments = ["mcp"]
    if store:
        arguments += ["--store", store_argument(store)]
    for root in roots:
        arguments += ["--root", os.path.abspath(root)]
    arguments += ["--read-only"] * read_only + ["--allow-sensitive"] * allow_sensitive
    script = _script(program or sys.argv[0])
    words = [script, *arguments] if script else [python or sys.executable, "-m", "memglot", *arguments]
    for word in words:
        if not _is_text(word):
            raise _nameless_path(word)
    return Server(words[0], tuple(words[1:]))


def store_argument(url: str) -> str:
    """A store as a client's configuration names it. Raises `UsageError` for a password or a store in memory."""
    found = _SCHEME.match(url)
    scheme = found[1].lower() if found else "sqlite"
    if scheme in ("postgresql", "postgres"):
        if _has_password(url):
            raise UsageError(
                "the store's URL holds a password, which would be written into the client's configuration",
                "leave it out of the URL; `~/.pgpass` or `$PGPASSWORD` can hold it",
            )
        return url
    if scheme != "sqlite" or found and not url.startswith("sqlite:///"):
        raise UnknownStore(scheme)
    path = url.removeprefix("sqlite:///")
    if path in ("", ":memory:"):
        raise UsageError("a store in memory is gone when the client stops its server", "give the path of a file")
    return os.path.abspath(path)


def _has_password(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.password is not None or "password" in parse_qs(parts.query, keep_blank_values=True)
    except ValueError:
        # What cannot be understood may hold anything.
        return True


def _script(program: str) -> str | None:
    """The script that was started, unless it is Python itself that was."""
    # Links stay as they are: they lead to the next release too, what they lead to now does not.
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


def _nameless_path(path: str) -> UsageError:
    """A path that no text file can name."""
    shown = path.encode("utf-8", "backslashreplace").decode()
    return UsageError(f"`{shown}` is not valid UTF-8, and the configuration is", "rename it, or move it elsewhere")
