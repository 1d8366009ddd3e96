"""The state of a project, of all projects, and of one node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot.project.inspect import inspect
from memglot.project.node_ids import similar_ids
from memglot.project.registry import Registry
from memglot.project.status import state_of, states_of
from memglot.project.storage.errors import not_initialized, unsupported_version
from memglot.project.storage.node import Node
from memglot.project.storage.vocabulary import KINDS, STAGES, STATUSES
from repo_projects import do, feature, new_project, saved, sidecar
from repo_stores import config_of


def node(id: str, status: str = "active", updated: str = "2026-01-01T00:00:00Z", **fields: Any) -> Node:
    kind, slug = id.split(".")
    return Node(id, kind, status, slug.upper(), f"memory/{slug}.json", f"memory/{slug}.md", "", updated, **fields)


def test_status_has_the_shape_of_the_page() -> None:
    nodes = [
        node("project.demo"),
        node("feature.a", stage="building"),
        node("feature.b", updated="2026-02-01T00:00:00Z", stage="building"),
        node("feature.c"),
        node("feature.d", "stale", stage="shipped"),
        node("feature.e", stage="dead"),
        node("question.f", "open"),
        node("question.g", "closed"),
        node("gotcha.h", anchors=("gone/", "src/")),
    ]
    found = state_of(nodes, [("gotcha.h", ["gone/"])], {"last_sync_commit": "abc"}, config_of())
    assert found == {
        "project": {"id": "project.demo", "name": "Demo"},
        "features_by_stage": {
            "idea": {"count": 1, "titles": ["C"]},
            "building": {"count": 2, "titles": ["B", "A"]},
            "shipped": {"count": 0, "titles": []},
            "paused": {"count": 0, "titles": []},
            "dead": {"count": 1, "titles": ["E"]},
        },
        "open_questions": [{"id": "question.f", "title": "F"}],
        "stale": [
            {"id": "gotcha.h", "title": "H", "orphaned_anchors": ["gone/"]},
        ],
        "last_activity": "2026-02-01T00:00:00Z",
        "last_sync": {"last_sync_commit": "abc"},
    }


def test_status_of_an_empty_store() -> None:
    found = state_of([], [], None, config_of())
    assert found["last_activity"] is None and found["stale"] == found["open_questions"] == []


def test_the_last_activity_is_the_latest_moment_not_the_last_in_the_alphabet() -> None:
    late, early = "2026-01-01T00:30:00+00:00", "2026-01-01T01:00:00+02:00"
    assert (
        state_of([node("feature.a", updated=early), node("feature.b", updated=late)], [], None, config_of())[
            "last_activity"
        ]
        == late
    )


@st.composite
def some_nodes(draw: st.DrawFn) -> list[Node]:
    kinds = draw(st.lists(st.sampled_from(KINDS), max_size=12))
    return [
        node(
            f"{kind}.n{number}",
            draw(st.sampled_from(STATUSES[kind])),
            f"2026-01-{draw(st.integers(1, 28)):02}T00:00:00Z",
            stage=draw(st.sampled_from([None, *STAGES])) if kind == "feature" else None,
        )
        for number, kind in enumerate(kinds)
    ]


@given(some_nodes(), st.randoms())
def test_every_active_feature_counts_once_in_any_order(nodes: list[Node], random: Any) -> None:
    found = state_of(nodes, [], None, config_of())
    active = [each.title for each in nodes if each.kind == "feature" and each.status == "active"]
    counted = [title for stage in found["features_by_stage"].values() for title in stage["titles"]]
    assert sorted(counted) == sorted(active)
    assert sum(stage["count"] for stage in found["features_by_stage"].values()) == len(active)
    random.shuffle(nodes)
    assert state_of(nodes, [], None, config_of()) == found


def test_all_projects_have_a_row_even_those_that_cannot_be_read(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "home")
    for name in ("early", "late", "old", "gone", "denied"):
        registry.add(tmp_path / name, config_of(name))

    def read(root: Path) -> dict[str, Any]:
        if root.name == "old":
            raise unsupported_version(4)
        if root.name == "gone":
            raise not_initialized(str(root))
        if root.name == "denied":
            raise PermissionError(13, "Permission denied")
        month = {"early": "01", "late": "02"}[root.name]
        return state_of([node("feature.a", updated=f"2026-{month}-01T00:00:00Z")], [], None, config_of(root.name))

    rows = states_of(registry, read)["projects"]
    assert [row["project"]["name"] for row in rows] == ["late", "early", "denied", "gone", "old"]
    assert len({frozenset(row) for row in rows}) == 1
    by_name = {row["project"]["name"]: row for row in rows}
    assert (by_name["late"]["needs_reset"], by_name["late"]["storage_version"]) == (False, 5)
    assert (by_name["old"]["needs_reset"], by_name["old"]["storage_version"]) == (True, 4)
    assert (by_name["gone"]["needs_reset"], by_name["gone"]["storage_version"]) == (False, None)
    assert by_name["late"]["problem"] is None and "repo init" in by_name["gone"]["problem"]
    assert by_name["denied"]["problem"] == "Permission denied"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project of two nodes and two relations."""
    root = new_project(tmp_path)
    links = [{"predicate": "affects", "to": "gotcha.beta"}, {"predicate": "related_to", "to": "feature.alpha"}]
    beta = {"kind": "gotcha", "title": "Beta", "body": "B."}
    saved(root, nodes=[feature("Alpha", "Text of it.", stage="idea", tags=["x"], related=links), beta])
    return root


def test_inspect_returns_all_fields_of_a_node_and_missing_ones_are_null_or_empty(root: Path) -> None:
    found = do(root, inspect, "feature.alpha")["data"]
    answer = sidecar(root, "memory/alpha.json")
    assert found["object"] == {
        "id": "feature.alpha",
        "type": "feature",
        "status": "active",
        "title": "Alpha",
        "body_path": ".memory/memory/alpha.md",
        "json_path": ".memory/memory/alpha.json",
        "stage": "idea",
        "anchors": [],
        "tags": ["x"],
        "evidence": [],
        "source": {"kind": "agent", "task": "test"},
        "origin": None,
        "superseded_by": None,
        "created_at": answer["created_at"],
        "updated_at": answer["updated_at"],
        "body": "Text of it.\n",
    }
    link, self_link = "rel.feature-alpha-affects-gotcha-beta", "rel.feature-alpha-related-to-feature-alpha"
    assert [each["id"] for each in found["relations"]["outgoing"]] == [link, self_link]
    assert [each["id"] for each in found["relations"]["incoming"]] == [self_link]
    fields = sidecar(root, "relations/feature-alpha-affects-gotcha-beta.json")
    place = ".memory/relations/feature-alpha-affects-gotcha-beta.json"
    expected = {**fields, "confidence": None, "evidence": [], "json_path": place}
    assert found["relations"]["outgoing"][0] == expected


@pytest.mark.parametrize(
    ("id", "near"), [("gotcha.alpha", "feature.alpha"), ("alpha", "feature.alpha"), ("gotcha.betta", "gotcha.beta")]
)
def test_an_unknown_id_is_reported_with_suggestions(root: Path, id: str, near: str) -> None:
    error = do(root, inspect, id)["error"]
    assert (error["code"], error["details"]) == ("MemoryObjectNotFound", {"id": id})
    assert f"`{near}`" in error["message"]


def test_no_id_is_suggested_if_none_is_similar() -> None:
    assert similar_ids("decision.quite-else", ["feature.alpha", "gotcha.beta"]) == []
