"""Reads whatever a user points at: files, folders, standard input, text in memory."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from memglot.disk import DiskMap
from memglot.errors import BadRecord, EmptyInput, UnknownFormat, Unreadable
from memglot.formats import registry
from memglot.formats.base import Format, Options
from memglot.formats.core.folder_proof import FolderProof
from memglot.formats.core.sidecar import beside_items, read_beside
from memglot.formats.core.source import BESIDE, FOLDER_PROOF, Source, walk
from memglot.formats.core.zip import BROKEN, is_zip, zip_head, zip_names, zip_proofs, zip_sources
from memglot.formats.detect import Glance, detect, detect_folder, glance_at, other_shape
from memglot.model import Item
from memglot.report import Report

Input: TypeAlias = str | Path | bytes
"""A path, `-` for standard input, or bytes that are the content itself."""


def read_inputs(inputs: Iterable[Input], format: Format | None, report: Report, options: Options) -> Iterator[Item]:
    """All items of all inputs, in order. What cannot be read is reported, and the next input goes on."""
    for given in inputs:
        try:
            yield from _read_input(given, format, report, options)
        except Unreadable as error:
            report.source = error.name
            report.fault(error)
        except OSError as error:
            report.source = "content" if isinstance(given, bytes) else str(given)
            report.fault(Unreadable(report.source, (error.strerror or str(error)).lower()))


def _read_input(given: Input, format: Format | None, report: Report, options: Options) -> Iterator[Item]:
    if isinstance(given, bytes):
        yield from read_source(Source.text(given), format, report, options)
    elif str(given) == "-":
        if sys.stdin.closed:
            raise Unreadable("standard input", "it was read already")
        yield from read_source(Source("standard input", sys.stdin.buffer), format, report, options)
    elif (path := Path(given)).is_dir():
        yield from _read_folder(path, format, report, options)
    else:
        if not path.exists():
            raise Unreadable(str(path), "no such file or folder")
        if path.is_file() and is_zip(path):
            yield from _read_zip(path, format, report, options)
            return
        yield from _read_file(path, str(given), format, report, options)


def _read_zip(path: Path, format: Format | None, report: Report, options: Options) -> Iterator[Item]:
    format = format or detect_folder(Glance(zip_names(path), lambda name: zip_head(path, name)))
    known = frozenset(format.extensions) if format else registry.extensions()
    found = zip_sources(path, str(path), known, report, format.takes if format else None)
    first = next(found, None)
    if first is not None and format is not None and format.read_folder is not None:
        report.format = format.name
        try:
            yield from _read_zipped_folder(path, format, chain([first], found), report, options)
        except BROKEN as error:
            report.fault(Unreadable(report.source, str(error).lower()))
    else:
        for source in chain([] if first is None else [first], found):
            try:
                if source.name.endswith(BESIDE):
                    yield from beside_items(source, report)
                else:
                    yield from read_source(source, format, report, options)
            except Unreadable as error:
                report.fault(error)
            except BROKEN as error:
                report.fault(Unreadable(source.name, str(error).lower()))
    yield from _proofs_in_zip(path, report)
    if first is None:
        raise Unreadable(str(path), "no file of a known format in it")


def _read_zipped_folder(
    path: Path, format: Format, sources: Iterable[Source], report: Report, options: Options
) -> Iterator[Item]:
    """The notes of a zip as those of a folder: the one that all of it lies in, if there is one."""
    assert format.read_folder is not None
    tops = {name.partition("/")[0] if "/" in name else "" for name in zip_names(path)} - {"__MACOSX"}
    top = tops.pop() if len(tops) == 1 else ""
    start = len(top) + 1 if top else 0
    with tempfile.TemporaryDirectory(prefix="memglot-") as folder:
        for name, text in zip_proofs(path):
            if name == f"{top}/{FOLDER_PROOF}".lstrip("/"):
                (Path(folder) / FOLDER_PROOF).write_bytes(text)
        with suppress(Unreadable):
            if (proof := FolderProof.at(Path(folder))) is not None:
                options = replace(options, slots=DiskMap(proof.slots()), digests=DiskMap(proof.files()))
        named = ((str(source.path)[start:], source) for source in sources)
        yield from format.read_folder(named, top or path.stem, report, options)


def _proofs_in_zip(path: Path, report: Report) -> Iterator[Item]:
    """What the exported folders in a zip keep beside their notes."""
    for name, text in zip_proofs(path):
        with tempfile.TemporaryDirectory(prefix="memglot-") as folder:
            (Path(folder) / FOLDER_PROOF).write_bytes(text)
            report.start_source(f"{path}/{name}")
            proof = FolderProof.at(Path(folder))
            if proof is not None:
                yield from _beside_notes(proof, report)


def _beside_notes(proof: FolderProof, report: Report) -> Iterator[Item]:
    for item in proof.items():
        if isinstance(item, BadRecord):
            report.failed_record(item)
        else:
            yield item


def _read_file(path: Path, name: str, format: Format | None, report: Report, options: Options) -> Iterator[Item]:
    yield from read_source(Source.file(path, name), format, report, options)
    yield from read_beside(path, report)


def _read_folder(folder: Path, format: Format | None, report: Report, options: Options) -> Iterator[Item]:
    proof = FolderProof.at(folder)
    format = format or _folder_format(folder, proof)
    if format is not None and format.read_home is not None:
        yield from _read_home(format.home_in(folder), format, report, options)
        return
    found = False
    if format is not None and format.read_folder is not None:
        report.format = format.name
        if proof is not None:
            options = replace(options, slots=DiskMap(proof.slots()), digests=DiskMap(proof.files()))
        files = _Files(folder, walk(folder, frozenset(format.extensions), report, vault=True, own=options.own), report)
        yield from format.read_folder(files, folder.resolve().name, report, options)
        found = files.found
    else:
        known = frozenset(format.extensions) if format else registry.extensions()
        for path in walk(folder, known, report, takes=format.takes if format else None, own=options.own):
            found = True
            try:
                yield from _read_file(path, str(path), format, report, options)
            except Unreadable as error:
                report.source = error.name
                report.fault(error)
    if proof is not None:
        report.start_source(str(folder))
        yield from _beside_notes(proof, report)
    elif not found and format is not None and format.recognise_folder is not None:
        report.note(_no_records(str(folder)))
    elif not found:
        raise Unreadable(str(folder), "no file of a known format in it")


def _folder_format(folder: Path, proof: FolderProof | None) -> Format | None:
    """The format that a folder's proof names; else the one that what lies in it tells."""
    if proof is None:
        return detect_folder(glance_at(folder))
    try:
        return registry.get(proof.format)
    except UnknownFormat as error:
        raise Unreadable(str(folder), str(error), "name another with `--format`") from error


