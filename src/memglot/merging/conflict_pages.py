"""The pages that show conflicts to people, and what is said where they cannot be written."""

from __future__ import annotations

from collections.abc import Iterable

from memglot.display import one_line


def note_no_mirror(folder: str, reason: str) -> str:
    """A folder for conflicts that cannot be written."""
    return f"{folder} cannot be written ({reason}): `memglot conflicts` shows the conflicts, which are in the store"


def note_own_file(path: str) -> str:
    """A file that somebody else wrote where a conflict would be shown."""
    return f"{path} is not memglot's and stays as it is: `memglot conflicts` shows the conflict that belongs there"


def conflict_page(
    *, record: str, title: str | None, field: str, at: str, values: Iterable[str] | None, stands: int, command: str
) -> str:
    """A conflict for a person: the memory, every value with its number, and how to settle it.

    Whatever comes from a memory stands in indented blocks, of which no line can get out.
    """
    lines = [f"# A conflict in memory {record}", ""]
    lines += [*_block(title), ""] if title is not None else []
    lines += [f"This field was set to different values at {at}, and no rule decides between them:", ""]
    lines += [*_block(field), ""]
    if values is None:
        lines += [f"Its scope is sensitive, so the values are not shown here; number {stands} stands meanwhile.", ""]
    for number, value in enumerate(values or (), 1):
        lines += [f"## {number}" + (" (stands meanwhile)" if number == stands else ""), ""]
        lines += [*_block(value), ""]
    lines += [
        "To settle it, on any machine:",
        "",
        *_block(f"{command} --take 1"),
        "",
        "`--value TEXT` takes a text of your own instead. This file goes when the conflict is settled.",
    ]
    return "\n".join(lines) + "\n"


def _block(text: str) -> list[str]:
    """A text, indented; whatever some reader takes for a line end is one, and other control characters are shown."""
    found = [f"    {one_line(line)}" for line in text.splitlines()]
    # A block of nothing but white space is none.
    return found if text.strip() else [f"    {ascii(text)}"]
