"""Write the man page from the help of every command; `make docs` writes it, `make lint` checks it with `--check`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))
TARGET = ROOT / "packaging" / "memglot.1"


def main() -> int:
    """Write the page, or with `--check` compare it; return 1 if it is out of date."""
    text = "\n".join(page()) + "\n"
    if sys.argv[1:] == ["--check"]:
        if TARGET.read_text(encoding="utf-8") != text:
            print(f"{TARGET.relative_to(ROOT)} is out of date; run `make docs`", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(text, encoding="utf-8")
    return 0


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    from memglot import __version__
    from memglot.cli.main import COMMANDS, GROUPS, cli
    from memglot.topics import pages, title

    yield f'.TH MEMGLOT 1 "" "memglot {__version__}" "User Commands"'
    yield from (".SH NAME", r"memglot \- one memory for every agent")
    yield from (".SH SYNOPSIS", r"\fBmemglot\fR [\fIOPTIONS\fR] \fICOMMAND\fR [\fIARGUMENTS\fR]")
    yield ".SH DESCRIPTION"
    yield from paragraphs(cli.help or "")
    yield ".SH OPTIONS"
    yield from options(cli)
    yield ".SH COMMANDS"
    for group, names in GROUPS.items():
        yield f".SS {group}"
        for name in sorted(names.split()):
            yield from (".TP", rf"\fB{roff(name)}\fR", roff(COMMANDS[name]))
    for name in sorted(COMMANDS):
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        yield from section(command, f"memglot {name}")
    yield ".SH TOPICS"
    yield r"\fBmemglot help\fR \fITOPIC\fR shows one of these pages:"
    for name, path in pages().items():
        yield from (".TP", rf"\fB{roff(name)}\fR", roff(title(path)))
    yield ".SH EXIT STATUS"
    for status, meaning in statuses():
        yield from (".TP", rf"\fB{status}\fR", roff(meaning))


def statuses() -> Iterator[tuple[str, str]]:
    """Yield each exit status and its meaning, from the page about commands."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    table = text.partition("| exit status | meaning |\n|---|---|\n")[2].partition("\n\n")[0]
    for row in table.splitlines():
        status, meaning = row.strip("| ").split(" | ")
        yield status, meaning


def section(command: click.Command, name: str) -> Iterator[str]:
    """Yield the lines about a command and its subcommands."""
    context = click.Context(command, info_name=name)
    yield f".SH {roff(name.upper())}"
    yield rf"\fB{roff(name)}\fR {roff(' '.join(command.collect_usage_pieces(context)))}"
    yield ".PP"
    yield from paragraphs(command.help or "")
    yield from options(command)
    examples = getattr(command, "examples", "")
    if examples:
        yield from (".PP", "Examples:", ".PP", ".nf", *(roff(line) for line in examples.splitlines()), ".fi")
    if isinstance(command, click.Group):
        for inner in sorted(command.commands):
            yield from section(command.commands[inner], f"{name} {inner}")


def options(command: click.Command) -> Iterator[str]:
    """Yield the options of a command, without those that every command has."""
    context = click.Context(command)
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if record is not None and (command.name == "cli" or option.name not in SHARED):
            yield from (".TP", rf"\fB{roff(record[0])}\fR", roff(" ".join(record[1].split())))


SHARED = ("store", "json", "quiet", "no_progress", "help")


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text."""
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ".PP"
        yield roff(" ".join(paragraph.split()))


def roff(text: str) -> str:
    """Escape a line for roff, and show what is in backticks in bold."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    text = re.sub(r"`([^`]+)`", r"\\fB\1\\fR", text)
    return rf"\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    sys.exit(main())
