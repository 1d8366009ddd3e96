"""One change of a text: a stretch of it that is replaced, and how that is shown without showing the rest."""

import re
from typing import Literal, NamedTuple

_HARMLESS = re.compile(r"[\s{}\[\],]*\Z")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_HIDDEN = "…"


class Splice(NamedTuple):
    """The stretch from `start` to `end` of a text, and what comes there."""

    start: int
    end: int
    text: str

    def apply(self, before: str) -> str:
        """The text with the change."""
        return before[: self.start] + self.text + before[self.end :]

    def after(self, earlier: "Splice", before: str) -> "Splice":
        """This change, of a text that `earlier` has made of `before`, and the earlier one as one change."""
        start = min(self.start, earlier.start)
        grown = len(earlier.text) - (earlier.end - earlier.start)
        end = earlier.end if self.end <= earlier.start else max(earlier.end, self.end - grown)
        whole = self.apply(earlier.apply(before))
        return Splice(start, end, whole[start : len(whole) - (len(before) - end)])


def difference(path: str, before: str, splice: Splice, *, hide: Literal["old", "new"] | None = None) -> str:
    """A unified diff of the lines that a change touches.

    What else stands on its first and its last line is not shown, since it may be a secret of another server. `hide`
    is for a stretch that is another server's itself, before or after the change.
    """
    start, end = _line_start(before, splice.start), _line_end(before, splice.end)
    if splice.start == start and splice.text.endswith(("\n", "\r")) and splice.end == _line_start(before, splice.end):
        end = splice.end  # whole lines come or go, and the next one stays as it is
    head, tail = _shown(before[start : splice.start]), _shown(before[splice.end : end])
    old = _lines(head + (_HIDDEN if hide == "old" else before[splice.start : splice.end]) + tail)
    new = _lines(head + (_HIDDEN if hide == "new" else splice.text) + tail)
    number = len(_lines(before[:start])) + 1
    while old and new and old[0] == new[0]:
        old, new, number = old[1:], new[1:], number + 1
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    # By custom, the place of no lines at all is the line before them.
    places = [f"{number if lines else number - 1},{len(lines)}" for lines in (old, new)]
    shown = [f"--- {path}", f"+++ {path}", f"@@ -{places[0]} +{places[1]} @@"]
    return "\n".join([*shown, *(f"-{line}" for line in old), *(f"+{line}" for line in new)])


def _shown(rest: str) -> str:
    """What stands beside a change on its line: brackets, and else nothing that tells."""
    if _HARMLESS.match(rest):
        return rest
    ending = rest[len(rest.rstrip("\r\n")) :]
    return _HIDDEN + ending if ending else rest[: len(rest) - len(rest.lstrip())] + _HIDDEN


def _lines(text: str) -> list[str]:
    found = _NEWLINE.split(text)
    return found if found[-1] else found[:-1]


def _line_start(text: str, position: int) -> int:
    return max(text.rfind("\n", 0, position), text.rfind("\r", 0, position)) + 1


def _line_end(text: str, position: int) -> int:
    found = _NEWLINE.search(text, position)
    return found.end() if found else len(text)
