"""Read inputs: files, folders, zip archives, standard input, content in memory."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeAlias
from zipfile import ZipFile

from memglot.disk import DiskMap
from memglot.display import plural
from memglot.errors import BadRecord, UnknownFormat, Unreadable
from memglot.formats import registry
from memglot.formats.base import Format, ReadOptions
from memglot.formats.core.encoding import has_unmarked_encoding, unmarked_encoding
from memglot.formats.core.folder_proof import FolderProof
from memglot.formats.core.sidecar import display_name, read_sidecar, sidecar_path
from memglot.formats.core.source import FOLDER_PROOF, OLD_SIDECAR, SIDECAR, Source, walk
from memglot.formats.core.zip import BROKEN, is_zip, open_zip, unpack, zip_head, zip_names, zip_proofs, zip_sources
from memglot.formats.detect import Glance, detect, detect_folder, glance_at, other_shape
from memglot.model import Item, Record, check_item
from memglot.report import NotMemories, Place, Report, SourceReport

_AT_ONCE = 1_000
Input: TypeAlias = str | Path | bytes
"""A path, `-` for standard input, or bytes that are the content itself."""


Read: TypeAlias = tuple[Item, Place]
"""An item, and where it was read."""


def read_items(inputs: Iterable[Input], format: Format | None, report: Report, options: ReadOptions) -> Iterator[Item]:
    """Yield the items of all inputs without their places."""
    return (item for item, _ in read_inputs(inputs, format, report, options))


def read_inputs(inputs: Iterable[Input], format: Format | None, report: Report, options: ReadOptions) -> Iterator[Read]:
    """Yield the items of all inputs, in order. An input that cannot be read is reported, and the next one is read."""
    for given in inputs:
        try:
            yield from _read_input(given, format, report, options)
        except Unreadable as error:
            report.fault(error, error.name)
        except OSError as error:
            name = "content" if isinstance(given, bytes) else str(given)
            report.fault(Unreadable(name, (error.strerror or str(error)).lower()), name)


def check_exists(given: Input) -> None:
    """Raise `Unreadable` if an input is a path that does not exist."""
    if isinstance(given, bytes) or str(given) == "-":
        return
    try:
        there = os.path.lexists(given)
    except (ValueError, OSError):
        there = True  # Reading it reports what is wrong.
    if not there:
        raise Unreadable(str(given), "no such file or folder", "nothing was imported; check the path")


def _read_input(given: Input, format: Format | None, report: Report, options: ReadOptions) -> Iterator[Read]:
    if isinstance(given, bytes):
        return read_source(Source.text(given), format, report, options)
    if str(given) == "-":
        if sys.stdin.closed:
            raise Unreadable("standard input", "it was read already")
        return read_source(Source("standard input", sys.stdin.buffer), format, report, options)
    path = Path(given)
    if path.is_dir():
        return _read_folder(path, format, report, options)
    if not path.exists():
        raise Unreadable(str(path), "no such file or folder")
    if path.is_file() and is_zip(path):
        return _read_zip(path, format, report, options)
    return _read_file(path, str(given), format, report, options)


def _counted(items: Iterable[Item], report: SourceReport) -> Iterator[Read]:
    """Yield the items that follow the rules, with their place, until most of a file is not valid; count the records."""
    try:
        yield from _checked(items, report)
    except NotMemories as error:
        hint = "check that this is the right file, and name its format with `--format`"
        report.results.fault(BadRecord(str(error), hint), report.source)


def _checked(items: Iterable[Item], report: SourceReport) -> Iterator[Read]:
    results = report.results
    for number, item in enumerate(items):
        if not number % _AT_ONCE:
            report.check_density(number)
        is_record = type(item) is Record
        try:
            check_item(item)
        except BadRecord as error:
            if is_record:
                report.failed_record(error)
            else:
                report.fault(BadRecord(f"{display_name(item)}: {error}", error.hint), item=report.item)
            continue
        results.read += is_record
        yield item, report


def _read_zip(path: Path, format: Format | None, report: Report, options: ReadOptions) -> Iterator[Read]:
    with open_zip(path, str(path)) as archive:
        yield from _read_archive(archive, path, format, report, options)


def _read_archive(
    archive: ZipFile, path: Path, format: Format | None, report: Report, options: ReadOptions
) -> Iterator[Read]:
    format = used = format or detect_folder(Glance(zip_names(archive), partial(zip_head, archive)))
    if format is not None and format.folder.read is not None and not format.folder.folder_name:
        with tempfile.TemporaryDirectory(prefix="memglot-") as unpacked:
            unpack(archive, str(path), Path(unpacked), report)
            yield from _read_format_folder(Path(unpacked), format, report, options, str(path))
        return
    known = frozenset(format.extensions) if format else registry.extensions()
    if format is None or format.folder.read_files is None:
        known |= {SIDECAR}
    found = zip_sources(archive, str(path), known, report, format.folder.accepts_file if format else None)
    first = next(found, None)
    if first is not None and format is not None and format.folder.read_files is not None:
        yield from _read_zipped_folder(archive, path, format, chain([first], found), report, options)
    else:
        for source in chain([] if first is None else [first], found):
            try:
                if source.name.endswith((SIDECAR, OLD_SIDECAR)):
                    yield from _read_sidecar(source, used, report)
                else:
                    used = yield from read_source(source, format, report, options)
            except Unreadable as error:
                report.fault(error, source.name)
            except BROKEN as error:
                report.fault(Unreadable(source.name, str(error).lower()), source.name)
    yield from _proofs_in_zip(archive, path, used, report)
    if first is None:
        raise Unreadable(str(path), "no file of a known format in it")


def _read_zipped_folder(
    archive: ZipFile, path: Path, format: Format, sources: Iterable[Source], report: Report, options: ReadOptions
) -> Iterator[Read]:
    """Read the notes of a zip like those of a folder: of the folder that contains all of them, if there is one."""
    assert format.folder.read_files is not None
    tops = {name.partition("/")[0] if "/" in name else "" for name in zip_names(archive)} - {"__MACOSX"}
    top = tops.pop() if len(tops) == 1 else ""
    start = len(top) + 1 if top else 0
    reading = _begin(str(path), format, report)
    with tempfile.TemporaryDirectory(prefix="memglot-") as folder:
        for name, text in zip_proofs(archive):
            if name == f"{top}/{FOLDER_PROOF}".lstrip("/"):
                (Path(folder) / FOLDER_PROOF).write_bytes(text)
        with suppress(Unreadable):
            if (proof := FolderProof.at(Path(folder))) is not None:
                options = _with_proof(options, proof)
        named = ((str(source.path)[start:], _limited(source, options)) for source in sources)
        try:
            yield from _counted(format.folder.read_files(named, top or path.stem, reading, options), reading)
        except BROKEN as error:
            reading.fault(Unreadable(reading.source, str(error).lower()))


def _with_proof(options: ReadOptions, proof: FolderProof) -> ReadOptions:
    """Return the options with what the proof of a folder says about its notes."""
    slots, digests, names = DiskMap(proof.slots()), DiskMap(proof.files()), DiskMap(proof.names())
    return replace(options, slots=slots, digests=digests, names=names)


def _limited(source: Source, options: ReadOptions) -> Source:
    source.max_record = options.max_record
    return source


def _begin(name: str, format: Format, report: Report) -> SourceReport:
    """Begin to read something in a format."""
    report.format = format.name
    return SourceReport(report, name, format.name)


def _proofs_in_zip(archive: ZipFile, path: Path, format: Format | None, report: Report) -> Iterator[Read]:
    """Read what the exported folders in a zip keep next to their notes."""
    for name, text in zip_proofs(archive):
        with tempfile.TemporaryDirectory(prefix="memglot-") as folder:
            (Path(folder) / FOLDER_PROOF).write_bytes(text)
            proof = FolderProof.at(Path(folder))
            if proof is not None:
                yield from _read_proof(proof, f"{path}/{name}", format, report)


def _read_proof(proof: FolderProof, name: str, format: Format | None, report: Report) -> Iterator[Read]:
    """Read the items that a folder's proof holds because they belong to none of its notes."""
    reading = SourceReport(report, name, format.name if format else "")
    yield from _counted(_valid(proof, reading), reading)


