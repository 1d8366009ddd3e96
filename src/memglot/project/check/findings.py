"""What a check has found so far, and the files it reads: by itself, for it must see what is broken."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from memglot.project.messages import conflict_found, file_unreadable, file_unsafe, json_invalid, said_by
from memglot.project.storage.errors import issue
from memglot.project.storage.merge_markers import conflict_line
from memglot.project.storage.paths import BACKUPS, FOLDER, INDEX, LOCK, OWN_FOLDER, RECOVERY
from memglot.project.storage.secrets import secrets_in

_SKIPPED = frozenset({INDEX, RECOVERY, BACKUPS, OWN_FOLDER, LOCK, "exports", "context"})
"""What is generated, kept aside or only ours, at the top of `.memory`."""


class Findings:
    """The files of a store, and what is wrong with them. Paths are below `.memory`; issues name them with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.errors: list[dict[str, Any]] = []
        self.warnings: list[dict[str, Any]] = []
        self.files: set[str] = set()
        self.folders: set[str] = set()
        self._walk("")

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; `None`, and an issue, where the system does not give them."""
        try:
            # A plain `open` costs a third of what `Path` takes, and there are twenty thousand files.
            with open(f"{self.folder}/{path}", "rb", buffering=0) as source:
                return source.read()
        except OSError as error:
            self.errors.append(file_unreadable(shown(path), said_by(error)))
            return None

    def text(self, path: str) -> tuple[bytes, str] | None:
        """The bytes and the text of a file in which no merge is left open; secrets in it are told."""
        content = self.read(path)
        if content is None:
            return None
        try:
            text = content.decode()
        except UnicodeDecodeError:
            self.errors.append(issue("TextEncodingInvalid", "This file is not UTF-8.", shown(path)))
            return None
        if (line := conflict_line(text)) is not None:
            self.errors.append(conflict_found(shown(path), line))
            return None
        for found in secrets_in(text):
            issues = self.errors if found.severity == "block" else self.warnings
            issues.append(
                issue("MemorySecretDetected", f"Line {found.line}: {found.message}", shown(path), f"line {found.line}")
            )
        return content, text

    def json(self, path: str) -> Any:
        """What a JSON file says; `None`, and an issue, where it says nothing."""
        found = self.text(path)
        if found is None:
            return None
        try:
            return msgspec.json.decode(found[0])
        except (msgspec.DecodeError, RecursionError) as error:
            self.errors.append(json_invalid(shown(path), str(error)))
            return None

    def _walk(self, inside: str) -> None:
        try:
            entries = sorted(os.scandir(self.folder / inside), key=lambda entry: entry.name)
        except OSError as error:
            self.errors.append(file_unreadable(shown(inside).rstrip("/"), said_by(error)))
            return
        for entry in entries:
            path = f"{inside}{entry.name}"
            if not inside and (entry.name in _SKIPPED or entry.name.startswith(".memory-tmp-")):
                continue
            if entry.is_symlink() or not (entry.is_dir() or entry.is_file()):
                self.errors.append(file_unsafe(shown(path)))
            elif entry.is_dir():
                self.folders.add(path)
                self._walk(f"{path}/")
            else:
                self.files.add(path)


def shown(path: str) -> str:
    """A path as issues name it."""
    return os.fsencode(f"{FOLDER}/{path}").decode("utf-8", "replace")