def _read_home(folder: Path, format: Format, report: Report, options: Options) -> Iterator[Item]:
    """What a format keeps in a folder of its own name."""
    assert format.read_home is not None
    report.format = format.name
    proof = FolderProof.at(folder)
    before, faults = report.read, len(report.errors)
    yield from format.read_home(folder, report, options)
    if proof is not None:
        report.start_source(str(folder))
        yield from _beside_notes(proof, report)
    if report.read == before and len(report.errors) == faults:
        report.note(_no_records(str(folder)))


class _Files:
    """The files of a folder, each opened when its turn comes; one that cannot be opened is reported."""

    def __init__(self, folder: Path, paths: Iterable[Path], report: Report) -> None:
        self._folder, self._paths, self._report = folder, paths, report
        self.found = False

    def __iter__(self) -> Iterator[tuple[str, Source]]:
        # A path that begins with `.` is spelled without it.
        folder = str(self._folder)
        start = 0 if folder == "." else len(folder.rstrip(os.sep)) + 1
        for path in self._paths:
            self.found = True
            name = str(path)
            try:
                source = Source.file(path, name)
            except Unreadable as error:
                self._report.start_source(error.name)
                self._report.fault(error)
                continue
            yield name[start:].replace(os.sep, "/"), source


def read_source(source: Source, format: Format | None, report: Report, options: Options) -> Iterator[Item]:
    """The items of one source. Its proof, if it has one, is compared with what was read."""
    report.start_source(source.name)
    report.current = source
    try:
        if format is None:
            format = detect(source)
        elif (other := other_shape(source.head, format)) is not format:
            report.note(
                f"{source.name} was named `{format.name}` and has the shape of `{other.name}`: it was read as that"
            )
            format = other
        report.format = format.name
        if source.is_blank() and (format.blank_is_error if source.head else format.empty_is_error):
            raise EmptyInput(source.name)
        before, faults = report.read, len(report.errors)
        yield from format.read(source, report, options)
        read = report.read - before
        if not read and len(report.errors) == faults:
            report.note(_no_records(source.name))
        if report.end is not None and report.end.count != read:
            report.note(
                f"{source.name} says it holds {report.end.count:,} memories, but {read:,} were read: `memglot "
                "verify` tells more"
            )
    finally:
        report.current = None
        source.close()


def _no_records(source: str) -> str:
    """A well-formed input that holds nothing."""
    return f"{source} holds no memories"
