"""JSON configurations, with comments and trailing commas: change one member and keep every other byte."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from memglot.clients.errors import NOTHING_CHANGED, too_deep
from memglot.clients.text_edit import BOM, Keys, Marks, TextEdit
from memglot.errors import Unreadable
from memglot.settings import MAX_DEPTH

_TRIVIA = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*+", re.DOTALL)
_STRING = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"')
_LITERAL = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null")
_COMMENT = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")|//[^\r\n]*+|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")|,(?=[ \t\r\n]*+[}\]])', re.DOTALL)
_NEWLINE = re.compile(r"\r\n|\r|\n")
_BLANKS = " \t\r\n"
_LINE_END = re.compile(r"[ \t]*[\r\n]")
_CLOSED_COMMENT = re.compile(r"/\*.*?\*/|//[^\r\n]*[\r\n]", re.DOTALL)


class JsonNode(NamedTuple):
    """The position of a value. Only an object has members."""

    start: int
    end: int
    members: tuple[JsonMember, ...] | None


class JsonMember(NamedTuple):
    """A member of an object; it starts at the quote of its key."""

    key: str
    start: int
    value: JsonNode


class JsonPairs(list[tuple[str, Any]]):
    """The members of an object in order, including duplicate keys."""


class _Style(NamedTuple):
    """How to write new members: on lines of their own with this indentation, or on the same line."""

    newline: str
    indent: str | None
    unit: str
    colon: str

    def member(self, key: str, value: Any) -> str:
        return json.dumps(key) + self.colon + self.value(value)

    def value(self, value: Any) -> str:
        if self.indent is None:
            return json.dumps(value, ensure_ascii=False, separators=("," + self.colon[1:], self.colon))
        text = json.dumps(value, ensure_ascii=False, indent=self.unit)
        return text.replace("\n", self.newline + self.indent)


class JsonDocument:
    """A JSON text. A blank text counts as an empty object."""

    def __init__(self, text: str, path: str) -> None:
        bom = BOM if text.startswith(BOM) else ""
        self.is_blank = not text.removeprefix(BOM).strip(_BLANKS)
        newline = _NEWLINE.search(text)
        self.text = f"{bom}{{}}{newline[0] if newline else chr(10)}" if self.is_blank else text
        self.path = path
        self.newline = newline[0] if newline else "\n"
        self.root = scan_json(self.text, path)
        if self.root.members is None:
            raise self._not_an_object(self.root, "the top-level value")

    def value(self) -> Any:
        """Return the document as built-in values."""
        return load_json(self.text)

    def has(self, keys: Keys) -> bool:
        """Return True if there is a value at these keys. Raise `Unreadable` if a value on the path is not an object."""
        return self._node(keys) is not None

    def entry(self, keys: Keys) -> Any:
        """Return the value at these keys, or None. Raise `Unreadable` if a value on the path is not an object."""
        found = self._node(keys)
        return None if found is None else to_dicts(load_json(self.text[found.start : found.end]))

    def raw(self, keys: Keys) -> str:
        """Return the text of the value at these keys."""
        node = self._existing(keys)
        return self.text[node.start : node.end]

    def add(self, keys: Keys, value: Any) -> tuple[TextEdit, Marks]:
        """Add a value at keys that do not exist yet.

        The marks say what was written before and after each new level, from the outermost new object to the value.
        """
        depth = next(depth for depth in range(len(keys), 0, -1) if self._node(keys[: depth - 1]) is not None)
        node = self._existing(keys[: depth - 1])
        style = self._style(node)
        start, lead, tail = self._insertion(node, style)
        text, marks = style.member(keys[-1], value), [(lead, tail)]
        if depth < len(keys):
            inner = style if style.indent is None else style._replace(indent=style.indent + style.unit)
            around = (
                ("", "") if inner.indent is None else (self.newline + inner.indent, self.newline + (style.indent or ""))
            )
            text = f"{json.dumps(keys[-2])}{style.colon}{{{around[0]}{inner.member(keys[-1], value)}{around[1]}}}"
            marks.append(around)
        return TextEdit(start, start, lead + text + tail), marks

    def update(self, keys: Keys, values: Mapping[str, Any]) -> TextEdit:
        """Set members of an object; keep its other members."""
        start = self._member(keys).start
        combined, document = TextEdit(start, start, ""), self
        for key, value in values.items():
            node = document._node((*keys, key))
            if node is None:
                edit, _ = document.add((*keys, key), value)
            elif document.entry((*keys, key)) == value:
                continue
            else:
                edit = TextEdit(node.start, node.end, document._style(document._existing(keys)).value(value))
            combined = edit.combine(combined, self.text)
            document = JsonDocument(combined.apply(self.text), self.path)
        return combined

    def replace(self, keys: Keys, value: Any) -> tuple[TextEdit, str]:
        """Replace a value; also return the text of the old value."""
        text = self._style(self._existing(keys[:-1])).value(value)
        return self.restore(keys, text), self.raw(keys)

    def restore(self, keys: Keys, raw: str) -> TextEdit:
        """Put back the text that `replace` returned."""
        member = self._member(keys)
        # Include the unchanged key, so that the diff shows it.
        return TextEdit(member.start, member.value.end, self.text[member.start : member.value.start] + raw)

    def remove(self, keys: Keys, marks: Marks = ()) -> TextEdit:
        """Remove a value, and what `add` wrote around it unless that is used by others now."""
        levels = [keys[: len(keys) - above] for above in range(len(marks) - 1, -1, -1)]
        for level, (lead, tail) in zip(levels, marks, strict=True):
            if self._holds_only(level, keys):
                return self._cut(level, lead, tail)
        return self._cut(keys, None, None)

    def _node(self, keys: Keys) -> JsonNode | None:
        node = self.root
        for depth, key in enumerate(keys):
            if node.members is None:
                raise self._not_an_object(node, f"`{keys[depth - 1]}`")
            found = [member for member in node.members if member.key == key]
            if len(found) > 1:
                line = line_number(self.text, found[1].start)
                raise Unreadable(
                    self.path,
                    f"line {line:,}: the key `{key}` is a duplicate",
                    f"merge the two into one; {NOTHING_CHANGED}",
                )
            if not found:
                return None
            node = found[0].value
        return node

    def _not_an_object(self, node: JsonNode, what: str) -> Unreadable:
        line = line_number(self.text, node.start)
        return Unreadable(
            self.path, f"line {line:,}: {what} is not an object", f"change it to an object, `{{}}`; {NOTHING_CHANGED}"
        )

    def _existing(self, keys: Keys) -> JsonNode:
        found = self._node(keys)
        assert found is not None
        return found

    def _member(self, keys: Keys) -> JsonMember:
        return next(member for member in self._existing(keys[:-1]).members or () if member.key == keys[-1])

    def _style(self, node: JsonNode) -> _Style:
        """Return the style in which members of an object are written, or would be."""
        first = self.root.members[0] if self.root.members else None
        margin = self._margin(self.root.start)
        unit = ((self._indent(first.start) if first else None) or "").removeprefix(margin) or "  "
        is_broken = _NEWLINE.search(self.text, node.start, node.end) is not None
        if node.members and (not is_broken or self._indent(node.members[-1].start) is not None):
            last = node.members[-1]
            spaced = is_broken or self.text[skip_key(self.text, last.start)] in _BLANKS
            return _Style(self.newline, self._indent(last.start), unit, ": " if spaced else ":")
        if first and not _NEWLINE.search(self.text, self.root.start, self.root.end):
            return _Style(self.newline, None, unit, ": " if '": ' in self.text else ":")
        return _Style(self.newline, self._margin(node.start) + unit, unit, ": ")

    def _margin(self, position: int) -> str:
        """Return the indentation of the line at a position."""
        before = self._line_head(position)
        return before[: len(before) - len(before.lstrip(" \t"))]

    def _line_head(self, position: int) -> str:
        """Return the text of a line before a position."""
        start = max(self.text.rfind("\n", 0, position), self.text.rfind("\r", 0, position)) + 1
        return self.text[start:position].removeprefix(BOM)

    def _indent(self, position: int) -> str | None:
        """Return the text of a line before a position if it is blank, or else None."""
        before = self._line_head(position)
        return None if before.strip(" \t") or len(before) == position else before

    def _insertion(self, node: JsonNode, style: _Style) -> tuple[int, str, str]:
        """Return the position of a new member, and what to write before and after it."""
        space = "" if style.colon == ":" else " "
        lead = space if style.indent is None else self.newline + style.indent
        if not node.members:
            return self._insertion_in_empty(node, style, lead)
        end = node.members[-1].value.end
        comma = skip_trivia(self.text, end)
        if self.text[comma] == ",":
            # After a trailing comma and the comments on the last member; the new member gets a trailing comma too.
            position = self._last_comment_end(comma + 1, node.end - 1)
            return position, lead, ","
        if not self.text[end : node.end - 1].strip(_BLANKS):
            return end, "," + lead, ""
        # The last member is followed by comments, from which the new member must not separate it.
        start = node.start + 1
        comment = re.compile(r"[ \t]*//[^\r\n]*").match(self.text, start)
        return (comment.end() if comment else start), lead if style.indent is not None else "", ","

    def _insertion_in_empty(self, node: JsonNode, style: _Style, lead: str) -> tuple[int, str, str]:
        position = self._last_comment_end(node.start + 1, node.end - 1)
        is_broken = _NEWLINE.search(self.text, position, node.end) is not None
        if style.indent is None:
            return position, "", ""
        return position, lead, "" if is_broken else self.newline + style.indent.removesuffix(style.unit)

    def _last_comment_end(self, start: int, end: int) -> int:
        """Return the end of the last comment between two positions, or `start` if there is none."""
        inner = self.text[start:end]
        return start + len(inner.rstrip(_BLANKS))

    def _holds_only(self, level: Keys, keys: Keys) -> bool:
        """Return True if `level` contains nothing but the value at `keys`."""
        for depth in range(len(level), len(keys)):
            node = self._existing(keys[:depth])
            if node.members is None or len(node.members) != 1:
                return False
            member = node.members[0]
            inner = self.text[node.start + 1 : member.start] + self.text[member.value.end : node.end - 1]
            if inner.strip(_BLANKS):
                return False
        return True

    def _cut(self, keys: Keys, lead: str | None, tail: str | None) -> TextEdit:
        parent = self._existing(keys[:-1])
        members = parent.members or ()
        member = self._member(keys)
        start, end = member.start, member.value.end
        if lead is not None and tail is not None:
            fits = self.text.endswith(lead, 0, start) and self.text.startswith(tail, end)
            # If the other members were removed, the recorded comma no longer matches.
            fits = fits and ("," in lead + tail) == (len(members) > 1 or self._has_comma(end))
            cut = TextEdit(start - len(lead), end + len(tail), "")
            if fits and not self._would_be_commented_out(parent, member, cut):
                return cut
        return self._cut_line(parent, member)

    def _would_be_commented_out(self, parent: JsonNode, member: JsonMember, cut: TextEdit) -> bool:
        """Return True if a line comment before the cut would extend over the text after it."""
        earlier = [one.value.end for one in parent.members or () if one.start < member.start]
        before = _CLOSED_COMMENT.sub("", self.text[earlier[-1] if earlier else parent.start + 1 : cut.start])
        return "//" in before and self.text[cut.end] not in "\r\n"

    def _has_comma(self, position: int) -> bool:
        return self.text.startswith(",", skip_trivia(self.text, position))

    def _cut_line(self, parent: JsonNode, member: JsonMember) -> TextEdit:
        """Remove a member with one comma, and with its line if nothing else is on it."""
        start, end = member.start, member.value.end
        comma = skip_trivia(self.text, end)
        if self.text[comma] == ",":
            kept = self.text[end:comma] if self.text[end:comma].strip(_BLANKS) else ""
            left, right = start if kept else self._cut_start(start, comma + 1), comma + 1
            while left == start and not kept and self.text[right] in " \t":
                right += 1
            return TextEdit(left, right, kept)
        left = self._cut_start(start, end)
        position = (parent.members or ()).index(member)
        if position:
            before = (parent.members or ())[position - 1].value.end
            comma = skip_trivia(self.text, before)
            return TextEdit(before, end, self.text[before:comma] + self.text[comma + 1 : left].rstrip(" \t"))
        rest = self.text[parent.start + 1 : start] + self.text[end : parent.end - 1]
        if not rest.strip(_BLANKS):
            return TextEdit(parent.start + 1, parent.end - 1, "")
        return TextEdit(left, end, "")

    def _cut_start(self, start: int, end: int) -> int:
        """Return the end of the previous line if nothing else is on the line from start to end, or else `start`."""
        left = len(self.text[:start].rstrip(" \t"))
        if self.text[left - 1] not in "\r\n" or not _LINE_END.match(self.text, end):
            return start
        return left - (2 if self.text[left - 2 : left] == "\r\n" else 1)


def line_number(text: str, position: int) -> int:
    """Return the line number of a position, starting at 1."""
    return len(re.findall(r"\r\n|\r|\n", text[:position])) + 1


def skip_trivia(text: str, position: int) -> int:
    """Return the start of the next token, after whitespace and comments."""
    found = _TRIVIA.match(text, position)
    assert found is not None
    return found.end()


def skip_key(text: str, start: int) -> int:
    """Return the end of the colon after the key that starts at `start`."""
    key = _STRING.match(text, start)
    assert key is not None
    return skip_trivia(text, key.end()) + 1


def scan_json(text: str, path: str) -> JsonNode:
    """Return the positions in a text. Raise `Unreadable` if it is not valid JSON with comments."""
    scanner = _Scanner(text, path)
    node = scanner.value(0)
    scanner.skip()
    if scanner.position < len(text):
        raise scanner.expected("the end of the file")
    return node


def load_json(text: str) -> Any:
    """Parse JSON with comments with the standard library, independently of the scanner, so that each checks the other.

    Numbers are kept as text. Raise `ValueError` if the text is not valid.
    """
    strict = _COMMENT.sub(lambda found: found[1] or " ", text.removeprefix(BOM))
    strict = _TRAILING_COMMA.sub(lambda found: found[1] or "", strict)
    return json.loads(strict, object_pairs_hook=JsonPairs, parse_int=str, parse_float=str)


def to_dicts(value: Any) -> Any:
    """Return objects as dictionaries; of duplicate keys the last one counts."""
    if isinstance(value, JsonPairs):
        return {key: to_dicts(inner) for key, inner in value}
    return [to_dicts(inner) for inner in value] if isinstance(value, list) else value


class _Scanner:
    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.position = len(BOM) if text.startswith(BOM) else 0

    def skip(self) -> None:
        self.position = skip_trivia(self.text, self.position)

    def expected(self, what: str) -> Exception:
        line = line_number(self.text, self.position)
        return Unreadable(
            self.path, f"line {line:,}: expected {what}", f"fix that line, then try again; {NOTHING_CHANGED}"
        )

    def at(self, token: str) -> bool:
        """Return True and skip a token if it comes next."""
        self.skip()
        found = self.text.startswith(token, self.position)
        self.position += len(token) * found
        return found

    def value(self, depth: int) -> JsonNode:
        if depth > MAX_DEPTH:
            raise too_deep(self.path, MAX_DEPTH)
        self.skip()
        start = self.position
        if self.at("{"):
            members = self.members(depth)
            return JsonNode(start, self.position, members)
        if self.at("["):
            self.elements(depth)
            return JsonNode(start, self.position, None)
        found = _STRING.match(self.text, start) or _LITERAL.match(self.text, start)
        if found is None:
            raise self.expected("a value")
        self.position = found.end()
        return JsonNode(start, found.end(), None)

    def members(self, depth: int) -> tuple[JsonMember, ...]:
        found: list[JsonMember] = []
        while not self.at("}"):
            start = self.position
            key = _STRING.match(self.text, start)
            if key is None:
                raise self.expected("a key in quotes, or `}`")
            self.position = key.end()
            if not self.at(":"):
                raise self.expected("`:`")
            found.append(JsonMember(json.loads(key[0]), start, self.value(depth + 1)))
            if not self.at(",") and not self.text.startswith("}", self.position):
                raise self.expected("`,` or `}`")
        return tuple(found)

    def elements(self, depth: int) -> None:
        while not self.at("]"):
            self.value(depth + 1)
            if not self.at(",") and not self.text.startswith("]", self.position):
                raise self.expected("`,` or `]`")
