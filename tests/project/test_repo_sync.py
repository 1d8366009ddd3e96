"""Sync reports nodes whose files changed, moved or are gone, in any git repository."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot.cli.repo.sync import sync_text
from memglot.display import is_one_line
from memglot.project.project import Project
from memglot.project.renames import Moves
from memglot.project.storage.anchors import Files
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.git import FileChange, Git
from memglot.project.storage.markers import GUIDANCE, MAP, apply_section
from memglot.project.storage.node import Node
from memglot.project.storage.paths import IGNORED
from memglot.project.storage.product_map import dead_anchors, repository_files
from memglot.project.sync import Marker, compare, read_marker, sync, write_marker
from repo_projects import do, feature, new_project, save, saved

NOW = "2026-01-02T03:04:05+00:00"


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for part in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{part}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{part}_EMAIL", "ada@example.org")
        monkeypatch.setenv(f"GIT_{part}_DATE", "2026-01-01T00:00:00Z")


def text_of(path: str) -> str:
    """Return a text that differs from that of any other path, or git would detect false renames."""
    return "".join(f"{ascii(path)} has {number} lines\n" for number in range(20))


class Repository:
    """A real repository with a `.memory` folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        (root / ".memory").mkdir(exist_ok=True)

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "protocol.file.allow=always", *arguments]
        return subprocess.run(command, cwd=self.root, check=True, capture_output=True).stdout.decode(errors="replace")

    def write(self, *paths: str, text: str | None = None) -> None:
        for path in paths:
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text_of(path) if text is None else text, encoding="utf-8")

    def commit(self, *paths: str) -> str:
        self.write(*paths)
        self.git("add", "-A", ".", ":(exclude).memory")
        self.git("commit", "-q", "--allow-empty", "-m", "a change")
        return self.git("rev-parse", "HEAD").strip()

    def project(self) -> Project:
        return Project.find(self.root)

    def sync(self, *nodes: Node, dry_run: bool = False) -> dict[str, Any]:
        return compare(self.project(), nodes, dry_run, NOW)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "project")


def node(id: str, *anchors: str, status: str | None = None) -> Node:
    kind, slug = id.split(".")
    status = status or ("open" if kind == "question" else "active")
    return Node(id, kind, status, slug.title(), f"memory/{slug}.json", f"memory/{slug}.md", anchors=anchors)


def test_nodes_are_fresh_changed_orphaned_or_unanchored(repository: Repository) -> None:
    base = repository.commit("src/a/x.ts", "src/b/y.ts", "src/c/z.ts", "docs/guide.md")
    nodes = [
        node("feature.a", "src/a/", "docs/"),
        node("feature.b", "src/b/**"),
        node("gotcha.c", "src/c/z.ts", "src/b/"),
        node("decision.none"),
        node("project.shop"),
        node("question.open", "docs/"),
        node("feature.old", "src/nowhere/", status="stale"),
    ]
    first = repository.sync(*nodes)
    assert first["base_commit"] is None and first["full_verification"] and first["head_commit"] == base
    assert first["fresh"] == ["feature.a", "feature.b", "gotcha.c", "question.open"] and first["changed"] == []
    assert first["marker_advanced"] and first["changed_files_count"] == 0 and first["coverage_gaps"] == []
    repository.write("src/a/x.ts", text="other\n")
    repository.git("rm", "-q", "src/c/z.ts")
    head = repository.commit("new/one.ts", "new/two.ts", "top.ts")
    repository.write("new/three.ts", "new/four.ts")
    second = repository.sync(*nodes)
    assert list(second) == [
        "base_commit",
        "head_commit",
        "full_verification",
        "changed_files_count",
        "fresh",
        "changed",
        "orphaned",
        "unanchored",
        "coverage_gaps",
        "save_skeleton",
        "marker_advanced",
        "titles",
    ]
    assert (second["base_commit"], second["head_commit"], second["full_verification"]) == (base, head, False)
    assert second["changed_files_count"] == 7
    assert second["fresh"] == ["feature.b", "question.open"]
    assert second["changed"] == [{"id": "feature.a", "anchors": ["src/a/"], "files": ["src/a/x.ts"]}]
    assert second["orphaned"] == [{"id": "gotcha.c", "anchors": ["src/c/z.ts"]}]
    assert second["unanchored"] == ["decision.none"]
    assert second["coverage_gaps"] == [
        {"dir": "new", "files_count": 4, "examples": ["new/four.ts", "new/one.ts", "new/three.ts"]},
        {"dir": ".", "files_count": 1, "examples": ["top.ts"]},
    ]
    assert second["save_skeleton"] == {
        "task": "sync reconciliation",
        "nodes": [{"id": "feature.a"}, {"id": "gotcha.c", "anchors": ["src/b/"]}],
        "stale": [],
    }
    assert second["titles"]["gotcha.c"] == "C" and "feature.old" not in second["titles"]


