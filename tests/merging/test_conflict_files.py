"""Files next to a store that show its conflicts: always up to date, and safe to read."""

from __future__ import annotations

import os
import subprocess
import tempfile
import tracemalloc
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from test_conflicts import A, B, line, make_conflict

from memglot import Memory, restore
from memglot.cli.main import cli, run
from memglot.cli.session import Session
from memglot.merging import conflict_files
from memglot.merging.conflict_files import conflict_page
from memglot.merging.conflicts import current_number


def pages(folder: Path) -> dict[str, str]:
    """Return the conflict files next to a store by name."""
    found = sorted((folder / "_conflicts").iterdir()) if (folder / "_conflicts").is_dir() else []
    return {path.name: path.read_bytes().decode() for path in found}


def test_conflicts_are_readable_files_next_to_the_store(tmp_path: Path) -> None:
    folder = tmp_path / "_conflicts"
    with Memory.open(tmp_path / "mine.db") as memory:
        memory.import_from(line(A, "x", updated_at=5), format="ndjson")
        assert not folder.exists()
        make_conflict(memory, title=("a\nb", "c"), extra=({"t": {"a/../b": 1}}, {"t": {"a/../b": 2}}))
        names = sorted(path.name for path in folder.iterdir())
        assert names == [f"mine.db.{A}.extra~2e~t~2e~a~2f~~2e~~2e~~2f~b.md", f"mine.db.{A}.title.md"]
        text = (folder / names[1]).read_text(encoding="utf-8")
        stands = current_number(memory.get(A), memory.conflicts(A, "title")[0])
        assert "1970-01-01T00:00:00.000005Z" in text and "    a\n    b\n" in text and "    c\n" in text
        assert f"## {stands} (used until resolved)" in text
        command = next(text for text in text.splitlines() if "conflicts resolve" in text).split()
        (folder / "mine.db.notes.md").write_text("my own\n")
        (folder / f"mine.db.too.{A}.title.md").write_text("<!-- memglot conflict of mine.db.too -->\n")
        (folder / f"other.{A}.title.md").write_text("<!-- memglot conflict of other.db -->\n")
    assert CliRunner().invoke(cli, command[1:], obj=Session()).exit_code == 0
    assert not (folder / names[1]).exists()
    with Memory.open(tmp_path / "mine.db") as memory:
        memory.undo("last", force=True)
        assert sorted(path.name for path in folder.iterdir()) == [
            "mine.db.notes.md",
            f"mine.db.too.{A}.title.md",
            f"other.{A}.title.md",
        ]


def test_the_folder_is_removed_with_the_last_conflict(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "mine.db") as memory:
        make_conflict(memory, title=("a", "b"))
        assert (tmp_path / "_conflicts").is_dir()
        memory.delete(A)
        assert not (tmp_path / "_conflicts").exists()
        memory.undelete(A)
        assert (tmp_path / "_conflicts").is_dir()
        memory.update(A, title="c")
        assert not (tmp_path / "_conflicts").exists()


def test_conflict_files_are_not_imported_as_memories(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "mine.db") as memory:
        make_conflict(memory, title=("a", "b"))
    (tmp_path / "_conflicts" / "own.md").write_text("my own note\n", encoding="utf-8")
    (tmp_path / "mine.db").rename(tmp_path.with_suffix(".kept"))
    with Memory.open(":memory:") as memory:
        memory.import_from(tmp_path, format="markdown")
        assert [record.content for record in memory.list()] == ["my own note"]


def test_a_folder_that_cannot_be_written_is_only_reported(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "_conflicts").symlink_to(tmp_path / "elsewhere")
    with Memory.open(tmp_path / "mine.db") as memory:
        make_conflict(memory, title=("a", "b"))
        assert len(memory.conflicts()) == 1
        assert any("cannot write conflict files" in note for note in memory.notes)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_scope_is_unreadable_as_soon_as_it_is_marked_sensitive(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "mine.db") as memory:
        make_conflict(memory, title=("secret one", "secret two"), meta=({"k": "secret"}, {"k": 2}))
        before = pages(tmp_path)
        assert any("secret" in text for text in before.values())
        memory.mark_sensitive("user")
        assert pages(tmp_path).keys() == before.keys()
        for text in pages(tmp_path).values():
            assert "secret" not in text and "conflicts resolve" in text and "sensitive" in text
        memory.mark_normal("user")
        assert pages(tmp_path) == before


