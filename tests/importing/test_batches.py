"""Imports are written in batches of limited size; a failed batch affects only itself, and a stop keeps written ones."""

from pathlib import Path

import pytest

from memglot import Memory
from memglot.errors import StoreError
from memglot.report import Progress, Stopped
from memglot.settings import BATCH_BYTES, BATCH_SIZE
from refusing_stores import lines, poison


def batches(memory: Memory) -> list[int]:
    """Return the number of memories in each imported batch."""
    events = memory.audit_log()
    return [event.details["count"] for event in reversed(events) if event.action == "import"]


def test_the_bytes_of_a_batch_are_limited(tmp_path: Path) -> None:
    heavy = "x" * (BATCH_BYTES // 3)
    with Memory.open(tmp_path / "a.db") as memory:
        memory.import_from(lines(heavy, heavy, heavy, heavy, "light", "y" * (2 * BATCH_BYTES), "light"))
        assert batches(memory) == [3, 2, 1, 1]


def test_the_memories_of_a_batch_are_limited(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "a.db") as memory:
        memory.import_from(lines(*["light"] * (2 * BATCH_SIZE + 1)))
        assert batches(memory) == [BATCH_SIZE, BATCH_SIZE, 1]


def test_a_failed_batch_affects_only_itself(tmp_path: Path) -> None:
    poison(tmp_path / "a.db")
    texts = [f"text {n}" for n in range(3 * BATCH_SIZE)]
    texts[BATCH_SIZE + 7] = "poison"
    with Memory.open(tmp_path / "a.db") as memory:
        result = memory.import_from(lines(*texts), isolate=True)
        assert (result.imported, result.failed) == (2 * BATCH_SIZE, BATCH_SIZE)
        (fault,) = result.errors
        assert (fault.batch, fault.count, len(fault.ids)) == (1, BATCH_SIZE, BATCH_SIZE)
        assert "integer overflow" in fault.error
        assert memory.count() == 2 * BATCH_SIZE
        assert len(list(result.ids)) == 2 * BATCH_SIZE
        (entry,) = memory.imports()
        assert (entry.imported, entry.failed, entry.state) == (2 * BATCH_SIZE, BATCH_SIZE, "done")
        assert entry.errors[0]["batch"] == 1
        assert memory.search("text 2999", mode="fulltext").total
        memory.undo("last")
        assert memory.count() == 0


def test_without_isolation_the_first_failed_batch_stops_the_import(tmp_path: Path) -> None:
    poison(tmp_path / "a.db")
    with Memory.open(tmp_path / "a.db") as memory:
        with pytest.raises(StoreError, match="integer overflow"):
            memory.import_from(lines(*["text"] * BATCH_SIZE, "poison"))
        assert memory.count() == BATCH_SIZE


def test_a_stop_keeps_complete_batches_and_is_recorded(tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.imported >= 2 * BATCH_SIZE:
            raise Stopped

    bad = b'{"content": ""}\n'
    with Memory.open(tmp_path / "a.db") as memory:
        texts = [f"text {n}" for n in range(4 * BATCH_SIZE)]
        with pytest.raises(Stopped):
            memory.import_from(bad + lines(*texts), progress=stop)
        assert memory.count() == 2 * BATCH_SIZE
        (entry,) = memory.imports()
        assert (entry.imported, entry.state, entry.failed) == (2 * BATCH_SIZE, "stopped", 1)
        assert memory.search("text 1999", mode="fulltext").total, "what landed is indexed"
        assert memory.import_from(lines(*texts)).imported == 2 * BATCH_SIZE, "the same call finishes the job"
