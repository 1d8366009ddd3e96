"""Save: every rule of the specification, and what the original tool gets wrong."""

# ruff: noqa: E501 - the table of refusals is read a line a case

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from memglot.project.check.run import check_project
from memglot.project.rebuild import rebuild
from memglot.project.save.run import save as save_request
from repo_projects import do, events, feature, files_of, git, new_project, save, saved, sidecar


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new_project(tmp_path)


def test_a_new_store_is_flat_and_hashes_bodies(root: Path) -> None:
    data = saved(root, nodes=[feature("Webhook retry queue", "Failed webhooks.", stage="building", anchors=["src/"])])
    assert data["memory_created"] == ["feature.webhook-retry-queue"]
    assert data["files_changed"] == [
        ".memory/events.jsonl",
        ".memory/memory/webhook-retry-queue.json",
        ".memory/memory/webhook-retry-queue.md",
    ]
    body = (root / ".memory/memory/webhook-retry-queue.md").read_bytes()
    assert body == b"Failed webhooks.\n"
    found = sidecar(root, "memory/webhook-retry-queue.json")
    assert found["content_hash"] == "sha256:" + hashlib.sha256(body).hexdigest()
    assert found["source"] == {"kind": "agent", "task": "test"}
    assert (found["stage"], found["anchors"], found["tags"], found["evidence"]) == ("building", ["src/"], [], [])
    raw = (root / ".memory/memory/webhook-retry-queue.json").read_text("utf-8")
    assert raw == json.dumps(found, sort_keys=True, indent=2, ensure_ascii=False) + "\n"


def test_a_slug_that_another_kind_has_gets_its_kind(root: Path) -> None:
    saved(root, nodes=[feature("Search"), {"kind": "decision", "title": "Search", "body": "Use bm25."}])
    assert sidecar(root, "memory/search.json")["id"] == "feature.search"
    assert sidecar(root, "memory/decision-search.json")["id"] == "decision.search"


def test_a_project_called_project_is_not_confused_with_the_original_tools(tmp_path: Path) -> None:
    root = new_project(tmp_path, "project")
    assert sidecar(root, "memory/project-project.json")["id"] == "project.project"
    saved(root, nodes=[feature("One")])
    assert (root / ".memory/memory/one.json").is_file()


def test_a_repeated_save_without_ids_changes_nothing(root: Path) -> None:
    nodes = [feature("Same"), feature("Same"), {"kind": "decision", "title": "Other", "body": "A reason.\r\n"}]
    saved(root, nodes=nodes)
    before = files_of(root)
    assert saved(root, nodes=nodes)["files_changed"] == [] and files_of(root) == before
    changed = saved(root, nodes=[feature("Same", anchors=["src/"])])
    assert changed["memory_updated"] == ["feature.same"]
    saved(root, stale=[{"id": "feature.same", "reason": "x"}])
    assert saved(root, nodes=nodes)["memory_created"] == ["feature.same-3"]


def test_an_equal_title_gets_a_number(root: Path) -> None:
    data = saved(root, nodes=[feature("Same"), feature("Same"), feature("Same")])
    assert data["memory_created"] == ["feature.same", "feature.same-2", "feature.same-3"]


def test_forward_references_within_one_save(root: Path) -> None:
    data = saved(
        root,
        nodes=[
            feature("First", related=[{"predicate": "depends_on", "to": "feature.second", "confidence": "high"}]),
            feature("Second"),
        ],
    )
    assert data["relations_created"] == ["rel.feature-first-depends-on-feature-second"]
    link = sidecar(root, "relations/feature-first-depends-on-feature-second.json")
    assert (link["from"], link["to"], link["confidence"], link["status"]) == (
        "feature.first", "feature.second", "high", "active",
    )  # fmt: skip


