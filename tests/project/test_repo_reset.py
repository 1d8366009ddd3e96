"""Reset backs up a store before it removes it, restore restores it, and neither fails halfway."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memglot
from memglot.project import archive
from memglot.project.project import Project
from memglot.project.registry import Registry
from memglot.project.reset import backups, clear, clear_all, restore
from memglot.project.storage import journal
from memglot.project.storage.errors import ProjectError
from repo_stores import config_of, put, write_config, write_store

NAME = "memory-2026-01-02T03-04-05-678Z-01234567-89ab-cdef-0123-456789abcdef.tar.gz"


def files(root: Path) -> dict[str, bytes]:
    """Return all files of a store except backups and generated ones."""
    folder = root / ".memory"
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.relative_to(folder).as_posix().startswith((".backup", ".lock", "index"))
    }


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    return write_store(root)


def archived(project: Project, members: list[tuple[tarfile.TarInfo, bytes]], name: str = NAME) -> str:
    """Make a backup with these entries."""
    place = project.folder / ".backup" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(place, "w:gz") as out:
        for member, content in members:
            member.size = len(content)
            out.addfile(member, io.BytesIO(content))
    return name


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = kind, link
    return found


def test_reset_then_restore_restores_every_byte(project: Project) -> None:
    put(project.root, "index/memory.sqlite", b"\0\1\2")
    put(project.root, "memory/" + "x" * 200 + ".md", "long name")
    put(project.root, os.fsdecode(b"memory/caf\xe9 \\ b:c.md"), "odd name")
    (project.folder / "empty").mkdir()
    os.link(project.folder / "config.json", project.folder / "same.json")
    before = files(project.root)
    done = clear(project)
    assert done["destroyed"] is False and "config.json" in done["entries_removed"]
    assert sorted(entry.name for entry in project.folder.iterdir()) == [".backup"]
    assert (project.root / done["backup_path"]).is_file()
    back = restore(project)
    assert back == {
        "restored": sorted(set(done["entries_removed"]) - {"index"}),
        "backup_path": done["backup_path"],
        "replaced_backup": None,
    }
    assert files(project.root) == before and (project.folder / "empty").is_dir()
    assert project.warnings == []
    assert [entry.name for entry in (project.folder / ".backup").iterdir()] == [backups(project)[0]["name"]]


def test_a_dry_run_changes_nothing(project: Project) -> None:
    before = files(project.root)
    planned = clear(project, dry_run=True)
    assert planned["dry_run"] and planned["backup_path"] is None and "memory" in planned["entries_removed"]
    assert files(project.root) == before and backups(project) == []
    (project.folder / ".backup").mkdir()
    assert ".backup" in clear(project, destroy=True, dry_run=True)["entries_removed"]
    assert (project.folder / ".backup").is_dir()


def test_destroy_keeps_nothing(project: Project) -> None:
    clear(project)
    restore(project)
    assert clear(project, destroy=True)["backup_path"] is None
    assert not project.folder.exists()
    with pytest.raises(ProjectError) as nothing:
        clear(project)
    assert nothing.value.code == "MemoryNotInitialized"


@pytest.mark.parametrize("broken", ["version", "torn"])
def test_a_store_that_cannot_be_read_can_be_reset_and_restored(project: Project, broken: str) -> None:
    if broken == "version":
        write_config(project.root, version=4)
    else:
        put(project.root, "config.json", b'{"vers')
    before = files(project.root)
    name = Path(clear(project)["backup_path"]).name
    restore(project, name)
    assert files(project.root) == before


def test_a_backup_without_a_store_replaces_nothing(project: Project) -> None:
    (project.folder / "config.json").unlink()
    rest = clear(project)["backup_path"]
    write_store(project.root)
    before = files(project.root)
    with pytest.raises(ProjectError, match="not a store") as refused:
        restore(project, Path(rest).name)
    assert refused.value.code == "MemoryValidationFailed"
    assert files(project.root) == before
    assert [entry.name for entry in (project.folder / ".backup").iterdir()] == [Path(rest).name]


def test_a_registry_in_a_backup_stays_there(project: Project) -> None:
    """The user's own registry may be in the same folder, and is not part of a store."""
    put(project.root, "projects.json", "mine")
    members = [("config.json", b"{}"), ("projects.json", b"theirs"), ("projects.lock", b"x"), (".lock", b"x")]
    name = archived(project, [(member(each), content) for each, content in members])
    assert restore(project, name)["restored"] == ["config.json"]
    assert (project.folder / "projects.json").read_text() == "mine"
    assert not (project.folder / "projects.lock").exists()


