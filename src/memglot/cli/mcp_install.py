"""`memglot mcp install` and `memglot mcp uninstall`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memglot.cli.session import Session, command

if TYPE_CHECKING:
    from memglot.clients.install import ConfigChange

F = TypeVar("F", bound=Callable[..., Any])
# Repeated here so that help and completion need no import; a test compares it with the registry.
CLIENTS = ("claude-code", "claude-desktop", "codex", "cursor", "opencode", "vscode")


def _entry_options(function: F) -> F:
    for option in (
        click.option("--dry-run", is_flag=True, help="Show what would change without writing anything."),
        click.option(
            "--project", is_flag=True, help="Use the configuration of the project in this folder instead of the user's."
        ),
        click.option("--name", default="memglot", show_default=True, help="Name of the server in the client."),
        click.argument("client", metavar="CLIENT", type=click.Choice(CLIENTS)),
    ):
        function = option(function)
    return function


@command(
    "install",
    examples="""
    memglot mcp install claude-code
    # Only for the project in this folder
    memglot mcp install cursor --project
    # Show what would change
    memglot mcp install codex --read-only --root ~/notes --dry-run
    """,
    help_alone=True,
)
@_entry_options
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    help="Let the server read and write files below this folder; can be repeated.",
)
@click.option("--read-only", is_flag=True, help="Do not let agents change anything.")
@click.option("--allow-sensitive", is_flag=True, help="Let agents use sensitive scopes.")
@click.option("--force", is_flag=True, help="Replace a server of the same name that is not memglot.")
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
    """Add memglot to a client such as Claude Code.

    This adds the MCP server to the client's configuration, for all your projects or with --project for one.
    CLIENT is claude-code, claude-desktop, codex, cursor, opencode or vscode. Nothing else in its file changes, and
    `memglot mcp uninstall` removes the server again. The server uses the store of --store or $MEMGLOT_STORE, or else
    the one in your data directory.
    """
    from memglot.clients.command import server_command
    from memglot.clients.install import install as install_
    from memglot.settings import store_from_environment

    wanted = server_command(
        store=session.store or store_from_environment(),
        roots=roots,
        read_only=read_only,
        allow_sensitive=allow_sensitive,
    )
    change = install_(client, wanted, name=name, project=Path.cwd() if project else None, dry_run=dry_run, force=force)
    _print_change(session, change, project=project, dry_run=dry_run)


@command("uninstall", examples="memglot mcp uninstall claude-code", help_alone=True)
@_entry_options
def uninstall(session: Session, client: str, name: str, project: bool, dry_run: bool) -> None:
    """Remove memglot from a client.

    Its configuration is then as it was before `memglot mcp install`, except for changes made since.
    """
    from memglot.clients.install import uninstall as uninstall_

    change = uninstall_(client, name=name, project=Path.cwd() if project else None, dry_run=dry_run)
    _print_change(session, change, project=project, dry_run=dry_run)


def _print_change(session: Session, change: ConfigChange, *, project: bool, dry_run: bool) -> None:
    value: dict[str, Any] = {
        "client": change.client.name,
        "path": str(change.path),
        "action": change.action,
        "name": change.name,
        "entry": change.entry,
        "dryRun": dry_run,
    }
    message = (_DRY_RUN if dry_run else _DONE)[change.action]
    lines = [message.format(name=change.name, title=change.client.title, path=change.path)]
    if dry_run:
        value["diff"] = change.diff
        lines += [change.diff] if change.diff else []
        session.print_result(value, lines, always=True)
        return
    if change.next:
        lines.append("next: " + change.next)
    if change.action in ("added", "updated"):
        words = ["memglot", "mcp", "uninstall", change.client.name]
        words += ["--name", change.name] if change.name != "memglot" else []
        lines.append("undo: " + shlex.join([*words, *(["--project"] if project else [])]))
    session.print_notes(change.notes)
    session.print_result(value, lines)


_DONE = {
    "added": "added the server `{name}` to {title}: {path}",
    "updated": "updated the server `{name}` of {title}: {path}",
    "unchanged": "the server `{name}` of {title} is already up to date: {path}",
    "removed": "removed the server `{name}` from {title}: {path}",
    "absent": "{title} has no server `{name}`: {path}",
}
_DRY_RUN = _DONE | {
    "added": "would add the server `{name}` to {title}: {path}",
    "updated": "would update the server `{name}` of {title}: {path}",
    "removed": "would remove the server `{name}` from {title}: {path}",
}
