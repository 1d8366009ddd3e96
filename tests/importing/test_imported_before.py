"""Records without an id are recognised when they are imported again."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent import agent
from memglot import Memory
from memglot.mcp.config import ServerConfig
from memglot.mcp.server import MemglotServer
from memglot.store.sqlite.migrations import MIGRATIONS
from memglot.store.sqlite.store import SqliteStore
from memglot.store.view import VisibleStore

ONE = b'{"content":"one"}\n'
TWO = b'{"content":"two","tree":"a"}\n'


def counts(memory: Memory, data: bytes, **options: object) -> tuple[int, int]:
    result = memory.import_from(data, format="ndjson", **options)  # type: ignore[arg-type]
    return result.imported, result.skipped


def test_the_same_file_is_skipped(memory: Memory) -> None:
    first = memory.import_from(ONE + TWO, format="ndjson")
    again = memory.import_from(ONE + TWO, format="ndjson")
    assert (again.imported, again.skipped, again.import_id) == (0, 2, None)
    assert list(again.skipped_ids) == list(first.ids)
    assert again.notes == [
        "skipped 2 memories without an id that were imported before; use `--allow-duplicates` to import them again"
    ]


def test_records_are_recognised_in_other_files_and_formats(memory: Memory, tmp_path: Path) -> None:
    memory.import_from(ONE + TWO, format="ndjson")
    (tmp_path / "notes.md").write_text("one\n")
    (tmp_path / "list.yaml").write_text("- content: two\n  tree: a\n- content: three\n")
    result = memory.import_from(tmp_path / "notes.md", tmp_path / "list.yaml")
    assert (result.imported, result.skipped) == (1, 2)


def test_a_folder_of_notes_is_not_imported_twice(memory: Memory, tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.md").write_text(f"Note {number}\n")
    assert memory.import_from(tmp_path).imported == 5
    again = memory.import_from(tmp_path)
    assert (again.imported, again.skipped, memory.count()) == (0, 5, 5)


def test_each_of_several_equal_records_counts(memory: Memory) -> None:
    assert counts(memory, ONE * 2) == (2, 0)
    assert counts(memory, ONE * 3) == (1, 2)
    assert counts(memory, ONE) == (0, 1)
    assert counts(memory, ONE * 4) == (1, 3)


def test_a_new_equal_record_of_the_same_command_is_imported_across_batches(memory: Memory) -> None:
    many = b"".join(b'{"content":"%d"}\n' % number for number in range(1_500))
    assert counts(memory, many + ONE) == (1_501, 0)
    assert counts(memory, ONE + many + ONE) == (1, 1_501)


def test_edited_memories_are_recognised(memory: Memory) -> None:
    (id,) = memory.import_from(ONE, format="ndjson").ids
    memory.update(id, content="uno", tags=["es"])
    assert counts(memory, ONE) == (0, 1)
    assert memory.get(id).content == "uno"


def test_deleted_memories_are_recognised_and_can_be_restored(memory: Memory) -> None:
    (id,) = memory.import_from(ONE, format="ndjson").ids
    memory.delete(id)
    skipped = memory.import_from(ONE, format="ndjson")
    assert (skipped.imported, list(skipped.skipped_ids)) == (0, [id])
    assert skipped.notes == [
        "skipped 1 memory that was deleted earlier; use `--restore-deleted` to import deleted memories"
    ]
    restored = memory.import_from(ONE, format="ndjson", restore_deleted=True)
    assert (restored.imported, list(restored.ids)) == (1, [id])
    assert [record.content for record in memory.list()] == ["one"]
    assert counts(memory, ONE) == (0, 1)


def test_an_undone_import_does_not_count(memory: Memory) -> None:
    first = memory.import_from(ONE + TWO, format="ndjson")
    memory.update(next(iter(first.ids)), content="kept, because it was edited")
    assert first.import_id
    memory.undo(first.import_id)
    assert counts(memory, ONE + TWO) == (1, 1)


def test_tree_and_tags_of_the_command_count(memory: Memory) -> None:
    assert counts(memory, ONE, tree="x", tags=["t"]) == (1, 0)
    assert counts(memory, ONE, tree="x", tags=["t"]) == (0, 1)
    assert counts(memory, ONE, tree="y") == (1, 0)
    assert counts(memory, b'{"content":"one","tree":"y"}') == (0, 1)


def test_tree_and_tags_count_in_formats_of_other_tools(memory: Memory) -> None:
    row = b"content\none\n"
    for tags, imported in [(["t"], 1), (["t"], 0), ([], 1)]:
        assert memory.import_from(row, format="csv", dedup="id", tags=tags, tree="x").imported == imported
    assert {record.tree for record in memory.list()} == {"x"}


def test_duplicates_can_be_allowed(memory: Memory) -> None:
    counts(memory, ONE)
    assert counts(memory, ONE, allow_duplicates=True) == (1, 0)
    assert counts(memory, ONE * 2) == (0, 2)


def test_a_dry_run_says_the_same(memory: Memory) -> None:
    assert counts(memory, ONE * 2, dry_run=True) == (2, 0)
    counts(memory, ONE)
    assert counts(memory, ONE * 2, dry_run=True) == (1, 1)
    assert counts(memory, ONE * 2) == (1, 1)


def test_a_stopped_import_goes_on(memory: Memory, tmp_path: Path) -> None:
    lines = [b'{"content":"%d"}\n' % number for number in range(2_500)]
    path = tmp_path / "many.ndjson"
    path.write_bytes(b"".join(lines[:1_000]))
    memory.import_from(path)
    path.write_bytes(b"".join(lines))
    result = memory.import_from(path)
    assert (result.imported, result.skipped) == (1_500, 1_000)


def test_records_deleted_in_their_source_are_recognised(memory: Memory) -> None:
    """A record that is deleted in its source is never a duplicate of another one."""
    row = b"content,status\ngone,deleted\n"
    assert memory.import_from(row, format="csv").imported == 1
    again = memory.import_from(row, format="csv")
    assert (again.imported, again.skipped) == (0, 1)


def test_a_view_does_not_tell_of_hidden_memories(memory: Memory) -> None:
    secret = b'{"content":"secret","meta":{"memglot":{"scope":"private"}}}'
    (id,) = memory.import_from(secret, format="ndjson").ids
    assert memory.get(id).scope == "private"
    memory.mark_sensitive("private")
    view = VisibleStore(memory.store)
    (digest,) = [bytes(row[0]) for row in _database(memory).execute("SELECT digest FROM imported_digests")]
    assert memory.store.history.imported_as([digest], other_than="") == {digest: [id]}
    assert view.history.imported_as([digest], other_than="") == {}


def test_agents_add_records_without_ids_again(store_path: str) -> None:
    """The description of the tool says that such records never collide."""
    with agent(MemglotServer(ServerConfig(store=store_path)).server()) as client:
        for _ in range(2):
            assert client.call("me_memory_import", content=ONE.decode(), format="ndjson")["imported"] == 1


def _database(memory: Memory) -> apsw.Connection:
    assert isinstance(memory.store, SqliteStore)
    return memory.store.connection.db


def test_imports_of_earlier_versions_count_where_unedited(store_path: str) -> None:
    lines = [{"content": "one"}, {"content": "one"}, {"content": "edited"}, {"content": "dated", "meta": {"a": 1}}]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    with Memory.open(store_path) as memory:
        ids = list(memory.import_from(data, format="ndjson", tree="t").ids)
        memory.import_from(b'{"id":"0194a000-0001-7000-8000-000000000001","content":"with id"}', format="ndjson")
        memory.update(ids[2], content="changed")
        db = _database(memory)
        # Earlier versions gave an import and its memories the same time.
        db.execute("UPDATE imports SET at = at / 1000 * 1000")
        db.execute("DROP TABLE imported_digests; DROP TABLE operations; DROP INDEX tombstones_reason")
        db.execute("DELETE FROM state WHERE name = 'undigested'; PRAGMA user_version = 5")
    with Memory.open(store_path) as memory:
        db = _database(memory)
        assert db.execute("PRAGMA user_version").get == len(MIGRATIONS)
        assert db.execute("SELECT count(*) FROM imported_digests").get == 3
        result = memory.import_from(data, format="ndjson", tree="t")
        assert (result.imported, result.skipped) == (1, 3)
        assert {*result.skipped_ids} == {ids[0], ids[1], ids[3]}


TEXTS = st.sampled_from(["a", "b", "c"])


@given(st.lists(st.lists(TEXTS, max_size=6), max_size=5))
def test_a_store_has_as_many_copies_as_the_input_with_most(inputs: list[list[str]]) -> None:
    with Memory.open(":memory:") as memory:
        for texts in inputs:
            memory.import_from(
                "".join(json.dumps({"content": text}) + "\n" for text in texts).encode(), format="ndjson"
            )
        most: Counter[str] = Counter()
        for texts in inputs:
            most |= Counter(texts)
        assert Counter(record.content for record in memory.list()) == most


@pytest.mark.parametrize("name", ["json", "yaml", "markdown", "ndjson", "memories-json"])
def test_every_format_that_compares_ids_alone(memory: Memory, name: str) -> None:
    data = {
        "json": b'[{"content":"one"},{"content":"two"}]',
        "yaml": b"- content: one\n- content: two\n",
        "markdown": b"---\ntree: a\n---\n\none\n",
        "ndjson": ONE + TWO,
        "memories-json": b'{"export_metadata":{},"memories":[{"content":"one"},{"content":"two"}]}',
    }[name]
    first = memory.import_from(data, format=name)
    again = memory.import_from(data, format=name)
    assert first.imported and (again.imported, again.skipped) == (0, first.imported)
