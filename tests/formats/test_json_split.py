"""Splitting JSON streams: any layout, cut into pieces anywhere, gives the same values."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot.errors import BadRecord
from memglot.formats.core.source import Source
from memglot.formats.syntax import json_split
from memglot.formats.syntax.json_split import is_deeper
from memglot.formats.syntax.json_stream import decode_value, objects
from memglot.report import SourceReport
from strategies import OBJECTS

SPACES = st.sampled_from(["", " ", "\n", "\r\n  ", "\t" * 5])


def split_values(text: bytes) -> tuple[list[Any], list[str]]:
    report = SourceReport()
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    found: list[Any] = []
    for raw, _ in objects(Source("x", io.BytesIO(text)), report, decode):
        try:
            found.append(decode_value(raw, report))
        except BadRecord as error:
            report.failed_record(error)
    return found, [str(fault) for fault in report.results.faults()]


@given(values=st.lists(OBJECTS, max_size=5), space=SPACES, indent=st.sampled_from([0, 2]), read=st.integers(1, 40))
def test_an_array_gives_its_values(values: list[Any], space: str, indent: int, read: int) -> None:
    texts = [msgspec.json.format(msgspec.json.encode(value), indent=indent).decode() for value in values]
    text = f"{space}[{space}{f'{space},{space}'.join(texts)}{space}]{space}".encode()
    before, json_split._READ = json_split._READ, read
    try:
        assert split_values(text) == (values, [])
    finally:
        json_split._READ = before


@given(
    values=st.lists(OBJECTS.filter(bool), min_size=1, max_size=4), indent=st.sampled_from([0, 2]), blank=st.booleans()
)
def test_objects_one_after_the_other(values: list[Any], indent: int, blank: bool) -> None:
    between = b"\n\n" if blank else b"\n"
    text = between.join(msgspec.json.format(msgspec.json.encode(value), indent=indent) for value in values)
    assert split_values(text) == (values, [])


def test_an_object_that_opens_on_its_second_line() -> None:
    assert split_values(b'{"a":\n{"b":1}}\n') == ([{"a": {"b": 1}}], [])


def test_a_malformed_first_line_is_still_lines() -> None:
    report = SourceReport()
    source = Source("x", io.BytesIO(b'{"content": }\n{"content":"b"}\n'))
    assert [raw.strip() for raw, _ in objects(source, report, msgspec.json.decode)] == [
        b'{"content": }',
        b'{"content":"b"}',
    ]


def test_reading_continues_after_an_unclosed_value() -> None:
    values, faults = split_values(b'[{"a":1},{"b":"never closed},{"c":3}]')
    assert values == [{"a": 1}, {"c": 3}]
    assert len(faults) == 1


def test_many_nested_objects_are_not_guessed_forever() -> None:
    value = {"k": [{"n": number} for number in range(3000)]}
    assert split_values(b"[" + msgspec.json.encode(value) + b"," + msgspec.json.encode(value) + b"]") == (
        [value] * 2,
        [],
    )


def test_a_value_of_many_reads() -> None:
    value = {"k": "x" * 1_000_000, "l": "}, {" * 1000}
    assert split_values(b"[" + msgspec.json.encode(value) + b"]") == ([value], [])


def test_depth_does_not_count_strings() -> None:
    text = b'{"a":["[[[{{{\\"[["]}'
    assert [is_deeper(text, limit) for limit in (1, 2)] == [True, False]


def test_a_record_without_its_brace_affects_only_itself() -> None:
    texts = [b'{"content":"%d"}' % number for number in range(1000)]
    texts[2] = b'{"content":"2"'
    values, faults = split_values(b"[" + b",".join(texts) + b"]")
    assert (len(values), len(faults)) == (999, 1)


def test_an_array_without_commas_is_read_and_reported() -> None:
    values, faults = split_values(b"[" + b'{"a":1} ' * 2000 + b"]")
    assert (len(values), len(faults)) == (2000, 1999)


@pytest.mark.parametrize("first", [b'{"content": "a"', b"[1]", b"nonsense"])
def test_a_bad_first_line_affects_only_itself(first: bytes) -> None:
    report = SourceReport()
    source = Source("x", io.BytesIO(first + b'\n{"content":"b"}\n{"content":"c"}\n'))
    assert len(list(objects(source, report, msgspec.json.Decoder(dict[str, Any]).decode))) == 3


@given(
    values=st.lists(OBJECTS.filter(bool), min_size=2, max_size=5),
    layout=st.sampled_from([(0, ",\n"), (2, ",\n")]),
    data=st.data(),
)
def test_a_missing_letter_affects_only_its_record(
    values: list[Any], layout: tuple[int, str], data: st.DataObject
) -> None:
    """Delete a letter in one record of an array that has each record on a separate line."""
    indent, between = layout
    texts = [msgspec.json.format(msgspec.json.encode(value), indent=indent).decode() for value in values]
    broken = data.draw(st.integers(0, len(values) - 1))
    at = data.draw(st.integers(1, len(texts[broken]) - 2))
    texts[broken] = texts[broken][:at] + texts[broken][at + 1 :]
    found, _ = split_values(("[\n" + between.join(texts) + "\n]").encode())
    for number, value in enumerate(values):
        assert number == broken or value in found


def test_a_compact_array_whose_first_record_is_broken() -> None:
    values, faults = split_values(b'[{"a":"x","b":[},{"a":1},{"a":2}]')
    assert (values, len(faults)) == ([{"a": 1}, {"a": 2}], 1)


def test_a_large_value_does_not_make_later_reads_larger() -> None:
    class Watched(io.BytesIO):
        sizes: list[int] = []

        def read(self, size: int | None = -1, /) -> bytes:
            self.sizes.append(size or 0)
            return super().read(size)

    text = b"[" + msgspec.json.encode({"k": "x" * 1_000_000}) + b',{"a":1}' * 200_000 + b"]"
    stream = Watched(text)
    values = json_split.JsonSplitter(stream)
    values.peek()
    values.skip()
    while values.peek() not in (b"]", b""):
        if values.buffer[values.position : values.position + 1] == b",":
            values.skip()
            continue
        found = values.try_object(msgspec.json.decode)
        assert found is not None
        values.position += len(found[0])
    assert max(stream.sizes[-5:]) == json_split._READ