def test_a_second_reset_mentions_the_backup(project: Project) -> None:
    clear(project)
    with pytest.raises(ProjectError, match="nothing to reset.*repo restore") as nothing:
        clear(project)
    assert nothing.value.code == "MemoryNotInitialized"


def test_restore_backs_up_the_existing_store(project: Project) -> None:
    first = files(project.root)
    clear(project)
    write_store(project.root)
    put(project.root, "memory/alpha.md", "Second life.")
    second = files(project.root)
    back = restore(project)
    assert files(project.root) == first
    assert restore(project, Path(back["replaced_backup"]).name)["replaced_backup"]
    assert files(project.root) == second
    names = [row["name"] for row in backups(project)]
    assert names == sorted(names, reverse=True) and len(names) == 3


def test_the_remains_of_a_killed_reset_are_backed_up_but_not_restored(project: Project) -> None:
    before = files(project.root)
    whole = clear(project)["backup_path"]
    put(project.root, "memory/left.md", "x")
    rest = clear(project)["backup_path"]
    assert restore(project)["backup_path"] == whole
    assert files(project.root) == before
    assert [row["path"] for row in backups(project)] == [rest, whole]


def test_backups_are_listed_and_named(project: Project) -> None:
    assert backups(project) == []
    with pytest.raises(ProjectError) as none:
        restore(project)
    assert none.value.code == "MemoryValidationFailed" and "no backup" in none.value.message
    path = clear(project)["backup_path"]
    (row,) = backups(project)
    assert row["path"] == path and row["name"] == Path(path).name
    assert row["size"] == (project.root / path).stat().st_size
    assert row["created_at"].startswith("2025-10-09T08:53:20.")
    with pytest.raises(ProjectError, match=row["name"]):
        restore(project, "../../elsewhere.tar.gz")
    assert restore(project, path)["backup_path"] == path


def test_the_archive_of_the_original_tool_can_be_restored(project: Project) -> None:
    """It is made by `tar -czf … --exclude .backup -C .memory .`, with `./` before each name."""
    before = files(project.root)
    place = project.folder / ".backup" / NAME
    place.parent.mkdir()
    subprocess.run(["tar", "-czf", place, "--exclude", ".backup", "-C", project.folder, "."], check=True)
    clear(project)
    restore(project, NAME)
    assert files(project.root) == before


