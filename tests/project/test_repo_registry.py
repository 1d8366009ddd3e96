"""The registry of projects is sorted and stable, loses nothing, and never fails a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

import memglot
from memglot.project.registry import Registry, registry_id_of
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.lock import locked
from repo_stores import config_of, write_config


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "home")


def folder(tmp_path: Path, name: str) -> Path:
    found = tmp_path / name
    found.mkdir()
    return found


def test_a_missing_registry_is_empty(registry: Registry) -> None:
    assert registry.list() == [] and registry.warnings == []
    assert not registry.home.exists()


def test_a_row_has_the_shape_of_the_file(registry: Registry, tmp_path: Path) -> None:
    root = folder(tmp_path, "one")
    (tmp_path / "link").symlink_to(root)
    row = registry.add(tmp_path / "link", config_of("One", "project.one"))
    real = os.path.realpath(root)
    assert row["registry_id"] == "prj_" + sha256(real.encode()).hexdigest()[:16] == registry_id_of(root)
    assert row | {"registry_id": "", "registered_at": "", "last_seen_at": ""} == {
        "last_seen_at": "",
        "memory_root": f"{real}/.memory",
        "project": {"id": "project.one", "name": "One"},
        "project_root": real,
        "registered_at": "",
        "registry_id": "",
        "source": "auto",
    }
    text = registry.path.read_text("utf-8")
    stable = json.dumps({"projects": [row], "version": 1}, sort_keys=True, indent=2, ensure_ascii=False)
    assert text == stable + "\n"
    assert sorted(path.name for path in registry.home.iterdir()) == ["projects.json"]


def test_rows_are_sorted_as_people_sort(registry: Registry, tmp_path: Path) -> None:
    for number, name in enumerate(["beta", "Zoë", "_x", "alpha", "Alpha", "zoe", "2nd"]):
        registry.add(folder(tmp_path, f"p{number}"), config_of(name))
    assert [row["project"]["name"] for row in registry.list()] == ["_x", "2nd", "alpha", "Alpha", "beta", "zoe", "Zoë"]


def test_a_project_added_by_hand_stays_manual(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder(tmp_path, "one")
    first = registry.add(root, config_of(), "manual")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1770000000")
    second = registry.add(root, config_of("Renamed"), "auto")
    assert second["source"] == "manual" and second["project"]["name"] == "Renamed"
    assert second["registered_at"] == first["registered_at"] != second["last_seen_at"]
    assert registry.list() == [second]


def test_keys_of_another_release_stay(registry: Registry, tmp_path: Path) -> None:
    root = folder(tmp_path, "one")
    row = registry.add(root, config_of())
    registry.path.write_text(json.dumps({"projects": [row | {"colour": "red"}], "version": 1}), "utf-8")
    assert registry.add(root, config_of())["colour"] == "red"


def test_a_project_is_removed_by_any_of_its_names(registry: Registry, tmp_path: Path) -> None:
    root = folder(tmp_path, "one")
    for identifier in (registry_id_of(root), str(root), "project.one", "One"):
        registry.add(root, config_of("One", "project.one"))
        assert registry.remove(identifier)["project_root"] == os.path.realpath(root)
        assert registry.list() == []


def test_a_name_that_fits_two_projects_is_refused(registry: Registry, tmp_path: Path) -> None:
    one, two = folder(tmp_path, "one"), folder(tmp_path, "two")
    for root in (one, two):
        registry.add(root, config_of())
    with pytest.raises(ProjectError) as refused:
        registry.remove("Demo")
    assert refused.value.code == "MemoryValidationFailed"
    assert registry_id_of(one) in refused.value.message and registry_id_of(two) in refused.value.message
    assert len(registry.list()) == 2
    with pytest.raises(ProjectError, match="No registered project"):
        registry.remove("nobody")


def test_prune_removes_projects_that_cannot_be_read(registry: Registry, tmp_path: Path) -> None:
    good, old, gone = (folder(tmp_path, name) for name in ("good", "old", "gone"))
    write_config(good)
    write_config(old, version=4)
    for root in (good, old, gone):
        registry.add(root, config_of(root.name), "manual")
    gone.rmdir()
    assert [row["project"]["name"] for row in registry.prune()] == ["gone", "old"]
    assert [row["project"]["name"] for row in registry.list()] == ["good"]
    assert registry.prune() == []


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"version": 2, "projects": []}', b"\xff\xfe", b"[" * 9999, b""])
def test_a_broken_registry_counts_as_empty_and_is_kept(registry: Registry, tmp_path: Path, content: bytes) -> None:
    registry.home.mkdir()
    registry.path.write_bytes(content)
    assert registry.list() == [] and len(registry.warnings) == 1
    assert registry.path.read_bytes() == content
    registry.add(folder(tmp_path, "one"), config_of())
    (kept,) = registry.home.glob(f"projects.invalid-*-{os.getpid()}.json")
    assert kept.read_bytes() == content
    assert len(registry.list()) == 1 and len(registry.warnings) == 1


def test_registering_by_the_way_never_fails(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("no folder")
    registry = Registry(tmp_path / "home")
    assert registry.add(tmp_path, config_of())["project"]["name"] == "Demo"
    assert "not registered" in registry.warnings[0]
    with pytest.raises(ProjectError):
        registry.add(tmp_path, config_of(), "manual")


def test_a_root_that_json_cannot_spell_only_warns(registry: Registry, tmp_path: Path) -> None:
    registry.add(tmp_path / os.fsdecode(b"caf\xe9"), config_of())
    assert registry.list() == [] and "UTF-8" in registry.warnings[0]


def test_a_lock_of_a_dead_process_is_replaced(registry: Registry, tmp_path: Path) -> None:
    registry.home.mkdir()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    lock = registry.home / "projects.lock"
    lock.write_text(json.dumps({"pid": ended.pid, "operation": "register", "created_at": "2026-01-01T00:00:00Z"}))
    registry.add(folder(tmp_path, "one"), config_of(), "manual")
    assert not lock.exists() and len(registry.list()) == 1


def test_a_lock_of_a_running_process_is_waited_for_and_named(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.home.mkdir()
    lock = registry.home / "projects.lock"
    lock.write_text(json.dumps({"pid": os.getpid(), "operation": "prune", "created_at": "2026-01-01T00:00:00Z"}))
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    with (
        pytest.raises(ProjectError, match=f"process {os.getpid()} .prune") as busy,
        locked(registry.home, "register", 0.01, "projects.lock"),
    ):
        pass
    assert busy.value.code == "MemoryLockBusy" and waits and lock.exists()


def test_processes_that_register_at_once_lose_nothing(registry: Registry, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from memglot.project.registry import Registry;"
        "from repo_stores import config_of; root, home = map(Path, sys.argv[1:]);"
        "[Registry(home).add(root / str(n), config_of(f'{root.name}-{n}'), 'manual') for n in range(5)]"
    )
    paths = os.pathsep.join([str(Path(memglot.__file__).parents[1]), str(Path(__file__).parents[1])])
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / f"p{number}"), str(registry.home)],
            env=os.environ | {"PYTHONPATH": paths},
        )
        for number in range(6)
    ]
    assert [process.wait() for process in started] == [0] * 6
    assert len(registry.list()) == 30
