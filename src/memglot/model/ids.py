"""Ids: UUIDv7 text, created for new memories and derived for those with an id in another tool."""

import random
import re
from functools import lru_cache
from hashlib import sha256

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_COUNTER_BITS = 30
_RANDOM_BITS = 74 - _COUNTER_BITS
_NO_TIME = "00000000-0000"
_LOW_BITS = (1 << 62) - 1


def is_id(text: str) -> bool:
    """Return True if `text` is a UUIDv7 in lower case."""
    return UUID7.fullmatch(text) is not None


def id_time(id: str) -> int:
    """Return the milliseconds in a UUIDv7; 0 for an id derived from another tool's."""
    return _time_of(id[:13])


@lru_cache(256)
def _time_of(start: str) -> int:
    # Memories created together share their time.
    return int(start.replace("-", ""), 16)


@lru_cache(64)
@lru_cache(4096)
def derive_id(tool: str, space: str, foreign_id: str) -> str:
    """Return the id of a memory with `foreign_id` in another tool: the same on every machine, with time bits 0."""
    seed = sha256("\0".join((tool, space, foreign_id)).encode("utf-8", "surrogatepass")).digest()
    return _compose(0, int.from_bytes(seed[:10], "big") & ((1 << 74) - 1))


class Minter:
    """Creates ids of one millisecond that sort in the order of their creation."""

    def __init__(self, milliseconds: int) -> None:
        self.milliseconds = milliseconds
        self._made = 0
        self._random = random.Random()

    def mint(self) -> str:
        """Return the next id."""
        # A counter in the high bits keeps the order; 44 random bits avoid collisions between machines.
        free = (self._made << _RANDOM_BITS) | self._random.getrandbits(_RANDOM_BITS)
        self._made += 1
        return _compose(self.milliseconds, free)


def _compose(milliseconds: int, free: int) -> str:
    """Compose a UUIDv7 of 48 bits of time and 74 free bits."""
    low = f"{0x7 << 76 | (free >> 62) << 64 | 0b10 << 62 | free & _LOW_BITS:020x}"
    start = f"{milliseconds >> 16:08x}-{milliseconds & 0xFFFF:04x}" if milliseconds else _NO_TIME
    return f"{start}-{low[:4]}-{low[4:8]}-{low[8:]}"
