"""Flags of the command line and keyword arguments of `Memory` have the same names, except those that a table lists."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click
import pytest

from memglot import Edits, Filters, Memory
from memglot.cli.main import cli
from memglot.cli.sync import sync_file

PAGE = (Path(__file__).parents[1] / "docs/python.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `memglot ([a-z -]+)` \| `([a-z_]+)` \| (.*) \|$", re.MULTILINE)
OTHER = re.compile(r"`(--[a-z-]+)` is `([a-z_]+)(?:=[^`]*)?`")
ROWS = ROW.findall(PAGE)


def arguments_of(method: str) -> set[str]:
    """The keyword arguments of a method, with the filters or the fields that it takes."""
    names = set(inspect.signature(inspect.unwrap(getattr(Memory, method))).parameters)
    if "filters" in names:
        names |= set(Filters.__annotations__)
    if "changes" in names:
        names |= set(Edits.__annotations__)
    return names | arguments_of("import_from") if method == "sync_import" else names


def flags_of(name: str) -> list[list[str]]:
    """The options of a command, each with all of its flags, without those that every command has."""
    command: click.Command | None = cli
    for word in name.split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    command = sync_file if name == "sync" else command
    assert command is not None, name
    options = [option for option in command.params if isinstance(option, click.Option) and option.expose_value]
    return [[*option.opts, *option.secondary_opts] for option in options]


def test_the_table_has_every_command_with_a_method() -> None:
    names = cli.list_commands(click.Context(cli))
    commands = {name for name in names if hasattr(Memory, name.replace("-", "_"))}
    assert commands <= {command for command, _, _ in ROWS}


@pytest.mark.parametrize(("command", "method", "text"), ROWS, ids=[row[0] for row in ROWS])
def test_flags_and_arguments_have_the_same_names(command: str, method: str, text: str) -> None:
    others = dict(OTHER.findall(text))
    _, _, only = text.partition("only there: ")
    documented = {*others, *re.findall(r"`(--[a-z-]+)`", only)}
    names = arguments_of(method)
    different = {
        next(flag for flag in flags if flag.startswith("--"))
        for flags in flags_of(command)
        if not any(flag.lstrip("-").replace("-", "_") in names for flag in flags)
    }
    assert documented == different
    assert set(others.values()) <= names
