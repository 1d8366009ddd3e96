"""`--prune` deletes the memories of notes that are gone, and nothing else."""

from __future__ import annotations

import codecs
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memglot import MemglotError, Memory
from memglot.model import to_builtins


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store.db") as memory:
        yield memory


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    for name in ("a", "b", "c", "sub/d", "sub/e"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(f"Text of {name}\n")
    (folder / ".obsidian").mkdir()
    return folder


def never(question: str) -> bool:
    raise AssertionError(question)


def titles(memory: Memory) -> list[str]:
    return sorted(record.title or "" for record in memory.list())


def test_memories_of_vanished_notes_are_deleted_and_restored(memory: Memory, vault: Path) -> None:
    memory.import_from(vault)
    memory.add("not a note")
    before = [to_builtins(record) for record in memory.list()]
    (vault / "a.md").unlink()
    (vault / "sub/d.md").unlink()
    assert memory.import_from(vault).import_id is None
    dry = memory.import_from(vault, prune=never, dry_run=True)
    assert "would delete 2 memories whose notes are gone from the vault: a.md, sub/d.md" in dry.notes
    result = memory.import_from(vault, prune=never)
    assert any("deleted 2 memories whose notes are gone from the vault: a.md, sub/d.md; `memglot undo`" in note
               for note in result.notes)  # fmt: skip
    assert titles(memory) == ["", "b", "c", "e"]
    assert memory.import_from(vault, prune=never).import_id is None
    memory.undo(result.import_id or "")
    assert [to_builtins(record) for record in memory.list()] == before


def test_a_note_that_comes_back_stays_deleted_until_it_is_restored(memory: Memory, vault: Path) -> None:
    memory.import_from(vault)
    text = (vault / "a.md").read_bytes()
    (vault / "a.md").unlink()
    memory.import_from(vault, prune=True)
    (vault / "a.md").write_bytes(text)
    assert memory.import_from(vault, prune=True).imported == 0
    assert memory.import_from(vault, restore_deleted=True).imported == 1


def test_moved_and_equal_notes_only_lose_a_place(memory: Memory, vault: Path, tmp_path: Path) -> None:
    (vault / "copy.md").write_text("Text of b\n")
    added = memory.add("Text of mine", kind="semantic")
    (vault / "mine.md").write_text("Text of mine\n")
    memory.import_from(vault)
    ids = {record.content: record.id for record in memory.list()}
    (vault / "a.md").rename(vault / "sub/moved.md")
    (vault / "b.md").unlink()
    (vault / "mine.md").unlink()
    dry = memory.import_from(vault, prune=never, dry_run=True)
    assert any("would delete 0 memories" in note and "kept 3 memories that have another place" in note
               for note in dry.notes)  # fmt: skip
    result = memory.import_from(vault, prune=never)
    assert {record.content: record.id for record in memory.list()} == ids
    assert memory.get(added.id).extra == {}
    memory.export(tmp_path / "out", format="obsidian")
    found = {path.name: path.read_text() for path in (tmp_path / "out").rglob("*.md")}
    assert found["moved.md"] == "Text of a\n" and found["copy.md"] == "Text of b\n"
    assert not {"a.md", "b.md", "mine.md"} & set(found)
    memory.undo(result.import_id or "")
    assert "obsidian" in memory.get(added.id).extra


def test_it_asks_when_most_notes_are_gone(memory: Memory, vault: Path) -> None:
    memory.import_from(vault)
    for name in ("a", "b", "c"):
        (vault / f"{name}.md").unlink()
    asked: list[str] = []

    def ask(question: str) -> bool:
        asked.append(question)
        return False

    result = memory.import_from(vault, prune=ask)
    assert asked == ["3 of 5 notes are gone: a.md, b.md, c.md. Delete their memories?"]
    assert result.import_id is None and any(note.startswith("deleted nothing: 3 of 5 notes") for note in result.notes)
    assert memory.import_from(vault, prune=True).import_id is None
    assert memory.count() == 5
    memory.import_from(vault, prune=lambda _: True)
    assert memory.count() == 2


def test_a_missing_empty_or_unmounted_vault_deletes_nothing(memory: Memory, vault: Path, tmp_path: Path) -> None:
    memory.import_from(vault)
    vault.rename(tmp_path / "away")
    with pytest.raises(MemglotError, match="no such file"):
        memory.import_from(vault, prune=lambda _: True)
    vault.mkdir()
    memory.import_from(vault, prune=lambda _: True)
    assert memory.count() == 5
    memory.import_from(vault, prune=True, format="obsidian")
    assert memory.count() == 5
    (vault / ".obsidian").mkdir()
    assert any("5 of 5 notes" in note for note in memory.import_from(vault, prune=True).notes)
    assert memory.count() == 5


def test_notes_of_another_folder_of_the_same_name_are_asked_about(memory: Memory, vault: Path, tmp_path: Path) -> None:
    memory.import_from(vault)
    other = tmp_path / "other/vault"
    shutil.copytree(vault, other)
    for number in range(9):
        (other / f"{number}.md").write_text(f"Other {number}\n")
    (other / "a.md").unlink()
    memory.import_from(other)
    result = memory.import_from(other, prune=True)
    assert any("some were read from another folder" in note for note in result.notes)
    assert "a" in titles(memory)


def test_a_note_that_memglot_wrote_is_deleted_too(memory: Memory, tmp_path: Path) -> None:
    for number in range(5):
        memory.add(f"[user]: {number}", title="Chat", source={"conversation": "c"})
    memory.export(tmp_path / "vault", format="obsidian")
    (tmp_path / "vault/semantic/Chat/Chat 3.md").unlink()
    memory.import_from(tmp_path / "vault", prune=never)
    assert [record.content for record in memory.list()] == ["[user]: 0", "[user]: 1", "[user]: 3", "[user]: 4"]
    memory.export(tmp_path / "vault", format="obsidian")
    assert not (tmp_path / "vault/semantic/Chat/Chat 3.md").exists()


@pytest.mark.parametrize("given", [b"text", "-", "note.md", "missing.md"])
def test_only_folders_can_be_pruned(given: bytes | str, memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("x")
    path = given if given in (b"text", "-") else str(tmp_path / str(given))
    with pytest.raises(MemglotError, match="needs the folder of a vault|no such file"):
        memory.import_from(path, prune=True)


def test_other_formats_cannot_be_pruned(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(MemglotError, match="only with Obsidian vaults"):
        memory.import_from(tmp_path, format="markdown", prune=True)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("plain")
    assert any("is not an Obsidian vault" in note for note in memory.import_from(folder, prune=True).notes)


def test_a_note_that_may_have_moved_to_where_nothing_was_read_is_kept(memory: Memory, vault: Path) -> None:
    memory.import_from(vault)
    before = {record.id for record in memory.list()}
    (vault / "a.md").rename(vault / "sub/moved.md")
    (vault / "0.md").write_text("---\ntitle: [\n---\nnot valid\n")
    result = memory.import_from(vault, prune=never, fail_fast=True)
    assert any("not all notes could be read" in note for note in result.notes)
    assert before <= {record.id for record in memory.list()}
    result = memory.import_from(vault, prune=never)
    assert before <= {record.id for record in memory.list()} and result.imported == 1


def test_nothing_is_deleted_while_a_file_cannot_be_read(memory: Memory, vault: Path) -> None:
    memory.import_from(vault)
    text = (vault / "a.md").read_text()
    (vault / "a.md").rename(vault / "moved.md")
    (vault / "moved.md").write_bytes(codecs.BOM_UTF32_LE + b"\xff" * 8)
    result = memory.import_from(vault, prune=never)
    assert any("not all notes could be read" in note for note in result.notes)
    assert memory.count() == 5
    (vault / "moved.md").write_text(text)
    assert memory.import_from(vault, prune=never).imported == 0
    assert memory.count() == 5
