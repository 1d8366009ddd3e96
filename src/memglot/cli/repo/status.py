"""`memglot repo status`."""

from __future__ import annotations

from pathlib import Path

import click

from memglot.cli.repo.output import Data, print_envelope
from memglot.cli.session import Session, command
from memglot.display import one_line

_STAGES = ("building", "shipped", "idea", "paused", "dead")


@command("status")
@click.option("--all", "every", is_flag=True, help="Show every registered project.")
def status(session: Session, every: bool) -> int:
    """Show the status of this project.

    Lists features by stage, open questions and dead anchors, with the times of the last activity and sync.
    """
    from memglot.project.envelope import run
    from memglot.project.status import status, status_all

    if every:
        return print_envelope(session, run(Path(), status_all, register=False), status_all_text, always=True)
    return print_envelope(session, run(Path(), status), status_text, always=True)


def status_text(data: Data) -> str:
    """Describe the state of a project."""
    stages = data["features_by_stage"]
    lines = [data["project"]["name"], "Features: " + " · ".join(f"{name} {stages[name]['count']}" for name in _STAGES)]
    for name in _STAGES:
        if stages[name]["count"]:
            lines.append(f"  {name}: {', '.join(stages[name]['titles'])}")
    questions = data["open_questions"]
    lines.append(f"Open questions: {len(questions)}" if questions else "Open questions: none")
    lines += [f"  {item['id']}: {item['title']}" for item in questions]
    lines.append(f"Dead anchors: {len(data['stale'])}" if data["stale"] else "Dead anchors: none")
    lines += [f"  {item['id']}: {', '.join(item['orphaned_anchors'])}" for item in data["stale"]]
    lines.append(f"Last activity: {_minute(data['last_activity'])} · last sync: {_sync_time(data['last_sync'])}")
    return "\n".join(map(one_line, lines))


def status_all_text(data: Data) -> str:
    """Describe the state of all projects, one per line."""
    if not data["projects"]:
        return "No registered projects."
    lines = [_row(row) for row in data["projects"]]
    if any(row["problem"] for row in data["projects"]):
        lines.append("Run `memglot repo projects prune` to unregister projects that are missing or cannot be read.")
    return "\n".join(map(one_line, lines))


def _row(row: Data) -> str:
    name = row["project"]["name"]
    if row["needs_reset"]:
        version = row["storage_version"]
        what = "storage cannot be read" if version is None else f"storage version {version}"
        return (
            f"{name}: {what}; run `memglot repo reset` and `memglot repo init` in {row['project_root']} to start over"
        )
    if row["problem"]:
        return f"{name}: {row['problem']} ({row['project_root']})"
    stages = " · ".join(f"{stage} {row['features_by_stage'][stage]['count']}" for stage in _STAGES[:3])
    return (
        f"{name}: {stages} · questions {len(row['open_questions'])} · dead anchors {len(row['stale'])}"
        f" · active {_minute(row['last_activity'])} · synced {_sync_time(row['last_sync'])}"
    )


def _minute(time: str | None) -> str:
    return "never" if time is None else time[:16].replace("T", " ")


def _sync_time(marker: Data | None) -> str:
    return "never" if marker is None else _minute(marker["last_sync_at"])
