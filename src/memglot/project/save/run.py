"""The save itself: read, planned, and carried out as one change under the lock."""

from __future__ import annotations

import shutil
from functools import cached_property
from typing import Any

import apsw

from memglot.project.event_log import Tail, grown, lost_events, tail_of
from memglot.project.index import TOOLS_OWN, drop_index
from memglot.project.map_refresh import refresh_maps
from memglot.project.notes import note_log_mended
from memglot.project.project import Project
from memglot.project.save.draft import Draft
from memglot.project.save.intent import Intent, read_intent
from memglot.project.save.patch import changes_of, check_contents
from memglot.project.schemas import make_folders, missing_schemas
from memglot.project.snapshot import Snapshot, memory_path, snapshot_of
from memglot.project.storage.hashes import local_time
from memglot.project.storage.journal import Content, change_files, finish_change, recovery_folder
from memglot.project.storage.lock import locked
from memglot.project.storage.paths import CONFIG, EVENTS, FOLDER
from memglot.settings import moment


def save(project: Project, value: Any, *, dry_run: bool = False) -> dict[str, Any]:
    """Save what agents and people tell of a project, or with `dry_run` only plan it.

    It lands whole or not at all. Raises `ProjectError`; nothing has changed then.
    """
    if not dry_run and not project.folder.exists():
        read_intent(value)  # What is refused must not have brought anything back.
        _bring_back(project)
    project.config  # noqa: B018 - another version is refused before the input is looked at
    intent = read_intent(value)
    if dry_run:
        with snapshot_of(project) as snapshot:
            return _Saving(project, snapshot, intent).answer(dry_run=True)
    with locked(project.folder, "save"):
        project.warnings.extend(finish_change(project.folder))
        with snapshot_of(project) as snapshot:
            saving = _Saving(project, snapshot, intent)
            saving.carry_out()
            answer = saving.answer(dry_run=False)
            try:
                # Under the lock, so that of two saves the later one's map stays.
                refresh_maps(snapshot)
            except apsw.Error:
                project.warnings.append(
                    "The save has landed, but the product map could not be brought up to date; the next save "
                    "or sync does that."
                )  # The save has landed, whatever becomes of the map.
            return answer


class _Saving:
    def __init__(self, project: Project, snapshot: Snapshot, intent: Intent) -> None:
        self._project = project
        self._snapshot = snapshot
        self._now = local_time(moment())
        changes = changes_of(intent, snapshot)
        project.warnings.extend(check_contents(intent.task, changes))
        self._patch = {"source": {"kind": "agent", "task": intent.task}, "changes": changes}
        self._draft = Draft(snapshot, intent.task, self._now)
        to_come = {change["id"] for change in changes if change["op"] == "create_object"}
        for number, change in enumerate(changes):
            self._draft.make(change, to_come, f"/changes/{number}")
        self._files: dict[str, Content] = {**self._draft.files()}
        self._repairs: list[str] = []
        self._tail = Tail(0, b"")
        if self._draft.events:
            self._plan_log()
            self._files |= missing_schemas(project.folder)
        self._recovery = self._dirty()

    def _plan_log(self) -> None:
        self._tail = tail_of(self._project.folder / EVENTS)
        lost = lost_events(self._snapshot, self._tail) if self._tail.torn else []
        if self._tail.torn:
            self._repairs.append(note_log_mended(self._apart(EVENTS), len(lost)))
            self._project.warnings.append(self._repairs[-1])
        # The log is the last file to take its place: with it there, all others are.
        self._files[EVENTS] = grown(self._tail, [*lost, *self._draft.events])

    @cached_property
    def _recovery_folder(self) -> str:
        return recovery_folder(self._project.folder, self._now)

    def _apart(self, path: str) -> str:
        return f"{FOLDER}/{self._recovery_folder}/{path}"

    def _dirty(self) -> list[dict[str, str]]:
        """The files with changes that nobody committed, which this save would overwrite or remove."""
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
            found.append({"path": path, "recovery_path": self._apart(inside), "reason": reason})
        return found

    def carry_out(self) -> None:
        """Write everything."""
        if not self._files:
            return
        kept = [(item["path"], item["recovery_path"]) for item in self._recovery]
        if self._tail.torn:
            kept.append((memory_path(EVENTS), self._apart(EVENTS)))
        for path, apart in kept:
            place = self._project.root / apart
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self._project.root / path, place)
        make_folders(self._project.folder, self._snapshot.layout)
        log = self._files.pop(EVENTS)
        change_files(self._project.folder, {**self._files, EVENTS: log})
        self._files[EVENTS] = log
        # The real tool would go on answering from an index that knows nothing of this; without one it makes its own.
        (self._project.folder / TOOLS_OWN).unlink(missing_ok=True)
        try:
            self._snapshot.refresh(self._files)
        except apsw.Error:
            drop_index(self._project.folder)

    def answer(self, *, dry_run: bool) -> dict[str, Any]:
        """What the save did, or would do."""
        return {
            "dry_run": dry_run,
            "patch": self._patch,
            "files_changed": sorted(memory_path(path) for path in self._files),
            "recovery_files": self._recovery,
            "repairs_applied": self._repairs,
            **self._draft.told,
            "events_appended": len(self._draft.events),
            "index_updated": not dry_run and bool(self._files) and self._snapshot.index.kept,
        }


def _bring_back(project: Project) -> None:
    """Bring a deleted `.memory` back from the last commit; one that was reset keeps its backups, and stays reset."""
    if project.git is None or project.folder.exists():
        return
    if project.git.ask("cat-file", "-e", f"HEAD:{FOLDER}/{CONFIG}") is not None:
        project.git.run("restore", "--source", "HEAD", "--", FOLDER)
        project.warnings.append(
            "Memory storage was restored from HEAD before writing because tracked .memory files were deleted."
        )
