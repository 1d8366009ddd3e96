"""The demo: a store of its own with a year of memories, and commands that work as printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memglot import Memory
from memglot.demo.folder import MARKER, STORE, make_demo, remove_demo
from memglot.demo.year import year
from memglot.errors import UsageError
from memglot.text.words import fold


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def shell(home: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell as a person would, with an empty home folder."""
    environment = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "HOME": str(home),
        "TMPDIR": str(home),
        "LC_ALL": "C.UTF-8",
        **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
    }
    return subprocess.run(["bash", "-c", line], cwd=home, env=environment, capture_output=True, text=True)


def test_the_year_is_the_same_every_time_and_complete(memory: Memory) -> None:
    lines = year().splitlines()
    assert year().splitlines() == lines and len(set(lines)) == len(lines) == 100
    result = memory.import_from(year(), format="ndjson")
    assert (result.imported, result.failed, result.notes) == (100, 0, [])
    found = list(memory.list())
    assert {record.created_at // 2_629_800_000_000 for record in found} == set(range(660, 672))  # Each month has some.
    assert len({record.kind for record in found}) >= 8
    assert len({record.tree.partition(".")[0] for record in found}) >= 6
    assert {record.status for record in found} == {"active", "superseded"}
    assert len({record.meta["session"] for record in found if record.meta}) == 3
    assert len(list(memory.relations())) == 4 and len(list(memory.chain())) == 3
    letters = {fold(record.content)[0] for record in found if record.tree.startswith("lang.")}
    assert len(letters) >= 10


def test_two_demos_are_equal(tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        make_demo(tmp_path / name)
        with Memory.open(tmp_path / name / STORE) as memory:
            memory.export(tmp_path / f"{name}.ndjson")
        written.append((tmp_path / f"{name}.ndjson").read_bytes())
    assert written[0] == written[1]


def test_every_command_that_is_printed_works(home: Path) -> None:
    made = shell(home, "memglot demo --json")
    assert made.returncode == 0, made.stderr
    data = json.loads(made.stdout)
    assert data["memories"] == 100 and Path(data["folder"]).parent == home
    first, *rest = data["commands"]
    for line in rest:
        done = shell(home, f"{first}\n{line}")
        assert done.returncode == 0 and done.stdout, (line, done.stderr)
        assert "0 found" not in done.stdout and "none" not in done.stdout.split(), line
    assert not (home / ".local").exists(), "the user's own store was not touched"
    text = shell(home, "memglot demo other").stdout
    printed = [line.split("  # ")[0].strip() for line in text.splitlines() if "  # " in line]
    assert printed == [line.replace(data["folder"], str(home / "other")) for line in data["commands"]]
    removal = text.rpartition("`memglot")[2].split("`")[0]
    assert shell(home, f"memglot{removal}").stdout == f"removed the demo in {home / 'other'}\n"
    assert not (home / "other").exists()


def test_a_demo_never_changes_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for place in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(UsageError, match="is not"):
            make_demo(place)
    with pytest.raises(UsageError, match="is not a folder that `memglot demo` made"):
        remove_demo(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_interrupted_demo_is_completed_and_removed(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / MARKER).write_text("")
    assert make_demo(folder).memories == make_demo(folder).memories == 100
    (folder / "mine.txt").write_text("mine")
    assert remove_demo(folder) == ["mine.txt"]
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_a_store_cannot_be_named(home: Path) -> None:
    done = shell(home, "memglot --store mine.db demo")
    assert done.returncode == 2 and "the demo has a store of its own" in done.stderr
    assert not (home / "mine.db").exists()
    assert shell(home, "memglot demo --remove").returncode == 2
