"""Folders of notes being written, with the proof as the last of their files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from memglot.disk import DiskList, SortedLines
from memglot.display import first_few, plural
from memglot.errors import Unreadable
from memglot.files import replace_file
from memglot.formats.core.folder_proof import FolderProof, entry_of
from memglot.formats.core.sidecar import LineProver, encode_item, kind_name
from memglot.formats.core.source import FOLDER_PROOF
from memglot.formats.core.target import FolderTarget, Target
from memglot.model import Item
from memglot.report import Proof, Report

Digest = Callable[[Path], "str | None"]
"""Tells the digest of the record in a note, or `None` where there is none."""


class NoteFolder:
    """Writes the files of a folder, and in the end its proof. Stands in for a `Target` that items go beside of."""

    def __init__(self, target: FolderTarget, digest_of: Digest, plain: bool) -> None:
        self._target = target
        self._digest_of = digest_of
        self._plain = plain
        self._files = SortedLines()
        self._slots = SortedLines()
        self._beside: DiskList[Any] = DiskList()
        self._before = _files_before(target)
        self._edited: list[str] = []
        self.count = 0

    def put(
        self, relative: str, text: bytes, digest: bytes, slot: dict[str, Any] | None = None, *, counts: bool = True
    ) -> None:
        """Write one note; `digest` is the digest of its record. A note that its owner edited since is kept.

        `slot` is what the proof carries for a note that must stay as it is. A further note of a memory does not count.
        """
        if self._target.differs(relative, text):
            if self._is_edited(relative):
                self._edited.append(relative)
            else:
                self._target.put(relative, text)
        self._vouch(relative, digest.hex())
        if slot and not self._plain:
            self._slots.add(msgspec.json.encode({relative: slot})[1:-1])
        self.count += counts

    @property
    def is_new(self) -> bool:
        """Whether the folder was not there before."""
        return not self._target.existing

    def put_all(
        self, files: Mapping[str, bytes], *, counts: bool = True, keep: bool = False, known: bool = False
    ) -> None:
        """Write files that belong together, such as a note and what describes it: where one was edited, all stay.

        With `keep` they stay as they are in any case; edits that are `known` to the writer are no hindrance.
        """
        changed = [relative for relative, text in files.items() if self._target.differs(relative, text)]
        kept = keep or (not known and any(map(self._is_edited, changed)))
        for relative, text in files.items():
            if kept and relative in changed:
                self._edited.append(relative)
            elif relative in changed:
                self._target.put(relative, text)
            self._vouch(relative, sha256(text).hexdigest())
        self.count += counts

    def put_lines(self, relative: str, lines: Iterable[bytes], *, ended: bool = True) -> None:
        """Write a file of many lines; one that is not `ended` has no newline at its end."""
        self._target.put_lines(relative, lines, ended=ended)
        self.vouch(relative)

    def append(self, relative: str, lines: Iterable[bytes]) -> None:
        """Add lines to a file, which stays as it is before them."""
        self._target.append(relative, lines)
        self.vouch(relative)

    def vouch(self, relative: str) -> None:
        """Prove a file that is in its place already."""
        self._vouch(relative, self._digest_of(self._target.folder / relative) or "")

    def is_theirs(self, relative: str) -> bool:
        """Tell whether a file that is there was never ours, or was edited since."""
        return self._before.get(relative) != self._digest_of(self._target.folder / relative)

    def retain(self, relative: str, *, counts: bool = False) -> None:
        """Leave a file that was written before as it is, and prove it as before."""
        digest = self._before.pop(relative, None)
        if digest is not None:
            self._vouch(relative, digest)
            self.count += counts

    def release(self, relative: str) -> None:
        """Leave a file that was written before to others: it is not removed, even if its memory is gone."""
        self._before.pop(relative, None)

    def _vouch(self, relative: str, digest: str) -> None:
        self._files.add(msgspec.json.encode({relative: digest})[1:-1])

    def _is_edited(self, relative: str) -> bool:
        """Tell whether a note that is there is not as we wrote it, or was never ours."""
        if self._target.force or not self._target.existing:
            return False
        place = self._target.inside(relative)
        if place is None or not place.exists():
            return False
        return relative not in self._before or self._digest_of(place) != self._before[relative]

    def add_leftover(self, item: Item, report: Report) -> None:
        """Keep what belongs to no note."""
        if self._plain:
            report.dropped(kind_name(item), str(getattr(item, "id", "")))
        else:
            self._beside.append(msgspec.json.decode(encode_item(item)))

    def finish(self, format: str, report: Report) -> Proof:
        """Remove the notes of memories that are gone, and write the proof as the last file."""
        whole = sha256()
        for line in self._files:
            path, digest = entry_of(line)
            whole.update(bytes.fromhex(digest))
            self._before.pop(path, None)
        end = Proof(self.count, "sha256:" + whole.hexdigest())
        # Where something could not be read, nobody knows whether a note's memory is really gone.
        for path, digest in self._before.items() if not len(report.errors) else ():
            place = self._target.inside(path)
            # Only what is still as we wrote it is ours to remove.
            if place is not None and place.is_file():
                if self._digest_of(place) == digest:
                    place.unlink()
                else:
                    self._edited.append(path)
        if len(report.errors) and self._before:
            report.note(_unsure(sorted(self._before)))
        if self._edited:
            report.note(_kept_notes(sorted(self._edited)))
        if self._plain:
            (self._target.folder / FOLDER_PROOF).unlink(missing_ok=True)
        else:
            self._write_proof(format, end)
        self._target.finish()
        return end

    def _write_proof(self, format: str, end: Proof) -> None:
        # One entry a line, so that a large proof can be read as a stream, and compared by eye.
        self._target.folder.mkdir(parents=True, exist_ok=True)
        beside = LineProver()
        for line in self._slots:
            beside.add(line)
        for value in self._beside:
            beside.add(msgspec.json.encode(value))
        head = {"format": format, "count": end.count, "digest": end.digest, "beside_digest": beside.end().digest}
        with replace_file(self._target.folder / FOLDER_PROOF) as out:
            out.write(msgspec.json.encode(head)[:-1] + b',"files":{\n')
            _write_lines(out, self._files)
            if len(self._slots):
                out.write(b'},"slots":{\n')
                _write_lines(out, self._slots)
            out.write(b'},"beside":[\n')
            _write_lines(out, (msgspec.json.encode(value) for value in self._beside))
            out.write(b"]}\n")


def _files_before(target: FolderTarget) -> dict[str, str]:
    """The notes that we wrote into this folder before; with `force`, a damaged proof counts for nothing."""
    if not target.existing:
        return {}
    try:
        before = FolderProof.at(target.folder)
        return dict(before.files()) if before is not None else {}
    except Unreadable:
        if not target.force:
            raise
        return {}


def _write_lines(out: Any, lines: Any) -> None:
    before = b""
    for line in lines:
        out.write(before + line)
        before = b",\n"
    if before:
        out.write(b"\n")


@contextmanager
def open_note_folder(target: Target, digest_of: Digest, *, plain: bool) -> Iterator[NoteFolder]:
    """The folder at the target's path; a new one leaves no trace when the block fails."""
    assert target.path is not None
    folder = FolderTarget(target.path, force=target.force)
    try:
        yield NoteFolder(folder, digest_of, plain)
    except BaseException:
        folder.abandon()
        raise


def _kept_notes(names: list[str]) -> str:
    """Notes in a folder of ours that somebody else wrote in."""
    kept = f"kept {plural(len(names), 'note')} edited since the last export: {first_few(names)}"
    return f"{kept}; import them, or overwrite them with `--force`"


def _unsure(names: list[str]) -> str:
    """Notes that an export with errors does not dare to remove."""
    return f"kept {plural(len(names), 'note')} whose memory was not read this time: {first_few(names)}"
