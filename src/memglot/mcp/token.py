"""The bearer token of the HTTP server: from a file or the environment, or else generated once and stored."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from memglot.errors import UsageError
from memglot.files import create_file, create_folders
from memglot.settings import MCP_TOKEN_VARIABLE, data_folder, mcp_token

_VALID = re.compile(r"[!-~]{16,512}")
_NAME = "mcp-token"


def find_token(file: str | None = None) -> tuple[str, str]:
    """Return the token, and its location as messages show it."""
    if file is not None:
        return _check(_read(Path(file)), f"`{file}`"), file
    if (given := mcp_token()) is not None:
        return _check(given, f"`${MCP_TOKEN_VARIABLE}`"), f"${MCP_TOKEN_VARIABLE}"
    path = data_folder() / _NAME
    if not path.exists():
        _create(path)
    return _check(_read(path), f"`{path}`"), str(path)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError:
        raise _bad_token(f"`{path}`", "it is not valid UTF-8") from None
    except OSError as error:
        raise _bad_token(f"`{path}`", (error.strerror or str(error)).lower()) from None


def _check(token: str, where: str) -> str:
    if not _VALID.fullmatch(token):
        raise _bad_token(where, "it is too short, too long, or contains characters that an HTTP header cannot carry")
    return token


def _create(path: Path) -> None:
    """Generate a token that only this user can read. If two servers start at once, the first token is kept."""
    try:
        create_folders(path.parent)
        part = path.with_name(f"{_NAME}.{secrets.token_hex(4)}")
        with create_file(part) as out:
            out.write(secrets.token_urlsafe(32).encode() + b"\n")
        try:
            os.link(part, path)
        finally:
            part.unlink()
    except FileExistsError:
        return
    except OSError as error:
        raise _bad_token(f"`{path}`", (error.strerror or str(error)).lower()) from None


def _bad_token(where: str, reason: str) -> UsageError:
    return UsageError(f"cannot use the token in {where}: {reason}", "use 16 to 512 visible ASCII characters")
