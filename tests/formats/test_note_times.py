"""When a note was created: dates in front matter as people and plugins write them, then the time of the file."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot import Memory
from memglot.formats.core.note_times import note_time
from memglot.importing.folder_tree import tree_of_folder
from memglot.model import check_tree

MAY = "2024-05-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2024-05-01", MAY),
        ("2024/5/1", MAY),
        ("2024.05.01", MAY),
        ("[[2024-05-01]]", MAY),
        ("[[2024-05-01|May Day]]", MAY),
        (["2024-05-01"], MAY),
        (20240501, MAY),
        ("20240501", MAY),
        ("202405011030", "2024-05-01T10:30:00+00:00"),
        ("20240501T103000Z", "2024-05-01T10:30:00+00:00"),
        ("2024-05", MAY),
        ("01.05.2024", MAY),
        ("1.5.2024 10:30", "2024-05-01T10:30:00+00:00"),
        ("13/05/2024", "2024-05-13T00:00:00+00:00"),
        ("05/13/2024", "2024-05-13T00:00:00+00:00"),
        ("May 1, 2024", MAY),
        ("1 May 2024", MAY),
        ("Wednesday, May 1st 2024", MAY),
        ("Wednesday, May 1st 2024, 3:05 pm", "2024-05-01T15:05:00+00:00"),
        ("2024-05-01 12:05 AM", "2024-05-01T00:05:00+00:00"),
        ("2024-05-01T10:30:00+02:00", "2024-05-01T08:30:00+00:00"),
        ("2024-05-01T10:30:00.123Z", "2024-05-01T10:30:00.123000+00:00"),
        ("2024-05-01 10:30:00 +0200", "2024-05-01T08:30:00+00:00"),
        (1714521600, MAY),
        (1714521600000, MAY),
    ],
)
def test_usual_dates_are_read(value: object, moment: str) -> None:
    assert datetime.fromtimestamp(note_time(value) / 1e6, UTC).isoformat() == moment


@pytest.mark.parametrize(
    "value",
    ["", "soon", "{{date}}", "05/06/2024", "2024-13-01", "2024-02-30", "13:00 pm", True, None, {}, [], -1, 1e300,
     float("nan"), "2024-05-01" * 20, "1 Foo 2024", "2024-05-01 13:00 pm", "99999999"],
)  # fmt: skip
def test_other_values_are_no_date(value: object) -> None:
    assert note_time(value) == 0


@given(st.text() | st.floats() | st.integers() | st.lists(st.text()))
def test_no_value_is_an_error(value: object) -> None:
    assert note_time(value) >= 0


@given(st.lists(st.text(min_size=1).filter(lambda name: "/" not in name and name.isprintable()), max_size=5))
def test_every_folder_is_a_valid_path_in_the_tree(folders: list[str]) -> None:
    assert check_tree(tree_of_folder("/".join([*folders, "note.md"]))).count(".") == max(len(folders) - 1, 0)


def test_folders_in_other_scripts_do_not_share_a_label() -> None:
    labels = {tree_of_folder(f"{name}/a.md") for name in ("日本", "中国", "Notes", "Nötes 日", "!!!")}
    assert len(labels) == 5
    assert tree_of_folder("My Notes/Café & Bar/a.md") == "My_Notes.Cafe_Bar"


def test_a_note_was_created_when_it_says_so_or_when_its_file_was_made(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    texts = {
        "said": "---\ncreated: 2020-02-03\ndate: 2021-01-01\n---\nsaid\n",
        "dated": "---\ndate: 2019-01-02T03:04:05Z\n---\ndated\n",
        "planned": "---\ndate: 2999-01-01\n---\nplanned\n",
        "plain": "plain\n",
        "archived": "archived\n",
    }
    for name, text in texts.items():
        place = vault / f"{name}.md"
        place.write_text(text)
        os.utime(place, (1_600_000_000, 1_600_000_000))
    os.utime(vault / "archived.md", (315_532_800, 315_532_800))
    before = datetime.now(UTC).timestamp() * 1e6 - 1e6
    with Memory.open(tmp_path / "store.db") as memory:
        memory.import_from(vault, format="obsidian")
        made = {record.title: record.created_at for record in memory.list()}
        assert made["said"] == 1_580_688_000_000_000
        assert made["dated"] == 1_546_398_245_000_000
        assert made["plain"] == 1_600_000_000_000_000
        assert made["planned"] >= before and made["archived"] >= before
        # An edit later changes no creation time, whatever it says.
        (vault / "plain.md").write_text("plain, edited\n")
        (vault / "said.md").write_text(texts["said"].replace("2020-02-03", "2022-02-03"))
        assert memory.import_from(vault, format="obsidian").merged == 2
        assert {record.title: record.created_at for record in memory.list()} == made
        assert {record.title for record in memory.list(source="obsidian")} == set(texts)
        assert not list(memory.list(source="chatgpt"))


def test_folders_become_the_tree(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    for name in ("Work/Big Plans/a.md", "Work/b.md", "c.md", "یادداشت‌ها/d.md"):
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text(f"{name}\n")
    with Memory.open(tmp_path / "store.db") as memory:
        memory.import_from(vault, format="obsidian", tree="vault", tree_from="folders")
        trees = {record.title: record.tree for record in memory.list()}
        assert (trees["a"], trees["b"], trees["c"]) == ("vault.Work.Big_Plans", "vault.Work", "vault")
        assert trees["d"].startswith("vault.folder_")
        again = memory.import_from(vault, format="obsidian", tree="vault", tree_from="folders")
        assert (again.imported, again.merged) == (0, 0)
        memory.export(tmp_path / "out", format="obsidian")
    out = {path.relative_to(tmp_path / "out"): path.read_bytes() for path in (tmp_path / "out").rglob("*.md")}
    assert out == {path.relative_to(vault): path.read_bytes() for path in vault.rglob("*.md")}
