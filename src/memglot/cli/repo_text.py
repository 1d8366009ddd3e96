"""What the commands of project memory say to a person."""

from __future__ import annotations

import json
from typing import Any

from memglot.project.sync import on_one_line

_SAVED = (
    ("Files changed", "files_changed"),
    ("Memory created", "memory_created"),
    ("Memory updated", "memory_updated"),
    ("Memory deleted", "memory_deleted"),
    ("Relations created", "relations_created"),
    ("Relations updated", "relations_updated"),
    ("Relations deleted", "relations_deleted"),
)
_STAGES = ("building", "shipped", "idea", "paused", "dead")
_SHOWN = 10
_STILL_IN_GIT = (
    "Git still has what was committed of it: `git restore --staged --worktree .memory` brings that back. Commit the "
    "deletion before `memglot repo init`."
)
Data = dict[str, Any]


def init_text(data: Data) -> str:
    """What `init` did."""
    if data["dry_run"]:
        head = "Nothing was written. Memory would be made here." if data["created"] else "Memory is there already."
    else:
        head = "Memory is ready." if data["created"] else "Memory was there already, and stays as it is."
    lines = [*_cleared(data["cleared"]), head]
    lines += _list("Files that would be made" if data["dry_run"] else "Files made", data["files_created"])
    if data["git_available"]:
        updated = "would be updated" if data["dry_run"] else "updated"
        lines.append(f"Gitignore {updated if data['gitignore_updated'] else 'unchanged'}.")
    for target in data["agent_guidance"]["targets"]:
        is_planned = data["dry_run"] and target["status"] in ("created", "updated")
        lines.append(f"{target['path']}: {'would be ' if is_planned else ''}{target['status']}.")
    if not data["agent_guidance"]["enabled"]:
        lines.append("AGENTS.md and CLAUDE.md were left alone.")
    if data["created"] and not data["dry_run"]:
        lines += ["", *_list("Next", data["next_steps"])]
    return "\n".join(lines)


def _cleared(cleared: Data | None) -> list[str]:
    """What a forced `init` did to the memory that was there."""
    if cleared is None:
        return []
    if not cleared["dry_run"]:
        return [f"The memory that was there is cleared. Backup: {cleared['backup_path']}"]
    return _list("The memory that is there would be cleared, after a backup", cleared["entries_removed"])


def save_text(data: Data) -> str:
    """What a save did, or would do."""
    if not data["files_changed"]:
        return f"Nothing {'would change' if data['dry_run'] else 'changed'}: memory says all of this already."
    lines = ["Planned Memory save input." if data["dry_run"] else "Saved Memory save input."]
    for label, key in _SAVED:
        lines += _list(label, data[key])
    lines += _list("Copies kept", [f"{item['path']} in {item['recovery_path']}" for item in data["recovery_files"]])
    lines.append(f"Events appended: {data['events_appended']}")
    lines.append("Index updated." if data["index_updated"] else "Index not updated.")
    return "\n".join(lines)


def sync_text(data: Data) -> str:
    """What changed since the last sync; a path may have signs that would break its line, and is shown on one."""
    counts = f"{len(data['fresh'])} fresh, {len(data['changed'])} changed, {len(data['orphaned'])} orphaned"
    if data["full_verification"]:
        head = f"Sync: every anchor looked at (no usable marker): {counts}."
    else:
        head = f"Sync: {_many(data['changed_files_count'], 'changed file')} since {data['base_commit'][:7]}: {counts}."
    lines = [head]
    for node in data["changed"]:
        lines += [f"  changed   {_named(data, node['id'])}", f"            {_some(node['files'])}"]
    for node in data["orphaned"]:
        lines.append(f"  orphaned  {_named(data, node['id'])}")
        moved = {item["anchor"]: item["to"] for item in node.get("renamed", [])}
        for anchor in node["anchors"]:
            lines.append(
                f"            {anchor}" + (f" moved to {moved[anchor]}" if anchor in moved else " matches no file")
            )
    for gap in data["coverage_gaps"]:
        lines.append(f"  no node   {gap['dir']}: {_many(gap['files_count'], 'changed file')}, {_some(gap['examples'])}")
    for id in data["unanchored"][:_SHOWN]:
        lines.append(f"  no anchor {_named(data, id)}")
    if len(data["unanchored"]) > _SHOWN:
        lines.append(f"            and {len(data['unanchored']) - _SHOWN} more")
    lines = [on_one_line(line) for line in lines]
    skeleton = data["save_skeleton"]
    if skeleton["nodes"] or skeleton["stale"]:
        fill = "what changed and the `reason` of each stale node" if skeleton["stale"] else "what changed"
        lines += ["", f"Look at these nodes again, fill in {fill}, and send it to `memglot repo save --stdin`:", ""]
        text = json.dumps(skeleton, ensure_ascii=False)
        lines.append(text if on_one_line(text) == text else json.dumps(skeleton))
    head_commit = data["head_commit"] or ""
    moved_to = f"The marker is at {head_commit[:7]} now." if data["marker_advanced"] else "The marker was not moved."
    return "\n".join([*lines, "", moved_to])


def status_text(data: Data) -> str:
    """Where everything stands."""
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
    lines.append(f"Last activity: {_moment(data['last_activity'])} · last sync: {_synced(data['last_sync'])}")
    return "\n".join(map(on_one_line, lines))


def status_all_text(data: Data) -> str:
    """Where everything stands, a line a project."""
    if not data["projects"]:
        return "No registered projects."
    lines = [_row(row) for row in data["projects"]]
    if any(row["problem"] for row in data["projects"]):
        lines.append("`memglot repo projects prune` takes those out of the list that are gone or cannot be read.")
    return "\n".join(map(on_one_line, lines))


