"""The command `memglot`: find and run a command, and turn exceptions into messages and exit codes."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

import click

from memglot import __version__
from memglot.cli.session import Session, shared_options
from memglot.cli.terminal import buffered_stream, safe_stream
from memglot.errors import MemglotError
from memglot.settings import SETTINGS, configured

# The line of each command in `memglot --help`, which imports none of them. A test compares it with the command's help.
COMMANDS: dict[str, str] = {
    "add": "Add a memory.",
    "audit": "Show or verify the audit log.",
    "backup": "Write a copy of the store to a file.",
    "chain": "List superseded memories and their replacements.",
    "compact": "Remove unused space from the file of the store.",
    "completion": "Print the completion script for a shell.",
    "config": "List settings, or change the configuration file.",
    "conflicts": "List, show and resolve conflicting values.",
    "consolidate": "Merge exact duplicates and update strengths.",
    "convert": "Convert a file or folder to another format, without a store.",
    "copy": "Copy a branch of the tree.",
    "delete": "Delete memories.",
    "delete-tree": "Delete a branch of the tree.",
    "demo": "Create a store with a year of sample memories to try memglot with.",
    "diff": "Compare two files, folders or stores, memory by memory.",
    "doctor": "Check the store, and repair its indexes.",
    "edit": "Edit a memory in your editor.",
    "embed": "Build vectors for semantic search.",
    "entities": "List entities.",
    "entity": "Add an entity that memories can be linked to.",
    "export": "Export memories to a file, folder or standard output.",
    "formats": "List the formats that memglot can read and write.",
    "get": "Show a memory as Markdown.",
    "help": "Show a page of the documentation, or the help of a command.",
    "history": "Show all versions of a memory, oldest first.",
    "identity": "Show or set your identity text.",
    "import": "Import memories from files, folders, zip archives or standard input.",
    "imports": "List past imports, newest first.",
    "link": "Add a relation between two memories or entities.",
    "list": "List memories, newest first.",
    "mcp": "Serve agents over the Model Context Protocol, or connect a client with `install`.",
    "move": "Move a branch of the tree.",
    "relations": "List relations between memories and entities.",
    "repo": "Store knowledge about a project in its repository.",
    "restore": "Replace the store with a backup.",
    "scope": "List scopes, or mark them as sensitive or normal.",
    "search": "Search memories by keywords and meaning.",
    "serve": "Open the web viewer (not available in this version).",
    "stats": "Show statistics about the store.",
    "supersede": "Mark a memory as superseded by a newer one.",
    "sync": "Sync with other machines, memoryd and mcp-memory-service through a file, memories.json.",
    "tags": "List tags with the number of their memories, or rename a tag.",
    "tree": "Show the tree of memories with counts.",
    "undelete": "Restore deleted memories.",
    "undo": "Undo an operation or an import.",
    "unlink": "Remove a relation between two memories or entities.",
    "update": "Change fields of memories.",
    "verify": "Verify that an export or a store is complete and unaltered.",
}
GROUPS: dict[str, str] = {
    "Everyday": "add search list get edit update delete undelete undo tree tags move copy delete-tree history",
    "Exchange": "import imports export convert sync diff verify conflicts formats",
    "Agents": "mcp embed identity scope serve",
    "Projects": "repo",
    "Knowledge": "link unlink relations entity entities supersede chain",
    "Care": "demo stats doctor backup restore compact consolidate audit config completion help",
}
"""The commands by what people use them for."""
OVERVIEW = ("Everyday", "Exchange", "Agents", "Projects", "Care")
# The modules that are not named after their command.
_MODULES = {
    "chain": "supersede",
    "copy": "move",
    "entities": "entity",
    "import": "import_",
    "undelete": "delete",
    "unlink": "link",
}


class _Defaults(Mapping[str, Any]):
    """The values in the configuration file that replace defaults of options; it is read when one of them is needed."""

    def __init__(self, command: str = "") -> None:
        self._names = {
            one.name.removeprefix(f"{command}."): one.name
            for one in SETTINGS
            if "." in one.name and (not command or one.name.startswith(f"{command}."))
        }
        self._command = command

    def __getitem__(self, key: str) -> Any:
        if not self._command:
            return _Defaults(key)
        name = self._names[key]
        try:
            found = configured(name)
        except MemglotError:
            context = click.get_current_context(silent=True)
            if context is None or not context.resilient_parsing:
                raise
            # Help and completion work with a broken file too.
            found = None
        if found is None:
            raise KeyError(key)
        return found.value

    def __contains__(self, key: object) -> bool:
        return self.get(str(key)) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Commands(click.Group):
    """A group that imports each command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        module = import_module(f"memglot.cli.{_MODULES.get(cmd_name, cmd_name.replace('-', '_'))}")
        found = (value for value in vars(module).values() if isinstance(value, click.Command))
        command = next(command for command in found if command.name == cmd_name)
        if ctx.resilient_parsing:
            # The shell completes.
            from memglot.cli.known_values import complete_values

            complete_values(cmd_name, command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from difflib import get_close_matches

        if args and args[0] not in COMMANDS and (near := get_close_matches(args[0], COMMANDS, 1)):
            raise click.UsageError(f"no command `{args[0]}`; did you mean `{near[0]}`?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), COMMANDS[name]) for name in names.split()])


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@shared_options
@click.version_option(__version__, prog_name="memglot")
@click.pass_context
def cli(context: click.Context) -> None:
    """Store, convert, merge and search the memories of AI agents.

    The store is a file: --store, else $MEMGLOT_STORE, else `store` of `memglot config`, else a file in your data
    directory.
    """
    context.default_map = cast(Any, _Defaults())
    if context.invoked_subcommand is None:
        from memglot.cli.overview import print_overview

        print_overview(context.ensure_object(Session), {title: GROUPS[title].split() for title in OVERVIEW})


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # The caller closed this stream.
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))
    sys.stdout = safe_stream(buffered_stream(sys.stdout))
    sys.stderr = safe_stream(buffered_stream(sys.stderr))
    # Records are trees without cycles: collecting garbage often only takes time.
    gc.set_threshold(50_000, 20, 100)
    session = Session()
    sys.exit(run(session, arguments))


