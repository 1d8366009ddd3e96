"""YAML 1.2 core: our own output is read back, and files of others are read as they were meant."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot.errors import BadRecord
from memglot.formats.syntax.yaml_quick import quick_load
from memglot.formats.syntax.yaml_reader import BrokenYaml, load
from memglot.formats.syntax.yaml_writer import dump, dump_flow
from strategies import JSON, OBJECTS


@given(value=JSON)
def test_any_value_survives_a_round_trip(value: Any) -> None:
    assert load(dump([value]).encode()) == [value]
    assert load(dump_flow([value]).encode()) == [value]


@given(value=OBJECTS)
def test_a_mapping_survives_a_round_trip(value: Any) -> None:
    if value:
        assert load(dump(value).encode()) == value
        assert "\n---" not in "\n" + dump(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("Yes", "Yes"),
        ("true", True),
        ("12:30", "12:30"),
        ("2024-01-15", "2024-01-15"),
        ("2024-05-06T07:08:09Z", "2024-05-06T07:08:09Z"),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("+1", 1),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("~", None),
        ("", None),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("! 1", "1"),
        ("!custom 1", 1),
        ("<<", "<<"),
    ],
)
def test_scalars_mean_what_the_core_schema_says(text: str, value: Any) -> None:
    assert load(f"k: {text}\n".encode()) == {"k": value}


def test_keys_are_text_as_written() -> None:
    assert load(b"1: a\ntrue: b\n<<: c\n? [x]\n: d\n") == {"1": "a", "true": "b", "<<": "c", '["x"]': "d"}


@pytest.mark.parametrize("text", [b"a: 1\na: 2", b"1: a\n'1': b", b"a: *nothing", b"a: &a [*a]", b"a: .inf"])
def test_a_value_that_is_wrong_is_reported(text: bytes) -> None:
    with pytest.raises(BadRecord):
        load(text)


@pytest.mark.parametrize("text", [b"a\n---\nb", b"a:\n\tb: c", b"a: [1", b"'"])
def test_a_document_that_is_wrong_is_reported_with_its_line(text: bytes) -> None:
    with pytest.raises(BrokenYaml) as caught:
        load(text)
    assert caught.value.line >= 1


WORDS = st.sampled_from(
    ["a", "b c", "key", "1", "-1", "1.5", "1e3", "0x1f", "true", "No", "null", "~", "2024-01-02", "12:30", "a:b"]
) | st.text("ab1 -:#[]{}'\"\\,&*!|>%@`~.\t\u00e9\u2028", max_size=6)
LINES = st.one_of(
    st.builds("{}:{}{}".format, WORDS, st.sampled_from(["", " ", "  "]), WORDS),
    st.builds("{}- {}".format, st.sampled_from(["", "  ", "    "]), WORDS),
    st.builds("{}: [{}, {}]".format, WORDS, WORDS, WORDS),
    st.builds('{}: "{}"'.format, WORDS, WORDS),
    WORDS,
)


@given(st.lists(LINES, max_size=6).map("\n".join))
def test_the_fast_parser_agrees_with_the_full_parser(text: str) -> None:
    found = quick_load(text + "\n")
    if found is not None:
        assert found == (load((text + "\n").encode()) or {})


def test_the_fast_parser_reads_plain_front_matter() -> None:
    text = "id: mt_1\ntags:\n  - a b\n  - '1'\nrating: 7\nempty:\nmade: 2024-01-02T03:04:05Z\nlist: [a, 2]\n"
    assert quick_load(text) == load(text.encode()) != {}
