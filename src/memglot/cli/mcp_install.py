"""`mcp install`, `mcp uninstall`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memglot.cli.session import Session, command

if TYPE_CHECKING:
    from memglot.clients.install import Change

F = TypeVar("F", bound=Callable[..., Any])
# Known here too, so that help and completion import nothing; a test holds it to the table.
CLIENTS = ("claude-code", "claude-desktop", "codex", "cursor", "opencode", "vscode")


def _which_entry(function: F) -> F:
    for option in (
        click.option("--dry-run", is_flag=True, help="Show what would change in the file, and write nothing."),
        click.option("--project", is_flag=True, help="In the file of the project in this folder, not in the user's."),
        click.option("--name", default="memglot", show_default=True, help="What the client calls the server."),
        click.argument("client", metavar="CLIENT", type=click.Choice(CLIENTS)),
    ):
        function = option(function)
    return function


@command("install")
@_which_entry
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    help="Let the server read and write files below this folder; may be given several times.",
)
@click.option("--read-only", is_flag=True, help="Let the server change nothing.")
@click.option("--allow-sensitive", is_flag=True, help="Let the server hand out sensitive scopes.")
@click.option("--force", is_flag=True, help="Replace a server of that name that is not memglot.")
def install(
    session: Session,
    client: str,
    name: str,
    project: bool,
    dry_run: bool,
    roots: tuple[str, ...],
    read_only: bool,
    allow_sensitive: bool,
    force: bool,
) -> None:
    """Let a program such as Claude Code use memglot.

    This puts the server into the program's configuration, for you or with --project for one project.
    CLIENT is claude-code, claude-desktop, codex, cursor, opencode or vscode. Nothing else in its file changes, and
    `memglot mcp uninstall` takes the server out again. It uses the store that --store or $MEMGLOT_STORE names now,
    else the one in your data directory.
    """
    from memglot.clients.command import server
    from memglot.clients.install import install as install_
    from memglot.settings import store_from_environment

    wanted = server(
        store=session.store or store_from_environment(),
        roots=roots,
        read_only=read_only,
        allow_sensitive=allow_sensitive,
    )
    change = install_(client, wanted, name=name, project=Path.cwd() if project else None, dry_run=dry_run, force=force)
    _answer(session, change, project=project, dry_run=dry_run)


@command("uninstall")
@_which_entry
def uninstall(session: Session, client: str, name: str, project: bool, dry_run: bool) -> None:
    """Take memglot out of a program again.

    Its configuration is then as it was before `memglot mcp install`; what was changed there meanwhile stays.
    """
    from memglot.clients.install import uninstall as uninstall_

    change = uninstall_(client, name=name, project=Path.cwd() if project else None, dry_run=dry_run)
    _answer(session, change, project=project, dry_run=dry_run)


def _answer(session: Session, change: Change, *, project: bool, dry_run: bool) -> None:
    value: dict[str, Any] = {
        "client": change.client.name,
        "path": str(change.path),
        "action": change.action,
        "name": change.name,
        "entry": change.entry,
        "dryRun": dry_run,
    }
    is_change = change.action in _WOULD
    did, rest = _SAID[change.action]
    said = rest.format(name=change.name, title=change.client.title, path=change.path)
    if is_change:
        said = f"{_WOULD[change.action] if dry_run else did} {said}"
    if dry_run:
        value["diff"] = change.diff
        session.print_result(value, [said, *([change.diff] if change.diff else [])], always=True)
        return
    lines = [said]
    if change.next:
        lines.append("next: " + change.next)
    if change.action in ("added", "updated"):
        words = ["memglot", "mcp", "uninstall", change.client.name]
        words += ["--name", change.name] if change.name != "memglot" else []
        lines.append("undo: " + shlex.join([*words, *(["--project"] if project else [])]))
    session.print_result(value, lines)
    session.print_notes(change.notes)


_SAID = {
    "added": ("added", "the server `{name}` to {title}: {path}"),
    "updated": ("updated", "the server `{name}` of {title}: {path}"),
    "unchanged": ("", "the server `{name}` of {title} is as wanted already: {path}"),
    "removed": ("took", "the server `{name}` out of {title}: {path}"),
    "absent": ("", "{title} has no server `{name}`: {path}"),
}
_WOULD = {"added": "would add", "updated": "would update", "removed": "would take"}
