"""Tools use files only below the allowed folders: `--root`, or the client's roots, or the working directory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent import Agent, reached
from memglot import Memory
from memglot.errors import UsageError
from memglot.mcp.roots import Roots, folders_from_uris
from repo_projects import new_project

SECRET = "a secret outside"


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """An allowed folder, and one next to it that is not allowed and whose name starts with the same characters."""
    for name in ("root", "root-not", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.json").write_text(json.dumps([{"content": SECRET if name != "root" else "inside"}]))
    return tmp_path


@pytest.fixture
def rooted(world: Path) -> Iterator[Agent]:
    with reached("here-auto", world / "s.db", "--root", str(world / "root"), cwd=world) as found:
        yield found


def kept(world: Path) -> list[str]:
    if not (world / "s.db").exists():
        return []
    with Memory.open(world / "s.db", write=False) as memory:
        return [record.content for record in memory.list()]


def test_paths_outside_of_the_roots_are_rejected(rooted: Agent, world: Path) -> None:
    root = world / "root"
    (root / "link.json").symlink_to(world / "other" / "a.json")
    (root / "folder").symlink_to(world / "other")
    (root / "up").symlink_to("..")
    (root / "loop").symlink_to("loop")
    paths = [
        *("../other/a.json", "../root-not/a.json", str(world / "root-not" / "a.json"), str(world / "root-not")),
        *("link.json", "folder", "folder/a.json", "up", "up/other/a.json", "/", "~", str(world), "..", "a\0b"),
    ]
    for path in paths:
        for tool, arguments in (
            ("me_memory_import", {"path": path}),
            ("me_memory_export", {"path": path, "format": "json", "force": True}),
            ("memory_sync_export", {"path": path, "force": True}),
            ("memory_sync_import", {"path": path}),
            ("memory_sync_diff", {"path": path}),
            ("status_memory", {"project_root": path}),
            ("save_memory", {"task": "x", "project_root": path}),
        ):
            said = rooted.call_error(tool, **arguments)
            assert "outside" in said or "not a valid path" in said, (tool, path, said)
            assert SECRET not in said
    assert SECRET in (world / "other" / "a.json").read_text()
    assert kept(world) == []


def test_links_inside_of_a_folder_are_not_followed(rooted: Agent, world: Path) -> None:
    (world / "root" / "folder").symlink_to(world / "other")
    (world / "root" / "link.json").symlink_to(world / "other" / "a.json")
    assert rooted.call("me_memory_import", path=str(world / "root"))["imported"] == 1
    assert kept(world) == ["inside"]


def test_a_link_inside_of_the_roots_is_followed(rooted: Agent, world: Path) -> None:
    (world / "root" / "again.json").symlink_to("a.json")
    assert rooted.call("me_memory_import", path="again.json")["imported"] == 1


def test_an_export_does_not_write_through_links(rooted: Agent, world: Path) -> None:
    rooted.call("me_memory_create", content="x", id="0194a000-0001-7000-8000-000000000001")
    target = world / "root" / "notes"
    rooted.call("me_memory_export", format="md", path="notes")
    note = target / "0194a000-0001-7000-8000-000000000001.md"
    note.unlink()
    note.symlink_to(world / "other" / "a.json")
    rooted.call_raw("me_memory_export", {"format": "md", "path": "notes", "force": True})
    assert SECRET in (world / "other" / "a.json").read_text()
    (world / "root" / "out.json").symlink_to(world / "other" / "new.json")
    assert "outside" in rooted.call_error("me_memory_export", format="json", path="out.json", force=True)
    assert not (world / "other" / "new.json").exists()


def test_a_project_above_the_root_is_outside(world: Path) -> None:
    new_project(world, "acme")
    (world / "acme" / "src").mkdir()
    with reached("here-auto", world / "s.db", "--root", str(world / "acme" / "src"), cwd=world) as one:
        assert "outside" in one.call_error("status_memory")
    with reached("here-auto", world / "s.db", "--root", str(world / "acme"), cwd=world) as one:
        assert one.call("status_memory", project_root="src")["ok"]


@pytest.mark.parametrize("way", ["stdio-legacy", "stdio-auto", "http-legacy", "http-auto"])
def test_roots_of_the_client_are_used(way: str, world: Path) -> None:
    (world / "with space").mkdir()
    (world / "with space" / "a.json").write_text('[{"content": "inside"}]')
    roots = [(world / "with space").as_uri(), (world / "other").as_uri()]
    with reached(way, world / "s.db", cwd=world / "root", roots=roots) as one:
        assert one.call("me_memory_import", path="a.json")["imported"] == 1, "taken from the first root"
        assert one.call("me_memory_import", path=str(world / "other" / "a.json"))["imported"] == 1
        assert "outside" in one.call_error("me_memory_import", path=str(world / "root" / "a.json"))
        assert one.call("me_memory_search")["total"] == 2, "what needs no files asks for no roots"


@pytest.mark.parametrize("way", ["stdio-legacy", "stdio-auto"])
def test_the_root_option_overrides_the_roots_of_the_client(way: str, world: Path) -> None:
    options = ("--root", str(world / "root"))
    with reached(way, world / "s.db", *options, cwd=world, roots=[(world / "other").as_uri()]) as one:
        assert one.call("me_memory_import", path="a.json")["imported"] == 1
        assert "outside" in one.call_error("me_memory_import", path=str(world / "other" / "a.json"))


@pytest.mark.parametrize("roots", [None, []], ids=["none", "empty"])
@pytest.mark.parametrize("way", ["stdio-legacy", "stdio-auto"])
def test_the_working_directory_is_the_default_root(way: str, world: Path, roots: list[str] | None) -> None:
    with reached(way, world / "s.db", cwd=world / "root", roots=roots) as one:
        assert one.call("me_memory_import", path=str(world / "root" / "a.json"))["imported"] == 1
        assert "outside" in one.call_error("me_memory_import", path=str(world / "other" / "a.json"))


def test_a_root_may_be_a_link(world: Path) -> None:
    (world / "alias").symlink_to("root")
    roots = Roots([world / "alias"])
    assert roots.resolve("a.json") == (world / "root" / "a.json").resolve()
    assert roots.resolve(str(world / "alias" / "a.json")) == (world / "root" / "a.json").resolve()


def test_folders_from_uris() -> None:
    uris = ["file:///a%20b/c", "file://localhost/d", "file://host/e", "http://x/f", "file:///g%00h", "nonsense", ""]
    assert folders_from_uris(uris) == [Path("/a b/c"), Path("/d")]


FIRST = "0194a000-0001-7000-8000-000000000001"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Agent]:
    with reached("here-auto", tmp_path / "store.db", cwd=tmp_path) as found:
        yield found


def test_agents_cannot_use_the_files_of_the_store(here: Agent, tmp_path: Path) -> None:
    here.call("me_memory_create", content="kept", id=FIRST)
    for name in ("store.db", "store.db-wal", "store.db-shm", "store.db-journal"):
        said = here.call_error("me_memory_export", format="json", path=name, force=True)
        assert "belongs to memglot itself" in said
        assert "belongs to memglot itself" in here.call_error("memory_sync_export", path=name, force=True)
    (tmp_path / "alias").symlink_to("store.db-wal")
    assert "belongs" in here.call_error("me_memory_export", format="json", path="alias", force=True)
    assert here.call("me_memory_get", id=FIRST)["content"] == "kept"


def test_a_pipe_does_not_block_the_server(here: Agent, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    for tool in ("me_memory_import", "memory_sync_import", "memory_sync_diff"):
        assert "neither a file nor a folder" in here.call_error(tool, path="pipe.json")
    assert "neither" in here.call_error("me_memory_export", format="json", path="pipe.json", force=True)


def test_clients_that_name_no_local_folders(tmp_path: Path) -> None:
    for way in ("stdio-legacy", "stdio-auto"):
        with reached(way, tmp_path / "s.db", cwd=tmp_path, roots=["file://elsewhere/a"]) as one:
            assert "none of the client's roots is a folder on this machine" in one.call_error(
                "me_memory_import", path="a.json"
            )
            assert one.call("me_memory_search")["total"] == 0


def test_a_deleted_working_directory(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    with reached("stdio-auto", tmp_path / "s.db", cwd=folder) as one:
        folder.rmdir()
        one.call("me_memory_create", content="x")
        one.call_error("me_memory_import", path="a.json")
        assert one.call("me_memory_search")["total"] == 1


@pytest.mark.parametrize("way", ["stdio-legacy", "stdio-auto"])
def test_the_root_of_the_file_system_is_not_a_default_root(tmp_path: Path, way: str) -> None:
    with reached(way, tmp_path / "s.db", cwd=Path("/")) as one:
        assert "this server may not use any folder" in one.call_error("me_memory_import", path=str(tmp_path / "a.json"))
        assert "--root" in one.call_error("status_memory")
        one.call("me_memory_create", content="x")
    with reached(way, tmp_path / "s.db", cwd=Path("/"), roots=[tmp_path.as_uri()]) as one:
        assert "no such file" in one.call_error("me_memory_import", path=str(tmp_path / "a.json"))


def test_the_store_is_rejected_under_another_name(tmp_path: Path) -> None:
    """For example by a hard link, or on a case-insensitive file system."""
    (tmp_path / "own").mkdir()
    Memory.open(tmp_path / "own" / "store.db").close()
    os.link(tmp_path / "own" / "store.db", tmp_path / "alias.db")
    roots = Roots([tmp_path], [tmp_path / "own" / "store.db", tmp_path / "none"])
    with pytest.raises(UsageError, match="belongs to memglot itself"):
        roots.resolve("alias.db")
    for name in ("other.db", "own", "own/other.db", "nowhere/x.json"):
        assert roots.resolve(name) == Path(os.path.realpath(tmp_path)) / name