def test_a_repeated_relation_is_neither_an_error_nor_a_change(root: Path) -> None:
    link = {"predicate": "affects", "to": "feature.b"}
    saved(root, nodes=[feature("A", related=[link, link]), feature("B")])
    before = files_of(root)
    data = saved(root, nodes=[{"id": "feature.a", "related": [link]}])
    assert (data["events_appended"], data["files_changed"]) == (0, [])
    assert files_of(root) == before
    data = saved(root, nodes=[{"id": "feature.a", "related": [link | {"confidence": "low"}]}])
    assert data["relations_updated"] == ["rel.feature-a-affects-feature-b"]
    assert events(root)[-1]["event"] == "relation.updated"


def test_an_update_that_changes_nothing_writes_nothing(root: Path) -> None:
    node = feature("A", "Text.", stage="idea", tags=["x"], anchors=["src/"], evidence=[{"kind": "task", "id": "T-1"}])
    saved(root, nodes=[node])
    before = files_of(root)
    data = saved(root, nodes=[{**node, "id": "feature.a", "body": "  Text.\r\n"}])
    assert data["memory_updated"] == []
    assert files_of(root) == before
    project = sidecar(root, "memory/acme-render.json")["id"]
    text = (root / ".memory/memory/acme-render.md").read_text("utf-8")
    saved(root, nodes=[{"id": project, "body": text}])
    assert files_of(root) == before


def test_an_update_keeps_what_it_does_not_name(root: Path) -> None:
    saved(root, nodes=[feature("A", "Text.", stage="idea", tags=["x"], anchors=["src/"])])
    data = saved(root, task="other", nodes=[{"id": "feature.a", "title": "New", "anchors": []}])
    assert data["memory_updated"] == ["feature.a"]
    found = sidecar(root, "memory/a.json")
    assert (found["title"], found["tags"], found["source"]["task"]) == ("New", ["x"], "test")
    assert "anchors" not in found
    assert (root / ".memory/memory/a.md").read_bytes() == b"Text.\n"


def test_questions_open_close_and_open_again(root: Path) -> None:
    saved(root, nodes=[{"kind": "question", "title": "Who?", "body": "Who owns it?"}])
    assert sidecar(root, "memory/who.json")["status"] == "open"
    for status in ("closed", "open"):
        saved(root, nodes=[{"id": "question.who", "status": status}])
        assert sidecar(root, "memory/who.json")["status"] == status
        assert events(root)[-1]["event"] == "memory.updated"
    refused = save(root, nodes=[{"id": "question.who", "status": "active"}])["error"]
    assert refused["details"] == {"field": "nodes.0.status", "allowed": ["open", "closed", "stale"]}


def test_a_stale_node_is_revived_and_a_superseded_one_too(root: Path) -> None:
    saved(root, nodes=[feature("Old"), feature("New")])
    saved(root, stale=[{"id": "feature.old", "reason": "gone"}])
    assert sidecar(root, "memory/old.json")["status"] == "stale"
    assert events(root)[-1] | {"timestamp": ""} == {
        "actor": "agent", "event": "memory.marked_stale", "id": "feature.old", "reason": "gone", "timestamp": "",
    }  # fmt: skip
    saved(root, nodes=[{"id": "feature.old", "status": "active"}])
    assert sidecar(root, "memory/old.json")["status"] == "active"
    data = saved(root, supersede=[{"id": "feature.old", "superseded_by": "feature.new", "reason": "better"}])
    assert data["relations_created"] == ["rel.feature-new-supersedes-feature-old"]
    assert [event["event"] for event in events(root)[-2:]] == ["memory.superseded", "relation.created"]
    assert sidecar(root, "memory/old.json")["superseded_by"] == "feature.new"
    saved(root, nodes=[{"id": "feature.old", "status": "active"}])
    assert "superseded_by" not in sidecar(root, "memory/old.json")
    assert sidecar(root, "relations/feature-new-supersedes-feature-old.json")["status"] == "stale"


def test_deleting_a_node_deletes_its_relations(root: Path) -> None:
    link = {"predicate": "affects", "to": "feature.b"}
    saved(root, nodes=[feature("A", related=[link]), feature("B"), feature("C", related=[link])])
    data = saved(root, delete=[{"id": "feature.b", "reason": "answered"}])
    assert data["memory_deleted"] == ["feature.b"]
    assert data["relations_deleted"] == ["rel.feature-a-affects-feature-b", "rel.feature-c-affects-feature-b"]
    assert {event["reason"] for event in events(root)[-3:]} == {"answered"}
    assert [event["event"] for event in events(root)[-3:]] == ["relation.deleted"] * 2 + ["memory.deleted"]
    assert not list((root / ".memory/relations").iterdir())
    assert not list((root / ".memory/memory").glob("b.*"))


