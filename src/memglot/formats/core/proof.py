"""The proof of an export: the number of its records and their joint digest, which `verify` checks."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from memglot.errors import Unreadable
from memglot.formats.core.carry import Bundle, bundles
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.model import Item, Record, canonical, stored_digest
from memglot.report import Proof, Report


class Prover:
    """Computes the proof of records, in the order of the file."""

    def __init__(self) -> None:
        self._sum = sha256()
        self.count = 0

    def add(self, record: Record, attached: Sequence[Item] = ()) -> None:
        """Add a record and its attached items."""
        self.count += 1
        self._sum.update(bundle_digest(record, attached) if attached else stored_digest(record))

    def add_digest(self, digest: bytes) -> None:
        """Add a record by its digest."""
        self.count += 1
        self._sum.update(digest)

    def end(self, beside: int = 0, *, alone: bool = False) -> Proof:
        """Return the proof of all records so far, with the number of items in the sidecar."""
        return Proof(self.count, "sha256:" + self._sum.hexdigest(), beside, alone)


def proved(items: Iterable[Item], target: Target, report: Report) -> Iterator[tuple[Bundle, Proof | None]]:
    """Yield records with their attached items for a writer, the last with the proof of all."""
    prover = Prover()
    end = None
    for bundle in bundles(items, target, report):
        record, attached, last = bundle
        prover.add(record, attached)
        if last:
            end = prover.end(target.sidecar_count)
        yield bundle, end
    target.has_records = end is not None
    report.proof = end or prover.end()


def file_digest(path: Path, read: Callable[[Source], Iterable[Item]], max_record: int = sys.maxsize) -> str | None:
    """Return the hex digest of the record in a file; `None` if there is not exactly one."""
    try:
        source = Source.file(path)
    except Unreadable:
        return None
    source.max_record = max_record
    try:
        record, *attached = read(source)
    except ValueError:
        return None
    finally:
        source.close()
    return bundle_digest(record, attached).hex() if isinstance(record, Record) else None


def bundle_digest(record: Record, attached: Sequence[Item] = ()) -> bytes:
    """Return the digest of a record; with attached items, that of all digests."""
    own = stored_digest(record)
    if not attached:
        return own
    # Readers may yield them in another order than they were written.
    return sha256(own + b"".join(sorted(sha256(canonical(item)).digest() for item in attached))).digest()
