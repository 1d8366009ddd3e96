"""Size limits of tool results: long lists and texts are truncated, and a completed operation never fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent import Agent, agent, listening, over_http, reached, text_of
from memglot import Memory
from memglot.mcp.results import MAX_LISTED, fit_lists
from memglot.settings import MAX_ANSWER_BYTES
from repo_projects import new_project


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Agent]:
    with reached("here-auto", tmp_path / "store.db", cwd=tmp_path) as found:
        yield found


def test_large_results_are_limited(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "s.db") as memory:
        middle = memory.add("m" * 600_000).id
        large = memory.add("l" * 3_000_000).id
    lines = (json.dumps({"content": f"text {number}"}) for number in range(3 * MAX_LISTED))
    (tmp_path / "many.ndjson").write_text("\n".join(lines))
    with listening(tmp_path / "s.db", cwd=tmp_path) as (url, _):
        for era in ("legacy", "auto"):
            with agent(over_http(url), era) as one:
                found = one.call_raw("me_memory_get", {"id": middle})
                assert len(found.structured_content["content"]) == 600_000
                assert len(text_of(found)) < 110_000 and text_of(found).splitlines()[-2] == "```"
                assert "more than 1 MB" in one.call_error("me_memory_get", id=large)
                (found,) = one.call("me_memory_search", grep="^l", limit=1)["results"]
                assert (found["id"], len(found["content"])) == (large, 50_000), "one long memory costs no search"
                assert large in one.call("me_memory_search", limit=5)["notes"][0]
                written = one.call("me_memory_create", content="ü" * 400_000)
                assert len(written["content"]) == 100_000
                assert len(one.call("me_memory_get", id=written["id"])["content"]) == 400_000
        with agent(over_http(url), "legacy") as one:
            result = one.call_raw("me_memory_import", {"path": "many.ndjson"})
            assert result.structured_content["imported"] == 3 * MAX_LISTED
            assert len(result.structured_content["ids"]) == MAX_LISTED and "the counts include everything" in text_of(
                result
            )
            assert one.call("me_memory_search", limit=1)["total"] == 3 * MAX_LISTED + 4


def test_a_budget_limits_lists_too(here: Agent) -> None:
    for number in range(10):
        here.call("me_memory_create", content=f"{number} " + "word " * 200)
    assert len(here.call_text("me_memory_search", budget=300)) < 2_500
    assert len(here.call("me_memory_search", budget=300)["results"]) < 10
    assert "`context` only applies to searches" in here.call_error("me_memory_search", context=2)


def test_a_large_result_is_not_an_error(here: Agent, tmp_path: Path) -> None:
    """An import with many bad lines, and an update of a large memory, were reported as errors."""
    count = MAX_LISTED + 2_000
    (tmp_path / "bad.ndjson").write_text('{"content": "good"}\n' + '{"content": ""}\n' * count)
    result = here.call_raw("me_memory_import", {"path": "bad.ndjson"})
    found = result.structured_content
    assert found is not None and not result.is_error
    assert (found["imported"], found["failed"], len(found["ids"])) == (1, count, 1)
    assert 1_000 < len(found["errors"]) < count and "the counts include everything" in text_of(result)
    assert [error["chunkIndex"] for error in found["errors"][:2]] == [1, 2]
    (tmp_path / "bad.ndjson").write_text('{"content": ""}\n' * count)
    assert here.call_error("me_memory_import", path="bad.ndjson").startswith(f"all {count:,} chunks failed")

    with Memory.open(tmp_path / "store.db") as memory:
        large = memory.add("l" * 2_000_000).id
    assert here.call("me_memory_update", id=large, tags=["t"])["tags"] == ["t"]
    made = here.call_raw("me_memory_create", {"content": "m", "meta": {"k": "v" * 1_500_000}})
    assert not made.is_error and "this result leaves it out" in text_of(made)
    assert made.structured_content is not None
    with Memory.open(tmp_path / "store.db") as memory:
        assert len(memory.get(made.structured_content["id"]).meta["k"]) == 1_500_000


@given(st.dictionaries(st.sampled_from(["errors", "ids", "skippedIds"]), st.lists(st.integers(0, 1 << 20), max_size=9)))
def test_lists_are_truncated_to_fit_a_result(sizes: dict[str, list[int]]) -> None:
    lists = {name: ["x" * size for size in inner] for name, inner in sizes.items()}
    found = fit_lists(lists)
    assert len(msgspec.json.encode(found)) < MAX_ANSWER_BYTES
    for name, inner in lists.items():
        assert found[name] == inner[: len(found[name])]
    if len(msgspec.json.encode(lists)) < MAX_ANSWER_BYTES // (2 * max(len(lists), 1)):
        assert found == lists


def test_fields_too_large_for_a_result_are_rejected_or_left_out(here: Agent, tmp_path: Path) -> None:
    for labels in ({"title": "t" * 1_200_000}, {"tags": ["t" * 1_200_000]}):
        assert "put long text in `content`" in here.call_error("me_memory_create", content="x", **labels)
    assert here.call("me_memory_search")["total"] == 0
    new_project(tmp_path, "acme")
    nodes = [{"kind": "gotcha", "title": f"Large {number}", "body": "b " * 300_000} for number in range(2)]
    saved = here.call("save_memory", task="t", nodes=nodes, project_root="acme")
    assert saved["data"]["memory_created"] == ["gotcha.large-0", "gotcha.large-1"]
    assert "patch" not in saved["data"] and "everything was saved" in saved["warnings"][-1]
