"""Write a folder of notes; the proof is the last of its files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from memglot.disk import DiskList, SortedLines
from memglot.display import first_few, plural
from memglot.errors import CannotWrite, TargetExists, Unreadable
from memglot.files import (
    FileBatch,
    create_file,
    create_folders,
    open_to_append,
    path_inside,
    remove_abandoned,
    replace_file,
    sync_file,
    sync_folder,
    sync_tree,
    temporary_folder,
)
from memglot.formats.core.folder_proof import FolderProof, entry_of
from memglot.formats.core.sidecar import LineProver, encode_item, kind_name
from memglot.formats.core.source import FOLDER_PROOF
from memglot.formats.core.target import Target
from memglot.model import Item
from memglot.report import Proof, Report

Digest = Callable[[Path], "str | None"]
"""Returns the digest of the record in a note, or `None` if there is none."""


@contextmanager
def open_note_folder(
    target: Target, digest_of: Digest, *, plain: bool, shared: bool = False, joins: bool = False
) -> Iterator[NoteFolder]:
    """Open the folder at the target's path; remove a new one if the block fails. It is private unless `shared`.

    With `joins` the folder may have notes of others, which are kept.
    """
    assert target.path is not None
    folder = NoteFolder(target.path, digest_of, plain=plain, force=target.force, shared=shared, joins=joins)
    try:
        yield folder
    finally:
        folder.close()


class NoteFolder:
    """A folder of notes. A new one appears when it is complete; one from an earlier export is updated in place."""

    def __init__(
        self, path: Path, digest_of: Digest, *, plain: bool, force: bool, shared: bool, joins: bool = False
    ) -> None:
        self._path = path
        self._digest_of = digest_of
        self._plain = plain
        self._force = force
        self._shared = shared
        self._exists = path.exists()
        if path.is_symlink() and not self._exists or self._exists and not path.is_dir():
            raise TargetExists(str(path))
        is_ours = (path / FOLDER_PROOF).is_file()
        if self._exists and not is_ours and not (force or joins) and any(path.iterdir()):
            raise TargetExists(str(path))
        self._temporary = ExitStack()
        self._batch = FileBatch(shared=shared)
        self._folder = path if self._exists else self._new_folder()
        self._subfolders: set[str] = set()
        self._tidied: set[Path] = set()
        self._files = SortedLines()
        self._slots = SortedLines()
        self._names = SortedLines()
        self._leftovers: DiskList[Any] = DiskList()
        self.names_before: dict[str, str] = {}
        """The ids of memories whose notes memglot named in the last export, with their paths."""
        self._before = self._files_before()
        self._edited: list[str] = []
        self.count = 0

    @property
    def is_new(self) -> bool:
        """Return True if the folder did not exist before."""
        return not self._exists

    def put(
        self,
        relative: str,
        text: bytes,
        digest: bytes,
        slot: dict[str, Any] | None = None,
        *,
        counts: bool = True,
        is_known: Callable[[Path], bool] | None = None,
    ) -> None:
        """Write one note; `digest` is the digest of its record. A note that was edited since is kept.

        `slot` is what the proof carries for a note that must not change. Another note of the same memory does not
        count. `is_known` returns True for an edited note that was imported, so that nothing is lost.
        """
        if self._differs(relative, text):
            if self._is_edited(relative) and not (is_known is not None and is_known(self._folder / relative)):
                self._edited.append(relative)
            else:
                self._write(relative, text)
        self._add_digest(relative, digest.hex())
        if slot and not self._plain:
            self._slots.add(msgspec.json.encode({relative: slot})[1:-1])
        self.count += counts

    def put_all(
        self, files: Mapping[str, bytes], *, counts: bool = True, keep: bool = False, known: bool = False
    ) -> None:
        """Write files that belong together, such as a note and its description; if one was edited, keep all.

        With `keep` they are kept in any case; `known` edits were already read by the writer, and are overwritten.
        """
        changed = [relative for relative, text in files.items() if self._differs(relative, text)]
        kept = keep or (not known and any(map(self._is_edited, changed)))
        for relative, text in files.items():
            if kept and relative in changed:
                self._edited.append(relative)
            elif relative in changed:
                self._write(relative, text)
            self._add_digest(relative, sha256(text).hexdigest())
        self.count += counts

    def put_lines(self, relative: str, lines: Iterable[bytes], *, ended: bool = True) -> None:
        """Write a file line by line; a file that is not `ended` has no newline at its end."""
        try:
            self._batch.write(self._folder / relative)
            with replace_file(self._inside(relative), shared=self._shared) as out:
                out.writelines(line + b"\n" for line in lines)
                if not ended and out.tell():
                    out.truncate(out.tell() - 1)
        except OSError as error:
            raise self._cannot_write(relative, error) from error
        self.prove(relative)

    def append(self, relative: str, lines: Iterable[bytes]) -> None:
        """Append lines to a file."""
        lines = list(lines)
        try:
            self._batch.write(self._folder / relative)
            with open_to_append(self._inside(relative), shared=self._shared) as out:
                if lines and out.tell():
                    out.seek(-1, os.SEEK_END)
                    out.write(b"" if out.read(1) == b"\n" else b"\n")
                out.writelines(line + b"\n" for line in lines)
                sync_file(out)
        except OSError as error:
            raise self._cannot_write(relative, error) from error
        self.prove(relative)

    def prove(self, relative: str) -> None:
        """Add an existing file to the proof."""
        self._add_digest(relative, self._digest_in(relative) or "")

    def is_foreign(self, relative: str) -> bool:
        """Return True if an existing file was not written by memglot, or was edited since."""
        return self._before.get(relative) != self._digest_in(relative)

    def was_written(self, relative: str) -> bool:
        """Return True if the last export had a note."""
        return relative in self._before

    def add_name(self, id: str, relative: str) -> None:
        """Remember the path that a memory's note got, so that the next export keeps it."""
        self._names.add(msgspec.json.encode({id: relative})[1:-1])

    def retain(self, relative: str, *, counts: bool = False) -> None:
        """Keep a file of an earlier export as it is, with its old proof."""
        digest = self._before.pop(relative, None)
        if digest is not None:
            self._add_digest(relative, digest)
            self.count += counts

    def release(self, relative: str) -> None:
        """Keep a file of an earlier export, but no longer as a part of the export."""
        self._before.pop(relative, None)

    def add_leftover(self, item: Item, report: Report) -> None:
        """Keep an item that belongs to no note."""
        if self._plain:
            report.dropped(kind_name(item), str(getattr(item, "id", "")))
        else:
            self._leftovers.append(msgspec.json.decode(encode_item(item)))

    def finish(self, format: str, report: Report) -> Proof:
        """Remove the notes of memories that no longer exist, and write the proof as the last file."""
        joint = sha256()
        for line in self._files:
            path, digest = entry_of(line)
            joint.update(bytes.fromhex(digest))
            self._before.pop(path, None)
        proof = Proof(self.count, "sha256:" + joint.hexdigest())
        self._remove_old(report)
        if self._edited:
            kept = f"kept {plural(len(self._edited), 'note')} edited since the last export"
            names = first_few(sorted(self._edited))
            report.note(f"{kept}: {names}; import them, or use `--force` to overwrite them")
        try:
            self._batch.finish()
            if self._plain:
                (self._folder / FOLDER_PROOF).unlink(missing_ok=True)
            else:
                self._write_proof(format, proof)
            if not self._exists:
                sync_tree(self._folder)
                os.replace(self._folder, self._path)
                sync_folder(self._path.parent)
        except OSError as error:
            raise self._cannot_write("", error) from error
        return proof

    def close(self) -> None:
        """Remove a new folder that is not finished."""
        self._batch.discard()
        self._temporary.close()

    def _new_folder(self) -> Path:
        try:
            create_folders(self._path.parent, shared=self._shared)
            return self._temporary.enter_context(temporary_folder(self._path.parent, shared=self._shared))
        except OSError as error:
            raise self._cannot_write("", error) from error

    def _remove_old(self, report: Report) -> None:
        """Remove notes of an earlier export that this one does not have, unless they were edited."""
        if len(report.errors):
            # After an error, the memory of such a note may still exist.
            if self._before:
                kept = f"kept {plural(len(self._before), 'note')} whose memory was not read this time"
                report.note(f"{kept}: {first_few(sorted(self._before))}")
            return
        for path, digest in self._before.items():
            place = path_inside(self._folder, path)
            if place is not None and place.is_file():
                if self._digest_of(place) == digest:
                    self._batch.remove(place)
                else:
                    self._edited.append(path)

    def _files_before(self) -> dict[str, str]:
        """Return the notes of the last export with their digests; with `force`, a damaged proof is ignored."""
        if not self._exists:
            return {}
        try:
            before = FolderProof.at(self._folder)
            self.names_before = dict(before.names()) if before is not None else {}
            return dict(before.files()) if before is not None else {}
        except Unreadable:
            if not self._force:
                raise
            return {}

    def _differs(self, relative: str, content: bytes) -> bool:
        """Return True if a file has other bytes or does not exist."""
        if not self._exists:
            return True
        place = self._folder / relative
        if place.parent not in self._tidied:
            self._tidied.add(place.parent)
            remove_abandoned(place.parent)
        try:
            self._batch.write(place)
            return place.is_symlink() or not place.is_file() or place.read_bytes() != content
        except OSError as error:
            raise self._cannot_write(relative, error) from error

    def _is_edited(self, relative: str) -> bool:
        """Return True if an existing note was edited since the last export, or was never a part of it."""
        if self._force or not self._exists:
            return False
        place = path_inside(self._folder, relative)
        if place is None or not place.exists():
            return False
        return relative not in self._before or self._digest_of(place) != self._before[relative]

    def _write(self, relative: str, content: bytes) -> None:
        parent = os.path.dirname(relative)
        place = os.path.join(self._folder, relative)
        try:
            if parent not in self._subfolders:
                self._inside(parent or ".")
                # A new folder is written through to the disk as a whole.
                create_folders(Path(place).parent, shared=self._shared, durable=self._exists)
                self._subfolders.add(parent)
            if not self._exists:
                with create_file(place, shared=self._shared) as out:
                    out.write(content)
            else:
                self._batch.put(Path(place), content)
        except OSError as error:
            raise self._cannot_write(relative, error) from error

    def _inside(self, relative: str) -> Path:
        place = path_inside(self._folder, relative)
        if place is None:
            raise OSError(0, "a link leads out of the folder")
        return place

    def _cannot_write(self, relative: str, error: OSError) -> CannotWrite:
        return CannotWrite(str(self._path / relative), (error.strerror or str(error)).lower())

    def _digest_in(self, relative: str) -> str | None:
        place = self._folder / relative
        self._batch.write(place)
        return self._digest_of(place)

    def _add_digest(self, relative: str, digest: str) -> None:
        self._files.add(msgspec.json.encode({relative: digest})[1:-1])

    def _write_proof(self, format: str, proof: Proof) -> None:
        # One entry per line, so that a large proof can be read as a stream, and compared by eye.
        rest = LineProver()
        for line in self._slots:
            rest.add(line)
        for value in self._leftovers:
            rest.add(msgspec.json.encode(value))
        head = {"format": format, "count": proof.count, "digest": proof.digest, "beside_digest": rest.end().digest}
        with replace_file(self._folder / FOLDER_PROOF, shared=self._shared) as out:
            out.write(msgspec.json.encode(head)[:-1] + b',"files":{\n')
            _write_lines(out, self._files)
            if len(self._slots):
                out.write(b'},"slots":{\n')
                _write_lines(out, self._slots)
            if len(self._names):
                out.write(b'},"names":{\n')
                _write_lines(out, self._names)
            out.write(b'},"beside":[\n')
            _write_lines(out, (msgspec.json.encode(value) for value in self._leftovers))
            out.write(b"]}\n")


def _write_lines(out: Any, lines: Any) -> None:
    before = b""
    for line in lines:
        out.write(before + line)
        before = b",\n"
    if before:
        out.write(b"\n")
