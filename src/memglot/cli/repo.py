"""`repo`: the memory of a project, in `.memory/` of its repository."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memglot.cli.session import Session, command, shared_options

if TYPE_CHECKING:
    from memglot.project.project import Project

    _Deed = Callable[[Project], Any]
    _Show = Callable[[Any], str]

_SHOWN = 20


@click.group("repo")
@shared_options
def repo() -> None:
    """Keep what a project knows of itself in its repository: features, decisions, gotchas, questions.

    It lies in `.memory/` as JSON and Markdown, made to be committed and reviewed. The project is the repository
    around the current folder; outside of git, the nearest folder above with a `.memory/`.
    """


def _do(session: Session, deed: _Deed, show: _Show, *, register: bool = True, always: bool = False) -> int:
    """Do something, answer with the envelope or in words, and tell the exit status.

    An answer that is `always` printed is printed even with `--quiet`.
    """
    from memglot.project.envelope import answer, exit_code, presentable, unexpected

    try:
        envelope = presentable(answer(Path.cwd(), deed, register=register))
    except Exception as failure:  # noqa: BLE001 - the command line turns every exception into a message
        envelope = presentable(unexpected(failure))
    if session.json:
        session.print_result(envelope, "")
        return exit_code(envelope)
    if envelope["ok"]:
        session.print_result(None, show(envelope["data"]), always=always)
    for warning in () if session.quiet else envelope["warnings"]:
        click.echo(f"warning: {warning}", err=True)
    if not envelope["ok"]:
        error = envelope["error"]
        click.echo(f"error: {error['code']}: {error['message']}", err=True)
        for line in _places(error.get("details")):
            click.echo(f"  {line}", err=True)
    return exit_code(envelope)


def _places(details: Any) -> list[str]:
    """Where an error lies, line by line."""
    if not isinstance(details, dict):
        return []
    named = f": `{details['id']}`" if "id" in details else ""
    found = [f"at {details['field']}{named}"] if "field" in details else []
    if "allowed" in details:
        found.append(f"allowed: {', '.join(details['allowed'])}")
    issues = details.get("issues", [])
    for issue in issues[:_SHOWN]:
        place = " ".join(part for part in (issue["path"], issue["field"]) if part)
        found.append(f"{place}: {issue['message']}")
    hidden = len(issues) - _SHOWN
    return [*found, f"and {hidden} more; `--json` lists them all"] if hidden > 0 else found


@command("init")
@click.option("--dry-run", is_flag=True, help="Say what would be made, and write nothing.")
@click.option("--brief", is_flag=True, help="Only print the brief for an agent's first look.")
@click.option("--no-agent-guidance", is_flag=True, help="Leave AGENTS.md and CLAUDE.md alone.")
@click.option("--force", is_flag=True, help="Begin anew; the memory that is there is backed up first.")
def init(session: Session, dry_run: bool, brief: bool, no_agent_guidance: bool, force: bool) -> int:
    """Give this project a memory.

    It may be called again: what is there stays, and what is missing is added. AGENTS.md and CLAUDE.md get a few lines
    for agents and the product map, each between markers; the rest of them is not touched.
    """
    from memglot.cli.repo_text import init_text
    from memglot.project import commands

    if brief:
        return _do(session, commands.brief, lambda data: str(data["brief"]), register=False, always=True)

    def deed(project: Project) -> Any:
        return commands.init(project, dry_run=dry_run, guidance=not no_agent_guidance, force=force)

    return _do(session, deed, init_text, register=not dry_run)


@command("save")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the JSON from standard input; it must be given.")
@click.option("--dry-run", is_flag=True, help="Check and plan it, and write nothing.")
def save(session: Session, from_stdin: bool, dry_run: bool) -> int:
    """Save nodes and relations, mark nodes as stale or superseded, delete them.

    The JSON is {"task": …, "nodes": […], "stale": […], "supersede": […], "delete": […]}; docs/repo.md tells all of it.
    A save lands whole or not at all, and brings the product map up to date.
    """
    if not from_stdin:
        raise click.UsageError("the input is read from standard input: give `--stdin`")
    from memglot.cli.repo_text import save_text
    from memglot.project import commands

    text = sys.stdin.buffer.read()
    return _do(session, lambda project: commands.save(project, text, dry_run=dry_run), save_text, register=not dry_run)


@command("query")
@click.argument("question")
@click.option("--budget", type=float, metavar="TOKENS", help="At most so many tokens; else the project's own default.")
def query(session: Session, question: str, budget: float | None) -> int:
    """Tell what project memory knows of something, as Markdown within a budget of tokens.

    Matches come first, then what is one relation away, then open questions. Ids, tags and paths are found too.
    """
    from memglot.project import commands

    return _do(session, lambda p: commands.query(p, question, budget), lambda data: str(data["markdown"]), always=True)


@command("sync")
@click.option("--dry-run", is_flag=True, help="Report, and leave the marker and the product map as they are.")
def sync(session: Session, dry_run: bool) -> int:
    """Hold memory against what changed in the repository since the last sync.

    Tells which nodes' files changed, moved or are gone, and which changed files no node speaks of.
    """
    from memglot.cli.repo_text import sync_text
    from memglot.project import commands

    return _do(session, lambda project: commands.sync(project, dry_run=dry_run), sync_text, register=not dry_run)


@command("status")
@click.option("--all", "every", is_flag=True, help="Every project in the registry.")
def status(session: Session, every: bool) -> int:
    """Show features by stage, open questions, dead anchors, the last activity and the last sync."""
    from memglot.cli.repo_text import status_all_text, status_text
    from memglot.project import commands

    if every:
        return _do(session, commands.status_all, status_all_text, register=False, always=True)
    return _do(session, commands.status, status_text, always=True)


@command("check")
def check(session: Session) -> int:
    """Check every file of project memory; exit 1 when something is wrong."""
    from memglot.cli.repo_text import check_text
    from memglot.project import commands

    valid = True

    def deed(project: Project) -> Any:
        nonlocal valid
        found = commands.check(project)
        valid = found["valid"]
        return found

    return _do(session, deed, check_text, always=True) or int(not valid)


@command("inspect")
@click.argument("id")
def inspect(session: Session, id: str) -> int:
    """Show one node whole: its text, what is known of it, and its relations."""
    from memglot.cli.repo_text import inspect_text
    from memglot.project import commands

    return _do(session, lambda project: commands.inspect(project, id), inspect_text, always=True)


@command("diff")
def diff(session: Session) -> int:
    """Show what differs in `.memory/` from the last commit."""
    from memglot.project import commands

    def show(data: Any) -> str:
        return str(data["diff"]).rstrip("\n") or "Nothing differs from the last commit."

    return _do(session, commands.diff, show, always=True)


@command("rebuild")
def rebuild(session: Session) -> int:
    """Build the index anew, with what is missing of schemas and folders; the log tells of it."""
    from memglot.cli.repo_text import rebuild_text
    from memglot.project import commands

    return _do(session, commands.rebuild, rebuild_text)


@command("reset")
@click.option("--all", "every", is_flag=True, help="Every project in the registry.")
@click.option("--destroy", is_flag=True, help="Make no backup, and remove the earlier ones too.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
def reset(session: Session, every: bool, destroy: bool, dry_run: bool) -> int:
    """Clear the memory of this project; a backup stays, and `restore` brings it back."""
    from memglot.cli.repo_text import reset_all_text, reset_failures, reset_text
    from memglot.project import commands

    if every:
        failures: list[str] = []

        def deed(project: Project) -> Any:
            found = commands.reset_all(project, destroy=destroy, dry_run=dry_run)
            failures.extend(reset_failures(found))
            return found

        code = _do(session, deed, reset_all_text, register=False)
        for failure in () if session.json else failures:
            click.echo(f"error: {failure}", err=True)
        return code or int(bool(failures))
    return _do(session, lambda p: commands.reset(p, destroy=destroy, dry_run=dry_run), reset_text, register=False)


@command("restore")
@click.argument("backup", required=False)
def restore(session: Session, backup: str | None) -> int:
    """Bring back what `reset` cleared: the last backup, or the one that is named.

    A memory that is there is backed up first.
    """
    from memglot.cli.repo_text import restore_text
    from memglot.project import commands

    return _do(session, lambda project: commands.restore(project, backup), restore_text)


@command("view")
@click.option("--port", type=int, help="The port to listen on.")
@click.option("--open", "open_", is_flag=True, help="Open it in the browser.")
def view(session: Session, port: int | None, open_: bool) -> None:
    """Open the web viewer (not part of this version)."""
    from memglot.errors import NoViewer

    raise NoViewer()


@click.group("projects", invoke_without_command=True)
@shared_options
@click.pass_context
def projects(ctx: click.Context) -> int | None:
    """List the projects you work with, which `status --all` shows, or change that list."""
    return None if ctx.invoked_subcommand else int(ctx.invoke(list_projects))


@command("list")
def list_projects(session: Session) -> int:
    """List the registered projects."""
    from memglot.cli.repo_text import projects_text
    from memglot.project import commands

    return _do(session, commands.projects, projects_text, register=False, always=True)


@command("add")
@click.argument("path", required=False, type=click.Path(path_type=Path))
def add_project(session: Session, path: Path | None) -> int:
    """Register the project of a folder, or of this one."""
    from memglot.cli.repo_text import registered_text
    from memglot.project import commands

    return _do(session, lambda project: commands.add_project(project, path), registered_text, register=False)


@command("remove")
@click.argument("project")
def remove_project(session: Session, project: str) -> int:
    """Take a project out of the list, by its registry id, its id or its folder; its memory stays."""
    from memglot.cli.repo_text import removed_text
    from memglot.project import commands

    return _do(session, lambda here: commands.remove_project(here, project), removed_text, register=False)


@command("prune")
def prune_projects(session: Session) -> int:
    """Take out of the list what is gone, or of another version."""
    from memglot.cli.repo_text import pruned_text
    from memglot.project import commands

    return _do(session, commands.prune_projects, pruned_text, register=False)


for _command in (list_projects, add_project, remove_project, prune_projects):
    projects.add_command(_command)
for _command in (
    init, save, query, sync, status, projects, check, inspect, diff, rebuild, reset, restore, view,
):  # fmt: skip
    repo.add_command(_command)
