"""Vectors as formats spell them: little-endian float32 bytes inside, lists of numbers outside."""

from array import array
from collections.abc import Iterable
from sys import byteorder


def vector_of(numbers: Iterable[float]) -> bytes:
    """Numbers as bytes; raises `TypeError` or `OverflowError` for what is none that fits."""
    vector = array("f", numbers)
    if byteorder == "big":
        vector.byteswap()
    return vector.tobytes()


def numbers_of(vector: bytes) -> list[float] | None:
    """Bytes as numbers; `None` where one of them is none that JSON knows."""
    numbers = array("f", vector)
    if byteorder == "big":
        numbers.byteswap()
    values = numbers.tolist()
    return None if any(value - value != 0 for value in values) else values
