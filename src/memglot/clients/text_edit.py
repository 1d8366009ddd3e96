"""A single edit of a text, and its diff without secrets from the same file."""

import re
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

BOM = "\ufeff"
"""The byte order mark, with which some Windows editors start a file."""
Keys = tuple[str, ...]
Marks = Sequence[tuple[str, str]]
"""What an edit wrote before and after each new object, outermost first."""
_HARMLESS = re.compile(r"[\s{}\[\],]*\Z")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_HIDDEN = "…"


class TextEdit(NamedTuple):
    """Replace the characters from `start` to `end` with `text`."""

    start: int
    end: int
    text: str

    def apply(self, before: str) -> str:
        """Return the text with this edit applied."""
        return before[: self.start] + self.text + before[self.end :]

    def combine(self, earlier: "TextEdit", before: str) -> "TextEdit":
        """Return one edit of `before` that equals applying `earlier` and then this edit."""
        start = min(self.start, earlier.start)
        grown = len(earlier.text) - (earlier.end - earlier.start)
        end = earlier.end if self.end <= earlier.start else max(earlier.end, self.end - grown)
        result = self.apply(earlier.apply(before))
        return TextEdit(start, end, result[start : len(result) - (len(before) - end)])


def unified_diff(path: str, before: str, edit: TextEdit, *, hide: Collection[Literal["old", "new"]] = ()) -> str:
    """Return a unified diff of the lines that an edit changes, without context lines.

    The rest of the first and last line is hidden, since it may contain a secret of another server. `hide` hides the
    edited text itself, before or after the edit.
    """
    start, end = _line_start(before, edit.start), _line_end(before, edit.end)
    if edit.start == start and edit.text.endswith(("\n", "\r")) and edit.end == _line_start(before, edit.end):
        end = edit.end  # complete lines are added or removed, and the next line is unchanged
    head, tail = _shown(before[start : edit.start]), _shown(before[edit.end : end])
    middle = before[edit.start : edit.end]
    old = _lines(head + (_HIDDEN * (_HIDDEN not in head) if "old" in hide else middle) + tail)
    new = _lines(head + (_HIDDEN * (_HIDDEN not in head) if "new" in hide else edit.text) + tail)
    first = len(_lines(before[:start])) + 1
    shown = [f"--- {path}", f"+++ {path}"]
    for kind, *places in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal" or hide and len(old) == len(new) == 1:
            shown += _hunk(first, old, new, *places)
    return "\n".join(shown)


def _hunk(first: int, old: list[str], new: list[str], start: int, end: int, new_start: int, new_end: int) -> list[str]:
    # By convention, the position of an empty range is the line before it.
    places = [
        f"{first + begin - (begin == stop)},{stop - begin}" for begin, stop in ((start, end), (new_start, new_end))
    ]
    removed = [f"-{line}" for line in old[start:end]]
    added = [f"+{line}" for line in new[new_start:new_end]]
    return [f"@@ -{places[0]} +{places[1]} @@", *removed, *added]


def _shown(rest: str) -> str:
    """Return the rest of an edited line: brackets as they are, anything else as an ellipsis."""
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
