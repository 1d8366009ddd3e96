"""Words that notes share."""

import re

_CONTROLS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def is_one_line(text: str) -> bool:
    """Tell whether a text has nothing that would break or turn round its line."""
    return _CONTROLS.search(text) is None


def one_line(text: str) -> str:
    """A text on one line: control characters are shown escaped, signs of any script as they are."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def number_of(names: list[str], noun: str) -> str:
    """How many there are, with the noun."""
    return f"{len(names):,} {noun}" + ("" if len(names) == 1 else "s")


def some(names: list[str]) -> str:
    """The first few names."""
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def many(count: int) -> str:
    """So many memories have something."""
    return "1 memory has" if count == 1 else f"{count:,} memories have"


def shown(name: str) -> str:
    """A name on one line that is not too long."""
    line = name if name.isprintable() else name.encode("unicode_escape").decode("ascii")
    return f"`{line if len(line) <= 60 else line[:57] + '...'}`"


def shorten(text: str) -> str:
    """A value as a message can show it: one line, not too long."""
    line = text.encode("unicode_escape").decode("ascii") if not text.isprintable() else text
    return line if len(line) <= 60 else line[:57] + "..."
