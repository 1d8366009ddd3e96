"""The help of every command: plain sentences, and examples that the commands accept."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import click
import pytest

from memglot.cli.main import COMMANDS, cli, run
from memglot.cli.session import Session

VERBS = set(
    "Add Answer Build Change Check Clear Compare Convert Copy Create Delete Edit Exchange Export Import List Mark "
    "Merge Move Open Print Rebuild Register Remove Rename Replace Restore Search Serve Show Store Sync Undo "
    "Unregister Verify Write Close".split()
)
DAILY = {
    *"import export convert search add list get update edit delete tree undo conflicts verify diff backup".split(),
    "restore",
    "sync",
    "sync export",
    "sync import",
    "sync diff-with-remote",
    "repo save",
    "repo query",
    "mcp install",
}


def _commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        yield f"{path}{name}", command
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path}{name} ")


ALL = dict(_commands(cli))
PAGES = [page for page in sorted((Path(__file__).parents[2] / "docs").rglob("*.md")) if "```bash" in page.read_text()]


def _examples(command: click.Command) -> list[str]:
    return str(getattr(command, "examples", "")).splitlines()


@pytest.mark.parametrize("name", ALL)
def test_help_starts_with_a_verb_and_ends_with_a_full_stop(name: str) -> None:
    text = (ALL[name].help or "").strip()
    first = text.split("\n\n")[0]
    assert first.split()[0].rstrip(",") in VERBS, first
    assert first.endswith(".")
    assert text.endswith(".")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_list_of_commands_shows_the_first_line_of_each_help(name: str) -> None:
    assert " ".join((ALL[name].help or "").split("\n\n")[0].split()) == COMMANDS[name]


@pytest.mark.parametrize("name", ALL)
def test_every_option_has_a_help_text(name: str) -> None:
    for option in ALL[name].params:
        if isinstance(option, click.Option):
            assert option.help and option.help[0].isupper() and option.help.endswith("."), option.name


def test_daily_commands_have_examples() -> None:
    assert {name for name in DAILY if not _examples(ALL[name])} == set()


@pytest.mark.parametrize("name", [name for name, command in ALL.items() if _examples(command)])
def test_examples_are_printed_as_written_and_are_accepted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "notes").mkdir()
    command = ALL[name]
    shown = command.get_help(click.Context(command, info_name=name))
    own = 0
    for line in _examples(command):
        assert f"\n  {line}" in shown
        assert len(line) <= 98
        for words in _calls(line):
            own += words[: len(name.split())] == name.split()
            _parse([os.path.expanduser(word) for word in words])
    assert own


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_commands_in_the_docs_are_accepted(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "notes").mkdir()
    for block in re.findall(r"^```bash\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            for words in _calls(re.sub(r"\s#.*", "", line)) if line.startswith("memglot ") else ():
                _parse([os.path.expanduser(word) for word in words])


@pytest.mark.parametrize("name", ["add", "entity", "formats", "identity", "list", "scope", "search", "stats", "tree"])
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMGLOT_STORE", "memories.db")
    Path("about-me.md").write_text("Ann")
    for words in [["identity", "set", "about-me.md"], ["add", "Task queue"], *_all_calls(ALL[name])]:
        monkeypatch.setattr("sys.stdin", StringIO("Meeting notes"))
        assert run(Session(), words) == 0, words


def _all_calls(command: click.Command) -> Iterator[list[str]]:
    for line in _examples(command):
        yield from _calls(line)


def _calls(line: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of `memglot` in a line of shell."""
    for call in re.findall(r"\bmemglot (?:[^|<>)]|'[^']*')*", line) if not line.startswith("#") else []:
        yield shlex.split(call.rstrip('"') if call.count('"') % 2 else call)[1:]


def _parse(words: list[str]) -> None:
    """Parse a call as the command line would, without running it."""
    command: click.Command = cli
    context = cli.make_context("memglot", list(words))
    while isinstance(command, click.Group) and context._protected_args + context.args:
        rest = [*context._protected_args, *context.args]
        name, found, rest = command.resolve_command(context, rest)
        assert name is not None and found is not None, words
        command, context = found, found.make_context(name, rest, parent=context)
    assert not isinstance(command, click.Group) or command.invoke_without_command, words
