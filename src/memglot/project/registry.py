"""The registry of a user's projects, in `projects.json` of `$MEMORY_HOME`: where to look, never what is known there."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from memglot.project.git import Git
from memglot.project.messages import NAMELESS_PLACE, said_by
from memglot.project.project import Project
from memglot.project.storage.errors import ProjectError, cannot_write
from memglot.project.storage.files import write_file
from memglot.project.storage.hashes import local_time, stable_json
from memglot.project.storage.lock import locked
from memglot.project.storage.paths import FOLDER
from memglot.project.storage.shapes import Config, Identity
from memglot.settings import export_time

Source: TypeAlias = Literal["auto", "manual"]
Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[Row]
_FILE = "projects.json"
_LOCK = "projects.lock"
_UNNAMEABLE = re.compile(r"[^0-9A-Za-z.-]")
_PUNCTUATION = {character: rank for rank, character in enumerate("_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$")}


class _Identity(Struct):
    id: str
    name: str


class _Row(Struct):
    registry_id: str
    project_root: str
    memory_root: str
    project: _Identity
    source: Source
    registered_at: str
    last_seen_at: str


class _File(Struct):
    version: Literal[1]
    projects: list[_Row]


class Registry:
    """The projects that this user's commands have met. A row is the plain object that the file holds."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / _FILE
        self.warnings: list[str] = []
        """What a person should know of the work done so far."""

    def list(self) -> Rows:
        """All rows, ordered by name, id and root."""
        return self._read()[0]

    def add(self, root: Path, config: Config, source: Source = "auto") -> Row:
        """Register a project, or note that it was seen; one that was added by hand stays so.

        Registering by the way never fails the command it belongs to: it only warns. By hand, it raises `ProjectError`.
        """
        row = _row(root, config.project, source)

        def put(rows: Rows) -> Rows:
            for known in rows:
                if known["registry_id"] == row["registry_id"]:
                    row["registered_at"] = known["registered_at"]
                    row["source"] = "manual" if "manual" in (known["source"], source) else "auto"
                    # Keys that another release knows stay.
                    row.update({key: value for key, value in known.items() if key not in row})
            return [*(known for known in rows if known["registry_id"] != row["registry_id"]), row]

        try:
            self._change("register", put)
        except ProjectError as error:
            if source == "manual":
                raise
            self.warnings.append(f"This project was not registered: {error.message}")
        return row

    def remove(self, identifier: str) -> Row:
        """Forget a project, by its registry id, path, project id or name; its memory stays. Raises `ProjectError`."""
        gone: Row = {}

        def take(rows: Rows) -> Rows:
            gone.update(_the_one(rows, identifier))
            return [row for row in rows if row["registry_id"] != gone["registry_id"]]

        self._change("remove", take)
        return gone

    def prune(self) -> Rows:
        """Forget the projects whose memory is gone, cannot be read, or is of another version; give their rows."""
        lost: Rows = []

        def keep(rows: Rows) -> Rows:
            lost.extend(row for row in rows if not _is_readable(Path(row["project_root"])))
            return [row for row in rows if row not in lost]

        self._change("prune", keep)
        return lost

    def _read(self) -> tuple[Rows, bool]:
        """The rows, and whether the file may be written over."""
        try:
            found = msgspec.json.decode(self.path.read_bytes())
            msgspec.convert(found, _File)
        except (FileNotFoundError, NotADirectoryError):
            return [], True
        except OSError as error:
            raise cannot_write(str(self.path), said_by(error)) from error
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            self._warn(
                f"`{str(self.path)}` is no registry of projects ({str(error)}) and counts as empty; the next "
                "write keeps it aside."
            )
            return [], False
        return sorted(found["projects"], key=_order), True

    def _change(self, operation: str, change: Callable[[Rows], Rows]) -> None:
        with ExitStack() as held:
            try:
                self.home.mkdir(parents=True, exist_ok=True)
                held.enter_context(locked(self.home, operation, name=_LOCK))
                rows, is_valid = self._read()
                changed = sorted(change([dict(row) for row in rows]), key=_order)
                if changed == rows and (is_valid or not changed):
                    return
                if not is_valid:
                    os.replace(self.path, self._aside())
                write_file(self.path, stable_json({"projects": changed, "version": 1}))
            except UnicodeEncodeError:
                raise cannot_write(str(self.path), NAMELESS_PLACE) from None
            except OSError as error:
                raise cannot_write(str(self.path), said_by(error)) from error

    def _aside(self) -> Path:
        """Where a file goes that nobody can read, so that nothing in it is lost."""
        return self.home / f"projects.invalid-{_UNNAMEABLE.sub('-', local_time(export_time()))}-{os.getpid()}.json"

    def _warn(self, note: str) -> None:
        if note not in self.warnings:
            self.warnings.append(note)


