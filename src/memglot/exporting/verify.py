"""Verify that an export or a store is intact and unchanged."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from memglot.arguments import parse_size
from memglot.display import plural
from memglot.errors import DamagedStore, Unreadable
from memglot.files import path_inside
from memglot.formats import registry
from memglot.formats.base import Format, ReadOptions
from memglot.formats.core.folder_proof import FolderProof
from memglot.formats.core.proof import Prover, file_digest
from memglot.formats.core.read import read_source
from memglot.formats.core.sidecar import LineProver, encode_item, sidecar_path, sidecar_proof
from memglot.formats.core.source import FOLDER_PROOF, SIDECAR, Source, walk
from memglot.formats.detect import detect
from memglot.formats.sqlite import is_store
from memglot.formats.syntax.sqlite_input import is_database
from memglot.model import Item, Record, owner_of
from memglot.report import Proof, Report, SourceReport
from memglot.settings import Passphrase
from memglot.store.contract import Store
from memglot.store.location import open_input_store


class Verdict(msgspec.Struct):
    """The result of a check. `state` is `whole`, `altered`, or `unproven` for a file without a proof."""

    path: str
    state: str
    format: str
    count: int
    problems: list[str] = []

    @property
    def ok(self) -> bool:
        """Return True if no problem was found."""
        return self.state == "whole"


def verify(
    path: Path | str,
    *,
    format: str | None = None,
    passphrase: Passphrase = None,
    max_record: int | str | None = None,
) -> Verdict:
    """Check that an export in any format, or a store, is intact and unchanged; `problems` lists what is wrong."""
    options = ReadOptions(passphrase=passphrase, max_record=parse_size(max_record))
    return verify_path(path, Report(), format, options)


def verify_path(
    path: Path | str, report: Report, format: str | None = None, options: ReadOptions = ReadOptions()
) -> Verdict:
    """Check an export in any format, or a store, which may be given by its URL."""
    if "://" in str(path):
        return _verify_store_file(str(path))
    path = Path(path)
    if not path.exists():
        raise Unreadable(str(path), "no such file or folder")
    if path.is_dir():
        return _verify_folder(path, report, options)
    if is_store(path):
        return _verify_store_file(str(path))
    if (verdict := _verify_compressed_store(path)) is not None:
        return verdict
    return _verify_file(path, report, registry.get(format) if format else None, options)


def _verify_compressed_store(path: Path) -> Verdict | None:
    """Check a compressed store in a temporary copy; return None for any other file."""
    if not path.is_file():
        return None
    source = Source.file(path)
    try:
        if source.compression and is_database(source.head):
            with source.as_file() as copy:
                if is_store(copy):
                    verdict = _verify_store_file(str(copy))
                    return msgspec.structs.replace(verdict, path=str(path))
        return None
    finally:
        source.close()


def _verify_store_file(url: str) -> Verdict:
    try:
        store = open_input_store(url)
        try:
            return verify_store(store)
        finally:
            store.close()
    except DamagedStore as error:
        return Verdict(url, "altered", "sqlite", 0, [str(error)])


def verify_store(store: Store) -> Verdict:
    """Check the file, the digest of every record, the full-text index and the audit chain, all in one snapshot."""
    with store.reading():
        problems = list(store.verify())
        count = 0
        try:
            count = store.records.count()
            broken = store.history.first_broken()
            if broken is not None:
                problems.append(f"the audit chain breaks at row {broken}")
        except DamagedStore as error:
            problems.append(error.reason)
        return Verdict(store.url, "altered" if problems else "whole", "sqlite", count, list(dict.fromkeys(problems)))


def _verify_file(path: Path, report: Report, format: Format | None, options: ReadOptions) -> Verdict:
    source = Source.file(path)
    format = format or detect(source)
    # A broken chain is a problem to report; the rest is checked too.
    prover, alone, rest = _prove(source, format, report, replace(options, accept_broken_audit=True))
    problems = [str(fault) for fault in report.faults()]
    end, place = report.inputs.proof, sidecar_path(path)
    beside = sidecar_proof(place) if place is not None else None
    if report.inputs.undecrypted:
        problems = [_undecrypted(report.inputs.undecrypted)]
        return Verdict(str(path), "unproven", format.name, prover.count, problems)
    if end is None and not prover.count and beside is not None and beside.alone:
        end = prover.end(beside.count)
    if end is None:
        problems += [report.inputs.broken_chain] if report.inputs.broken_chain is not None else []
        problems.append("no proof: the file was truncated, or never had one")
        return Verdict(str(path), "unproven", format.name, prover.count, problems)
    if report.inputs.broken_chain is not None:
        problems.append(report.inputs.broken_chain)
    wrong = _compare(end, (alone if end.alone else prover).end())
    if not wrong and end.alone and format.writing.proves_rest and end.rest != rest:
        wrong = ["an item other than a memory was dropped, added or edited: an entity, a relation or an audit row"]
    # A database has rows that are not memories. If all memories match, these rows existed when it was written.
    problems = [] if format.family == "sqlite" and not wrong else problems + wrong
    if place is not None and (beside is None or beside.count != end.beside):
        problems.append(_file(place.name, "was truncated or edited, or belongs to another export"))
    elif place is None and end.beside:
        problems.append(_file(path.name + SIDECAR, "is missing"))
    return Verdict(str(path), "altered" if problems else "whole", format.name, prover.count, problems)


def _compare(said: Proof, found: Proof) -> list[str]:
    if said.count != found.count:
        return [f"the proof is for {plural(said.count, 'memory')}, but {plural(found.count, 'was', 'were')} read"]
    if said.digest != found.digest:
        return [_digest()]
    return []


def _prove(source: Source, format: Format, report: Report, options: ReadOptions) -> tuple[Prover, Prover, str]:
    """Read a source; compute the proof of its records with and without attached items, and that of all other items."""
    prover, alone, rest = Prover(), Prover(), LineProver()
    record: Record | None = None
    attached: list[Item] = []
    for item in _until_damage(source, format, report, options):
        if isinstance(item, Record):
            if record is not None:
                prover.add(record, attached)
            record, attached = item, []
            alone.add(record)
            continue
        rest.add(encode_item(item))
        if record is not None and owner_of(item) == record.id:
            attached.append(item)
    if record is not None:
        prover.add(record, attached)
    return prover, alone, rest.end().digest if rest.count else ""


def _until_damage(source: Source, format: Format, report: Report, options: ReadOptions) -> Iterator[Item]:
    """Yield the items of a source; where a compressed one is damaged, report it and stop."""
    try:
        for item, _ in read_source(source, format, report, options):
            yield item
    except Unreadable as error:
        if not source.compression:
            raise
        report.fault(error, source.name)


def _verify_folder(folder: Path, report: Report, options: ReadOptions) -> Verdict:
    folder, proof = _proof_of(folder)
    if proof is None:
        return Verdict(str(folder), "unproven", "", 0, ["no `.memglot.json`: the folder has no proof"])
    format = registry.get(proof.format)
    problems: list[str] = []
    joint = Prover()
    for path, said in proof.files():
        place = path_inside(folder, path)
        found = _digest_in_folder(place, format, options) if place else None
        if found is None:
            problems.append(_file(path, "is missing or cannot be read"))
        elif found != said:
            problems.append(_file(path, "was edited"))
        else:
            joint.add_digest(bytes.fromhex(found))
    problems += _added_files(folder, proof, format, report)
    if not problems and proof.end.digest != joint.end().digest:
        problems = [_digest()]
    if not problems and format.folder.digest_file is None:
        problems = _compare(proof.end, joint.end())
    if not proof.leftovers_are_intact():
        problems.append(_file(FOLDER_PROOF, "was edited"))
    count = joint.count if format.folder.digest_file is None else proof.end.count
    return Verdict(str(folder), "altered" if problems else "whole", format.name, count, problems)


def _proof_of(folder: Path) -> tuple[Path, FolderProof | None]:
    """Return the proof of a folder, and the folder that contains it: this one, or that of a format inside it."""
    proof = FolderProof.at(folder)
    if proof is None:
        for support in [format.folder for format in registry.by_folder() if format.folder.folder_name]:
            inner = support.find_in(folder)
            if not inner.is_symlink() and (found := FolderProof.at(inner)) is not None:
                return inner, found
    return folder, proof


def _digest_in_folder(place: Path, format: Format, options: ReadOptions) -> str | None:
    if format.folder.digest_file is not None:
        return format.folder.digest_file(place) if place.is_file() else None
    return file_digest(place, lambda source: format.read(source, SourceReport(), options), options.max_record)


def _added_files(folder: Path, proof: FolderProof, format: Format, report: Report) -> list[str]:
    """Return the notes in the folder that its proof does not list."""
    said = {path for path, _ in proof.files()}
    paths = walk(folder, frozenset(format.extensions), report, accepts=format.folder.accepts_file)
    found = (path.relative_to(folder).as_posix() for path in paths)
    return [_file(path, "was added") for path in found if path not in said]


def verdict_value(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as JSON values."""
    return {"ok": verdict.ok, **msgspec.to_builtins(verdict)}


def _digest() -> str:
    return "the digest does not match: at least one memory was edited, replaced or moved"


def _file(path: str, what: str) -> str:
    return f"{path} {what}"


def _undecrypted(count: int) -> str:
    """Return the problem of encrypted items that could not be checked."""
    return f"{plural(count, 'item is encrypted', 'items are encrypted')}: give the passphrase to check them too"
