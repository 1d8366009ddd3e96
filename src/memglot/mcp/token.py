"""The bearer token of a server over HTTP: given in a file or the environment, else made once and kept."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from memglot.errors import UsageError
from memglot.settings import MCP_TOKEN_VARIABLE, data_folder, mcp_token

_VALID = re.compile(r"[!-~]{16,512}")
_NAME = "mcp-token"


def find_token(file: str | None = None) -> tuple[str, str]:
    """The token, and where a person finds it: never shown itself."""
    if file is not None:
        return _check(_read(Path(file)), f"`{file}`"), file
    if (given := mcp_token()) is not None:
        return _check(given, f"`${MCP_TOKEN_VARIABLE}`"), f"${MCP_TOKEN_VARIABLE}"
    place = data_folder() / _NAME
    if not place.exists():
        _create(place)
    return _check(_read(place), f"`{place}`"), str(place)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise _bad_token(f"`{path}`", reason.lower()) from None


def _check(token: str, where: str) -> str:
    if not _VALID.fullmatch(token):
        raise _bad_token(where, "it is too short, too long, or has signs that a header cannot carry")
    return token


def _create(place: Path) -> None:
    """Make a token that only this user can read. Of two servers that begin at once, one's stays."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f"{_NAME}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(secrets.token_urlsafe(32) + "\n")
        try:
            os.link(part, place)
        finally:
            part.unlink()
    except FileExistsError:
        return
    except OSError as error:
        raise _bad_token(f"`{place}`", (error.strerror or str(error)).lower()) from None


def _bad_token(where: str, reason: str) -> UsageError:
    """A token that cannot be used."""
    return UsageError(f"the token in {where} cannot be used: {reason}", "it must be 16 or more visible ASCII signs")
