"""Databases that somebody changed on purpose: values, types and schema objects that no program would write."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from memglot import Memory
from memglot.exporting.convert import convert
from memglot.store.contract import Base
from memglot.testing.samples import make, one_of_each_thing, whole_record
from service_databases import hash_of, make_database

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
NUMBERS = [0, 1, -1, 2**31, 2**53, 2**63 - 1, -(2**63), 1.5, 1e308, float("inf"), float("-inf")]
TEXTS = ["", " ", "soon", "../../PWN", "\0", "a\0b", "null", "true", "0", "\U000e0041", "x" * 70_000, "é", "a b.c"]
JSON_TEXTS = [
    "{",
    "[]",
    "{}",
    "[1]",
    '"x"',
    "1e999",
    "NaN",
    "9" * 40,
    '{"a":"\\ud800"}',
    "[" * 5_000,
    "[" * 150 + "]" * 150,
]
BYTES = [b"", b"\xff\xfe", b"\0" * 7, b"soon", b"\x80" * 32]
LEAVES: list[Any] = [
    None,
    True,
    0,
    -1,
    2**63,
    10**30,
    1.5,
    "",
    "\0",
    "../../PWN",
    [],
    {},
    [[]],
    {"a": {"b": 1}},
    "soon",
]


def make_store(path: Path) -> Path:
    """Make a store of ours with something in every table."""
    with Memory.open(path) as memory:
        with memory.store.writing():
            memory.store.records.add([whole_record(), make("gone", status="deleted")])
            memory.store.things.put(one_of_each_thing())
        first = memory.add("The first memory about tests", tree="a.b", tags=["one", "two"], meta={"k": [1, {"x": "y"}]})
        second = memory.add("The second one", title="Second", kind="note", scope="secret", strength=0.5)
        memory.add("Forget this")
        memory.update(first.id, content="The first memory, edited")
        memory.delete(memory.add("Deleted later").id)
        memory.link(first.id, "mentions", second.id)
        said = [
            {"content": f"Line {number}", "source": {"conversation": "c", "position": number}} for number in range(4)
        ]
        memory.import_from(json.dumps([{"content": "without id"}, *said]).encode(), format="json")
        memory.mark_sensitive("secret")
        base = Base(tool="obsidian", space="v", record=first.id, said={"content": ["a"]}, updated_at=5)
        with memory.store.writing():
            memory.store.history.put_bases([base])
            memory.store.vectors.use_model("m", 2)
            memory.store.vectors.put([(1, b"\0\0\x80?" * 2)])
    return path


def make_brain(path: Path, store: Path) -> Path:
    """Make an AgentOS brain from a store."""
    convert(store, path, to="agentos-sqlite")
    return path


def make_service_database(path: Path) -> Path:
    """Make a database of mcp-memory-service."""
    rows = [
        {"content": text, "tags": "a,b", "metadata": '{"k": 1}', "created_at": 1.7e9, "memory_type": "note"}
        for text in ("one", "two", "three")
    ]
    make_database(path, "12", rows, wal=False)
    with closing(sqlite3.connect(path)) as db, db:
        edge = (hash_of("one"), hash_of("two"), 0.5, '["x"]', "{}", 1.7e9)
        columns = "source_hash, target_hash, similarity, connection_types, metadata, created_at"
        db.execute(f"INSERT INTO memory_graph ({columns}) VALUES (?, ?, ?, ?, ?, ?)", edge)
        db.execute("INSERT INTO sync_events VALUES (1, 'a', 'e', 'put')")
    return path


class Attacker:
    """Changes a copy of a database in a few places, always the same ones for a seed."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def attack(self, original: Path, path: Path) -> list[str]:
        """Write a hostile copy of a database; return what was changed."""
        shutil.copyfile(original, path)
        done: list[str] = []
        ways: list[Callable[[sqlite3.Connection], str]]
        ways = [*[self._value] * 6, *[self._leaf] * 3, *[self._schema] * 2]
        if self._random.random() < 0.1:
            return [self._bytes(path)]
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA journal_mode = DELETE")
            db.execute("PRAGMA ignore_check_constraints = ON")
            for _ in range(self._random.randint(1, 4)):
                # A change that SQLite refuses is no change.
                with suppress(sqlite3.Error, ValueError), db:
                    done.append(self._random.choice(ways)(db))
        return done

    def _bytes(self, path: Path) -> str:
        content = bytearray(path.read_bytes())
        for _ in range(self._random.randint(1, 20)):
            content[self._random.randrange(100, len(content))] = self._random.randrange(256)
        path.write_bytes(content)
        return "bytes"

    def _table(self, db: sqlite3.Connection) -> str:
        sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND rootpage > 0"
        names = sorted(name for (name,) in db.execute(sql))
        main = [name for name in names if name in ("records", "memories", "memory_traces")]
        return str(self._random.choice(main if main and self._random.random() < 0.4 else names))

    def _column(self, db: sqlite3.Connection, table: str) -> str:
        return str(self._random.choice(db.execute(f'PRAGMA table_info("{table}")').fetchall())[1])

    def _value(self, db: sqlite3.Connection) -> str:
        table = self._table(db)
        column = self._column(db, table)
        kinds: list[list[Any]] = [NUMBERS, TEXTS, JSON_TEXTS, BYTES, BYTES, [None]]
        kind = self._random.randrange(len(kinds))
        value = self._random.choice(kinds[kind])
        mark = "CAST(? AS TEXT)" if kind == 4 else "?"
        rows = "1" if self._random.random() < 0.2 else f"rowid % 3 = {self._random.randrange(3)}"
        if "WITHOUT ROWID" in str(db.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()):
            rows = "1" if self._random.random() < 0.2 else f'"{column}" = (SELECT max("{column}") FROM "{table}")'
        db.execute(f'UPDATE OR REPLACE "{table}" SET "{column}" = {mark} WHERE {rows}', (value,))
        return f"{table}.{column} = {str(value)[:40]!r} ({mark}) where {rows}"

    def _leaf(self, db: sqlite3.Connection) -> str:
        """Change one value inside a JSON document."""
        table = self._table(db)
        column = self._column(db, table)
        for _ in range(20):
            found = db.execute(f'SELECT "{column}" FROM "{table}" WHERE "{column}" LIKE \'{{%\'').fetchall()
            if found:
                break
            table = self._table(db)
            column = self._column(db, table)
        before = self._random.choice(found or [["{}"]])[0]
        document: Any = json.loads(before)
        place = document
        key = self._random.choice([*document, "new"])
        while isinstance(place.get(key), dict) and place[key] and self._random.random() < 0.8:
            place = place[key]
            key = self._random.choice(list(place))
        place[key] = self._random.choice(LEAVES)
        if self._random.random() < 0.2:
            del place[key]
        db.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE "{column}" = ?', (json.dumps(document), before))
        return f"{table}.{column}: {json.dumps(document)[:80]}"

    def _schema(self, db: sqlite3.Connection) -> str:
        table = self._table(db)
        column = self._column(db, table)
        others = f'CREATE TABLE other AS SELECT * FROM "{table}"; DROP TABLE "{table}";'
        columns = ", ".join(f'x AS "{name}"' for _, name, *_ in db.execute(f'PRAGMA table_info("{table}")'))
        change = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET"
        number = self._random.choice([0, 1, 3, 99, -1, 2**31 - 1])
        script = self._random.choice(
            [
                f'DROP TABLE "{table}"',
                f'ALTER TABLE "{table}" DROP COLUMN "{column}"',
                f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "{column}_"',
                f'ALTER TABLE "{table}" ADD COLUMN more GENERATED ALWAYS AS (hex(zeroblob(400000000)))',
                f'{others} CREATE TABLE "{table}" AS SELECT * FROM other',
                f'{others} CREATE VIEW "{table}" AS SELECT * FROM other',
                f'{others} CREATE VIEW "{table}" AS {ENDLESS} SELECT {columns} FROM n',
                f'{others} CREATE VIRTUAL TABLE "{table}" USING fts5({", ".join(["a", "b", "c"])})',
                f'{others} CREATE TABLE "{table}" ("{column}" AS (1), more)',
                f"CREATE TRIGGER bad BEFORE INSERT ON \"{table}\" BEGIN SELECT RAISE(ABORT, 'no'); END",
                f'CREATE TRIGGER bad AFTER UPDATE ON "{table}" BEGIN DELETE FROM "{table}"; END',
                f"CREATE VIEW bad AS {ENDLESS} SELECT * FROM n",
                f'CREATE UNIQUE INDEX bad ON "{table}" (1)',
                f"PRAGMA user_version = {number}",
                f"{change} sql = replace(sql, 'TEXT', 'BLOB CHECK (0)') WHERE name = '{table}'",
                f"{change} sql = CAST(x'43ff' AS TEXT) WHERE name = '{table}'",
                f"{change} rootpage = {abs(number) % 9} WHERE name = '{table}'",
            ]
        )
        db.executescript(script)
        return script
