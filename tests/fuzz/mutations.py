"""Small inputs of every format, and variants of them that are almost right."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

TESTS = Path(__file__).parents[1]
GOLDENS = TESTS / "goldens"
MAX_SIZE = 32 << 10

TEXTS = [
    *("", " ", "\n", "a", "0", "-1", "null", "true", "NaN", "1e400", "2024-01-01", "2024-13-45T99:99:99Z", "[]", "{}"),
    *(
        "18446744073709551616",
        "a,b",
        "a|b",
        '["a"]',
        '{"a":1}',
        "---\na: 1\n---\n",
        "[[x]]",
        "![[x]]",
        "#tag",
        "\ufeff",
    ),
    *(
        "\0",
        "\ud800",
        "\u2028",
        "\x85",
        "\r\n",
        "é",
        "e\u0301",
        "../../x",
        "C:\\x",
        "a.b",
        "a..b",
        "a/b",
        "user:1",
        "%",
    ),
    *("deleted", "superseded", "active", "semantic", "mt_1", "entity:person:x", "0190a0a0-0000-7000-8000-000000000001"),
    *(
        "x" * 300,
        "9" * 5_000,
        "1.7e308",
        "=1+1",
        "@x",
        "- a",
        "'",
        '"',
        "`",
        "\x1b[0m",
        "\x08",
        "memglot",
        "id",
        "carry",
    ),
]
VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2**31,
        2**53 + 1,
        2**63,
        -(2**63) - 1,
        2**64,
        10**400,
        1.5,
        -0.0,
        1e300,
        1.7e308,
        1711234567890,
    ),
    *([], {}, [None], [[]], {"": None}, {"a": {"b": []}}, ["a", 1], {"id": "a"}, {"content": "a"}),
    *({"memglot": {}}, {"memglot": {"id": "x"}}, {"memglot": {"end": {"count": 1, "digest": "sha256:0"}}}),
]
NAMES = [
    *("id", "content", "text", "type", "kind", "scope", "tags", "metadata", "meta", "createdAt", "created_at", "name"),
    *("updated_at", "deleted", "strength", "source", "memglot", "title", "tree", "temporal", "status", "triggers"),
    *("embedding", "entityType", "observations", "from", "to", "relationType", "aliases", "emotions", "extra", "end"),
]


@dataclass(frozen=True)
class Sample:
    """An input: the file that is mutated, and the files next to it if it is one of a folder."""

    name: str
    path: str
    data: bytes
    others: tuple[tuple[str, bytes], ...] = ()

    @property
    def shape(self) -> str:
        """What the file looks like inside, from its extension."""
        return Path(self.path).suffix

    @property
    def is_folder(self) -> bool:
        """Return True if the input is a folder."""
        return "/" in self.path

    def write(self, folder: Path) -> Path:
        """Write the input to a folder and return its path there."""
        for name, data in [*self.others, (self.path, self.data)]:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return folder / Path(self.path).parts[0]


def cases() -> list[list[Sample]]:
    """Return the inputs and the outputs of each golden; of a folder, one sample for each file."""
    return [list(_of_case(case)) for case in sorted(GOLDENS.glob("*/*"))]


def samples() -> list[Sample]:
    """Return the inputs and the outputs of all goldens."""
    return [sample for case in cases() for sample in case]


def _of_case(case: Path) -> Iterator[Sample]:
    outputs = [] if case.parent.name == "obsidian" else case.glob("output*")
    # The proof of that output has links apart from their notes, where no export puts them.
    for path in sorted([*case.glob("input*"), *outputs]):
        name = f"{case.parent.name}/{case.name}/{path.name}"
        if path.is_file():
            is_sql = path.suffix == ".sql"
            yield Sample(
                name, "input.sqlite" if is_sql else path.name, _database(path) if is_sql else path.read_bytes()
            )
            continue
        files = {
            f"{path.name}/{one.relative_to(path)}": one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()
        }
        for place, data in files.items():
            yield Sample(f"{name}:{place}", place, data, tuple(one for one in files.items() if one[0] != place))


def _database(path: Path) -> bytes:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(path.read_text(encoding="utf-8"))
        return db.serialize()


def mutate(sample: Sample, random: Random) -> Sample:
    """Return a variant of an input, with one to four changes."""
    data = sample.data
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        data = mutate_bytes(data, sample.shape, random)
    return replace(sample, data=data)


def mutate_bytes(data: bytes, shape: str, random: Random) -> bytes:
    """Change something in a file; mostly a value that its shape has, sometimes any byte."""
    change = _BY_SHAPE.get(shape, _change_lines) if random.random() < 0.85 else _change_bytes
    found = None
    with suppress(ValueError, IndexError, RecursionError, sqlite3.Error, csv.Error, OverflowError, MemoryError):
        found = change(data, random)
    return (_change_bytes(data, random) if found is None else found)[:MAX_SIZE]


def _change_bytes(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data) + 1)
    end = min(len(data), at + random.choice([1, 1, 2, 8, 64]))
    match random.randrange(7):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[end:]
        case 2:
            return data[:at] + data[at:end] * random.choice([2, 3, 9]) + data[end:]
        case 3:
            return data[:at] + random.randbytes(end - at) + data[end:]
        case 4:
            other = random.randrange(len(data) + 1)
            return data[:at] + data[other : other + 64] + data[end:]
        case 5 if at < len(data):
            return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]
        case _:
            return data[:at] + random.choice(TEXTS).encode("utf-8", "surrogatepass") + data[at:]


def _change_lines(data: bytes, random: Random) -> bytes:
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    line = lines[at]
    match random.randrange(8):
        case 0:
            del lines[at]
        case 1:
            lines.insert(random.randrange(len(lines) + 1), line)
        case 2:
            other = random.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            lines[at] = random.choice([b" ", b"  ", b"\t", b"- ", b"# ", b"> "]) + line
        case 4:
            lines[at] = line.lstrip()
        case 5 if b":" in line:
            lines[at] = line[: line.index(b":") + 1] + b" " + _scalar(random)
        case 6:
            lines.insert(at, random.choice(NAMES).encode() + b": " + _scalar(random))
        case _:
            lines[at] = line[: random.randrange(len(line) + 1)] + random.choice(TEXTS).encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


def _scalar(random: Random) -> bytes:
    value = _value(random)
    text = value if isinstance(value, str) and random.random() < 0.7 else json.dumps(value)
    return text.encode("utf-8", "surrogatepass")


def _value(random: Random) -> Any:
    return random.choice(TEXTS) if random.random() < 0.5 else random.choice(VALUES)


def _change_json(data: bytes, random: Random) -> bytes:
    text = data.decode("utf-8-sig")
    try:
        found = change_value(json.loads(text), random)
    except ValueError:
        return _change_json_lines(text, random)
    return json.dumps(found, ensure_ascii=random.random() < 0.3).encode("utf-8", "surrogatepass")


def _change_json_lines(text: str, random: Random) -> bytes:
    lines = text.splitlines()
    at = random.randrange(len(lines))
    match random.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(random.randrange(len(lines) + 1), lines[at])
        case _:
            lines[at] = json.dumps(change_value(json.loads(lines[at]), random))
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass")


Place: TypeAlias = tuple[Any, Any]
"""A container and the key of a value in it."""


def change_value(value: Any, random: Random) -> Any:
    """Change one value somewhere in a JSON value: drop, replace, rename, repeat, exchange or wrap it."""
    root = [value]
    places: list[Place] = list(_places(root))
    holder, key = random.choice(places)
    match random.randrange(8):
        case 0 if holder is not root:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[random.choice(NAMES)] = holder.pop(key)
        case 2 if isinstance(holder, dict):
            holder[random.choice(NAMES)] = _value(random)
        case 3 if isinstance(holder, list) and holder is not root:
            holder.insert(random.randrange(len(holder) + 1), holder[key])
        case 4:
            other, name = random.choice(places)
            holder[key] = json.loads(json.dumps(other[name]))
        case 5:
            holder[key] = _typed_differently(holder[key], random)
        case _:
            holder[key] = _value(random)
    return root[0]


def _places(holder: Any) -> Iterator[Place]:
    keys: Any = holder if isinstance(holder, dict) else range(len(holder))
    for key in keys:
        yield holder, key
        if isinstance(holder[key], (dict, list)):
            yield from _places(holder[key])


def _typed_differently(value: Any, random: Random) -> Any:
    match value:
        case str():
            return random.choice([value.upper(), value + value, [value], value[: len(value) // 2], {"text": value}])
        case bool() | None:
            return random.choice([0, 1, "true", "", "null"])
        case int() | float():
            return random.choice([str(value), value * 1000, -value, value / 1000, [value], float(value)])
        case list():
            return random.choice([dict.fromkeys("ab", value), json.dumps(value), value[::-1], value[:1]])
    return random.choice([[value], json.dumps(value), list(value)])


def _change_csv(data: bytes, random: Random) -> bytes:
    text = data.decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    at = random.randrange(len(rows))
    row = rows[at]
    column = random.randrange(max(len(row), 1))
    match random.randrange(8):
        case 0:
            del rows[at]
        case 1:
            rows.insert(random.randrange(len(rows) + 1), row)
        case 2:
            rows = [one[:column] + one[column + 1 :] for one in rows]
        case 3:
            rows[0] = [*rows[0], random.choice(NAMES)]
            rows[1:] = [[*one, _cell(random)] for one in rows[1:]]
        case 4 if row:
            del row[column]
        case 5 if rows[0]:
            rows[0][random.randrange(len(rows[0]))] = random.choice(NAMES)
        case _ if row:
            row[column] = _cell(random)
    found = io.StringIO(newline="")
    csv.writer(found, delimiter=random.choice(",,,,;\t")).writerows(rows)
    return found.getvalue().encode("utf-8", "surrogatepass")


def _cell(random: Random) -> str:
    value = _value(random)
    return value if isinstance(value, str) else json.dumps(value)


def _change_database(data: bytes, random: Random) -> bytes:
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(data)
        tables = [
            name
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
            if db.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
        ]
        table = random.choice(tables)
        columns = [column for (column,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        column, row = random.choice(columns), f'(SELECT rowid FROM "{table}" ORDER BY random() LIMIT 1)'
        count = db.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
        rowid = db.execute(f'SELECT rowid FROM "{table}" LIMIT 1 OFFSET ?', (random.randrange(count),)).fetchone()[0]
        row = f'"{table}" SET "{column}" = ? WHERE rowid = {rowid}'
        match random.randrange(8):
            case 0:
                db.execute(f'DELETE FROM "{table}" WHERE rowid = {rowid}')
            case 1:
                others = ", ".join(f'"{name}"' for name in columns if name != column)
                db.execute(f'INSERT INTO "{table}" ({others}) SELECT {others} FROM "{table}" WHERE rowid = {rowid}')
            case 2:
                db.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
            case _:
                db.execute(f"UPDATE {row}", (_sql_value(random),))
        db.commit()
        return db.serialize()


def _sql_value(random: Random) -> Any:
    value = _value(random)
    if isinstance(value, (dict, list)):
        value = json.dumps(value)
    if isinstance(value, int) and abs(value) >= 1 << 63:
        value = float(value)
    if isinstance(value, str) and random.random() < 0.1:
        return value.encode("utf-8", "surrogatepass")
    return value


_BY_SHAPE: dict[str, Callable[[bytes, Random], bytes]] = {
    ".json": _change_json,
    ".jsonl": _change_json,
    ".ndjson": _change_json,
    ".csv": _change_csv,
    ".tsv": _change_csv,
    ".sqlite": _change_database,
    ".db": _change_database,
}
