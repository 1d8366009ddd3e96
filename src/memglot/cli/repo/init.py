"""`memglot repo init`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from memglot.cli.repo.output import Data, bullets, print_envelope
from memglot.cli.session import Session, command


@command(
    "init",
    examples="""
    memglot repo init
    # Print the instructions for an agent that indexes the project.
    memglot repo init --brief
    """,
)
@click.option("--dry-run", is_flag=True, help="Show what would be created, and write nothing.")
@click.option("--brief", is_flag=True, help="Only print the brief for an agent that indexes the project.")
@click.option("--no-agent-guidance", is_flag=True, help="Do not change AGENTS.md and CLAUDE.md.")
@click.option("--force", is_flag=True, help="Start over; existing memory is backed up first.")
def init(session: Session, dry_run: bool, brief: bool, no_agent_guidance: bool, force: bool) -> int:
    """Create the memory of this project.

    You can run it again: existing memory is kept, and what is missing is added. AGENTS.md and CLAUDE.md get a short
    text for agents and the product map, each between markers; the rest of these files is not changed.
    """
    from memglot.project import init as project_init
    from memglot.project.envelope import run

    if brief:
        envelope = run(Path(), project_init.brief, register=False)
        return print_envelope(session, envelope, lambda data: str(data["brief"]), always=True)
    create = partial(project_init.init, dry_run=dry_run, guidance=not no_agent_guidance, force=force)
    return print_envelope(session, run(Path(), create, register=not dry_run), init_text)


def init_text(data: Data) -> str:
    """Describe what `init` did."""
    if data["dry_run"]:
        head = "Nothing was written. Memory would be created." if data["created"] else "Memory already exists."
    else:
        head = "Memory is ready." if data["created"] else "Memory already exists and was not changed."
    lines = [*_cleared(data["cleared"]), head]
    lines += bullets("Files that would be created" if data["dry_run"] else "Files created", data["files_created"])
    if data["git_available"]:
        updated = "would be updated" if data["dry_run"] else "updated"
        lines.append(f".gitignore: {updated if data['gitignore_updated'] else 'unchanged'}.")
    for target in data["agent_guidance"]["targets"]:
        is_planned = data["dry_run"] and target["status"] in ("created", "updated")
        lines.append(f"{target['path']}: {'would be ' if is_planned else ''}{target['status']}.")
    if not data["agent_guidance"]["enabled"]:
        lines.append("AGENTS.md and CLAUDE.md were not changed.")
    if data["created"] and not data["dry_run"]:
        lines += ["", *bullets("Next steps", data["next_steps"])]
    return "\n".join(lines)


def _cleared(cleared: Data | None) -> list[str]:
    """Describe what a forced `init` did to the existing memory."""
    if cleared is None:
        return []
    if not cleared["dry_run"]:
        return [f"The existing memory was cleared. Backup: {cleared['backup_path']}"]
    return bullets("The existing memory would be cleared after a backup", cleared["entries_removed"])
