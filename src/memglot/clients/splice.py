"""One change of a text: a stretch of it that is replaced, and how that is shown without showing the rest."""

import re
from collections.abc import Collection
from difflib import SequenceMatcher
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


def difference(path: str, before: str, splice: Splice, *, hide: Collection[Literal["old", "new"]] = ()) -> str:
    """A unified diff of the lines that a change touches, and of no others.

    What else stands on its first and its last line is not shown, since it may be a secret of another server. `hide`
    is for a stretch that holds such things itself, before or after the change.
    """
    start, end = _line_start(before, splice.start), _line_end(before, splice.end)
    if splice.start == start and splice.text.endswith(("\n", "\r")) and splice.end == _line_start(before, splice.end):
        end = splice.end  # whole lines come or go, and the next one stays as it is
    head, tail = _shown(before[start : splice.start]), _shown(before[splice.end : end])
    middle = before[splice.start : splice.end]
    old = _lines(head + (_HIDDEN * (_HIDDEN not in head) if "old" in hide else middle) + tail)
    new = _lines(head + (_HIDDEN * (_HIDDEN not in head) if "new" in hide else splice.text) + tail)
    first = len(_lines(before[:start])) + 1
    shown = [f"--- {path}", f"+++ {path}"]
    for kind, *places in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal" or hide and len(old) == len(new) == 1:
            shown += _hunk(first, old, new, *places)
    return "\n".join(shown)


def _hunk(first: int, old: list[str], new: list[str], start: int, end: int, new_start: int, new_end: int) -> list[str]:
    # By custom, the place of no lines at all is the line before them.
    places = [
        f"{first + begin - (begin == stop)},{stop - begin}" for begin, stop in ((start, end), (new_start, new_end))
    ]
    gone, come = old[start:end], new[new_start:new_end]
    return [f"@@ -{places[0]} +{places[1]} @@", *(f"-{line}" for line in gone), *(f"+{line}" for line in come)]


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