def test_a_sync_advances_the_marker_and_a_dry_run_does_not(repository: Repository) -> None:
    commit = repository.commit("a.ts")
    path = repository.root / ".memory" / "sync-state.json"
    assert not repository.sync(dry_run=True)["marker_advanced"] and not path.exists()
    repository.sync()
    expected = f'{{\n  "version": 1,\n  "last_sync_commit": "{commit}",\n  "last_sync_at": "{NOW}"\n}}\n'
    assert path.read_text() == expected and os.listdir(path.parent) == ["sync-state.json"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "1",
        '{"version": 2, "last_sync_commit": "abcdef"}',
        '{"version": true, "last_sync_commit": "abcdef"}',
        '{"version": 1}',
        '{"version": 1, "last_sync_commit": "HEAD"}',
        '{"version": 1, "last_sync_commit": "abcde"}',
        '{"version": 1, "last_sync_commit": "--help"}',
        '{"version": 1, "last_sync_commit": "abcdef\\n"}',
        "[" * 100_000,
    ],
)
def test_with_an_invalid_marker_everything_is_checked(repository: Repository, text: str) -> None:
    (repository.root / ".memory" / "sync-state.json").write_text(text)
    head = repository.commit("a.ts")
    found = repository.sync(node("feature.a", "gone/"))
    assert found["full_verification"] and found["base_commit"] is None and found["changed_files_count"] == 0
    assert [entry["id"] for entry in found["orphaned"]] == ["feature.a"]
    assert read_marker(repository.root / ".memory") == Marker(head, NOW)


def test_a_marker_of_two_keys_is_read(tmp_path: Path) -> None:
    (tmp_path / "sync-state.json").write_text(json.dumps({"version": 1, "last_sync_commit": "ABCDEF0"}))
    assert read_marker(tmp_path) == Marker("ABCDEF0", None)


def test_a_marker_is_not_written_through_a_link(repository: Repository, tmp_path: Path) -> None:
    repository.commit("a.ts")
    outside = tmp_path / "outside.json"
    outside.write_text("mine")
    (repository.root / ".memory" / "sync-state.json").symlink_to(outside)
    with pytest.raises(ProjectError, match="symbolic link"):
        repository.sync()
    assert outside.read_text() == "mine"


def test_a_marker_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match=r"`\.memory/sync-state\.json` cannot be written") as error:
        write_marker(tmp_path / "nowhere", Marker("abcdef", NOW))
    assert error.value.code == "MemoryInternalError"


def test_a_marker_on_another_branch_counts_from_where_the_branches_part(repository: Repository) -> None:
    fork = repository.commit("a.ts")
    repository.git("checkout", "-q", "-b", "side")
    write_marker(repository.root / ".memory", Marker(repository.commit("side.ts"), NOW))
    repository.git("checkout", "-q", "main")
    repository.commit("main.ts")
    found = repository.sync()
    assert found["base_commit"] == fork and found["changed_files_count"] == 1


def test_a_marker_that_this_clone_does_not_know_is_reported(repository: Repository) -> None:
    repository.commit("a.ts")
    write_marker(repository.root / ".memory", Marker("0123456789abcdef", NOW))
    project = repository.project()
    assert compare(project, [], True, NOW)["full_verification"]
    assert len(project.warnings) == 1 and "0123456789abcdef" in project.warnings[0]


def test_the_marker_does_not_pass_nodes_that_cannot_be_read(repository: Repository) -> None:
    first = repository.commit("src/a.ts")
    repository.sync()
    repository.write("src/a.ts", text="other\n")
    repository.commit()
    broken = ".memory/memory/features/a\n.json"
    for dry_run in (False, True):
        project = repository.project()
        answer = compare(project, [], dry_run, NOW, [broken])
        assert not answer["marker_advanced"] and read_marker(project.folder) == Marker(first, NOW)
        assert len(project.warnings) == 1 and ".memory/memory/features/a\\n.json" in project.warnings[0]
    assert [entry["id"] for entry in repository.sync(node("feature.a", "src/"))["changed"]] == ["feature.a"]


def with_conflict(tmp_path: Path) -> tuple[Path, Path]:
    """A project whose code changed since its last sync, and whose node about it is in the middle of a merge."""
    root = new_project(tmp_path)
    there = Repository(root)

    def commit(**fields: str) -> None:
        if fields:
            saved(root, nodes=[{"id": "feature.library", **fields}])
        there.git("add", "-A")
        there.git("commit", "-q", "-m", "a change")

    there.write("lib/a.ts")
    saved(root, nodes=[feature("Library", anchors=["lib/"], stage="building")])
    commit()
    assert do(root, sync)["data"]["marker_advanced"]
    there.write("lib/a.ts", text="other\n")
    commit()
    there.git("checkout", "-q", "-b", "side")
    commit(title="Their library")
    there.git("checkout", "-q", "main")
    commit(title="Our library")
    with pytest.raises(subprocess.CalledProcessError):
        there.git("merge", "-q", "side")
    (sidecar,) = (root / ".memory/memory").rglob("*library*.json")
    assert "<<<<<<<" in sidecar.read_text()
    return root, sidecar


def test_a_node_in_conflict_is_reported_after_it_is_resolved(tmp_path: Path) -> None:
    root, sidecar = with_conflict(tmp_path)
    Repository(root).git("checkout", "--ours", "--", "AGENTS.md", "CLAUDE.md")
    marker, maps = read_marker(root / ".memory"), (root / "AGENTS.md").read_bytes()
    answer = do(root, sync)
    assert not answer["data"]["marker_advanced"] and read_marker(root / ".memory") == marker
    assert (root / "AGENTS.md").read_bytes() == maps and b"library" in maps
    assert any(sidecar.name in warning and "marker" in warning for warning in answer["warnings"])
    Repository(root).git("checkout", "--ours", "--", ".memory")
    resolved = do(root, sync)["data"]
    assert [entry["id"] for entry in resolved["changed"]] == ["feature.library"] and resolved["marker_advanced"]


