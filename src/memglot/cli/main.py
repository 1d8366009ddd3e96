"""`memglot`: the commands, each imported when it is used, and what happens when one fails."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import Any

import click

from memglot import __version__
from memglot.cli.session import Session, shared_options

# The line of each command in `memglot --help`, which imports none of them. A test compares it with the command's help.
COMMANDS: dict[str, str] = {
    "add": "Keep a new memory.",
    "audit": "Show or check the chain of everything that was done.",
    "backup": "Write a clean copy of the whole store.",
    "chain": "List which memory took the place of which.",
    "completion": "Print the completion script of a shell.",
    "conflicts": "List, show and settle values that clash.",
    "consolidate": "Merge exact doubles, and bring strengths up to date.",
    "convert": "Convert a file or folder to another format, without a store.",
    "copy": "Copy a branch of the tree, under new ids.",
    "delete": "Delete memories; `undelete` brings them back.",
    "delete-tree": "Delete a branch of the tree.",
    "diff": "Show what differs between two files, folders or stores.",
    "doctor": "Check the store, and mend what can be mended.",
    "edit": "Open a memory in your editor.",
    "embed": "Let memories be found by their meaning.",
    "entities": "List the entities that memories mention.",
    "entity": "Keep an entity.",
    "export": "Write memories to a file, a folder or standard output.",
    "formats": "List what can be read and written, and what survives.",
    "get": "Show one memory.",
    "history": "Show every version of a memory.",
    "identity": "Show or set who you are said to be.",
    "import": "Import files, folders or standard input.",
    "imports": "List past imports.",
    "link": "Relate two memories.",
    "list": "List memories by time.",
    "mcp": "Serve agents over MCP, or connect a client.",
    "move": "Move a branch of the tree.",
    "relations": "List relations.",
    "repo": "Keep what a project knows of itself in its repository.",
    "restore": "Put a backup in the place of the store.",
    "scope": "List scopes, or mark them as sensitive.",
    "search": "Find memories by their words and meaning.",
    "serve": "Open the web viewer (not part of this version).",
    "stats": "Show how much of what the store keeps.",
    "supersede": "Say that a memory takes the place of another.",
    "sync": "Exchange memories.json with other machines, with memoryd and with mcp-memory-service.",
    "tree": "Show the tree of memories, with counts.",
    "undelete": "Bring a deleted memory back.",
    "undo": "Undo an import.",
    "unlink": "Take a relation away.",
    "update": "Change fields of a memory.",
    "verify": "Check that an export or a store is whole and unaltered.",
}
# The modules that are not named after their command.
_MODULES = {
    "chain": "supersede",
    "copy": "move",
    "entities": "entity",
    "import": "import_",
    "undelete": "delete",
    "unlink": "link",
}


class Commands(click.Group):
    """A group that knows its commands by name and imports them on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        module = import_module(f"memglot.cli.{_MODULES.get(cmd_name, cmd_name.replace('-', '_'))}")
        found = (value for value in vars(module).values() if isinstance(value, click.Command))
        return next(command for command in found if command.name == cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from difflib import get_close_matches

        if args and args[0] not in COMMANDS and (near := get_close_matches(args[0], COMMANDS, 1)):
            raise click.UsageError(f"no command `{args[0]}`; did you mean `{near[0]}`?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@shared_options
@click.version_option(__version__, prog_name="memglot")
def cli() -> None:
    """One memory for every agent: keep, convert, merge and search the memories of AI agents.

    The store is a file: --store, else $MEMGLOT_STORE, else one in your data directory.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # Whoever closed a stream wants nothing from it.
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))
    # Records are trees of plain values: collecting cycles among them often is work for nothing.
    gc.set_threshold(50_000, 20, 100)
    session = Session()
    sys.exit(run(session, arguments))


def run(session: Session, arguments: list[str] | None = None) -> int:
    """Run the command line; tells its exit code."""
    from memglot.errors import MemglotError

    try:
        given = sys.argv[1:] if arguments is None else arguments
        code: Any = cli.main(given or ["--help"], prog_name="memglot", standalone_mode=False, obj=session)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except MemglotError as error:
        session.print_error(error.code, str(error), error.hint)
        return error.exit_code
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f"`{context.command_path} --help` shows what it takes" if context else None
        session.print_error("usage", error.format_message(), hint)
        return 2
    except (KeyboardInterrupt, click.Abort):
        hint = "the same command again finishes the job; if its records have no ids, `memglot undo last` first"
        told = ("interrupted; whole batches stay", hint) if session.writes_batches else ("interrupted", None)
        session.print_error("interrupted", *told)
        return 130
    except UnicodeEncodeError:
        session.print_error("usage", "the call contains bytes that are not valid UTF-8", None)
        return 2
    except SystemExit as stop:
        # What click does about a reader of our output that went away.
        return 0 if type(sys.stdout).__name__.endswith("PacifyFlushWrapper") else int(stop.code or 0)
    except BrokenPipeError:
        _silence()
        return 0
    except OSError as error:
        _silence()
        session.json = False
        session.print_error("output", f"input or output failed: {error.strerror or error}", None)
        return 3
    except Exception as error:  # noqa: BLE001 - the command line turns every exception into a message
        session.print_error(
            "internal", f"internal error: {type(error).__name__}: {error}", "please report it, with the command"
        )
        return 70


def _silence() -> None:
    """Let what is still buffered for standard output go nowhere."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
