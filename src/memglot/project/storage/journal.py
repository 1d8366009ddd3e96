"""Change several files completely or not at all.

All new contents are written to a stage folder first, so that a full disk is noticed before anything changes; the old
files get a second name there. Then the journal, which lists all files, is written: from now on the change counts. What
remains is renaming, which the next process finishes if this one is stopped. If that is impossible, because somebody
changed the files since or the system refuses, everything is rolled back.
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

from memglot.files import remove_abandoned, sync_file, sync_folder
from memglot.project.storage.errors import ProjectError, cannot_write
from memglot.project.storage.files import refuse_links, write_durable, write_file
from memglot.project.storage.hashes import local_time
from memglot.project.storage.ids import first_free
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


class Appended(NamedTuple):
    """A file that keeps its first bytes and gets more: for logs, which are not loaded into memory."""

    keep: int
    more: bytes


Content = bytes | Appended | None
"""New content of a file; None removes it."""


class _Step(Struct):
    """One file of a change: the staged new file, if any, the second name of the old file, and the digests of both."""

    path: str
    staged: str | None
    old: str
    after: str | None
    before: str | None


class _Journal(Struct):
    steps: list[_Step]


def change_files(folder: Path, files: Mapping[str, Content]) -> None:
    """Write, replace and (None) remove files of `.memory` as one change; the lock must be held.

    Raise `ProjectError` if a file cannot be written; then nothing has changed.
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
        _roll_back(folder, steps)
        place = os.path.relpath(error.filename, folder.parent) if error.filename else FOLDER
        raise cannot_write(place, (error.strerror or str(error)).lower()) from error


def _staged(folder: Path, path: str, content: Content, staged: str) -> _Step:
    place = folder / path
    step = _Step(path, None if content is None else staged, f"{staged}.old", None, _digest_of(place))
    if content is not None:
        _stage(folder / staged, place, content)
        if step.before is not None:
            (folder / staged).chmod(place.stat().st_mode & 0o777)
        place.parent.mkdir(parents=True, exist_ok=True)
        step.after = _digest_of(folder / staged)
    if step.before is not None:
        _link_or_copy(place, folder / step.old)
    return step


def _stage(staged: Path, place: Path, content: bytes | Appended) -> None:
    if isinstance(content, bytes):
        write_durable(staged, content)
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


def _link_or_copy(place: Path, old: Path) -> None:
    try:
        os.link(place, old)
    except OSError:
        # Some systems have no hard links; a copy works there, but has other times.
        shutil.copy2(place, old)


def has_journal(folder: Path) -> bool:
    """Return True if a change is not finished."""
    return (folder / JOURNAL).exists()


def finish_change(folder: Path) -> list[str]:
    """Finish the change of a process that was stopped; return warnings. The lock must be held.

    If somebody else changed one of the files since, roll the change back and keep a copy of what it would have written.
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
        return ["`.memory/index/journal` was not written by memglot; it was renamed, and nothing in it was done."]
    if all(_is_pending(folder, step) or _is_done(folder, step) for step in steps):
        _apply(folder, steps)
        return [_finished(len(steps))]
    kept = recovery_folder(folder, local_time(export_time()))
    for step in steps:
        for name in (step.staged, step.path if _is_done(folder, step) else None):
            if name is not None and (folder / name).is_file():
                (folder / kept / step.path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(folder / name, folder / kept / step.path)
    _roll_back(folder, steps)
    return [_rolled_back(f"{FOLDER}/{kept}")]


def recovery_folder(folder: Path, now: str) -> str:
    """Return the path of a new folder for copies, below `.memory`; an existing one is never reused."""
    wanted = f"{RECOVERY}/{_UNNAMEABLE.sub('-', now)}"
    return first_free(wanted, lambda path: os.path.lexists(folder / path))


def _steps(folder: Path, raw: bytes) -> list[_Step] | None:
    """Return the steps of a journal; None if memglot did not write it.

    A repository may contain a journal of its own, which must not reach anything outside of the storage.
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
    is_staged = step.staged is None or _digest_of(folder / step.staged) == step.after
    return is_staged and _digest_of(folder / step.path) == step.before


def _is_done(folder: Path, step: _Step) -> bool:
    return _digest_of(folder / step.path) == step.after


def _apply(folder: Path, steps: list[_Step]) -> None:
    for step in steps:
        place = folder / step.path
        if step.staged is None:
            place.unlink(missing_ok=True)
        elif (folder / step.staged).exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(folder / step.staged, place)
    _finish(folder, steps)


def _roll_back(folder: Path, steps: list[_Step]) -> None:
    """Restore the old files that nobody else changed since, and drop the change."""
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
        _finish(folder, steps)


def _finish(folder: Path, steps: list[_Step]) -> None:
    for parent in {(folder / step.path).parent for step in steps}:
        sync_folder(parent)
    (folder / JOURNAL).unlink(missing_ok=True)
    _clear_stage(folder)


def _digest_of(path: Path) -> str | None:
    """Return a digest of a file, which is the same in a copy of the folder; None if there is no file."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError:
        return "folder"


def _clear_stage(folder: Path) -> None:
    """Remove what stopped processes left; nobody else writes there while we hold the lock."""
    shutil.rmtree(folder / _STAGE, ignore_errors=True)
    remove_abandoned(folder / INDEX)


def _finished(count: int) -> str:
    """Return the warning about a finished save."""
    files = "1 file" if count == 1 else f"{count:,} files"
    return f"An interrupted save was finished ({files})."


def _rolled_back(path: str) -> str:
    """Return the warning about a save that was rolled back."""
    return (
        "A save was interrupted, and others changed its files since: it was rolled back, and what it would have "
        f"written is kept in `{path}`."
    )