def test_the_project_node_is_updated_by_id_and_cannot_be_deleted(root: Path) -> None:
    saved(root, nodes=[{"id": "project.acme-render", "body": "A render service. More."}])
    assert (root / ".memory/memory/acme-render.md").read_bytes() == b"A render service. More.\n"
    assert "Acme Render — A render service." in (root / "AGENTS.md").read_text("utf-8")
    refused = save(root, delete=[{"id": "project.acme-render", "reason": "x"}])
    assert refused["error"]["code"] == "MemoryValidationFailed"
    assert refused["error"]["details"]["field"] == "delete.0.id"


def test_a_dry_run_plans_and_writes_nothing(root: Path) -> None:
    before = files_of(root)
    answer = save(root, dry_run=True, nodes=[feature("A")])["data"]
    assert (answer["dry_run"], answer["index_updated"], answer["memory_created"]) == (True, False, ["feature.a"])
    assert answer["patch"] == {
        "source": {"kind": "agent", "task": "test"},
        "changes": [{"op": "create_object", "id": "feature.a", "type": "feature", "title": "A", "body": "It works."}],
    }
    assert files_of(root) == before


def test_a_title_of_300_letters_keeps_its_letters_and_gets_a_shorter_file(root: Path) -> None:
    title = "long " * 60
    other = title[:-2] + "x"
    data = saved(
        root,
        nodes=[feature(title), feature(other, related=[{"predicate": "affects", "to": "feature.s"}]), feature("s")],
    )
    names = [Path(path).name for path in data["files_changed"]]
    assert max(map(len, names)) <= 250
    assert len(set(names)) == len(names)
    stored = {json.loads(path.read_bytes())["title"] for path in (root / ".memory/memory").glob("long*.json")}
    assert stored == {title.strip(), other.strip()}
    deleted = saved(root, delete=[{"id": data["memory_created"][1], "reason": "too long"}])
    assert len(deleted["relations_deleted"]) == 1
    assert do(root, check_project)["data"]["errors"] == []


