"""The registry of a user's projects: their folders, in `projects.json` of `$MEMORY_HOME`, and never their contents."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from memglot.files import create_folders
from memglot.project.project import Project
from memglot.project.storage.errors import ProjectError, cannot_write, reason_of
from memglot.project.storage.files import write_file
from memglot.project.storage.git import Git
from memglot.project.storage.hashes import local_time, stable_json
from memglot.project.storage.lock import locked
from memglot.project.storage.paths import FOLDER
from memglot.project.storage.shapes import Config, Identity
from memglot.settings import export_time, memory_home

Source: TypeAlias = Literal["auto", "manual"]
Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[Row]
_FILE = "projects.json"
_LOCK = "projects.lock"
_NOT_IN_FILE_NAMES = re.compile(r"[^0-9A-Za-z.-]")
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
    """The registered projects of a user. A row is an object as the file contains it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / _FILE
        self.warnings: list[str] = []
        """Warnings to show with the result."""

    def list(self) -> Rows:
        """Return all rows, ordered by name, id and root."""
        return self._read()[0]

    def add(self, root: Path, config: Config, source: Source = "auto") -> Row:
        """Register a project, or update when it was last seen; a project that was added manually stays so.

        Automatic registration never fails a command: it only warns. Manual registration raises `ProjectError`.
        """
        row = _row(root, config.project, source)

        def put(rows: Rows) -> Rows:
            for known in rows:
                if known["registry_id"] == row["registry_id"]:
                    row["registered_at"] = known["registered_at"]
                    row["source"] = "manual" if "manual" in (known["source"], source) else "auto"
                    # Keys of other releases are kept.
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
        """Unregister a project by registry id, path, project id or name; its memory is kept. Raise `ProjectError`."""
        gone: Row = {}

        def without(rows: Rows) -> Rows:
            gone.update(_find_row(rows, identifier))
            return [row for row in rows if row["registry_id"] != gone["registry_id"]]

        self._change("remove", without)
        return gone

    def prune(self) -> Rows:
        """Unregister the projects whose memory is missing, unreadable or of another version; return their rows."""
        lost: Rows = []

        def readable(rows: Rows) -> Rows:
            lost.extend(row for row in rows if not _is_readable(Path(row["project_root"])))
            return [row for row in rows if row not in lost]

        self._change("prune", readable)
        return lost

    def _read(self) -> tuple[Rows, bool]:
        """Return the rows, and True if the file can be overwritten."""
        try:
            found = msgspec.json.decode(self.path.read_bytes())
            msgspec.convert(found, _File)
        except (FileNotFoundError, NotADirectoryError):
            return [], True
        except OSError as error:
            raise cannot_write(str(self.path), reason_of(error)) from error
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            self._warn(
                f"`{self.path}` is not a valid registry of projects ({error}) and is treated as empty; the next write "
                "renames it."
            )
            return [], False
        return sorted(found["projects"], key=_order), True

    def _change(self, operation: str, change: Callable[[Rows], Rows]) -> None:
        with ExitStack() as held:
            try:
                create_folders(self.home)
                held.enter_context(locked(self.home, operation, name=_LOCK))
                rows, is_valid = self._read()
                changed = sorted(change([dict(row) for row in rows]), key=_order)
                if changed == rows and (is_valid or not changed):
                    return
                if not is_valid:
                    os.replace(self.path, self._name_for_invalid())
                write_file(self.path, stable_json({"projects": changed, "version": 1}), shared=False)
            except UnicodeEncodeError:
                raise cannot_write(str(self.path), "the path of the project is not valid UTF-8") from None
            except OSError as error:
                raise cannot_write(str(self.path), reason_of(error)) from error

    def _name_for_invalid(self) -> Path:
        """Return a new name for an invalid file, so that its contents are not lost."""
        return (
            self.home / f"projects.invalid-{_NOT_IN_FILE_NAMES.sub('-', local_time(export_time()))}-{os.getpid()}.json"
        )

    def _warn(self, note: str) -> None:
        if note not in self.warnings:
            self.warnings.append(note)


@contextmanager
def open_registry(project: Project) -> Iterator[Registry]:
    """Open the user's registry; its warnings are added to the project's."""
    registry = Registry(memory_home())
    yield registry
    project.warnings.extend(registry.warnings)


def list_projects(project: Project) -> dict[str, Any]:
    """Return the registered projects."""
    with open_registry(project) as registry:
        return {"registry_path": str(registry.path), "projects": registry.list()}


def add_project(project: Project, path: Path | None = None) -> dict[str, Any]:
    """Register the project around a folder, or this one."""
    other = Project.find(path) if path is not None else project
    with open_registry(project) as registry:
        return {"registry_path": str(registry.path), "project": registry.add(other.root, other.config, "manual")}


def remove_project(project: Project, name: str) -> dict[str, Any]:
    """Unregister a project; its memory is kept."""
    with open_registry(project) as registry:
        return {"registry_path": str(registry.path), "removed": registry.remove(name)}


def prune_projects(project: Project) -> dict[str, Any]:
    """Unregister the projects whose memory is missing, unreadable or of another version."""
    with open_registry(project) as registry:
        removed = registry.prune()
        return {"registry_path": str(registry.path), "projects": registry.list(), "removed": removed}


def registry_id_of(root: Path) -> str:
    """Return the registry id of a project, which depends on its real path."""
    return "prj_" + sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]


def project_at(root: Path) -> Project:
    """Return the project at a registered folder: exactly there, even if its memory is missing."""
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


def _find_row(rows: Rows, identifier: str) -> Row:
    """Return the row for an identifier; unique identifiers are compared before names."""
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
    return tuple(_sort_key(text) for text in (project["name"], project["id"], row["project_root"]))


def _sort_key(text: str) -> tuple[Any, ...]:
    """Return a key that sorts as people do: by letters, then accents, then case, lower case first."""
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
    """Return the error for a project that is not registered."""
    message = f"No registered project is called `{identifier}`. Run `memglot repo projects` to list them."
    return ProjectError("MemoryValidationFailed", message, {"field": "identifier", "identifier": identifier})


def _ambiguous_project(identifier: str, matching: Sequence[tuple[str, str]]) -> ProjectError:
    """Return the error for a name that several registered projects have, given their registry ids and roots."""
    listed = ", ".join(f"`{registry_id}` ({root})" for registry_id, root in matching)
    message = f"`{identifier}` matches several registered projects: {listed}. Use a registry id or a path."
    details = {"field": "identifier", "identifier": identifier, "registry_ids": [each for each, _ in matching]}
    return ProjectError("MemoryValidationFailed", message, details)
