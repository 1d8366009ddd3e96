"""The audit chain: the hash of each row covers the row and the previous hash, so that every change is noticed."""

from collections.abc import Iterable
from hashlib import sha256

from memglot.model import Event, canonical, to_builtins


def hash_event(event: Event) -> str:
    """Return the SHA-256 of the previous hash and the canonical JSON of the row without its hashes."""
    row = {name: value for name, value in to_builtins(event).items() if name not in ("prev_hash", "this_hash")}
    return sha256(event.prev_hash.encode("ascii") + canonical(row)).hexdigest()


def first_broken(events: Iterable[Event], head: tuple[int, str]) -> int | None:
    """Return the number of the first row that is wrong or missing; `None` for an intact chain."""
    seq, previous = 0, ""
    for event in events:
        if event.seq != seq + 1 or event.prev_hash != previous or hash_event(event) != event.this_hash:
            return seq + 1
        seq, previous = event.seq, event.this_hash
    return None if (seq, previous) == head else seq + 1
