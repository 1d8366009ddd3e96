"""Find secrets in texts that are about to be committed, without ever showing them.

Known kinds of secrets block a save; what may be a secret gives a warning. Every rule takes time linear in the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import log2
from typing import Literal, NamedTuple

from memglot.project.storage.vocabulary import ID

Severity = Literal["block", "warn"]


SECRETS = {
    "private-key": "This is the start of a private key",
    "github-token": "This looks like a GitHub token",
    "github-fine-grained-token": "This looks like a fine-grained GitHub token",
    "openai-key": "This looks like an API key that begins with `sk-`",
    "stripe-key": "This looks like a Stripe key",
    "slack-token": "This looks like a Slack token",
    "aws-access-key": "This looks like an AWS access key id",
    "google-api-key": "This looks like a Google API key",
    "assigned-secret": "This assigns a password, key or token",
    "jwt": "This may be a JSON Web Token",
    "bearer-token": "This may be a bearer token",
    "high-entropy": "This long random text may be a secret",
}
"""Message of each rule; the secret itself is never shown."""


class SecretFinding(NamedTuple):
    """A line that contains, or may contain, a secret."""

    severity: Severity
    rule: str
    line: int
    message: str


# A secret is not part of a longer word: `feature.ask-…` is not a key, nor is a hash that happens to contain `AKIA`.
_APART = r"(?<![A-Za-z0-9_.-])"
_BLOCKS = (
    ("private-key", r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"),
    ("github-token", rf"{_APART}gh[pousr]_[A-Za-z0-9]{{30,}}"),
    ("github-fine-grained-token", rf"{_APART}github_pat_[A-Za-z0-9_]{{22,}}"),
    ("openai-key", rf"{_APART}(?P<key>sk-[A-Za-z0-9_-]{{20,}})"),
    ("stripe-key", rf"{_APART}[sr]k_(?:live|test)_[A-Za-z0-9]{{16,}}"),
    ("slack-token", rf"{_APART}xox[a-z]-[A-Za-z0-9-]{{10,}}"),
    ("aws-access-key", rf"{_APART}A[KS]IA[A-Z0-9]{{16}}(?![A-Za-z0-9])"),
    ("google-api-key", rf"{_APART}AIza[A-Za-z0-9_-]{{35}}(?![A-Za-z0-9_-])"),
)
_ASSIGNED = re.compile(
    r"(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)[a-z0-9_-]{0,20}"
    r"[\"'`]?[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8}[\"'`](?P<value>[^\s\"'`]{12,})",
    re.IGNORECASE,
)
_JWT = re.compile(r"(?<![\w.-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}")
_BEARER = re.compile(r"(?<!\w)bearer[ \t]{1,4}(?P<token>[A-Za-z0-9._~+/=-]{20,})", re.IGNORECASE)
_RULES = tuple((rule, re.compile(pattern)) for rule, pattern in _BLOCKS)
# Nearly all texts contain none of these, and need no further search.
_HINTS = "-----BEGIN |ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|sk-|k_live_|k_test_|xox|AKIA|ASIA|AIza".split("|")
_QUOTED = re.compile(r"[:=>][ \t]{0,8}[\"'`][^\s\"'`]{12}")
_ASSIGNED_HINTS = ("pass", "secret", "token", "key", "credential")
_PLACEHOLDER = re.compile(r"[<{]|\$[{(]|%\(|(?P<same>.)(?P=same)*\Z")
_LONG = re.compile(r"[A-Za-z0-9+/=_.:@~-]{40,}")
_NAMED = re.compile(rf"(?:{ID.strip('^$')}|rel\.[a-z0-9-]+|sha(?:1|256|512)[:-].*)\Z", re.DOTALL)
_WORD = "(?:[A-Za-z]{1,20}[0-9]{0,8}|[0-9]{1,16})"
_WORDS = re.compile(rf"{_WORD}(?:[-_./:@~+=]+{_WORD})*\Z")
_FILE = re.compile(r".*/.*\.[A-Za-z][A-Za-z0-9]{0,7}\Z", re.DOTALL)
MIN_ENTROPY = 4.0
"""Minimum entropy per character, in bits, of a text that counts as random."""


def find_secrets(text: str) -> list[SecretFinding]:
    """Return the secrets in a text, ordered by line; each rule reports a line once."""
    found = {(place, rule): severity for severity, rule, place in _places(text)}
    findings: dict[tuple[int, str], SecretFinding] = {}
    line, seen = 1, 0
    for (place, rule), severity in sorted(found.items()):
        line, seen = line + text.count("\n", seen, place), place
        findings.setdefault(
            (line, rule),
            SecretFinding(severity, rule, line, f"{SECRETS[rule]}; keep secrets out of memory that is committed."),
        )
    return list(findings.values())


def _places(text: str) -> Iterator[tuple[Severity, str, int]]:
    if any(hint in text for hint in _HINTS):
        yield from (("block", rule, place) for rule, place in _key_places(text))
    lowered = text.lower()
    if any(hint in lowered for hint in _ASSIGNED_HINTS) and _QUOTED.search(text):
        for found in _ASSIGNED.finditer(text):
            if not _PLACEHOLDER.match(found["value"]):
                yield "block", "assigned-secret", found.start()
    if "eyJ" in text:
        yield from (("warn", "jwt", found.start()) for found in _JWT.finditer(text))
    if "bearer" in lowered:
        for found in _BEARER.finditer(text):
            if any(character.isdigit() for character in found["token"]):
                yield "warn", "bearer-token", found.start()
    if _LONG.search(text):
        yield from (("warn", "high-entropy", place) for place in _random_places(text))


def _key_places(text: str) -> Iterator[tuple[str, int]]:
    for rule, pattern in _RULES:
        for found in pattern.finditer(text):
            if rule != "openai-key" or _is_key(found["key"]):
                yield rule, found.start()


def _random_places(text: str) -> Iterator[int]:
    start = 0
    for line in text.split("\n"):
        if len(line) >= 40 and not _is_prose(line):
            for found in _LONG.finditer(line):
                before = line[max(0, found.start() - 500) : found.start()]
                if not _is_name(found[0], before) and _is_random(found[0]):
                    yield start + found.start()
        start += len(line) + 1


def _is_key(text: str) -> bool:
    """Return True for a key, False for words joined by hyphens."""
    if any(len(part) >= 20 for part in re.split("[-_]", text)):
        return True
    return all(any(test(character) for character in text) for test in (str.isdigit, str.isupper, str.islower))


def _is_random(text: str) -> bool:
    if not any(character.isdigit() for character in text) or not any(character.isalpha() for character in text):
        return False
    size = len(text)
    return -sum(count / size * log2(count / size) for count in Counter(text).values()) >= MIN_ENTROPY


def _is_prose(line: str) -> bool:
    """Return True if a line is a heading or ends like a sentence; people do not write keys there."""
    line = line.strip()
    return line.startswith("#") or (line.endswith((".", "!", "?")) and " " in line)


def _is_name(found: str, before: str) -> bool:
    """Return True if a long text is an id, a digest, a path, or part of a URL."""
    word = found.strip("./:-=")
    if _NAMED.match(word) or _WORDS.match(word) or _FILE.match(word):
        return True
    return "://" in found or (before[-1:].strip() != "" and "://" in before.split()[-1])