def _valid(proof: FolderProof, report: SourceReport) -> Iterator[Item]:
    for item in proof.items():
        if isinstance(item, BadRecord):
            report.failed_record(item)
        else:
            yield item


def _read_file(path: Path, name: str, format: Format | None, report: Report, options: ReadOptions) -> Iterator[Read]:
    used = yield from read_source(Source.file(path, name), format, report, options)
    sidecar = sidecar_path(path)
    if sidecar is not None:
        yield from _read_sidecar(Source.file(sidecar), used, report)


def _read_sidecar(source: Source, format: Format | None, report: Report) -> Iterator[Read]:
    """Read the sidecar of a file in this format."""
    reading = SourceReport(report, source.name, format.name if format else "")
    yield from _counted(read_sidecar(source, reading), reading)


def _read_folder(folder: Path, format: Format | None, report: Report, options: ReadOptions) -> Iterator[Read]:
    proof = FolderProof.at(folder)
    format = format or _folder_format(folder, proof)
    if format is not None and format.folder.read is not None:
        yield from _read_format_folder(format.folder.find_in(folder), format, report, options)
        return
    found = False
    if format is not None and format.folder.read_files is not None:
        if proof is not None:
            options = _with_proof(options, proof)
        reading = _begin(str(folder), format, report)
        paths = walk(folder, frozenset(format.extensions), report, vault=True, own=options.own)
        opened = _Files(folder, paths, report)
        files = ((name, _limited(source, options)) for name, source in opened)
        yield from _counted(format.folder.read_files(files, folder.resolve().name, reading, options), reading)
        found = opened.found
    else:
        known = frozenset(format.extensions) if format else registry.extensions()
        for path in walk(
            folder, known, report, accepts=format.folder.accepts_file if format else None, own=options.own
        ):
            found = True
            try:
                yield from _read_file(path, str(path), format, report, options)
            except Unreadable as error:
                report.fault(error, error.name)
    if proof is not None:
        yield from _read_proof(proof, str(folder), format, report)
    elif not found and format is not None and format.folder.recognise is not None:
        report.note(_no_records(str(folder)))
    elif not found:
        raise Unreadable(str(folder), "no file of a known format in it")