N = "nodes.0"
REFUSED: list[tuple[Any, str, str, dict[str, Any]]] = [
    ([], "MemoryValidationFailed", "Save input must be an object.", {"field": "<input>"}),
    ({}, "MemoryValidationFailed", "Save input field must be a non-empty string.", {"field": "task"}),
    ({"task": " "}, "MemoryValidationFailed", "Save input field must be a non-empty string.", {"field": "task"}),
    ({"task": "t"}, "MemoryValidationFailed", "Save input must include at least one memory action.", {"field": "nodes|stale|supersede|delete"}),
    ({"task": "t", "x": 1}, "MemoryValidationFailed", "Save input field is not supported.", {"field": "x"}),
    ({"task": "t", "nodes": [{"kind": "feature", "x": 1}]}, "MemoryValidationFailed", "Save input field is not supported.", {"field": "nodes.0.x"}),
    ({"task": "t", "nodes": {}}, "MemoryValidationFailed", "Save input field must be an array.", {"field": "nodes"}),
    ({"task": "t", "nodes": [1]}, "MemoryValidationFailed", "Save node must be an object.", {"field": N}),
    ({"task": "t", "nodes": [{"id": "Feature.x"}]}, "MemoryValidationFailed", "Save input field must be a Memory object ID.", {"field": f"{N}.id"}),
    ({"task": "t", "nodes": [{"kind": "fact"}]}, "MemoryValidationFailed", "Save node kind is not supported.", {"field": f"{N}.kind", "allowed": ["feature", "decision", "gotcha", "question"]}),
    ({"task": "t", "nodes": [{"kind": "feature", "stage": "x"}]}, "MemoryValidationFailed", "Save node stage is not supported.", {"field": f"{N}.stage", "allowed": ["idea", "building", "shipped", "paused", "dead"]}),
    ({"task": "t", "nodes": [{"kind": "feature", "related": [{"predicate": "x"}]}]}, "MemoryValidationFailed", "Save relation predicate is not supported.", {"field": f"{N}.related.0.predicate", "allowed": ["affects", "depends_on", "supersedes", "related_to"]}),
    ({"task": "t", "nodes": [{"kind": "feature", "related": [{"predicate": "affects", "to": "feature.a", "confidence": "x"}]}]}, "MemoryValidationFailed", "Save relation confidence is not supported.", {"field": f"{N}.related.0.confidence", "allowed": ["low", "medium", "high"]}),
    ({"task": "t", "nodes": None}, "MemoryValidationFailed", "Save input field must be an array.", {"field": "nodes"}),
    ({"task": "t", "nodes": [{"title": None}]}, "MemoryValidationFailed", "Save input field must be a non-empty string.", {"field": f"{N}.title"}),
    ({"task": "t", "nodes": [{"related": [{"predicate": "affects", "to": "feature.a", "confidence": None}]}]}, "MemoryValidationFailed", "Save relation confidence is not supported.", {"field": f"{N}.related.0.confidence", "allowed": ["low", "medium", "high"]}),
    ({"task": "t", "nodes": [{"a - at `$.b`": 1}]}, "MemoryValidationFailed", "Save input field is not supported.", {"field": f"{N}.a - at `$.b`"}),
    ({"task": "t", "nodes": [{"tags": [1]}]}, "MemoryValidationFailed", "Save input array item must be a non-empty string.", {"field": f"{N}.tags.0"}),
    ({"task": "t", "stale": [1]}, "MemoryValidationFailed", "Save stale item must be an object.", {"field": "stale.0"}),
    ({"task": "t", "nodes": [{"title": "x"}]}, "MemoryValidationFailed", "Save node kind is required when creating memory.", {"field": f"{N}.kind", "allowed": ["feature", "decision", "gotcha", "question"]}),
    ({"task": "t", "nodes": [{"kind": "feature"}]}, "MemoryValidationFailed", "Save node title is required when creating memory.", {"field": f"{N}.title"}),
    ({"task": "t", "nodes": [{"kind": "feature", "title": "x"}]}, "MemoryValidationFailed", "Save node body is required when creating memory.", {"field": f"{N}.body"}),
    ({"task": "t", "nodes": [{"id": "gotcha.x", "kind": "feature"}]}, "MemoryValidationFailed", "Save node id prefix must match the node kind.", {"field": f"{N}.id", "id": "gotcha.x", "kind": "feature"}),
    ({"task": "t", "nodes": [{"id": "project.x"}]}, "MemoryValidationFailed", "Save node id does not resolve to an existing object and its prefix is not a creatable kind.", {"field": f"{N}.id", "id": "project.x", "allowed": ["feature", "decision", "gotcha", "question"]}),
    ({"task": "t", "nodes": [{"id": "feature.known", "kind": "gotcha"}]}, "MemoryValidationFailed", "Save node kind does not match the existing object type.", {"field": f"{N}.kind", "id": "feature.known", "existing_type": "feature"}),
    ({"task": "t", "nodes": [{"id": "feature.known"}]}, "MemoryValidationFailed", "Save node update must include at least one field to change or a related link.", {"field": N, "id": "feature.known"}),
    ({"task": "t", "nodes": [{"kind": "gotcha", "title": "x", "body": "y", "stage": "idea"}]}, "MemoryValidationFailed", "Stage is only allowed on feature objects.", {"field": f"{N}.stage", "kind": "gotcha"}),
    ({"task": "t", "nodes": [{"id": "project.acme-render", "stage": "idea"}]}, "MemoryValidationFailed", "Stage is only allowed on feature objects.", {"field": f"{N}.stage", "id": "project.acme-render", "existing_type": "project"}),
    ({"task": "t", "nodes": [feature("x", evidence=[{"kind": "x", "id": "y"}])]}, "MemoryValidationFailed", "Save evidence kind is not supported.", {"field": f"{N}.evidence.0.kind"}),
    ({"task": "t", "nodes": [feature("x", tags=[" "])]}, "MemoryValidationFailed", "Save input array item must be a non-empty string.", {"field": f"{N}.tags.0"}),
    ({"task": "t", "nodes": [feature("x", related=[{"predicate": "affects", "to": "feature.no"}])]}, "MemoryObjectNotFound", "Memory object was not found.", {"path": "<patch>", "id": "feature.no", "field": "/changes/1/to"}),
    ({"task": "t", "stale": [{"id": "feature.no", "reason": "r"}]}, "MemoryObjectNotFound", "Memory object was not found.", {"path": "<patch>", "id": "feature.no", "field": "/changes/0/id"}),
    ({"task": "t", "delete": [{"id": "feature.no", "reason": "r"}]}, "MemoryObjectNotFound", "Memory object was not found.", {"path": "<patch>", "id": "feature.no", "field": "/changes/0/id"}),
    ({"task": "t", "supersede": [{"id": "feature.known", "superseded_by": "feature.no", "reason": "r"}]}, "MemoryObjectNotFound", "Memory object was not found.", {"path": "<patch>", "id": "feature.no", "field": "/changes/0/superseded_by"}),
    ({"task": "t", "stale": [{"id": "feature.known"}]}, "MemoryValidationFailed", "Save input field must be a non-empty string.", {"field": "stale.0.reason"}),
    ({"task": "t", "supersede": [{"id": "feature.known", "superseded_by": "feature.known", "reason": "r"}]}, "MemoryPatchInvalid", "Object cannot supersede itself.", {"issues": [{"code": "ObjectSupersedesSelf", "message": "Object cannot supersede itself.", "path": "<patch>", "field": "/changes/0/superseded_by"}]}),
    ({"task": "t", "nodes": [feature("x", id="feature.n"), feature("y", id="feature.n")]}, "MemoryDuplicateId", "Patch would create a duplicate canonical id.", {"path": "<patch>", "id": "feature.n", "field": "/changes/1/id"}),
    ({"task": "t", "nodes": [feature("x", tags=["Bad Tag"])]}, "MemorySchemaValidationFailed", "Schema validation failed.", {"issues": [{"code": "SchemaPattern", "message": 'must match pattern "^[a-z0-9][a-z0-9-]*$"', "path": "<patch>", "field": "/changes/0/tags/0"}]}),
    ({"task": "t", "nodes": [feature("x", "---\na: 1\n---\nText")]}, "MemorySchemaValidationFailed", "Schema validation failed.", {"issues": [{"code": "MarkdownFrontmatter", "message": "Markdown files must not contain YAML frontmatter.", "path": "<patch>", "field": "/changes/0/body"}]}),
]  # fmt: skip


