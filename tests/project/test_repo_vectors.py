"""Slugs, ids, times and hashes, by the vectors of the original tool and by cases of our own."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SHARED
from memglot.project.storage import hashes
from memglot.project.storage.ids import file_slug, is_id, link_id, node_id, project_name, project_slug, slugify

VECTORS = SHARED / "fixtures" / "repo" / "vectors"
needs_vectors = pytest.mark.skipif(not VECTORS.exists(), reason="the shared vectors are not here")


def vectors(name: str) -> Any:
    return json.loads((VECTORS / f"{name}.json").read_bytes())


@needs_vectors
def test_the_vectors_of_slugs_ids_times_and_hashes() -> None:
    for case in vectors("slugify"):
        assert slugify(case["title"]) == case["slug"]
    for case in vectors("clock"):
        assert hashes.local_time(case["ms"] * 1000, case["offset_minutes"]) == case["iso"]
    node, link = vectors("ids")
    assert node == node_id("feature", "A b", {"feature.a-b", "feature.a-b-2"}.__contains__)
    known = {"rel.feature-a-b-depends-on-decision-c"}
    assert link == link_id("feature.a-b", "depends_on", "decision.c", known.__contains__)
    given = vectors("content_hash")
    for case in given["cases"]:
        assert hashes.node_hash(given["sidecar"], case["body"].encode()) == case["content_hash"]
    bare = {key: value for key, value in given["sidecar"].items() if key != "content_hash"}
    assert hashes.canonical_json(bare).decode() == given["canonical_without_hash"]
    assert hashes.stable_json(given["sidecar"]).decode() == given["stable"]
    assert hashes.link_hash(given["relation"]["relation"]) == given["relation"]["content_hash"]


@pytest.mark.parametrize(
    "title, slug",
    [
        ("Webhook  retry -- queue!", "webhook-retry-queue"),
        ("Crème brûlée’s", "creme-brulees"),
        ("Größe", "gro-e"),
        ("数据库", "untitled"),
        ("Ⅳ ½", "iv-1-2"),
        ("İ", "i"),
        ("", "untitled"),
    ],
)
def test_slugs(title: str, slug: str) -> None:
    assert slugify(title) == slug


@given(st.text(max_size=400), st.sampled_from(["feature", "gotcha"]))
def test_every_title_gives_an_id_and_a_name_that_a_file_may_have(title: str, kind: str) -> None:
    assert is_id(node_id(kind, title, lambda _: False))
    name = file_slug(title)
    assert 0 < len(name.encode()) <= 240
    assert "/" not in name and not name.startswith((".", "-"))


def test_names_of_projects() -> None:
    assert project_slug("My Cool_Repo 2") == "my-cool-repo-2"
    assert project_name("my-cool-repo-2") == "My Cool Repo 2"
    assert project_slug("日本") == "project"


def test_times_are_full_seconds_with_an_offset() -> None:
    assert hashes.local_time(1_700_000_000_999_999, 90) == "2023-11-14T23:43:20+01:30"
    assert hashes.local_time(-1, 0) == "1969-12-31T23:59:59+00:00"


def test_a_hash_shows_which_rule_it_follows() -> None:
    body = "\ufeffA\r\nb".encode()
    fields: dict[str, Any] = {"id": "feature.a", "title": "é"}
    canonical = '{"id":"feature.a","title":"é"}\nA\nb'.encode()
    assert hashes.follows_tool(fields | {"content_hash": "sha256:" + sha256(canonical).hexdigest()}, body) is True
    assert hashes.follows_tool(fields | {"content_hash": "sha256:" + sha256(body).hexdigest()}, body) is False
    assert hashes.follows_tool(fields | {"content_hash": "sha256:0"}, body) is None
