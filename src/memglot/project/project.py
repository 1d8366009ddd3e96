"""A project: its folder, its git repository and its config."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Any

from memglot.project.storage.errors import (
    ProjectError,
    not_initialized,
    schema_failed,
    unsafe_path,
    unsupported_version,
)
from memglot.project.storage.faults import FileFault, UnsupportedVersion
from memglot.project.storage.git import NO_GIT, Git
from memglot.project.storage.paths import (
    BACKUPS,
    CONFIG,
    FOLDER,
    INDEX,
    NODES,
    RECOVERY,
    RELATIONS,
    SCHEMAS,
    memory_path,
)
from memglot.project.storage.reader import StoreReader, to_config
from memglot.project.storage.shapes import Config


class Project:
    """A folder with a `.memory/`, or where one can be created."""

    def __init__(self, root: Path, git: Git | None) -> None:
        self.root = root
        self.git = git
        self.folder = root / FOLDER
        self.warnings: list[str] = []
        """Warnings to show with the result."""

    @classmethod
    def find(cls, start: Path) -> Project:
        """Return the project of a folder: its repository, else the nearest parent with `.memory/`, else the folder."""
        start = start.resolve()
        git = Git.find(start)
        if git is not None:
            return cls(git.root, git)
        for folder in (start, *start.parents):
            if (folder / FOLDER / CONFIG).is_file():
                return cls(folder, None)
        return cls(start, None)

    @cached_property
    def config(self) -> Config:
        """The contents of `config.json`. Raise `ProjectError` if it is missing or of another version."""
        self.refuse_links()
        try:
            return to_config(StoreReader(self.folder).config()[1])
        except FileFault as fault:
            raise self._config_error(fault) from None

    def _config_error(self, fault: FileFault) -> ProjectError:
        if fault.code == "CanonicalFileMissing":
            has_backup = any((self.folder / BACKUPS).glob("*.tar.gz"))
            return not_initialized(str(self.root), has_backup=has_backup)
        if fault.code == "JsonInvalid":
            path = memory_path(CONFIG)
            details = {"path": path, "message": fault.reason}
            return ProjectError("MemoryInvalidJson", f"`{path}` contains invalid JSON: {fault.reason}", details)
        if isinstance(fault, UnsupportedVersion):
            return unsupported_version(fault.found)
        return schema_failed([fault.issue()])

    def refuse_links(self) -> None:
        """Raise `ProjectError` if `.memory` or one of its folders is a link: a repository can contain such links."""
        for name in ("", CONFIG, NODES, RELATIONS, SCHEMAS, INDEX, RECOVERY, BACKUPS):
            if (self.folder / name).is_symlink():
                raise unsafe_path(f"{FOLDER}/{name}".rstrip("/"))

    @property
    def is_initialized(self) -> bool:
        """True if the project has a memory."""
        return (self.folder / CONFIG).is_file()

    def meta(self) -> dict[str, Any]:
        """Return the paths and the git state, for the envelope."""
        state = NO_GIT
        if self.git is not None:
            try:
                state = self.git.state()
            except ProjectError:
                state = NO_GIT | {"available": True}
        return {"project_root": printable(self.root), "memory_root": printable(self.folder), "git": state}


def printable(path: Path) -> str:
    """Return a path as text; bytes that are not valid UTF-8 become replacement characters."""
    return os.fsencode(path).decode(errors="replace")
