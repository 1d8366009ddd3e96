"""The check of a store: every problem is reported with its code and location, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import SHARED
from memglot.project.check.run import check, check_project
from memglot.project.init import init
from memglot.project.project import Project
from memglot.project.rebuild import rebuild
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.git import Git
from repo_stores import git, put, write_config, write_link, write_node, write_store

Found = list[tuple[str, str]]


def codes(project: Project, part: str, **facts: Any) -> Found:
    return sorted((issue["code"], issue["path"].removeprefix(".memory/")) for issue in check(project, **facts)[part])


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return write_store(tmp_path)


def edit(root: Path, path: str, **changes: Any) -> None:
    """Change keys of a JSON file; `None` removes one."""
    place = root / ".memory" / path
    plain = json.loads(place.read_text("utf-8")) | changes
    place.write_text(json.dumps({key: value for key, value in plain.items() if value is not None}), "utf-8")


def move_body(root: Path) -> None:
    write_node(root, "question.gamma", body_path="memory/texts/gamma.md")
    (root / ".memory/memory/gamma.md").unlink()
    put(root, "memory/texts/gamma.md", "Text.")


def test_a_valid_store_has_no_problems(project: Project) -> None:
    assert check(project) == {"valid": True, "errors": [], "warnings": []}


def test_there_must_be_a_store(tmp_path: Path) -> None:
    with pytest.raises(ProjectError) as missing:
        check(Project(tmp_path, None))
    assert missing.value.code == "MemoryNotInitialized"


ASIDE = ("index/a.json", "recovery/t/memory/a.md", "exports/a", ".backup/a", "memglot/carry.jsonl", ".lock")
LINK = "relations/feature-alpha-depends-on-feature-beta.json"
KEY = "AKI" + "AIOSFODNN7ABCDEFG"
ERRORS: dict[str, tuple[Callable[[Path], Any], Found]] = {
    "no config": (
        lambda root: (root / ".memory/config.json").unlink(),
        [("CanonicalFileMissing", "config.json")],
    ),
    "another version": (
        lambda root: write_config(root, version=4),
        [("StorageVersionUnsupported", "config.json")],
    ),
    "a version that only equals five": (
        lambda root: write_config(root, version=True),
        [("StorageVersionUnsupported", "config.json")],
    ),
    "torn config": (lambda root: put(root, "config.json", "{"), [("JsonInvalid", "config.json")]),
    "nested config": (lambda root: put(root, "config.json", "[" * 99999), [("JsonInvalid", "config.json")]),
    "extra key in the config": (
        lambda root: write_config(root, more=1),
        [("SchemaAdditionalProperty", "config.json")],
    ),
    "missing schema": (
        lambda root: (root / ".memory/schema/patch.schema.json").unlink(),
        [("SchemaFileMissing", "schema/patch.schema.json")],
    ),
    "no schemas": (
        lambda root: shutil.rmtree(root / ".memory/schema"),
        [("CanonicalDirectoryMissing", "schema")],
    ),
    "no folder for relations": (
        lambda root: shutil.rmtree(root / ".memory/relations"),
        [("CanonicalDirectoryMissing", "relations")],
    ),
    "unmerged marker": (
        lambda root: put(root, "sync-state.json", "{\n<<<<<<< HEAD\n}"),
        [("MemoryConflictDetected", "sync-state.json")],
    ),
    "schema that is a list": (
        lambda root: put(root, "schema/event.schema.json", "[]"),
        [("SchemaFileInvalid", "schema/event.schema.json")],
    ),
    "torn sidecar": (
        lambda root: put(root, "memory/gamma.json", '{"id"'),
        [("JsonInvalid", "memory/gamma.json")],
    ),
    "sidecar that is a list": (
        lambda root: put(root, "memory/gamma.json", "[]"),
        [("SchemaType", "memory/gamma.json")],
    ),
    "no title": (
        lambda root: edit(root, "memory/gamma.json", title=None),
        [("SchemaRequired", "memory/gamma.json")],
    ),
    "unknown key": (
        lambda root: edit(root, "memory/gamma.json", colour="red"),
        [("SchemaAdditionalProperty", "memory/gamma.json")],
    ),
    "bad tag": (
        lambda root: write_node(root, "question.gamma", tags=["Not A Tag"]),
        [("SchemaPattern", "memory/gamma.json")],
    ),
    "tag twice": (
        lambda root: write_node(root, "question.gamma", tags=["a", "a"]),
        [("SchemaUniqueItems", "memory/gamma.json")],
    ),
    "unknown status": (
        lambda root: write_node(root, "question.gamma", status="new"),
        [("SchemaEnum", "memory/gamma.json")],
    ),
    "no hash": (
        lambda root: edit(root, "memory/gamma.json", content_hash=None),
        [("ObjectContentHashMissing", "memory/gamma.json")],
    ),
    "id of another kind": (
        lambda root: write_node(root, "question.gamma", type="decision", status="active"),
        [("ObjectIdTypeMismatch", "memory/gamma.json")],
    ),
    "stage on a question": (
        lambda root: write_node(root, "question.gamma", stage="idea"),
        [("SchemaNot", "memory/gamma.json")],
    ),
    "no body": (
        lambda root: (root / ".memory/memory/gamma.md").unlink(),
        [("ObjectBodyMissing", "memory/gamma.json")],
    ),
    "body elsewhere": (
        lambda root: move_body(root),
        [("ObjectBodyPathMismatch", "memory/gamma.json")],
    ),
    "body outside": (
        lambda root: write_node(root, "question.gamma", body_path="memory/../../etc/secret.md"),
        [("ObjectBodyPathEscapesMemory", "memory/gamma.json")],
    ),
    "body that is no text": (
        lambda root: put(root, "memory/gamma.md", b"\xff\xfe"),
        [("TextEncodingInvalid", "memory/gamma.md")],
    ),
    "front matter": (
        lambda root: write_node(root, "question.gamma", "---\na: b\n---\nText"),
        [("MarkdownFrontmatter", "memory/gamma.md")],
    ),
    "conflict in a body": (
        lambda root: put(root, "memory/gamma.md", "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> main\n"),
        [("MemoryConflictDetected", "memory/gamma.md")],
    ),
    "conflict in a sidecar": (
        lambda root: put(root, "memory/gamma.json", '{\n<<<<<<< HEAD\n"a": 1\n=======\n"a": 2\n>>>>>>> main\n}'),
        [("MemoryConflictDetected", "memory/gamma.json")],
    ),
    "conflict in the log": (
        lambda root: put(root, "events.jsonl", "<<<<<<< HEAD\n{}\n"),
        [("MemoryConflictDetected", "events.jsonl")],
    ),
    "secret in a body": (
        lambda root: write_node(root, "question.gamma", f"Use {KEY} here"),
        [("MemorySecretDetected", "memory/gamma.md")],
    ),
    "secret in a title": (
        lambda root: write_node(root, "question.gamma", title=f"Use {KEY} here"),
        [("MemorySecretDetected", "memory/gamma.json")],
    ),
    "id twice": (
        lambda root: write_node(root, "question.gamma", place="memory/questions/gamma"),
        [("ObjectIdDuplicate", "memory/questions/gamma.json")],
    ),
    "torn relation": (lambda root: put(root, LINK, "{"), [("JsonInvalid", LINK)]),
    "unknown predicate": (
        lambda root: edit(root, LINK, predicate="likes"),
        [("SchemaEnum", LINK)],
    ),
    "relation to nothing": (
        lambda root: write_link(root, "feature.alpha", "affects", "feature.nowhere"),
        [("RelationEndpointMissing", "relations/feature-alpha-affects-feature-nowhere.json")],
    ),
    "relation from nothing": (
        lambda root: write_link(root, "feature.nowhere", "affects", "feature.nothing"),
        [("RelationEndpointMissing", "relations/feature-nowhere-affects-feature-nothing.json")] * 2,
    ),
    "relation said twice, under one id": (
        lambda root: put(root, "relations/z.json", (root / ".memory" / LINK).read_bytes()),
        [("RelationEquivalentDuplicate", "relations/z.json"), ("RelationIdDuplicate", "relations/z.json")],
    ),
    "no log": (lambda root: (root / ".memory/events.jsonl").unlink(), [("CanonicalFileMissing", "events.jsonl")]),
    "blank line in the log": (
        lambda root: put(root, "events.jsonl", "\n"),
        [("EventJsonlBlankLine", "events.jsonl")],
    ),
    "torn line in the log": (
        lambda root: put(root, "events.jsonl", '{"actor":"ag'),
        [("EventJsonlInvalid", "events.jsonl")],
    ),
    "event of nothing": (
        lambda root: put(
            root,
            "events.jsonl",
            '{"actor":"agent","event":"memory.created","timestamp":"2026-01-01T00:00:00Z"}\n'
            '{"actor":"agent","event":"index.rebuilt","timestamp":"2026-01-01T00:00:00Z"}\n'
            '{"actor":"agent","event":"memory.sung","timestamp":"2026-01-01T00:00:00Z"}\n',
        ),
        [("SchemaEnum", "events.jsonl"), ("SchemaRequired", "events.jsonl")],
    ),
    "linked file": (
        lambda root: (root / ".memory/memory/link.json").symlink_to("alpha.json"),
        [("CanonicalFileUnsafe", "memory/link.json")],
    ),
    "linked folder": (
        lambda root: (root / ".memory/memory/more").symlink_to("/"),
        [("CanonicalFileUnsafe", "memory/more")],
    ),
    "pipe": (lambda root: os.mkfifo(root / ".memory/memory/pipe.json"), [("CanonicalFileUnsafe", "memory/pipe.json")]),
}


@pytest.mark.parametrize("fault", ERRORS)
def test_each_problem_is_an_error_with_its_code(project: Project, fault: str) -> None:
    make, expected = ERRORS[fault]
    make(project.root)
    assert codes(project, "errors") == expected
    found = check(project)
    assert found["valid"] is False
    for issue in found["errors"]:
        assert set(issue) == {"code", "message", "path", "field"}
        assert issue["path"].startswith(".memory/") and issue["message"]
        assert KEY not in issue["message"]


WARNINGS: dict[str, tuple[Callable[[Path], Any], Found]] = {
    "edited body": (
        lambda root: put(root, "memory/gamma.md", "Edited."),
        [("ObjectContentHashMismatch", "memory/gamma.json")],
    ),
    "edited sidecar of the original tool": (
        lambda root: edit(root, "memory/beta.json", title="Other"),
        [("ObjectContentHashMismatch", "memory/beta.json")],
    ),
    "edited sidecar of the page": (lambda root: edit(root, "memory/gamma.json", title="Other"), []),
    "edited relation": (
        lambda root: edit(root, LINK, confidence="low"),
        [("RelationContentHashMismatch", LINK)],
    ),
    "relation without a hash": (lambda root: edit(root, LINK, content_hash=None), []),
    "other heading": (
        lambda root: write_node(root, "question.gamma", "# Delta\n"),
        [("ObjectTitleH1Mismatch", "memory/gamma.json")],
    ),
    "superseded by nothing": (
        lambda root: write_node(root, "question.gamma", status="superseded"),
        [("ObjectSupersededReplacementMissing", "memory/gamma.json")],
    ),
    "superseded by what is gone": (
        lambda root: write_node(root, "question.gamma", status="superseded", superseded_by="question.gone"),
        [("ObjectSupersededReplacementMissing", "memory/gamma.json")],
    ),
    "superseded by a node that comes later": (
        lambda root: write_node(root, "feature.alpha", status="superseded", superseded_by="question.gamma"),
        [],
    ),
    "active question": (
        lambda root: write_node(root, "question.gamma", status="active"),
        [("ObjectStatusMismatch", "memory/gamma.json")],
    ),
    "text without sidecar": (
        lambda root: put(root, "memory/alone.md", "Text"),
        [("ObjectSidecarMissing", "memory/alone.md")],
    ),
    "what may be a secret": (
        lambda root: write_node(root, "question.gamma", "Authorization: Bear" + "er abcdefghij0123456789"),
        [("MemorySecretDetected", "memory/gamma.md")],
    ),
    "project without a node": (
        lambda root: write_config(root, project={"id": "project.other", "name": "Other"}),
        [("ProjectNodeMissing", "config.json")],
    ),
    "bad marker": (
        lambda root: put(root, "sync-state.json", '{"version": 1, "last_sync_commit": "no"}'),
        [("SyncMarkerInvalid", "sync-state.json")],
    ),
    "good marker": (
        lambda root: put(root, "sync-state.json", '{"version": 1, "last_sync_commit": "' + "a1" * 20 + '"}'),
        [],
    ),
    "torn marker": (
        lambda root: put(root, "sync-state.json", '{"version": 1'),
        [("SyncMarkerInvalid", "sync-state.json")],
    ),
    "marker of another version": (
        lambda root: put(root, "sync-state.json", '{"version": 2, "last_sync_commit": "' + "a1" * 20 + '"}'),
        [("SyncMarkerInvalid", "sync-state.json")],
    ),
    "kind folders that git did not keep": (lambda root: (root / ".memory/memory/features").mkdir(), []),
    "what is generated or kept aside": (
        lambda root: [put(root, name, f"<<<<<<< HEAD\n{KEY}") for name in ASIDE],
        [],
    ),
}


@pytest.mark.parametrize("oddity", WARNINGS)
def test_unusual_content_is_a_warning_and_not_an_error(project: Project, oddity: str) -> None:
    make, expected = WARNINGS[oddity]
    make(project.root)
    assert (codes(project, "errors"), codes(project, "warnings")) == ([], expected)


@pytest.mark.parametrize(("vague", "clear", "told"), [(5, 3, True), (4, 0, False), (5, 5, False)])
def test_too_many_related_to_relations_are_a_warning(project: Project, vague: int, clear: int, told: bool) -> None:
    (project.root / ".memory" / LINK).unlink()
    for number in range(vague):
        write_node(project.root, f"gotcha.v{number}")
        write_link(project.root, f"gotcha.v{number}", "related_to", "feature.alpha")
    for number in range(clear):
        write_node(project.root, f"gotcha.c{number}")
        write_link(project.root, f"gotcha.c{number}", "affects", "feature.alpha")
    assert codes(project, "warnings") == ([("RelationRelatedToExcessive", "relations")] if told else [])


def test_inputs_besides_the_files_are_reported(project: Project) -> None:
    facts = {
        "dead": [("feature.alpha", ["src/"])],
        "maps_missing": ["AGENTS.md"],
        "maps_stale": ["CLAUDE.md"],
        "index_problem": "no such file",
    }
    assert codes(project, "errors", **facts) == []
    assert codes(project, "warnings", **facts) == [
        ("AnchorOrphaned", "memory/alpha.json"),
        ("GeneratedIndexUnavailable", "index"),
        ("ProductMapMissing", "AGENTS.md"),
        ("ProductMapStale", "CLAUDE.md"),
    ]


def test_a_file_that_git_holds_unmerged_is_a_conflict(project: Project) -> None:
    root = project.root
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "base")
    git(root, "checkout", "-q", "-b", "other")
    write_node(root, "question.gamma", "Theirs")
    git(root, "commit", "-q", "-a", "-m", "theirs")
    git(root, "checkout", "-q", "main")
    write_node(root, "question.gamma", "Ours")
    git(root, "commit", "-q", "-a", "-m", "ours")
    with pytest.raises(AssertionError):
        git(root, "merge", "-q", "other")
    there = Project(root, Git(root))
    conflicts = [("MemoryConflictDetected", f"memory/gamma.{end}") for end in ("json", "md")]
    assert codes(there, "errors") == conflicts
    write_node(root, "question.gamma", "Both")
    assert codes(there, "errors") == conflicts
    git(root, "add", "-A")
    assert check(there)["valid"]


PLAIN = st.recursive(st.none() | st.integers() | st.text(), st.lists).map(lambda value: json.dumps(value).encode())


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["config.json", "memory/alpha.json", "memory/alpha.md", LINK, "events.jsonl", "sync-state.json"]),
    st.binary(max_size=40) | PLAIN,
)
def test_a_check_handles_any_content(project: Project, path: str, content: bytes) -> None:
    write_store(project.root)
    put(project.root, path, content)
    found = check(project)
    assert found["valid"] == (found["errors"] == [])
    json.dumps(found).encode()
    (project.root / ".memory" / path).unlink()


def test_missing_schemas_and_folders_are_repaired(project: Project) -> None:
    for command in (init, rebuild):
        shutil.rmtree(project.root / ".memory/schema")
        shutil.rmtree(project.root / ".memory/relations", ignore_errors=True)
        assert [code for code, _ in codes(project, "errors")] == ["CanonicalDirectoryMissing"] * 2
        command(Project(project.root, None))
        assert codes(project, "errors") == []


def test_a_project_without_the_files_for_agents_has_no_map(project: Project) -> None:
    found = check_project(project)
    assert [(issue["code"], issue["path"]) for issue in found["warnings"]] == [
        ("ProductMapMissing", "AGENTS.md"),
        ("ProductMapMissing", "CLAUDE.md"),
    ]
    assert found["valid"]


@pytest.mark.skipif(not (SHARED / "fixtures/repo").is_dir(), reason="the shared fixtures are not here")
@pytest.mark.parametrize("store", ["store-a", "store-flat-layout"])
def test_stores_of_the_original_tool_are_valid(store: str) -> None:
    found = check(Project(SHARED / "fixtures/repo" / store, None))
    # The fixtures are stored without their schemas.
    assert [(issue["code"], issue["path"]) for issue in found["errors"]] == [
        ("CanonicalDirectoryMissing", ".memory/schema")
    ]
    assert found["warnings"] == []