@pytest.mark.parametrize("value, code, message, details", REFUSED)
def test_bad_input_is_refused_with_its_location(
    root: Path, value: Any, code: str, message: str, details: dict[str, Any]
) -> None:
    saved(root, nodes=[feature("Known")])
    before = files_of(root)
    error = do(root, save_request, json.dumps(value).encode())["error"]
    assert (error["code"], error["message"], error["details"]) == (code, message, details)
    assert files_of(root) == before


@pytest.mark.parametrize(
    "anchor", ["/abs", "../x", "a/../../b", "a\\b", "http://x/y", "a\0b", ".", "./", ".memory/x", "C:/x", "c:x"]
)
def test_an_anchor_that_leaves_the_repository_is_refused(root: Path, anchor: str) -> None:
    error = save(root, nodes=[feature("x", anchors=["src/", anchor])])["error"]
    assert error["message"] == "Anchors must be repo-relative glob strings."
    assert error["details"]["field"] == "/changes/0/anchors"
    assert [issue["field"] for issue in error["details"]["issues"]] == ["/changes/0/anchors/1"]


def test_invalid_json_is_reported(root: Path) -> None:
    for text in (b"", b"{", b"\xff\xfe", b"[" * 100_000):
        error = do(root, save_request, text)["error"]
        assert error["code"] == "MemoryInvalidJson"
        assert error["details"]["source"] == "stdin"


