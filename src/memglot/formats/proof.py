"""The proof of an export: how many records it holds and their joint digest, so that `verify` finds what is amiss."""

from collections.abc import Sequence
from hashlib import sha256

from memglot.model import Item, Record, canonical, sealed_digest
from memglot.report import End


class Prover:
    """Takes in records in the order of the file and sums them up."""

    def __init__(self) -> None:
        self._whole = sha256()
        self._last = b""
        self.count = 0

    def add(self, record: Record, riders: Sequence[Item] = ()) -> None:
        """Take in a record and what rides with it."""
        self.count += 1
        self._last = bundle_digest(record, riders) if riders else sealed_digest(record)
        self._whole.update(self._last)

    def add_digest(self, digest: bytes) -> None:
        """Take in a record by its digest."""
        self.count += 1
        self._whole.update(digest)
        self._last = digest

    def note_digest(self) -> str:
        """The digest of the record that was taken in last."""
        return self._last.hex()

    def end(self) -> End:
        """The end mark for all that was taken in."""
        return End(self.count, "sha256:" + self._whole.hexdigest())


def bundle_digest(record: Record, riders: Sequence[Item] = ()) -> bytes:
    """The digest of a record; where something rides with it, of the digests of all of them."""
    own = sealed_digest(record)
    if not riders:
        return own
    return sha256(own + b"".join(sha256(canonical(rider)).digest() for rider in riders)).digest()