def test_a_save_leaves_a_node_in_conflict_in_the_map(tmp_path: Path) -> None:
    root, sidecar = with_conflict(tmp_path)
    Repository(root).git("checkout", "--ours", "--", "AGENTS.md", "CLAUDE.md", ".memory/events.jsonl")
    answer = save(root, nodes=[feature("Other", stage="building")])
    assert answer["ok"] and b"library" in (root / "AGENTS.md").read_bytes()
    assert any(sidecar.name in warning and "map" in warning for warning in answer["warnings"])
    Repository(root).git("checkout", "--ours", "--", str(sidecar))
    saved(root, nodes=[feature("Third", stage="building")])
    assert all(name in (root / "AGENTS.md").read_bytes() for name in (b"library", b"other", b"third"))


def test_a_node_without_its_text_does_not_block_a_sync(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    saved(root, nodes=[feature("Library", stage="building")])
    (text,) = (root / ".memory/memory").rglob("*library*.md")
    text.unlink()
    Repository(root).commit("a.ts")
    assert do(root, sync)["data"]["marker_advanced"] and b"library" in (root / "AGENTS.md").read_bytes()


def test_outside_of_a_repository_there_is_nothing_to_sync(tmp_path: Path) -> None:
    with pytest.raises(ProjectError) as error:
        compare(Project(tmp_path, None), [], True, NOW)
    assert error.value.code == "MemoryGitRequired" and error.value.exit_code == 3


def test_an_empty_repository_is_checked_but_not_marked(repository: Repository) -> None:
    repository.write("src/a.ts")
    project = repository.project()
    found = compare(project, [node("feature.a", "src/"), node("feature.b", "lib/")], False, NOW)
    assert found["head_commit"] is None and found["full_verification"] and not found["marker_advanced"]
    assert found["fresh"] == ["feature.a"] and [entry["id"] for entry in found["orphaned"]] == ["feature.b"]
    assert "no commits" in project.warnings[0] and not (project.folder / "sync-state.json").exists()


def test_a_file_deleted_only_in_the_working_tree_is_gone(repository: Repository) -> None:
    repository.commit("src/a.ts", "b.ts")
    repository.sync()
    (repository.root / "src" / "a.ts").unlink()
    found = repository.sync(node("feature.a", "src/"))
    assert found["orphaned"] == [{"id": "feature.a", "anchors": ["src/"]}] and found["coverage_gaps"] == []
    assert repository.project().git.files() == ["b.ts"]  # type: ignore[union-attr]
    assert repository.sync()["coverage_gaps"] == []


ODD = [
    "src/with space/a b.ts",
    "src/quote\"'/c.ts",
    "src/été/日本.ts",
    "src/new\nline/d.ts",
    "src/tab\there/e.ts",
    "src/back\\slash/f.ts",
    ":(top)/g.ts",
    "-dash/h.ts",
    "src/$x`y`/i.ts",
]


def test_every_name_that_git_can_store_is_reported_unchanged(repository: Repository) -> None:
    repository.commit("first.ts")
    repository.sync()
    repository.commit(*ODD[:5])
    repository.write(*ODD[5:])
    found = repository.sync(node("feature.all", "**"))
    assert found["changed"][0]["files"] == sorted(ODD)
    anchors = ("src/with space/", "src/quote\"'/", "src/été/", "src/$x`y`/", "-dash/", ":(top)/")
    assert repository.sync(node("feature.each", *anchors))["orphaned"] == []


def test_names_that_are_not_utf8_are_shown_with_replacement_characters(repository: Repository) -> None:
    repository.commit("first.ts")
    repository.sync()
    name = os.fsdecode(b"src/\xff\xfe.ts")
    try:
        repository.write(name)
    except OSError:
        pytest.skip("this file system holds only text")
    repository.commit()
    found = repository.sync(node("feature.a", "src/"))
    assert found["changed"] == [{"id": "feature.a", "anchors": ["src/"], "files": ["src/\ufffd\ufffd.ts"]}]
    (repository.root / "src").rename(repository.root / os.fsdecode(b"s\xff"))
    moved = repository.sync(node("feature.a", "src/"))
    assert moved["orphaned"] == [{"id": "feature.a", "anchors": ["src/"]}]
    json.dumps(moved, ensure_ascii=False).encode()


def test_its_own_edits_are_not_reported(repository: Repository) -> None:
    repository.write("AGENTS.md", ".gitignore", text="mine\n")
    repository.commit("a.ts")
    repository.sync()
    for name in ("AGENTS.md", "CLAUDE.md"):
        path = repository.root / name
        text = path.read_text() if path.exists() else ""
        for markers in (GUIDANCE, MAP):
            text = apply_section(text, markers, "ours") or ""
        path.write_text(text)
    with (repository.root / ".gitignore").open("a") as file:
        file.write("\n\n" + "\n".join(IGNORED) + "\n")
    silent = repository.sync(node("feature.agents", "AGENTS.md"))
    assert (
        silent["changed_files_count"] == 0 and silent["coverage_gaps"] == [] and silent["fresh"] == ["feature.agents"]
    )
    (repository.root / "CLAUDE.md").write_text("theirs\n" + (repository.root / "CLAUDE.md").read_text())
    (repository.root / ".gitignore").write_text("other\n")
    answer = repository.sync()
    assert answer["coverage_gaps"] == [{"dir": ".", "files_count": 2, "examples": [".gitignore", "CLAUDE.md"]}]


def test_its_own_edits_are_not_reported_where_links_lead(repository: Repository) -> None:
    repository.write("documents/agents.md", text="mine\n")
    (repository.root / "docs").symlink_to("documents")
    (repository.root / "AGENTS.md").symlink_to("docs/agents.md")
    (repository.root / "CLAUDE.md").symlink_to("AGENTS.md")
    repository.commit("a.ts")
    repository.sync()
    target = repository.root / "documents" / "agents.md"
    target.write_text(apply_section(target.read_text(), MAP, "ours") or "")
    for _ in ("in the working tree", "committed"):
        answer = repository.sync(node("feature.docs", "documents/"), dry_run=True)
        assert answer["changed_files_count"] == 0 and answer["fresh"] == ["feature.docs"]
        assert repository.sync(dry_run=True)["coverage_gaps"] == []
        repository.commit()
    target.write_text("theirs\n" + target.read_text())
    gap = {"dir": "documents", "files_count": 1, "examples": ["documents/agents.md"]}
    assert repository.sync(dry_run=True)["coverage_gaps"] == [gap]


@pytest.mark.parametrize("target", ["../outside.md", "AGENTS.md", "."])
def test_a_link_for_agents_that_leads_nowhere_is_a_change_like_others(repository: Repository, target: str) -> None:
    repository.commit("a.ts")
    repository.sync()
    (repository.root / "AGENTS.md").symlink_to(target)
    assert repository.sync()["coverage_gaps"] == [{"dir": ".", "files_count": 1, "examples": ["AGENTS.md"]}]


def test_generated_folders_and_the_memory_itself_are_ignored(repository: Repository) -> None:
    repository.commit("a.ts")
    repository.sync()
    repository.commit("node_modules/x.js", "dist/y.js")
    repository.write(".memory/memory/z.md", "build/w.js")
    assert repository.sync()["changed_files_count"] == 0
    assert ".memory/memory/z.md" not in repository_files(repository.project().git)  # type: ignore[arg-type]


def renames(found: dict[str, Any]) -> dict[str, str]:
    return {each["anchor"]: each["to"] for entry in found["orphaned"] for each in entry.get("renamed", ())}


def test_committed_renames_are_followed(repository: Repository) -> None:
    repository.commit("src/api/x.ts", "src/api/deep/y.ts", "src/one.ts", "lib/keep.ts", "src/api/gone.ts")
    repository.sync()
    repository.git("mv", "src/api", "web")
    repository.git("rm", "-q", "-f", "web/gone.ts")
    repository.git("mv", "src/one.ts", "lib/two.ts")
    repository.commit()
    found = repository.sync(
        node("feature.folder", "src/api/", "lib/"),
        node("feature.glob", "src/api/**/*.ts"),
        node("feature.file", "src/one.ts"),
        node("feature.half", "src/one.ts", "src/api/gone.ts"),
        node("feature.bare", "src/api"),
    )
    assert renames(found) == {
        "src/api/": "web/",
        "src/api/**/*.ts": "web/**/*.ts",
        "src/one.ts": "lib/two.ts",
        "src/api": "web",
    }
    assert found["save_skeleton"]["nodes"] == [
        {"id": "feature.bare", "anchors": ["web"]},
        {"id": "feature.file", "anchors": ["lib/two.ts"]},
        {"id": "feature.folder", "anchors": ["web/", "lib/"]},
        {"id": "feature.glob", "anchors": ["web/**/*.ts"]},
        {"id": "feature.half", "anchors": ["lib/two.ts"]},
    ]
    assert found["save_skeleton"]["stale"] == []
    # It is reported again until someone acts on it, although the marker has moved past it.
    again = repository.sync(node("feature.folder", "src/api/"))
    assert again["base_commit"] == found["head_commit"] and renames(again) == {"src/api/": "web/"}


@pytest.mark.parametrize("staged", [True, False])
def test_renames_in_the_working_tree_are_followed(repository: Repository, staged: bool) -> None:
    repository.write("src/a/__init__.py", "src/b/__init__.py", text="")
    repository.commit("src/a/x.ts", "src/a/y.ts", "src/b/z.ts")
    repository.sync()
    if staged:
        repository.git("mv", "src/a", "lib")
        assert FileChange("R", "lib/x.ts", "src/a/x.ts") in repository.project().git.working()  # type: ignore[union-attr]
    else:
        (repository.root / "src" / "a").rename(repository.root / "lib")
    found = repository.sync(node("feature.a", "src/a/"))
    assert renames(found) == {"src/a/": "lib/"}
    assert found["save_skeleton"]["nodes"] == [{"id": "feature.a", "anchors": ["lib/"]}]


def test_the_skeleton_keeps_every_anchor_that_lives_or_moved(repository: Repository) -> None:
    repository.commit("src/a/x.ts", "src/b/y.ts", "src/z.ts")
    repository.sync()
    repository.git("rm", "-q", "-r", "src/a")
    repository.git("mv", "src/b", "src/c")
    repository.commit()
    found = repository.sync(
        node("feature.all", "src/a", "src/b", "src/", "src/c"),
        node("feature.left", "src/a/", "src/z.ts"),
        node("feature.none", "src/a"),
    )
    assert found["save_skeleton"]["nodes"] == [
        {"id": "feature.all", "anchors": ["src/c", "src/"]},
        {"id": "feature.left", "anchors": ["src/z.ts"]},
    ]
    assert found["save_skeleton"]["stale"] == [{"id": "feature.none", "reason": ""}]
    assert "`reason` of each stale node" in sync_text(found)
    assert "reason" not in sync_text(repository.sync(node("feature.left", "src/a/", "src/z.ts")))


def test_every_path_is_printed_on_one_line(repository: Repository) -> None:
    repository.commit("a.ts")
    repository.sync()
    repository.commit("src/new\nline\u202e/d.ts", "gap\r\x1b[2J/e.ts", "gap\r\x1b[2J/\x85.ts", "lib/\u2028/f.ts")
    nodes = [node("feature.src", "src/"), node("feature.lib", "lib/\u2028/"), node("feature.gone", "x\u202ey/")]
    lines = sync_text(repository.sync(*nodes)).split("\n")
    assert "            src/new\\nline\\u202e/d.ts" in lines and "            x\\u202ey/ matches no file" in lines
    assert any(
        "gap\\r\\x1b[2J: 2 changed files, gap\\r\\x1b[2J/e.ts, gap\\r\\x1b[2J/\\x85.ts" in line for line in lines
    )
    assert all(is_one_line(line) for line in lines)
    repository.git("mv", "lib", "web")
    answer = repository.sync(*nodes, dry_run=True)
    (skeleton,) = (line for line in sync_text(answer).split("\n") if line.startswith("{"))
    assert is_one_line(skeleton) and json.loads(skeleton) == answer["save_skeleton"]


def test_a_file_moved_by_hand_is_found_despite_turned_line_ends(repository: Repository) -> None:
    repository.git("config", "core.autocrlf", "true")
    repository.write("src/a.ts", text="one\r\ntwo\r\n")
    repository.commit()
    (repository.root / "src").rename(repository.root / "lib")
    assert renames(repository.sync(node("feature.a", "src/a.ts"))) == {"src/a.ts": "lib/a.ts"}


def test_files_that_are_only_similar_are_not_renames(repository: Repository) -> None:
    repository.write("src/LICENSE", text="free")
    repository.commit("a.ts")
    (repository.root / "src" / "LICENSE").unlink()
    repository.write("x/ONE", "y/TWO", text="free")
    assert renames(repository.sync(node("feature.a", "src/LICENSE"))) == {}
    repository.write("z/LICENSE", text="free")
    assert renames(repository.sync(node("feature.a", "src/LICENSE"))) == {"src/LICENSE": "z/LICENSE"}


def test_a_full_verification_looks_into_the_past(repository: Repository) -> None:
    repository.commit("one/x.ts")
    repository.git("mv", "one", "two")
    repository.commit()
    repository.commit("other.ts")
    repository.git("mv", "two", "three")
    repository.commit()
    found = repository.sync(node("feature.x", "one/"), dry_run=True)
    assert found["full_verification"] and renames(found) == {"one/": "three/"}


TWICE = ("a/**/*.txt", "a/", "a/b/*.txt", "a/z/", "a/b/1.txt")


@pytest.mark.parametrize("second", ["committed", "staged", "by hand"])
@pytest.mark.parametrize("marked", [True, False])
def test_a_folder_moved_in_two_steps_is_followed(repository: Repository, second: str, marked: bool) -> None:
    repository.commit("a/b/1.txt", "a/b/2.txt")
    if marked:
        repository.sync()
    repository.git("mv", "a/b", "a/z")
    repository.commit()
    if second == "by hand":
        (repository.root / "a").rename(repository.root / "q")
    else:
        repository.git("mv", "a", "q")
    if second == "committed":
        repository.commit()
    expected = ["q/**/*.txt", "q/", "q/z/*.txt", "q/z/", "q/z/1.txt"]
    assert renames(repository.sync(node("feature.a", *TWICE))) == dict(zip(TWICE, expected, strict=True))


def test_the_glob_of_files_moved_deeper_is_updated(repository: Repository) -> None:
    repository.commit("a/1.txt", "a/2.txt", "a/keep.ts")
    repository.sync()
    (repository.root / "a" / "in").mkdir()
    repository.git("mv", "a/1.txt", "a/2.txt", "a/in")
    repository.commit()
    assert renames(repository.sync(node("feature.a", "a/*.txt"), dry_run=True)) == {"a/*.txt": "a/in/*.txt"}
    repository.git("mv", "a/in", "b")
    repository.commit()
    assert renames(repository.sync(node("feature.a", "a/*.txt"))) == {"a/*.txt": "b/*.txt"}


def test_a_folder_dissolved_into_the_root_is_followed(repository: Repository) -> None:
    repository.commit("src/x.ts", "src/y.ts", "src/in/z.ts", "one/only.ts", "two/deep/er.ts", "docs/d.md")
    repository.sync()
    repository.git("mv", "src/x.ts", "src/y.ts", "src/in", "one/only.ts", "two/deep", ".")
    repository.commit()
    expected = {
        "src/**/*.ts": "**/*.ts",
        "src/*.ts": "*.ts",
        "src/": "{in/**,x.ts,y.ts}",
        "src/**": "{in/**,x.ts,y.ts}",
        "one/": "only.ts",
        "two": "deep/",
    }
    found = repository.sync(node("feature.a", *expected))
    assert renames(found) == expected
    again = repository.sync(node("feature.a", *expected.values()))
    assert again["orphaned"] == [] and again["fresh"] == ["feature.a"]


def test_a_folder_of_many_files_dissolved_into_the_root_is_everything(repository: Repository) -> None:
    repository.commit(*(f"src/{number}.ts" for number in range(9)), "odd/a,b.ts", "odd/c.ts")
    repository.sync()
    for path in [*(repository.root / "src").iterdir(), *(repository.root / "odd").iterdir()]:
        repository.git("mv", str(path), ".")
    repository.commit()
    assert renames(repository.sync(node("feature.a", "src/", "odd/"))) == {"src/": "**", "odd/": "**"}


def test_a_folder_that_was_split_has_no_single_new_place(repository: Repository) -> None:
    repository.commit("src/a.ts", "src/b.ts", "src/c.ts", "src/d.ts")
    repository.sync()
    (repository.root / "left").mkdir()
    (repository.root / "right").mkdir()
    for name, folder in (("a", "left"), ("b", "left"), ("c", "right"), ("d", "right")):
        repository.git("mv", f"src/{name}.ts", folder)
    repository.commit()
    found = repository.sync(node("feature.x", "src/"))
    assert found["orphaned"] == [{"id": "feature.x", "anchors": ["src/"]}]
    assert found["save_skeleton"]["stale"] == [{"id": "feature.x", "reason": ""}]


def submodule(repository: Repository, tmp_path: Path) -> Repository:
    inner = Repository(tmp_path / "inner")
    inner.commit("lib/x.c", "lib/y.c")
    repository.git("submodule", "add", "-q", str(inner.root), "vendor/inner")
    repository.commit("a.ts")
    return inner


def test_submodules_are_looked_into(repository: Repository, tmp_path: Path) -> None:
    submodule(repository, tmp_path)
    nodes = [node("feature.in", "vendor/inner/lib/*.c"), node("feature.gone", "vendor/inner/nothing/")]
    found = repository.sync(*nodes)
    assert found["fresh"] == ["feature.in"] and [entry["id"] for entry in found["orphaned"]] == ["feature.gone"]
    (repository.root / "vendor/inner/lib/x.c").unlink()
    (repository.root / "vendor/inner/lib/new.c").write_text("new")
    files = repository.project().git.files()  # type: ignore[union-attr]
    assert files == [".gitmodules", "a.ts", "vendor/inner/lib/new.c", "vendor/inner/lib/y.c"]


def test_a_submodule_that_moved_changes_what_is_anchored_in_it(repository: Repository, tmp_path: Path) -> None:
    submodule(repository, tmp_path)
    repository.sync()
    (repository.root / "vendor/inner/lib/x.c").write_text("changed")
    inside = repository.root / "vendor" / "inner"
    subprocess.run(["git", "commit", "-q", "-am", "a change"], cwd=inside, check=True)
    nodes = [node("feature.in", "vendor/inner/lib/"), node("feature.out", "a.ts")]
    for _ in ("in the working tree", "committed"):
        found = repository.sync(*nodes, dry_run=True)
        assert [entry["id"] for entry in found["changed"]] == ["feature.in"] and found["fresh"] == ["feature.out"]
        assert found["changed"][0]["files"] == ["vendor/inner"] and found["coverage_gaps"] == []
        repository.commit()
    assert repository.sync(node("feature.out", "a.ts"))["coverage_gaps"][0]["examples"] == ["vendor/inner"]


@pytest.mark.parametrize("checked_out", [True, False])
def test_a_submodule_that_was_renamed_is_followed(repository: Repository, tmp_path: Path, checked_out: bool) -> None:
    submodule(repository, tmp_path)
    there = repository
    if not checked_out:
        subprocess.run(["git", "clone", "-q", str(repository.root), str(tmp_path / "clone")], check=True)
        there = Repository(tmp_path / "clone")
    there.sync()
    there.git("mv", "vendor/inner", "third")
    expected = {
        "vendor/inner": "third",
        "vendor/inner/": "third/",
        "vendor/inner/lib/": "third/lib/",
        "vendor/inner/lib/x.c": "third/lib/x.c",
        "vendor/inner/**/*.c": "third/**/*.c",
        "vendor/": "third/",
    }
    nodes = [node("feature.in", *expected)]
    for _ in ("staged", "committed", "and the marker past it"):
        found = there.sync(*nodes)
        assert renames(found) == expected
        assert all("third" not in gap["examples"] for gap in found["coverage_gaps"])
        there.commit()
    assert found["save_skeleton"]["stale"] == []
    there.git("mv", "third", "fourth")
    there.commit()
    assert renames(there.sync(*nodes)) == {old: new.replace("third", "fourth") for old, new in expected.items()}


def test_submodules_move_with_their_folder(repository: Repository, tmp_path: Path) -> None:
    submodule(repository, tmp_path)
    repository.commit("vendor/readme.md")
    repository.sync()
    repository.git("mv", "vendor", "third")
    repository.commit()
    expected = {
        "vendor/": "third/",
        "vendor/**/*.c": "third/**/*.c",
        "vendor/inner/lib/x.c": "third/inner/lib/x.c",
    }
    found = repository.sync(node("feature.in", *expected, "vendor/inner/lib/gone.c"))
    assert renames(found) == expected


def test_a_submodule_that_is_not_checked_out_keeps_its_anchors(repository: Repository, tmp_path: Path) -> None:
    submodule(repository, tmp_path)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(repository.root), str(clone)], check=True)
    there = Repository(clone)
    assert there.project().git.files() == [".gitmodules", "a.ts", "vendor/inner"]  # type: ignore[union-attr]
    found = there.sync(
        node("feature.in", "vendor/inner/lib/x.c", "vendor/inner/**/*.c"), node("feature.no", "vendor/x/")
    )
    assert found["fresh"] == ["feature.in"] and [entry["id"] for entry in found["orphaned"]] == ["feature.no"]
    there.git("rm", "-q", "vendor/inner")
    assert [entry["id"] for entry in there.sync(node("feature.in", "vendor/inner/lib/x.c"))["orphaned"]] == [
        "feature.in"
    ]


