"""Folders of notes: their files, and `.memglot.json`, which proves them and holds what belongs to no note."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from memglot.errors import Unreadable
from memglot.formats._spill import SortedLines
from memglot.formats.beside import BesideSum, item_of, line_of
from memglot.formats.source import FOLDER_PROOF
from memglot.formats.target import FolderTarget, Target, replacing
from memglot.model import Item
from memglot.report import End, Report, Spool


class Notes:
    """Writes the files of a folder, and in the end its proof. Stands in for a `Target` that items go beside of."""

    def __init__(self, target: FolderTarget) -> None:
        self._target = target
        self._files = SortedLines()
        self._beside: Spool[Any] = Spool()
        self.count = 0

    def put(self, relative: str, text: bytes, digest: bytes) -> None:
        """Write one note; `digest` is the digest of its record."""
        self._target.put(relative, text)
        self._files.add(msgspec.json.encode({relative: digest.hex()})[1:-1])
        self.count += 1

    def beside(self, item: Item, report: Report) -> None:
        """Keep what belongs to no note."""
        self._beside.append(msgspec.json.decode(line_of(item)))

    def finish(self, format: str, *, plain: bool, report: Report) -> End:
        """Remove the notes of memories that are gone, and write the proof as the last file."""
        whole = sha256()
        for line in self._files:
            whole.update(bytes.fromhex(line[-65:-1].decode("ascii")))
        end = End(self.count, "sha256:" + whole.hexdigest())
        self._remove_stale()
        if plain:
            for value in self._beside:
                report.dropped(next(iter(value)), str(next(iter(value.values())).get("id", "")))
            (self._target.folder / FOLDER_PROOF).unlink(missing_ok=True)
        else:
            self._write_proof(format, end)
        self._target.finish()
        return end

    def _remove_stale(self) -> None:
        if not self._target.existing:
            return
        before = FolderProof.at(self._target.folder)
        if before is None:
            return
        present = (_path_of(line) for line in self._files)
        now = next(present, None)
        for path, _ in before.files():
            while now is not None and now.encode() < path.encode():
                now = next(present, None)
            if now != path and is_inside(path):
                self._target.remove(path)

    def _write_proof(self, format: str, end: End) -> None:
        # One entry a line, so that a large proof can be read as a stream, and compared by eye.
        self._target.folder.mkdir(parents=True, exist_ok=True)
        with replacing(self._target.folder / FOLDER_PROOF) as out:
            beside = BesideSum()
            for value in self._beside:
                beside.add(msgspec.json.encode(value))
            head = {"format": format, "count": end.count, "digest": end.digest, "beside_digest": beside.end().digest}
            out.write(msgspec.json.encode(head)[:-1] + b',"files":{\n')
            _write_lines(out, self._files)
            out.write(b'},"beside":[\n')
            _write_lines(out, (msgspec.json.encode(value) for value in self._beside))
            out.write(b"]}\n")


def _write_lines(out: Any, lines: Any) -> None:
    before = b""
    for line in lines:
        out.write(before + line)
        before = b",\n"
    if before:
        out.write(b"\n")


@contextmanager
def writing_notes(target: Target) -> Iterator[Notes]:
    """The folder at the target's path; a new one leaves no trace when the block fails."""
    assert target.path is not None
    folder = FolderTarget(target.path, force=target.force)
    try:
        yield Notes(folder)
    except BaseException:
        folder.abandon()
        raise


class FolderProof:
    """What `.memglot.json` says about a folder."""

    def __init__(self, path: Path, head: dict[str, Any], whole: bool) -> None:
        self._path = path
        self._whole = head if whole else None
        self.format = str(head.get("format", ""))
        self._beside_digest = head.get("beside_digest")
        self.end = msgspec.convert({"count": head.get("count"), "digest": head.get("digest")}, End)

    @classmethod
    def at(cls, folder: Path) -> FolderProof | None:
        """The proof in a folder; `None` where there is none. Raises `Unreadable` for one that is damaged."""
        path = folder / FOLDER_PROOF
        if not path.is_file() or path.is_symlink():
            return None
        try:
            with open(path, "rb") as file:
                first = file.readline().rstrip()
            if first.endswith(b'"files":{'):
                return cls(path, msgspec.json.decode(first + b"}}"), False)
            # Somebody laid it out anew, so it cannot be read line by line.
            return cls(path, msgspec.json.decode(path.read_bytes(), type=dict[str, Any]), True)
        except (msgspec.MsgspecError, UnicodeDecodeError, OSError) as error:
            raise Unreadable(
                str(path), f"damaged ({error})", "delete it to import the folder without its proof"
            ) from error

    def files(self) -> Iterator[tuple[str, str]]:
        """The notes and the digests of their records, in the order of their paths."""
        if self._whole is not None:
            yield from sorted(self._whole.get("files", {}).items())
            return
        for line in self._section(b'"files":{', b"},"):
            yield next(iter(msgspec.json.decode(b"{" + line + b"}").items()))

    def items(self) -> Iterator[Item]:
        """What belongs to no note; raises `BadRecord`."""
        if self._whole is not None:
            yield from (item_of(msgspec.json.encode(value)) for value in self._whole.get("beside", []))
            return
        for line in self._section(b'"beside":[', b"]}"):
            yield item_of(line)

    def beside_is_whole(self) -> bool:
        """Tell whether what belongs to no note is as it was written."""
        found = BesideSum()
        if self._whole is not None:
            for value in self._whole.get("beside", []):
                found.add(msgspec.json.encode(value))
        else:
            for line in self._section(b'"beside":[', b"]}"):
                found.add(line)
        return self._beside_digest == found.end().digest

    def _section(self, start: bytes, stop: bytes) -> Iterator[bytes]:
        inside = False
        with open(self._path, "rb") as file:
            for line in file:
                line = line.rstrip()
                if inside and line.startswith(stop):
                    return
                if inside:
                    yield line.removesuffix(b",")
                elif line.endswith(start):
                    inside = True


def is_inside(relative: str) -> bool:
    """Tell whether a path from a file stays inside its folder."""
    parts = Path(relative).parts
    return bool(parts) and not Path(relative).is_absolute() and ".." not in parts


def _path_of(line: bytes) -> str:
    return str(next(iter(msgspec.json.decode(b"{" + line + b"}"))))
