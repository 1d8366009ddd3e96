"""Arguments of tools: ids, numbers, empty values and invalid text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent import Agent, reached, text_of
from repo_projects import new_project

FIRST = "0194a000-0001-7000-8000-000000000001"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Agent]:
    with reached("here-auto", tmp_path / "store.db", cwd=tmp_path) as found:
        yield found


def test_ids_must_be_complete(here: Agent) -> None:
    here.call("me_memory_create", content="x", id=FIRST)
    for tool in ("me_memory_get", "me_memory_update", "me_memory_delete"):
        for id in ("0194", FIRST[:-1], "", " ", "x" * 100_000):
            said = here.call_error(tool, id=id)
            assert len(said) < 1_100
    assert here.call("me_memory_get", id=f" {FIRST.upper()} ")["id"] == FIRST


def test_odd_numbers_and_names_are_handled(here: Agent, tmp_path: Path) -> None:
    assert "`offset`" in here.call_error("me_memory_search", offset=10**30)
    assert "`limit`" in here.call_error("me_memory_search", limit=1001)
    long = "x" * 300
    for tool, arguments in (
        ("status_memory", {"project_root": long}),
        ("memory_sync_diff", {"path": long}),
        ("me_memory_export", {"format": "json", "path": f"{long}/y"}),
    ):
        assert "failed" not in here.call_error(tool, **arguments)
    made = here.call("me_memory_create", content="x", kind="", scope="", title="", tree="", tags=[], meta={})
    assert (made["kind"], made["scope"], made["title"]) == ("semantic", "user", None)
    (tmp_path / "a.json").write_text('[{"content": "y"}]')
    assert here.call("me_memory_import", path="a.json", content="")["imported"] == 1


def test_errors_name_parameters_instead_of_flags(here: Agent, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[]")
    assert "`force`" in here.call_error("me_memory_export", format="json", path="a.json")


SECRET = "0194a000-0001-7000-8000-000000000001"


def test_an_update_handles_empty_values(here: Agent) -> None:
    here.call("me_memory_create", id=SECRET, content="x", title="T", kind="decision", tree="a.b", meta={"k": 1})
    changed = here.call("me_memory_update", id=SECRET, title="", kind="", tree="", meta={}, tags=[])
    assert (changed["title"], changed["kind"], changed["tree"], changed["meta"]) == (None, "decision", "", {})
    for status in ("", "deleted", "nonsense"):
        assert "`status`" in here.call_error("me_memory_update", id=SECRET, status=status)
    assert here.call("me_memory_update", id=SECRET, status="stale")["status"] == "stale"
    assert here.call("me_memory_search")["total"] == 1


def test_format_names_in_capitals_get_a_hint(here: Agent) -> None:
    for name in ("JSON", "Yaml", "MD"):
        assert f"did you mean `{name.lower()}`?" in here.call_error("me_memory_export", format=name)


def test_lone_surrogates_are_a_clear_error(here: Agent, tmp_path: Path) -> None:
    new_project(tmp_path, "acme")
    for tool, arguments in (
        ("me_memory_create", {"content": "x", "title": "\ud800"}),
        ("me_memory_create", {"content": "x", "tags": ["\ud800"]}),
        ("me_memory_create", {"content": "x", "meta": {"k": "\ud800"}}),
        ("me_memory_search", {"query": "\ud800"}),
        ("memory_sync_export", {"path": "m.json", "scope": "\ud800"}),
        ("save_memory", {"task": "\ud800", "nodes": [], "project_root": "acme"}),
    ):
        said = here.call_raw(tool, arguments)
        assert not said.is_error or "failed:" not in text_of(said), (tool, arguments, text_of(said))
    assert here.call("me_memory_search")["total"] == 0
