"""What lies in a `.memory` folder, found without trusting it: its settings, its space, and the files of its parts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from memglot.errors import BadRecord, Unreadable
from memglot.formats.base import Options
from memglot.formats.repo.carry_file import Carried
from memglot.formats.repo.other_files import small_file
from memglot.model.record_errors import bad_syntax, wrong_type
from memglot.project.storage import paths, vocabulary
from memglot.project.storage.errors import OtherStorage, linked
from memglot.project.storage.remote import remote_of
from memglot.report import SourceReport


def read_config(folder: Path) -> tuple[bytes, dict[str, Any]]:
    """The settings of a store, as bytes and as a value. Raises `Unreadable`."""
    raw = small_file(folder, paths.CONFIG)
    if raw is None:
        raise Unreadable(str(folder), "no `.memory/config.json` in it", "give a repository, or its `.memory` folder")
    name = str(folder / paths.CONFIG)
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(name, f"invalid JSON: {str(error)}") from None
    version = found.get("version") if isinstance(found, dict) else None
    # `True` and `5.0` are no versions, though Python takes them for numbers.
    if type(version) is not int or version != vocabulary.STORAGE_VERSION:
        raise OtherStorage(name, f"its storage version is {version}, and only 5 is known")
    return raw, found


def space_of(folder: Path, config: dict[str, Any], options: Options, carried: Carried | None = None) -> str:
    """The space of a store's ids: as asked for, its repository's remote, where it was exported from, its project."""
    if options.space is not None:
        return options.space
    remote = remote_of(folder.absolute().parent)
    if remote is not None:
        return remote
    project = config.get("project")
    id = project.get("id") if isinstance(project, dict) else None
    return (carried.head.space if carried is not None else "") or (id if isinstance(id, str) else "")


def walk_files(folder: Path, below: str, ending: str, report: SourceReport | None = None) -> Iterator[str]:
    """The files with an ending below a folder, sorted, as paths below the whole; links are reported, not followed."""
    waiting = [below]
    while waiting:
        place = waiting.pop()
        if place.endswith(ending) and place != below:
            yield place
            continue
        found = []
        for entry in _entries(folder, place, report):
            path = f"{place}/{entry.name}"
            if not _is_text(entry.name):
                if report is not None and entry.name.endswith(ending):
                    report.start_source(str(folder / path))
                    report.fault(BadRecord("its name is not UTF-8"))
            elif entry.is_symlink():
                # A linked folder is told once, whatever is looked for in it.
                if report is not None and (entry.name.endswith(ending) or ending == ".json" and not entry.is_file()):
                    report.start_source(str(folder / path))
                    report.fault(linked(str(folder / path)))
            elif entry.is_dir(follow_symlinks=False) and not entry.name.endswith(ending):
                found.append(path)
            elif entry.name.endswith(ending) and entry.is_file(follow_symlinks=False):
                found.append(path)
        waiting += sorted(found, reverse=True)


def _is_text(name: str) -> bool:
    """Tell whether a name is UTF-8, as every path in a sidecar is."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _entries(folder: Path, place: str, report: SourceReport | None) -> list[os.DirEntry[str]]:
    try:
        if (folder / place).is_symlink():
            raise linked(str(folder / place))
        with os.scandir(folder / place) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, Unreadable) as error:
        if report is not None:
            report.start_source(str(folder / place))
            reason = getattr(error, "strerror", None)
            report.fault(Unreadable(str(folder / place), reason.lower()) if reason else str(error))
        return []


def decoded(raw: bytes) -> dict[str, Any]:
    """The object in a file; raises `BadRecord`."""
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad_syntax("JSON", str(error)) from None
    if not isinstance(found, dict):
        raise wrong_type("sidecar", "an object", type(found).__name__)
    return found
