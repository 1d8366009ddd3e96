"""Properties of every registered format; a new format is tested automatically."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memglot.exporting.verify import verify_path
from memglot.formats import registry
from memglot.formats.base import Format, ReadOptions, WriteOptions
from memglot.formats.core.carry import is_slot
from memglot.formats.core.read import read_items
from memglot.formats.core.target import Target
from memglot.model import FIELDS, Item, Record, to_builtins
from memglot.report import Report
from strategies import records, stores

WRITABLE = [format for format in registry.formats() if format.write is not None]
SHAPES = [(format, dialect) for format in WRITABLE for dialect in (None, *format.dialects)]
NAMES = [f"{format.name}-{dialect}" if dialect else format.name for format, dialect in SHAPES]
by_name = pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
Shape = tuple[Format, str | None]


def write(items: list[Item], shape: Shape, path: Path, *, plain_only: bool = False) -> Report:
    report = Report()
    format, dialect = shape
    assert format.write is not None
    options = WriteOptions(dialect=dialect, plain=plain_only)
    format.write(iter(items), Target(path, plain=plain_only), report, options)
    return report


def read(path: Path, shape: Shape) -> tuple[list[Item], Report]:
    report = Report()
    found = []
    for item in read_items([path], shape[0], report, ReadOptions()):
        found.append(item)
    return found, report


def place(folder: str, shape: Shape, name: str = "out") -> Path:
    format = shape[0]
    return Path(folder) / (name if format.writing.makes_folder else name + format.extensions[0])


def in_order(items: list[Item]) -> list[object]:
    """Return the items as sorted plain values; the order of items other than records is not defined."""
    return sorted(((type(item).__name__, to_builtins(item)) for item in items), key=repr)


def bytes_below(path: Path) -> dict[str, bytes]:
    files = [path, *path.parent.glob(path.name + ".*")] if path.is_file() else path.rglob("*")
    return {str(file.relative_to(path.parent)): file.read_bytes() for file in files if file.is_file()}


@by_name
@given(items=stores())
def test_written_items_are_read_back_equal(shape: Shape, items: list[Item]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = place(folder, shape)
        report = write(items, shape, path)
        found, reading = read(path, shape)
        assert in_order(found) == in_order(items)
        assert list(reading.faults()) == []
        assert report.losses() == []


@by_name
@given(items=stores())
def test_a_second_write_gives_the_same_bytes(shape: Shape, items: list[Item]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first, second = place(folder + "/1", shape), place(folder + "/2", shape)
        write(items, shape, first)
        found, _ = read(first, shape)
        beside = [item for item in found if not isinstance(item, Record) or item.status == "deleted"]
        original = [item for item in items if item in found]
        assert len(original) == len(found)
        write(original, shape, second)
        assert bytes_below(first) == bytes_below(second), beside


@by_name
@given(items=st.lists(records(), min_size=1, max_size=4, unique_by=lambda record: record.id))
def test_an_export_proves_itself(shape: Shape, items: list[Item]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = place(folder, shape)
        write(items, shape, path)
        verdict = verify_path(path, Report())
        assert (verdict.state, verdict.count, verdict.problems) == ("whole", len(items), [])


@by_name
@given(record=records())
def test_a_plain_write_loses_exactly_what_it_reports(shape: Shape, record: Record) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = place(folder, shape)
        report = write([record], shape, path, plain_only=True)
        (found,), _ = read(path, shape)
        assert isinstance(found, Record)
        lost = {field for field in FIELDS if getattr(found, field) != getattr(record, field)}
        reported = set(report.dropped_counts)
        # A key of the user that looks like our carry slot is treated as one in the position of the slot.
        own = record.meta.get("memglot")
        if isinstance(own, dict) and is_slot(own):
            return
        # Without its own time a record is dated by its id, and its other time follows.
        if "created_at" in reported:
            reported.add("updated_at")
        assert lost - {"created_at", "updated_at"} <= reported
        assert lost & {"created_at", "updated_at"} <= reported


# There are as many pairs as shapes squared, so each gets half of the examples.
@pytest.mark.parametrize("other", SHAPES, ids=NAMES)
@by_name
@settings(max_examples=max(settings().max_examples // 2, 1))
@given(items=stores())
def test_a_round_trip_through_another_format_keeps_everything(shape: Shape, other: Shape, items: list[Item]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        there, back = place(folder, other, "there"), place(folder, shape, "back")
        first = place(folder, shape, "first")
        write(items, shape, first)
        found, _ = read(first, shape)
        write(found, other, there)
        found, _ = read(there, other)
        write(found, shape, back)
        found, _ = read(back, shape)
        assert in_order(found) == in_order(items)
