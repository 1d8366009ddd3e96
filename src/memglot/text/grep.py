"""Regular expressions over memories, with limits on their size and time.

Patterns use the `regex` module, which can be stopped, unlike Python's `re`. Each text may take as long as an ordinary
pattern needs for its length; the time beyond that must not exceed `settings.GREP_SECONDS` in one search. So an ordinary
pattern may read a million memories, while one that backtracks without end is stopped.
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
"""Maximum length of a pattern, in characters."""
MAX_PARTS = 100_000
"""Maximum number of compiled parts of 300 bytes: `a{1000}` has a thousand, and repeats of it multiply."""
_FAIR_SECONDS, _FAIR_CHARACTERS_PER_SECOND = 0.000_05, 4_000_000
"""Time of an ordinary pattern: per text, and per length. Measured: 5 to 250 million characters per second."""

# A count, possibly with blanks and comments (verbose mode), and the character before it.
_COUNT = re.compile(r"(?s)(.?)\{((?:[\s0-9]|#[^\n]*\n)*)")
_ESCAPED = re.compile(r"\\\S")
_COMMENT = re.compile(r"#[^\n]*\n|\s")
_CALL = re.compile(r"(?<!\\)(?:\\\\)*(\(\?(?:R|[0-9]|[+-]\s*[0-9]|&|P\s*[>&]))")
_SURROGATE = re.compile("[\ud800-\udfff]")


@lru_cache(8)
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern that ignores case; raise `UsageError` if it is invalid or too large."""
    # Importing it takes as long as a complete search without a pattern.
    import regex

    if len(pattern) > MAX_PATTERN:
        raise _pattern_too_large(pattern, f"it has {len(pattern):,} characters; the maximum is {MAX_PATTERN:,}")
    if (found := _SURROGATE.search(pattern)) is not None:
        raise _bad_pattern(_SURROGATE.sub("\ufffd", pattern), "a lone surrogate", found.start())
    if (parts := _parts(pattern)) > MAX_PARTS:
        raise _pattern_too_large(pattern, f"its counts add up to {parts:,} parts; the maximum is {MAX_PARTS:,}")
    if (found := _CALL.search(pattern)) is not None:
        raise _pattern_calls_itself(pattern, found.start(1))
    try:
        return regex.compile(pattern, regex.IGNORECASE | regex.VERSION0)
    except regex.error as error:
        raise _bad_pattern(pattern, error.msg, error.pos) from None
    except ValueError as error:
        # Contradicting flags inside the pattern.
        raise _bad_pattern(pattern, str(error), None) from None
    except RecursionError:
        raise _pattern_too_large(pattern, "its groups are nested too deeply") from None


class Grep:
    """One search for a pattern, with its remaining time."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._pattern = compile_pattern(pattern)
        self._left = GREP_SECONDS

    def found_in(self, id: str, *texts: str | None) -> bool:
        """Return True if a text of a memory matches; raise `UsageError` if that takes too much time or memory."""
        return any(self._found(id, text) for text in texts if text is not None)

    def _found(self, id: str, text: str) -> bool:
        fair = _FAIR_SECONDS + len(text) / _FAIR_CHARACTERS_PER_SECOND
        # CPU time, which `timeout` counts too: a busy machine does not make a pattern slow.
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
    """Return an upper bound of the compiled parts: counts after groups multiply, all others add up."""
    single: list[int] = []
    groups: list[int] = []
    for before, count in _COUNT.findall(_ESCAPED.sub("_", pattern)):
        digits = _COMMENT.sub("", count)
        # The compiler rejects a count with more digits.
        number = int(digits[:12] or "1")
        (groups if before in ")" or before.isspace() else single).append(max(1, number))
    return (len(pattern) + sum(single)) * prod(groups)


def _bad_pattern(pattern: str, reason: str, position: int | None) -> UsageError:
    """Return the error for an invalid regular expression."""
    where = "" if position is None else f" at position {position}"
    return UsageError(f"`{shorten(pattern)}` is not a valid regular expression: {reason}{where}")


def _pattern_too_large(pattern: str, reason: str) -> UsageError:
    """Return the error for a pattern that would need too much memory or time to compile."""
    return UsageError(f"the pattern `{shorten(pattern)}` is too large: {reason}", "search for a smaller part of it")


def _pattern_calls_itself(pattern: str, position: int) -> UsageError:
    """Return the error for a recursive pattern, whose memory has no bound."""
    text = f"the pattern `{shorten(pattern)}` is recursive at position {position}"
    return UsageError(text, "write the repeated part out instead")


def _pattern_too_slow(pattern: str, id: str, reason: str) -> UsageError:
    """Return the error for a pattern that was stopped at a memory."""
    return UsageError(
        f"the pattern `{shorten(pattern)}` was stopped at memory `{id}`: {reason}",
        "add words or filters, so that it is tried on fewer memories, or avoid nested repeats such as `(a+)+`",
    )
