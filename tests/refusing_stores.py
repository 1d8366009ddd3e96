"""Stores that refuse some memories, for tests of batches."""

from __future__ import annotations

from pathlib import Path

import apsw
import msgspec

from memglot import Memory


def lines(*contents: str, start: int = 0) -> bytes:
    records = [{"id": f"0194a000-0000-7000-8000-{n:012x}", "content": text} for n, text in enumerate(contents, start)]
    return msgspec.json.Encoder().encode_lines(records)


def poison(path: Path) -> None:
    """Make the store reject one memory, as a full disk or a broken index would."""
    Memory.open(path).close()
    db = apsw.Connection(str(path))
    db.execute("CREATE INDEX poison ON records (CASE content WHEN 'poison' THEN abs(-9223372036854775808) END)")
    db.close()
