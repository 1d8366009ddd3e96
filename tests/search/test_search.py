"""Search through the public API: pages, writes, loaded modules, and correct reasons."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memglot import Memory, Results
from memglot.model import parse_time

MODES = ("hybrid", "fulltext", "semantic")
WORDS = ("database", "staging", "tests", "garden", "cat", "重跑", "Straße", "read_only", "ship", "deploy")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
QUESTIONS = st.one_of(
    TEXTS,
    st.sampled_from(["deploy -cat", '"cat deploy"', '-"cat deploy" garden', "tag:a garden", "staging -tag:a", "tag:a"]),
)


@st.composite
def memories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Generate memories to add, and whether each is then deleted or has no vector."""
    return draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "content": TEXTS,
                    "meta": st.sampled_from([{}, {}, {"session": "1"}, {"session": "2", "speaker": "Ann"}]),
                    "tags": st.sampled_from([(), ("a",)]),
                    "fate": st.sampled_from(["kept", "kept", "kept", "deleted", "deleted elsewhere", "imported"]),
                }
            ),
            min_size=1,
            max_size=25,
        )
    )


def kept(given_memories: list[dict[str, Any]]) -> Memory:
    memory = Memory.open(":memory:")
    memory.add("one that has a vector")
    for each in given_memories:
        values = {name: value for name, value in each.items() if name != "fate"}
        record = memory.add(**values)
        if each["fate"] == "deleted":
            memory.delete(record.id)
        elif each["fate"] != "kept":
            store: Any = memory.store
            with store.writing():
                if each["fate"] == "imported":
                    store.vectors.remove(list(store.search.numbers_of([record.id]).values()))
                else:
                    store.records.replace(msgspec.structs.replace(record, status="deleted"))
    return memory


def ids(results: Results) -> list[str]:
    return [hit.id for hit in results]


@settings(max_examples=40)
@given(memories(), QUESTIONS, st.integers(1, 7))
def test_pages_partition_all_results(given_memories: list[dict[str, Any]], question: str, size: int) -> None:
    with kept(given_memories) as memory:
        for mode in MODES:
            whole = memory.search(question, mode=mode, limit=None)
            assert len(set(ids(whole))) == len(whole) == whole.total
            pages = [memory.search(question, mode=mode, limit=size, offset=n) for n in range(0, len(whole) + 1, size)]
            assert [id for page in pages for id in ids(page)] == ids(whole)
            assert {page.total for page in pages} == {whole.total}
            again = memory.search(question, mode=mode, limit=None)
            assert [(hit.id, hit.score) for hit in again] == [(hit.id, hit.score) for hit in whole]
            assert all(memory.get(id).status != "deleted" for id in ids(whole))


@pytest.mark.parametrize("mode", MODES)
def test_pages_partition_more_than_the_candidates(mode: str) -> None:
    with Memory.open(":memory:") as memory:
        with memory.store.writing():
            for number in range(330):
                said = {"session": str(number % 3)} if number % 2 else {}
                memory.add(f"garden {'cat ' * (number % 5)}{number}", meta=said, tags=["odd"] if number % 3 else [])
        for question in ("garden cat", "cat tag:odd", '"cat cat"'):
            whole = memory.search(question, mode=mode, limit=None)
            assert len(set(ids(whole))) == len(whole) == whole.total > 100
            pages = [memory.search(question, mode=mode, limit=37, offset=n) for n in range(0, whole.total, 37)]
            assert [id for page in pages for id in ids(page)] == ids(whole)
            assert not list(memory.search(question, mode=mode, offset=whole.total))
            assert ids(memory.search(question, mode=mode, offset=-3)) == ids(whole)[:10]


@given(memories(), TEXTS)
@settings(max_examples=25)
def test_hybrid_search_finds_memories_without_a_vector(given_memories: list[dict[str, Any]], question: str) -> None:
    with kept(given_memories) as memory:
        by_words = set(ids(memory.search(question, mode="fulltext", limit=None)))
        assert by_words <= set(ids(memory.search(question, limit=None)))


def test_a_query_with_an_unknown_word_finds_the_common_one(memory: Memory) -> None:
    for number in range(30):
        memory.add(f"deploy number {number}")
    memory.add("nothing of the kind", tags=["a"])
    for mode in ("hybrid", "fulltext"):
        assert memory.search("deploy zeppelin", mode=mode).total == 30
        assert memory.search("deploy kind -tag:a", mode=mode).total == 30


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "store.db"
    with Memory.open(path) as memory:
        for number, text in enumerate(("the cat sleeps", "a garden with a cat", "deploy on Friday")):
            memory.add(text, tags=["a"], meta={"session": "1"} if number else {})
    yield path


