"""The SQLite store: conformance, migrations, and faults of files."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import msgspec
import pytest

from memglot import Memory
from memglot.errors import DamagedStore, FullStore, LockedStore, NewerStore, NoStore, NotAStore, ReadOnlyStore
from memglot.model import Conflict, Entity, canonical
from memglot.store.contract import Store
from memglot.store.hidden import SENSITIVE
from memglot.store.location import open_store
from memglot.store.sqlite import connection, text_index
from memglot.store.sqlite.migrations import MIGRATIONS
from memglot.store.sqlite.schema import DEFERRED_INDEXES, SCHEMA
from memglot.store.sqlite.store import SqliteStore
from memglot.store.view import VisibleStore
from memglot.testing.samples import make
from memglot.testing.store import StoreConformance, count_found

VERSIONS = sorted((Path(__file__).parent / "versions").glob("v*.sql"))


class TestSqliteFile(StoreConformance):
    @pytest.fixture
    def store(self, store_path: str) -> Iterator[Store]:
        found = open_store(store_path)
        yield found
        found.close()


class TestSqliteInMemory(StoreConformance):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        found = open_store(":memory:")
        yield found
        found.close()


class TestVisibleStore(StoreConformance):
    """A view that hides a scope obeys the contract as if the scope did not exist."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        complete = open_store(":memory:")
        record = make("an apple that nobody sees", scope="hidden", tree="a.b")
        with complete.writing():
            complete.records.add([record, make("same", scope="hidden"), make("same", scope="hidden")])
            complete.things.put([Entity(id="e", name="E", scope="hidden")])
            complete.put_setting(SENSITIVE + "hidden", "")
        yield VisibleStore(complete)
        complete.close()


@pytest.mark.parametrize("version", VERSIONS, ids=[path.stem for path in VERSIONS])
def test_a_store_of_every_past_version_opens(version: Path, store_path: str) -> None:
    db = apsw.Connection(store_path)
    db.execute(version.read_text(encoding="utf-8"))
    db.close()
    with Memory.open(store_path) as memory:
        assert [record.content for record in memory.list()] == ["An old memory", "A second one"]
        assert memory.search("old").total == 1
        assert memory.audit_verify()["ok"]
        assert memory.doctor().ok


@pytest.mark.parametrize("version", VERSIONS, ids=[path.stem for path in VERSIONS])
def test_a_store_of_every_past_version_is_read_and_imported(version: Path, store_path: str) -> None:
    db = apsw.Connection(store_path)
    db.execute(version.read_text(encoding="utf-8"))
    db.close()
    with Memory.open(":memory:") as other:
        assert other.import_from(store_path, format="sqlite").imported == 2
    with Memory.open(store_path, write=False) as memory:
        assert [record.content for record in memory.list()] == ["An old memory", "A second one"]
        assert memory.history(next(memory.list()).id)[0][-1].deed == "present"


def test_conflicts_of_the_first_version_keep_their_values(store_path: str) -> None:
    """They had two sides, each with a clock, and a state."""
    id = "0194a000-0001-7000-8000-000000000001"
    sides = {"record": id, "local_clock": 5, "remote_clock": 5}
    old = [
        {**sides, "field": "title", "local": "zwei \u00e9", "remote": "eins"},
        {**sides, "field": "meta.a b", "local": {"k": [1, 2.5, None]}, "remote": 10**30},
        {**sides, "field": "kind", "local": "a", "remote": "b", "state": "settled"},
    ]
    db = apsw.Connection(store_path)
    db.execute((VERSIONS[0]).read_text(encoding="utf-8"))
    for doc in old:
        row = (f"{id} {doc['field']}", id, doc.get("state", "open"), canonical(doc).decode())
        db.execute("INSERT INTO conflicts VALUES (?, ?, ?, ?, NULL, NULL)", row)
    before = canonical(old[0]).decode()
    db.execute("INSERT INTO revisions VALUES (9, 'conflict', ?, 1, 'import', ?, NULL, NULL)", (id, before))
    db.close()
    with Memory.open(store_path) as memory:
        first = Conflict(record=id, field="title", clock=5, values=["eins", "zwei \u00e9"])
        second = Conflict(record=id, field="meta.a b", clock=5, values=[10**30, {"k": [1, 2.5, None]}])
        assert list(memory.store.things.select(Conflict)) == [second, first]
        assert list(memory.store.things.by_second_key(Conflict, "title")) == [first]
        (revision,) = [one for one in memory.store.history.revisions(key=id) if one.kind == "conflict"]
        assert msgspec.convert(revision.before, Conflict) == first
        assert memory.store.history.has_event(memory.store.history.chain_head()[1])


