"""Memories as tables of other libraries, which are imported only when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from memglot.errors import MissingProgram
from memglot.model import Record

if TYPE_CHECKING:
    import pandas
    import pyarrow

_BATCH = 10_000
_FIELDS = """
    id content title kind scope tree tags triggers status strength confidence access_count
    created_at updated_at last_accessed
""".split()
_COLUMNS: dict[str, Callable[[Record], Any]] = {
    **{name: attrgetter(name) for name in _FIELDS},
    "temporal_start": lambda record: record.temporal.start if record.temporal else None,
    "temporal_end": lambda record: record.temporal.end if record.temporal else None,
    "meta": attrgetter("meta"),
    "source": attrgetter("source"),
}
_TIMES = frozenset("created_at updated_at last_accessed temporal_start temporal_end".split())
_LISTS, _OBJECTS = frozenset({"tags", "triggers", "why"}), frozenset({"meta", "source"})
_FLOATS, _INTEGERS = frozenset({"strength", "confidence", "score"}), frozenset({"access_count"})


def to_pandas(records: Iterable[Record], further: Mapping[str, list[Any]] = {}) -> pandas.DataFrame:
    """Return memories as a DataFrame with one row each; times are in UTC. Raise `MissingProgram` without pandas."""
    library = _library("pandas")
    values: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for record in records:
        for name, value_of in _COLUMNS.items():
            values[name].append(value_of(record))
    return library.DataFrame({name: _series(library, name, column) for name, column in {**values, **further}.items()})


def _series(library: Any, name: str, values: list[Any]) -> Any:
    if name in _TIMES:
        import numpy

        missing = numpy.datetime64("NaT", "us")
        times = numpy.array([missing if at is None else numpy.datetime64(at, "us") for at in values], "datetime64[us]")
        return library.Series(times).dt.tz_localize("UTC")
    if name in _INTEGERS:
        return library.Series(values, dtype="int64")
    if name in _FLOATS:
        return library.Series(values, dtype="float64")
    return library.Series(values, dtype="object" if name in _LISTS | _OBJECTS else "string")


def to_arrow(records: Iterable[Record], further: Mapping[str, list[Any]] = {}) -> pyarrow.Table:
    """Return memories as a table of pyarrow; `meta` and `source` are JSON. Raise `MissingProgram` without pyarrow."""
    library = _library("pyarrow")
    schema = library.schema([(name, _type(library, name)) for name in _COLUMNS])
    table = library.Table.from_batches(list(_batches(library, records, schema)), schema)
    for name, values in further.items():
        table = table.append_column(name, library.array(values, _type(library, name)))
    return table


def _batches(library: Any, records: Iterable[Record], schema: Any) -> Iterator[Any]:
    rest = iter(records)
    while batch := list(islice(rest, _BATCH)):
        columns = [[_cell(name, value_of(record)) for record in batch] for name, value_of in _COLUMNS.items()]
        arrays = [library.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        yield library.RecordBatch.from_arrays(arrays, schema=schema)


def _cell(name: str, value: Any) -> Any:
    return msgspec.json.encode(value).decode() if name in _OBJECTS else value


def _type(library: Any, name: str) -> Any:
    if name in _TIMES:
        return library.timestamp("us", tz="UTC")
    if name in _LISTS:
        return library.list_(library.string())
    return library.float64() if name in _FLOATS else library.int64() if name in _INTEGERS else library.string()


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingProgram(f"`{name}` is not installed", f"`pip install {name}` installs it") from error
