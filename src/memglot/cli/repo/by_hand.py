"""What the commands share that change nodes one by one: options, completion of ids, the editor, and what is printed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from memglot.cli.editor import edit_text
from memglot.cli.repo.output import Data, print_envelope
from memglot.cli.session import Session
from memglot.display import plural
from memglot.project.storage.vocabulary import STAGES

F = TypeVar("F", bound=Callable[..., Any])
_PREDICATES = ("affects", "depends_on", "related_to")
_VERBS = {"created": "create", "updated": "update", "deleted": "delete"}


def complete_ids(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the ids that begin like a word, or whose part after the kind does."""
    return [
        CompletionItem(node["id"], help=node["title"])
        for node in _nodes()
        if node["id"].startswith(incomplete) or node["id"].partition(".")[2].startswith(incomplete)
    ]


def complete_tags(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the tags of project memory that begin like a word."""
    return sorted({tag for node in _nodes() for tag in node["tags"] if tag.startswith(incomplete)})


def _nodes() -> Iterator[Data]:
    from memglot.project.envelope import run
    from memglot.project.listing import list_nodes

    envelope = run(Path(), list_nodes, register=False)
    yield from envelope["data"]["nodes"] if envelope["ok"] else ()


def id_argument(name: str, **settings: Any) -> Callable[[F], F]:
    """Add an argument that is the id of a node, or a short one."""
    return click.argument(name, shell_complete=complete_ids, **settings)


def field_options(function: F) -> F:
    """Add the options that set the fields of a node."""
    for predicate in reversed(_PREDICATES):
        function = click.option(
            f"--{predicate.replace('_', '-')}",
            predicate,
            multiple=True,
            metavar="ID",
            shell_complete=complete_ids,
            help=f"Id of a node that this one {_WORDS[predicate]}; can be repeated.",
        )(function)
    for option in (
        click.option(
            "--file",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="Read fields and text from a file, as the editor shows them.",
        ),
        click.option("--stage", type=click.Choice(STAGES), help="Stage of a feature."),
        click.option("--tag", "tags", multiple=True, shell_complete=complete_tags, help="Tag; can be repeated."),
        click.option(
            "--anchor",
            "anchors",
            multiple=True,
            metavar="PATH",
            help="Path or glob in the repository that it describes, such as `src/billing/`; can be repeated.",
        ),
        click.option("--body", metavar="TEXT", help="Text as Markdown; `-` reads it from standard input."),
    ):
        function = option(function)
    return function


_WORDS = {"affects": "affects", "depends_on": "depends on", "related_to": "is related to"}


def write_options(function: F) -> F:
    """Add the options of every command that changes nodes."""
    for option in (
        click.option("--dry-run", is_flag=True, help="Check and plan the change, and write nothing."),
        click.option(
            "--actor",
            type=click.Choice(["user", "agent"]),
            default="user",
            show_default=True,
            help="Who makes the change, for the log.",
        ),
        click.option("--task", metavar="TEXT", help="What you are working on (default: edited by hand)."),
    ):
        function = option(function)
    return function


def given_fields(options: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Take the fields of a node out of the options; return those that were given, and relations."""
    related = [(predicate, id) for predicate in _PREDICATES for id in options.pop(predicate)]
    found = {
        name: options.pop(name) for name in ("title", "body", "status", "stage", "tags", "anchors") if name in options
    }
    if found.get("body") == "-":
        found["body"] = sys.stdin.read()
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}
    return {name: value for name, value in values.items() if value not in (None, [])}, related


def read_document(path: Path) -> str:
    """Return the contents of a text file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise click.UsageError(f"`{path}` is not valid UTF-8") from None


def can_ask(session: Session) -> bool:
    """Return True if there is a person at a terminal to ask."""
    return not session.json and sys.stdin.isatty() and sys.stderr.isatty()


def print_change(session: Session, envelope: Data) -> int:
    """Print what a change did; return the exit code."""
    return print_envelope(session, envelope, change_text)


def change_text(data: Data) -> str:
    """Describe what a change did, or would do."""
    if not data["files_changed"]:
        return f"Nothing {'would change' if data['dry_run'] else 'changed'}: all of this is already stored."
    lines = []
    for done, verb in _VERBS.items():
        shown = f"would {verb}" if data["dry_run"] else done
        lines += [f"{shown} {id}" for id in data[f"memory_{done}"]]
        if count := len(data[f"relations_{done}"]):
            lines.append(f"{shown} {plural(count, 'relation')}")
    lines += [f"backed up {item['path']} to {item['recovery_path']}" for item in data["recovery_files"]]
    return "\n".join(lines)


def change_in_editor(
    session: Session, before: str, name: str, save: Callable[[str], Data], *, instead: str, again: str
) -> int:
    """Let the user edit a text until it can be saved; return the exit code.

    A text that cannot be saved is never lost: the user edits it again, or it stays in a file. `instead` is the command
    that needs no editor, and `again` the one that saves the text in a file.
    """
    after = edit_text(before, name, instead=instead)
    while after.text != before:
        envelope = save(after.text)
        kept = f"your text is kept in `{after.path}`; correct it, and run `{again} --file {after.path}`"
        if not envelope["ok"]:
            envelope["error"]["details"] = {**(envelope["error"].get("details") or {}), "kept": str(after.path)}
        code = print_change(session, envelope)
        if envelope["ok"]:
            after.remove()
            return code
        try:
            if not (can_ask(session) and click.confirm("Edit the text again?", default=True, err=True)):
                raise click.Abort
        except click.Abort:
            if not session.json:
                click.echo(f"\nhint: {kept}", err=True)
            return code
        after.edit()
    after.remove()
    session.print_result({"changed": False}, "Nothing changed.")
    return 0