def registry_id_of(root: Path) -> str:
    """The registry's id of a project, by its real place."""
    return "prj_" + sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]


def project_at(root: Path) -> Project:
    """The project that is registered at a folder: there and nowhere above, whatever became of it."""
    git = Git.find(root)
    is_its_own = git is not None and os.path.realpath(git.root) == os.path.realpath(root)
    return Project(root, git if is_its_own else None)


def _row(root: Path, project: Identity, source: Source) -> Row:
    place = os.path.realpath(root)
    now = local_time(export_time())
    return {
        "last_seen_at": now,
        "memory_root": os.path.join(place, FOLDER),
        "project": {"id": project.id, "name": project.name},
        "project_root": place,
        "registered_at": now,
        "registry_id": registry_id_of(root),
        "source": source,
    }


def _the_one(rows: Rows, identifier: str) -> Row:
    """The row that is meant. What can only mean one project goes before what several may share."""
    place = os.path.realpath(identifier)
    found = [row for row in rows if row["registry_id"] == identifier]
    found = found or [row for row in rows if row["project_root"] == place]
    found = found or [row for row in rows if identifier in (row["project"]["id"], row["project"]["name"])]
    if len(found) > 1:
        raise _ambiguous_project(identifier, [(row["registry_id"], row["project_root"]) for row in found])
    if not found:
        raise _unknown_project(identifier)
    return found[0]


def _is_readable(root: Path) -> bool:
    try:
        return bool(Project(root, None).config)
    except (ProjectError, OSError):
        return False


def _order(row: Row) -> tuple[Any, ...]:
    project = row["project"]
    return tuple(_collated(text) for text in (project["name"], project["id"], row["project_root"]))


def _collated(text: str) -> tuple[Any, ...]:
    """A text as people sort it: letters before their marks, marks before their case, small before capital."""
    plain = unicodedata.normalize("NFKD", text)
    letters = "".join(character for character in plain if not unicodedata.combining(character))
    return [_weight(character) for character in letters.casefold()], plain.casefold(), text.swapcase()


def _weight(character: str) -> tuple[int, int | str]:
    if character.isspace():
        return 0, character
    if character in _PUNCTUATION:
        return 1, _PUNCTUATION[character]
    return 2 if character.isdigit() else 3, character


def _unknown_project(identifier: str) -> ProjectError:
    """A project that the registry does not know."""
    message = f"No registered project is called `{identifier}`. `memglot repo projects` lists those there are."
    return ProjectError("MemoryValidationFailed", message, {"field": "identifier", "identifier": identifier})


def _ambiguous_project(identifier: str, fitting: Sequence[tuple[str, str]]) -> ProjectError:
    """A name that several registered projects have; `fitting` are their registry ids and roots."""
    listed = ", ".join(f"`{registry_id}` ({root})" for registry_id, root in fitting)
    message = f"`{identifier}` fits several registered projects: {listed}. Name one by its registry id or its path."
    details = {"field": "identifier", "identifier": identifier, "registry_ids": [each for each, _ in fitting]}
    return ProjectError("MemoryValidationFailed", message, details)