def test_shallow_clones_and_detached_heads_work(repository: Repository, tmp_path: Path) -> None:
    first = repository.commit("src/a.ts")
    repository.commit("src/b.ts")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{repository.root}", str(clone)], check=True)
    there = Repository(clone)
    there.git("checkout", "-q", "--detach")
    write_marker(there.root / ".memory", Marker(first, NOW))
    found = there.sync(node("feature.a", "src/a.ts"), node("feature.b", "src/c.ts"))
    assert found["full_verification"] and found["fresh"] == ["feature.a"] and found["marker_advanced"]
    there.commit("src/c.ts")
    later = there.sync(node("feature.b", "src/c.ts"))
    assert not later["full_verification"] and [entry["id"] for entry in later["changed"]] == ["feature.b"]


def test_a_repository_within_the_repository_is_one_path(repository: Repository) -> None:
    repository.commit("a.ts")
    Repository(repository.root / "nested").commit("inner.ts")
    git = repository.project().git
    assert git is not None and git.files() == ["a.ts", "nested"]
    assert repository.sync(node("feature.n", "nested/inner.ts"))["fresh"] == ["feature.n"]
    assert Project.find(repository.root / "nested").root == repository.root / "nested"


def test_a_broken_submodule_keeps_its_anchors(repository: Repository, tmp_path: Path) -> None:
    submodule(repository, tmp_path)
    (repository.root / "vendor/inner/.git").write_text("gitdir: nowhere\n")
    git = repository.project().git
    assert git is not None and git.files() == [".gitmodules", "a.ts", "vendor/inner"]


