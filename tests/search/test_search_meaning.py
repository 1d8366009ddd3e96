"""Vectors through the public API: which memories have one, of which model, and how changes affect them."""

from __future__ import annotations

import importlib.metadata
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
from memglot.embed import BUILT_IN, registry
from memglot.errors import UnknownEmbedder
from memglot.search import vectors
from memglot.settings import BATCH_SIZE


class Fake:
    """An embedder of a plugin: a text about cats is on one axis, any other on the next."""

    name = "fake"
    dimensions = 3
    embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded.extend(texts)
        return np.array([self._vector(text) for text in texts], np.float32).reshape(-1, self.dimensions)

    def embed_query(self, text: str, weigh: object) -> NDArray[np.float32]:
        return np.array(self._vector(text), np.float32)

    def _vector(self, text: str) -> list[float]:
        about = 0 if "cat" in text or "feline" in text else 1
        return [float(place == about) for place in range(self.dimensions)]


class Wider(Fake):
    """The same plugin after an update."""

    dimensions = 5


Plugins = Callable[..., None]


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[Plugins]:
    """Return a function that sets the installed plugins."""

    def there_are(**found: str) -> None:
        made = [
            importlib.metadata.EntryPoint(name, f"{__name__}:{value}", registry.GROUP) for name, value in found.items()
        ]
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: made if group == registry.GROUP else [])
        registry.embedder.cache_clear()
        registry._plugins.cache_clear()

    yield there_are
    registry.embedder.cache_clear()
    registry._plugins.cache_clear()


def lengths(memory: Memory) -> list[int]:
    store: Any = memory.store
    return [len(vector) for _, vector in store.vectors.select()]


def is_whole(memory: Memory, count: int) -> bool:
    """Return True if every memory has the right vector and the store reports it."""
    verdict = memory.doctor()
    assert verdict.ok, verdict.problems
    store: Any = memory.store
    before = dict(store.vectors.select())
    assert memory.stats()["vectors"]["count"] == len(before) == count
    memory.embed(again=True)
    return before == dict(store.vectors.select())


def test_another_model_replaces_all_vectors(memory: Memory, plugins: Plugins) -> None:
    plugins(fake="Fake")
    cat = memory.add("the cat sleeps")
    memory.add("a garden")
    assert memory.search("a feline", mode="semantic")[0].id == cat.id
    done = memory.embed("fake")
    assert (done.embedded, done.model, done.dimensions, done.total) == (2, "fake", 3, 2)
    assert lengths(memory) == [3, 3]
    found = memory.search("feline", mode="semantic")
    assert found[0].id == cat.id and "1.00" in found[0].why[-1]
    memory.add("a second cat")
    assert lengths(memory) == [3, 3, 3], "what is added later is of the store's model"
    assert not memory.embed().embedded, "and so is the rest"
    assert memory.embed(BUILT_IN).embedded == 3
    assert set(lengths(memory)) == {256}


def test_an_unknown_model_is_an_error_and_changes_nothing(memory: Memory, plugins: Plugins) -> None:
    plugins()
    memory.add("the cat sleeps")
    with pytest.raises(UnknownEmbedder):
        memory.embed("fake")
    assert lengths(memory) == [256]


@pytest.mark.parametrize("later", [{}, {"fake": "Wider"}], ids=["gone", "changed"])
def test_a_missing_or_changed_model_is_reported_and_repaired(
    tmp_path: Path, plugins: Plugins, later: dict[str, str]
) -> None:
    plugins(fake="Fake")
    with Memory.open(tmp_path / "store.db") as memory:
        cat = memory.add("the cat sleeps")
        memory.embed("fake")
    plugins(**later)
    with Memory.open(tmp_path / "store.db") as memory:
        found = memory.search("cat")
        assert [hit.id for hit in found] == [cat.id] and list(found[0].ranks) == ["fulltext"]
        assert "`fake`" in found.notes[0] and "memglot embed" in found.notes[0]
        memory.add("another cat")
        assert lengths(memory) == [3], "nothing is mixed in"
        assert any("`fake`" in note for note in memory.notes)
        done = memory.embed()
        assert (done.model, done.dimensions) == (("fake", 5) if later else (BUILT_IN, 256))
        assert set(lengths(memory)) == {done.dimensions}
        assert memory.search("cat", mode="semantic").total == 2 and not memory.search("cat").notes
        assert memory.doctor().ok


