"""Any bytes without a format: detection, and the reader that it chooses."""

from memglot import MemglotError
from memglot.formats.base import ReadOptions
from memglot.formats.core.read import read_items
from memglot.report import Report

SEEDS = [
    b"",
    b"{}",
    b"[]",
    b"---\na: 1\n---\ntext",
    b"id,content\n1,a\n",
    b'{"content":"a"}\n',
    b"PK\x03\x04",
    b"- a\n",
]


def try_one(data: bytes) -> None:
    """Read the bytes as they are."""
    try:
        for _ in read_items([data], None, Report(), ReadOptions()):
            pass
    except MemglotError:
        pass
