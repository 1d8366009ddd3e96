"""Vectors after an import: built by default, once everything is stored, and never a reason for an import to fail."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memglot import Memory
from memglot.embed import registry
from memglot.report import Progress, Stopped
from memglot.settings import BATCH_SIZE

COUNT = 2 * BATCH_SIZE + 300
TWO = b'{"content": "the cat sleeps"}\n{"content": "a garden"}\n'


class Broken:
    """A plugin that fails at every text but the first ones."""

    name = "broken"
    dimensions = 2
    works = True

    def embed(self, texts: Sequence[str]) -> Any:
        if not Broken.works:
            raise RuntimeError("out of memory")
        return np.ones((len(texts), 2), np.float32)

    def embed_query(self, text: str, weigh: object) -> NDArray[np.float32]:
        return np.ones(2, np.float32)


class Short(Broken):
    """A plugin that returns too few vectors."""

    def embed(self, texts: Sequence[str]) -> Any:
        return super().embed(texts)[: None if Broken.works else -1]


class Odd(Broken):
    """A plugin whose vectors are not numbers."""

    def embed(self, texts: Sequence[str]) -> Any:
        return super().embed(texts) * (1 if Broken.works else np.nan)


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Return a function that installs a plugin with the name `broken`, or none."""

    def install(value: str) -> None:
        entries = [importlib.metadata.EntryPoint("broken", f"{__name__}:{value}", registry.GROUP)] if value else []
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: entries)
        registry.embedder.cache_clear()
        registry._plugins.cache_clear()

    Broken.works = True
    yield install
    registry.embedder.cache_clear()
    registry._plugins.cache_clear()


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:") as found:
        yield found


def vectors(memory: Memory) -> tuple[int, int]:
    """Return how many memories have a vector, and how many have none."""
    found = memory.stats()["vectors"]
    return found["count"], found["missing"]


def test_what_was_imported_is_found_by_meaning(memory: Memory) -> None:
    result = memory.import_from(TWO, format="ndjson")
    assert (result.embedded, result.notes, vectors(memory)) == (2, [], (2, 0))
    assert memory.search("feline", mode="semantic")[0].content == "the cat sleeps"
    assert memory.import_from(TWO, format="ndjson").embedded == 0


def test_without_vectors_every_search_and_the_next_import_say_and_do_so(memory: Memory) -> None:
    assert memory.import_from(TWO, format="ndjson", embed=False).embedded == 0
    assert vectors(memory) == (0, 2)
    assert "2 memories have no vector" in memory.search("cat").notes[0]
    assert "run `memglot embed`" in memory.search("cat").notes[0]
    again = memory.import_from(TWO, format="ndjson")
    assert (again.imported, again.embedded, vectors(memory)) == (0, 2, (2, 0))
    assert not memory.search("cat").notes


def test_a_dry_run_builds_none(memory: Memory) -> None:
    memory.import_from(TWO, format="ndjson", embed=False)
    assert memory.import_from(TWO, format="ndjson", dry_run=True).embedded == 0
    assert vectors(memory) == (0, 2)


def test_a_merge_that_changes_the_text_changes_the_vector(memory: Memory) -> None:
    first = b'{"id": "0194a000-0001-7000-8000-000000000001", "content": "%s", "updated_at": "2025-0%d-01T00:00:00Z"}\n'
    memory.import_from(first % (b"the cat sleeps", 1), format="ndjson")
    memory.import_from(first % (b"a ship at sea", 2), format="ndjson", conflict="prefer-remote")
    assert memory.search("boat", mode="semantic")[0].content == "a ship at sea"
    assert vectors(memory) == (1, 0)


def test_sync_import_builds_them(tmp_path: Path, memory: Memory) -> None:
    memory.add("the cat sleeps")
    memory.sync_export(tmp_path / "memories.json")
    with Memory.open(":memory:") as other:
        other.sync_import(tmp_path / "memories.json")
        assert vectors(other) == (1, 0)


@pytest.mark.parametrize("broken", ["Broken", "Short", "Odd"])
def test_a_failing_embedder_never_fails_an_import(memory: Memory, plugin: Callable[[str], None], broken: str) -> None:
    plugin(broken)
    memory.add("first")
    memory.embed("broken")
    Broken.works = False
    result = memory.import_from(TWO, format="ndjson")
    assert (result.imported, result.exit_code, result.embedded) == (2, 0, 0)
    assert "the embedder `broken` failed" in result.notes[0] and "2 memories have no vector" in result.notes[0]
    assert vectors(memory) == (1, 2) and memory.doctor().ok
    Broken.works = True
    assert memory.embed().embedded == 2


