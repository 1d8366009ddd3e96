"""The proof of an export: how many records it holds and their joint digest, so that `verify` finds what is amiss."""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from memglot.errors import Unreadable
from memglot.formats.source import Source
from memglot.model import Item, Record, canonical, sealed_digest
from memglot.report import End


class Prover:
    """Takes in records in the order of the file and sums them up."""

    def __init__(self) -> None:
        self._whole = sha256()
        self.count = 0

    def add(self, record: Record, riders: Sequence[Item] = ()) -> None:
        """Take in a record and what rides with it."""
        self.count += 1
        self._whole.update(bundle_digest(record, riders) if riders else sealed_digest(record))

    def add_digest(self, digest: bytes) -> None:
        """Take in a record by its digest."""
        self.count += 1
        self._whole.update(digest)

    def end(self, beside: int = 0) -> End:
        """The end mark for all that was taken in, and for so many things beside it."""
        return End(self.count, "sha256:" + self._whole.hexdigest(), beside)


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
    own = sealed_digest(record)
    if not riders:
        return own
    return sha256(own + b"".join(sha256(canonical(rider)).digest() for rider in riders)).digest()
