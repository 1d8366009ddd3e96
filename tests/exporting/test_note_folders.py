"""Export to a folder of notes: edited notes are kept, and nothing outside of the folder is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import memglot
from memglot import MemglotError, Memory

X, Y = (f"0194a000-000{number}-7000-8000-000000000000" for number in (1, 2))


def line(id: str, content: str, **more: Any) -> bytes:
    import msgspec

    return msgspec.json.encode({"id": id, "content": content, **more}) + b"\n"


def test_a_malicious_proof_deletes_and_reads_nothing_else(memory: Memory, tmp_path: Path) -> None:
    memory.add("mine", id=X)
    folder, outside = tmp_path / "vault", tmp_path / "outside"
    memory.export(folder, format="markdown")
    outside.mkdir()
    (outside / "victim.md").write_text("victim")
    (folder / "link").symlink_to(outside)
    (folder / "README.txt").write_text("mine")
    proof = folder / ".memglot.json"
    for files in ('{"README.txt":"0","link/victim.md":"0","/dev/zero":"0","../outside/victim.md":"0"}', "[]", "5"):
        proof.write_text(f'{{"format":"markdown","count":1,"digest":"x","files":{files},"beside":[]}}')
        try:
            assert not memglot.verify(folder).ok
            memory.export(folder, format="markdown")
        except MemglotError as error:
            assert "damaged" in str(error)
        memory.export(folder, format="markdown", force=True)
        assert (folder / "README.txt").exists() and (outside / "victim.md").exists()
    proof.write_text('{"format":"nosuch","count":0,"digest":"x"}')
    (tmp_path / "good.json").write_text('{"content":"good"}')
    result = memory.import_from(folder, tmp_path / "good.json")
    assert (result.imported, len(list(result.errors))) == (1, 1)


def test_an_export_does_not_follow_links_out_of_its_folder(memory: Memory, tmp_path: Path) -> None:
    memory.add("x", tree="work")
    folder, outside = tmp_path / "vault", tmp_path / "outside"
    outside.mkdir()
    memory.export(folder, format="markdown")
    (folder / "work").symlink_to(outside)
    with pytest.raises(MemglotError, match="leads out"):
        memory.export(folder, format="markdown", layout="tree")
    assert list(outside.iterdir()) == []


def test_an_edited_note_is_kept(memory: Memory, tmp_path: Path) -> None:
    memory.add("one", id=X)
    memory.add("two", id=Y)
    folder = tmp_path / "vault"
    memory.export(folder, format="markdown")
    for id in (X, Y):
        note = folder / f"{id}.md"
        note.write_text(note.read_text() + "my own words\n")
    memory.update(X, content="changed")
    memory.delete(Y)
    result = memory.export(folder, format="markdown")
    assert any("kept 2 notes edited" in note for note in result.notes)
    assert "my own words" in (folder / f"{X}.md").read_text() and (folder / f"{Y}.md").exists()
    memory.export(folder, format="markdown", force=True)
    assert "my own words" not in (folder / f"{X}.md").read_text()


def test_converting_a_duplicate_id_to_notes_is_reported(tmp_path: Path) -> None:
    (tmp_path / "d.ndjson").write_bytes(line(X, "first") + line(X, "second"))
    result = memglot.convert(tmp_path / "d.ndjson", tmp_path / "out", to="markdown")
    assert result.count == 1
    assert result.dropped == [{"field": "record", "records": [X]}]
    assert memglot.verify(tmp_path / "out").ok


def test_notes_are_updated_without_losing_edits(memory: Memory, tmp_path: Path) -> None:
    memory.add("one", id=X)
    memory.add("two", id=Y)
    folder = tmp_path / "vault"
    memory.export(folder, format="markdown")
    note = folder / f"{X}.md"
    note.write_text(note.read_text() + "my own words\n")
    memory.delete(X)
    memory.export(folder, format="markdown")
    memory.undelete(X)
    memory.export(folder, format="markdown")
    assert "my own words" in note.read_text()
    note.unlink()
    memory.update(X, content="changed")
    memory.export(folder, format="markdown")
    assert memglot.verify(folder).ok
    note.write_text(note.read_text().replace("---\n", "---\n# my comment\n", 1))
    memory.update(X, content="changed again")
    memory.export(folder, format="markdown")
    assert "my comment" in note.read_text()


def test_input_with_errors_removes_no_note(tmp_path: Path) -> None:
    source, folder = tmp_path / "s.ndjson", tmp_path / "notes"
    source.write_bytes(line(X, "x") + line(Y, "y"))
    memglot.convert(source, folder, to="markdown")
    source.write_bytes(line(X, "x") + b"broken\n")
    result = memglot.convert(source, folder, to="markdown")
    assert (folder / f"{Y}.md").exists()
    assert any("not read this time" in note for note in result.notes)
