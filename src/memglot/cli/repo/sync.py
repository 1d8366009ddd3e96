"""`memglot repo sync`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import click

from memglot.cli.repo.output import Data, print_envelope
from memglot.cli.session import Session, command
from memglot.display import one_line, plural

_MAX_UNANCHORED = 10
_MAX_FILES = 3


@command(
    "sync",
    examples="""
    memglot repo sync
    # Accept the notes that you edited by hand, and see first which ones.
    memglot repo sync --adopt --dry-run
    """,
)
@click.option(
    "--adopt", is_flag=True, help="Accept nodes whose files were edited by hand: update their hashes and log."
)
@click.option("--dry-run", is_flag=True, help="Only report; do not update the sync marker and the product map.")
def sync(session: Session, dry_run: bool, adopt: bool) -> int:
    """Compare project memory with changes in the repository.

    Reports nodes whose files changed, moved or are gone since the last sync, and changed files that no node describes.
    """
    from memglot.project.envelope import run
    from memglot.project.sync import sync

    compare = partial(sync, dry_run=dry_run, adopt_edits=adopt)
    envelope = run(Path(), compare, register=not dry_run)
    refused = envelope["data"]["adopted"]["refused"] if envelope["ok"] and adopt else []
    for row in () if session.json else refused:
        click.echo(one_line(f"error: not adopted: {row['id']}: {row['reason']} ({row['path']})"), err=True)
    return print_envelope(session, envelope, sync_text) or int(bool(refused))


def sync_text(data: Data) -> str:
    """Describe the changes since the last sync; control characters in paths are escaped."""
    lines = [*_adopted(data), _headline(data), *_changed_nodes(data), *_gaps(data)]
    lines = [one_line(line) for line in lines]
    skeleton = data["save_skeleton"]
    if skeleton["nodes"] or skeleton["stale"]:
        fill = "what changed and the `reason` of each stale node" if skeleton["stale"] else "what changed"
        lines += ["", f"Review these nodes, fill in {fill}, and send the result to `memglot repo save --stdin`:", ""]
        text = json.dumps(skeleton, ensure_ascii=False)
        lines.append(text if one_line(text) == text else json.dumps(skeleton))
    commit = (data["head_commit"] or "")[:7]
    marker = f"The sync marker is now at {commit}." if data["marker_advanced"] else "The sync marker was not moved."
    return "\n".join([*lines, "", marker])


def _adopted(data: Data) -> list[str]:
    if "adopted" not in data:
        return []
    found = data["adopted"]
    ids = [*found["nodes"], *found["relations"]]
    verb = "To adopt" if found["dry_run"] else "Adopted"
    return [f"{verb}: {plural(len(found['nodes']), 'node')}, {plural(len(found['relations']), 'relation')}."] + [
        f"  adopted   {id}" for id in ids
    ]


def _headline(data: Data) -> str:
    counts = f"{len(data['fresh'])} fresh, {len(data['changed'])} changed, {len(data['orphaned'])} orphaned"
    if data["full_verification"]:
        return f"Sync: checked all anchors (no usable sync marker): {counts}."
    return f"Sync: {plural(data['changed_files_count'], 'changed file')} since {data['base_commit'][:7]}: {counts}."


def _changed_nodes(data: Data) -> list[str]:
    lines = []
    for node in data["changed"]:
        lines += [f"  changed   {_node(data, node['id'])}", f"            {_first_files(node['files'])}"]
    for node in data["orphaned"]:
        lines.append(f"  orphaned  {_node(data, node['id'])}")
        moved = {item["anchor"]: item["to"] for item in node.get("renamed", [])}
        for anchor in node["anchors"]:
            lines.append(
                f"            {anchor}" + (f" moved to {moved[anchor]}" if anchor in moved else " matches no file")
            )
    return lines


def _gaps(data: Data) -> list[str]:
    lines = [
        f"  no node   {gap['dir']}: {plural(gap['files_count'], 'changed file')}, {_first_files(gap['examples'])}"
        for gap in data["coverage_gaps"]
    ]
    lines += [f"  no anchor {_node(data, id)}" for id in data["unanchored"][:_MAX_UNANCHORED]]
    if (hidden := len(data["unanchored"]) - _MAX_UNANCHORED) > 0:
        lines.append(f"            and {hidden} more")
    return lines


def _node(data: Data, id: str) -> str:
    return f"{id} — {data['titles'].get(id, id)}"


def _first_files(names: list[str]) -> str:
    hidden = len(names) - _MAX_FILES
    return ", ".join(names[:_MAX_FILES]) + (f" and {hidden} more" if hidden > 0 else "")
