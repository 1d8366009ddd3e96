"""Files are replaced completely or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from memglot.files import (
    FileBatch,
    create_database,
    create_file,
    create_folders,
    is_temporary,
    open_to_append,
    path_inside,
    remove_abandoned,
    replace_database,
    replace_file,
    sqlite_files,
    temporary_folder,
)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_replaced_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with replace_file(path) as out:
        out.write(b"one")
        assert not path.exists()
    assert path.read_bytes() == b"one" and list(path.parent.iterdir()) == [path]


def test_a_failed_replacement_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replace_file(path) as out:
        out.write(b"half")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_the_mode_of_a_replaced_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with replace_file(path, shared=True) as out:
        assert mode_of(Path(out.name)) == 0o600
        out.write(b"new")
    assert path.read_bytes() == b"new" and mode_of(path) == 0o640
    with replace_database(path) as new:
        new.write_bytes(b"database")
    assert mode_of(path) == 0o640
    with FileBatch(shared=True) as batch:
        batch.put(path, b"batch")
    assert mode_of(path) == 0o640


@pytest.mark.parametrize("umask", [0o000, 0o027, 0o077])
def test_new_files_are_private_unless_they_are_shared(tmp_path: Path, umask: int) -> None:
    previous = os.umask(umask)
    try:
        for shared in (False, True):
            folder = tmp_path / f"shared {shared}" / "inner"
            with replace_file(folder / "file", shared=shared) as out:
                out.write(b"text")
            with FileBatch(shared=shared) as batch:
                batch.put(folder / "batch", b"text")
            open_to_append(folder / "appended", shared=shared).close()
            create_file(folder / "created", shared=shared).close()
            files = {mode_of(file) for file in folder.iterdir()}
            assert files == {0o666 & ~umask if shared else 0o600}
            assert mode_of(folder) == mode_of(folder.parent) == (0o777 & ~umask if shared else 0o700)
        with replace_database(tmp_path / "store.db") as new:
            new.write_bytes(b"database")
        create_database(tmp_path / "new.db")
        create_database(tmp_path / "new.db")
        assert mode_of(tmp_path / "store.db") == mode_of(tmp_path / "new.db") == 0o600
    finally:
        os.umask(previous)


LEFT = ".memglot-0123456789abcdef.part"


def test_what_killed_processes_left_is_removed_by_the_next_write(tmp_path: Path) -> None:
    (tmp_path / LEFT).write_bytes(b"half")
    with replace_file(tmp_path / "file") as out:
        out.write(b"new")
    (tmp_path / LEFT).mkdir()
    (tmp_path / LEFT / "store.db-journal").write_bytes(b"half")
    with replace_database(tmp_path / "store.db") as new:
        new.write_bytes(b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "store.db"]


def test_temporary_files_in_use_and_files_of_others_are_kept(tmp_path: Path) -> None:
    others = [tmp_path / name for name in ("file.part", ".file.part", ".memglot-notes.part", f"{LEFT}.md")]
    for other in others:
        other.write_bytes(b"theirs")
    (tmp_path / LEFT).symlink_to(tmp_path / "file.part")
    with replace_file(tmp_path / "one") as out, temporary_folder(tmp_path) as folder:
        out.write(b"one")
        remove_abandoned(tmp_path)
        assert Path(out.name).exists() and folder.exists() and is_temporary(folder.name)
    assert {path.name for path in tmp_path.iterdir()} == {*(other.name for other in others), LEFT, "one"}


def test_a_replaced_database_leaves_no_logs(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    seen: list[bool] = []
    with replace_database(path, before=lambda: seen.append(path.exists())) as part:
        for file in sqlite_files(part):
            file.write_bytes(b"x")
    assert seen == [False] and list(tmp_path.iterdir()) == [path]


def test_a_batch_replaces_files_together(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}" for number in range(450)]
    paths[0].write_bytes(b"old")
    with FileBatch() as batch:
        for path in paths:
            batch.put(path, path.name.encode())
        assert not paths[-1].exists()
        batch.write(paths[-1])
        assert paths[-1].exists()
        batch.put(paths[1], b"again")
        batch.put(paths[1], b"and again")
        batch.remove(paths[2])
    del paths[2]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: b"and again" if path == paths[1] else path.name.encode() for path in paths
    }


def test_an_error_drops_the_rest_of_a_batch(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), FileBatch() as batch:
        batch.put(tmp_path / "first", b"new")
        batch.write()
        batch.put(tmp_path / "second", b"new")
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


def test_folders_are_created_with_their_parents(tmp_path: Path) -> None:
    create_folders(tmp_path / "a" / "b", durable=False)
    create_folders(tmp_path / "a" / "b")
    assert mode_of(tmp_path / "a") == mode_of(tmp_path / "a" / "b") == 0o700
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        create_folders(tmp_path / "file")


@pytest.mark.parametrize("relative", ["../file", "/file", "link/file", "a/../../file"])
def test_paths_that_leave_a_folder_are_refused(tmp_path: Path, relative: str) -> None:
    (tmp_path / "link").symlink_to("/")
    assert path_inside(tmp_path, relative) is None
    assert path_inside(tmp_path, "a/file") == tmp_path / "a" / "file"
