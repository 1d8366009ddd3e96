"""Reading a store as an input never changes it, and executes nothing in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memglot import Memory
from memglot.exporting.convert import convert
from memglot.exporting.diff import diff
from memglot.exporting.verify import verify
from memglot.store.location import open_input_store

VERSIONS = sorted((Path(__file__).parent / "versions").glob("v*.sql"))
READERS: dict[str, Callable[[Path, Path], object]] = {
    "verify": lambda store, folder: verify(store),
    "diff": lambda store, folder: list(diff(store, store)),
    "convert": lambda store, folder: convert(store, folder / "out.ndjson"),
    "import": lambda store, folder: Memory.open(":memory:").import_from(store),
}
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id FROM n"


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.stem)
@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_reading_a_store_of_an_earlier_version_changes_nothing(
    version: Path, read: str, mode: str, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in/store.db"
    with closing(apsw.Connection(str(path))) as db:
        db.execute(version.read_text(encoding="utf-8"))
        db.execute(f"PRAGMA journal_mode = {mode}").fetchall()
    before = files_of(tmp_path / "in")
    READERS[read](path, tmp_path)
    assert files_of(tmp_path / "in") == before
    with Memory.open(":memory:") as memory:
        assert memory.import_from(path).imported > 0
    assert files_of(tmp_path / "in") == before


@pytest.mark.parametrize("read", READERS)
def test_reading_a_store_whose_program_was_killed_changes_nothing(read: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with Memory.open(tmp_path / "store.db") as memory:
        memory.add("in the log")
        (tmp_path / "in/store.db").write_bytes((tmp_path / "store.db").read_bytes())
        (tmp_path / "in/store.db-wal").write_bytes((tmp_path / "store.db-wal").read_bytes())
    before = files_of(tmp_path / "in")
    READERS[read](tmp_path / "in/store.db", tmp_path)
    assert files_of(tmp_path / "in") == before
    with Memory.open(":memory:") as memory:
        assert memory.import_from(tmp_path / "in/store.db").imported == 1


def test_an_input_cannot_be_written(tmp_path: Path) -> None:
    Memory.open(tmp_path / "store.db").close()
    store = open_input_store(tmp_path / "store.db")
    db = store.connection.db  # type: ignore[attr-defined]
    for sql in ("DELETE FROM records", "CREATE TABLE x (y)", "PRAGMA user_version = 7"):
        with pytest.raises(apsw.ReadOnlyError):
            db.execute(sql).fetchall()
    with pytest.raises(apsw.SQLError, match="too many attached databases"):
        db.execute("ATTACH ':memory:' AS other")
    store.close()


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "script",
    [
        f"DROP TABLE records; CREATE VIEW records AS {ENDLESS}",
        "DROP TABLE records; CREATE VIRTUAL TABLE records USING fts5(id, content)",
        "DROP TABLE records; CREATE TABLE records (id, content AS (hex(zeroblob(400000000))))",
        f"DROP TABLE relations; CREATE VIEW relations AS {ENDLESS}",
        f"DROP TABLE state; CREATE VIEW state AS {ENDLESS}",
    ],
)
def test_tables_that_would_be_executed_are_refused(script: str, read: str, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store.db") as memory:
        memory.add("x")
    with closing(sqlite3.connect(tmp_path / "store.db")) as db:
        db.executescript(script)
    with Memory.open(":memory:") as memory:
        (fault,) = memory.import_from(tmp_path / "store.db").errors
        assert "is damaged" in fault.error
        assert "is not an ordinary table" in fault.error
    assert verify(tmp_path / "store.db").state == "altered"


def test_triggers_of_a_store_never_run(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store.db") as memory:
        memory.add("x")
    with closing(sqlite3.connect(tmp_path / "store.db")) as db:
        db.executescript("CREATE TRIGGER bad AFTER INSERT ON records BEGIN DELETE FROM records; END")
    with Memory.open(tmp_path / "store.db") as memory:
        memory.add("y")
        assert memory.count() == 2


def test_a_page_that_contains_itself_ends(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Memory.open(path) as memory:
        memory.import_from(b"\n".join(b'{"content":"%d"}' % number for number in range(2_000)), format="ndjson")
    with closing(sqlite3.connect(path)) as db:
        root, size = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'records'").fetchone()[0], 4096
    data = bytearray(path.read_bytes())
    start = (root - 1) * size
    assert data[start] == 5
    first = int.from_bytes(data[start + 12 : start + 14], "big")
    for cell in range(int.from_bytes(data[start + 3 : start + 5], "big")):
        at = int.from_bytes(data[start + 12 + 2 * cell : start + 14 + 2 * cell], "big")
        data[start + at : start + at + 4] = root.to_bytes(4, "big")
    assert first
    path.write_bytes(data)
    with Memory.open(":memory:") as memory:
        result = memory.import_from(path)
        assert list(result.errors)