def _row(row: Data) -> str:
    name = row["project"]["name"]
    if row["needs_reset"]:
        version = row["storage_version"]
        what = "storage cannot be read" if version is None else f"storage version {version}"
        return f"{name}: {what}; `memglot repo reset` and `memglot repo init` there begin anew ({row['project_root']})"
    if row["problem"]:
        return f"{name}: {row['problem']} ({row['project_root']})"
    stages = " · ".join(f"{stage} {row['features_by_stage'][stage]['count']}" for stage in _STAGES[:3])
    return (
        f"{name}: {stages} · questions {len(row['open_questions'])} · dead anchors {len(row['stale'])}"
        f" · active {_moment(row['last_activity'])} · synced {_synced(row['last_sync'])}"
    )


def check_text(data: Data) -> str:
    """What is wrong."""
    lines = ["Memory is valid." if data["valid"] else "Memory is not valid."]
    for kind in ("errors", "warnings"):
        for issue in data[kind]:
            place = " ".join(part for part in (issue["path"], issue["field"]) if part)
            lines.append(f"{kind[:-1]}: {place}: {issue['message']} ({issue['code']})")
    return "\n".join(map(on_one_line, lines))


def inspect_text(data: Data) -> str:
    """One node, whole."""
    node = data["object"]
    lines = [f"{node['id']} — {node['title']}  [{node['status']}]"]
    for key in ("stage", "superseded_by", "created_at", "updated_at", "body_path"):
        if node[key] is not None:
            lines.append(f"{key}: {node[key]}")
    for key in ("anchors", "tags"):
        if node[key]:
            lines.append(f"{key}: {', '.join(node[key])}")
    lines += [f"evidence: {item['kind']} {item['id']}" for item in node["evidence"]]
    for key in ("source", "origin"):
        if node[key]:
            lines.append(f"{key}: " + ", ".join(f"{name} {value}" for name, value in node[key].items()))
    for link in data["relations"]["outgoing"]:
        lines.append(f"→ {link['predicate']} {link['to']}{_state(link)}")
    for link in data["relations"]["incoming"]:
        lines.append(f"← {link['from']} {link['predicate']} this{_state(link)}")
    return "\n".join([*lines, "", node["body"].rstrip()])


def _state(link: Data) -> str:
    told = [link["confidence"]] if link["confidence"] else []
    told += [link["status"]] if link["status"] != "active" else []
    return f" ({', '.join(told)})" if told else ""


def rebuild_text(data: Data) -> str:
    """What was indexed."""
    counts = ", ".join(
        f"{_many(data[f'{name}s_indexed'], noun)}"
        for name, noun in (("object", "node"), ("relation", "relation"), ("event", "event"))
    )
    return f"{'Index built anew' if data['index_rebuilt'] else 'Index not kept'}: {counts}."


def reset_text(data: Data) -> str:
    """What was cleared."""
    if data["dry_run"]:
        how = "without a backup" if data["destroyed"] else "after a backup"
        return "\n".join(["Nothing was removed.", *_list(f"Would be removed, {how}", data["entries_removed"])])
    if not data["destroyed"]:
        return f"Memory is cleared. Backup: {data['backup_path']}\n`memglot repo restore` brings it back."
    return "\n".join(["Memory is gone, with its backups.", *([_STILL_IN_GIT] if data["in_git"] else [])])


def reset_all_text(data: Data) -> str:
    """What was cleared, project by project."""
    lines = []
    for row in data["projects_reset"]:
        what = reset_text(row).splitlines()[0]
        if row["dry_run"]:
            what = "would be destroyed, with its backups" if row["destroyed"] else "would be cleared, after a backup"
        lines.append(f"{row['project']['name']}: {what} ({row['project_root']})")
        if row["destroyed"] and row["in_git"] and not row["dry_run"]:
            lines.append(f"  {_STILL_IN_GIT}")
        lines += [f"  warning: {warning}" for warning in row["warnings"]]
    lines += [f"{row['project']['name']}: left out: {row['reason']}" for row in data["projects_skipped"]]
    return "\n".join(lines) or ("" if data["projects_failed"] else "No registered projects.")


def reset_failures(data: Data) -> list[str]:
    """What could not be cleared, project by project."""
    return [f"{row['project']['name']}: {row['error']['message']}" for row in data["projects_failed"]]


def restore_text(data: Data) -> str:
    """What came back."""
    lines = [f"Memory is back from {data['backup_path']}."]
    if data["replaced_backup"]:
        lines.append(f"What was there is kept in {data['replaced_backup']}.")
    return "\n".join(lines)


def projects_text(data: Data) -> str:
    """The registered projects."""
    rows = [f"{row['registry_id']}  {row['project']['name']}  {row['project_root']}" for row in data["projects"]]
    return "\n".join(map(on_one_line, rows)) or "No registered projects."


def registered_text(data: Data) -> str:
    """A project that is registered now."""
    return f"Registered {data['project']['project']['name']} ({data['project']['project_root']})."


def removed_text(data: Data) -> str:
    """A project that is not registered any more."""
    return f"{data['removed']['project']['name']} is no longer registered; its memory stays where it is."


def pruned_text(data: Data) -> str:
    """What was taken out."""
    return (
        "\n".join(_list("No longer registered", [row["project_root"] for row in data["removed"]]))
        or "Nothing to prune."
    )


def _list(label: str, values: list[str]) -> list[str]:
    return [f"{label}:", *(f"- {value}" for value in values)] if values else []


def _named(data: Data, id: str) -> str:
    return f"{id} — {data['titles'].get(id, id)}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _moment(text: str | None) -> str:
    return "never" if text is None else text[:16].replace("T", " ")


def _synced(marker: Data | None) -> str:
    return "never" if marker is None else _moment(marker["last_sync_at"])
