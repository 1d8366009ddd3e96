"""The issues that a check has found so far, and the files that it reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memglot.files import is_temporary
from memglot.project.storage import faults
from memglot.project.storage.errors import issue
from memglot.project.storage.faults import FileFault
from memglot.project.storage.merge_markers import conflict_line
from memglot.project.storage.paths import BACKUPS, INDEX, LOCK, OWN_FOLDER, RECOVERY, memory_path
from memglot.project.storage.reader import StoreReader, decode_json
from memglot.project.storage.secrets import find_secrets

_SKIPPED = frozenset({INDEX, RECOVERY, BACKUPS, OWN_FOLDER, LOCK, "exports", "context"})
"""Entries of `.memory` that are not checked: generated files, copies, and what only memglot stores."""


class Findings:
    """The files of a store, and the issues found in them. Paths are relative to `.memory`."""

    def __init__(self, folder: Path) -> None:
        self.errors: list[dict[str, Any]] = []
        self.warnings: list[dict[str, Any]] = []
        self.files: set[str] = set()
        self.folders: set[str] = set()
        self._reader = StoreReader(folder)
        for path, entry in self._reader.walk(on_fault=self.add_error, skip=_is_skipped):
            if entry.is_dir():
                self.folders.add(path)
            elif entry.is_file():
                self.files.add(path)
            else:
                self.add_error(faults.special_file(path))

    def error(self, code: str, message: str, path: str, field: str | None = None) -> None:
        """Add an error about a file."""
        self.errors.append(issue(code, message, memory_path(path), field))

    def warn(self, code: str, message: str, path: str, field: str | None = None) -> None:
        """Add a warning about a file."""
        self.warnings.append(issue(code, message, memory_path(path), field))

    def add_error(self, fault: FileFault) -> None:
        """Add a fault of a file to the errors."""
        self.errors.append(fault.issue())

    def files_in(self, folder: str, ending: str) -> list[str]:
        """Return the paths of the files below a folder with an ending, sorted."""
        return sorted(path for path in self.files if path.startswith(f"{folder}/") and path.endswith(ending))

    def text(self, path: str) -> tuple[bytes, str] | None:
        """Return the bytes and the text of a file, and report secrets in it; None if it cannot be used."""
        try:
            content = self._reader.read(path)
        except FileFault as fault:
            self.add_error(fault)
            return None
        try:
            text = content.decode()
        except UnicodeDecodeError:
            self.error("TextEncodingInvalid", "This file is not UTF-8.", path)
            return None
        if (line := conflict_line(text)) is not None:
            self.add_error(faults.merge_conflict(path, line))
            return None
        for found in find_secrets(text):
            report = self.error if found.severity == "block" else self.warn
            report("MemorySecretDetected", f"Line {found.line}: {found.message}", path, f"line {found.line}")
        return content, text

    def json(self, path: str) -> Any:
        """Return the value in a JSON file; None if it cannot be used."""
        found = self.text(path)
        if found is None:
            return None
        try:
            return decode_json(path, found[0])
        except FileFault as fault:
            self.add_error(fault)
            return None


def _is_skipped(path: str) -> bool:
    return path in _SKIPPED or is_temporary(path)
