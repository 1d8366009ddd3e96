"""Find the remote of the repository that project memory belongs to, in a normalized form."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

_MAX_BYTES = 1 << 20
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)')
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)")
_SHORT = re.compile(r"(?:[^@/\s]*@)?([A-Za-z0-9._-]{2,}|\[[0-9A-Fa-f:.]+\]):(?!//)(.+)")
_USUAL_PORTS = frozenset({22, 80, 443, 9418})


def remote_of(root: Path) -> str | None:
    """Return the remote of the repository in a folder, as `host/path`; None if it has none.

    Only files are read; git is not run. `origin` comes first, then the others by name. Remotes that are local paths do
    not count, since they mean nothing on other machines.
    """
    folder = _git_folder(root)
    if folder is None:
        return None
    found: dict[str, str] = {}
    for name, url in _remotes(_text(folder / "config")):
        found.setdefault(name, url)
    for name in sorted(found, key=lambda name: (name != "origin", name)):
        if (remote := normalize_remote(found[name])) is not None:
            return remote
    return None


def normalize_remote(url: str) -> str | None:
    """Return a remote as `host/path`, without the user name; None for a local path."""
    url = url.strip()
    if "://" in url:
        return _from_url(url)
    short = _SHORT.fullmatch(url)
    if short is None or "\\" in url:
        return None
    return _joined(short[1], short[2])


def _from_url(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or parts.scheme.lower().rpartition("+")[2] == "file":
        return None
    return _joined(host if port is None or port in _USUAL_PORTS else f"{host}:{port}", parts.path)


def _joined(host: str, path: str) -> str | None:
    path = path.strip("/").removesuffix(".git").rstrip("/")
    return f"{host.lower()}/{path}" if path else None


def _git_folder(root: Path) -> Path | None:
    """Return the folder with the repository's `config`: `.git`, or the one that a worktree or submodule names."""
    place = root / ".git"
    if place.is_dir():
        return place
    text = _text(place)
    if not text.startswith("gitdir:"):
        return None
    folder = root / text.partition(":")[2].strip()
    common = _text(folder / "commondir").strip()
    return folder / common if common else folder


def _text(path: Path) -> str:
    """Return the text of a small file; empty if it is not a regular file."""
    try:
        # Opening a pipe would block.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return ""
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _remotes(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and URLs of the remotes in a git configuration file."""
    remote: str | None = None
    for line in text.replace("\\\n", "").split("\n"):
        line = line.strip()
        if (section := _SECTION.fullmatch(line)) is not None:
            name = re.sub(r"\\(.)", r"\1", section[2] or "")
            remote = name if section[1].lower() == "remote" and section[2] is not None else None
            line = section[3]
        setting = _SETTING.fullmatch(line)
        if remote is not None and setting is not None and setting[1].lower() == "url":
            yield remote, _value(setting[2])


def _value(text: str) -> str:
    """Return a value without quotes and comments."""
    found, quoted, escaped = "", False, False
    for character in text:
        if escaped:
            found, escaped = found + character, False
        elif character == "\\":
            escaped = True
        elif character == '"':
            quoted = not quoted
        elif character in "#;" and not quoted:
            break
        else:
            found += character
    return found.strip()