def digests(path: Path) -> dict[str, str]:
    # The shared-memory index of the log is not part of the store; readers may create it.
    files = [file for file in path.parent.iterdir() if not file.name.endswith("-shm")]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.stat().st_size}


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_reading_writes_nothing(shelf: Path, mode: str, write: bool) -> None:
    before = digests(shelf)
    with Memory.open(shelf, write=write) as memory:
        for question in ("cat", "cat -garden", '"the cat"', "tag:a", "tag:a cat before:2999"):
            assert memory.search(question, mode=mode, context=2, budget=500, grep="a").total
        assert digests(shelf) == before
    assert digests(shelf) == before


def test_touch_changes_two_fields_and_the_audit_log(memory: Memory) -> None:
    there = [memory.add("the cat sleeps", tags=["a"], strength=0.5, meta={"session": "1"}), memory.add("a garden")]
    before = [memory.get(record.id) for record in there]
    memory.search("cat", mode="fulltext")
    assert [memory.get(record.id) for record in there] == before
    memory.search("cat", mode="fulltext", touch=True)
    memory.search("cat", mode="fulltext", touch=True)
    found, other = (memory.get(record.id) for record in there)
    assert found.access_count == 2 and found.last_accessed is not None
    found.access_count, found.last_accessed = before[0].access_count, before[0].last_accessed
    assert [found, other] == before
    assert memory.doctor().ok and not memory.embed().embedded


def test_memories_left_out_of_the_block_are_not_touched(memory: Memory) -> None:
    for number in range(5):
        memory.add(f"cat {number} " + "sleeps in the garden " * 20)
    results = memory.search("cat", budget=250, touch=True)
    assert {hit.packed for hit in results} > {"left out"}
    for hit in results:
        assert memory.get(hit.id).access_count == (0 if hit.packed == "left out" else 1)


@pytest.mark.parametrize("face", ["api", "command line"])
def test_a_store_without_vectors_loads_no_embedder(tmp_path: Path, face: str) -> None:
    path = tmp_path / "store.db"
    (tmp_path / "notes.yaml").write_text("- {content: the cat sleeps}\n- {content: a garden}\n", encoding="utf-8")
    asked = {
        "api": "from memglot import Memory\nm = Memory.open(path)\nm.import_from(notes, embed=False)\n"
        "assert len(m.search('cat')) == len(m.search('cat', mode='fulltext')) == 1",
        "command line": "from memglot.cli.main import main\n"
        "for line in (['import', notes, '--no-embed'], ['search', 'cat', '--context', '1', '--budget', '300']):\n"
        "    try: main(['--store', path, *line])\n    except SystemExit as end: assert not end.code, end.code",
    }[face]
    code = f"import sys\npath, notes = sys.argv[1:]\n{asked}\nprint(sorted({{'numpy', 'kitoken'}} & set(sys.modules)))"
    command = [sys.executable, "-c", code, str(path), str(tmp_path / "notes.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ.copy())
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stdout + done.stderr


@given(memories(), TEXTS)
@settings(max_examples=25)
def test_the_reasons_are_correct(given_memories: list[dict[str, Any]], question: str) -> None:
    with kept(given_memories) as memory:
        for mode in MODES:
            results = memory.search(question, mode=mode, limit=None)
            for hit in results:
                assert set(hit.matched) <= set(question.split()) | {"read", "only", "后"}
                for word in hit.matched:
                    assert word in hit.content.replace("_", " ").split() or word in hit.content.split()
                missed = set(question.split()) - set(hit.matched)
                assert mode == "semantic" or not hit.matched or "fulltext" in hit.ranks
                assert not any(word in hit.content.split() for word in missed) or len(given_memories) > 20
            for name in ("fulltext", "semantic"):
                places = sorted(hit.ranks[name] for hit in results if name in hit.ranks)
                assert places == list(range(1, len(places) + 1)) or name == "semantic" != mode
            for hit in results:
                assert ("matches " in " ".join(hit.why)) == bool(hit.matched)
                assert (f"keyword rank {hit.ranks.get('fulltext')}" in hit.why) == ("fulltext" in hit.ranks)


def test_times_and_filters_of_a_query_are_respected(memory: Memory) -> None:
    old = memory.add("cat of long ago")
    store: Any = memory.store
    with store.writing():
        old.created_at = parse_time("2024-05-31T23:59:59Z")
        store.records.replace(old)
    new = memory.add("cat of now", tree="work.ops", kind="decision", scope="project", tags=["two words"])
    for question in (
        "after:2025",
        "tree:work",
        "kind:decision",
        "scope:project",
        'tag:"two words"',
        "-tag:x after:2025",
    ):
        assert ids(memory.search(f"cat {question}", mode="fulltext")) == [new.id], question
    for question in ("before:2024-06", "before:2025 after:2024-05-31", '-tag:"two words"', "-now"):
        assert ids(memory.search(f"cat {question}", mode="fulltext")) == [old.id], question
