"""Chats in a vault: names from titles, a folder for each conversation, tags that Obsidian accepts; nothing is lost."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot import Memory, Record, verify
from memglot.formats.obsidian.chat_names import UNTITLED, chat_name, first_words, is_chat_path, valid_tags
from memglot.formats.obsidian.markup import tags_in
from memglot.formats.obsidian.writer import VaultWriter

UUID = re.compile(r"[0-9a-f]{8}-")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store.db") as memory:
        yield memory


def say(memory: Memory, conversation: str, text: str, title: str | None = None, **fields: Any) -> Record:
    tags = [title] if title else []
    source = {"tool": "chatgpt", "conversation": conversation}
    fields = {"kind": "episodic", "tags": tags, **fields}
    return memory.add(f"[user]: {text}\n[assistant]: Yes.", title=title, source=source, **fields)


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))


def notes(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in names(folder)}


def test_notes_have_titles_as_names_in_a_folder_for_each_conversation(memory: Memory, tmp_path: Path) -> None:
    say(memory, "1", "One?", "Trip to Rome")
    say(memory, "1", "Two?", "Trip to Rome")
    say(memory, "2", "Three?", "Trip to Rome")
    say(memory, "3", "What *is* [[this]] thing all about, my dear old friend of mine?")
    say(memory, "4", "One", "C# & .NET: how?/..", kind="semantic")
    say(memory, "5", "Old", "trip to rome")
    memory.add("no chat", id="0194a000-0001-7000-8000-000000000001")
    memory.export(tmp_path / "out", format="obsidian")
    assert names(tmp_path / "out") == [
        "episodic/Trip to Rome 2/Trip to Rome.md",
        "episodic/Trip to Rome/Trip to Rome 2.md",
        "episodic/Trip to Rome/Trip to Rome.md",
        "episodic/What is this thing all about, my dear/What is this thing all about, my dear.md",
        "episodic/trip to rome 3/trip to rome.md",
        "semantic/0194a000-0001-7000-8000-000000000001.md",
        "semantic/C & .NET how/C & .NET how.md",
    ]
    assert verify(tmp_path / "out").ok
    assert memory.import_from(tmp_path / "out").import_id is None
    with Memory.open(tmp_path / "other.db") as other:
        other.import_from(tmp_path / "out")
        assert list(other.list()) == list(memory.list())
        other.export(tmp_path / "again", format="obsidian")
    assert notes(tmp_path / "again") == notes(tmp_path / "out")


def test_a_later_export_keeps_the_names(memory: Memory, tmp_path: Path) -> None:
    first, second = say(memory, "1", "One?", "Rome"), say(memory, "1", "Two?", "Rome")
    say(memory, "2", "Three?", "Rome")
    memory.add("no chat")
    memory.export(tmp_path / "out", format="obsidian")
    before = notes(tmp_path / "out")
    say(memory, "1", "Four?", "Rome")
    say(memory, "0", "Zero?", "Rome")
    memory.delete(first.id)
    memory.update(second.id, title="Paris")
    memory.export(tmp_path / "out", format="obsidian")
    after = notes(tmp_path / "out")
    new = after.keys() - before.keys()
    assert before.keys() - after.keys() == {"episodic/Rome/Rome.md"}
    assert new == {"episodic/Rome/Rome 3.md", "episodic/Rome 3/Rome.md"}
    assert "Two?" in after["episodic/Rome/Rome 2.md"] and "Paris" in after["episodic/Rome/Rome 2.md"]
    memory.export(tmp_path / "out", format="obsidian")
    assert notes(tmp_path / "out") == after


def test_a_vault_of_an_earlier_version_keeps_its_names(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = say(memory, "1", "One?", "Trip to Rome")
    with monkeypatch.context() as earlier:
        earlier.setattr(VaultWriter, "_is_chat", lambda *_: False)
        memory.export(tmp_path / "out", format="obsidian")
    assert names(tmp_path / "out") == [f"episodic/{record.id}.md"]
    say(memory, "1", "Two?", "Trip to Rome")
    memory.export(tmp_path / "out", format="obsidian")
    kept = [f"episodic/{record.id}.md", "episodic/Trip to Rome/Trip to Rome.md"]
    assert names(tmp_path / "out") == kept
    with Memory.open(tmp_path / "other.db") as other:
        other.import_from(tmp_path / "out")
        other.export(tmp_path / "again", format="obsidian")
    assert notes(tmp_path / "again") == notes(tmp_path / "out")


def test_tags_edited_in_the_vault_keep_the_exact_others(memory: Memory, tmp_path: Path) -> None:
    record = say(memory, "1", "One?", "Trip to Rome", tags=["Trip to Rome", "2024", "?!"])
    memory.export(tmp_path / "out", format="obsidian")
    (note,) = (tmp_path / "out").rglob("*.md")
    text = note.read_text()
    assert "\n  - Trip-to-Rome\n  - _2024\n  - _\n" in text and text.endswith("\n\n#Trip-to-Rome #_2024 #_\n")
    note.write_text(text.replace("  - _2024\n", "  - travel\n").replace(" #_2024", ""))
    assert memory.import_from(tmp_path / "out").merged == 1
    assert sorted(memory.get(record.id).tags) == ["?!", "Trip to Rome", "travel"]
    # And here: only the lines of the tags change.
    memory.update(record.id, tags=["Trip to Rome", "travel", "plans for 2025"])
    memory.export(tmp_path / "out", format="obsidian")
    after = note.read_text()
    assert "  - Trip-to-Rome\n  - travel\n  - plans-for-2025\n" in after
    assert after.endswith("\n\n#Trip-to-Rome #travel #plans-for-2025\n")
    assert memory.import_from(tmp_path / "out").import_id is None
    with Memory.open(tmp_path / "other.db") as other:
        other.import_from(tmp_path / "out")
        assert [sorted(found.tags) for found in other.list()] == [["Trip to Rome", "plans for 2025", "travel"]]


def test_a_note_that_was_moved_stays_where_it_is(memory: Memory, tmp_path: Path) -> None:
    record = say(memory, "1", "One?", "Rome")
    memory.export(tmp_path / "out", format="obsidian")
    (tmp_path / "out/Trips").mkdir()
    (tmp_path / "out/episodic/Rome/Rome.md").rename(tmp_path / "out/Trips/My Rome.md")
    memory.import_from(tmp_path / "out")
    memory.update(record.id, content="[user]: One?\n[assistant]: No.")
    memory.export(tmp_path / "out", format="obsidian")
    assert names(tmp_path / "out") == ["Trips/My Rome.md"]
    assert "[assistant]: No." in (tmp_path / "out/Trips/My Rome.md").read_text()


def test_a_conversation_of_thousands_is_named_fast_enough(memory: Memory, tmp_path: Path) -> None:
    lines = (
        f'{{"content":"[user]: {number}","meta":{{"memglot":{{"title":"Long","source":{{"conversation":"c"}}}}}}}}'
        for number in range(3_000)
    )
    memory.import_from("\n".join(lines).encode(), format="ndjson")
    memory.export(tmp_path / "out", format="obsidian")
    assert len(names(tmp_path / "out")) == 3_000
    assert (tmp_path / "out/semantic/Long/Long 3000.md").exists()


def test_links_between_notes_of_chats_are_read_back(memory: Memory, tmp_path: Path) -> None:
    one, two = say(memory, "1", "One?", "Rome"), say(memory, "2", "Two?", "Rome")
    memory.link(one.id, "supports", two.id)
    memory.export(tmp_path / "out", format="obsidian", plain=True)
    with Memory.open(tmp_path / "other.db") as other:
        other.import_from(tmp_path / "out", format="obsidian")
        assert [relation.object.id for relation in other.relations()] == [two.id]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[user]: Hello there\n[assistant]: x", "Hello there"),
        ("[user]: [image: file-service://file-1234]\nWhat is it?", "What is it"),
        ("[user]: [image: file-service://file-1234]", UNTITLED),
        ("```python\nprint(1)\n```\nFix it", "Fix it"),
        ("```\nprint(1)\n```", "print(1)"),
        ("...", UNTITLED),
        ("", UNTITLED),
        ("سلام، می‌خواهم بدانم", "سلام، می‌خواهم بدانم"),
        ("a" * 100, "a" * 60),
    ],
)
def test_a_name_is_the_first_words(text: str, name: str) -> None:
    assert first_words(text) == name


@given(st.lists(st.text(min_size=1), unique=True))
def test_every_tag_gets_a_valid_one(tags: list[str]) -> None:
    found = valid_tags(tags)
    assert list(found.values()) == tags
    for name in found:
        assert tags_in(f"#{name}") == [name]


TITLES = (
    st.none() | st.text(min_size=1, max_size=200).filter(str.strip) | st.sampled_from(["a", "A", "1", "con", "a 2"])
)


@given(st.lists(st.tuples(TITLES, st.sampled_from(["x", "y"]), st.text(max_size=30)), max_size=6, min_size=1))
def test_chats_survive_a_vault(given: list[tuple[str | None, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, Memory.open(":memory:") as memory, Memory.open(":memory:") as other:
        for number, (title, conversation, text) in enumerate(given):
            if "\0" not in (title or "") + text:
                say(memory, conversation, f"{number} {text}", title)
        memory.export(Path(folder) / "out", format="obsidian")
        assert not any(UUID.match(Path(name).name) for name in names(Path(folder) / "out"))
        other.import_from(Path(folder) / "out")
        assert list(other.list()) == list(memory.list())
        other.export(Path(folder) / "again", format="obsidian")
        assert notes(Path(folder) / "again") == notes(Path(folder) / "out")


@given(TITLES, st.text(), st.integers(2, 5000))
def test_a_made_up_path_is_recognised(title: str | None, text: str, number: int) -> None:
    record = Record(content=text, title=title, kind="episodic", source={"conversation": "c"})
    name = chat_name(record)
    for path in (f"episodic/{name}/{name}.md", f"episodic/{name} {number}/{name} {number}.md"):
        assert is_chat_path(path, record)
    assert not is_chat_path(f"episodic/{name}.md", record)
    assert not is_chat_path(f"episodic/{name}/{name} x.md", record)
