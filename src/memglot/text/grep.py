"""Regular expressions over memories: what is accepted is what is run, and nothing runs for ever.

Patterns are those of the `regex` module, which for ordinary ones finds what Python's `re` finds. It can be stopped,
which `re` cannot: each text may take as long as a fair pattern needs for its length, and what all of them take beyond
that must not exceed `settings.GREP_SECONDS` in one search. So a plain pattern may read through a million memories,
while one that tries ever more ways through a single one is stopped.
"""

import re
from functools import lru_cache
from math import prod
from time import thread_time
from typing import Any

from memglot.display import shorten
from memglot.errors import UsageError
from memglot.settings import GREP_SECONDS

MAX_PATTERN = 1_000
"""The longest pattern that is taken, in characters."""
MAX_PARTS = 100_000
"""`a{1000}` is compiled into a thousand parts, a repeat of it into as many times more; each takes 300 bytes."""
_FAIR_SECONDS, _FAIR_SIGNS_A_SECOND = 0.000_05, 4_000_000
"""What a fair pattern takes: for each text, and for its length. Ordinary ones were measured at 5 to 250 million."""

# A count, also as the verbose mode has it, with blanks and comments; what stands before it tells what it repeats.
_COUNT = re.compile(r"(?s)(.?)\{((?:[\s0-9]|#[^\n]*\n)*)")
_ESCAPED = re.compile(r"\\\S")
_COMMENT = re.compile(r"#[^\n]*\n|\s")
_CALL = re.compile(r"(?<!\\)(?:\\\\)*(\(\?(?:R|[0-9]|[+-]\s*[0-9]|&|P\s*[>&]))")
_SURROGATE = re.compile("[\ud800-\udfff]")


@lru_cache(8)
def compile_pattern(pattern: str) -> Any:
    """A pattern made ready, ignoring case. Raises `UsageError`, with the position, for what is none or is too large."""
    # Importing it takes as long as a whole search that needs none of it.
    import regex

    if len(pattern) > MAX_PATTERN:
        raise _pattern_too_large(pattern, f"it has {len(pattern):,} characters, and at most {MAX_PATTERN:,} are taken")
    if (found := _SURROGATE.search(pattern)) is not None:
        raise _bad_pattern(_SURROGATE.sub("\ufffd", pattern), "half a surrogate pair", found.start())
    if (parts := _parts(pattern)) > MAX_PARTS:
        raise _pattern_too_large(pattern, f"its counts come to {parts:,} parts, and at most {MAX_PARTS:,} are taken")
    if (found := _CALL.search(pattern)) is not None:
        raise _pattern_calls_itself(pattern, found.start(1))
    try:
        return regex.compile(pattern, regex.IGNORECASE | regex.VERSION0)
    except regex.error as error:
        raise _bad_pattern(pattern, error.msg, error.pos) from None
    except ValueError as error:
        # Flags inside the pattern that contradict each other, or ours.
        raise _bad_pattern(pattern, str(error), None) from None
    except RecursionError:
        raise _pattern_too_large(pattern, "its groups lie too deep in one another") from None


class Grep:
    """One search for a pattern, and the time that is left for it."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._pattern = compile_pattern(pattern)
        self._left = GREP_SECONDS

    def found_in(self, id: str, *texts: str | None) -> bool:
        """Tell whether a text of a memory has the pattern. Raises `UsageError` when it takes too long, or too much."""
        return any(self._found(id, text) for text in texts if text is not None)

    def _found(self, id: str, text: str) -> bool:
        fair = _FAIR_SECONDS + len(text) / _FAIR_SIGNS_A_SECOND
        # Time on the processor, which is what `timeout` counts too: a busy machine makes no pattern a slow one.
        start = thread_time()
        try:
            found = self._pattern.search(text, timeout=self._left + fair) is not None
        except TimeoutError:
            self._left = 0.0
            raise _pattern_too_slow(self._text, id, f"it took {GREP_SECONDS:g} seconds too long") from None
        except MemoryError:
            raise _pattern_too_slow(self._text, id, "it took too much memory") from None
        self._left = max(0.0, self._left - max(0.0, thread_time() - start - fair))
        return found


def _parts(pattern: str) -> int:
    """No fewer parts than the pattern is compiled into: counts after groups multiply, all others add up."""
    single: list[int] = []
    groups: list[int] = []
    for before, count in _COUNT.findall(_ESCAPED.sub("_", pattern)):
        digits = _COMMENT.sub("", count)
        # One with so many digits is refused by the compiler.
        number = int(digits[:12] or "1")
        (groups if before in ")" or before.isspace() else single).append(max(1, number))
    return (len(pattern) + sum(single)) * prod(groups)


def _bad_pattern(pattern: str, reason: str, position: int | None) -> UsageError:
    """A regular expression that is none."""
    where = "" if position is None else f" at position {position}"
    return UsageError(f"`{shorten(pattern)}` is not a regular expression: {reason}{where}")


def _pattern_too_large(pattern: str, reason: str) -> UsageError:
    """A regular expression that would take too much memory or time before it is even run."""
    return UsageError(f"the pattern `{shorten(pattern)}` is too large: {reason}", "search for a smaller part of it")


def _pattern_calls_itself(pattern: str, position: int) -> UsageError:
    """A regular expression that calls a part of itself, which has no bound in memory."""
    text = f"the pattern `{shorten(pattern)}` calls a part of itself at position {position}"
    return UsageError(text, "write the part out where it is needed again")


def _pattern_too_slow(pattern: str, id: str, reason: str) -> UsageError:
    """A regular expression that was stopped at a memory."""
    return UsageError(
        f"the pattern `{shorten(pattern)}` was stopped at memory `{id}`: {reason}",
        "give words or filters too, so that it is tried on fewer memories, or avoid a repeat inside a repeat, as in"
        " `(a+)+`",
    )
