"""`repo diff` shows git's diff with new files, and the ids of what changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memglot.project.diff import diff
from memglot.project.project import Project
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.git import Git
from repo_stores import git, put, write_config, write_link, write_node, write_store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "repository"
    found.mkdir()
    git(found, "init", "-q", "-b", "main")
    return found


def commit(root: Path) -> None:
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "-m", "state")


def diff_of(root: Path) -> dict[str, object]:
    return diff(Project(root, Git(root)))


def test_outside_of_git_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    with pytest.raises(ProjectError) as refused:
        diff(Project(tmp_path, None))
    assert (refused.value.code, refused.value.exit_code) == ("MemoryGitRequired", 3)


def test_an_unchanged_store_has_no_diff(root: Path) -> None:
    write_store(root)
    commit(root)
    assert diff_of(root) == {
        "diff": "",
        "changed_files": [],
        "untracked_files": [],
        "changed_memory_ids": [],
        "changed_relation_ids": [],
    }


def test_edited_new_and_deleted_files_are_listed_with_their_ids(root: Path) -> None:
    write_store(root)
    (root / "elsewhere.txt").write_text("a")
    commit(root)
    put(root, "memory/alpha.md", "Changed.")
    write_node(root, "gotcha.né-w", "New\nlines", place="memory/gotchas/né w")
    (root / ".memory/memory/beta.json").unlink()
    (root / ".memory/memory/beta.md").unlink()
    (root / ".memory/relations/feature-alpha-depends-on-feature-beta.json").unlink()
    (root / "elsewhere.txt").write_text("b")
    found = diff_of(root)
    assert found["changed_files"] == [
        ".memory/memory/alpha.md",
        ".memory/memory/beta.json",
        ".memory/memory/beta.md",
        ".memory/memory/gotchas/né w.json",
        ".memory/memory/gotchas/né w.md",
        ".memory/relations/feature-alpha-depends-on-feature-beta.json",
    ]
    assert found["untracked_files"] == [".memory/memory/gotchas/né w.json", ".memory/memory/gotchas/né w.md"]
    assert found["changed_memory_ids"] == ["feature.alpha", "feature.beta", "gotcha.né-w"]
    assert found["changed_relation_ids"] == ["rel.feature-alpha-depends-on-feature-beta"]
    assert "+Changed." in str(found["diff"]) and "+New\n+lines\n\\ No newline" in str(found["diff"])
    assert "elsewhere" not in str(found["diff"])


def test_a_staged_change_shows_too(root: Path) -> None:
    write_store(root)
    commit(root)
    put(root, "memory/alpha.md", "Staged.")
    write_link(root, "feature.beta", "affects", "feature.alpha")
    git(root, "add", "-A")
    found = diff_of(root)
    assert "+Staged." in str(found["diff"])
    assert found["untracked_files"] == []
    assert found["changed_relation_ids"] == ["rel.feature-beta-affects-feature-alpha"]


@pytest.mark.parametrize("staged", [False, True])
def test_a_repository_without_a_commit_shows_everything(root: Path, staged: bool) -> None:
    write_store(root)
    if staged:
        git(root, "add", "-A")
    found = diff_of(root)
    assert "+Second." in str(found["diff"])
    assert found["changed_memory_ids"] == ["feature.alpha", "feature.beta", "project.demo", "question.gamma"]


def test_generated_files_are_left_out(root: Path) -> None:
    write_store(root)
    commit(root)
    for name in ("index/memory.sqlite", "recovery/x/y.md", "exports/a", ".backup/b.tar.gz", ".lock"):
        put(root, name, "x")
    assert diff_of(root)["changed_files"] == []
    git(root, "add", "-A", "-f")
    assert diff_of(root)["diff"] == ""


def test_storage_of_another_version_is_compared(root: Path) -> None:
    write_config(root, version=4)
    commit(root)
    write_config(root, version=3)
    assert '+  "version": 3' in str(diff_of(root)["diff"])


@pytest.mark.parametrize("attribute", ["export-ignore", "export-subst", "binary"])
def test_git_attributes_do_not_hide_deleted_nodes(root: Path, attribute: str) -> None:
    write_store(root)
    write_node(root, "gotcha.new", place="memory/two\nlines")
    (root / ".gitattributes").write_text(f".memory/** {attribute}\n.memory {attribute}\n")
    commit(root)
    for path in [*(root / ".memory/memory").iterdir(), *(root / ".memory/relations").iterdir()]:
        path.unlink()
    found = diff_of(root)
    assert found["changed_memory_ids"] == [
        "feature.alpha", "feature.beta", "gotcha.new", "project.demo", "question.gamma",
    ]  # fmt: skip
    assert found["changed_relation_ids"] == ["rel.feature-alpha-depends-on-feature-beta"]


def test_a_text_in_another_place_belongs_to_the_node_that_names_it(root: Path) -> None:
    write_store(root)
    write_node(root, "gotcha.odd", place="memory/odd", body_path="memory/texts/odd.md")
    put(root, "memory/texts/odd.md", "One")
    commit(root)
    put(root, "memory/texts/odd.md", "Two")
    assert diff_of(root)["changed_memory_ids"] == ["gotcha.odd"]


def test_git_settings_of_the_user_do_not_change_a_diff(root: Path) -> None:
    write_store(root)
    commit(root)
    put(root, "memory/alpha.md", "Changed.")
    plain = diff_of(root)
    for key, value in (("diff.noprefix", "true"), ("diff.external", "false"), ("color.ui", "always")):
        git(root, "config", key, value)
    assert diff_of(root) == plain


def test_a_binary_file_is_only_named(root: Path) -> None:
    put(root, "memory/picture.png", b"\x89PNG\0\0")
    put(root, "memory/latin.md", b"caf\xe9\n")
    (root / ".memory/memory/link.md").symlink_to("/etc/passwd")
    text = str(diff_of(root)["diff"])
    assert "Binary files /dev/null and b/.memory/memory/picture.png differ" in text
    assert "+caf\ufffd\n" in text
    assert "new file mode 120000" in text and "+/etc/passwd\n\\ No newline" in text


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), max_size=12)
CONTENTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, CONTENTS, min_size=1, max_size=3))
def test_the_diff_of_new_files_can_be_applied(root: Path, files: dict[str, str]) -> None:
    """Git itself applies our generated hunks and creates the same files."""
    for name, content in files.items():
        put(root, f"memory/n{name}", content)
    found = diff_of(root)
    before = {path.name: path.read_bytes() for path in (root / ".memory/memory").iterdir()}
    for path in (root / ".memory/memory").iterdir():
        path.unlink()
    patch = root.parent / "patch"
    patch.write_bytes(str(found["diff"]).encode())
    git(root, "apply", "--whitespace=nowarn", os.fspath(patch))
    after = {path.name: path.read_bytes() for path in (root / ".memory/memory").iterdir()}
    for path in (root / ".memory/memory").iterdir():
        path.unlink()
    assert after == before


def test_a_sidecar_with_invalid_values_does_not_stop_a_diff(root: Path) -> None:
    write_store(root)
    commit(root)
    folder = root / ".memory/memory"
    (folder / "odd.json").write_text('{"id": "feature.odd", "body_path": {"a": []}}')
    (folder / "lone.md").write_text("A text without a sidecar.")
    changed = diff_of(root)["changed_files"]
    assert changed == [".memory/memory/lone.md", ".memory/memory/odd.json"]