def _folder_format(folder: Path, proof: FolderProof | None) -> Format | None:
    """Return the format that a folder's proof names; without a proof, the one its files show."""
    if proof is None:
        return detect_folder(glance_at(folder))
    try:
        return registry.get(proof.format)
    except UnknownFormat as error:
        raise Unreadable(str(folder), str(error), "choose another format with `--format`") from error


def _read_format_folder(
    folder: Path, format: Format, report: Report, options: ReadOptions, shown: str | None = None
) -> Iterator[Read]:
    """Read a folder that a format reads itself; `shown` is its name in reports."""
    assert format.folder.read is not None
    proof = FolderProof.at(folder)
    before, faults, name = report.read, len(report.errors), shown or str(folder)
    reading = _begin(name, format, report)
    yield from _counted(format.folder.read(folder, reading, options), reading)
    if proof is not None:
        yield from _read_proof(proof, name, format, report)
    if report.read == before and len(report.errors) == faults:
        report.note(_no_records(name))


class _Files:
    """The files of a folder, each opened when it is needed; a file that cannot be opened is reported."""

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
                self._report.fault(error, error.name)
                continue
            yield name[start:].replace(os.sep, "/"), source


def read_source(
    source: Source, format: Format | None, report: Report, options: ReadOptions
) -> Generator[Read, None, Format]:
    """Yield the items of one source, and return its format. If it has a proof, compare the count with what was read."""
    source.max_record = options.max_record
    try:
        if format is None:
            format = detect(source)
        elif (other := other_shape(source.head, format)) is not format:
            report.note(
                f"{source.name} has the format `{other.name}`, not `{format.name}`; it was read as `{other.name}`"
            )
            format = other
        reading = _begin(source.name, format, report)
        reading.watch(source)
        if has_unmarked_encoding(source.head):
            error = unmarked_encoding()
            raise Unreadable(source.name, str(error), error.hint)
        if source.is_blank() and (format.blank_is_error if source.head else format.empty_is_error):
            raise Unreadable(source.name, "it is empty")
        before, faults = report.read, len(report.errors)
        yield from _counted(format.read(source, reading, options), reading)
        read, proof = report.read - before, report.inputs.proof
        if not read and len(report.errors) == faults:
            report.note(_no_records(source.name))
        if proof is not None and proof.count != read:
            expected = (
                f"{source.name} should contain {plural(proof.count, 'memory')}, but {plural(read, 'was', 'were')} read"
            )
            report.note(f"{expected}; run `memglot verify` for details")
        return format
    finally:
        report.progress.position = None
        source.close()


def _no_records(source: str) -> str:
    return f"{source} contains no memories"