def test_there_is_a_dump_of_every_version() -> None:
    assert [path.stem for path in VERSIONS] == [f"v{number}" for number in range(1, len(MIGRATIONS) + 1)]


def shape(db: apsw.Connection) -> dict[str, list[tuple[object, ...]]]:
    """The tables of a database with their columns, its indexes with theirs, and the rows of `state`."""
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")]
    found = {name: list(db.execute("SELECT * FROM pragma_table_xinfo(?)", (name,))) for name in sorted(names)}
    found |= {f"index {name}": list(db.execute("SELECT * FROM pragma_index_xinfo(?)", (name,))) for name in names}
    return found | {"state rows": list(db.execute("SELECT name, value FROM state ORDER BY name"))}


def test_a_migrated_store_has_the_tables_of_a_new_one() -> None:
    old, new = apsw.Connection(":memory:"), apsw.Connection(":memory:")
    for statements in MIGRATIONS:
        old.execute(statements)
    new.execute(SCHEMA)
    assert shape(old) == shape(new)


def test_reading_does_not_create_a_store(store_path: str) -> None:
    with pytest.raises(NoStore):
        open_store(store_path, write=False)
    assert not os.path.exists(store_path)


def test_a_file_that_is_not_a_store_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("these are notes, and quite a few of them, so that it cannot be an empty database\n" * 20)
    other = tmp_path / "other.db"
    db = apsw.Connection(str(other))
    db.execute("CREATE TABLE theirs (a)")
    db.close()
    for path in (text, other, tmp_path):
        before = path.read_bytes() if path.is_file() else b""
        for write in (True, False):
            with pytest.raises(NotAStore):
                open_store(str(path), write=write)
        assert not path.is_file() or path.read_bytes() == before


def test_a_newer_store_is_refused_and_not_changed(store_path: str) -> None:
    open_store(store_path).close()
    db = apsw.Connection(store_path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    for write in (True, False):
        with pytest.raises(NewerStore, match="version 99"):
            open_store(store_path, write=write)


def test_a_damaged_store_is_reported(store_path: str) -> None:
    with Memory.open(store_path) as memory:
        memory.import_from(b"\n".join(b'{"content":"memory %d"}' % number for number in range(2000)), format="ndjson")
    with open(store_path, "r+b") as file:
        file.seek(40_000)
        file.write(b"\xaa" * 200_000)
    with pytest.raises((DamagedStore, NotAStore)), Memory.open(store_path, write=False) as memory:
        list(memory.list())


def test_a_read_only_store_can_be_read_and_not_written(store_path: str) -> None:
    with Memory.open(store_path) as memory:
        memory.add("kept")
    with Memory.open(store_path, write=False) as memory:
        assert [record.content for record in memory.list()] == ["kept"]
        with pytest.raises(ReadOnlyStore):
            memory.add("more")


def test_a_store_without_write_permission_is_reported() -> None:
    """Permissions do not apply to root, so root makes the call as another user, in a folder that all can enter."""
    script = (
        "import os, sys\n"
        "from memglot import Memory, MemglotError\n"
        "import memglot.editing.memory, memglot.store.sqlite.store\n"
        "os.geteuid() or os.setuid(65534)\n"
        "print([record.content for record in Memory.open(sys.argv[1], write=False).list()])\n"
        "try:\n    Memory.open(sys.argv[1]).add('more')\n"
        "except MemglotError as error:\n    print(error.code)\n"
    )
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "store.connection.db"
        with Memory.open(str(path)) as memory:
            memory.add("kept")
        path.chmod(0o444)
        Path(name).chmod(0o555)
        done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, cwd="/")
        Path(name).chmod(0o755)
    assert done.stdout.splitlines() == ["['kept']", "read_only"], done.stderr


