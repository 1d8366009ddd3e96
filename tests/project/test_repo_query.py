"""Query: matches, their order, and the token budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memglot.project.query import query
from memglot.project.storage.tokens import tokens_of
from repo_projects import do, feature, new_project, saved


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new_project(tmp_path)


def ask(root: Path, question: str, budget: float | None = None) -> dict[str, Any]:
    answer = do(root, query, question, budget)
    assert answer["ok"], answer["error"]
    data: dict[str, Any] = answer["data"]
    return data


def found(root: Path, question: str) -> list[str]:
    ids: list[str] = ask(root, question)["included_ids"]
    return ids


def test_matches_neighbours_and_open_questions(root: Path) -> None:
    to_queue = [{"predicate": "affects", "to": "feature.retry-queue"}]
    saved(
        root,
        nodes=[
            feature("Retry queue", "Failed webhooks go there.", stage="shipped", anchors=["src/q/", "lib/*.py"]),
            {"kind": "decision", "title": "In worker", "body": "Not inline.", "related": to_queue},
            {"kind": "question", "title": "Who pays?", "body": "Nobody knows.", "related": to_queue},
            {"kind": "gotcha", "title": "Alone", "body": "Nothing to see."},
        ],
    )
    data = ask(root, "webhooks")
    assert data["included_ids"] == ["feature.retry-queue"]
    assert data["connected_ids"] == ["decision.in-worker", "question.who-pays"]
    assert data["markdown"].splitlines() == [
        '# Memory — "webhooks"',
        "",
        "## Matches",
        "",
        "### feature.retry-queue — Retry queue  [active]",
        "stage: shipped",
        "anchors: src/q/, lib/*.py",
        "Failed webhooks go there.",
        "",
        "## Connected",
        "- decision.in-worker (affects feature.retry-queue) — In worker",
        "",
        "## Open questions",
        "- question.who-pays — Who pays?",
        "",
        "---",
        "1 matched + 1 connected · ~70 tokens · `memglot repo inspect feature.retry-queue` for full detail",
    ]
    assert data["truncated"] is False
    assert data["estimated_tokens"] == tokens_of(data["markdown"])


def test_a_rare_word_counts_more_than_a_common_one(root: Path) -> None:
    common = [feature(f"Part {number}", "The service renders the page in the browser.") for number in range(12)]
    saved(root, nodes=[*common, {"kind": "gotcha", "title": "Zebra", "body": "The idempotent one."}])
    assert found(root, "the service is idempotent")[0] == "gotcha.zebra"
    assert found(root, "the unicorn") == []


def test_a_stale_node_is_found_by_its_own_words_and_ranks_after_live_ones(root: Path) -> None:
    saved(
        root,
        nodes=[feature("Old way", "An idempotent loop over retries."), feature("New way", "A queue with retries.")],
        stale=[{"id": "feature.old-way", "reason": "gone"}],
    )
    assert found(root, "idempotent") == ["feature.old-way"]
    assert found(root, "retries") == ["feature.new-way", "feature.old-way"]


def test_ids_paths_tags_titles_and_anchors_are_found(root: Path) -> None:
    saved(
        root,
        nodes=[
            feature("Alpha", "One.", tags=["billing"], anchors=["services/payments/"]),
            feature("Beta", "It mentions billing and payments and alpha only in its text."),
        ],
    )
    assert found(root, "feature.beta")[0] == "feature.beta"
    assert found(root, ".memory/memory/beta.md")[0] == "feature.beta"
    for question in ("billing", "payments", "alpha", "services/payments"):
        assert found(root, question)[0] == "feature.alpha"


def test_words_are_found_in_their_other_forms_and_scripts(root: Path) -> None:
    saved(
        root,
        nodes=[
            feature("Caching", "Responses are cached at the edge."),
            feature("日本語", "重跑数据库迁移之后要检查。"),
            feature("Übergröße", "Die Größe der Crème."),
        ],
    )
    assert found(root, "cache response") == ["feature.caching"]
    assert found(root, "数据库")[0] == "feature.untitled"
    assert found(root, "grösse creme") != [] or found(root, "große creme") != []
    assert found(root, "CREME")[0] == "feature.ubergro-e"


def test_an_edit_by_hand_is_found_at_once(root: Path) -> None:
    saved(root, nodes=[feature("Alpha", "Nothing.")])
    assert found(root, "heliotrope") == []
    (root / ".memory/memory/alpha.md").write_text("A heliotrope.")
    assert found(root, "heliotrope") == ["feature.alpha"]
    (root / ".memory/memory/alpha.json").unlink()
    assert found(root, "heliotrope") == []


def test_results_stay_within_the_budget(root: Path) -> None:
    body = "word " * 700
    saved(root, nodes=[feature(f"Long {number}", f"{body} n{number}") for number in range(8)])
    for budget in (501, 800, 2000):
        data = ask(root, "word", budget)
        assert data["estimated_tokens"] <= budget
        assert data["truncated"]
        assert data["included_ids"]
        assert "…" in data["markdown"]
    config = root / ".memory/config.json"
    value = json.loads(config.read_bytes())
    value["memory"]["defaultTokenBudget"] = 600
    config.write_text(json.dumps(value))
    assert ask(root, "word")["estimated_tokens"] <= 600
    assert ask(root, "word", 1e9)["estimated_tokens"] > 2000


@pytest.mark.parametrize("sign", ["e\u0301\u0323", "👩‍👩‍👧‍👦", "🇩🇪"])
def test_cut_text_ends_between_characters_and_words(root: Path, sign: str) -> None:
    saved(root, nodes=[feature("Words", "zebra giraffe " * 900), feature("Signs", "gnu " + sign * 2000)])
    words = ask(root, "zebra", 501)["markdown"]
    assert "zebra…\n" in words or "giraffe…\n" in words
    (signs,) = (line for line in ask(root, "gnu", 501)["markdown"].split("\n") if line.startswith("gnu"))
    assert signs == "gnu " + sign * signs.count(sign) + "…"


@pytest.mark.parametrize("budget", [500, 0, -1, 501.5])
def test_an_invalid_budget_is_refused(root: Path, budget: float) -> None:
    error = do(root, query, "x", budget)["error"]
    assert error["message"] == "Token budget must be an integer greater than 500."
    assert error["details"] == {
        "field": "token_budget", "minimumExclusive": 500, "maximum": 50000, "actual": budget,
    }  # fmt: skip


def test_an_empty_query_is_refused_and_unusual_ones_are_not(root: Path) -> None:
    error = do(root, query, " \n ")["error"]
    assert error["message"] == "Search query must be non-empty after trimming whitespace."
    for question in ('"', "a AND (", "NEAR/3 *", "🚀", "-x", "title:", "\0", "é" * 5000):
        assert ask(root, question)["included_ids"] == []


def test_nodes_are_found_with_a_damaged_or_disabled_index(root: Path) -> None:
    saved(root, nodes=[feature("Alpha", "A heliotrope.")])
    index = root / ".memory/index/memglot.sqlite"
    for damage in (b"", b"not a database at all" * 100, index.read_bytes()[:5000]):
        for path in index.parent.glob("memglot.sqlite*"):
            path.unlink()
        index.write_bytes(damage)
        assert found(root, "heliotrope") == ["feature.alpha"]
    config = root / ".memory/config.json"
    value = json.loads(config.read_bytes())
    value["memory"]["autoIndex"] = False
    config.write_text(json.dumps(value))
    data = saved(root, nodes=[feature("Beta", "Another heliotrope.")])
    assert data["index_updated"] is False
    assert sorted(found(root, "heliotrope")) == ["feature.alpha", "feature.beta"]


def test_titles_and_anchors_stay_within_the_budget(root: Path) -> None:
    anchors = [f"services/a-rather-long-path/{number}/" for number in range(100)]
    saved(root, nodes=[feature("zebra " * 300, "zebra", anchors=anchors), feature("Other", "zebra " * 500)])
    for question in ("zebra", "zebra " + "word " * 5000):
        data = ask(root, question, 501)
        assert data["estimated_tokens"] <= 501
        assert data["included_ids"]
    assert tokens_of(ask(root, "nothing " * 3000)["markdown"]) <= 501


def test_other_forms_of_a_word_and_words_of_questions(root: Path) -> None:
    saved(
        root,
        nodes=[
            {"kind": "decision", "title": "Session cookies, not JWT", "body": "We should use cookies."},
            {"kind": "decision", "title": "Postgres searches", "body": "There is no Elasticsearch."},
            {"kind": "decision", "title": "Inline retries", "body": "Webhooks are sent again in the handler."},
            {"kind": "decision", "title": "Retries run in the worker", "body": "Webhooks that failed go to a queue."},
            feature("Deploy script", "It ships a release.", tags=["deploy"], anchors=["ops/deploy/"]),
        ],
        supersede=[
            {"id": "decision.inline-retries", "superseded_by": "decision.retries-run-in-the-worker", "reason": "x"}
        ],
    )
    assert found(root, "why do we not use Elasticsearch?")[0] == "decision.postgres-searches"
    assert found(root, "deployment process") == ["feature.deploy-script"]
    assert found(root, "how do we retry failed webhooks?")[0] == "decision.retries-run-in-the-worker"
