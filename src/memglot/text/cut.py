"""Where to cut a text: never inside what a reader sees as one sign, and at a line or word end where one is near."""

from bisect import bisect_right
from collections.abc import Callable

_LINE_SHARE = 5
"""A line end counts as near when it lies in the last fifth of what could stay."""
_WORD_SIGNS = 40


def cut_to_fit(text: str, fits: Callable[[str], bool], longest: int) -> str:
    """The longest beginning of a text that fits, cut where it reads well; empty where not even one sign fits.

    `fits` MUST hold for every shorter beginning of one that it holds for. No more than `longest` signs are tried.
    """
    end = min(len(text), longest)
    if not fits(text[:end]):
        end = max(0, bisect_right(range(end), 0, key=lambda end: 0 if fits(text[:end]) else 1) - 1)
    return text[: cut_position(text, end)]


def cut_position(text: str, end: int) -> int:
    """Where to cut a text so that at most `end` signs stay."""
    if end >= len(text):
        return len(text)
    line = max(text.rfind("\n", end - end // _LINE_SHARE, end + 1), text.rfind("\r", end - end // _LINE_SHARE, end + 1))
    if line >= 0:
        end = line
    elif not text[end].isspace():
        word = next((at for at in range(end - 1, max(0, end - _WORD_SIGNS), -1) if text[at].isspace()), 0)
        end = word or end
    # Blanks before the cut say nothing. They go first, for one of them can be part of a sign.
    return _grapheme_boundary(text, len(text[:end].rstrip()))


def _grapheme_boundary(text: str, end: int) -> int:
    """The last place at or before `end` that is not inside a sign, such as a letter with its accents, or a flag."""
    # Importing regex takes longer than most searches, and most texts are not cut.
    import regex

    start = max(text.rfind("\n", 0, end), 0)
    last = start
    for sign in regex.compile(r"\X").finditer(text, start):
        if sign.end() > end:
            break
        last = sign.end()
    return last