def test_secrets_and_conflict_markers_are_refused_with_the_line(root: Path) -> None:
    key = "AKIA" + "ABCDEFGHIJKLMNOP"
    answer = save(root, nodes=[feature("x", f"One.\nTwo.\nkey {key}")])["error"]
    assert answer["code"] == "MemorySecretDetected"
    assert (answer["details"]["issues"][0]["line"], answer["details"]["issues"][0]["field"]) == (3, "/changes/0/body")
    assert key not in json.dumps(answer)
    answer = save(root, nodes=[feature("x", "One.\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other")])
    assert answer["error"]["code"] == "MemoryConflictDetected"
    assert answer["error"]["details"] == {"field": "/changes/0/body", "line": 2}
    for place in ({"title": key}, {"tags": [key.lower()], "body": f'password = "{key}"'}):
        assert save(root, nodes=[feature("x") | place])["error"]["code"] == "MemorySecretDetected"
    assert save(root, task=key, nodes=[feature("x")])["error"]["code"] == "MemorySecretDetected"
    assert list((root / ".memory/memory").glob("x*")) == []


def test_a_body_of_more_than_a_mebibyte_is_refused(root: Path) -> None:
    assert save(root, nodes=[feature("x", "é" * (1 << 19))])["ok"]
    error = save(root, nodes=[feature("y", "é" * (1 << 19) + "e")])["error"]
    assert error["details"]["limit"] == 1 << 20


def test_a_stray_body_is_not_overwritten(root: Path) -> None:
    (root / ".memory/memory/x.md").write_text("somebody's")
    error = save(root, nodes=[feature("x")])["error"]
    assert error["details"]["issues"][0]["code"] == "PatchPathConflict"
    assert (root / ".memory/memory/x.md").read_text() == "somebody's"


def test_a_sidecar_without_a_body_gets_one(root: Path) -> None:
    saved(root, nodes=[feature("x")])
    (root / ".memory/memory/x.md").unlink()
    answer = save(root, nodes=[{"id": "feature.x", "tags": ["a"]}])
    assert answer["ok"]
    assert any("x.json" in warning for warning in answer["warnings"])
    saved(root, nodes=[{"id": "feature.x", "body": "Back."}])
    assert (root / ".memory/memory/x.md").read_bytes() == b"Back.\n"
    assert do(root, check_project)["data"]["errors"] == []


def test_another_version_is_refused(root: Path) -> None:
    path = root / ".memory/config.json"
    for version in (4, 6, "5", None, True):
        config = json.loads(path.read_bytes()) | {"version": version}
        path.write_text(json.dumps(config))
        answer = save(root, nodes=[feature("x")])
        assert answer["error"]["code"] == "MemoryUnsupportedStorageVersion"
        assert answer["error"]["details"] == {
            "path": ".memory/config.json", "supported_version": 5, "found_version": version,
        }  # fmt: skip


def test_missing_schemas_and_folders_come_with_the_next_save(root: Path) -> None:
    import shutil

    shutil.rmtree(root / ".memory/schema")
    shutil.rmtree(root / ".memory/relations")
    answer = do(root, check_project)["data"]
    assert not answer["valid"]
    saved(root, nodes=[feature("x")])
    assert do(root, check_project)["data"]["valid"]
    assert len(list((root / ".memory/schema").glob("*.schema.json"))) == 5
    assert (root / ".memory/relations").is_dir()
    assert do(root, check_project)["data"] == {"valid": True, "errors": [], "warnings": []}


def test_two_files_of_one_relation_both_go_with_their_node(root: Path) -> None:
    saved(root, nodes=[feature("A", related=[{"predicate": "affects", "to": "feature.b"}]), feature("B")])
    link = sidecar(root, "relations/feature-a-affects-feature-b.json") | {"id": "rel.feature-a-affects-feature-b-2"}
    (root / ".memory/relations/copy.json").write_text(json.dumps(link))
    data = saved(root, delete=[{"id": "feature.b", "reason": "x"}])
    assert len(data["relations_deleted"]) == 2
    assert list((root / ".memory/relations").iterdir()) == []


