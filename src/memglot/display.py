"""Make text fit for messages: one line, a maximum length, quotes, counts with their nouns."""

import html
import re
from collections.abc import Iterable, Mapping, Sequence

_LINE_BREAKERS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
# Control characters except tab and line ends, and characters that reorder text or take no space. The joiners U+200C
# and U+200D stay, since Persian and emoji need them; tag characters stay in the flags that consist of them.
_UNSAFE = re.compile(
    "(\U0001f3f4[\U000e0030-\U000e007a]{1,8}\U000e007f)"
    "|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\ud800-\udfff]|\r(?!\n)"
)


def is_one_line(text: str) -> bool:
    """Return True if a text has no character that would break its line or reverse its direction."""
    return _LINE_BREAKERS.search(text) is None


def one_line(text: str) -> str:
    """Escape the characters that would break the line or reverse its direction; keep all others."""
    return _LINE_BREAKERS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def visible(text: str) -> str:
    """Escape the characters that could control a terminal or deceive its reader, as JSON does: `\\u001b`.

    Line ends and tabs stay. JSON that is escaped this way is still the same JSON.
    """
    return _UNSAFE.sub(lambda found: found[1] or _json_escape(found[0]), text)


def _json_escape(text: str) -> str:
    units = text.encode("utf-16-be", "surrogatepass").hex(" ", 2)
    return "\\u" + units.replace(" ", "\\u")


def printable(text: str) -> str:
    """Escape what UTF-8 cannot encode, such as bytes of a file name that are not valid UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def escape(text: str) -> str:
    """Return a printable text as it is, any other with all characters but ASCII escaped."""
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def shorten(text: str, length: int = 60) -> str:
    """Return a text as a message can show it: escaped, and cut to `length` characters."""
    line = escape(text)
    return line if len(line) <= length else line[: length - 3] + "..."


def quoted(text: str, length: int = 60) -> str:
    """Return a text shortened, in backticks."""
    return f"`{shorten(text, length)}`"


def excerpt(text: str, length: int = 72) -> str:
    """Return the beginning of a text on one line, cut to `length` characters; runs of blanks become one space.

    Control characters are escaped, also where it is printed to a pipe.
    """
    line = visible(" ".join(text.split()))
    return line if len(line) <= length else line[: length - 1] + "…"


def plural(count: int, singular: str, several: str | None = None) -> str:
    """Return a count with its noun: `1 memory`, `1,200 memories`.

    Give the plural form too where it is not regular, or where a verb follows:
    `plural(count, "memory has", "memories have")`.
    """
    if count == 1:
        return f"1 {singular}"
    if several is None:
        several = f"{singular[:-1]}ies" if singular[-2:-1] not in "aeiou" and singular[-1:] == "y" else f"{singular}s"
    return f"{count:,} {several}"


def in_bytes(size: int) -> str:
    """Return a size in the largest unit that divides it: `64 MiB`."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor:,} {unit}"
    return f"{size:,} bytes"


def first_few(names: Sequence[str], limit: int = 5) -> str:
    """Return the first names, separated by commas, with an ellipsis where there are more."""
    return ", ".join(names[:limit]) + (", ..." if len(names) > limit else "")


def html_table(header: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return a table for a notebook; all texts are escaped."""
    parts = ["<table>"]
    if caption:
        parts.append(f"<caption>{_html(caption)}</caption>")
    if header:
        parts.append("<thead><tr>" + "".join(f"<th>{_html(name)}</th>" for name in header) + "</tr></thead>")
    cells = ("".join(f'<td style="text-align: left">{_html(cell)}</td>' for cell in row) for row in rows)
    parts += ["<tbody>", *(f"<tr>{row}</tr>" for row in cells), "</tbody></table>"]
    return "".join(parts)


def _html(value: object) -> str:
    text = "" if value is None else ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return html.escape(visible(text))


def short_repr(name: str, values: Mapping[str, object], length: int = 60) -> str:
    """Return what `repr` shows of an object: the values that are not empty, long texts shortened."""
    found = {key: value for key, value in values.items() if not is_empty(value)}
    parts = [
        f"{key}={excerpt(one, length)!r}" if isinstance(one, str) else f"{key}={one!r}" for key, one in found.items()
    ]
    return f"{name}({', '.join(parts)})"


def is_empty(value: object) -> bool:
    """Return True for no value, and for an empty text, list or object."""
    return value is None or value in ("", [], {})
