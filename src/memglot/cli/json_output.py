"""Writes one JSON document to standard output, long lists from disk."""

from collections.abc import Iterable
from typing import Any, BinaryIO

import msgspec

from memglot.report import Spool

_encode = msgspec.json.Encoder().encode


class Stream:
    """A list of unknown length, written as it comes."""

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = values


def write_json(value: Any, out: BinaryIO) -> None:
    """Write a value and a newline; an object's lists on disk are streamed."""
    if not isinstance(value, dict):
        out.write(_encode(value) + b"\n")
    else:
        before = b"{"
        for key, inner in value.items():
            out.write(before + _encode(key) + b":")
            if isinstance(inner, (Spool, Stream)):
                _write_list(inner.values if isinstance(inner, Stream) else inner, out)
            else:
                out.write(_encode(inner))
            before = b","
        out.write(b"}\n" if value else b"{}\n")
    out.flush()


def _write_list(values: Iterable[Any], out: BinaryIO) -> None:
    before = b"["
    for value in values:
        out.write(before + _encode(value))
        before = b","
    out.write(b"]" if before == b"," else b"[]")
