"""Bad input gets a clear error with its location and exit code, and does not affect other records."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from memglot import Memory
from memglot.errors import Unreadable

ID = "0194a000-0001-7000-8000-000000000001"


def outcome(memory: Memory, given: Any, **options: Any) -> tuple[list[str], list[str], int]:
    """Return the imported contents, the errors, and the exit code."""
    result = memory.import_from(given, **options)
    assert result.imported == len(list(result.ids))
    landed = [memory.get(id).content for id in result.ids]
    return landed, [str(fault) for fault in result.errors], result.exit_code


@pytest.mark.parametrize(
    "middle",
    [
        b'{"content": ',
        b'{"content":"cut',
        b"not json",
        b'{"content":"x"]',
        b"{",
        b"[1]",
        b"1",
        b"null",
        b"true",
        b'"x"',
    ],
)
def test_a_bad_line_in_the_middle_affects_only_itself(memory: Memory, middle: bytes) -> None:
    text = b'{"content":"a"}\n' + middle + b'\n{"content":"c"}\n'
    landed, errors, code = outcome(memory, text, format="ndjson")
    assert (landed, len(errors), code) == (["a", "c"], 1, 1)
    assert errors[0].startswith("content:2: ")


def test_a_cut_last_line_is_reported(memory: Memory) -> None:
    landed, errors, code = outcome(memory, b'{"content":"a"}\n{"content":"b', format="ndjson")
    assert (landed, code) == (["a"], 1)
    assert errors == ["content:2: not valid JSON: unexpected end of the value"]


def test_two_objects_on_one_line_are_reported(memory: Memory) -> None:
    landed, errors, code = outcome(memory, b'{"content":"a"}{"content":"b"}\n{"content":"c"}\n', format="ndjson")
    assert (landed, code) == (["c"], 1)
    assert errors == ["content:1: not valid JSON: more than one value on a line"]


@pytest.mark.parametrize("format", ["json", "ndjson", "yaml", "markdown"])
def test_a_byte_order_mark_is_not_content(memory: Memory, format: str) -> None:
    text = {
        "json": b'[{"content":"a"}]',
        "ndjson": b'{"content":"a"}',
        "yaml": b"content: a",
        "markdown": b"---\ntree: t\n---\na",
    }
    landed, errors, _ = outcome(memory, b"\xef\xbb\xbf" + text[format], format=format)
    assert (landed, errors) == (["a"], [])


def test_carriage_returns_are_not_content(memory: Memory) -> None:
    assert outcome(memory, b'[\r\n{"content":"a"}\r\n]\r\n', format="json")[0] == ["a"]
    assert outcome(memory, b'{"content":"b"}\r\n\r\n{"content":"c"}\r\n', format="ndjson")[0] == ["b", "c"]
    assert outcome(memory, b"- content: d\r\n- content: e\r\n", format="yaml")[0] == ["d", "e"]
    assert outcome(memory, b"---\r\ntree: a\r\n---\r\n\r\nf\r\ng\r\n", format="md")[0] == ["f\r\ng"]


@pytest.mark.parametrize(
    ("format", "text", "offset"),
    [
        ("ndjson", b'{"content":"a"}\n{"content":"b\xff"}\n{"content":"c"}', 29),
        ("json", b'[{"content":"a"},{"content":"b\xff"},{"content":"c"}]', 30),
        ("yaml", b"- content: a\n- content: b\xff\n- content: c\n", 25),
    ],
)
def test_invalid_utf8_fails_its_record_with_the_offset(memory: Memory, format: str, text: bytes, offset: int) -> None:
    landed, errors, code = outcome(memory, text, format=format)
    assert (landed, code) == (["a", "c"], 1)
    assert len(errors) == 1
    assert errors[0].endswith(f"invalid UTF-8 at byte {offset}")


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("ndjson", b'{"content":"a"}\n{"content":"b\x00"}\n{"content":"c"}'),
        ("yaml", b"- content: a\n- content: b\x00\n- content: c\n"),
    ],
)
def test_nul_fails_its_record(memory: Memory, format: str, text: bytes) -> None:
    landed, errors, code = outcome(memory, text, format=format)
    assert (landed, code) == (["a", "c"], 1)
    assert len(errors) == 1 and "NUL at " in errors[0]


def test_markdown_that_is_not_valid_text_fails_with_its_offset(memory: Memory) -> None:
    assert outcome(memory, b"caf\xe9", format="md") == ([], ["content item 1: invalid UTF-8 at byte 3"], 2)
    text = b"\xef\xbb\xbf---\ntree: a\0b\n---\nc"
    assert outcome(memory, text, format="md") == ([], [f"content item 1: NUL at byte {text.index(0)}"], 2)


def test_a_horizontal_rule_is_content(memory: Memory) -> None:
    text = "---\nA quiet day.\n---\nAnd a loud one.\n"
    assert outcome(memory, text.encode(), format="md")[0] == [text[:-1]]


def test_a_fence_that_never_closes_is_content(memory: Memory) -> None:
    assert outcome(memory, b"---\ntree: a\nbody\n", format="md")[0] == ["---\ntree: a\nbody"]


def test_front_matter_that_is_not_yaml_is_an_error_with_its_line(memory: Memory) -> None:
    text = b"---\ntree: a\nmeta: [1\n---\nbody\n"
    landed, errors, code = outcome(memory, text, format="md")
    assert (landed, code) == ([], 2)
    assert errors[0].startswith("content:4: not valid YAML")
    assert outcome(memory, text, format="md", lenient=True)[0] == [text.decode()[:-1]]


def test_a_content_key_in_front_matter_is_kept_separately(memory: Memory) -> None:
    result = memory.import_from(b"---\ncontent: front\nother: 1\n---\nbody\n", format="md")
    record = memory.get(next(result.ids))
    assert record.content == "body"
    assert record.extra == {"memory-engine": {"content": "front", "other": 1}}
    exported = memory.export(format="json").content
    assert exported is not None
    with Memory.open(":memory:") as other:
        other.import_from(exported, format="json")
        assert next(other.list()) == record


def test_duplicate_yaml_keys_fail_their_record(memory: Memory) -> None:
    landed, errors, code = outcome(memory, b"- content: a\n- content: b\n  content: c\n- content: d\n", format="yaml")
    assert (landed, code) == (["a", "d"], 1)
    assert errors == ["content:2: not valid YAML: duplicate key `content` in a mapping"]


def test_several_yaml_documents_are_an_error(memory: Memory) -> None:
    landed, errors, code = outcome(memory, b"- content: a\n---\n- content: b\n", format="yaml")
    assert (landed, code) == (["a"], 1)
    assert errors[0].startswith(
        "content:2: not valid YAML: the file contains more than one document; the rest of the file"
    )


def test_an_alias_bomb_is_refused_and_the_others_are_imported(memory: Memory) -> None:
    levels = "".join(f"    l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 12))
    text = "- content: a\n- content: boom\n  meta:\n    l0: &l0 [lol, lol, lol]\n" + levels + "- content: c\n"
    landed, errors, code = outcome(memory, text.encode(), format="yaml")
    assert (landed, code) == (["a", "c"], 1)
    assert "beyond 10 times its size" in errors[0]


def test_ordinary_aliases_work(memory: Memory) -> None:
    outcome(memory, b"- content: a\n  meta: &m {k: v}\n- content: b\n  meta: *m\n", format="yaml")
    assert [record.meta for record in memory.list()] == [{"k": "v"}] * 2


@pytest.mark.parametrize("depth", [150, 10_000, 200_000])
@pytest.mark.parametrize("format", ["json", "ndjson"])
def test_deep_json_fails_its_record(memory: Memory, depth: int, format: str) -> None:
    deep = b'{"content":"b","meta":{"k":' + b"[" * depth + b"]" * depth + b"}}"
    text = (
        b'[{"content":"a"},' + deep + b',{"content":"c"}]'
        if format == "json"
        else b'{"content":"a"}\n' + deep + b'\n{"content":"c"}'
    )
    landed, errors, code = outcome(memory, text, format=format)
    assert (landed, code) == (["a", "c"], 1)
    assert "nested deeper than 100 levels" in errors[0]


def test_deep_yaml_fails_its_record(memory: Memory) -> None:
    text = b"- content: a\n- content: b\n  meta: {k: " + b"[" * 300 + b"]" * 300 + b"}\n- content: c\n"
    landed, errors, code = outcome(memory, text, format="yaml")
    assert (landed, code) == (["a", "c"], 1)
    assert "nested deeper than 100 levels" in errors[0]


def test_99_levels_are_accepted(memory: Memory) -> None:
    deep = b'{"content":"b","meta":{"k":' + b"[" * 97 + b"]" * 97 + b"}}"
    assert outcome(memory, deep, format="ndjson")[0] == ["b"]


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("ndjson", b'{"content":"a","meta":{"k":NaN}}'),
        ("json", b'[{"content":"a","meta":{"k":-Infinity}}]'),
        ("yaml", b"content: a\nmeta: {k: .nan}"),
        ("yaml", b"content: a\nmeta: {k: -.inf}"),
        ("ndjson", b'{"content":"a","meta":{"k":1e999}}'),
        ("ndjson", b'{"content":"a","tree":"half \\ud800 pair"}'),
        ("ndjson", b'{"content":"a","temporal":["2024-02-01T00:00:00Z","2024-01-01T00:00:00Z"]}'),
        ("ndjson", b'{"content":"a","tree":"a\\n"}'),
        ("ndjson", b'{"content":"a","tree":"a.b\\n"}'),
        ("ndjson", b'{"content":"a","id":""}'),
        ("ndjson", b'{"content":"a","id":"0194a000-0001-7000-8000-000000000001\\n"}'),
        ("ndjson", b'{"content":"a","meta":null}'),
        ("ndjson", b'{"content":null}'),
        ("ndjson", b'"text"'),
        ("yaml", b"content: a\ntemporal: {end: 2024-01-01T00:00:00Z}"),
        ("md", b"---\ntemporal: {end: 2024-01-01T00:00:00Z}\n---\na"),
        ("json", b'[{"content":"a"'),
        (
            "json",
            b'[{"content":"a',
        ),
        ("json", b"[,]"),
    ],
)
def test_invalid_fields_are_refused_with_a_reason(memory: Memory, format: str, text: bytes) -> None:
    landed, errors, code = outcome(memory, text, format=format)
    assert (landed, code) == ([], 2)
    assert errors


def test_lenient_imports_accept_paths_that_the_documentation_does_not(memory: Memory) -> None:
    text = b'[{"content":"a","tree":"code.my-app"},{"content":"b","tree":"code.x."}]'
    assert outcome(memory, text, format="json")[0] == []
    assert outcome(memory, text, format="json", lenient=True)[0] == ["a", "b"]
    found = {record.content: record for record in memory.list()}
    assert (found["a"].tree, found["b"].tree) == ("code.my_app", "code.x")
    assert (found["a"].extra, found["b"].extra) == ({"memory-engine": {"tree": "/code/my-app"}}, {})


def test_the_same_time_in_two_offsets_is_one_point(memory: Memory) -> None:
    outcome(memory, b'{"content":"a","temporal":["2024-05-06T07:08:09Z","2024-05-06T09:08:09+02:00"]}', format="ndjson")
    temporal = next(memory.list()).temporal
    assert temporal is not None and temporal.end is None


def test_digits_beyond_a_microsecond_are_reported(memory: Memory) -> None:
    result = memory.import_from(b'{"content":"a","temporal":"2024-05-06T07:08:09.123456789Z"}', format="ndjson")
    assert result.imported == 1
    assert any("beyond a microsecond" in note for note in result.notes)


def test_an_upper_case_id_is_stored_in_lower_case(memory: Memory) -> None:
    memory.import_from(b'{"content":"a","id":"%s"}' % ID.upper().encode(), format="ndjson")
    assert memory.get(ID).content == "a"


@pytest.mark.parametrize("between", [0, 1500])
def test_the_same_id_twice_keeps_the_first(memory: Memory, between: int) -> None:
    """Within one batch, and across batches."""
    line = b'{"content":"%s","id":"' + ID.encode() + b'"}\n'
    text = line % b"first" + b'{"content":"x"}\n' * between + line % b"second"
    result = memory.import_from(text, format="ndjson")
    assert (result.imported, result.skipped, result.exit_code) == (between + 1, 1, 0)
    assert memory.get(ID).content == "first"
    assert any("occurs earlier in the input" in note for note in result.notes)


def test_unreadable_files_are_named_and_the_others_are_imported(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "good.ndjson").write_text('{"content":"good"}')
    (tmp_path / "empty.ndjson").write_bytes(b"")
    (tmp_path / "empty.json").write_bytes(b"")
    (tmp_path / "empty.md").write_bytes(b"")
    (tmp_path / "blank.yaml").write_bytes(b" \n")
    landed, errors, code = outcome(memory, tmp_path)
    assert (landed, code) == (["good"], 1)
    assert [Path(error.split(":")[0]).name for error in errors] == ["blank.yaml", "empty.json", "empty.md"]


def test_a_missing_path_an_empty_folder_and_an_empty_stream(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="nothing`: no such file or folder"):
        # Nothing of the other inputs is imported either.
        memory.import_from(b'{"content": "x"}', tmp_path / "nothing", format="json")
    assert not memory.count()
    landed, errors, code = outcome(memory, tmp_path)
    assert (landed, code) == ([], 2) and "no file of a known format" in errors[0]
    assert outcome(memory, b"   \n")[2] == 2
    assert outcome(memory, b"", format="ndjson") == ([], [], 0)


def test_an_empty_list_imports_nothing_with_a_note(memory: Memory) -> None:
    for text in (b"[]", b"- []\n"[2:]):
        result = memory.import_from(text, format="json")
        assert (result.exit_code, result.notes) == (0, ["content contains no memories"])


def test_a_link_out_of_the_folder_is_not_followed(memory: Memory, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "note.md").write_text("note")
    (folder / "link.md").symlink_to(secret)
    (folder / "loop").symlink_to(folder)
    result = memory.import_from(folder)
    assert [record.content for record in memory.list()] == ["note"]
    assert any("skipped 2 symbolic links" in note for note in result.notes)


def test_an_unreadable_file_is_named(memory: Memory, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "note.md").write_text("note")
    folder = tmp_path / "folder.md"
    folder.mkdir()
    result = memory.import_from(tmp_path / "note.md", folder)
    assert (result.imported, result.exit_code) == (1, 1)
    result = memory.import_from(tmp_path)
    assert any("skipped 1 file of unknown format: pipe.md" in note for note in result.notes)


def test_fail_fast_stops_at_the_first_error(memory: Memory) -> None:
    text = b'{"content":"a"}\n{"content":""}\n{"content":"c"}\n'
    assert outcome(memory, text, format="ndjson", fail_fast=True)[0] == ["a"]


def test_a_yaml_item_that_stops_the_parser_affects_only_itself(memory: Memory, tmp_path: Path) -> None:
    items = [f"- content: memory {number}\n  tree: a.b\n" for number in range(500)]
    items[2] = '- content: "never closed\n  tree: a.b\n'
    items[300] = "- content: [1\n"
    items[301] = "- content: a\n\ttree: tab\n"
    path = tmp_path / "notes.yaml"
    path.write_text("".join(items))
    for given in (path, path.read_bytes()):
        result = memory.import_from(given, format="yaml", allow_duplicates=True)
        assert (result.imported, result.failed) == (497, 3)
        assert [fault.line for fault in result.errors][0] in (5, 1000, 1001, 999)
        assert [fault.item for fault in result.errors] == [3, 301, 302]