HOSTILE: dict[str, list[tuple[tarfile.TarInfo, bytes]]] = {
    "up": [(member("../evil"), b"x")],
    "up below": [(member("memory/../../evil"), b"x")],
    "absolute": [(member("/tmp/memglot-evil"), b"x")],
    "device": [(member("memory/null", tarfile.CHRTYPE), b"")],
    "pipe": [(member("memory/pipe", tarfile.FIFOTYPE), b"")],
    "twice": [(member("memory/a"), b"x"), (member("memory/a"), b"y")],
    "file and folder": [(member("memory"), b"x"), (member("memory/a"), b"y")],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_archive_is_refused_before_anything_changes(project: Project, kind: str) -> None:
    before = files(project.root)
    name = archived(project, [(member("config.json"), b"{}"), *HOSTILE[kind]])
    with pytest.raises(ProjectError) as refused:
        restore(project, name)
    assert refused.value.code == "MemoryValidationFailed" and "Nothing was changed" in refused.value.message
    assert files(project.root) == before
    assert not (project.root / "evil").exists() and not (project.folder / "evil").exists()
    assert [entry.name for entry in (project.folder / ".backup").iterdir()] == [name]


def test_links_in_an_archive_are_left_out(project: Project, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    outside = tmp_path / "outside"
    outside.mkdir()
    name = archived(
        project,
        [
            (member("config.json"), b"{}"),
            (member("memory/a.md", tarfile.SYMTYPE, str(secret)), b""),
            (member("memory/b.md", tarfile.LNKTYPE, "../../../secret"), b""),
            (member("out", tarfile.SYMTYPE, str(outside)), b""),
            (member("out/evil"), b"x"),
        ],
    )
    restore(project, name)
    assert list(outside.iterdir()) == [] and not (project.folder / "memory/a.md").exists()
    assert not any(path.is_symlink() for path in project.folder.rglob("*"))
    assert "3 links" in project.warnings[0]


@pytest.mark.parametrize("kind", ["cut", "no gzip", "no tar", "empty", "header"])
def test_a_damaged_archive_is_refused(project: Project, kind: str) -> None:
    before = files(project.root)
    path = project.root / clear(project)["backup_path"]
    whole = path.read_bytes()
    write_store(project.root)
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 1 << 40
    content = {
        "cut": whole[: len(whole) // 2],
        "no gzip": b"hello",
        "no tar": gzip.compress(b"hello" * 999),
        "empty": b"",
        "header": gzip.compress(header.tobuf() + bytes(1 << 20)),
    }[kind]
    path.write_bytes(content)
    with pytest.raises(ProjectError) as refused:
        restore(project, path.name)
    assert refused.value.code == "MemoryValidationFailed"
    with pytest.raises(ProjectError, match="was not restored"):
        restore(project)  # An older one is not used instead without an error.
    assert files(project.root) == before


def test_a_bomb_is_refused_within_its_bound(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    name = archived(project, [(member("config.json"), b"{}"), (member("memory/a"), bytes(10_000))])
    monkeypatch.setattr(archive, "MAX_BYTES", 5_000)
    with pytest.raises(ProjectError, match="unpacks to more"):
        restore(project, name)
    monkeypatch.undo()
    monkeypatch.setattr(archive, "MAX_MEMBERS", 1)
    with pytest.raises(ProjectError, match="unpacks to more"):
        restore(project, name)


def test_links_in_a_store_are_not_followed(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    (project.folder / "memory/link").symlink_to(outside)
    clear(project)
    assert (outside / "kept").exists()
    restore(project)
    assert not (project.folder / "memory/link").exists()
    real = tmp_path / "real"
    project.folder.rename(real)
    project.folder.symlink_to(real)
    with pytest.raises(ProjectError, match="symbolic link"):
        clear(project)
    with pytest.raises(ProjectError, match="symbolic link"):
        restore(project)


def test_nothing_is_removed_when_the_backup_cannot_be_made(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(project.root)
    put(project.root, ".backup", "no folder")
    with pytest.raises(ProjectError, match="Nothing was removed"):
        clear(project)
    (project.folder / ".backup").unlink()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ProjectError, match="No space left"):
        clear(project)
    assert files(project.root) == before and backups(project) == []


def test_a_backup_that_differs_when_read_back_is_not_used(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(project.root)
    monkeypatch.setattr(archive, "_add", lambda *_: "0" * 64)
    with pytest.raises(ProjectError, match="differs from the store"):
        clear(project)
    assert files(project.root) == before and backups(project) == []


def test_a_lock_is_waited_for_and_a_dead_one_is_replaced(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    put(project.root, ".lock", json.dumps({"pid": os.getpid(), "operation": "save", "created_at": "now"}))
    before = files(project.root)
    clock = iter(range(0, 10_000, 5))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    monkeypatch.setattr("time.sleep", lambda _: None)
    for command in (clear, lambda each: restore(each, None)):
        (project.folder / ".backup").mkdir(exist_ok=True)
        with pytest.raises(ProjectError) as busy:
            command(project)
        assert busy.value.code == "MemoryLockBusy"
    assert files(project.root) == before
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    put(project.root, ".lock", json.dumps({"pid": ended.pid, "operation": "save", "created_at": "now"}))
    clear(project)
    assert not (project.folder / ".lock").exists()
    with pytest.raises(ProjectError) as nothing:
        clear(project)
    assert nothing.value.code == "MemoryNotInitialized" and len(backups(project)) == 1


def test_an_interrupted_save_is_finished_before_the_reset(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(journal, "_apply", lambda *_: None)
        journal.change_files(project.folder, {"memory/alpha.md": b"Saved."})
    assert journal.has_journal(project.folder)
    clear(project)
    restore(project)
    assert (project.folder / "memory/alpha.md").read_bytes() == b"Saved."
    assert not journal.has_journal(project.folder)


def test_a_journal_in_a_backup_is_ignored(project: Project) -> None:
    """Otherwise the next command would rename files to any path in it."""
    name = archived(project, [(member("config.json"), b"{}"), (member("index/journal"), b"{}"), (member("a"), b"x")])
    assert restore(project, name)["restored"] == ["a", "config.json"]
    assert not journal.has_journal(project.folder)


class Killed(BaseException):
    """The process ends here."""


def steps(monkeypatch: pytest.MonkeyPatch, last: int, folder: Path) -> Iterator[None]:
    """Count what changes the disk, and end at a step."""
    taken = 0
    targets = [(os, "replace"), (os, "fsync"), (shutil, "rmtree"), (Path, "unlink"), (Path, "mkdir"), (os, "sync")]
    for owner, name in targets:
        real = getattr(owner, name)

        def stepped(*arguments: Any, _real: Any = real, **named: Any) -> Any:
            nonlocal taken
            taken += 1
            if taken == last:
                raise Killed
            return _real(*arguments, **named)

        monkeypatch.setattr(owner, name, stepped)
    yield
    monkeypatch.undo()
    # The process that held it is gone, though its number is ours.
    (folder / ".lock").unlink(missing_ok=True)


@pytest.mark.parametrize("last", range(1, 15))
def test_a_killed_reset_leaves_the_store_or_a_complete_backup(
    project: Project, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    before = files(project.root)
    for _ in steps(monkeypatch, last, project.folder):
        try:
            clear(project)
        except Killed:
            pass
    if (project.folder / "config.json").exists():
        assert files(project.root) == before
        clear(project)
    restore(project)
    assert files(project.root) == before


@pytest.mark.parametrize("last", range(1, 60, 2))
def test_a_restore_that_is_killed_is_finished_by_the_next(
    project: Project, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    wanted = files(project.root)
    name = Path(clear(project)["backup_path"]).name
    write_store(project.root)
    put(project.root, "memory/alpha.md", "In between.")
    between = files(project.root)
    for _ in steps(monkeypatch, last, project.folder):
        try:
            restore(project)
        except Killed:
            pass
    if (project.folder / "config.json").exists():
        assert files(project.root) in (between, wanted)
    else:
        assert restore(project)["backup_path"].endswith(name)
        assert files(project.root) == wanted


def test_a_process_that_is_killed_loses_nothing(project: Project) -> None:
    code = (
        "import sys; from pathlib import Path; from memglot.project.project import Project;"
        "from memglot.project.reset import clear, restore; project = Project(Path(sys.argv[1]), None);\n"
        "while True: clear(project); restore(project); print('.', flush=True)"
    )
    before = files(project.root)
    for number in range(6):
        running = subprocess.Popen(
            [sys.executable, "-c", code, str(project.root)],
            env=os.environ | {"PYTHONPATH": str(Path(memglot.__file__).parents[1])},
            stdout=subprocess.PIPE,
        )
        assert running.stdout is not None
        for _ in range(number + 1):
            running.stdout.readline()
        running.kill()
        running.stdout.close()
        running.wait()
        if not (project.folder / "config.json").exists():
            restore(project)
        assert files(project.root) == before


def test_reset_all_continues_after_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry(tmp_path / "home")
    for name in ("bad", "gone", "good"):
        (tmp_path / name).mkdir()
        registry.add(tmp_path / name, config_of(name))
    write_store(tmp_path / "good")
    write_store(tmp_path / "bad")
    put(tmp_path / "bad", ".backup", "no folder")
    planned = clear_all(registry, dry_run=True)
    assert [row["project"]["name"] for row in planned["projects_reset"]] == ["bad", "good"]
    assert len(registry.list()) == 3
    done = clear_all(registry)
    by_part = {part: [row["project"]["name"] for row in rows] for part, rows in done.items()}
    assert by_part == {"projects_reset": ["good"], "projects_skipped": ["gone"], "projects_failed": ["bad"]}
    assert done["projects_reset"][0]["backup_path"].startswith(".memory/.backup/memory-")
    failed = done["projects_failed"][0]
    assert set(failed) == {"registry_id", "project", "project_root", "memory_root", "error", "warnings"}
    assert failed["error"]["code"] == "MemoryInternalError" and "could be created" in failed["error"]["message"]
    assert [row["project"]["name"] for row in registry.list()] == ["bad", "gone"]
