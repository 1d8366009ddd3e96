"""How to start memglot later from an environment that will be removed: `uvx`, `pipx run`, a temporary folder."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePath
from urllib.parse import urlsplit
from urllib.request import url2pathname

import msgspec

from memglot.errors import UsageError
from memglot.settings import uv_program

_UV_CACHE = re.compile(r"(?:archive|environments|builds)-v\d+")
"""Folders in the cache of uv, in which `uvx` and `uv run --with` make environments."""
_PIPX_CACHE = re.compile(r"[0-9a-f]{15}")
_SYSTEM_FOLDERS = ("/tmp", "/private/tmp", "/var/folders", "/private/var/folders")
_INSTALL = "install memglot with `uv tool install memglot` or `pipx install memglot`, and run the same command again"


def launcher(prefix: str, package: Distribution | None = None) -> list[str] | None:
    """Return the words that start memglot, if the environment with this prefix will be removed, else None.

    `package` is memglot as it is installed. Raise `UsageError` if no command would work later.
    """
    program = _program(PurePath(prefix))
    if program is None:
        if _is_temporary(prefix):
            raise UsageError(
                f"this memglot is in the temporary folder `{prefix}`, so a client could not start it later", _INSTALL
            )
        return None
    found = _find(program)
    if found is None:
        raise UsageError(
            f"this memglot is in the cache of `{program}`, from which it will be removed, and `{program}` is not found",
            _INSTALL,
        )
    origin = _origin(package or _installed())
    if program == "uvx":
        return [found, *(["--from", origin] if origin else []), "memglot"]
    return [found, "run", *(["--spec", origin] if origin else []), "memglot"]


def _program(prefix: PurePath) -> str | None:
    """Return the program in whose cache an environment is; None for any other environment."""
    if any(map(_UV_CACHE.fullmatch, prefix.parts)):
        return "uvx"
    is_cached = _PIPX_CACHE.fullmatch(prefix.name) and prefix.parent.name.lower() in (".cache", "cache", "pipx")
    return "pipx" if is_cached else None


def _is_temporary(path: str) -> bool:
    """Return True if a path will be removed before the configuration of a client, which is in the user's home."""
    return _is_in_temporary_folder(path) and not _is_in_temporary_folder(str(Path.home()))


def _is_in_temporary_folder(path: str) -> bool:
    place = Path(os.path.realpath(path))
    folders = [tempfile.gettempdir(), *(_SYSTEM_FOLDERS if os.name != "nt" else ())]
    return any(place.is_relative_to(os.path.realpath(folder)) for folder in folders)


def _find(program: str) -> str | None:
    """Return the absolute path of a program; `uvx` is next to the `uv` that started this process."""
    found = shutil.which(program)
    if found is None and program == "uvx" and (uv := uv_program()) is not None:
        found = shutil.which(program, path=os.path.dirname(uv))
    return os.path.abspath(found) if found is not None else None


def _installed() -> Distribution | None:
    try:
        return distribution("memglot")
    except PackageNotFoundError:
        return None


class _Vcs(msgspec.Struct):
    vcs: str
    commit_id: str


class _Origin(msgspec.Struct):
    """`direct_url.json`, which installers write for packages that do not come from an index."""

    url: str
    vcs_info: _Vcs | None = None
    subdirectory: str = ""


def _origin(package: Distribution | None) -> str | None:
    """Return what memglot was installed from: a URL or a path; None for a package index.

    Raise `UsageError` for a file that is gone, or will be.
    """
    text = package.read_text("direct_url.json") if package is not None else None
    if not text:
        return None
    try:
        found = msgspec.json.decode(text, type=_Origin)
    except msgspec.MsgspecError:
        return None
    if found.vcs_info is not None:
        return f"{found.vcs_info.vcs}+{found.url}@{found.vcs_info.commit_id}" + _subfolder(found)
    if not found.url.startswith("file:"):
        return found.url + _subfolder(found)
    path = url2pathname(urlsplit(found.url).path)
    if not os.path.exists(path) or _is_temporary(path):
        raise UsageError(f"this memglot comes from `{path}`, which will not be there when a client starts it", _INSTALL)
    return path


def _subfolder(found: _Origin) -> str:
    return f"#subdirectory={found.subdirectory}" if found.subdirectory else ""