def test_a_merge_that_is_not_done_is_a_change(repository: Repository) -> None:
    repository.commit("a.ts")
    repository.sync()
    repository.git("checkout", "-q", "-b", "side")
    repository.write("a.ts", text="theirs\n")
    repository.commit()
    repository.git("checkout", "-q", "main")
    repository.write("a.ts", text="ours\n")
    repository.commit()
    repository.sync()
    with pytest.raises(subprocess.CalledProcessError):
        repository.git("merge", "-q", "side")
    assert FileChange("U", "a.ts") in repository.project().git.working()  # type: ignore[union-attr]
    assert repository.sync(node("feature.a", "a.ts"))["changed"][0]["files"] == ["a.ts"]


def test_a_file_renamed_and_then_deleted_is_gone_under_both_names(repository: Repository) -> None:
    repository.commit("src/a.ts", "b.ts")
    repository.sync()
    repository.git("mv", "src/a.ts", "c.ts")
    (repository.root / "c.ts").unlink()
    gone = repository.project().git.working()  # type: ignore[union-attr]
    assert gone == [FileChange("D", "src/a.ts"), FileChange("D", "c.ts")]
    found = repository.sync(node("feature.a", "src/"), node("feature.c", "c.ts"))
    assert [entry["id"] for entry in found["orphaned"]] == ["feature.a", "feature.c"] and renames(found) == {}
    assert found["changed_files_count"] == 2


