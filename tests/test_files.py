"""Files are replaced completely or not at all."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from memglot.files import path_inside, replace_database, replace_file, sqlite_files


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


def test_the_mode_of_the_replaced_file_is_kept_on_request(tmp_path: Path) -> None:
    path, temporary = tmp_path / "file", tmp_path / "temporary"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with replace_file(path, temporary=temporary, keep_mode=True) as out:
        assert mode_of(temporary) == 0o600
        out.write(b"new")
    assert path.read_bytes() == b"new" and mode_of(path) == 0o640
    with replace_file(path, mode=0o600) as out:
        out.write(b"private")
    assert mode_of(path) == 0o600


def test_a_temporary_file_of_another_process_is_kept(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"theirs")
    with pytest.raises(FileExistsError), replace_file(tmp_path / "file", temporary=theirs):
        pass
    assert theirs.read_bytes() == b"theirs"


def test_a_replaced_database_leaves_no_logs(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    seen: list[bool] = []
    with replace_database(path, before=lambda: seen.append(path.exists())) as part:
        for file in sqlite_files(part):
            file.write_bytes(b"x")
    assert seen == [False] and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("relative", ["../file", "/file", "link/file", "a/../../file"])
def test_paths_that_leave_a_folder_are_refused(tmp_path: Path, relative: str) -> None:
    (tmp_path / "link").symlink_to("/")
    assert path_inside(tmp_path, relative) is None
    assert path_inside(tmp_path, "a/file") == tmp_path / "a" / "file"
