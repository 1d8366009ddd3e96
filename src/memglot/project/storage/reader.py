"""Find and decode the files of a `.memory` folder.

The index, the commands, `check` and the format all read a store through `StoreReader`. Nothing in a repository is
trusted: links are not followed, pipes and devices are not opened, and what is wrong with a file is a `FileFault`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from stat import S_ISREG
from typing import Any, TypeVar

import msgspec

from memglot.files import path_inside
from memglot.project.storage import faults
from memglot.project.storage.faults import FileFault
from memglot.project.storage.ids import kind_of
from memglot.project.storage.paths import CONFIG
from memglot.project.storage.shapes import Config, RelationFile, Sidecar
from memglot.project.storage.vocabulary import STORAGE_VERSION

_MAX_SMALL_FILE = 1 << 24
_SIDECAR_FIELDS = frozenset(field.encode_name for field in msgspec.structs.fields(Sidecar))
_RELATION_FIELDS = frozenset(field.encode_name for field in msgspec.structs.fields(RelationFile))
_Shape = TypeVar("_Shape", Config, Sidecar, RelationFile)


class StoreReader:
    """Reader of one `.memory` folder. All paths are relative to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def walk(
        self,
        below: str = "",
        *,
        on_fault: Callable[[FileFault], None],
        skip: Callable[[str], bool] | None = None,
        ordered: bool = True,
    ) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Yield everything below a folder, with its path: files, folders, and special files such as pipes.

        Links, names that are not UTF-8 and folders that cannot be read are passed to `on_fault` instead. `skip` leaves
        out paths with all below them. Without `ordered`, the order is that of the file system.
        """
        if below and (self.folder / below).is_symlink():
            on_fault(faults.linked_file(below))
            return
        prefix = f"{below}/" if below else ""
        waiting = [(prefix, self._entries(below, on_fault, ordered))]
        while waiting:
            prefix, entries = waiting[-1]
            for entry in entries:
                name = entry.name
                path = prefix + name
                if skip is not None and skip(path):
                    continue
                if not name.isascii() and not _is_utf8(name):
                    on_fault(faults.bad_name(path))
                elif entry.is_symlink():
                    on_fault(faults.linked_file(path))
                else:
                    yield path, entry
                    if entry.is_dir():
                        waiting.append((f"{path}/", self._entries(path, on_fault, ordered)))
                        break
            else:
                waiting.pop()

    def _entries(self, below: str, on_fault: Callable[[FileFault], None], ordered: bool) -> Iterator[os.DirEntry[str]]:
        try:
            found = os.scandir(self.folder / below)
        except (FileNotFoundError, NotADirectoryError):
            return iter(())
        except OSError as error:
            on_fault(faults.unreadable_file(below, error))
            return iter(())
        if not ordered:
            return found  # A list of tens of thousands of entries would take as long as the rest of the walk.
        with found:
            return iter(sorted(found, key=attrgetter("name")))

    def files(self, below: str, ending: str, on_fault: Callable[[FileFault], None] | None = None) -> Iterator[str]:
        """Yield the paths of the regular files below a folder with an ending, sorted."""
        for path, entry in self.walk(below, on_fault=on_fault or _ignore):
            if path.endswith(ending) and entry.is_file():
                yield path

    def read(self, path: str) -> bytes:
        """Return the bytes of a file. Raise `FileFault`."""
        try:
            # A plain `open` takes a third of the time of `Path`, and a store may have tens of thousands of files.
            with open(f"{self.folder}/{path}", "rb", buffering=0) as file:
                return file.read()
        except FileNotFoundError:
            raise faults.missing_file(path) from None
        except OSError as error:
            raise faults.unreadable_file(path, error) from error

    def body(self, path: str, body_path: str) -> bytes:
        """Return the text of the node whose sidecar is at `path`. Raise `FileFault`."""
        try:
            place = path_inside(self.folder, body_path)
            if place is None:
                raise faults.body_outside(path, body_path)
            if not S_ISREG(place.lstat().st_mode):
                raise faults.special_body(body_path)
        except (OSError, ValueError):  # It is not there, or no file can have such a name.
            raise faults.missing_body(path, body_path) from None
        return self.read(body_path)

    def small_file(self, path: str) -> bytes | None:
        """Return the first 16 MiB of a file; None if there is no regular file of this name."""
        place = path_inside(self.folder, path)
        if place is None or not place.is_file():
            return None
        with open(place, "rb") as file:
            return file.read(_MAX_SMALL_FILE)

    def lines(self, path: str) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of a file with their numbers; nothing if there is no regular file of this name."""
        place = path_inside(self.folder, path)
        if place is not None and place.is_file():
            with open(place, "rb") as file:
                yield from enumerate(file, 1)

    def config(self) -> tuple[bytes, dict[str, Any]]:
        """Return `config.json`, as bytes and decoded. Raise `FileFault` if it is missing or of another version."""
        raw = self.small_file(CONFIG)
        if raw is None:
            raise faults.missing_file(CONFIG)
        fields = decode_json(CONFIG, raw)
        check_version(fields)
        return raw, fields


def decode_json(path: str, raw: bytes) -> Any:
    """Return the value in a JSON file. Raise `FileFault`."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise faults.invalid_json(path, raw, error) from None


def check_version(config: object) -> None:
    """Raise `FileFault` if the content of `config.json` is of another storage version."""
    version = config.get("version") if isinstance(config, dict) else None
    # In Python `True == 1` and `5.0 == 5`; neither is a version.
    if type(version) is not int or version != STORAGE_VERSION:
        raise faults.UnsupportedVersion(CONFIG, version)


def to_config(value: object) -> Config:
    """Return the decoded `config.json` as a struct. Raise `FileFault` if it has values that are not allowed."""
    return _convert(CONFIG, value, Config, None)


def to_sidecar(path: str, value: object, *, allow_unknown: bool = False) -> Sidecar:
    """Return a decoded sidecar as a struct. Raise `FileFault` if it has values that are not allowed."""
    return _convert(path, value, Sidecar, _SIDECAR_FIELDS if allow_unknown else None)


def to_relation(path: str, value: object, *, allow_unknown: bool = False) -> RelationFile:
    """Return the decoded file of a relation as a struct. Raise `FileFault` if it has values that are not allowed."""
    return _convert(path, value, RelationFile, _RELATION_FIELDS if allow_unknown else None)


def _convert(path: str, value: object, shape: type[_Shape], known: frozenset[str] | None) -> _Shape:
    if known is not None and isinstance(value, dict):
        value = {key: item for key, item in value.items() if key in known}
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise faults.invalid_schema(path, error) from None


def sidecar_faults(path: str, sidecar: Sidecar) -> Iterator[FileFault]:
    """Yield what is wrong with the names in a sidecar that its schema allows."""
    for field, value in (("/id", sidecar.id), ("/body_path", sidecar.body_path)):
        if not value.isprintable():
            yield faults.control_characters(path, field)
    if kind_of(sidecar.id) != sidecar.type:
        yield faults.kind_mismatch(path, sidecar.id, sidecar.type)


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _ignore(fault: FileFault) -> None:
    """Do nothing about a fault."""
