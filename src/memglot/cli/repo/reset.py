"""`memglot repo reset`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from memglot.cli.repo.output import Data, bullets, print_envelope
from memglot.cli.session import Session, command

_STILL_IN_GIT = (
    "Git still has the committed files: run `git restore --staged --worktree .memory` to restore them, or commit the "
    "deletion before `memglot repo init`."
)


@command("reset")
@click.option("--all", "every", is_flag=True, help="Reset every registered project.")
@click.option("--destroy", is_flag=True, help="Make no backup, and remove earlier backups too.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
def reset(session: Session, every: bool, destroy: bool, dry_run: bool) -> int:
    """Clear the memory of this project after a backup.

    `memglot repo restore` restores the backup.
    """
    from memglot.project.envelope import run
    from memglot.project.reset import reset, reset_all

    if not every:
        one = partial(reset, destroy=destroy, dry_run=dry_run)
        return print_envelope(session, run(Path(), one, register=False), reset_text)
    envelope = run(Path(), partial(reset_all, destroy=destroy, dry_run=dry_run), register=False)
    failures = envelope["data"]["projects_failed"] if envelope["ok"] else []
    for row in () if session.json else failures:
        click.echo(f"error: {row['project']['name']}: {row['error']['message']}", err=True)
    return print_envelope(session, envelope, reset_all_text) or int(bool(failures))


def reset_text(data: Data) -> str:
    """Describe what was cleared."""
    if data["dry_run"]:
        how = "without a backup" if data["destroyed"] else "after a backup"
        return "\n".join(["Nothing was removed.", *bullets(f"Would be removed {how}", data["entries_removed"])])
    if not data["destroyed"]:
        return f"Memory was cleared. Backup: {data['backup_path']}\nRun `memglot repo restore` to restore it."
    return "\n".join(["Memory and its backups were removed.", *([_STILL_IN_GIT] if data["in_git"] else [])])


def reset_all_text(data: Data) -> str:
    """Describe what was cleared, by project."""
    lines = []
    for row in data["projects_reset"]:
        what = reset_text(row).splitlines()[0]
        if row["dry_run"]:
            what = "would be removed with its backups" if row["destroyed"] else "would be cleared after a backup"
        lines.append(f"{row['project']['name']}: {what} ({row['project_root']})")
        if row["destroyed"] and row["in_git"] and not row["dry_run"]:
            lines.append(f"  {_STILL_IN_GIT}")
        lines += [f"  warning: {warning}" for warning in row["warnings"]]
    lines += [f"{row['project']['name']}: skipped: {row['reason']}" for row in data["projects_skipped"]]
    return "\n".join(lines) or ("" if data["projects_failed"] else "No registered projects.")
