"""Files in UTF-16 and UTF-32 are read as their byte order mark says; without one, a file has one error."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from memglot import Memory

CAFE, TOKYO = "caf\u00e9 \U0001f389", "\u6771\u4eac"
TEXTS = {
    "memories.json": f'[{{"content": "{CAFE}"}},\n {{"content": "{TOKYO}"}}]',
    "memories.ndjson": f'{{"content": "{CAFE}"}}\n{{"content": "{TOKYO}"}}\n',
    "memories.yaml": f"- content: {CAFE}\n- content: {TOKYO}\n",
    "memories.csv": f"content,tags\n{CAFE},a\n{TOKYO},b\n",
    "traces.jsonl": f'{{"id": "mt_1", "content": "{CAFE}", "strength": 1}}\n{{"id": "mt_2", "content": "{TOKYO}"}}\n',
    "v5.json": f'{{"export_metadata": {{}}, "memories": [{{"content": "{CAFE}"}}, {{"content": "{TOKYO}"}}]}}',
}
ENCODINGS = {
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", TEXTS)
def test_a_byte_order_mark_decides(memory: Memory, tmp_path: Path, name: str, encoding: str) -> None:
    path = tmp_path / name
    path.write_bytes(ENCODINGS[encoding] + TEXTS[name].encode(encoding))
    result = memory.import_from(path)
    assert (result.imported, [str(fault) for fault in result.errors]) == (2, [])
    assert {record.content for record in memory.list()} == {CAFE, TOKYO}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", TEXTS)
def test_without_a_mark_there_is_one_error(memory: Memory, tmp_path: Path, name: str, encoding: str) -> None:
    path = tmp_path / name
    path.write_bytes((TEXTS[name] * 500).encode(encoding))
    result = memory.import_from(path)
    (fault,) = result.errors
    assert str(fault) == f"{path}: it seems to be UTF-16 or UTF-32 without a byte order mark"
    assert (fault.hint, result.exit_code) == ("save it as UTF-8", 2)


def test_a_large_file_is_read_in_pieces(memory: Memory, tmp_path: Path) -> None:
    lines = [f'{{"content": "{number} caf\u00e9 \U0001f389"}}' for number in range(20_000)]
    path = tmp_path / "large.ndjson"
    path.write_bytes(codecs.BOM_UTF16_LE + "\n".join(lines).encode("utf-16-le"))
    assert memory.import_from(path).imported == 20_000


def test_a_bad_item_affects_only_itself(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "memories.yaml"
    path.write_bytes(codecs.BOM_UTF16_LE + "- content: a\n- content: [\n- content: caf\u00e9\n".encode("utf-16-le"))
    result = memory.import_from(path)
    assert sorted(record.content for record in memory.list()) == ["a", "caf\u00e9"]
    assert [fault.line for fault in result.errors] == [3]


def test_a_lone_surrogate_or_a_cut_character_affects_only_its_record(memory: Memory) -> None:
    text = '{"content": "a"}\n{"content": "\ud83d"}\n{"content": "c"}\n'.encode("utf-16-le", "surrogatepass")
    result = memory.import_from(codecs.BOM_UTF16_LE + text + b"x", format="ndjson")
    assert (result.imported, [fault.line for fault in result.errors]) == (2, [2, 4])


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE])
def test_a_note_that_ends_inside_a_character_is_kept_and_the_others_are_read(
    mark: bytes, memory: Memory, tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "a.md").write_bytes(torn := mark + b"\xfa\x00\x00\x00b")
    (vault / "b.md").write_text("A note.")
    result = memory.import_from(vault)
    assert (result.imported, result.failed) == (1, 1)
    memory.export(tmp_path / "out", format="obsidian")
    assert (tmp_path / "out" / "a.md").read_bytes() == torn
    assert memory.import_from(tmp_path / "out").imported == 0


def test_a_vault_keeps_the_encoding_of_a_note(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    note = codecs.BOM_UTF16_LE + "---\nabout: caf\u00e9\n---\n\ud83d\ude00 #tag\n".encode("utf-16-le", "surrogatepass")
    (vault / "note.md").write_bytes(note)
    (vault / "unmarked.md").write_bytes("A note.\n".encode("utf-16-le"))
    result = memory.import_from(vault)
    assert (result.imported, result.failed) == (1, 1)
    (record,) = memory.list()
    assert (record.content, record.meta, record.tags) == ("\U0001f600 #tag", {"about": "caf\u00e9"}, ["tag"])
    for _ in range(2):
        memory.export(tmp_path / "out", format="obsidian")
        assert (tmp_path / "out" / "note.md").read_bytes() == note
        assert (tmp_path / "out" / "unmarked.md").read_bytes() == "A note.\n".encode("utf-16-le")
        again = memory.import_from(tmp_path / "out")
        assert (again.imported, again.merged) == (0, 0)
