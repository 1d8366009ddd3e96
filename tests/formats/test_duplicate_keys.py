"""A key that occurs twice in an object: the last value is used, and a note says so; YAML refuses it."""

from __future__ import annotations

import pytest

from memglot import Memory

ROW = '"id":"0194a000-0001-7000-8000-000000000000"'


@pytest.mark.parametrize(
    ("name", "text", "key", "place"),
    [
        ("a.ndjson", '{"content":"a"}\n{"content":"b","content":"last"}\n', "content", ":2"),
        ("a.ndjson", '{"content":"a"}\n{"content" :"b","content" \t:"last"}\n', "content", ":2"),
        ("a.ndjson", '{"content":"a"}\n{"content":"last","meta":{"k":[{"x":1,"x":2}]}}\n', "x", ":2"),
        ("a.ndjson", '{"content":"a"}\n{"content":"last","\\u006bey":1,"key":2}\n', "key", ":2"),
        ("a.json", '[{"content":"a"},\n\n{"content":"b",\n"content": "last"}]', "content", ":3"),
        (
            "a.json",
            f'{{"export_metadata":{{}},"memories":[{{{ROW},"content":"b","content":"last"}}]}}',
            "content",
            ":1",
        ),
        ("a.json", '{"traces":[{"id":"mt_1","content":"b","strength":1,"content":"last"}]}', "content", ":1"),
        (
            "a.jsonl",
            '{"type":"entity","name":"n","name":"n","entityType":"x","observations":["last"]}\n',
            "name",
            ":1",
        ),
    ],
)
def test_a_repeated_key_has_a_note_with_its_place(memory: Memory, tmp_path, name, text, key, place) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / name
    path.write_text(text)
    result = memory.import_from(path)
    assert not list(result.errors)
    assert "last" in [record.content for record in memory.list()]
    expected = f"1 memory has the same key twice, and the last value was used; the first is `{key}` in {path}{place}"
    assert expected in result.notes


def test_the_note_counts_memories(memory: Memory) -> None:
    line = b'{"content":"a","content":"b","meta":{"x":1,"x":2}}\n'
    notes = memory.import_from(line * 3, format="ndjson", dedup="id").notes
    assert any(note.startswith("3 memories have the same key twice") for note in notes)


def test_keys_in_texts_and_in_other_objects_are_not_repeated(memory: Memory) -> None:
    text = (
        b'{"content":"{\\"a\\":1,\\"a\\":2} \\":\\":\\":"}\n'
        b'{"content" : "a : b","tree":"","meta":{"content":{"k":1},"tree":[{"k":1},{"k":2}]}}\n'
        b'{"content":"c","meta":{"a\\":":1,"b":2}}\n'
    )
    result = memory.import_from(text, format="ndjson")
    assert result.imported == 3
    assert not any("twice" in note for note in result.notes)


def test_yaml_refuses_a_repeated_key(memory: Memory) -> None:
    result = memory.import_from(b"- content: a\n- content: b\n  content: c\n- content: d\n", format="yaml")
    assert (result.imported, result.failed) == (2, 1)
    assert "content:2: not valid YAML: duplicate key `content` in a mapping" in str(next(result.errors))
