"""One member of a JSON document is put in, changed or taken out; every other byte stays."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memglot.clients.errors import no_object, twice
from memglot.clients.json_scan import MARK, Member, Node, after_key, after_trivia, line_of, parse, plain, scan
from memglot.clients.splice import Splice

Keys = tuple[str, ...]
Marks = Sequence[tuple[str, str]]
_NEWLINE = re.compile(r"\r\n|\r|\n")
_BLANKS = " \t\r\n"
_LINE_END = re.compile(r"[ \t]*[\r\n]")
_ENDED = re.compile(r"/\*.*?\*/|//[^\r\n]*[\r\n]", re.DOTALL)


class _Style(NamedTuple):
    """How new members are written: behind a line break and this indentation, or in the same line."""

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
    """A JSON text. A blank one counts as an empty object."""

    def __init__(self, text: str, path: str) -> None:
        mark = MARK if text.startswith(MARK) else ""
        self.is_blank = not text.removeprefix(MARK).strip(_BLANKS)
        newline = _NEWLINE.search(text)
        self.text = f"{mark}{{}}{newline[0] if newline else chr(10)}" if self.is_blank else text
        self.path = path
        self.newline = newline[0] if newline else "\n"
        self.root = scan(self.text, path)
        if self.root.members is None:
            raise no_object(path, line_of(self.text, self.root.start), "the whole")

    def value(self) -> Any:
        """The whole document as plain values."""
        return parse(self.text)

    def has(self, keys: Keys) -> bool:
        """Tell whether there is a value below these keys. Raises `Unreadable` where the way there is blocked."""
        return self._node(keys) is not None

    def entry(self, keys: Keys) -> Any:
        """The value below these keys, or `None`. Raises `Unreadable` where the way there is blocked."""
        found = self._node(keys)
        return None if found is None else plain(parse(self.text[found.start : found.end]))

    def raw(self, keys: Keys) -> str:
        """The text of the value below these keys."""
        node = self._there(keys)
        return self.text[node.start : node.end]

    def add(self, keys: Keys, value: Any) -> tuple[Splice, Marks]:
        """Put a value below keys that lead nowhere yet.

        The marks tell, from the outermost object that had to be made to the value itself, what else was written
        before and behind each.
        """
        depth = next(depth for depth in range(len(keys), 0, -1) if self._node(keys[: depth - 1]) is not None)
        node = self._there(keys[: depth - 1])
        style = self._style(node)
        start, lead, tail = self._gap(node, style)
        text, marks = style.member(keys[-1], value), [(lead, tail)]
        if depth < len(keys):
            inner = style if style.indent is None else style._replace(indent=style.indent + style.unit)
            around = (
                ("", "") if inner.indent is None else (self.newline + inner.indent, self.newline + (style.indent or ""))
            )
            text = f"{json.dumps(keys[-2])}{style.colon}{{{around[0]}{inner.member(keys[-1], value)}{around[1]}}}"
            marks.append(around)
        return Splice(start, start, lead + text + tail), marks

    def update(self, keys: Keys, values: Mapping[str, Any]) -> Splice:
        """Give members of an object other values; its other members stay."""
        start = self._member(keys).start
        whole, document = Splice(start, start, ""), self
        for key, value in values.items():
            node = document._node((*keys, key))
            if node is None:
                splice, _ = document.add((*keys, key), value)
            elif document.entry((*keys, key)) == value:
                continue
            else:
                splice = Splice(node.start, node.end, document._style(document._there(keys)).value(value))
            whole = splice.after(whole, self.text)
            document = JsonDocument(whole.apply(self.text), self.path)
        return whole

    def replace(self, keys: Keys, value: Any) -> tuple[Splice, str]:
        """Put a value in the place of another, and tell the text of that one."""
        text = self._style(self._there(keys[:-1])).value(value)
        return self.restore(keys, text), self.raw(keys)

    def restore(self, keys: Keys, raw: str) -> Splice:
        """Put a text back that `replace` gave."""
        member = self._member(keys)
        # With its key, though that stays, for whoever looks at the change.
        return Splice(member.start, member.value.end, self.text[member.start : member.value.start] + raw)

    def take(self, keys: Keys, marks: Marks = ()) -> Splice:
        """Take a value out, with what `add` had to write around it, unless others use that by now."""
        levels = [keys[: len(keys) - above] for above in range(len(marks) - 1, -1, -1)]
        for level, (lead, tail) in zip(levels, marks, strict=True):
            if self._holds_only(level, keys):
                return self._cut(level, lead, tail)
        return self._cut(keys, None, None)

    def _node(self, keys: Keys) -> Node | None:
        node = self.root
        for depth, key in enumerate(keys):
            if node.members is None:
                raise no_object(self.path, line_of(self.text, node.start), f"`{keys[depth - 1]}`")
            found = [member for member in node.members if member.key == key]
            if len(found) > 1:
                raise twice(self.path, line_of(self.text, found[1].start), key)
            if not found:
                return None
            node = found[0].value
        return node

    def _there(self, keys: Keys) -> Node:
        found = self._node(keys)
        assert found is not None
        return found

    def _member(self, keys: Keys) -> Member:
        return next(member for member in self._there(keys[:-1]).members or () if member.key == keys[-1])

    def _style(self, node: Node) -> _Style:
        """How the members of an object are written, or would be."""
        first = self.root.members[0] if self.root.members else None
        margin = self._margin(self.root.start)
        unit = ((self._indent(first.start) if first else None) or "").removeprefix(margin) or "  "
        is_broken = _NEWLINE.search(self.text, node.start, node.end) is not None
        if node.members and (not is_broken or self._indent(node.members[-1].start) is not None):
            last = node.members[-1]
            spaced = is_broken or self.text[after_key(self.text, last.start)] in _BLANKS
            return _Style(self.newline, self._indent(last.start), unit, ": " if spaced else ":")
        if first and not _NEWLINE.search(self.text, self.root.start, self.root.end):
            return _Style(self.newline, None, unit, ": " if '": ' in self.text else ":")
        return _Style(self.newline, self._margin(node.start) + unit, unit, ": ")

    def _margin(self, position: int) -> str:
        """The blanks that the line of a position begins with."""
        before = self._line_head(position)
        return before[: len(before) - len(before.lstrip(" \t"))]

    def _line_head(self, position: int) -> str:
        """What stands on a line before a position."""
        start = max(self.text.rfind("\n", 0, position), self.text.rfind("\r", 0, position)) + 1
        return self.text[start:position].removeprefix(MARK)

    def _indent(self, position: int) -> str | None:
        """What a line begins with before this position, if that is blank."""
        before = self._line_head(position)
        return None if before.strip(" \t") or len(before) == position else before

    def _gap(self, node: Node, style: _Style) -> tuple[int, str, str]:
        """Where a new member goes, and what is written before and behind it."""
        space = "" if style.colon == ":" else " "
        lead = space if style.indent is None else self.newline + style.indent
        if not node.members:
            return self._gap_in_empty(node, style, lead)
        end = node.members[-1].value.end
        comma = after_trivia(self.text, end)
        if self.text[comma] == ",":
            # Behind a loose comma, and behind the remarks on the last member; ours gets such a comma too.
            behind = self._last_remark(comma + 1, node.end - 1)
            return behind, lead, ","
        if not self.text[end : node.end - 1].strip(_BLANKS):
            return end, "," + lead, ""
        # There are remarks behind the last member, which a comma and our member must not part from it.
        start = node.start + 1
        remark = re.compile(r"[ \t]*//[^\r\n]*").match(self.text, start)
        return (remark.end() if remark else start), lead if style.indent is not None else "", ","

    def _gap_in_empty(self, node: Node, style: _Style, lead: str) -> tuple[int, str, str]:
        behind = self._last_remark(node.start + 1, node.end - 1)
        is_broken = _NEWLINE.search(self.text, behind, node.end) is not None
        if style.indent is None:
            return behind, "", ""
        return behind, lead, "" if is_broken else self.newline + style.indent.removesuffix(style.unit)

    def _last_remark(self, start: int, end: int) -> int:
        """Where the last comment between two places ends; the first place, if there is none."""
        inner = self.text[start:end]
        return start + len(inner.rstrip(_BLANKS))

    def _holds_only(self, level: Keys, keys: Keys) -> bool:
        """Tell whether there is nothing below `level` but the one value at `keys`."""
        for depth in range(len(level), len(keys)):
            node = self._there(keys[:depth])
            if node.members is None or len(node.members) != 1:
                return False
            member = node.members[0]
            inner = self.text[node.start + 1 : member.start] + self.text[member.value.end : node.end - 1]
            if inner.strip(_BLANKS):
                return False
        return True

    def _cut(self, keys: Keys, lead: str | None, tail: str | None) -> Splice:
        parent = self._there(keys[:-1])
        members = parent.members or ()
        member = self._member(keys)
        start, end = member.start, member.value.end
        if lead is not None and tail is not None:
            fits = self.text.endswith(lead, 0, start) and self.text.startswith(tail, end)
            # A sole member that came behind or before another one has a comma of its own by now.
            fits = fits and ("," in lead + tail) == (len(members) > 1 or self._has_comma(end))
            cut = Splice(start - len(lead), end + len(tail), "")
            if fits and not self._would_be_remarked(parent, member, cut):
                return cut
        return self._cut_plainly(parent, member)

    def _would_be_remarked(self, parent: Node, member: Member, cut: Splice) -> bool:
        """Tell whether a comment before the cut would go on behind it."""
        earlier = [one.value.end for one in parent.members or () if one.start < member.start]
        before = _ENDED.sub("", self.text[earlier[-1] if earlier else parent.start + 1 : cut.start])
        return "//" in before and self.text[cut.end] not in "\r\n"

    def _has_comma(self, position: int) -> bool:
        return self.text.startswith(",", after_trivia(self.text, position))

    def _cut_plainly(self, parent: Node, member: Member) -> Splice:
        """Take a member out with one comma, and with its line where it has one to itself."""
        start, end = member.start, member.value.end
        comma = after_trivia(self.text, end)
        if self.text[comma] == ",":
            kept = self.text[end:comma] if self.text[end:comma].strip(_BLANKS) else ""
            left, right = start if kept else self._left(start, comma + 1), comma + 1
            while left == start and not kept and self.text[right] in " \t":
                right += 1
            return Splice(left, right, kept)
        left = self._left(start, end)
        position = (parent.members or ()).index(member)
        if position:
            before = (parent.members or ())[position - 1].value.end
            comma = after_trivia(self.text, before)
            return Splice(before, end, self.text[before:comma] + self.text[comma + 1 : left].rstrip(" \t"))
        rest = self.text[parent.start + 1 : start] + self.text[end : parent.end - 1]
        if not rest.strip(_BLANKS):
            return Splice(parent.start + 1, parent.end - 1, "")
        return Splice(left, end, "")

    def _left(self, start: int, end: int) -> int:
        """Where the line before a stretch ends, if the stretch has its line to itself; else its start."""
        left = len(self.text[:start].rstrip(" \t"))
        if self.text[left - 1] not in "\r\n" or not _LINE_END.match(self.text, end):
            return start
        return left - (2 if self.text[left - 2 : left] == "\r\n" else 1)
