"""Estimate the number of tokens in a text by its length, and cut texts, as the original tool does.

Its files and answers contain these numbers, so project memory uses the same. `memglot.search.pack` has an estimate
that is safe in every script; a Chinese text takes about four times the tokens that this one returns.
"""

from __future__ import annotations

import re

from memglot.project.storage.errors import ProjectError
from memglot.project.storage.markdown import lines_of

MIN_BUDGET = 501
MAX_BUDGET = 50_000
MAX_SENTENCE = 1_000
_SENTENCE = re.compile(r".*?[.!?](?=\s|$)")


def units_of(text: str) -> int:
    """Return the length of a text in UTF-16 units, which is what the original tool counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def tokens_of(text: str) -> int:
    """Estimate the tokens of a text: one for every four units, rounded up."""
    return tokens_in(units_of(text))


def tokens_in(units: int) -> int:
    """Estimate the tokens of a text of that many units."""
    return -(-units // 4)


def cut(text: str, units: int) -> str:
    """Return the beginning of a text, at most that many units long, without splitting a character."""
    if units <= 0:
        return ""
    if text.isascii():
        return text[:units]
    # No text has more characters than units, so the rest need not be encoded.
    encoded = text[:units].encode("utf-16-le", "surrogatepass")[: 2 * units]
    kept = encoded.decode("utf-16-le", "surrogatepass")
    # A split pair leaves its first half, which the text does not have there.
    return kept if text.startswith(kept) else kept[:-1]


def shortened(text: str, units: int) -> str:
    """Return a text, cut with an ellipsis if it is longer than that many units."""
    return text if units_of(text) <= units else cut(text, units - 1).rstrip() + "…"


def first_sentence(body: str) -> str:
    """Return the first sentence of a text on one line, without headings; all of it if no sentence ends."""
    lines = (line for line in lines_of(body.removeprefix("\ufeff")) if not line.lstrip().startswith("#"))
    text = " ".join(" ".join(lines).split())
    found = _SENTENCE.match(text)
    return shortened(found[0] if found else text, MAX_SENTENCE)


def check_budget(value: object) -> int:
    """Return a token budget, at most 50,000. Raise `ProjectError` if it is not an integer above 500."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < MIN_BUDGET:
        least = MIN_BUDGET - 1
        details = {"field": "token_budget", "minimumExclusive": least, "maximum": MAX_BUDGET, "actual": value}
        message = f"Token budget must be an integer greater than {least}."
        raise ProjectError("MemoryValidationFailed", message, details)
    return min(value, MAX_BUDGET)