def supersede(memory: Memory) -> object:
    return memory.supersede(B, A)


@pytest.mark.parametrize(
    "operation",
    [
        supersede,
        lambda memory: memory.update(A, status="c"),
        lambda memory: memory.delete(A),
        lambda memory: memory.resolve(A, take=1),
        lambda memory: memory.undo("last", force=True),
        lambda memory: memory.import_from(line(A, "x", status="d", updated_at=9), format="ndjson", conflict="merge"),
    ],
)
def test_resolving_a_conflict_in_any_way_removes_its_page(
    operation: Callable[[Memory], object], tmp_path: Path
) -> None:
    with Memory.open(tmp_path / "mine.db") as memory:
        memory.add("b", id=B)
        make_conflict(memory, status=("stale", "closed"))
        assert len(pages(tmp_path)) == 1
        operation(memory)
        assert memory.conflicts() == [] and pages(tmp_path) == {}


def test_moving_a_branch_resolves_conflicts_about_tree_paths(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "mine.db") as memory:
        make_conflict(memory, tree=("a", "b"))
        memory.move(memory.get(A).tree, "c")
        assert memory.conflicts() == [] and pages(tmp_path) == {}


def test_a_restored_store_shows_its_own_conflicts(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "mine.db") as memory:
        memory.add("b", id=B)
        memory.backup(tmp_path / "before.db")
        make_conflict(memory, title=("a", "b"))
        memory.backup(tmp_path / "after.db")
    restore(tmp_path / "before.db", str(tmp_path / "mine.db"), force=True)
    assert pages(tmp_path) == {}
    restore(tmp_path / "after.db", str(tmp_path / "mine.db"), force=True)
    assert [name for name in pages(tmp_path)] == [f"mine.db.{A}.title.md"]
    (tmp_path / "_conflicts" / f"mine.db.{A}.title.md").unlink()
    (tmp_path / "_conflicts").rmdir()
    (tmp_path / "_conflicts").touch()
    told: list[str] = []
    restore(tmp_path / "after.db", str(tmp_path / "mine.db"), force=True, tell=told.append)
    assert len(told) == 1 and "cannot write conflict files" in told[0]


def test_stores_in_one_folder_and_similar_keys_have_separate_pages(tmp_path: Path) -> None:
    for name in ("s.db", "s.sqlite"):
        with Memory.open(tmp_path / name) as memory:
            make_conflict(memory, meta=({"K": name, "k": 1, "ſ": 1, "s": 1}, {"K": 2, "k": 2, "ſ": 2, "s": 2}))
    names = list(pages(tmp_path))
    assert len({name.casefold() for name in names}) == len(names) == 8
    with Memory.open(tmp_path / "s.db") as memory:
        memory.delete(A)
    assert list(pages(tmp_path)) == [name for name in names if name.startswith("s.sqlite.")]


def test_a_file_of_the_user_is_never_overwritten(tmp_path: Path) -> None:
    own = tmp_path / "_conflicts" / f"mine.db.{A}.title.md"
    own.parent.mkdir()
    own.write_text("my own\n")
    link = own.with_name(f"mine.db.{A}.kind.md")
    link.symlink_to(own)
    with Memory.open(tmp_path / "mine.db") as memory:
        make_conflict(memory, title=("a", "b"), kind=("note", "fact"))
        assert sum("memglot did not write" in note for note in memory.notes) == 2
        memory.delete(A)
    assert own.read_text() == "my own\n" and link.is_symlink()


def test_a_linked_store_has_its_pages_next_to_the_real_file(tmp_path: Path) -> None:
    for name in ("real", "elsewhere"):
        (tmp_path / name).mkdir()
    with Memory.open(tmp_path / "real" / "mine.db") as memory:
        make_conflict(memory, title=("a", "b"))
    (tmp_path / "elsewhere" / "link.db").symlink_to(tmp_path / "real" / "mine.db")
    with Memory.open(tmp_path / "elsewhere" / "link.db") as memory:
        make_conflict(memory, kind=("note", "fact"))
        assert len(memory.conflicts()) == len(pages(tmp_path / "real")) == 2
        memory.delete(A)
    assert pages(tmp_path / "real") == {} and not (tmp_path / "elsewhere" / "_conflicts").exists()


