"""Vectors: little-endian float32 bytes in the model, lists of numbers in files."""

from array import array
from collections.abc import Iterable
from sys import byteorder


def vector_of(numbers: Iterable[float]) -> bytes:
    """Return numbers as bytes. Raise `TypeError` or `OverflowError` for values that do not fit."""
    vector = array("f", numbers)
    if byteorder == "big":
        vector.byteswap()
    return vector.tobytes()


def numbers_of(vector: bytes) -> list[float] | None:
    """Return bytes as numbers; `None` if one of them is not valid in JSON."""
    numbers = array("f", vector)
    if byteorder == "big":
        numbers.byteswap()
    values = numbers.tolist()
    return None if any(value - value != 0 for value in values) else values
