"""The audit chain: each row's hash covers the row and the hash before it, so that no row can change unnoticed."""

from collections.abc import Iterable
from hashlib import sha256

from memglot.model import Event, canonical, to_builtins


def hash_event(event: Event) -> str:
    """The hash of a row: SHA-256 over the hash before it and the canonical JSON of the row without its hashes."""
    row = {name: value for name, value in to_builtins(event).items() if name not in ("prev_hash", "this_hash")}
    return sha256(event.prev_hash.encode("ascii") + canonical(row)).hexdigest()


def first_broken(events: Iterable[Event], head: tuple[int, str]) -> int | None:
    """The number of the first row that does not fit, or of the first that is missing; `None` for a whole chain."""
    seq, previous = 0, ""
    for event in events:
        if event.seq != seq + 1 or event.prev_hash != previous or hash_event(event) != event.this_hash:
            return seq + 1
        seq, previous = event.seq, event.this_hash
    return None if (seq, previous) == head else seq + 1