# Line ends of Markdown and of Unicode, and syntax of Markdown and HTML.
HOSTILE = st.lists(
    st.sampled_from(
        [
            "\n",
            "\r",
            "\v",
            "\f",
            "\x85",
            "\u2028",
            "\t",
            "\x1b",
            "\u202e",
            "`",
            "```",
            "~~~",
            "# To resolve the conflict",
        ]
    )
    | st.sampled_from(["<script>", "-->", "<!--", "    ", " ", "", "'", "\\", "$(id)", "a", "é", "👩\u200d💻"]),
    min_size=1,
    max_size=8,
).map("".join)


@given(title=HOSTILE, key=HOSTILE, values=st.tuples(HOSTILE, HOSTILE).filter(lambda pair: pair[0] != pair[1]))
def test_no_value_leaves_its_block(title: str, key: str, values: tuple[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "it's \n a store.db"
        with Memory.open(file) as memory:
            for value in values:
                text = line(A, "x", title=title, meta={key: value}, updated_at=5)
                memory.import_from(text, format="ndjson", conflict="merge")
            (conflict,) = memory.conflicts()
        (page,) = pages(Path(folder)).values()
        assert len(page.splitlines()) == page.count("\n")
        ours = [text for text in page.split("\n") if text and not text.startswith("    ")]
        assert [" ".join(text.split()[:2]) for text in ours] == [
            "<!-- memglot", "# Conflict", "This field", "## 1", "## 2", "To resolve", "Use `--value",
        ]  # fmt: skip
        (command,) = (text for text in page.split("\n") if " conflicts resolve " in text)
        said = subprocess.run(["bash", "-c", command.replace("memglot", "printf '%s\\0'", 1)], capture_output=True)
        assert said.stdout.decode().split("\0")[:-1] == [
            "--store", os.path.realpath(file), "conflicts", "resolve", A, conflict.field, "--take", "1",
        ]  # fmt: skip


def test_an_edit_of_one_memory_does_not_rewrite_the_pages_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[str] = []

    def page(**given: Any) -> str:
        rendered.append(given["record"])
        return conflict_page(**given)

    with Memory.open(tmp_path / "mine.db") as memory:
        make_conflict(memory, title=("a", "b"), kind=("note", "fact"))
        memory.import_from(line(B, "y", title="a", updated_at=5), format="ndjson")
        memory.import_from(line(B, "y", title="b", updated_at=5), format="ndjson", conflict="merge")
        monkeypatch.setattr(conflict_files, "conflict_page", page)
        other = pages(tmp_path)[f"mine.db.{B}.title.md"]
        memory.update(A, title="c")
        assert set(rendered) == {A} and pages(tmp_path).keys() == {f"mine.db.{A}.kind.md", f"mine.db.{B}.title.md"}
        assert pages(tmp_path)[f"mine.db.{B}.title.md"] == other
        # A page that was removed is restored when all pages are checked.
        (tmp_path / "_conflicts" / f"mine.db.{B}.title.md").unlink()
        memory.mirror_conflicts()
        assert pages(tmp_path)[f"mine.db.{B}.title.md"] == other


def test_conflicts_are_shown_and_listed_one_at_a_time(tmp_path: Path) -> None:
    size = 1_000_000
    rows = [f"0194a000-0001-7000-8000-0000000000{number:02d}" for number in range(30)]
    with Memory.open(tmp_path / "mine.db") as memory:
        for sign in "ab":
            for id in rows:
                memory.import_from(line(id, sign * size, updated_at=5), format="ndjson", conflict="merge")
        for path in (tmp_path / "_conflicts").iterdir():
            path.unlink()
        tracemalloc.start()
        memory.mirror_conflicts()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert len(pages(tmp_path)) == len(rows) and peak < 20 * size
    tracemalloc.start()
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        assert run(Session(), ["--store", str(tmp_path / "mine.db"), "conflicts"]) == 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * size


def test_the_command_line_prints_notes_of_the_running_command(tmp_path: Path) -> None:
    (tmp_path / "_conflicts").touch()
    store = tmp_path / "mine.db"
    with Memory.open(store) as memory:
        memory.import_from(line(A, "x", title="a", updated_at=5), format="ndjson")
    (tmp_path / "b.ndjson").write_bytes(line(A, "x", title="b", updated_at=5))
    for more in ([], ["--json"]):
        arguments = ["--store", str(store), "import", str(tmp_path / "b.ndjson"), "--conflict", "merge", *more]
        result = CliRunner().invoke(cli, arguments, obj=Session())
        assert result.exit_code == 0
        assert (
            result.stderr.count("cannot write conflict files") == 1
            and "cannot write conflict files" not in result.stdout
        )