def test_a_text_that_another_node_names_stays(root: Path) -> None:
    saved(root, nodes=[feature("A", "a"), feature("B", "b")])
    fields = sidecar(root, "memory/a.json") | {"body_path": "memory/b.md"}
    (root / ".memory/memory/a.json").write_text(json.dumps(fields))
    saved(root, delete=[{"id": "feature.a", "reason": "x"}])
    assert (root / ".memory/memory/b.md").read_text() == "b\n"


def test_a_node_has_one_replacement_and_none_when_it_is_active_again(root: Path) -> None:
    saved(root, nodes=[feature("Old"), feature("New"), feature("Newer")])
    for by in ("new", "newer"):
        saved(root, supersede=[{"id": "feature.old", "superseded_by": f"feature.{by}", "reason": "x"}])
    assert sidecar(root, "relations/feature-new-supersedes-feature-old.json")["status"] == "stale"
    assert sidecar(root, "relations/feature-newer-supersedes-feature-old.json")["status"] == "active"
    saved(root, stale=[{"id": "feature.old", "reason": "x"}])
    assert sidecar(root, "memory/old.json")["superseded_by"] == "feature.newer"
    saved(root, nodes=[{"id": "feature.old", "status": "active"}])
    assert "superseded_by" not in sidecar(root, "memory/old.json")
    assert sidecar(root, "relations/feature-newer-supersedes-feature-old.json")["status"] == "stale"


def test_an_unreadable_sidecar_gets_no_duplicate(root: Path) -> None:
    saved(root, nodes=[feature("A", "a")])
    path = root / ".memory/memory/a.json"
    whole = path.read_text()
    for broken in ("{", whole.replace('"tags": []', '"tags": ["Bad Tag"]'), f"<<<<<<< HEAD\n{whole}"):
        path.write_text(broken)
        answer = save(root, nodes=[feature("A", "again", id="feature.a")])
        assert answer["error"]["details"]["issues"][0]["path"] == ".memory/memory/a.json"
        assert len(list((root / ".memory/memory").glob("*a.json"))) == 1


def test_an_unfinished_merge_in_the_log_is_not_added_to(root: Path) -> None:
    saved(root, nodes=[feature("A")])
    log = root / ".memory/events.jsonl"
    line = log.read_text()
    log.write_text(f"<<<<<<< HEAD\n{line}=======\n{line}>>>>>>> other\n")
    before = files_of(root)
    for answer in (save(root, nodes=[feature("B")]), do(root, rebuild)):
        assert answer["error"]["code"] == "MemoryConflictDetected"
        assert answer["error"]["details"] == {"field": ".memory/events.jsonl", "line": 1}
    assert files_of(root) == before


def test_blank_lines_at_the_end_of_the_log_are_removed(root: Path) -> None:
    saved(root, nodes=[feature("A")])
    log = root / ".memory/events.jsonl"
    log.write_text(log.read_text() + "\n \n\n")
    saved(root, nodes=[feature("B")])
    assert [event["id"] for event in events(root)] == ["feature.a", "feature.b"]


def test_titles_have_one_line_and_an_end(root: Path) -> None:
    saved(root, nodes=[feature("One\n  two", anchors=["a  b/c"])])
    found = sidecar(root, "memory/one-two.json")
    assert (found["title"], found["anchors"]) == ("One two", ["a  b/c"])
    for wrong in ({"title": "x\0y"}, {"body": "x\x1by"}, {"title": "x" * 2001}):
        assert save(root, nodes=[feature("x") | wrong])["error"]["code"] == "MemoryValidationFailed"
    assert save(root, nodes=[feature("x")], task="t" * 2001)["error"]["details"]["field"] == "task"


def test_a_refused_save_restores_nothing(root: Path) -> None:
    import shutil

    saved(root, nodes=[feature("A")])
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    shutil.rmtree(root / ".memory")
    assert save(root)["error"]["code"] == "MemoryValidationFailed"
    assert not (root / ".memory").exists()
