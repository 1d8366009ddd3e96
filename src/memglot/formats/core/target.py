"""Target: where an export is written. A file appears at its path only when it is complete."""

from __future__ import annotations

import filecmp
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from memglot.errors import CannotWrite, TargetExists
from memglot.files import (
    create_folders,
    remove_abandoned,
    replace_database,
    replace_file,
    sqlite_files,
    sync_file,
    sync_folder,
    temporary_file,
)
from memglot.formats.core.compression import compressed, compression_by_name, inner_path
from memglot.formats.core.sidecar import (
    LineProver,
    display_key,
    encode_item,
    kind_name,
    sidecar_places,
    sidecar_proof,
)
from memglot.model import Item
from memglot.report import Report


class Target:
    """A path, or a stream for standard output and content in memory."""

    def __init__(
        self, path: Path | None = None, stream: BinaryIO | None = None, *, force: bool = False, plain: bool = False
    ) -> None:
        self.path = path
        self.stream = stream
        self.force = force
        self.plain = plain
        self.make_folders = True
        """Whether missing folders are created."""
        self.before_replacing: Callable[[Path, Path | None], object] | None = None
        """Called with the complete new file and its sidecar, just before they replace the target."""
        self.keeps_bodies = False
        """Whether bodies that were written to files of their own stay there if the export fails."""
        self._sidecar: BinaryIO | None = None
        self._sidecar_prover = LineProver()
        self.has_records = True
        """Whether the file has memories; otherwise the sidecar says so, because the file has no place for a proof."""

    @contextmanager
    def file(self) -> Iterator[BinaryIO]:
        """Open the file to write; it replaces the target if the block succeeds, and is removed if it fails."""
        if self.path is None:
            assert self.stream is not None
            yield self.stream
            self.stream.flush()
            return
        self._tidy()
        self.check()
        try:
            if self.is_special():
                with open(self.path, "wb") as out:
                    yield out
            else:
                # A link stays a link: what it points to is replaced.
                with replace_file(
                    self.path.resolve(),
                    make_folders=self.make_folders,
                    before=lambda: self._put_in_place(Path(new.name)),
                ) as new:
                    with compressed(new, compression_by_name(self.path)) as out:
                        yield out
                    self._complete_sidecar()
                self._remove_old_sidecars()
        except OSError as error:
            raise CannotWrite(str(self.path), (error.strerror or str(error)).lower()) from error
        finally:
            self.discard()

    @contextmanager
    def place(self) -> Iterator[Path]:
        """Provide a temporary path for writers that need one, such as databases; the file then replaces the target.

        A stream gets the complete file.
        """
        if self.path is None or self.is_special() or compression_by_name(self.path):
            self.check()
            with tempfile.TemporaryDirectory(prefix="memglot-") as folder:
                part = Path(folder) / "part"
                yield part
                with self.file() as out, open(part, "rb") as complete:
                    shutil.copyfileobj(complete, out)
            return
        self._tidy()
        self.check()
        place = self.path.resolve()
        try:
            _check_unused(place)
            with replace_database(place, before=self._put_sidecar) as part:
                yield part
                self._complete_sidecar()
            self._remove_old_sidecars()
        except OSError as error:
            raise CannotWrite(str(self.path), (error.strerror or str(error)).lower()) from error
        finally:
            self.discard()

    def check(self) -> None:
        """Raise `TargetExists` if the target exists, unless `force` is set."""
        if self.path is None or self.force:
            return
        if self.path.exists() or self.path.is_symlink():
            raise TargetExists(str(self.path))
        for place in sidecar_places(self.path):
            # A sidecar is put in place just before its file, so a killed export may leave one alone.
            if place.is_symlink() or place.exists() and sidecar_proof(place) is None:
                raise TargetExists(str(place))

    def _tidy(self) -> None:
        """Remove what killed exports left, even if this one is refused because one of them was complete."""
        if self.path is not None and not self.is_special():
            remove_abandoned(self.path.resolve().parent)

    def is_special(self) -> bool:
        """Return True if the path is a pipe or a device, which is written directly and has no sidecar."""
        return self.path is not None and self.path.exists() and not self.path.is_file()

    @property
    def inner_path(self) -> Path | None:
        """The path without the ending of a compressed file."""
        return inner_path(self.path) if self.path is not None else None

    @property
    def sidecar_count(self) -> int:
        """Number of items in the sidecar."""
        return self._sidecar_prover.count

    def add_leftover(self, item: Item, report: Report) -> None:
        """Keep an item that the format cannot store in the sidecar `<out>.memglot`; a stream has none."""
        if self.path is None or self.plain or self.is_special():
            report.dropped(kind_name(item), display_key(item))
            return
        if self._sidecar is None:
            self.check()
            create_folders(self.path.parent)
            self._sidecar = temporary_file(self.path.parent)
        line = encode_item(item)
        self._sidecar_prover.add(line)
        self._sidecar.write(line + b"\n")

    def _complete_sidecar(self) -> None:
        """Write the sidecar to the disk, under its temporary name."""
        if self._sidecar is not None:
            self._sidecar.write(self._sidecar_prover.end_line(alone=not self.has_records) + b"\n")
            sync_file(self._sidecar)

    def _put_in_place(self, new: Path) -> None:
        """Do what comes just before the new file is renamed."""
        if self.before_replacing is not None:
            self.before_replacing(new, Path(self._sidecar.name) if self._sidecar is not None else None)
        self._put_sidecar()

    def _put_sidecar(self) -> None:
        """Give the sidecar its name. Without `force`, one that a killed export left may only be the same."""
        if self.path is None:
            return
        new, *old = sidecar_places(self.path)
        for place in (new, *old) if not self.force else ():
            if place.exists() and not (place == new and self._sidecar and filecmp.cmp(self._sidecar.name, new, False)):
                raise TargetExists(str(place))
        if self._sidecar is not None:
            os.replace(self._sidecar.name, new)

    def _remove_old_sidecars(self) -> None:
        """Remove the sidecars of an earlier export, which belong to the file that was just replaced."""
        old = [place for place in sidecar_places(self.path) if place.exists()] if self.path is not None else []
        for place in old[self._sidecar is not None :]:
            place.unlink()
            sync_folder(place.parent)

    def discard(self) -> None:
        """Remove the sidecar of a file that is not completed."""
        if self._sidecar is not None:
            with suppress(OSError):
                os.unlink(self._sidecar.name)
            self._sidecar.close()
            self._sidecar = None


def _check_unused(path: Path) -> None:
    """Make sure that no database is in use at a path: SQLite would apply its log to the new file."""
    for log in sqlite_files(path)[1:]:
        if log.exists() and log.stat().st_size:
            raise OSError(0, f"`{log.name}` exists: the database is in use, or was not closed")
