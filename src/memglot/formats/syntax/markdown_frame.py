"""Notes with front matter: fences, one blank line, the content, one newline."""

import re
from typing import Any, NamedTuple

from memglot.errors import BadRecord
from memglot.formats.core.encoding import has_unmarked_encoding, unmarked_encoding
from memglot.formats.syntax.yaml_quick import quick_load
from memglot.formats.syntax.yaml_reader import BrokenYaml, load
from memglot.model.record_errors import bad_bytes

OPENING = re.compile(r"---(\r?\n)")
_CLOSING = re.compile(r"(?:^|\r?\n)---", re.MULTILINE)
_FIRST_NEWLINE = re.compile(r"\r?\n")
_REST_OF_LINE = re.compile(r"[ \t]*(?:\r?\n|$)")


class NoteFrame(NamedTuple):
    """The parts of a note; `text[start:end]` is its content."""

    front: dict[str, Any]
    start: int
    end: int
    fenced: bool


def decode_note(raw: bytes, start: int = 0) -> str:
    """Decode a note whose bytes begin at an offset of the file; raise `BadRecord`. The text may contain NUL."""
    if has_unmarked_encoding(raw):
        raise unmarked_encoding()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise bad_bytes(start + error.start) from None


def split_note(text: str, lenient: bool = False, start: int = 0) -> NoteFrame:
    """Split front matter and content. A list or scalar between fences belongs to the content.

    Raise `BadRecord` or `BrokenYaml` for front matter that is not valid YAML, unless `lenient`. `start` is the offset
    of the text in its file.
    """
    opening = OPENING.match(text)
    closing = _CLOSING.search(text, opening.end() - len(opening[1])) if opening else None
    if opening is None or closing is None:
        return without_front_matter(text)
    # The block includes the newline before the fence, which a final block scalar needs.
    block = text[opening.end() : max(closing.start(), opening.end())] + "\n"
    try:
        front: Any = quick_load(block)
        if front is None:
            front = load(block.encode("utf-8"), start + opening.end())
    except (BadRecord, BrokenYaml):
        if not lenient:
            raise
        front = ""
    newline = opening[1]
    if front is not None and not isinstance(front, dict):
        return NoteFrame({}, 0, len(text) - len(newline) * text.endswith(newline), False)
    rest = _REST_OF_LINE.match(text, closing.end())
    start = closing.end()
    if rest is not None:
        start = rest.end() + len(newline) * text.startswith(newline, rest.end())
    end = len(text) - len(newline) * text.endswith(newline, start)
    return NoteFrame(front or {}, start, end, True)


def without_front_matter(text: str) -> NoteFrame:
    """Return the frame of a text without front matter."""
    first = _FIRST_NEWLINE.search(text)
    return NoteFrame({}, 0, len(text) - (len(first[0]) if first and text.endswith(first[0]) else 0), False)
