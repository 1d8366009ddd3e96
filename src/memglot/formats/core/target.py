"""Target: where an export goes. Files are written beside their place and renamed, so that none is ever half there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from memglot.errors import CannotWrite, TargetExists
from memglot.files import path_inside, replace_database, replace_file, sqlite_files, sync_file, temporary_path
from memglot.formats.core.sidecar import LineProver, display_key, encode_item, kind_name
from memglot.formats.core.source import FOLDER_PROOF, SIDECAR
from memglot.model import Item
from memglot.report import Report


class Target:
    """A path, or a stream for standard output and text in memory."""

    def __init__(
        self, path: Path | None = None, stream: BinaryIO | None = None, *, force: bool = False, plain: bool = False
    ) -> None:
        self.path = path
        self.stream = stream
        self.force = force
        self.plain = plain
        self._beside: BinaryIO | None = None
        self._beside_path: Path | None = None
        self._beside_sum = LineProver()

    @contextmanager
    def file(self) -> Iterator[BinaryIO]:
        """The file to write; it takes its place when the block ends well, and leaves no trace when it does not."""
        if self.path is None:
            assert self.stream is not None
            yield self.stream
            self.stream.flush()
            return
        self.check()
        try:
            if self.is_special():
                with open(self.path, "wb") as out:
                    yield out
            else:
                # A link stays a link: what it points to is replaced.
                with replace_file(self.path.resolve()) as out:
                    yield out
            self._finish_beside()
        except OSError as error:
            raise CannotWrite(str(self.path), (error.strerror or str(error)).lower()) from error
        finally:
            self.discard()

    @contextmanager
    def place(self) -> Iterator[Path]:
        """A path to write to, for writers that need one, such as databases; what is there takes its place afterwards.

        A stream gets the finished file.
        """
        if self.path is None or self.is_special():
            with tempfile.TemporaryDirectory(prefix="memglot-") as folder:
                part = Path(folder) / "part"
                yield part
                with self.file() as out, open(part, "rb") as whole:
                    shutil.copyfileobj(whole, out)
            return
        self.check()
        place = self.path.resolve()
        try:
            _check_unused(place)
            with replace_database(place) as part:
                yield part
            self._finish_beside()
        except OSError as error:
            raise CannotWrite(str(self.path), (error.strerror or str(error)).lower()) from error
        finally:
            self.discard()

    def check(self) -> None:
        """Refuse to overwrite something, unless that was asked for."""
        if self.path is not None and not self.force:
            for place in (self.path, self.path.with_name(self.path.name + SIDECAR)):
                if place.exists() or place.is_symlink():
                    raise TargetExists(str(place))

    def is_special(self) -> bool:
        """Tell whether the path is a pipe or a device, which is written to as it is and has nothing beside it."""
        return self.path is not None and self.path.exists() and not self.path.is_file()

    @property
    def sidecar_count(self) -> int:
        """How many items went beside the file."""
        return self._beside_sum.count

    def add_leftover(self, item: Item, report: Report) -> None:
        """Keep what the format has no place for in `<out>.memglot.ndjson`; a stream has no such place."""
        if self.path is None or self.plain or self.is_special():
            report.dropped(kind_name(item), display_key(item))
            return
        if self._beside is None:
            self.check()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._beside_path = self.path.with_name(self.path.name + SIDECAR)
            self._beside = open(temporary_path(self._beside_path), "wb")
        line = encode_item(item)
        self._beside_sum.add(line)
        self._beside.write(line + b"\n")

    def _finish_beside(self) -> None:
        if self._beside is not None and self._beside_path is not None:
            self._beside.write(self._beside_sum.end_line() + b"\n")
            sync_file(self._beside)
            self._beside.close()
            os.replace(self._beside.name, self._beside_path)
            self._beside = None
        elif self.path is not None:
            # What an earlier export left beside this file belongs to the file that was just replaced.
            self.path.with_name(self.path.name + SIDECAR).unlink(missing_ok=True)

    def discard(self) -> None:
        """Clear away what was written beside a file that does not come to be."""
        if self._beside is not None:
            self._beside.close()
            os.unlink(self._beside.name)
            self._beside = None


class FolderTarget:
    """A folder of notes. A new one appears whole; one this tool wrote before is updated in place."""

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self.path = path
        self.force = force
        self.existing = path.exists()
        if path.is_symlink() and not self.existing or self.existing and not path.is_dir():
            raise TargetExists(str(path))
        ours = (path / FOLDER_PROOF).is_file()
        if self.existing and not ours and not force and any(path.iterdir()):
            raise TargetExists(str(path))
        self.folder = path if self.existing else temporary_path(path)
        self._made: set[str] = set()

    def inside(self, relative: str) -> Path | None:
        """The place of a file in the folder; `None` where its path, or a link on the way, leads elsewhere."""
        return path_inside(self.folder, relative)

    def differs(self, relative: str, content: bytes) -> bool:
        """Tell whether a file has other bytes, or is not there."""
        if not self.existing:
            return True
        place = self.folder / relative
        try:
            return place.is_symlink() or not place.is_file() or place.read_bytes() != content
        except OSError as error:
            raise self._cannot(relative, error) from error

    def put(self, relative: str, content: bytes) -> None:
        """Write one file."""
        parent = os.path.dirname(relative)
        place = os.path.join(self.folder, relative)
        try:
            if parent not in self._made:
                if path_inside(self.folder, parent or ".") is None:
                    raise OSError(0, "a link leads out of the folder")
                os.makedirs(os.path.dirname(place), exist_ok=True)
                self._made.add(parent)
            if not self.existing:
                with open(place, "wb", buffering=0) as out:
                    out.write(content)
            else:
                with replace_file(Path(place)) as out:
                    out.write(content)
        except OSError as error:
            raise self._cannot(relative, error) from error

    def put_lines(self, relative: str, lines: Iterable[bytes], *, ended: bool = True) -> None:
        """Write one file line by line; one that is not `ended` has no newline at its end."""
        try:
            with replace_file(self._sure(relative)) as out:
                out.writelines(line + b"\n" for line in lines)
                if not ended and out.tell():
                    out.truncate(out.tell() - 1)
        except OSError as error:
            raise self._cannot(relative, error) from error

    def append(self, relative: str, lines: Iterable[bytes]) -> None:
        """Add lines to a file, which stays as it is before them."""
        lines = list(lines)
        try:
            with open(self._sure(relative), "ab+") as out:
                if lines and out.tell():
                    out.seek(-1, os.SEEK_END)
                    out.write(b"" if out.read(1) == b"\n" else b"\n")
                out.writelines(line + b"\n" for line in lines)
                sync_file(out)
        except OSError as error:
            raise self._cannot(relative, error) from error

    def _sure(self, relative: str) -> Path:
        place = self.inside(relative)
        if place is None:
            raise OSError(0, "a link leads out of the folder")
        return place

    def _cannot(self, relative: str, error: OSError) -> CannotWrite:
        return CannotWrite(str(self.path / relative), (error.strerror or str(error)).lower())

    def finish(self) -> None:
        """Let a new folder take its place."""
        if not self.existing:
            self.folder.mkdir(parents=True, exist_ok=True)
            os.replace(self.folder, self.path)

    def abandon(self) -> None:
        """Clear away what was written for nothing."""
        if not self.existing:
            shutil.rmtree(self.folder, ignore_errors=True)


def _check_unused(path: Path) -> None:
    """Make sure that nobody uses a database at a path: its log would be played into the file that comes there."""
    for log in sqlite_files(path)[1:]:
        if log.exists() and log.stat().st_size:
            raise OSError(0, f"`{log.name}` lies beside it: it is a database in use, or one that was not closed")
