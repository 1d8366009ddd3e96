"""A note that is edited in memglot changes only in the lines that were edited."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from difflib import ndiff
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot import Memory, verify
from memglot.formats.syntax.front_edit import REMOVED, edit_front
from memglot.formats.syntax.markdown_frame import split_note
from memglot.formats.syntax.yaml_writer import dump
from memglot.model import Record, to_builtins

SHARED = Path(__file__).parents[3] / "shared"
CORPORA = [SHARED / "corpora" / "vault", SHARED / "corpora" / "scripts"]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store.db") as memory:
        yield memory


def notes(folder: Path) -> dict[str, str]:
    found = sorted(folder.rglob("*.md"))
    return {path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in found}


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.md").parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_bytes(text.encode())
    return folder


def changed(before: str, after: str) -> list[str]:
    """Return the lines that differ, each with `+` or `-`."""
    lines = ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return [line for line in lines if line[0] in "+-"]


def told(record: Record) -> dict[str, Any]:
    """Return what a memory says, without the layout of its note and the times of edits."""
    value: dict[str, Any] = to_builtins(record)
    for name in ("clocks", "updated_at", "extra"):
        value.pop(name, None)
    value["tags"] = sorted(value.get("tags", []))
    return value


def _content(record: Record) -> dict[str, Any]:
    return {"content": record.content + "\n\nOne more line."}


def _add_tag(record: Record) -> dict[str, Any]:
    return {"tags": [*record.tags, "added/here"]}


def _no_tags(record: Record) -> dict[str, Any]:
    return {"tags": []}


def _title(record: Record) -> dict[str, Any]:
    return {"title": "Another: title"}


def _add_meta(record: Record) -> dict[str, Any]:
    return {"meta": {**record.meta, "rating here": 7}}


def _less_meta(record: Record) -> dict[str, Any]:
    return {"meta": dict(list(record.meta.items())[1:])}


def _unseen(record: Record) -> dict[str, Any]:
    return {"tree": "some.where", "confidence": 0.5, "status": "stale"}


EDITS: dict[str, tuple[Callable[[Record], dict[str, Any]], int]] = {
    "content": (_content, 5),
    "added tag": (_add_tag, 4),
    "no tags": (_no_tags, 40),
    "title": (_title, 3),
    "new property": (_add_meta, 3),
    "removed property": (_less_meta, 40),
    "fields that a note does not have": (_unseen, 0),
}
"""Edits, each with the number of lines that may differ; a list of one line may become one of several."""


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("corpus", CORPORA, ids=[path.name for path in CORPORA])
def test_real_notes_change_only_where_they_were_edited(corpus: Path, name: str, memory: Memory, tmp_path: Path) -> None:
    if not corpus.exists():
        pytest.skip("the corpora are not here")
    edit, most = EDITS[name]
    memory.import_from(corpus, format="obsidian")
    memory.export(tmp_path / "before", format="obsidian")
    for record in list(memory.list()):
        memory.update(record.id, **edit(record))
    memory.export(tmp_path / "out", format="obsidian")
    before, after = notes(tmp_path / "before"), notes(tmp_path / "out")
    assert before.keys() == after.keys()
    for path, text in after.items():
        lines = changed(before[path], text)
        # A note without front matter gets its two fences too.
        assert len(lines) <= most + 3 * (most > 0 and not before[path].startswith("---")), (path, lines)
        # Nothing is laid out again, and no line of tags is added.
        assert not any(line.startswith(("+ type:", "+ createdAt:", "+ scope:", "+ memglot:", "+ #")) for line in lines)
    assert verify(tmp_path / "out").ok
    again = memory.import_from(tmp_path / "out")
    # Of a second note with the text of a memory, the store remembers the new front matter.
    assert again.import_id is None or name == "no tags" and memory.import_from(tmp_path / "out").import_id is None
    with Memory.open(tmp_path / "other.db") as other:
        other.import_from(tmp_path / "out")
        assert [told(record) for record in other.list()] == [told(record) for record in memory.list()]
        other.export(tmp_path / "again", format="obsidian")
    assert notes(tmp_path / "again") == after


NOTE = """---
# my own comment
created:   2024-05-01
tags:
    - "#work"
    - plans # why
aliases: [Plan, 'The plan']
rating: 7   # of 10
---
# Heading

