"""Write one JSON document to standard output; long lists are read from disk."""

from collections.abc import Iterable
from typing import Any, BinaryIO

import msgspec

from memglot.disk import DiskList

_encode = msgspec.json.Encoder().encode


class Stream:
    """A list of unknown length."""

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = values


def write_json(value: Any, out: BinaryIO) -> None:
    """Write a value and a newline.

    A list of unknown length is collected on disk first: an error meanwhile must not leave half a document.
    """
    if isinstance(value, dict):
        value = {key: _collect(inner) if isinstance(inner, Stream) else inner for key, inner in value.items()}
    if not isinstance(value, dict):
        out.write(_encode(value) + b"\n")
    else:
        before = b"{"
        for key, inner in value.items():
            out.write(before + _encode(key) + b":")
            if isinstance(inner, DiskList):
                _write_list(inner, out)
            else:
                out.write(_encode(inner))
            before = b","
        out.write(b"}\n" if value else b"{}\n")
    out.flush()


def _collect(stream: Stream) -> DiskList[Any]:
    found: DiskList[Any] = DiskList()
    for value in stream.values:
        found.append(value)
    return found


def _write_list(values: Iterable[Any], out: BinaryIO) -> None:
    before = b"["
    for value in values:
        out.write(before + _encode(value))
        before = b","
    out.write(b"]" if before == b"," else b"[]")
