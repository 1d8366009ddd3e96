"""The command line: what CLI cases cannot show."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from memglot import Memory
from memglot.cli.main import COMMANDS, cli, run
from memglot.cli.session import Session
from memglot.report import Progress

MEMGLOT = [sys.executable, "-m", "memglot"]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_each_command_is_found_by_its_name(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.name == name
    assert command.help
    assert COMMANDS[name].endswith(".")
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.name} has no help"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_each_command_has_help(name: str) -> None:
    done = CliRunner().invoke(cli, [name, "--help"])
    assert done.exit_code == 0
    assert "--json" in done.output


def test_ctrl_c_keeps_complete_batches_and_the_same_command_finishes(tmp_path: Path) -> None:
    source, store = _many(tmp_path), str(tmp_path / "store.db")
    process = subprocess.Popen([*MEMGLOT, "--store", store, "import", str(source)], stderr=subprocess.PIPE, text=True)
    _wait_for_rows(process, store)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert "interrupted" in error
    _check_cut_off(store, source)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["import", "x.json"], True),
        (["import", "x.json", "--dry-run"], False),
        (["sync", "import", "--from=x.json"], True),
        (["export", "y.json"], False),
        (["sync", "export", "--out=y.json"], False),
        (["convert", "x.json", "y.csv"], False),
        (["verify", "x.json"], False),
    ],
)
def test_only_an_interrupted_import_mentions_batches(
    command: list[str], says: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    Path("x.json").write_text('[{"content":"x"}]', encoding="utf-8")
    with Memory.open("s.db") as memory:
        memory.add("x")
    for name in ("import_from", "sync_import", "export", "sync_export"):
        monkeypatch.setattr(Memory, name, stop)
    monkeypatch.setattr("memglot.cli.convert.convert_", stop)
    monkeypatch.setattr("memglot.cli.verify.verify_", stop)
    assert run(Session(), ["--store", "s.db", *command]) == 130
    error = capsys.readouterr().err
    assert "interrupted" in error
    assert ("batches" in error) is ("undo last" in error) is says


def test_a_killed_import_leaves_complete_batches_and_the_same_command_finishes(tmp_path: Path) -> None:
    source, store = _many(tmp_path), str(tmp_path / "store.db")
    process = subprocess.Popen([*MEMGLOT, "--store", store, "import", str(source)])
    _wait_for_rows(process, store)
    process.kill()
    process.wait()
    _check_cut_off(store, source)


def _many(folder: Path) -> Path:
    source = folder / "many.ndjson"
    with open(source, "w") as out:
        for number in range(300_000):
            out.write(f'{{"id":"0194a000-0001-7000-8000-{number:012x}","content":"memory number {number}"}}\n')
    return source


def _wait_for_rows(process: subprocess.Popen[str] | subprocess.Popen[bytes], store: str) -> None:
    for _ in range(2000):
        if os.path.exists(store + "-wal") and os.path.getsize(store + "-wal") > 2_000_000:
            return
        assert process.poll() is None, "the import was over before it could be stopped"
        time.sleep(0.005)
    raise AssertionError("the import did not get going")


def _check_cut_off(store: str, source: Path) -> None:
    listed = _run("--store", store, "list", "--limit", "1", "--json")
    assert "an import was interrupted" in listed.stderr
    found = _run("--store", store, "search", "0", "--limit", "1")
    assert "1 found" in found.stdout
    again = _run("--store", store, "import", str(source))
    imported = int(again.stdout.split("imported ")[1].split(", merged")[0].replace(",", ""))
    assert 0 < imported < 300_000
    assert imported % 1000 == 0
    assert _run("--store", store, "list", "--limit", "0").stdout.startswith("300,000 memories")
    assert _run("--store", store, "doctor").returncode == 0


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MEMGLOT, *arguments], capture_output=True, text=True)


def test_a_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    store = str(tmp_path / "store.db")
    _run("--store", store, "add", "x")
    done = subprocess.run(
        ["bash", "-c", f"for i in 1 2 3; do {' '.join(MEMGLOT)} --store {store} list; done | head -n 0"],
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""


def test_json_stays_complete_with_many_errors_and_ids(tmp_path: Path) -> None:
    import json

    source = tmp_path / "many.ndjson"
    source.write_text("".join(f'{{"content":"{number}"}}\n{{"content":""}}\n' for number in range(5000)))
    done = _run("--store", str(tmp_path / "s.db"), "import", str(source), "--json")
    value = json.loads(done.stdout)
    assert (done.returncode, len(value["ids"]), len(value["errors"]), value["failed"]) == (1, 5000, 5000, 5000)
    assert value["errors"][0] == {"source": str(source), "item": 2, "line": 2, "error": "`content` is empty"}


def test_a_progress_bar_shows_after_a_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from memglot.cli import progress

    shown = Progress()
    shown.source, shown.read = "notes.json", 12_000
    with progress.Bar("importing") as bar:
        bar.show(shown)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    with progress.Bar("importing") as bar:
        bar.show(shown)
    with progress.Bar("moving") as bar:
        bar.count(3, 12)
        bar.count(12, 12)
    seen = capsys.readouterr().err
    assert "importing notes.json: 12,000 memories 00:00" in seen
    assert "moving: 3 of 12 memories   0%|" in seen
    assert seen.endswith("\r")


def test_work_that_does_not_report_how_far_it_is_shows_a_clock(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from memglot.cli import progress

    with progress.Clock("compacting"):
        pass
    assert capsys.readouterr().err == "", "less than a second"
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    monkeypatch.setattr(progress, "_INTERVAL", 0.001)
    drawn = threading.Event()
    draw = progress.Clock._draw

    def drawing(self: progress.Clock, text: str, *, done: int, total: int | None) -> None:
        draw(self, text, done=done, total=total)
        drawn.set()

    monkeypatch.setattr(progress.Clock, "_draw", drawing)
    with pytest.raises(ZeroDivisionError), progress.Clock("compacting"):
        assert drawn.wait(60)
        raise ZeroDivisionError
    seen = capsys.readouterr().err
    assert "compacting 00:00" in seen and seen.endswith("\r")


@pytest.mark.parametrize(("options", "shows"), [([], True), (["--no-progress"], False), (["--quiet"], False)])
@pytest.mark.parametrize("command", ["compact", "doctor", "stats", "backup copy.db", "consolidate", "search cat"])
def test_progress_is_shown_on_a_terminal_unless_it_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, options: list[str], shows: bool
) -> None:
    started: list[str] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("memglot.cli.progress.Clock.__enter__", lambda self: started.append(self._what))
    monkeypatch.setattr("memglot.cli.progress.Clock.__exit__", lambda self, *error: None)
    with Memory.open("s.db") as memory:
        memory.add("a cat")
    assert run(Session(), ["--store", "s.db", *command.split(), *options]) == 0
    assert not started, "standard error is not a terminal"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run(Session(), ["--store", "s.db", *command.split(), *options, *_AGAIN.get(command, [])]) == 0
    assert (len(started) == 2 and started[0] == "opening the store") is shows


_AGAIN = {"backup copy.db": ["--force"]}


def test_completion_knows_commands_and_formats() -> None:
    environment = {
        **os.environ,
        "_MEMGLOT_COMPLETE": "bash_complete",
        "COMP_WORDS": "memglot export -f ",
        "COMP_CWORD": "3",
    }
    code = "from memglot.cli.main import cli; cli(prog_name='memglot')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert "plain,yaml" in done.stdout.splitlines()