Text with #inline tag.
"""


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({"tags": ["work", "plans", "inline", "new"]}, ["+     - new\n"]),
        ({"tags": ["plans", "inline"]}, ['-     - "#work"\n']),
        ({"meta": {"created": "2024-05-01", "rating": 8}}, ["- rating: 7   # of 10\n", "+ rating: 8\n"]),
        ({"meta": {"created": "2024-05-01"}}, ["- rating: 7   # of 10\n"]),
        ({"meta": {"created": "2024-05-01", "rating": 7, "done": True}}, ["+ done: true\n"]),
        ({"title": "Another"}, ["+ title: Another\n"]),
        ({"title": "note"}, []),
        ({"kind": "fact", "strength": 0.5}, []),
        (
            {"content": "# Heading\n\nOther text with #inline tag."},
            ["- Text with #inline tag.\n", "+ Other text with #inline tag.\n"],
        ),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_an_edit_changes_its_lines(
    changes: dict[str, Any], lines: list[str], newline: str, memory: Memory, tmp_path: Path
) -> None:
    text = NOTE.replace("\n", newline)
    memory.import_from(write(tmp_path / "v", note=text), format="obsidian")
    (record,) = memory.list()
    if "content" in changes:
        changes = {"content": changes["content"].replace("\n", newline)}
    memory.update(record.id, **changes)
    memory.export(tmp_path / "out", format="obsidian")
    # ndiff marks where a line changed with a line of its own.
    assert changed(text, notes(tmp_path / "out")["note.md"]) == [line.replace("\n", newline) for line in lines]


def test_a_tag_removed_here_but_in_the_text_stays_removed(memory: Memory, tmp_path: Path) -> None:
    memory.import_from(write(tmp_path / "v", note="Text with #inline.\n"), format="obsidian")
    (record,) = memory.list()
    memory.update(record.id, tags=[])
    memory.export(tmp_path / "out", format="obsidian")
    assert notes(tmp_path / "out") == {"note.md": "Text with #inline.\n"}
    with Memory.open(tmp_path / "other.db") as other:
        other.import_from(tmp_path / "out")
        assert [found.tags for found in other.list()] == [[]]


def test_a_link_made_here_is_one_line_below_the_note(memory: Memory, tmp_path: Path) -> None:
    texts = {"a": "---\nx: 1\n---\nA [[b]]\n", "b": "B\n", "c": "C"}
    memory.import_from(write(tmp_path / "v", **texts), format="obsidian")
    ids = {record.title: record.id for record in memory.list()}
    memory.link(ids["a"], "supports", ids["c"])
    memory.link(ids["c"], "supports", ids["b"])
    memory.export(tmp_path / "out", format="obsidian")
    found = notes(tmp_path / "out")
    assert found["a.md"] == texts["a"] + "\n## Related\n- [[c]] — c\n"
    assert found["c.md"] == "C\n\n## Related\n- [[b]] — b"
    assert memory.import_from(tmp_path / "out").import_id is None
    with Memory.open(tmp_path / "other.db") as other:
        other.import_from(tmp_path / "out")
        assert sorted(record.content for record in other.list()) == ["A [[b]]", "B", "C"]
        assert sorted(map(repr, other.relations())) == sorted(map(repr, memory.relations()))
        other.export(tmp_path / "again", format="obsidian")
    assert notes(tmp_path / "again") == found


def test_a_vault_is_edited_in_both_programs(memory: Memory, tmp_path: Path) -> None:
    vault = write(tmp_path / "vault", a="---\ntags: [x]\n---\nA\n", b="B\n", c="C\n")
    (vault / ".obsidian").mkdir()
    (vault / "picture.png").write_bytes(b"PNG")
    memory.import_from(vault)
    ids = {record.title: record.id for record in memory.list()}
    memory.update(ids["a"], tags=["x", "y"])
    # It is a vault, so no --force is needed; and a note that was not imported since its edit is not replaced.
    write(vault, b="B, edited\n", d="D\n")
    memory.update(ids["b"], content="B, edited here")
    result = memory.export(vault, format="obsidian")
    assert any("kept 1 note edited since the last export: b.md" in note for note in result.notes)
    assert notes(vault) == {"a.md": "---\ntags: [x, y]\n---\nA\n", "b.md": "B, edited\n", "c.md": "C\n", "d.md": "D\n"}
    # A note that was imported after its edit can be replaced, for each edit again.
    for number in range(3):
        write(vault, c=f"C {number}\n")
        memory.import_from(vault)
        assert memory.get(ids["c"]).content == f"C {number}"
        memory.update(ids["c"], content=f"C {number} here")
        result = memory.export(vault, format="obsidian")
        assert notes(vault)["c.md"] == f"C {number} here\n"
    assert (vault / "picture.png").exists() and notes(vault)["d.md"] == "D\n"


def test_a_note_of_memglot_is_edited_in_both_programs(memory: Memory, tmp_path: Path) -> None:
    record = memory.add("Text", tags=["a tag"], title="Title", tree="x.y", meta={"k": 1})
    memory.export(tmp_path / "vault", format="obsidian")
    (note,) = (tmp_path / "vault").rglob("*.md")
    for number in range(3):
        note.write_text(note.read_text().replace("Text", f"Text {number}"))
        memory.import_from(tmp_path / "vault")
        assert memory.get(record.id).content.startswith(f"Text {number}")
        before = note.read_text()
        memory.update(record.id, content=f"Text {number} here")
        memory.export(tmp_path / "vault", format="obsidian")
        lines = [line for line in changed(before, note.read_text()) if "memglot" not in line]
        assert f"+ Text {number} here\n" in lines
        note.write_text(note.read_text().replace(f"Text {number} here", "Text"))
    with Memory.open(tmp_path / "other.db") as other:
        other.import_from(shutil.copytree(tmp_path / "vault", tmp_path / "copy"))
        assert [found.id for found in other.list()] == [record.id]


NOTES = st.sampled_from(
    [
        "Text #inline and [[b]].\n",
        "Text without an end",
        "\n\n  \n",
        "---\n---\n\nBelow nothing\n",
        "---\ntags: one\n---\nA string of tags\n",
        "---\ntags: one, two\n---\n\n\nTwo of them\n\n",
        "---\ntags: [one, 'two words', \"#three\"]\nn: null\n---\nA list #four\n",
        "---\r\ntags:\r\n- one\r\n- two\r\nx: |\r\n  a\r\n  b\r\n---\r\nWindows\r\n",
        "---\nbroken: [\n---\nNot YAML\n",
        "---\na: 1\na: 2\n---\nTwice\n",
        "\ufeff---\ntitle: Said\n# c\naliases: [x]\n---\nMark\n",
        "---\nid: mt_1\ntype: semantic\nscope: user\ntags: [one, two]\n---\n\nOf AgentOS\n\n#one #two\n",
        "---\nid: 7\ntags: []\n---\nBody\n\n## Related\n- [[b]]\n",
        "---\ntags:\n  - one # why\n\n  # comment\nlast: {a: [1, 2]}\n---\n# Head\n",
    ]
)
WORDS = st.sampled_from(["one", "two", "two words", "three", "four", "inline", "new", "#x", "a: b", "7", "é"])
EDITED = st.fixed_dictionaries(
    {},
    optional={
        "content": st.sampled_from(
            ["Other", "\nstarts empty", "ends\n", "---\na: 1\n---\nx", "#one [[b]]", "x\n\n#one"]
        ),
        "tags": st.lists(WORDS, unique=True, max_size=4),
        "title": WORDS | st.just("a"),
        "meta": st.dictionaries(WORDS | st.sampled_from(["n", "x", "last", "memglot"]), WORDS | st.none(), max_size=3),
        "kind": st.sampled_from(["fact", "semantic"]),
        "tree": st.sampled_from(["", "a.b"]),
    },
)


@given(NOTES, EDITED)
def test_every_edit_survives_the_vault(text: str, changes: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name, Memory.open(":memory:") as memory, Memory.open(":memory:") as other:
        folder = Path(name)
        memory.import_from(write(folder / "v", a=text, b="B\n"), format="obsidian", embed=False)
        record = next(record for record in memory.list() if record.content != "B")
        if changes:
            memory.update(record.id, **changes)
        memory.export(folder / "out", format="obsidian")
        if not changes.keys() - {"kind", "tree"} and "type:" not in text:
            assert notes(folder / "out") == notes(folder / "v")
        assert verify(folder / "out").ok
        again = memory.import_from(folder / "out", embed=False)
        if "[[" in changes.get("content", ""):
            # A link that was written here becomes a relation when the note is read.
            again = memory.import_from(folder / "out", embed=False)
        assert again.import_id is None
        other.import_from(folder / "out", embed=False)
        assert sorted(map(repr, other.relations())) == sorted(map(repr, memory.relations()))
        assert [told(record) for record in other.list()] == [told(record) for record in memory.list()]
        other.export(folder / "again", format="obsidian")
        assert notes(folder / "again") == notes(folder / "out")


KEYS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=10)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | KEYS, lambda inner: st.lists(inner, max_size=3), max_leaves=4
)
FRONTS = st.dictionaries(KEYS, VALUES, max_size=5)


@given(FRONTS, FRONTS, st.data())
def test_edited_front_matter_has_the_new_values_and_the_old_lines(
    front: dict[str, Any], new: dict[str, Any], data: st.DataObject
) -> None:
    removed = data.draw(st.lists(st.sampled_from(sorted(front)), unique=True)) if front else []
    head = f"---\n{dump(front)}---\n"
    before = split_note(head + "x").front
    edits = {**new, **{key: REMOVED for key in removed if key not in new}}
    edited = edit_front(head, edits, before)
    if edited is None:
        return
    found = split_note(edited + "x").front
    expected = {key: value for key, value in {**before, **edits}.items() if value is not REMOVED}
    assert found == expected