def test_vectors_of_a_model_that_is_gone_are_kept(tmp_path: Path, plugin: Callable[[str], None]) -> None:
    plugin("Broken")
    with Memory.open(tmp_path / "store.db") as memory:
        memory.add("first")
        memory.embed("broken")
    plugin("")
    with Memory.open(tmp_path / "store.db") as memory:
        result = memory.import_from(TWO, format="ndjson")
        assert "built with `broken`" in result.notes[0] and vectors(memory) == (1, 2)


def test_an_import_into_a_view_reveals_nothing_hidden(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store.db") as memory:
        memory.import_from(
            b'{"content": "secret", "meta": {"memglot": {"scope": "diary"}}}\n', format="ndjson", embed=False
        )
        memory.mark_sensitive("diary")
    with Memory.open(tmp_path / "store.db", sensitive=False) as view:
        result = view.import_from(TWO, format="ndjson")
        assert (result.embedded, result.notes, vectors(view)) == (2, [], (2, 0))
        assert not view.search("cat").notes
        assert view.search("feline", mode="semantic").total == 2
    with Memory.open(tmp_path / "store.db") as memory:
        assert vectors(memory) == (2, 1)


def _many(tmp_path: Path) -> Path:
    path = tmp_path / "many.ndjson"
    lines = ({"id": f"0194a000-{n:04d}-7000-8000-{n:012d}", "content": f"the cat number {n}"} for n in range(COUNT))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_progress_can_stop_it(tmp_path: Path, memory: Memory) -> None:
    def stop(progress: Progress) -> None:
        if progress.embedded:
            assert progress.to_embed == COUNT
            raise Stopped

    result = memory.import_from(_many(tmp_path), progress=stop)
    assert (result.imported, result.embedded) == (COUNT, BATCH_SIZE)
    assert f"{COUNT - BATCH_SIZE:,} memories have no vector" in result.notes[0]


def _interrupted(tmp_path: Path, number: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process that gets a signal when it makes the second batch of vectors."""
    code = f"""
import os, sys
from memglot.cli.main import main
from memglot.embed.table import TableEmbedder
embed, calls = TableEmbedder.embed, []
def interrupted(self, texts):
    calls.append(len(texts))
    if calls.count({BATCH_SIZE}) == 2:
        os.kill(os.getpid(), {number})
    return embed(self, texts)
TableEmbedder.embed = interrupted
main(sys.argv[1:])
"""
    command = [sys.executable, "-c", code, "--store", str(tmp_path / "store.db"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ.copy())


def test_ctrl_c_while_vectors_are_built_leaves_a_complete_import(tmp_path: Path) -> None:
    done = _interrupted(tmp_path, signal.SIGINT, "import", str(_many(tmp_path)))
    assert done.returncode == 0, done.stderr
    assert f"read {COUNT:,}: imported {COUNT:,}," in done.stdout and "undo it with" in done.stdout
    assert "the import is complete; interrupted while building vectors; 1,300 memories have no vector" in done.stderr
    assert "run `memglot embed`" in done.stderr
    with Memory.open(tmp_path / "store.db") as memory:
        assert vectors(memory) == (BATCH_SIZE, COUNT - BATCH_SIZE)
        assert memory.import_report().state == "done" and memory.doctor().ok
        assert memory.embed().embedded == COUNT - BATCH_SIZE


def test_a_kill_while_vectors_are_built_leaves_a_complete_import(tmp_path: Path) -> None:
    path = _many(tmp_path)
    done = _interrupted(tmp_path, signal.SIGKILL, "import", str(path))
    assert done.returncode == -signal.SIGKILL, done.stderr
    with Memory.open(tmp_path / "store.db") as memory:
        assert memory.import_report().state == "done" and memory.count() == COUNT
        assert vectors(memory) == (BATCH_SIZE, COUNT - BATCH_SIZE)
        again = memory.import_from(path)
        assert (again.skipped, again.imported, again.embedded) == (COUNT, 0, COUNT - BATCH_SIZE)


def test_importing_without_vectors_loads_no_embedder(tmp_path: Path) -> None:
    (tmp_path / "two.ndjson").write_bytes(TWO)
    code = (
        "import sys\nfrom memglot.cli.main import main\nsys.exit = lambda code: None\nmain(sys.argv[1:])\n"
        "print(sorted({'numpy', 'kitoken'} & set(sys.modules)))"
    )
    store = str(tmp_path / "store.db")
    for arguments, loaded in (
        (["import", "two.ndjson", "--no-embed"], []),
        (["import", "two.ndjson"], ["kitoken", "numpy"]),
        (["import", "two.ndjson"], []),
    ):
        command = [sys.executable, "-c", code, "--store", store, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ.copy())
        assert done.stdout.splitlines()[-1] == str(loaded), done.stderr
