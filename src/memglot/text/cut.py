"""Cut text between graphemes, at the end of a line or word if one is near."""

from bisect import bisect_right
from collections.abc import Callable

_LINE_SHARE = 5
"""A line end counts as near if it is in the last fifth of the text that fits."""
_WORD_LENGTH = 40


def cut_to_fit(text: str, fits: Callable[[str], bool], longest: int) -> str:
    """Return the longest beginning of a text that fits; empty if not even one character fits.

    If `fits` is True for a text, it MUST be True for every shorter beginning. At most `longest` characters are tried.
    """
    end = min(len(text), longest)
    if not fits(text[:end]):
        end = max(0, bisect_right(range(end), 0, key=lambda end: 0 if fits(text[:end]) else 1) - 1)
    return text[: cut_position(text, end)]


def cut_position(text: str, end: int) -> int:
    """Return where to cut a text so that at most `end` characters remain."""
    if end >= len(text):
        return len(text)
    line = max(text.rfind("\n", end - end // _LINE_SHARE, end + 1), text.rfind("\r", end - end // _LINE_SHARE, end + 1))
    if line >= 0:
        end = line
    elif not text[end].isspace():
        word = next((at for at in range(end - 1, max(0, end - _WORD_LENGTH), -1) if text[at].isspace()), 0)
        end = word or end
    # Remove blanks first, since one of them can be part of a grapheme.
    return _grapheme_boundary(text, len(text[:end].rstrip()))


def _grapheme_boundary(text: str, end: int) -> int:
    """Return the last position up to `end` that is not inside a grapheme, such as a letter with accents or a flag."""
    # Importing regex takes longer than most searches, and most texts are not cut.
    import regex

    start = max(text.rfind("\n", 0, end), 0)
    last = start
    for grapheme in regex.compile(r"\X").finditer(text, start):
        if grapheme.end() > end:
            break
        last = grapheme.end()
    return last