def test_files_left_out_by_a_sparse_checkout_are_fresh(repository: Repository) -> None:
    repository.commit("kept/a.ts", "left/b.ts")
    repository.git("sparse-checkout", "set", "kept")
    assert not (repository.root / "left").exists()
    assert repository.sync(node("feature.b", "left/b.ts"))["fresh"] == ["feature.b"]


def test_a_hook_may_sync(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git passes the repository to a hook in variables that would misdirect all later calls."""
    other = Repository(tmp_path / "other")
    other.commit("other.ts")
    repository.commit("a.ts")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_LITERAL_PATHSPECS", "1")
    assert Git(repository.root).files() == ["a.ts"] and Git(repository.root).working() == []


def test_git_settings_of_the_user_do_not_change_a_sync(repository: Repository) -> None:
    for key, value in {
        "core.quotePath": "true",
        "status.renames": "false",
        "status.showUntrackedFiles": "no",
        "diff.renames": "false",
        "diff.external": "false",
        "diff.noprefix": "true",
        "log.showSignature": "true",
        "color.ui": "always",
    }.items():
        repository.git("config", key, value)
    repository.commit("src/é/x.ts", "b.ts")
    repository.sync()
    repository.git("mv", "src/é", "lib")
    repository.write("new.ts")
    found = repository.sync(node("feature.x", "src/é/"))
    assert renames(found) == {"src/é/": "lib/"} and found["changed_files_count"] == 3
    repository.commit()
    repository.sync()
    assert renames(repository.sync(node("feature.x", "src/é/"))) == {"src/é/": "lib/"}


def test_git_is_asked_for_files_and_commits(repository: Repository) -> None:
    git = repository.project().git
    assert git is not None and git.head() is None and git.files() == []
    first = repository.commit("a.ts")
    second = repository.commit("b.ts")
    assert git.head() == second and git.is_ancestor(first) and not git.is_ancestor(second, first)
    assert git.merge_base(first) == first and git.merge_base("0123456789") is None
    assert git.show(first, "a.ts") == text_of("a.ts").encode() and git.show(first, "b.ts") is None
    assert git.changes(first) == [FileChange("A", "b.ts")] and git.working() == []


def test_dead_anchors_are_listed_for_active_nodes_only(tmp_path: Path) -> None:
    nodes = [node("feature.b", "x", "src/"), node("feature.a", "y"), node("feature.c", "z", status="stale")]
    assert dead_anchors(nodes, Files(["src/a.ts"])) == [("feature.a", ["y"]), ("feature.b", ["x"])]


FOLDERS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)
INNER = st.lists(FOLDERS, min_size=1, max_size=5, unique=True)


@given(FOLDERS, FOLDERS, INNER)
def test_a_folder_that_was_moved_is_found(old: str, new: str, inner: list[str]) -> None:
    """The anchor of a moved folder moves with it, unless it still matches."""
    files = Files(f"new/{new}/{path}.ts" for path in inner)
    moves = Moves(files)
    moves.add(FileChange("R", f"new/{new}/{path}.ts", f"old/{old}/{path}.ts") for path in inner)
    assert moves.suggest(f"old/{old}/") == f"new/{new}/"
    assert moves.suggest(f"old/{old}/**") == f"new/{new}/**"
    assert moves.suggest(f"old/{old}/{inner[0]}.ts") == f"new/{new}/{inner[0]}.ts"
    assert moves.suggest("other/") is None and moves.suggest("**/*.ts") is None


def test_a_folder_whose_files_were_renamed_too_is_found_again() -> None:
    files = Files(["new/b.ts", "new/in/d.ts", "flat/f.ts"])
    moves = Moves(files)
    moves.add([FileChange("R", "new/b.ts", "old/a.ts"), FileChange("R", "new/in/d.ts", "old/in/c.ts")])
    assert moves.suggest("old/") == "new/" and moves.suggest("old/in/*.ts") == "new/in/*.ts"
    moves.add([FileChange("R", "flat/f.ts", "deep/er/f.ts")])
    assert moves.suggest("deep") == "flat"


def test_files_moved_within_a_folder_that_moved_are_in_it() -> None:
    moves = Moves(Files(["q/z/1.txt", "q/z/2.txt", "q/3.txt"]))
    moves.add([FileChange("R", f"q/z/{name}.txt", f"a/b/{name}.txt") for name in "12"])
    assert moves.suggest("a/") == "q/z/" and moves.doubtful == {"a/"}
    moves.add([FileChange("R", "q/3.txt", "a/3.txt")])
    assert moves.suggest("a/**/*.txt") == "q/**/*.txt" and moves.doubtful == {"a/"}


def test_a_file_of_many_names_votes_once() -> None:
    moves = Moves(Files(["left/1", "left/2", "right/3"]))
    moves.add([FileChange("R", "left/1", "a/1"), FileChange("R", "left/2", "a/2")])
    moves.add([FileChange("R", "right/3", "a/z"), FileChange("R", "a/z", "a/y"), FileChange("R", "a/y", "a/x")])
    assert moves.suggest("a/") == "left/"


def test_renames_in_a_circle_are_handled() -> None:
    moves = Moves(Files(["c"]))
    moves.add([FileChange("R", "b", "a"), FileChange("R", "a", "b")])
    assert moves.suggest("a") is None and moves.suggest("c") is None


def test_a_rename_ends_at_a_name_that_is_in_use_again() -> None:
    moves = Moves(Files(["b", "c"]))
    moves.add([FileChange("R", "c", "b"), FileChange("R", "b", "a")])
    assert moves.suggest("a") == "b"


def test_git_itself_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Git.find(tmp_path) is None
    with pytest.raises(ProjectError, match="git is not installed"):
        Git(tmp_path).files()
