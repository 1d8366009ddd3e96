"""Save to project memory: check the request, plan the changes, and write them as one change under the lock."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import apsw

from memglot.project.event_log import Tail, append_events, lost_events, note_log_repaired, read_tail
from memglot.project.index import drop_index
from memglot.project.map import update_map
from memglot.project.project import Project
from memglot.project.save.draft import Draft
from memglot.project.save.parse import checked_request, decode_json, read_request
from memglot.project.save.patch import Change, changes_of, check_contents
from memglot.project.save.request import SaveRequest
from memglot.project.snapshot import Snapshot, snapshot_of
from memglot.project.storage.files import drop_tool_index
from memglot.project.storage.hashes import local_time
from memglot.project.storage.journal import Content, change_files, finish_change, recovery_folder
from memglot.project.storage.lock import locked
from memglot.project.storage.paths import CONFIG, EVENTS, FOLDER, memory_path
from memglot.project.storage.schemas import make_folders, missing_schemas
from memglot.project.storage.vocabulary import SourceKind
from memglot.settings import export_time


def save(
    project: Project,
    request: SaveRequest | bytes,
    *,
    dry_run: bool = False,
    actor: SourceKind = "agent",
    source: str = "stdin",
) -> dict[str, Any]:
    """Write what a request asks for, all of it or nothing; with `dry_run` only plan it.

    The request is a struct or JSON text, which `source` names in errors; `actor` is who saves. Raise `ProjectError`;
    then nothing has changed.
    """
    value = request if isinstance(request, SaveRequest) else decode_json(request, source)
    if dry_run or project.folder.exists():
        project.config  # noqa: B018 - another storage version is reported before errors in the request
    checked = checked_request(value if isinstance(value, SaveRequest) else read_request(value))
    changes = partial(changes_of, checked)
    return save_changes(project, checked.task, changes, dry_run=dry_run, actor=actor)


def save_changes(
    project: Project,
    task: str,
    changes: Callable[[Snapshot], list[Change]],
    *,
    dry_run: bool = False,
    actor: SourceKind = "agent",
) -> dict[str, Any]:
    """Write the changes that a function makes of the present memory, which nobody else changes meanwhile.

    Everything that writes nodes and relations goes through here. Raise `ProjectError`; then nothing has changed.
    """
    if dry_run:
        with snapshot_of(project) as snapshot:
            return _Plan(project, snapshot, task, changes(snapshot), actor).result(dry_run=True)
    _restore_deleted_store(project)
    project.config  # noqa: B018 - without a store there is nothing to lock
    with locked(project.folder, "save"):
        project.warnings.extend(finish_change(project.folder))
        with snapshot_of(project) as snapshot:
            plan = _Plan(project, snapshot, task, changes(snapshot), actor)
            plan.write()
            result = plan.result(dry_run=False)
            try:
                # Under the lock, so that the map of the later of two saves remains.
                update_map(snapshot)
            except apsw.Error:
                # The save is complete, even if the map is not up to date.
                project.warnings.append(
                    "The save is complete, but the product map could not be updated; the next save or sync updates it."
                )
            return result


class _Plan:
    """The files that a save writes, and what it reports about them."""

    def __init__(
        self, project: Project, snapshot: Snapshot, task: str, changes: list[Change], actor: SourceKind
    ) -> None:
        self._project = project
        self._snapshot = snapshot
        self._now = local_time(export_time())
        project.warnings.extend(check_contents(task, changes))
        self._patch = {"source": {"kind": actor, "task": task}, "changes": changes}
        self._draft = Draft(snapshot, task, self._now, actor)
        new_ids = {change["id"] for change in changes if change["op"] == "create_object"}
        for number, change in enumerate(changes):
            self._draft.apply(change, new_ids, f"/changes/{number}")
        self._files: dict[str, Content] = {**self._draft.files()}
        self._repairs: list[str] = []
        self._tail = Tail(0, b"")
        if self._draft.events:
            self._plan_log()
            self._files |= missing_schemas(project.folder)
        self._recovery = self._uncommitted_files()

    def _plan_log(self) -> None:
        self._tail = read_tail(self._project.folder / EVENTS)
        lost = lost_events(self._snapshot, self._tail) if self._tail.torn else []
        if self._tail.torn:
            self._repairs.append(note_log_repaired(self._recovery_path(EVENTS), len(lost)))
            self._project.warnings.append(self._repairs[-1])
        self._files[EVENTS] = append_events(self._tail, [*lost, *self._draft.events])

    @cached_property
    def _recovery_folder(self) -> str:
        return recovery_folder(self._project.folder, self._now)

    def _recovery_path(self, path: str) -> str:
        return f"{FOLDER}/{self._recovery_folder}/{path}"

    def _uncommitted_files(self) -> list[dict[str, str]]:
        """Return the files with uncommitted changes that this save would overwrite or remove."""
        folder = self._project.folder
        touched = [memory_path(path) for path in self._files if path != EVENTS and (folder / path).exists()]
        if self._project.git is None or not touched:
            return []
        dirty = self._project.git.dirty(touched)
        self._project.warnings.extend(f"Dirty Memory file will be backed up before save: {path}" for path in dirty)
        found = []
        for path in dirty:
            inside = path.removeprefix(FOLDER + "/")
            reason = "dirty_delete" if self._files[inside] is None else "dirty_overwrite"
            found.append({"path": path, "recovery_path": self._recovery_path(inside), "reason": reason})
        return found

    def write(self) -> None:
        """Write all files."""
        if not self._files:
            return
        copies = [(item["path"], item["recovery_path"]) for item in self._recovery]
        if self._tail.torn:
            copies.append((memory_path(EVENTS), self._recovery_path(EVENTS)))
        for path, copy in copies:
            place = self._project.root / copy
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self._project.root / path, place)
        make_folders(self._project.folder, self._snapshot.layout)
        # The log is written last: once it is there, all other files are.
        log = self._files.pop(EVENTS)
        change_files(self._project.folder, {**self._files, EVENTS: log})
        self._files[EVENTS] = log
        drop_tool_index(self._project.folder)
        try:
            self._snapshot.refresh(self._files)
        except apsw.Error:
            drop_index(self._project.folder)

    def result(self, *, dry_run: bool) -> dict[str, Any]:
        """Return what the save did, or would do."""
        return {
            "dry_run": dry_run,
            "patch": self._patch,
            "files_changed": sorted(memory_path(path) for path in self._files),
            "recovery_files": self._recovery,
            "repairs_applied": self._repairs,
            **self._draft.changed_ids,
            "events_appended": len(self._draft.events),
            "index_updated": not dry_run and bool(self._files) and self._snapshot.index.kept,
        }


def _restore_deleted_store(project: Project) -> None:
    """Restore a deleted `.memory` from the last commit; a store that was reset still has its backups, and stays so."""
    if project.git is None or project.folder.exists():
        return
    if project.git.ask("cat-file", "-e", f"HEAD:{FOLDER}/{CONFIG}") is not None:
        project.git.restore(FOLDER)
        project.warnings.append(
            "Memory storage was restored from HEAD before writing because tracked .memory files were deleted."
        )
