"""Find every command that a text in the source names in backticks, and check it against the real commands."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

import memglot
from memglot.cli.main import cli

SOURCE = Path(memglot.__file__).parent
ROOT = Path(__file__).parents[1]
_SPAN = re.compile(r"`([^`\n]+)`")
_LINE = re.compile(r"\s*(?:\$ )?(memglot (?:[^|><#&;'\"(]|'[^']*'|\"[^\"]*\")+)")
"""A line of a console: its first command, up to a pipe, a file or a comment."""
_NAME = re.compile(r"[A-Z][A-Z_]*|…|\.\.\.|X")
OTHER_PROGRAMS = {"chmod", "pip", "pipx", "uv", "uvx", "git", "tar", "python", "claude", "memory"}
"""Other programs that texts name; `memory` is the original tool of project memory, in the stores that it made."""
NOT_COMMANDS = {"import id", "link of", "search result"}
"""Spans that begin like a command, but are not one."""


class Hint(NamedTuple):
    """A command in a text, with its place."""

    place: str
    command: str


def _text_of(node: ast.AST) -> str | None:
    """Return the text of a string; values in it become `{NAME}`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = []
        for part in node.values:
            parts.append(str(part.value) if isinstance(part, ast.Constant) else "{" + ast.unparse(part.value) + "}")  # type: ignore[attr-defined]
        return "".join(parts)
    return None


def texts() -> Iterator[tuple[str, str]]:
    """Yield every string in the source with its place; a part of an f-string only within it."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)} - {
            id(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
        }
        for node in ast.walk(tree):
            text = _text_of(node) if id(node) not in inner else None
            if text is not None:
                yield f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}", text


def all_commands() -> dict[str, click.Command]:
    """Return every command by its words, such as `repo save`."""
    found: dict[str, click.Command] = {}

    def add(group: click.Group, words: tuple[str, ...]) -> None:
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            found[" ".join((*words, name))] = command
            if isinstance(command, click.Group):
                add(command, (*words, name))

    assert isinstance(cli, click.Group)
    add(cli, ())
    return found


def flags() -> set[str]:
    """Return the options of all commands."""
    commands = [*all_commands().values(), cli]
    found = {
        name for command in commands for option in command.params for name in (*option.opts, *option.secondary_opts)
    }
    return found | {"--help", "--version"}


def spans(text: str) -> Iterator[str]:
    """Yield what is in backticks; docstrings have single ones too."""
    for match in _SPAN.finditer(text):
        yield match[1]


def commands_in(text: str) -> Iterator[str]:
    """Yield the commands and options that a text names: with `memglot`, or the words of a command with an option."""
    known = all_names()
    for span in spans(text):
        first = span.split(" ")[0]
        if first == "memglot" and span != "memglot":
            yield span
        elif first in known and span not in NOT_COMMANDS and re.search(r" -", span):
            yield f"memglot {span}"
        elif re.fullmatch(r"--[a-z][a-z0-9-]*(?:[ =].*)?", span):
            yield span


_NAMES: set[str] = set()


def all_names() -> set[str]:
    """Return the first words of all commands."""
    if not _NAMES:
        _NAMES.update(words.split(" ")[0] for words in all_commands())
    return _NAMES


def hints() -> Iterator[Hint]:
    """Yield every command that the source names, with its place."""
    for place, text in texts():
        for command in commands_in(text):
            yield Hint(place, command)


def documented() -> Iterator[Hint]:
    """Yield every command in the pages of the docs, and in the examples of help texts, with its place."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        is_code = False
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            place = f"{page.relative_to(ROOT)}:{number}"
            is_code ^= line.startswith("```")
            if is_code and (match := _LINE.match(line)) is not None:
                yield Hint(place, match[1].rstrip())
            for span in spans(line):
                if span.startswith("memglot "):
                    yield Hint(place, span)
    for name, command in all_commands().items():
        for line in getattr(command, "examples", "").splitlines():
            if (match := _LINE.match(line)) is not None:
                yield Hint(name, match[1].rstrip())


def words_of(command: str) -> list[str]:
    """Return the words of a command; values that are filled in later become one word each."""
    filled = re.sub(r"\{[^{}]*\}", "VALUE", command)
    return shlex.split(filled.removeprefix("$ "))


class NotACommand(Exception):
    """A text names a command that does not exist."""


def check(command: str) -> None:
    """Raise `NotACommand` unless a command exists with these options, and its arguments can be parsed."""
    if command.startswith("--"):
        name = re.split(r"[ =]", command)[0]
        if name not in flags():
            raise NotACommand(f"no command has the option `{name}`")
        return
    words = words_of(re.split(r" [<>|] ", command)[0])[1:]
    context = click.Context(cli, info_name="memglot")
    place: click.Command = cli
    while words and isinstance(place, click.Group):
        if words[0].startswith("-"):
            # Options of memglot itself, or of a group that is a command too.
            option = next((found for found in place.params if words[0].split("=")[0] in found.opts), None)
            if option is None and words[0] != "--help":
                raise NotACommand(f"`{place.name}` has no option `{words[0]}`")
            takes_value = isinstance(option, click.Option) and not option.is_flag and "=" not in words[0]
            words = words[2 if takes_value else 1 :]
            continue
        found = place.get_command(context, words[0])
        if found is None:
            if _NAME.fullmatch(words[0]) or place is not cli and re.search(r"[./]", words[0]):
                # A group may be a command too, and take a path.
                return
            if place.invoke_without_command and place.params:
                break
            raise NotACommand(f"`{place.name}` has no command `{words[0]}`")
        place, words = found, words[1:]
        context = click.Context(place, info_name=place.name, parent=context)
    _check_arguments(place, words)


def _check_arguments(command: click.Command, words: list[str]) -> None:
    options = {name: option for option in command.params for name in (*option.opts, *option.secondary_opts)}
    options |= {name: option for option in cli.params for name in (*option.opts, *option.secondary_opts)}
    arguments = [option for option in command.params if isinstance(option, click.Argument)]
    room = sum(1_000 if argument.nargs < 0 else argument.nargs for argument in arguments)
    given = 0
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        name, has_value, _ = word.partition("=")
        if word == "--":
            given += len(waiting)
            break
        if word.startswith("--") or re.fullmatch(r"-[a-z]", word):
            option = options.get(name)
            if option is None and name != "--help":
                raise NotACommand(f"`{command.name}` has no option `{name}`")
            needs = isinstance(option, click.Option) and not (option.is_flag or option.count)
            if needs and not has_value and waiting:
                waiting.pop(0)
            elif needs and not has_value:
                continue  # A text may name an option without its value.
        elif word not in ("...", "…", "<", ">", "|", "-m"):
            given += 1
            choice = arguments[0].type if given == 1 and arguments else None
            if isinstance(choice, click.Choice) and word not in choice.choices and not _NAME.fullmatch(word):
                raise NotACommand(f"`{command.name}` does not accept `{word}`")
    if given > room:
        raise NotACommand(f"`{command.name}` has {room} arguments, not {given}")
