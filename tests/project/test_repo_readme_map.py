"""The product map in README.md: only on request, and nothing outside of the markers changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot.project.check.run import check_project
from memglot.project.map import add_to_readme, show_map
from memglot.project.storage.markers import MAP
from memglot.project.storage.readme_map import added_map, has_odd_map, map_in, with_map, without_map
from memglot.project.sync import sync
from repo_projects import do, feature, files_of, git, new_project, saved


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = new_project(tmp_path)
    saved(root, nodes=[feature("Lamp", "It glows.", stage="shipped")])
    return root


def test_without_markers_a_readme_is_never_changed_or_missed(root: Path) -> None:
    (root / "README.md").write_bytes(b"# Mine\r\n\xff")
    data = saved(root, nodes=[feature("Door")])
    assert data["memory_created"] and (root / "README.md").read_bytes() == b"# Mine\r\n\xff"
    assert do(root, check_project)["data"]["warnings"] == []


@pytest.mark.parametrize("text", [b"", b"# Mine", b"# Mine\n\n\n", b"# Mine\r\n\r\nText\r\n", b"\xff\xfe bytes\n"])
def test_the_map_is_added_behind_the_text_and_kept_current(root: Path, text: bytes) -> None:
    readme = root / "README.md"
    readme.write_bytes(text)
    assert do(root, add_to_readme, dry_run=True)["data"]["readme"] == "added" and readme.read_bytes() == text
    data = do(root, add_to_readme)["data"]
    assert data["readme"] == "added" and "lamp — It glows." in data["map"]
    added = readme.read_bytes()
    assert added.startswith(text) and added.count(MAP.start.encode()) == 1
    assert do(root, add_to_readme)["data"]["readme"] == "unchanged" and readme.read_bytes() == added
    saved(root, nodes=[feature("Door", "It opens.", stage="shipped")])
    assert readme.read_bytes().startswith(text) and b"door \xe2\x80\x94 It opens." in readme.read_bytes()
    if b"\r\n" in text:
        assert b"\n" not in readme.read_bytes().replace(b"\r\n", b"")


def test_the_markers_can_be_moved_and_what_is_around_them_stays(root: Path) -> None:
    before, after = b"# Mine\n\nIntro.\n", b"\n\n\nMore \xff, and no newline at the end"
    readme = root / "README.md"
    readme.write_bytes(before + f"{MAP.start}\nold\n{MAP.end}".encode() + after)
    assert [issue["code"] for issue in do(root, check_project)["data"]["warnings"]] == ["ProductMapStale"]
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    assert do(root, sync)["ok"]
    found = readme.read_bytes()
    assert found.startswith(before + MAP.start.encode() + b"\n") and found.endswith(b"\n" + MAP.end.encode() + after)
    assert b"lamp" in found and b"old" not in found
    assert do(root, check_project)["data"]["warnings"] == []
    readme.write_bytes(before)
    saved(root, nodes=[feature("Door")])
    assert readme.read_bytes() == before


def test_a_refresh_of_the_map_is_no_change_of_the_readme_for_sync(root: Path) -> None:
    (root / "README.md").write_text("# Mine\n")
    do(root, add_to_readme)
    saved(root, nodes=[feature("Readme", anchors=["README.md"])])
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    do(root, sync)
    saved(root, nodes=[feature("Door", stage="shipped")])
    assert do(root, sync)["data"]["changed"] == []
    (root / "README.md").write_text("# Ours\n" + (root / "README.md").read_text().removeprefix("# Mine\n"))
    assert [node["id"] for node in do(root, sync)["data"]["changed"]] == ["feature.readme"]


def test_markers_that_are_not_one_pair_are_reported_and_nothing_changes(root: Path) -> None:
    text = f"{MAP.start}\nmine\n"
    (root / "README.md").write_text(text)
    answer = do(root, add_to_readme)
    assert not answer["ok"] and "markers are ambiguous" in answer["error"]["message"]
    assert (root / "README.md").read_text() == text
    assert any("README.md" in warning for warning in do(root, sync)["warnings"])
    assert [issue["path"] for issue in do(root, check_project)["data"]["warnings"]] == ["README.md"]


def test_markers_in_a_sentence_are_not_the_map(root: Path) -> None:
    text = f"Between `{MAP.start}` and `{MAP.end}` is the map.\n"
    (root / "README.md").write_text(text)
    saved(root, nodes=[feature("Door")])
    assert (root / "README.md").read_text() == text


def test_without_a_readme_none_is_created(root: Path, tmp_path: Path) -> None:
    assert "has no README.md" in do(root, add_to_readme)["error"]["message"]
    outside = tmp_path / "outside.md"
    outside.write_text("Theirs.\n")
    (root / "README.md").symlink_to(outside)
    assert not do(root, add_to_readme)["ok"]
    saved(root, nodes=[feature("Door")])
    assert outside.read_text() == "Theirs.\n"


def test_the_map_is_not_added_while_nodes_cannot_be_read(root: Path) -> None:
    (root / "README.md").write_text("# Mine\n")
    (root / ".memory/memory/lamp.json").write_text("{")
    assert not do(root, add_to_readme)["ok"]
    assert (root / "README.md").read_text() == "# Mine\n"


def test_the_map_can_be_shown(root: Path) -> None:
    before = files_of(root)
    assert "**Shipped:** lamp — It glows." in do(root, show_map)["data"]["map"]
    assert files_of(root) == before


PIECES = st.sampled_from(["text", "\n", "\r\n", "# Heading\n", MAP.start, MAP.end, " ", "\ud800", "é"])


@given(st.lists(PIECES).map("".join), st.sampled_from(["one", "one\n\ntwo"]))
def test_only_the_text_between_the_markers_changes(text: str, body: str) -> None:
    found = with_map(text, body)
    if found is None:
        assert map_in(text) is None
        if not has_odd_map(text):
            added = added_map(text, body)
            assert added.startswith(text) and map_in(added) == body
            assert without_map(added).startswith(text)
        return
    assert map_in(found) == body and with_map(found, body) == found
    assert without_map(found) == without_map(text)
