"""A change of several files that happens whole or not at all.

All new contents are written apart first, so that a full disk is found before anything changes. Then a journal that
names them takes its place: from then on the change has happened. What is left to do is renaming, which whoever comes
next finishes if this process does not.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from memglot.errors.repo import ProjectError, cannot_write
from memglot.formats._repo.text import local_time
from memglot.formats._repo.turn import JOURNAL
from memglot.formats._repo.words import CONFIG, EVENTS, FOLDER, INDEX, NODES, RECOVERY, RELATIONS, SCHEMAS
from memglot.notes.repo import note_bad_journal, note_finished, note_kept_copy
from memglot.repo.files import refuse_links, sync_folder, write_file, write_lasting
from memglot.settings import moment

_STAGE = f"{INDEX}/stage"
_STAGED = re.compile(rf"{_STAGE}/\d+")
_MAY_CHANGE = re.compile(rf"({CONFIG}|{EVENTS}|({NODES}|{RELATIONS}|{SCHEMAS})/[^\0]+\.(json|md))")


class Grown(NamedTuple):
    """A file that keeps its first bytes and gets more: for logs, which are not held in memory."""

    keep: int
    more: bytes


Content = bytes | Grown | None
"""What a file will hold; `None` for one that goes."""


class _Step(Struct):
    """One file of a change: what takes its place, if anything, and what was there before."""

    path: str
    staged: str | None
    before: str | None


class _Journal(Struct):
    steps: list[_Step]


def change_files(folder: Path, files: Mapping[str, Content]) -> None:
    """Write, replace and (`None`) remove files of `.memory` as one change; the lock must be held.

    Raises `ProjectError` when a file cannot be written; nothing has changed then.
    """
    for path in files:
        refuse_links(folder, path)
    try:
        _clear_stage(folder)
        (folder / _STAGE).mkdir(parents=True)
        steps = []
        for number, (path, content) in enumerate(files.items()):
            staged = None if content is None else f"{_STAGE}/{number}"
            if staged is not None and content is not None:
                _stage(folder / staged, folder / path, content)
                _keep_mode(folder / staged, folder / path)
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
            steps.append(_Step(path, staged, _present(folder / path)))
        sync_folder(folder / _STAGE)
        write_file(folder / JOURNAL, msgspec.json.encode(_Journal(steps)))
    except OSError as error:
        (folder / JOURNAL).unlink(missing_ok=True)
        _clear_stage(folder)
        place = os.path.relpath(error.filename, folder.parent) if error.filename else FOLDER
        raise cannot_write(place, (error.strerror or str(error)).lower()) from error
    _apply(folder, steps)


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
        out.flush()
        os.fsync(out.fileno())


def has_journal(folder: Path) -> bool:
    """Tell whether a change waits to be finished."""
    return (folder / JOURNAL).exists()


def finish_change(folder: Path) -> list[str]:
    """Finish the change of a process that was stopped in it; the lock must be held. Tells what a person should know.

    A file that somebody changed since is copied aside before it is replaced.
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
        return [note_bad_journal()]
    told = [note_finished(len(steps))]
    apart = f"{RECOVERY}/{local_time(moment()).replace(':', '-').replace('+', '-')}"
    for step in steps:
        to_do = step.staged is None or (folder / step.staged).exists()
        present = _present(folder / step.path)
        if to_do and present is not None and present != step.before:
            kept = folder / apart / step.path
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / step.path, kept)
            told.append(note_kept_copy(f"{FOLDER}/{step.path}", f"{FOLDER}/{apart}/{step.path}"))
    _apply(folder, steps)
    return told


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
        if step.staged is not None and not _STAGED.fullmatch(step.staged):
            return None
        try:
            refuse_links(folder, step.path)
            refuse_links(folder, step.staged or "")
        except ProjectError:
            return None
    return steps


def _apply(folder: Path, steps: list[_Step]) -> None:
    for step in steps:
        place = folder / step.path
        if step.staged is None:
            place.unlink(missing_ok=True)
        elif (folder / step.staged).exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(folder / step.staged, place)
    for parent in {(folder / step.path).parent for step in steps}:
        sync_folder(parent)
    (folder / JOURNAL).unlink(missing_ok=True)
    _clear_stage(folder)


def _present(path: Path) -> str | None:
    """What tells whether a file is still the same."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return f"{found.st_mtime_ns}:{found.st_size}:{found.st_ino}"


def _keep_mode(new: Path, old: Path) -> None:
    try:
        new.chmod(old.stat().st_mode & 0o777)
    except (FileNotFoundError, NotADirectoryError):
        return


def _clear_stage(folder: Path) -> None:
    shutil.rmtree(folder / _STAGE, ignore_errors=True)
