"""`memglot repo projects`, and its commands `list`, `add`, `remove` and `prune`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from memglot.cli.repo.output import Data, bullets, print_envelope
from memglot.cli.session import Session, command, group
from memglot.display import one_line


@group("projects", invoke_without_command=True)
@click.pass_context
def projects(ctx: click.Context) -> int | None:
    """List or change your registered projects.

    `memglot repo status --all` shows them. The commands of project memory register a project when they are used in it.
    """
    return None if ctx.invoked_subcommand else int(ctx.invoke(list_projects))


@command("list")
def list_projects(session: Session) -> int:
    """List the registered projects."""
    from memglot.project.envelope import run
    from memglot.project.registry import list_projects

    return print_envelope(session, run(Path(), list_projects, register=False), projects_text, always=True)


@command("add")
@click.argument("path", required=False, type=click.Path(path_type=Path))
def add_project(session: Session, path: Path | None) -> int:
    """Register the project of a folder (default: the current one)."""
    from memglot.project.envelope import run
    from memglot.project.registry import add_project

    return print_envelope(session, run(Path(), partial(add_project, path=path), register=False), added_text)


@command("remove")
@click.argument("project")
def remove_project(session: Session, project: str) -> int:
    """Unregister a project, and keep its memory.

    PROJECT is its registry id, id, name or folder.
    """
    from memglot.project.envelope import run
    from memglot.project.registry import remove_project

    return print_envelope(session, run(Path(), partial(remove_project, name=project), register=False), removed_text)


@command("prune")
def prune_projects(session: Session) -> int:
    """Unregister projects without usable memory.

    Their memory is missing, unreadable or of another version.
    """
    from memglot.project.envelope import run
    from memglot.project.registry import prune_projects

    return print_envelope(session, run(Path(), prune_projects, register=False), pruned_text)


def projects_text(data: Data) -> str:
    """List the registered projects, one per line."""
    rows = [f"{row['registry_id']}  {row['project']['name']}  {row['project_root']}" for row in data["projects"]]
    return "\n".join(map(one_line, rows)) or "No registered projects."


def added_text(data: Data) -> str:
    """Describe a project that was registered."""
    return f"Registered {data['project']['project']['name']} ({data['project']['project_root']})."


def removed_text(data: Data) -> str:
    """Describe a project that was unregistered."""
    return f"Unregistered {data['removed']['project']['name']}. Its memory was kept."


def pruned_text(data: Data) -> str:
    """List the projects that were unregistered."""
    lines = bullets("Unregistered", [row["project_root"] for row in data["removed"]])
    return "\n".join(lines) or "Nothing to prune."


for _command in (list_projects, add_project, remove_project, prune_projects):
    projects.add_command(_command)
