"""Reads whatever a user points at: files, folders, standard input, text in memory."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from memglot.errors import BadRecord, UnknownFormat, Unreadable, empty_input
from memglot.formats import registry
from memglot.formats.archive import BROKEN, is_zip, zip_proofs, zip_sources
from memglot.formats.beside import beside_items, read_beside
from memglot.formats.detect import detect
from memglot.formats.folder import FolderProof
from memglot.formats.format import Format, Options
from memglot.formats.source import BESIDE, FOLDER_PROOF, Source, walk
from memglot.model import Item
from memglot.notes import note_cut_off, note_no_records
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
    found = False
    known = frozenset(format.extensions) if format else registry.extensions()
    for source in zip_sources(path, str(path), known, report):
        found = True
        try:
            if source.name.endswith(BESIDE):
                yield from beside_items(source, report)
            else:
                yield from read_source(source, format, report, options)
        except BROKEN as error:
            report.fault(Unreadable(source.name, str(error).lower()))
    yield from _proofs_in_zip(path, report)
    if not found:
        raise Unreadable(str(path), "no file of a known format in it")


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
    if format is None and proof is not None:
        try:
            format = registry.get(proof.format)
        except UnknownFormat as error:
            raise Unreadable(str(folder), str(error), "name another with `--format`") from error
    known = frozenset(format.extensions) if format else registry.extensions()
    found = False
    for path in walk(folder, known, report):
        found = True
        try:
            yield from _read_file(path, str(path), format, report, options)
        except Unreadable as error:
            report.source = error.name
            report.fault(error)
    if proof is not None:
        report.start_source(str(folder))
        yield from _beside_notes(proof, report)
    elif not found:
        raise Unreadable(str(folder), "no file of a known format in it")


def read_source(source: Source, format: Format | None, report: Report, options: Options) -> Iterator[Item]:
    """The items of one source. Its proof, if it has one, is compared with what was read."""
    report.start_source(source.name)
    report.current = source
    try:
        format = format or detect(source)
        report.format = format.name
        if source.is_blank() and (source.head or format.empty_is_error):
            raise empty_input(source.name)
        before, faults = report.read, len(report.errors)
        yield from format.read(source, report, options)
        read = report.read - before
        if not read and len(report.errors) == faults:
            report.note(note_no_records(source.name))
        if report.end is not None and report.end.count != read:
            report.note(note_cut_off(source.name, report.end.count, read))
    finally:
        report.current = None
        source.close()
