"""A change of several files that happens whole or not at all.

All new contents are written apart first, so that a full disk is found before anything changes, and the old files get a
second name there. Then a journal that names all of them takes its place: from then on the change has happened. What is
left to do is renaming, which whoever comes next finishes if this process does not. Where that cannot be, because
somebody changed the files since or the system refuses, everything is put back.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from memglot.files import sync_file, sync_folder
from memglot.project.storage.errors import ProjectError, cannot_write
from memglot.project.storage.files import PART, refuse_links, write_file, write_lasting
from memglot.project.storage.hashes import local_time
from memglot.project.storage.ids import free
from memglot.project.storage.paths import (
    ATTRIBUTES,
    CONFIG,
    EVENTS,
    FOLDER,
    INDEX,
    JOURNAL,
    NODES,
    RECOVERY,
    RELATIONS,
    SCHEMAS,
)
from memglot.settings import export_time

_STAGE = f"{INDEX}/stage"
_STAGED = re.compile(rf"{_STAGE}/\d+(\.old)?")
_MAY_CHANGE = re.compile(
    rf"({CONFIG}|{EVENTS}|{re.escape(ATTRIBUTES)}|({NODES}|{RELATIONS}|{SCHEMAS})/[^\0]+\.(json|md))"
)
_UNNAMEABLE = re.compile(r"[^0-9A-Za-z.-]")


class Grown(NamedTuple):
    """A file that keeps its first bytes and gets more: for logs, which are not held in memory."""

    keep: int
    more: bytes


Content = bytes | Grown | None
"""What a file will hold; `None` for one that goes."""


class _Step(Struct):
    """One file of a change: what takes its place, if anything; what tells that from others, and what was there.

    While the change is under way, the old file has a second name.
    """

    path: str
    staged: str | None
    old: str
    after: str | None
    before: str | None


class _Journal(Struct):
    steps: list[_Step]


def change_files(folder: Path, files: Mapping[str, Content]) -> None:
    """Write, replace and (`None`) remove files of `.memory` as one change; the lock must be held.

    Raises `ProjectError` when a file cannot be written; nothing has changed then.
    """
    for path in files:
        refuse_links(folder, path)
    steps: list[_Step] = []
    try:
        _clear_stage(folder)
        (folder / _STAGE).mkdir(parents=True)
        for number, (path, content) in enumerate(files.items()):
            steps.append(_staged(folder, path, content, f"{_STAGE}/{number}"))
        sync_folder(folder / _STAGE)
        write_file(folder / JOURNAL, msgspec.json.encode(_Journal(steps)))
        _apply(folder, steps)
    except OSError as error:
        _take_back(folder, steps)
        place = os.path.relpath(error.filename, folder.parent) if error.filename else FOLDER
        raise cannot_write(place, (error.strerror or str(error)).lower()) from error


def _staged(folder: Path, path: str, content: Content, staged: str) -> _Step:
    place = folder / path
    step = _Step(path, None if content is None else staged, f"{staged}.old", None, _present(place))
    if content is not None:
        _stage(folder / staged, place, content)
        if step.before is not None:
            (folder / staged).chmod(place.stat().st_mode & 0o777)
        place.parent.mkdir(parents=True, exist_ok=True)
        step.after = _present(folder / staged)
    if step.before is not None:
        _name_again(place, folder / step.old)
    return step


def _stage(staged: Path, place: Path, content: bytes | Grown) -> None:
    if isinstance(content, bytes):
        write_lasting(staged, content)
        return
    with open(staged, "xb") as out:
        if content.keep:
            with open(place, "rb") as present:
                left = content.keep
                while left and (block := present.read(min(left, 1 << 20))):
                    out.write(block)
                    left -= len(block)
        out.write(content.more)
        sync_file(out)


def _name_again(place: Path, old: Path) -> None:
    try:
        os.link(place, old)
    except OSError:
        # Not every system knows second names; there a copy does, at the price of its other times.
        shutil.copy2(place, old)


def has_journal(folder: Path) -> bool:
    """Tell whether a change waits to be finished."""
    return (folder / JOURNAL).exists()


def finish_change(folder: Path) -> list[str]:
    """Finish the change of a process that was stopped in it; the lock must be held. Tells what a person should know.

    Where a file of it was changed by somebody else since, the change is taken back; what it would have said is kept.
    """
    try:
        raw = (folder / JOURNAL).read_bytes()
    except FileNotFoundError:
        _clear_stage(folder)
        return []
    steps = _steps(folder, raw)
    if steps is None:
        os.replace(folder / JOURNAL, folder / f"{JOURNAL}.refused")
        _clear_stage(folder)
        return ["`.memory/index/journal` was not written by memglot; it was put aside, and nothing in it was done."]
    if all(_is_pending(folder, step) or _is_done(folder, step) for step in steps):
        _apply(folder, steps)
        return [_finished(len(steps))]
    kept = recovery_folder(folder, local_time(export_time()))
    for step in steps:
        for name in (step.staged, step.path if _is_done(folder, step) else None):
            if name is not None and (folder / name).is_file():
                (folder / kept / step.path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(folder / name, folder / kept / step.path)
    _take_back(folder, steps)
    return [_taken_back(f"{FOLDER}/{kept}")]


def recovery_folder(folder: Path, now: str) -> str:
    """A new folder for copies of this moment, below `.memory`; an earlier one of the same second is not written to."""
    wanted = f"{RECOVERY}/{_UNNAMEABLE.sub('-', now)}"
    return free(wanted, lambda path: os.path.lexists(folder / path))


def _steps(folder: Path, raw: bytes) -> list[_Step] | None:
    """The steps of a journal; `None` for one that we never wrote.

    A repository may bring a journal of its own, so nothing that it names is touched outside of the storage.
    """
    try:
        steps = msgspec.json.decode(raw, type=_Journal).steps
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    for step in steps:
        if not _MAY_CHANGE.fullmatch(step.path) or ".." in step.path.split("/"):
            return None
        if not all(_STAGED.fullmatch(name) for name in (step.staged or step.old, step.old)):
            return None
        try:
            for path in (step.path, step.staged or _STAGE, step.old):
                refuse_links(folder, path)
        except ProjectError:
            return None
    return steps


def _is_pending(folder: Path, step: _Step) -> bool:
    is_staged = step.staged is None or _present(folder / step.staged) == step.after
    return is_staged and _present(folder / step.path) == step.before


def _is_done(folder: Path, step: _Step) -> bool:
    return _present(folder / step.path) == step.after


def _apply(folder: Path, steps: list[_Step]) -> None:
    for step in steps:
        place = folder / step.path
        if step.staged is None:
            place.unlink(missing_ok=True)
        elif (folder / step.staged).exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(folder / step.staged, place)
    _settle(folder, steps)


def _take_back(folder: Path, steps: list[_Step]) -> None:
    """Put back what was there, wherever that is still what the change made; and forget the change."""
    for step in steps:
        place, old = folder / step.path, folder / step.old
        if not _is_done(folder, step) or step.before == step.after:
            continue
        with suppress(OSError):
            if step.before is None:
                place.unlink(missing_ok=True)
            elif old.exists():
                os.replace(old, place)
    with suppress(OSError):
        _settle(folder, steps)


def _settle(folder: Path, steps: list[_Step]) -> None:
    for parent in {(folder / step.path).parent for step in steps}:
        sync_folder(parent)
    (folder / JOURNAL).unlink(missing_ok=True)
    _clear_stage(folder)


def _present(path: Path) -> str | None:
    """What tells whether a file still says the same, also in a copy of the folder; `None` where there is none."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError:
        return "folder"


def _clear_stage(folder: Path) -> None:
    """Remove what stopped processes left; nobody else writes there while the lock is held."""
    shutil.rmtree(folder / _STAGE, ignore_errors=True)
    for part in (folder / INDEX).glob(PART + "*"):
        part.unlink(missing_ok=True)


def _finished(count: int) -> str:
    """A stopped save was finished."""
    files = "1 file" if count == 1 else f"{count:,} files"
    return f"A save that was stopped half-way has been finished ({files})."


def _taken_back(path: str) -> str:
    """A stopped save was taken back."""
    return (
        "A save was stopped half-way, and files were changed by others since: it was taken back, and what it would "
        f"have written is kept in `{path}`."
    )
