"""The proof of an export: how many records it holds and their joint digest, so that `verify` finds what is amiss."""

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
    """Takes in records in the order of the file and sums them up."""

    def __init__(self) -> None:
        self._whole = sha256()
        self.count = 0

    def add(self, record: Record, riders: Sequence[Item] = ()) -> None:
        """Take in a record and what rides with it."""
        self.count += 1
        self._whole.update(bundle_digest(record, riders) if riders else stored_digest(record))

    def add_digest(self, digest: bytes) -> None:
        """Take in a record by its digest."""
        self.count += 1
        self._whole.update(digest)

    def end(self, beside: int = 0, *, alone: bool = False) -> Proof:
        """The end mark for all that was taken in, and for so many things beside it."""
        return Proof(self.count, "sha256:" + self._whole.hexdigest(), beside, alone)


def proved(items: Iterable[Item], target: Target, report: Report) -> Iterator[tuple[Bundle, Proof | None]]:
    """Bundles for a writer of records, the last with the end mark that proves them all."""
    prover = Prover()
    end = None
    for bundle in bundles(items, target, report):
        record, riders, last = bundle
        prover.add(record, riders)
        if last:
            end = prover.end(target.beside_count)
        yield bundle, end
    report.proof = end or prover.end()


def file_digest(path: Path, read: Callable[[Source], Iterable[Item]]) -> str | None:
    """The digest of the one record in a file, as hex; `None` where there is not exactly one."""
    try:
        source = Source.file(path)
    except Unreadable:
        return None
    try:
        record, *riders = read(source)
    except ValueError:
        return None
    finally:
        source.close()
    return bundle_digest(record, riders).hex() if isinstance(record, Record) else None


def bundle_digest(record: Record, riders: Sequence[Item] = ()) -> bytes:
    """The digest of a record; where something rides with it, of the digests of all of them."""
    own = stored_digest(record)
    if not riders:
        return own
    # Readers may give them in another order than writers took them.
    return sha256(own + b"".join(sorted(sha256(canonical(rider)).digest() for rider in riders))).digest()
