"""32 processes write and read one store at once, by every way to reach it, and nothing acknowledged is lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import writers

from memglot import Memory


def test_many_writers_lose_nothing(tmp_path: Path, count: int, figures: Counter[str]) -> None:
    found = writers.run(tmp_path, max(60, count))
    figures["operations of many writers"] += found.operations
    figures["operations of many writers: writes"] += found.writes
    assert not found.wrong, "\n".join(found.wrong[:10])
    assert found.operations > 300 and found.writes > 100


def test_a_lost_write_would_be_found(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with Memory.open(store) as memory:
        memory.add("shared", id=writers.SHARED)
        kept, changed = memory.add("kept").id, memory.add("changed").id
    history = writers.History(
        "test", {kept: "kept", changed: "changed since", "gone": "text"}, deleted=[kept], shared=["by nobody"]
    )
    assert writers.check(store, [history]) == [
        f"test: {changed} is 'changed' instead of 'changed since'",
        "test: gone is None instead of 'text'",
        f"test: {kept} is there again",
        "the update 'by nobody' was lost",
    ]
