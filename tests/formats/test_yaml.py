"""YAML 1.2 core: our own output is read back, and files of others are read as they were meant."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from memglot import Memory
from memglot.errors import BadRecord
from memglot.formats.syntax.yaml_quick import quick_load
from memglot.formats.syntax.yaml_reader import BrokenYaml, YamlReader, load
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


# Line breaks in YAML 1.1; in YAML 1.2 ordinary characters, like the others, which libyaml rejects.
ORDINARY = [
    "\x85",
    "\u2028",
    "\u2029",
    "\x7f",
    "\x80",
    "\x9f",
    "\ufffe",
    "\uffff",
    "\U0010fffe",
    "\U0010ffff",
    "\ufeff",
]


@pytest.mark.parametrize("letter", ORDINARY, ids=ascii)
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("k: one X two", "one X two"),
        ("k: X", "X"),
        ("k: 'one X two'", "one X two"),
        ('k: "one X two"', "one X two"),
        ("k: |\n  one X two\n  X\n", "one X two\nX\n"),
        ("k: >\n  one X\n  two\n", "one X two\n"),
        ("k: [aXb, Xc]", ["aXb", "Xc"]),
        ("k: # X\n  v", "v"),
        ("k: {aXb: 1}", {"aXb": 1}),
    ],
)
def test_characters_that_yaml_1_1_treats_specially_are_ordinary(letter: str, text: str, value: Any) -> None:
    expected = load(text.replace("X", "Q").encode())
    assert expected == {"k": _replaced(value, "Q")}
    assert load(text.replace("X", letter).encode()) == {"k": _replaced(value, letter)}


def _replaced(value: Any, letter: str) -> Any:
    if isinstance(value, list):
        return [_replaced(inner, letter) for inner in value]
    if isinstance(value, dict):
        return {_replaced(key, letter): inner for key, inner in value.items()}
    return value.replace("X", letter)


@given(st.text(st.sampled_from(["a", "b", " ", "\\", "u", "d", "8", "0", *ORDINARY]), max_size=12))
def test_any_mixture_of_them_is_read_as_it_is(text: str) -> None:
    quoted = text.replace("'", "''")
    assert load(f"k: 'x{quoted}x'".encode()) == {"k": f"x{text}x"}


def test_lines_are_counted_at_line_feeds_only() -> None:
    with pytest.raises(BrokenYaml) as caught:
        load("a: x\u2028y\x85z\nb: [\n".encode())
    assert caught.value.line in (2, 3)
    with pytest.raises(BadRecord, match="U\\+0001 at byte 9"):
        load("a: x\u2028y \x01".encode())


def test_surrogate_pairs_are_escapes_as_in_json() -> None:
    assert load(rb'k: "\ud83d\uDE00 \\ud83d"') == {"k": "\U0001f600 \\ud83d"}
    assert load(rb"k: \ud83d\ude00 '\ud83d'") == {"k": r"\ud83d\ude00 '\ud83d'"}
    with pytest.raises(BadRecord, match="a lone surrogate at byte 7"):
        load(rb'k: "ab \ud83d"')


@pytest.mark.parametrize("size", range(1, 12))
def test_an_escape_may_be_read_in_pieces(size: int) -> None:
    class Pieces(io.BytesIO):
        def read(self, _: int | None = -1, /) -> bytes:
            return super().read(size)

    text = 'k: "\\ud83d\\ude00\u2028\\\\ud83d"\n'.encode()
    assert list(YamlReader(Pieces(text)).values()) == [{"k": "\U0001f600\u2028\\ud83d"}]


@pytest.mark.parametrize("letter", ["\x85", "\u2028", "\u2029"], ids=ascii)
def test_files_front_matter_and_vaults_keep_line_separators(letter: str, tmp_path: Path) -> None:
    text = f"one {letter} two"
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "note.md").write_bytes(f"---\nabout: {text}\n---\nbody\n".encode())
    trace = f"---\nid: mt_1\ntype: semantic\nscope: user\nmetadata:\n  about: {text}\n---\n\nbody\n"
    files: list[tuple[bytes | Path, str]] = [
        (f"- content: {text}\n- content: b\n".encode(), "yaml"),
        (f"---\nmeta:\n  about: {text}\n---\n\nbody\n".encode(), "markdown"),
        (trace.encode(), "agentos-markdown"),
        (vault, "obsidian"),
    ]
    for source, format in files:
        with Memory.open(":memory:") as memory:
            result = memory.import_from(source, format=format)
            assert (result.failed, list(result.errors)) == (0, [])
            record = memory.get(next(result.ids))
            assert (record.content if format == "yaml" else record.meta["about"]) == text
            if format == "yaml":
                assert result.imported == 2


@pytest.mark.parametrize("text", ["  \n", " a\n ", "a\n  ", " \n \n", "x\n \n"])
def test_a_last_line_of_spaces_is_quoted(text: str) -> None:
    """Some parsers drop such a line at the end of a block."""
    for value in (text, {"a": text}, [{"a": [text]}]):
        assert not re.search("^ +$", dump(value), re.MULTILINE)
        assert yaml.safe_load(dump(value)) == value
    assert "|" in dump({"a": "code\n  \nmore"})
