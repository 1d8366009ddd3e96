"""How long a text is for a model: an estimate by its length, the same that the real tool makes.

Its files and answers tell these numbers, so project memory keeps to them. `memglot.search.pack` has an estimate that is
safe in every script; a Chinese text takes about four times the tokens that this one tells.
"""

from __future__ import annotations

from memglot.project.storage.errors import ProjectError

LEAST_BUDGET = 501
MOST_BUDGET = 50_000


def units_of(text: str) -> int:
    """The length of a text in UTF-16 units, which is what the real tool counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def tokens_of(text: str) -> int:
    """About how many tokens a text takes: one for every four units begun."""
    return tokens_in(units_of(text))


def tokens_in(units: int) -> int:
    """About how many tokens a text of that many units takes."""
    return -(-units // 4)


def cut(text: str, units: int) -> str:
    """The beginning of a text, at most that many units long; no sign is cut in half."""
    if units <= 0:
        return ""
    if text.isascii():
        return text[:units]
    # No text has more signs than units, so what lies beyond need not be encoded.
    encoded = text[:units].encode("utf-16-le", "surrogatepass")[: 2 * units]
    kept = encoded.decode("utf-16-le", "surrogatepass")
    # A pair that was cut through leaves its first half, which the text does not have in that place.
    return kept if text.startswith(kept) else kept[:-1]


def check_budget(value: object) -> int:
    """A budget as it is used: whole, above 500, and no more than 50,000. Raises `ProjectError` for all else."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < LEAST_BUDGET:
        raise _bad_budget(value, LEAST_BUDGET, MOST_BUDGET)
    return min(value, MOST_BUDGET)


def _bad_budget(actual: object, least: int, most: int) -> ProjectError:
    """A token budget that is no whole number, or too small to hold an answer."""
    details = {"field": "token_budget", "minimumExclusive": least - 1, "maximum": most, "actual": actual}
    message = f"Token budget must be an integer greater than {least - 1}."
    return ProjectError("MemoryValidationFailed", message, details)
