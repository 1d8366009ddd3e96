"""Goldens: each `tests/formats/<name>/<case>/` holds an input, the model it becomes, and what is written back.

`make accept` rewrites them; the review is the diff.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memglot.formats import registry
from memglot.formats.base import ReadOptions, WriteOptions
from memglot.formats.core.read import read_items
from memglot.formats.core.target import Target
from memglot.model import Item, to_builtins
from memglot.report import Report

FOLDER = Path(__file__).parents[1] / "goldens"
CASES = sorted(path for path in FOLDER.glob("*/*") if path.is_dir())
_MACHINE = re.compile(rb'"(platform|python_version)": "[^"]*"')
ACCEPT = os.environ.get("MEMGLOT_ACCEPT") == "1"


def test_every_format_has_goldens() -> None:
    assert {path.parent.name for path in CASES} == set(registry.names())


@pytest.mark.parametrize("case", CASES, ids=[f"{path.parent.name}/{path.name}" for path in CASES])
def test_golden(case: Path, tmp_path: Path) -> None:
    format = registry.get(case.parent.name)
    (source,) = case.glob("input*")
    report = Report()
    items: list[Item] = []
    given = _database(source, tmp_path) if source.suffix == ".sql" else source
    for item in read_items([given], format, report, ReadOptions()):
        items.append(item)
    model = {
        "items": [{type(item).__name__: to_builtins(item)} for item in items],
        "errors": [_inside(msgspec.to_builtins(fault), given.parent) for fault in report.faults()],
        "notes": [note.replace(f"{given.parent}/", "") for note in report.notes],
    }
    output = tmp_path / given.name.replace("input", "output")
    writing = Report()
    if items and format.write is not None:
        format.write(iter(items), Target(output), writing, WriteOptions())
    if source.suffix == ".sql" and output.exists():
        output = _dump(output)
    model["losses"] = writing.losses()
    _compare(case / "model.json", msgspec.json.format(msgspec.json.encode(model), indent=2) + b"\n")
    if ACCEPT:
        _accept(output, case / output.name)
    assert _files(output) == _files(case / output.name)


def _database(source: Path, folder: Path) -> Path:
    """Make a database from SQL, because a golden in binary form could not be reviewed."""
    path = folder / "input.sqlite"
    with sqlite3.connect(path) as db:
        db.executescript(source.read_text(encoding="utf-8"))
    db.close()
    return path


def _dump(path: Path) -> Path:
    """Return the ordinary tables of a database and their rows as SQL."""
    lines = []
    with sqlite3.connect(path) as db:
        for name in ("application_id", "user_version"):
            lines += [f"PRAGMA {name} = {value};" for (value,) in db.execute(f"PRAGMA {name}") if value]
        tables = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid"
        made = db.execute(tables).fetchall()
        indexes = [name for name, sql in made if sql.startswith("CREATE VIRTUAL")]
        for name, sql in made:
            if name.startswith(tuple(indexes)):
                continue
            lines.append(f"{sql};")
            columns = [column for (column,) in db.execute("SELECT name FROM pragma_table_info(?)", (name,))]
            quoted = " || ', ' || ".join(f'quote("{column}")' for column in columns)
            lines += [f"INSERT INTO {name} VALUES ({row});" for (row,) in db.execute(f"SELECT {quoted} FROM {name}")]
    db.close()
    text = path.with_suffix(".sql")
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return text


def _inside(fault: dict[str, Any], case: Path) -> dict[str, Any]:
    return {key: value.replace(f"{case}/", "") if isinstance(value, str) else value for key, value in fault.items()}


def _compare(golden: Path, text: bytes) -> None:
    if ACCEPT:
        golden.write_bytes(text)
    assert text.decode() == golden.read_text(encoding="utf-8")


def _accept(output: Path, golden: Path) -> None:
    if golden.is_dir():
        shutil.rmtree(golden)
    if output.is_dir():
        shutil.copytree(output, golden)
    elif output.exists():
        shutil.copy(output, golden)


def _files(path: Path) -> dict[str, bytes]:
    if path.is_dir():
        return {str(file.relative_to(path)): _anywhere(file) for file in sorted(path.rglob("*")) if file.is_file()}
    return {"": _anywhere(path)} if path.exists() else {}


def _anywhere(path: Path) -> bytes:
    """Return the bytes of a file without differences between machines."""
    return _MACHINE.sub(rb'"\1": "..."', path.read_bytes())