def run(session: Session, arguments: list[str] | None = None) -> int:
    """Run the command line, and return its exit code."""
    try:
        given = sys.argv[1:] if arguments is None else arguments
        # `color`, so that click does not remove escape sequences from what goes to a file or a pipe.
        code: Any = cli.main(given, prog_name="memglot", standalone_mode=False, obj=session, color=True)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except MemglotError as error:
        session.print_error(error.code, str(error), error.hint)
        return error.exit_code
    except click.ClickException as error:
        return _explain_usage(session, error)
    except (KeyboardInterrupt, click.Abort):
        if session.writes_batches:
            message = "interrupted; the batches imported so far are kept"
            hint = "run the same command again to finish; if the records have no ids, run `memglot undo last` first"
            session.print_error("interrupted", message, hint)
        else:
            session.print_error("interrupted", "interrupted", None)
        return 130
    except UnicodeEncodeError:
        session.print_error("usage", "the command line contains bytes that are not valid UTF-8", None)
        return 2
    except SystemExit as stop:
        # Click exits this way when the reader of our output is gone.
        return 0 if type(sys.stdout).__name__.endswith("PacifyFlushWrapper") else int(stop.code or 0)
    except BrokenPipeError:
        _discard_output()
        return 0
    except OSError as error:
        _discard_output()
        session.json = False
        session.print_error("output", f"input or output failed: {error.strerror or error}", None)
        return 3
    except Exception as error:  # noqa: BLE001 - the command line turns every exception into a message
        session.print_error(
            "internal",
            f"internal error: {type(error).__name__}: {error}",
            "please report it, with the command that you ran",
        )
        return 70


def _explain_usage(session: Session, error: click.ClickException) -> int:
    """Print what is wrong with the command line, or the help of a group that was called alone."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message())
        return 0
    context = getattr(error, "ctx", None)
    hint = f"run `{context.command_path} --help` for its usage" if context else None
    session.print_error("usage", _in_our_style(error.format_message()), hint)
    return 2


def _in_our_style(message: str) -> str:
    """Return a message of click with values in backticks, and like our own otherwise."""
    message = re.sub(r"(?<![\w`])'([^'`\n]+)'(?!\w)", r"`\1`", message.removesuffix("."))
    # Names of arguments are in capitals.
    return message if message[1:2].isupper() else message[:1].lower() + message[1:]


def _discard_output() -> None:
    """Discard what is still buffered for standard output."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
