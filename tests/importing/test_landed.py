"""Repeating an import of lines skips what is stored without reading it, with the same result as reading it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memglot import Memory
from memglot.formats.memory_engine import ndjson
from memglot.formats.memory_engine.wire import read_value
from memglot.importing import run
from memglot.importing.landed import LandedLines
from memglot.model import Item
from memglot.report import Progress, Stopped

COUNT = 23
Change = Callable[[Memory], Any]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "BATCH_SIZE", 4)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the items that were read as memories."""
    numbers: list[int] = []

    def reading(raw: bytes, value: Any, report: Any, options: Any) -> Iterable[Item]:
        numbers.append(report.item)
        return read_value(raw, value, report, options)

    monkeypatch.setattr(ndjson, "read_value", reading)
    return numbers


def _id(number: int) -> str:
    return f"0194a000-{number:04d}-7000-8000-{number:012d}"


def _line(number: int, **values: Any) -> bytes:
    return json.dumps({"id": _id(number), "content": f"memory {number}", **values}).encode() + b"\n"


def _lines(count: int = COUNT) -> bytes:
    return b"".join(map(_line, range(count)))


def _import(path: Path, source: Path | bytes, **options: Any) -> dict[str, Any]:
    with Memory.open(path) as memory:
        value = memory.import_from(source, embed=False, **{"format": "ndjson", **options}).value()
        found = {**value, **{name: list(value[name]) for name in ("ids", "skippedIds", "errors", "replacedEdits")}}
        return {**found, "stored": [(record.id, record.content, record.tags, record.tree) for record in memory.list()]}


def test_a_repeated_import_reads_only_the_last_batch(tmp_path: Path, read: list[int]) -> None:
    path = tmp_path / "store.db"
    assert _import(path, _lines())["imported"] == COUNT
    read.clear()
    again = _import(path, _lines())
    assert read == [21, 22, 23]
    assert (again["imported"], again["skipped"], again["failed"]) == (0, COUNT, 0)
    assert again["skippedIds"] == [_id(number) for number in range(COUNT)]
    assert again["importId"] is None and not again["notes"]


def test_a_stopped_import_continues_where_it_stopped(tmp_path: Path, read: list[int]) -> None:
    path = tmp_path / "store.db"

    def stop(progress: Progress) -> None:
        if progress.imported >= 8:
            raise Stopped

    with Memory.open(path) as memory, pytest.raises(Stopped):
        memory.import_from(_lines(), format="ndjson", progress=stop, embed=False)
    read.clear()
    found = _import(path, _lines() + _line(90))
    assert read[0] > 8 and (found["skipped"], found["imported"]) == (read[0] - 1, COUNT + 1 - found["skipped"])
    assert len(found["stored"]) == COUNT + 1
    read.clear()
    assert _import(path, _lines() + _line(90) + _line(91))["imported"] == 1
    assert read[0] > 16, "the parts of both imports follow each other"


def test_lines_are_counted_from_the_beginning_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "notes.ndjson"
    file.write_bytes(b"\xef\xbb\xbf" + _lines(9).replace(b"\n", b"\r\n") + b'\n{"content": ""}\n' + _line(50))
    first = _import(tmp_path / "store.db", file, format=None)
    again = _import(tmp_path / "store.db", file, format=None)
    assert (
        first["errors"]
        == again["errors"]
        == [{"source": str(file), "error": "`content` is empty", "item": 10, "line": 11}]
    )
    assert (again["skipped"], again["failed"]) == (10, 1)


CHANGES: dict[str, Change] = {
    "nothing": lambda memory: None,
    "edited": lambda memory: memory.update(_id(9), content="mine"),
    "touched": lambda memory: memory.search("memory", touch=True, mode="fulltext"),
    "deleted": lambda memory: memory.delete(_id(5)),
    "deleted and restored": lambda memory: (memory.delete(_id(5)), memory.undelete(_id(5))),
    "undone": lambda memory: memory.undo("last"),
    "others added": lambda memory: memory.add("another", id=_id(70)),
    "the last deleted": lambda memory: (memory.delete(_id(COUNT - 1)), memory.add("another", id=_id(70))),
    "tagged": lambda memory: memory.update_many(add_tags=["x"]),
    "moved": lambda memory: memory.update(_id(0), tree="a.b"),
    "compacted": lambda memory: memory.compact(),
    "indexes rebuilt": lambda memory: memory.doctor(fix=True),
    "sensitive": lambda memory: memory.mark_sensitive("user"),
    "linked": lambda memory: memory.link(_id(1), "supports", _id(2)),
}
FILES: dict[str, bytes] = {
    "same": _lines(),
    "empty": b"",
    "shorter": _lines(7),
    "cut": _lines()[:-9],
    "longer": _lines(COUNT + 9),
    "first line edited": _line(0, tree="z") + b"".join(map(_line, range(1, COUNT))),
    "later line edited": _lines(13) + _line(13, content="new") + b"".join(map(_line, range(14, COUNT))),
    "same length, other text": _lines().replace(b"memory 9", b"MEMORY 9"),
    "a blank line": _lines(8) + b"\n" + b"".join(map(_line, range(8, COUNT))),
    "a broken line": _lines(8) + b"{\n" + b"".join(map(_line, range(8, COUNT))),
    "reversed": b"".join(map(_line, reversed(range(COUNT)))),
    "without ids": b'{"content": "a"}\n' * 9,
    "repeated": _lines(9) + _lines(9),
    "other fields": b"".join(_line(number, meta={"memglot": {"kind": "note"}}) for number in range(9)),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tagged": {"tags": ["old"]},
    "tree": {"tree": "archive"},
    "merge": {"conflict": "merge"},
    "remote": {"conflict": "prefer-remote"},
    "by content": {"dedup": "content"},
    "restoring": {"restore_deleted": True},
    "duplicates": {"allow_duplicates": True},
    "lenient": {"lenient": True},
    "dry": {"dry_run": True},
}


@given(
    first=st.sampled_from(sorted(FILES)),
    how=st.sampled_from(sorted(OPTIONS)),
    change=st.sampled_from(sorted(CHANGES)),
    second=st.sampled_from(sorted(FILES)),
    again=st.sampled_from(sorted(OPTIONS)),
)
@settings(max_examples=60, deadline=None)
def test_skipping_gives_what_reading_gives(
    tmp_path_factory: pytest.TempPathFactory, first: str, how: str, change: str, second: str, again: str
) -> None:
    from memglot.errors import MemglotError

    folder = tmp_path_factory.mktemp("landed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "BATCH_SIZE", 4)
        _import(folder / "fast.db", FILES[first], **OPTIONS[how])
        with Memory.open(folder / "fast.db") as memory:
            try:
                CHANGES[change](memory)
            except MemglotError:
                pass
        shutil.copy(folder / "fast.db", folder / "slow.db")
        fast = _import(folder / "fast.db", FILES[second], **OPTIONS[again])
        patch.setattr(LandedLines, "_applies", lambda self, name: False)
        slow = _import(folder / "slow.db", FILES[second], **OPTIONS[again])
    for found in (fast, slow):
        del found["importId"]
    if "without ids" not in (first, second):
        assert fast == slow
    else:
        assert {**fast, "ids": 0, "skippedIds": 0, "stored": 0} == {**slow, "ids": 0, "skippedIds": 0, "stored": 0}
