"""What differs on Windows and macOS: paths, names, open files; simulated, and run there for real by CI."""

from __future__ import annotations

import json
import re
import sys
import tomllib
import unicodedata
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath

import pytest
import yaml

from memglot import Memory
from memglot.cli.main import run
from memglot.cli.session import Session
from memglot.formats import registry
from memglot.formats.core import file_names
from memglot.settings import data_folder
from memglot.store.location import open_store
from other_systems import in_use, simulate_windows

ID = "0194a000-0001-7000-8000-000000000001"
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="simulated on Linux only")


@pytest.fixture
def windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder on a simulated Windows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["memglot"])
    with monkeypatch.context() as patch:
        simulate_windows(patch, tmp_path)
        yield tmp_path


def call(*words: str, code: int = 0) -> None:
    assert run(Session(), list(words)) == code, words


@needs_linux
def test_the_simulation_refuses_what_windows_refuses(windows: Path) -> None:
    with open(windows / "file", "w"):
        assert in_use(windows / "file") and in_use(windows)
        with pytest.raises(PermissionError):
            (windows / "file").unlink()
    (windows / "file").unlink()
    with pytest.raises(ImportError):
        import fcntl  # noqa: F401


WRITABLE = [format.name for format in registry.formats() if format.write is not None and format.name != "repo"]


@needs_linux
@pytest.mark.parametrize("format", WRITABLE)
def test_every_format_is_written_twice_and_read_on_windows(windows: Path, format: str) -> None:
    call("add", "A note", "--id", ID, "--tag", "x")
    declared = registry.get(format)
    path = "out" if declared.writing.makes_folder else f"out{declared.extensions[0]}"
    for _ in range(2):
        call("export", path, "--format", format, "--force")
    call("verify", path)
    call("--store", "other.db", "import", path)
    assert [path.name for path in windows.rglob("*.part")] == []


@needs_linux
def test_a_store_is_kept_on_windows(windows: Path) -> None:
    notes = [
        {"id": f"0194a000-{number:04d}-7000-8000-000000000000", "content": f"Note {number}"} for number in range(9)
    ]
    Path("notes.json").write_text(json.dumps(notes))
    call("import", "notes.json")
    call("undo", "last")
    call("import", "notes.json", "--restore-deleted")
    call("backup", "copy.db")
    call("backup", "copy.db", "--force")
    Path("copies").mkdir()
    call("backup", "copies", "--keep", "7d")
    call("delete", notes[0]["id"])
    call("restore", "copy.db", "--force")
    call("get", notes[0]["id"])
    call("doctor", "--fix")
    call("doctor", "--salvage", "new.db")
    call("sync", "export", "--out", "memories.json")
    call("update", notes[1]["id"], "--content", "Edited")
    call("sync", "export", "--out", "memories.json")
    call("sync", "import", "--from", "memories.json")
    call("convert", "memories.json", "all.csv.gz")
    call("mcp", "install", "cursor")
    call("mcp", "install", "claude-desktop")
    call("mcp", "uninstall", "cursor")
    assert (windows / "AppData" / "Local" / "memglot" / "memglot.db").is_file()
    assert (windows / "AppData" / "Roaming" / "Claude" / "claude_desktop_config.json").is_file()
    assert [path for path in windows.rglob("*.part")] == []


@needs_linux
def test_a_store_of_others_has_no_note_on_windows(windows: Path) -> None:
    with Memory.open("store.db") as memory:
        memory.add("x")
    Path("store.db").chmod(0o644)
    with Memory.open("store.db") as memory:
        assert not memory.notes


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, ".local/share/memglot"),
        ("linux", {"XDG_DATA_HOME": "HOME/data"}, "data/memglot"),
        ("darwin", {"XDG_DATA_HOME": "HOME/data"}, "Library/Application Support/memglot"),
        ("win32", {}, "AppData/Local/memglot"),
        ("win32", {"LOCALAPPDATA": "HOME/elsewhere"}, "elsewhere/memglot"),
    ],
)
def test_the_default_store_is_where_the_system_keeps_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: str
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.replace("HOME", str(tmp_path)))
    monkeypatch.setattr(sys, "platform", platform)
    assert data_folder() == tmp_path / expected


@pytest.mark.parametrize("path", [r"C:\Users\ann\notes.db", r"\\server\share\notes.db", "C:/Users/ann/notes.db"])
def test_a_path_with_a_drive_is_not_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    opened: list[str] = []
    monkeypatch.setattr("memglot.store.sqlite.store.SqliteStore", lambda found, write: opened.append(found))
    open_store(path)
    open_store(f"sqlite:///{path}")
    assert opened == [path, path] and PureWindowsPath(path).name == "notes.db"


@pytest.mark.parametrize("title", ["CON", "aux.txt", "a:b", "a?b*", "ends. ", "nul", "COM\u00b9"])
def test_titles_that_windows_cannot_store_become_names_that_it_can(tmp_path: Path, title: str) -> None:
    with Memory.open(":memory:") as memory:
        memory.add("x", title=title)
        memory.export(tmp_path / "vault", format="obsidian")
        names = [path.name for path in (tmp_path / "vault").rglob("*.md")]
        assert len(names) == 1 and file_names._is_valid_on_windows(names[0])
        with Memory.open(":memory:") as other:
            other.import_from(tmp_path / "vault")
            assert [record.title for record in other.list()] == [record.title for record in memory.list()]


def test_titles_that_differ_in_case_are_two_notes_where_case_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file systems of Windows and macOS also take composed and decomposed characters for the same."""
    monkeypatch.setattr(file_names, "_tells_apart", lambda _: False)
    titles = ["Résumé", "résumé", unicodedata.normalize("NFD", "Résumé"), "STRASSE", "straße"]
    with Memory.open(":memory:") as memory:
        for title in titles:
            memory.add(f"About {title}", title=title)
        memory.export(tmp_path / "vault", format="obsidian")
    notes = [path.relative_to(tmp_path).as_posix() for path in (tmp_path / "vault").rglob("*.md")]
    assert len({file_names.folded_path(name) for name in notes}) == len(titles)
    with Memory.open(":memory:") as other:
        assert other.import_from(tmp_path / "vault").imported == len(titles)


def test_ci_runs_the_tests_on_three_systems() -> None:
    root = Path(__file__).parents[1]
    workflow = yaml.safe_load((root / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    complete, systems = workflow["jobs"]["complete"], workflow["jobs"]["systems"]
    assert complete["steps"][-1]["run"] == ".ci/run" and (root / ".ci" / "run").is_file()
    matrix = systems["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    versions = [
        line.rpartition(" ")[2]
        for line in project["project"]["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", line)
    ]
    assert matrix["python"] == [versions[0], versions[-1]]
    assert "dev" in project["dependency-groups"] and "--group dev" in systems["steps"][-2]["run"]
    assert systems["steps"][-1]["run"].startswith("python -m pytest")
