"""Secrets are detected by their shape and never shown; conflict markers are distinguished from Markdown."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha512

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SHARED
from memglot.project.storage.markdown import first_heading, has_front_matter
from memglot.project.storage.merge_markers import conflict_line
from memglot.project.storage.secrets import find_secrets

# Written in two parts, so that no scanner reports this file as a leak.
LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC3"
BLOCKED = {
    "private-key": "-----BEGIN " + "RSA PRIVATE KEY-----",
    "github-token": "gh" + "p_" + LETTERS,
    "github-fine-grained-token": "github" + "_pat_" + LETTERS,
    "openai-key": "sk" + "-proj-" + LETTERS,
    "stripe-key": "sk" + "_live_" + LETTERS[:24],
    "slack-token": "xox" + "b-123456789012-" + LETTERS[:12],
    "aws-access-key": "AKI" + "AIOSFODNN7ABCDEFG",
    "google-api-key": "AIz" + "a" + LETTERS[:35],
    "assigned-secret": 'DB_PASSWORD = "' + 'hunter2-hunter2"',
}
WARNED = {
    "jwt": "eyJ" + "hbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
    "bearer-token": "Authorization: Bear" + "er abcdefghij0123456789",
    "high-entropy": b64encode(sha512(b"x").digest()).decode().replace("/", "a").replace("+", "b"),
}


@pytest.mark.parametrize("rule", BLOCKED)
@pytest.mark.parametrize("frame", ["{}", "see {} there", "first\nsecond `{}`", "- ({})", "\tkey={}"])
def test_a_secret_blocks_with_its_line_and_is_not_shown(rule: str, frame: str) -> None:
    text = frame.format(BLOCKED[rule])
    found = [each for each in find_secrets(text) if each.severity == "block"]
    assert rule in {each.rule for each in found}
    assert {each.line for each in found} == {text.count("\n") + 1}
    for each in found:
        assert LETTERS[:12] not in each.message and "hunter2" not in each.message


@pytest.mark.parametrize("rule", WARNED)
def test_a_possible_secret_is_a_warning(rule: str) -> None:
    found = find_secrets("one\n\n" + WARNED[rule] + "\nfour")
    assert [(each.severity, each.rule, each.line) for each in found if each.rule == rule] == [("warn", rule, 3)]
    assert not [each for each in found if each.severity == "block"]


@pytest.mark.parametrize(
    "text",
    [
        "See feature.ask-the-user-before-deleting-anything-important2 first",
        "feature.sk-learn-pipelines-for-ranking-candidates",
        "rel.decision-retries-run-in-worker-depends-on-feature-billing-worker-2",
        "sk-learn-based-ranking-of-the-2-candidates",
        "task-scheduling-of-long-running-jobs-in-workers",
        "The password: it must have 12 or more characters",
        'password = "short"',
        'api_key = "${STRIPE_API_KEY}"',
        'secret: "<your-client-secret-here>"',
        "token = '************'",
        "Bearer authentication-is-used-throughout",
        "sha256:" + "0123456789abcdef" * 4,
        "services/billing/src/webhooks/2024/retry-queue/RetryQueueHandler2.test.ts",
        "https://example.org/a?b=" + WARNED["high-entropy"],
        "# " + WARNED["high-entropy"],
        "The digest of the file was " + WARNED["high-entropy"] + ".",
        "thisIsAVeryLongIdentifierThatSomebodyWroteInJavaScriptOnce",
        "AKIA is what an access key begins with",
        "a" * 100 + "1",
        "=" * 100,
    ],
)
def test_names_paths_addresses_and_placeholders_are_not_secrets(text: str) -> None:
    assert find_secrets(text) == []


@pytest.mark.parametrize(
    "text",
    ["sk-" * 100_000, "eyJ" * 100_000, "eyJaaaaaaaa." * 30_000, "password=" * 60_000, "-----BEGIN " + "A " * 200_000]
    + [
        "bearer " * 60_000,
        "-_" * 200_000,
        "a1-" * 150_000,
        "xoxb-" * 80_000,
        (LETTERS + " ") * 10_000,
        "AKIA" * 99_999,
    ],
)
def test_malicious_texts_are_searched_fast(text: str) -> None:
    """A pattern with backtracking would not finish here."""
    assert all(found.line == 1 for found in find_secrets(text))
    assert conflict_line(text) is None
    assert first_heading(text) is None


@given(st.text())
def test_any_text_can_be_searched(text: str) -> None:
    lines = text.count("\n") + 1
    assert all(1 <= found.line <= lines for found in find_secrets(text))
    assert (conflict_line(text) or 1) <= lines


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> main\n", 2),
        ("a\r\n<<<<<<< HEAD\r\nb\r\n", 2),
        ("a\n=======\nb\n>>>>>>> main\n", 4),
        ("a\n||||||| base\nb\n", 2),
        ("<<<<<<<\na\n=======\nb\n>>>>>>>\n", 1),
        ("Heading\n=======\n\ntext", None),
        ("<<<<<<<\n", None),
        ("    <<<<<<< HEAD\n", None),
        ("say <<<<<<< HEAD\n", None),
        ("<<<<<<<< eight\n", None),
        (">>>>>>> \n", None),
        ("", None),
    ],
)
def test_conflict_markers_differ_from_markdown(text: str, line: int | None) -> None:
    assert conflict_line(text) == line


@pytest.mark.parametrize(
    ("text", "heading", "front"),
    [
        ("# Title\n", "Title", False),
        ("\ufeff# Title ##  \nmore", "Title", False),
        ("~~~~\n# code\n~~~\n# code\n~~~~\n# after", "after", False),
        ("```\n# never closed\n", None, False),
        ("#Title\n## Second\n    # code", None, False),
        ("# C#\n", "C#", False),
        ("---\r\na: b\r\n---\r\n# T", "T", True),
        ("---\nnever closed", None, False),
        ("\n---\na\n---\n", None, False),
        ("one\u2028# two\x0c# three\n# Title \u2028 end", "Title \u2028 end", False),
        ("---\u2028a: b\u2028---\u2028", None, False),
        ("", None, False),
    ],
)
def test_heading_and_front_matter(text: str, heading: str | None, front: bool) -> None:
    assert (first_heading(text), has_front_matter(text)) == (heading, front)


@pytest.mark.skipif(not (SHARED / "fixtures/repo").is_dir(), reason="the shared fixtures are not here")
def test_markdown_vectors() -> None:
    for case in json.loads((SHARED / "fixtures/repo/vectors/markdown.json").read_text("utf-8")):
        assert first_heading(case["text"]) == case["h1"], case
        assert has_front_matter(case["text"]) == case["frontmatter"], case
