"""Init creates what is missing, changes nothing else, and can be repeated."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from memglot.project.check.run import check_project
from memglot.project.diff import diff
from memglot.project.init import brief, init
from memglot.project.rebuild import rebuild
from memglot.project.reset import restore
from memglot.project.status import status
from memglot.project.sync import sync
from repo_projects import do, events, feature, files_of, git, new_project, save, saved, sidecar


def everything(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".git/" not in str(path) and "/index/" not in str(path)
    }


def test_a_second_init_changes_nothing(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    saved(root, nodes=[feature("A")])
    before = everything(root)
    answer = do(root, init)
    assert answer["ok"]
    assert (answer["data"]["created"], answer["data"]["files_created"]) == (False, [])
    assert [target["status"] for target in answer["data"]["agent_guidance"]["targets"]] == ["unchanged", "unchanged"]
    assert everything(root) == before


def test_a_second_init_removes_the_lock_of_a_killed_one(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    before = everything(root)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    lock = root / ".memory/.lock"
    lock.write_text(json.dumps({"created_at": "", "operation": "init", "pid": ended.pid}))
    assert do(root, init)["ok"]
    assert everything(root) == before
    # A live owner is not disturbed.
    lock.write_text(json.dumps({"created_at": "", "operation": "save", "pid": os.getpid()}))
    assert do(root, init)["ok"] and lock.exists()


def test_init_creates_the_documented_files(tmp_path: Path) -> None:
    root = new_project(tmp_path, "My Cool_Repo 2")
    config = json.loads((root / ".memory/config.json").read_bytes())
    assert config == {
        "version": 5,
        "project": {"id": "project.my-cool-repo-2", "name": "My Cool Repo 2"},
        "memory": {"defaultTokenBudget": 2000, "autoIndex": True},
    }
    assert (root / ".memory/memory/my-cool-repo-2.md").read_text() == (
        "# My Cool Repo 2\n\nProject-level memory for My Cool Repo 2.\n"
    )
    assert sidecar(root, "memory/my-cool-repo-2.json")["source"] == {"kind": "system"}
    assert (root / ".memory/events.jsonl").read_bytes() == b""
    assert (root / ".gitignore").read_text().splitlines() == [
        ".memory/index/", ".memory/exports/", ".memory/recovery/", ".memory/.backup/", ".memory/.lock",
    ]  # fmt: skip
    assert git(root, "status", "--porcelain", "--ignored", "--", ".memory/index").startswith("!!")
    assert do(root, check_project)["data"] == {"valid": True, "errors": [], "warnings": []}


def test_a_dry_run_and_the_brief_change_nothing(tmp_path: Path) -> None:
    answer = do(tmp_path, init, dry_run=True)["data"]
    assert answer["created"] and ".memory/config.json" in answer["files_created"]
    text = do(tmp_path, brief)["data"]["brief"]
    assert "memglot repo save --stdin" in text
    assert list(tmp_path.iterdir()) == []
    root = new_project(tmp_path)
    before = everything(root)
    assert do(root, init, dry_run=True)["data"]["created"] is False
    assert everything(root) == before


def test_guidance_is_added_to_existing_text(tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    (root / "AGENTS.md").write_bytes(b"# Mine\r\n\r\nText.\r\n\r\n\r\n")
    (root / "CLAUDE.md").write_text("Run `memory save --stdin` often.\n")
    (root / ".gitignore").write_text("node_modules/\n.memory/index/")
    git(root, "init", "-q", "-b", "main")
    answer = do(root, init)
    assert [target["status"] for target in answer["data"]["agent_guidance"]["targets"]] == ["updated", "skipped"]
    assert any("CLAUDE.md" in warning for warning in answer["warnings"])
    text = (root / "AGENTS.md").read_bytes()
    assert text.startswith(b"# Mine\r\n\r\nText.\r\n\r\n<!-- memory:start -->\r\n")
    assert b"<!-- memory:map:start -->\r\n" in text and b"\n" not in text.replace(b"\r\n", b"")
    assert (root / "CLAUDE.md").read_text() == "Run `memory save --stdin` often.\n"
    assert (root / ".gitignore").read_text().splitlines()[:3] == ["node_modules/", ".memory/index/", ""]
    saved(root, nodes=[feature("Shown", stage="building")])
    after = (root / "AGENTS.md").read_bytes()
    assert b"**Building:** shown" in after and b"\n" not in after.replace(b"\r\n", b"")


def test_the_words_of_the_original_tool_stay_and_its_old_ones_go(tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    (root / "AGENTS.md").write_text("<!-- memory:start -->\nTheirs.\n<!-- memory:end -->\n")
    (root / "CLAUDE.md").write_text("<!-- aictx-memory:start -->\nOld.\n<!-- aictx-memory:end -->\nRest.\n")
    assert do(root, init)["ok"]
    assert (root / "AGENTS.md").read_text().startswith("<!-- memory:start -->\nTheirs.\n<!-- memory:end -->\n\n")
    claude = (root / "CLAUDE.md").read_text()
    assert "Old." not in claude and "aictx" not in claude and "Rest." in claude
    assert claude.count("<!-- memory:start -->") == claude.count("<!-- memory:map:start -->") == 1


def test_without_guidance_no_file_is_made_and_no_save_asks_for_one(tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    assert do(root, init, guidance=False)["ok"]
    assert sorted(path.name for path in root.iterdir()) == [".memory"]
    assert save(root, nodes=[feature("A")])["warnings"] == []
    # A check reports what the original tool's reports.
    codes = [issue["code"] for issue in do(root, check_project)["data"]["warnings"]]
    assert codes == ["ProductMapMissing", "ProductMapMissing"]


START, END = "<!-- memory:map:start -->", "<!-- memory:map:end -->"
TWICE = "<!-- memory:start -->\nRun `memglot repo query`.\n<!-- memory:start -->\n"


@pytest.mark.parametrize(
    "odd", [f"{START}\n{END}\n{START}\n{END}\n", f"{END}\n{START}\n", f"{START}\n", f"{END}\n", TWICE]
)
def test_odd_markers_are_reported_with_how_to_repair_them(tmp_path: Path, odd: str) -> None:
    root = new_project(tmp_path)
    whole = (root / "AGENTS.md").read_text()
    guidance = whole[: whole.index(START)]
    (root / "AGENTS.md").write_text(guidance + odd)
    warnings = [
        *save(root, nodes=[feature("A")])["warnings"],
        *do(root, init)["warnings"][1:],
        *(issue["message"] for issue in do(root, check_project)["data"]["warnings"]),
    ]
    assert len(warnings) == 3
    assert all("all but one pair" in warning.lower() and "or all of them" in warning for warning in warnings)
    assert (root / "AGENTS.md").read_text() == guidance + odd
    # Following the hint works: without markers, `init` adds them.
    (root / "AGENTS.md").write_text(guidance)
    assert save(root, nodes=[feature("B")])["warnings"] == [
        "AGENTS.md was not refreshed because Memory map markers are missing or ambiguous. "
        "Run `memglot repo init` to install them."
    ]
    assert [target["status"] for target in do(root, init)["data"]["agent_guidance"]["targets"]][0] == "updated"
    assert save(root, nodes=[feature("C")])["warnings"] == []
    assert do(root, check_project)["data"]["warnings"] == []


def test_custom_text_is_reported_with_how_to_get_the_map(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    (root / "CLAUDE.md").write_text("Run `memory save --stdin` often.\n")
    (issue,) = do(root, check_project)["data"]["warnings"]
    for text in (do(root, init)["warnings"][-1], issue["message"]):
        assert f"add the lines `{START}` and `{END}` to it" in text
    (root / "CLAUDE.md").write_text(f"Run `memory save --stdin` often.\n{START}\n{END}\n")
    assert save(root, nodes=[feature("Shown", stage="idea")])["warnings"] == []
    assert "**Idea:** shown" in (root / "CLAUDE.md").read_text()


def test_a_folder_in_place_of_a_file_is_skipped(tmp_path: Path) -> None:
    root, outside = tmp_path / "p", tmp_path / "outside.md"
    (root / "AGENTS.md").mkdir(parents=True)
    outside.write_text("Theirs.\n")
    (root / "CLAUDE.md").symlink_to(outside)
    answer = do(root, init)
    assert answer["ok"] and (root / ".memory/config.json").exists()
    assert [target["status"] for target in answer["data"]["agent_guidance"]["targets"]] == ["skipped", "skipped"]
    assert "AGENTS.md was not changed: it is not a file." in answer["warnings"]
    assert "CLAUDE.md was not changed: it is a link to a file outside of the project." in answer["warnings"]
    assert outside.read_text() == "Theirs.\n"


@pytest.mark.parametrize("in_git", [True, False])
def test_the_example_of_the_brief_can_be_pasted(tmp_path: Path, in_git: bool) -> None:
    """The example works in a shell without changes."""
    root = tmp_path / "My Shop"
    root.mkdir()
    if in_git:
        git(root, "init", "-q", "-b", "main")
    assert do(root, init)["ok"]
    text = do(root, brief)["data"]["brief"]
    assert ("commit" in text.splitlines()[-1].lower()) == in_git
    (block,) = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    memglot = f'memglot() {{ "{sys.executable}" -m memglot "$@"; }}\n'
    done = subprocess.run(["bash", "-c", memglot + block], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sidecar(root, "memory/my-shop.json")["updated_at"] and (root / ".memory/memory/billing-worker.md").exists()
    assert (root / ".memory/memory/my-shop.md").read_text() == "What it is, and for whom.\n"
    assert do(root, check_project)["data"]["valid"]


def test_outside_of_git_and_in_a_folder_below(tmp_path: Path) -> None:
    root = tmp_path / "p"
    below = root / "a/b"
    below.mkdir(parents=True)
    answer = do(root, init)
    assert answer["data"]["git_available"] is False
    assert not (root / ".gitignore").exists()
    assert not any("commit" in step.lower() or "gitignore" in step for step in answer["data"]["next_steps"])
    saved(below, nodes=[feature("From below")])
    assert sidecar(root, "memory/from-below.json")["title"] == "From below"


def test_init_does_not_change_a_broken_store(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    (root / ".memory/memory/bad.json").write_text("{")
    before = files_of(root)
    error = do(root, init)["error"]
    assert error["code"] == "MemoryAlreadyInitializedInvalid"
    assert error["details"]["issues"][0]["path"] == ".memory/memory/bad.json"
    assert files_of(root) == before


def test_a_store_without_a_project_node_gets_one(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    saved(root, nodes=[feature("A")])
    for path in (root / ".memory/memory").glob("acme-render.*"):
        path.unlink()
    answer = do(root, init)["data"]
    assert answer["files_created"] == [".memory/memory/acme-render.md", ".memory/memory/acme-render.json"]
    assert sidecar(root, "memory/acme-render.json")["id"] == "project.acme-render"
    assert do(root, init)["data"]["files_created"] == []


def test_force_starts_over_and_keeps_a_backup(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    saved(root, nodes=[feature("A")])
    assert do(root, init, force=True)["data"]["created"]
    assert not (root / ".memory/memory/a.json").exists()
    assert do(root, restore)["ok"]
    assert (root / ".memory/memory/a.json").exists()


def test_a_repository_without_commits_is_fine(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    for command in (status, sync, diff, check_project, rebuild):
        answer = do(root, command)
        assert answer["ok"], answer
        assert answer["meta"]["git"]["commit"] is None


def validators(root: Path) -> dict[str, Draft202012Validator]:
    """Return the schemas of a store as another program reads them."""
    found = {}
    for name in ("config", "object", "relation", "event", "patch"):
        schema = sidecar(root, f"schema/{name}.schema.json")
        Draft202012Validator.check_schema(schema)
        found[name] = Draft202012Validator(schema)
    return found


def test_the_schemas_accept_our_files_and_reject_invalid_ones(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    link = {"predicate": "affects", "to": "gotcha.b", "confidence": "low"}
    evidence = [{"kind": "task", "id": "1"}]
    answer = saved(
        root,
        nodes=[
            feature("A", stage="idea", anchors=["x/"], tags=["t"], evidence=evidence, related=[link]),
            {"kind": "gotcha", "title": "B", "body": "b"},
        ],
        supersede=[{"id": "gotcha.b", "superseded_by": "feature.a", "reason": "r"}],
    )
    accepts = validators(root)
    accepts["patch"].validate(answer["patch"])
    accepts["config"].validate(sidecar(root, "config.json"))
    for name in ("a", "b", "acme-render"):
        accepts["object"].validate(sidecar(root, f"memory/{name}.json"))
    for path in (root / ".memory/relations").iterdir():
        accepts["relation"].validate(json.loads(path.read_bytes()))
    for event in events(root):
        accepts["event"].validate(event)
    node = sidecar(root, "memory/b.json")
    for wrong in ({"stage": "idea"}, {"x": 1}, {"type": "fact"}, {"tags": ["a", "a"]}, {"tags": ["A"]}, {"id": "x"}):
        assert not accepts["object"].is_valid(node | wrong), wrong
    assert not accepts["event"].is_valid(events(root)[0] | {"id": None})
    assert not accepts["event"].is_valid({key: value for key, value in events(root)[0].items() if key != "id"})
    assert not accepts["config"].is_valid(sidecar(root, "config.json") | {"version": 4})
