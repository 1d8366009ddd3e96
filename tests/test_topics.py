"""`memglot help` shows every page of the documentation as text, and the help of every command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from memglot.cli.main import COMMANDS, cli, run
from memglot.cli.session import Session
from memglot.topics import pages, readable, title

ROOT = Path(__file__).parents[1]


def _help(*words: str) -> str:
    result = CliRunner().invoke(cli, ["help", *words], prog_name="memglot", obj=Session())
    assert result.exit_code == 0, result.output
    return result.output


def test_each_topic_is_one_page() -> None:
    files = [path for path in (ROOT / "docs").rglob("*.md") if path.stem != "index"]
    assert sorted(pages()) == sorted(path.stem for path in files)


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_is_shown_without_what_only_a_browser_needs(name: str) -> None:
    text = _help(name)
    assert text.startswith(f"# {title(pages()[name])}\n")
    assert "[[[" not in text and "](" not in text.replace("[^](", "")


def test_links_to_pages_become_commands(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\nSee [the formats](formats.md#limits), [this](../LICENSE) and [that](https://e.x/a).\n")
    assert readable(page).endswith("See the formats (`memglot help formats`), this and that (https://e.x/a).")


def test_every_topic_is_listed() -> None:
    listed = _help()
    value = json.loads(_help("--json"))
    assert list(value["topics"]) == list(pages())
    for name, page in pages().items():
        assert f"{name} " in listed and title(page) in listed


def test_a_command_without_a_page_shows_its_help() -> None:
    assert _help("add").startswith("Usage: memglot add ")
    assert _help("repo", "init").startswith("Usage: memglot repo init ")
    assert set(COMMANDS) - set(pages())


def test_an_unknown_topic_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Session(), ["help", "formatss"]) == 2
    assert capsys.readouterr().err == "error: no page and no command `formatss`\n\nhint: run `memglot help formats`\n"
    assert run(Session(), ["help", "repo", "xyzzy"]) == 2
    assert "run `memglot help` for a list of topics" in capsys.readouterr().err


def test_the_man_page_is_up_to_date() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts" / "man.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