def test_a_full_disk_keeps_complete_batches(store_path: str) -> None:
    with Memory.open(store_path) as memory:
        memory.import_from(b'{"content":"first"}', format="ndjson")
        store = memory.store
        assert isinstance(store, SqliteStore)
        pages = next(iter(store.connection.db.execute("PRAGMA page_count")))[0]
        store.connection.db.execute(f"PRAGMA max_page_count = {pages + 60}").fetchall()
        lines = b"\n".join(b'{"content":"%d %s"}' % (number, b"word " * 60) for number in range(5000))
        with pytest.raises(FullStore):
            memory.import_from(lines, format="ndjson")
        store.connection.db.execute("PRAGMA max_page_count = 1000000").fetchall()
    with Memory.open(store_path) as memory:
        assert (memory.count() - 1) % 1000 == 0
        assert memory.search("first").total == 1
        assert memory.doctor().ok


def test_a_locked_store_is_reported(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "WRITER_SECONDS", 0.05)
    with Memory.open(store_path) as memory:
        other = open_store(store_path)
        with other.writing(), pytest.raises(LockedStore):
            memory.add("x")
        other.close()
        memory.add("y")


def test_others_can_write_while_much_text_is_indexed(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of these memories fit into one transaction, and one is too much for any and gets its own."""
    monkeypatch.setattr(text_index, "_TEXT_BYTES", 20)
    monkeypatch.setattr(connection, "WRITER_SECONDS", 0.05)
    texts = ["apple pie", "plum pie", "pie of the longest apples", "pear pie", "fig pie"]
    store = open_store(store_path)
    assert isinstance(store, SqliteStore)
    other = apsw.Connection(store_path)
    reached = []

    def write_elsewhere() -> None:
        # This would fail at once if the lock were held.
        other.execute("BEGIN IMMEDIATE; ROLLBACK")
        reached.append(store.text.indexed_to())

    monkeypatch.setattr(store.connection, "give_way", write_elsewhere)
    with store.loading(by_content=False), store.writing():
        store.records.add([make(text) for text in texts])
    assert list(dict.fromkeys(reached)) == [0, 2, 3, 5]
    assert count_found(store, "pie") == len(texts) and not list(store.verify())
    other.close()
    store.close()


def test_an_interrupted_load_is_reported_and_completed(store_path: str) -> None:
    store = open_store(store_path)
    with pytest.raises(KeyboardInterrupt), store.loading(by_content=False):
        with store.writing():
            store.records.add([make("apple pie")])
        raise KeyboardInterrupt
    store.close()

    reading = open_store(store_path, write=False)
    assert any("interrupted" in note for note in reading.notes)
    assert count_found(reading, "apple") == 1
    assert list(reading.verify()) == []
    reading.close()

    writing = open_store(store_path)
    assert isinstance(writing, SqliteStore)
    names = {name for (name,) in writing.connection.db.execute("SELECT name FROM sqlite_schema WHERE type = 'index'")}
    assert set(DEFERRED_INDEXES) <= names
    assert writing.notes == []
    assert count_found(writing, "apple") == 1
    assert list(writing.verify()) == []
    writing.close()


def test_a_record_altered_outside_of_memglot_is_detected(store_path: str) -> None:
    with Memory.open(store_path) as memory:
        id = memory.add("the truth").id
        store = memory.store
        assert isinstance(store, SqliteStore)
        store.connection.db.execute("UPDATE records SET tree = 'elsewhere'")
        verdict = memory.doctor()
    assert not verdict.ok
    assert any(id in problem for problem in verdict.problems)
