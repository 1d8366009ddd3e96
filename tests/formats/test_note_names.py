"""Every note of a vault comes back under its own name; names that memglot makes up are safe on every system."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot import Memory
from memglot.formats.core import file_names
from memglot.formats.core.file_names import FileSystem, folded_path, safe_name, safe_path
from memglot.formats.core.note_files import NoteFiles

STEMS = st.sampled_from(
    ["a", "A", "a 2", "\u00e9", "e\u0301", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "a\u200db", "\ufeffa"]
    + ["CON", "nul .x", "x.", "x ", " x", "a\nb", "tab\t", "q?", "c:d", 'a|"<>*\\', "\u65e5\u672c" * 40, "x" * 250]
    + ["\u202edlrow", "\x01", "\x9b", "so\u00adft", "[[l]]", "\u00df", "ss", "\u0130", "semantic", "a.md", "#t", "-"]
) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=12)
FOLDERS = st.sampled_from(["", "", "F/", "f/", "\u0645\u06cc\u200c\u062e/", "a.md/", "semantic/", "x./y/"])
PATHS = st.builds("{}{}{}".format, FOLDERS, STEMS.filter(lambda stem: stem[0] != "."), st.sampled_from([".md", ".MD"]))
TEXTS = st.sampled_from(
    ["same\n", "same", " same\n", "---\nx: 1\n---\nsame\n", "---\ntags: [t]\n---\nsame\n", "", "#t\n", "[[a]] [[A]]"]
    + ["---\nid: mt_1\ntype: semantic\nscope: user\n---\n\nsame\n", "---\nid: [\n---\nsame\n", "other\r\n"]
) | st.text(max_size=8)
VAULTS = st.dictionaries(PATHS, TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")), max_size=6)


def write(folder: Path, notes: dict[str, bytes]) -> dict[str, bytes]:
    """Write the notes that this file system can hold, and return them."""
    folder.mkdir()
    for path, data in notes.items():
        try:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        except OSError:
            continue
    return read(folder)


def read(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".memglot.json")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@given(notes=VAULTS, before=st.lists(st.sampled_from(["same", "other", "a"]), max_size=2), conflict=st.booleans())
def test_every_note_comes_back_under_its_own_name(notes: dict[str, bytes], before: list[str], conflict: bool) -> None:
    with tempfile.TemporaryDirectory() as name, Memory.open(":memory:") as memory:
        folder = Path(name)
        notes = write(folder / "vault", notes)
        for text in before:
            memory.add(text, kind="episodic" if conflict else "semantic", tags=["mine"])
        result = memory.import_from(folder / "vault", format="obsidian")
        assert not any("already stored" in note for note in result.notes)
        memory.export(folder / "out", format="obsidian")
        found = read(folder / "out")
        assert {path: found.get(path) for path in notes} == notes
        assert memory.import_from(folder / "vault", format="obsidian").import_id is None
        assert memory.import_from(folder / "out").import_id is None
        memory.export(folder / "out", format="obsidian")
        assert read(folder / "out") == found


@given(notes=VAULTS)
def test_every_note_comes_back_from_a_copy_of_the_vault(notes: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as name, Memory.open(":memory:") as memory:
        folder = Path(name)
        notes = write(folder / "vault", notes)
        memory.import_from(folder / "vault", format="obsidian")
        memory.export(folder / "out", format="obsidian")
        with Memory.open(":memory:") as other:
            other.import_from(folder / "out")
            assert len(list(other.list())) == len(list(memory.list()))
            other.export(folder / "again", format="obsidian")
        assert read(folder / "again") == notes


@pytest.mark.parametrize(
    "text", ["", ".", "..", "...", "CON", "nul.txt", "com\u00b9", "LPT9 .md", "conin$", "a. ", "\0"]
)
def test_reserved_and_empty_names_are_made_safe(text: str) -> None:
    check_safe(safe_name(text))


@given(text=st.text(st.characters(exclude_categories=["Cs"])) | STEMS)
def test_made_up_names_are_safe_on_every_system(text: str) -> None:
    name = safe_name(text)
    check_safe(name)
    assert safe_name(name) == name
    assert safe_path(f"{text.replace('/', '_') or '_'}/{name}.md").endswith(f"/{name}.md")


def check_safe(name: str) -> None:
    assert name and len(name.encode()) <= 121
    assert not name.startswith(".") and not name.endswith((".", " "))
    assert not set(name) & set('<>:"/\\|?*\u200b\u200c\u200d\u202e\ufeff') and min(name) >= " "
    windows = {"con", "prn", "aux", "nul", "conin$", "conout$"} | {
        f"{p}{n}" for p in ("com", "lpt") for n in "0123456789\u00b9\u00b2\u00b3"
    }
    assert name.partition(".")[0].rstrip(" ").lower() not in windows


@given(paths=st.lists(PATHS, max_size=8), read_here=st.lists(PATHS, max_size=4))
def test_made_up_paths_differ_on_systems_that_ignore_case(paths: list[str], read_here: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        files = NoteFiles(SimpleNamespace(), Path(name), "v")  # type: ignore[arg-type]
        kept = [path for path in read_here if files.keep(path) is not None]
        made = [files.make(path) for path in paths]
        assert len({folded_path(path) for path in made}) == len(made)
        assert not {folded_path(path) for path in made} & {folded_path(path) for path in kept}


@pytest.mark.parametrize("system", ["case", "windows"])
@given(notes=VAULTS)
def test_no_note_is_lost_on_other_systems(system: str, notes: dict[str, bytes]) -> None:
    limits: dict[str, Any] = {"case": {"_tells_apart": False}, "windows": {"_can_hold": False, "_tells_apart": False}}
    with (
        tempfile.TemporaryDirectory() as name,
        Memory.open(":memory:") as memory,
        pytest.MonkeyPatch.context() as patch,
    ):
        folder = Path(name)
        notes = write(folder / "vault", notes)
        memory.import_from(folder / "vault", format="obsidian")
        for function, answer in limits[system].items():
            patch.setattr(file_names, function, lambda *_, answer=answer: answer)
        memory.export(folder / "out", format="obsidian")
        found = read(folder / "out")
        assert len(found) == len(notes)
        assert len({folded_path(path) for path in found}) == len(found)
        here = FileSystem(folder / "out")
        assert all(here.can_hold(path) for path in found)
        with Memory.open(":memory:") as other:
            other.import_from(folder / "out")
            assert sorted(one.content for one in other.list()) == sorted(one.content for one in memory.list())


def test_a_note_that_was_read_wins_over_a_made_up_name(tmp_path: Path) -> None:
    with Memory.open(":memory:") as memory:
        first = memory.add("made here")
        path = f"semantic/{first.id}.md"
        notes = write(tmp_path / "vault", {path: b"read later\n", path.upper().replace(".MD", ".md"): b"other\n"})
        memory.import_from(tmp_path / "vault", format="obsidian")
        memory.export(tmp_path / "out", format="obsidian")
        found = read(tmp_path / "out")
        assert {path: found.get(path) for path in notes} == notes
        assert len(found) == 3 and any(b"made here" in data for data in found.values())


def test_a_system_is_tried_out(tmp_path: Path) -> None:
    system = FileSystem(tmp_path / "not" / "there")
    assert (
        not system.can_hold("x" * 300 + ".md") and not system.can_hold(".hidden.md") and not system.can_hold("a//b.md")
    )
    assert system.can_hold("\u0645\u06cc\u200c\u062e.md") and list(tmp_path.iterdir()) == []


def test_a_killed_trial_leaves_nothing_that_the_next_one_does_not_remove(tmp_path: Path) -> None:
    script = """
import os, signal, sys
from pathlib import Path
os.unlink = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
from memglot.formats.core.file_names import FileSystem
FileSystem(Path(sys.argv[1]))
"""
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)]).returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) != []
    FileSystem(tmp_path)
    assert list(tmp_path.iterdir()) == []