MANY = BATCH_SIZE + 40


def many(path: Path) -> Memory:
    notes = path.with_suffix(".ndjson")
    notes.write_text("".join(f'{{"content": "cat {number}"}}\n' for number in range(MANY)), encoding="utf-8")
    memory = Memory.open(path)
    memory.import_from(notes, embed=False)
    return memory


def test_an_interrupted_run_continues(tmp_path: Path, plugins: Plugins) -> None:
    plugins(fake="Fake")

    def stop(done: int, whole: int) -> None:
        raise KeyboardInterrupt

    with many(tmp_path / "store.db") as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.embed("fake", progress=stop)
        assert len(lengths(memory)) == BATCH_SIZE
        Fake.embedded.clear()
        seen: list[tuple[int, int]] = []
        done = memory.embed(progress=lambda *counts: seen.append(counts))
        assert (done.embedded, done.total, done.model) == (MANY - BATCH_SIZE, MANY, "fake")
        assert len(Fake.embedded) == MANY - BATCH_SIZE and seen == [(MANY - BATCH_SIZE, MANY - BATCH_SIZE)]
        assert is_whole(memory, MANY)


def test_a_killed_run_continues(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    many(path).close()
    code = (
        "import os, signal, sys\nfrom memglot import Memory\n"
        "Memory.open(sys.argv[1]).embed(progress=lambda done, whole: os.kill(os.getpid(), signal.SIGKILL))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, env=os.environ.copy())
    assert done.returncode == -signal.SIGKILL, done.stderr
    with Memory.open(path) as memory:
        assert memory.search("cat", limit=None).total == MANY, "nothing is hidden meanwhile"
        assert memory.embed().embedded == MANY - BATCH_SIZE
        assert is_whole(memory, MANY)


def test_every_change_keeps_the_vectors_correct(tmp_path: Path) -> None:
    notes = tmp_path / "notes.yaml"
    notes.write_text("- {content: a ship at sea}\n- {content: the harbour}\n", encoding="utf-8")
    with Memory.open(tmp_path / "store.db") as memory:
        cat, garden = memory.add("the cat sleeps"), memory.add("a garden", title="Outside")
        assert memory.search("feline", mode="semantic")[0].id == cat.id
        memory.update(cat.id, content="the dog barks", tags=["a"])
        assert memory.search("puppy", mode="semantic")[0].id == cat.id
        memory.update(garden.id, title=None)
        memory.update(garden.id, meta={"a": 1})
        assert is_whole(memory, 2)
        memory.delete(cat.id)
        assert cat.id not in [hit.id for hit in memory.search("puppy", mode="semantic")]
        assert memory.doctor().ok
        memory.undelete(cat.id)
        assert memory.search("puppy", mode="semantic")[0].id == cat.id
        assert is_whole(memory, 2)
        imported = memory.import_from(notes, embed=False)
        assert memory.stats()["vectors"]["missing"] == 2
        found = memory.search("ship")
        assert found[0].content == "a ship at sea" and "2 memories" in found.notes[0]
        assert memory.embed().embedded == 2 and is_whole(memory, 4)
        memory.undo(str(imported.import_id))
        assert memory.doctor().ok and memory.stats()["vectors"] == {"model": BUILT_IN, "count": 2, "missing": 0}
        memory.import_from(notes)
        assert is_whole(memory, 4)
        memory.update(garden.id, tree="here")
        memory.copy("here", "elsewhere")
        memory.embed()
        assert is_whole(memory, 5)


def test_another_process_may_change_vectors_meanwhile(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store.db") as one, Memory.open(tmp_path / "store.db") as other:
        cat = one.add("the cat sleeps")
        assert other.search("feline", mode="semantic").total == 1
        dog = one.add("the dog barks")
        assert other.search("puppy", mode="semantic")[0].id == dog.id
        one.update(cat.id, content="ship at sea")
        assert other.search("boat", mode="semantic")[0].id == cat.id
        one.delete(dog.id)
        one.embed(again=True)
        assert [hit.id for hit in other.search("boat", mode="semantic")] == [cat.id]


def test_a_keyword_match_without_a_vector_ranks_before_a_semantic_one(memory: Memory) -> None:
    for text in ("my kitten sleeps", *(f"report {number} of the office" for number in range(20))):
        memory.add(text)
    memory.import_from(b'{"content": "the cat next door"}', format="ndjson", embed=False)
    found = memory.search("cat")
    assert [hit.content for hit in found][:2] == ["the cat next door", "my kitten sleeps"]
    assert "semantic" not in found[0].ranks


@pytest.mark.parametrize(
    ("setting", "most"), [("_MAX_IN_MEMORY", 3), ("_THREAD_FROM", 0)], ids=["read in blocks", "in a thread"]
)
def test_every_way_to_compare_vectors_gives_the_same_results(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, setting: str, most: int
) -> None:
    for number, text in enumerate(
        ("my kitten sleeps", "deploy on Friday", "the cat next door", "a lorry", "重跑", "a cat")
    ):
        memory.add(text, tags=["odd"] if number % 2 else [])
    memory.update(memory.search("lorry")[0].id, content="a ship at sea")
    questions = ("cat", "feline -lorry", "boat tag:odd", '"next door"')
    before = [[hit.id for hit in memory.search(question, mode="semantic")] for question in questions]
    monkeypatch.setattr(vectors, setting, most)
    monkeypatch.setattr(vectors, "_BLOCK", 2)
    for question, expected in zip(questions, before, strict=True):
        whole = memory.search(question, mode="semantic")
        assert [hit.id for hit in whole] == expected and whole.total == len(expected)
        assert [
            memory.search(question, mode="semantic", limit=1, offset=n)[0].id for n in range(whole.total)
        ] == expected
    assert memory.search("cat")[0].matched == ["cat"]


def test_an_import_that_updates_leaves_no_outdated_vector(tmp_path: Path) -> None:
    notes = tmp_path / "notes.yaml"
    line = "- {{id: 0194a000-0001-7000-8000-000000000001, content: {}, updated_at: {}}}\n"
    notes.write_text(line.format("the cat sleeps", "2025-02-01T00:00:00Z"), encoding="utf-8")
    with Memory.open(":memory:") as memory:
        memory.import_from(notes)
        notes.write_text(line.format("ship at sea", "2025-03-01T00:00:00Z"), encoding="utf-8")
        memory.import_from(notes, conflict="prefer-remote", embed=False)
        assert memory.get("0194a000").content == "ship at sea"
        assert memory.stats()["vectors"]["missing"] == 1
        assert memory.embed().embedded == 1 and is_whole(memory, 1)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:") as found:
        yield found


def test_vectors_of_a_rolled_back_transaction_are_discarded(memory: Memory) -> None:
    memory.add("a llama in the garden")
    with pytest.raises(RuntimeError), memory.store.writing():
        memory.add("a giraffe at the zoo")
        assert memory.search("giraffe", mode="semantic")[0].content == "a giraffe at the zoo"
        raise RuntimeError
    assert [hit.content for hit in memory.search("giraffe", mode="semantic")] == ["a llama in the garden"]
    memory.add("a camel in the desert")
    assert memory.search("camel", mode="semantic")[0].content == "a camel in the desert"


def test_semantic_search_works_with_a_narrow_filter(memory: Memory) -> None:
    for number in range(1_200):
        memory.add(f"a cat and a kitten, number {number}")
    wanted = memory.add("puppies are young dogs", tree="rare")
    for mode in ("hybrid", "semantic"):
        assert [hit.id for hit in memory.search("cat", mode=mode, tree="rare")][:1] in ([wanted.id], [])
        assert [hit.id for hit in memory.search("a young dog", mode=mode, tree="rare")] == [wanted.id]
        assert [hit.id for hit in memory.search('kitten "young dogs"', mode=mode)] == [wanted.id]
