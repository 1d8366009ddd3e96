"""The summary of a command is the last that it prints, after errors and notes, and agrees with the exit status."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from memglot.cli.main import cli
from memglot.cli.session import Session

IDS = [f"0194a000-000{number}-7000-8000-000000000000" for number in range(1, 4)]
GOOD = "".join(json.dumps({"id": id, "content": f"memory {id}", "meta": {"a": 1}}) + "\n" for id in IDS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMGLOT_STORE", "store.db")
    Path("good.ndjson").write_text(GOOD)
    Path("bad.ndjson").write_text(GOOD + "{}\n" + '{"id":"x","content":"y"}\n')
    Path("worse.ndjson").write_text("{}\n")
    assert call("import", "good.ndjson").exit_code == 0
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, obj=Session(), standalone_mode=False)


CASES: dict[str, tuple[list[str], str, int]] = {
    "import": (["import", "bad.ndjson"], "read 5: imported 0, merged 0, skipped 3, failed 2", 1),
    "import errors only": (["import", "worse.ndjson"], "read 1: imported 0, merged 0, skipped 0, failed 1", 2),
    "import for trial": (
        ["import", "bad.ndjson", "--dry-run"],
        "read 5: would import 0, merged 0, skipped 3, failed 2",
        1,
    ),
    "export": (["export", "out.csv", "--plain"], "exported 3", 0),
    "convert": (["convert", "bad.ndjson", "out.csv"], "converted 3 memories", 1),
    "diff": (["diff", "good.ndjson", "bad.ndjson"], "no differences; 0 added", 2),
    "entity": (["entity", "add", "Ada", "--type", "wizard"], "entity:wizard:ada", 0),
    "link": (["link", IDS[0], "likes", IDS[1]], "", 0),
    "undo": (["undo", "last"], "removed 2 memories", 0),
    "verify": (["verify", "good.ndjson"], "good.ndjson: no proof, 3 memories", 1),
    "doctor": (["doctor"], "store.db: altered, 3 memories", 1),
}


@pytest.mark.parametrize("name", CASES)
def test_the_summary_comes_last(folder: Path, name: str) -> None:
    arguments, summary, code = CASES[name]
    if name == "export":
        call("link", IDS[0], "mentions", IDS[1])
    if name == "undo":
        call("update", IDS[0], "--title", "changed since")
    if name == "doctor":
        with sqlite3.connect("store.db") as db:
            db.execute("UPDATE records SET content = 'changed elsewhere' WHERE id = ?", (IDS[0],))
    done = call(*arguments)
    assert (done.exit_code, done.return_value or 0) == (0, code), done.output
    lines = done.output.splitlines()
    assert lines[-1] == done.stdout.splitlines()[-1], done.output
    assert any(line.startswith(summary) for line in done.stdout.splitlines()), done.output
    if name != "verify":
        assert done.stderr, "this case has a note or an error"
    assert not lines[-1].startswith(("note:", "error:", "warning:"))
