"""A conversation as one note comes back as its memories, also if somebody edited it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot import MemglotError, Memory, Record, verify


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store.db") as memory:
        yield memory


def say(memory: Memory, conversation: str, text: str, title: str | None = None, **fields: Any) -> Record:
    fields = {"kind": "episodic", "tags": [title] if title else [], **fields}
    source = {"tool": "chatgpt", "conversation": conversation}
    return memory.add(f"[user]: {text}\n[assistant]: Yes.", title=title, source=source, **fields)


def notes(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.md"))}


def export(memory: Memory, folder: Path, **options: Any) -> Any:
    return memory.export(folder, format="obsidian", one_note_per="conversation", **options)


def test_conversations_become_one_note_each_and_come_back(memory: Memory, tmp_path: Path) -> None:
    first = say(memory, "1", "One?", "Trip to Rome", meta={"100%%": "%% x"})
    second = say(memory, "1", "Two? %% memglot {\n%% memglot {} %%", "Trip to Rome", kind="semantic", tree="a.b")
    say(memory, "2", "Three?", "Trip to Rome")
    say(memory, "3", "What is it?")
    memory.add("no chat")
    memory.link(first.id, "supports", second.id)
    assert export(memory, tmp_path / "out").count == 5
    found = notes(tmp_path / "out")
    assert [name for name in found if name.startswith("episodic")] == [
        "episodic/Trip to Rome 2.md",
        "episodic/Trip to Rome.md",
        "episodic/What is it.md",
    ]
    assert found["episodic/Trip to Rome.md"].startswith("---\ntitle: Trip to Rome\ntags:\n  - Trip-to-Rome\ncreated: ")
    assert verify(tmp_path / "out").ok
    assert memory.import_from(tmp_path / "out").import_id is None
    with Memory.open(tmp_path / "other.db") as other:
        assert other.import_from(tmp_path / "out").imported == 5
        assert list(other.list()) == list(memory.list())
        assert list(other.relations()) == list(memory.relations())
        export(other, tmp_path / "again")
    assert notes(tmp_path / "again") == found


def test_edits_in_a_conversation_reach_its_memories(memory: Memory, tmp_path: Path) -> None:
    one, two = say(memory, "1", "One?", "Rome"), say(memory, "1", "Two?", "Rome")
    export(memory, tmp_path / "out")
    note = tmp_path / "out/episodic/Rome.md"
    text = note.read_text().replace("One?", "One, edited?").replace("title: Rome\n", "title: Rome!\nrating: 5\n", 1)
    text = text.replace("tags:\n  - Rome\n", "tags:\n  - Rome\n  - travel\n") + "\nAnd a last line.\n"
    note.write_text(text.replace("%% memglot", "My summary.\n\n%% memglot", 1))
    result = memory.import_from(tmp_path / "out")
    assert (result.imported, result.merged, result.failed) == (1, 2, 0)
    assert memory.get(one.id).content == "[user]: One, edited?\n[assistant]: Yes."
    assert memory.get(two.id).content == "[user]: Two?\n[assistant]: Yes.\n\nAnd a last line."
    for id in (one.id, two.id):
        assert (memory.get(id).title, sorted(memory.get(id).tags)) == ("Rome!", ["Rome", "travel"])
    (added,) = (record for record in memory.list() if record.content == "My summary.")
    assert added.source == {"conversation": "1"}
    assert memory.import_from(tmp_path / "out").import_id is None
    # The edited note was imported, so an edit here replaces it; what was added to the front matter stays.
    memory.update(one.id, content="[user]: One, edited here?")
    result = export(memory, tmp_path / "out")
    assert not any("kept" in found for found in result.notes)
    after = note.read_text()
    assert "One, edited here?" in after and "rating: 5\n" in after and "My summary." in after
    assert list((tmp_path / "out").rglob("*.md")) == [note]
    assert memory.import_from(tmp_path / "out").import_id is None
    # An edit that was not imported is kept.
    note.write_text(after + "\nOnly in the note.\n")
    memory.update(one.id, content="[user]: Again?")
    assert any("kept 1 note" in found for found in export(memory, tmp_path / "out").notes)
    assert "Only in the note." in note.read_text()


def test_copied_removed_and_damaged_parts_lose_nothing(memory: Memory, tmp_path: Path) -> None:
    for word in ("One", "Two", "Three"):
        say(memory, "1", word, "Rome")
    export(memory, tmp_path / "out")
    note = tmp_path / "out/episodic/Rome.md"
    head, first, second, third = note.read_text().split("%% memglot {")
    # The first is copied and then edited, and the text of the second is removed.
    copy = first.replace("One", "Copy of one")
    blank = second.partition("\n")[0] + "\n\n"
    note.write_text("%% memglot {".join([head, first, copy, blank, third]))
    result = memory.import_from(tmp_path / "out")
    assert "1 memory of episodic/Rome.md without a text stayed as before" in result.notes
    texts = sorted(record.content for record in memory.list())
    assert [text.split("\n")[0] for text in texts] == [
        "[user]: Copy of one",
        "[user]: One",
        "[user]: Three",
        "[user]: Two",
    ]
    # Text below a damaged comment belongs to the memory before it.
    note.write_text("%% memglot {".join([head, first, second, "broken " + third]))
    memory.import_from(tmp_path / "out")
    assert any("Two" in text and "Three" in text for text in (record.content for record in memory.list()))


def test_windows_line_ends_are_no_edits(memory: Memory, tmp_path: Path) -> None:
    for word in ("One", "Two"):
        say(memory, "1", word, "Rome")
    export(memory, tmp_path / "out")
    before = [record.content for record in memory.list()]
    note = tmp_path / "out/episodic/Rome.md"
    note.write_bytes(note.read_bytes().replace(b"\n", b"\r\n"))
    memory.import_from(tmp_path / "out")
    assert [record.content for record in memory.list()] == before


def test_a_conversation_of_thousands_is_one_note(memory: Memory, tmp_path: Path) -> None:
    lines = (
        f'{{"content":"[user]: {number}","meta":{{"memglot":{{"title":"Long","source":{{"conversation":"c"}}}}}}}}'
        for number in range(2_500)
    )
    memory.import_from("\n".join(lines).encode(), format="ndjson", embed=False)
    export(memory, tmp_path / "out")
    assert list(notes(tmp_path / "out")) == ["semantic/Long.md"]
    with Memory.open(tmp_path / "other.db") as other:
        other.import_from(tmp_path / "out", embed=False)
        assert [record.id for record in other.list()] == [record.id for record in memory.list()]


def test_an_export_can_change_between_both_shapes(memory: Memory, tmp_path: Path) -> None:
    for word in ("One", "Two"):
        say(memory, "1", word, "Rome")
    memory.export(tmp_path / "out", format="obsidian")
    export(memory, tmp_path / "out")
    assert list(notes(tmp_path / "out")) == ["episodic/Rome.md"]
    memory.export(tmp_path / "out", format="obsidian")
    assert list(notes(tmp_path / "out")) == ["episodic/Rome/Rome 2.md", "episodic/Rome/Rome.md"]
    assert memory.import_from(tmp_path / "out").import_id is None


def test_plain_conversations_and_other_formats(memory: Memory, tmp_path: Path) -> None:
    say(memory, "1", "One?", "Rome")
    result = export(memory, tmp_path / "out", plain=True)
    (text,) = notes(tmp_path / "out").values()
    assert "%%" not in text and "memglot" not in text and result.losses
    with pytest.raises(MemglotError, match="cannot write a conversation as one note"):
        memory.export(tmp_path / "out.json", one_note_per="conversation")


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
LINES = st.sampled_from(["%% memglot {", "%% memglot {} %%", "\n\n", "---", "a\r\n", "%%", "\n%% memglot-2 {\n", " "])


@given(
    st.lists(
        st.tuples(st.none() | TEXTS.filter(str.strip), st.sampled_from("xy"), st.lists(TEXTS | LINES).map("".join)),
        min_size=1,
        max_size=6,
    )
)
def test_conversations_survive_as_notes(given: list[tuple[str | None, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, Memory.open(":memory:") as memory, Memory.open(":memory:") as other:
        for number, (title, conversation, text) in enumerate(given):
            source = {"conversation": conversation}
            memory.add(f"{text}{number}{text}", title=title, source=source, meta={"%%": text})
        export(memory, Path(folder) / "out")
        other.import_from(Path(folder) / "out")
        assert list(other.list()) == list(memory.list())
        export(other, Path(folder) / "again")
        assert notes(Path(folder) / "again") == notes(Path(folder) / "out")
