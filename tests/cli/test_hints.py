"""Hints name commands that exist, and what they promise happens."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hints import OTHER_PROGRAMS, NotACommand, all_commands, check, commands_in, documented, hints, spans, texts
from memglot import Memory
from memglot.cli.main import run
from memglot.cli.session import Session

ID = "0194a000-0001-7000-8000-000000000001"
OTHER = "0194a000-0002-7000-8000-000000000002"
HINTS = sorted({(hint.command, hint.place.split(":")[0]) for hint in hints()})


@pytest.mark.parametrize(("command", "place"), HINTS)
def test_every_command_that_a_text_names_exists(command: str, place: str) -> None:
    check(command)


DOCUMENTED = sorted({(hint.command, hint.place.split(":")[0]) for hint in documented()})


@pytest.mark.parametrize(("command", "place"), DOCUMENTED)
def test_every_command_in_the_docs_and_examples_exists(command: str, place: str) -> None:
    check(command)


def test_the_source_has_many_hints() -> None:
    """The search for them would otherwise find nothing unnoticed."""
    found = {command for command, _ in HINTS}
    assert len(found) > 150
    assert {"--force", "memglot doctor --fix", "memglot repo init"} <= found
    assert any(command.startswith("memglot update {") for command in found)


@pytest.mark.parametrize(
    "command",
    [
        "memglot exprot x",
        "memglot repo initialize",
        "memglot export --fource",
        "memglot undo --format json",
        "memglot stats a b c",
        "--no-such-option",
        "memglot --stor x list",
    ],
)
def test_a_command_that_does_not_exist_is_noticed(command: str) -> None:
    assert list(commands_in(f"use `{command}` now")) == [command]
    with pytest.raises(NotACommand):
        check(command)


def test_other_programs_are_known() -> None:
    """A span of several words that begins like a program is ours, or a program that is named on purpose."""
    names = {word for words in all_commands() for word in words.split(" ")}
    for place, text in texts():
        for span in spans(text):
            match = re.match(r"([a-z][a-z0-9]+) (?:-{1,2}[a-z]|install |run |add )", span)
            if match is not None:
                assert match[1] in {"memglot", *names, *OTHER_PROGRAMS}, (place, span)


def test_the_words_of_the_original_tool_are_only_in_its_stores() -> None:
    theirs = [place for place, text in texts() if re.search(r"`memory [a-z]|memory (?:save|sync|init|query)\b", text)]
    assert {place.split(":")[0] for place in theirs} <= {
        "project/storage/product_map.py",  # with ours, for stores made here
    }


# What hints promise


class Shell:
    """Runs commands in a folder with a store of its own."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capfd = folder, capfd

    def __call__(self, *words: str, code: int | None = 0) -> str:
        """Run a command and return everything that it prints."""
        self._capfd.readouterr()
        found = run(Session(), list(words))
        out, err = self._capfd.readouterr()
        assert code is None or found == code, (words, found, out, err)
        return out + err

    def follow(self, output: str, **values: str) -> str:
        """Run the last command that an output names, with these values for its capital words."""
        commands = [command for command in commands_in(output) if command.startswith("memglot ")]
        assert commands, output
        for name, value in values.items():
            commands[-1] = re.sub(rf"\b{name}\b", value, commands[-1])
        return self(*shlex.split(commands[-1])[1:])


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Shell:
    """A shell in an empty home folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MEMORY_HOME", str(tmp_path / "registry"))
    monkeypatch.setenv("MEMGLOT_STORE", str(tmp_path / "store.db"))
    monkeypatch.setattr("sys.argv", ["memglot"])
    return Shell(tmp_path, capfd)


def no_store(shell: Shell) -> None:
    said = shell("list", code=3)
    assert "`memglot import PATH` or `memglot add TEXT` creates one" in said
    shell.follow(said, TEXT="'A note'")
    assert "A note" in shell("list")


def nothing_to_import(shell: Shell) -> None:
    (shell.folder / "notes.json").write_text('[{"content":"x"}]')
    said = shell("stats", code=3).replace(" or `memglot add TEXT`", "")
    shell.follow(said, PATH="notes.json")
    assert "x" in shell("list")


def taken_id(shell: Shell) -> None:
    shell("add", "one", "--id", ID)
    said = shell("add", "two", "--id", ID, code=2)
    (command,) = [found for found in commands_in(said) if found.startswith("memglot")]
    shell(*shlex.split(command)[1:], "--content", "two")
    assert "two" in shell("get", ID)


def existing_file(shell: Shell) -> None:
    shell("add", "x")
    shell("export", "out.json")
    assert "`--force`" in shell("export", "out.json", code=2)
    shell("export", "out.json", "--force")


def unknown_extension(shell: Shell) -> None:
    shell("add", "x")
    said = shell("export", "out.docx", code=2)
    shell("export", "out.docx", "--format", "json")
    for extension in re.findall(r"`(\.[a-z0-9]+)`", said.partition("these extensions:")[2]):
        shell("export", f"out{extension}") if extension != ".gz" else shell("export", "out.json.gz")


def folder_in_a_file(shell: Shell) -> None:
    shell("add", "x")
    said = shell("export", "notes.gz", "--format", "obsidian", code=2)
    assert "leave out the ending: `notes`" in said
    shell("export", "notes", "--format", "obsidian")


def undo_an_import(shell: Shell) -> None:
    (shell.folder / "notes.json").write_text('[{"content":"x"}]')
    said = shell("import", "notes.json")
    shell.follow(said)
    assert "0 memories" in shell("list")


def deleted_by_an_import(shell: Shell) -> None:
    (shell.folder / "notes.json").write_text(json.dumps([{"id": ID, "content": "x"}]))
    shell("import", "notes.json")
    shell("delete", ID)
    said = shell("import", "notes.json")
    assert "--restore-deleted" in said
    shell("import", "notes.json", "--restore-deleted")
    assert "x" in shell("list")


def lenient(shell: Shell) -> None:
    (shell.folder / "notes.json").write_text('[{"content":"x","tree":"a-b"}]')
    said = shell("import", "notes.json", code=None)
    (command,) = [found for found in commands_in(said) if "--lenient" in found]
    shell(*shlex.split(command)[1:], "notes.json")
    assert "x" in shell("list")


def unknown_command(shell: Shell) -> None:
    said = shell("serach", "x", code=2)
    assert "search" in said
    shell("add", "x")
    shell("search", "x")


def unknown_format(shell: Shell) -> None:
    shell("add", "x")
    said = shell("export", "out", "--format", "jsnl", code=2)
    (name,) = re.findall(r"did you mean `([a-z]+)`", said)
    shell("export", "out", "--format", name)


def delete_everything(shell: Shell) -> None:
    shell("add", "x")
    said = shell("delete-tree", "", code=2)
    assert "--yes" in said
    shell("delete-tree", "", "--yes")
    assert "0 memories" in shell("list")


def deleted_memory(shell: Shell) -> None:
    shell("add", "x", "--id", ID)
    said = shell("delete", ID)
    if any(command.startswith("memglot undelete") for command in commands_in(said)):
        shell.follow(said)
    else:
        shell("undelete", ID)
    assert "x" in shell("list")


def edited_note(shell: Shell) -> None:
    shell("add", "x", "--id", ID)
    shell("export", "vault", "--format", "markdown")
    (note,) = (shell.folder / "vault").glob("*.md")
    note.write_text(note.read_text().replace("x", "edited"))
    shell("update", ID, "--content", "newer")
    said = shell("export", "vault", "--format", "markdown")
    assert "`--force`" in said
    shell("export", "vault", "--format", "markdown", "--force")
    assert "newer" in note.read_text()


def damaged_index(shell: Shell) -> None:
    shell("add", "some words", "--id", ID)
    with Memory.open(shell.folder / "store.db") as memory:
        memory.store.connection.db.execute("DELETE FROM record_text WHERE rowid = 1")  # type: ignore[attr-defined]
    (command,) = {found for found in commands_in(shell("doctor", code=1)) if found.endswith("--fix")}
    shell(*shlex.split(command)[1:])
    shell("doctor")
    assert "some words" in shell("search", "words")


def readable_store(shell: Shell) -> None:
    shell("add", "x")
    (shell.folder / "store.db").chmod(0o644)
    # Such an export opens the store twice, and has the note once.
    said = shell("export", "brain.sqlite", "--format", "agentos-sqlite")
    (command,) = [span for span in spans(said) if span.startswith("chmod ")]
    subprocess.run(shlex.split(command), check=True)
    assert "note:" not in shell("list")


def no_project(shell: Shell) -> None:
    subprocess.run(["git", "init", "-q", str(shell.folder)], check=True)
    said = shell("repo", "status", code=3)
    shell.follow(said)
    shell("repo", "status")


def empty_map(shell: Shell) -> None:
    subprocess.run(["git", "init", "-q", str(shell.folder)], check=True)
    shell("repo", "init")
    guide = (shell.folder / "AGENTS.md").read_text()
    for command in commands_in(guide):
        check(command)
    assert "memory init" not in guide.replace("memglot repo init", "")
    assert "# Indexing brief" in shell("repo", "init", "--brief")
    shell("repo", "sync")
    shell("repo", "check", code=None)


def sensitive_sync(shell: Shell) -> None:
    shell("add", "secret", "--scope", "private")
    shell("scope", "sensitive", "private")
    said = shell("sync", "export", "--out", "memories.json", code=3)
    assert "`--plaintext`" in said
    shell("sync", "export", "--out", "memories.json", "--plaintext")


def installed_server(shell: Shell) -> None:
    said = shell("mcp", "install", "cursor")
    (undo,) = re.findall(r"undo: memglot (.*)", said)
    shell(*shlex.split(undo))
    assert not (shell.folder / ".cursor" / "mcp.json").exists()


def unknown_id(shell: Shell) -> None:
    shell("add", "x", "--id", ID)
    for words in (("get", "ffffffff"), ("history", "ffffffff"), ("delete", ID[-4:])):
        said = shell(*words, code=2)
        (short,) = re.findall(r"^([0-9a-f]{8})  ", shell.follow(said), re.MULTILINE)
    assert "x" in shell("get", short)
    assert "x" in shell("get", short[-6:])


def no_import(shell: Shell) -> None:
    shell("add", "x")
    said = shell("undo", "last", code=2)
    assert "nothing was imported yet" in said
    assert "added 1 memory" in shell.follow(said)


OUTCOMES = [
    no_store,
    nothing_to_import,
    taken_id,
    existing_file,
    unknown_extension,
    folder_in_a_file,
    undo_an_import,
    deleted_by_an_import,
    lenient,
    unknown_command,
    unknown_format,
    delete_everything,
    deleted_memory,
    edited_note,
    damaged_index,
    readable_store,
    no_project,
    empty_map,
    sensitive_sync,
    installed_server,
    unknown_id,
    no_import,
]


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: outcome.__name__)
def test_a_hint_does_what_it_promises(outcome: Callable[[Shell], None], shell: Shell) -> None:
    outcome(shell)
