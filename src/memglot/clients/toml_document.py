"""TOML configurations: change one table and keep every other byte.

This is not done with tomlkit, because it does not keep every byte: it moves `[mcp_servers.b]` before an array of tables
that comes between it and `[mcp_servers.a]`, and it writes a new table between another table and its comment.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from memglot.clients.errors import NOTHING_CHANGED, too_deep
from memglot.clients.text_edit import BOM, Keys, Marks, TextEdit
from memglot.errors import Unreadable, UsageError
from memglot.settings import MAX_DEPTH
from memglot.text.toml_statements import TomlStatement, scan_statements


class TomlDocument:
    """A TOML text."""

    is_blank = False

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self._value = self._parse()
        # The scanner does not know the byte order mark; a space keeps all positions.
        bom = len(BOM) if text.startswith(BOM) else 0
        self._statements = scan_statements(" " * bom + text[bom:])

    def value(self) -> Any:
        """Return the document as built-in values."""
        return self._value

    def has(self, keys: Keys) -> bool:
        """Return True if there is a value at these keys. Raise `Unreadable` if a value on the path is not a table."""
        return self.entry(keys) is not None

    def entry(self, keys: Keys) -> Any:
        """Return the value at these keys, or None. Raise `Unreadable` if a value on the path is not a table."""
        value = self._value
        for depth, key in enumerate(keys):
            if not isinstance(value, dict):
                raise Unreadable(
                    self.path, f"`{keys[depth - 1]}` is not a table", f"change it to a table; {NOTHING_CHANGED}"
                )
            if key not in value:
                return None
            value = value[key]
        return value

    def add(self, keys: Keys, value: Mapping[str, Any]) -> tuple[TextEdit, Marks]:
        """Add a table at the end. The mark says what was written before it.

        Raise `UsageError` if the table around it is an inline table, to which nothing can be added.
        """
        if any(one.kind == "value" and one.keys == keys[: len(one.keys)] for one in self._statements):
            raise self._by_hand(self._inline(keys, value))
        lead = "" if self.text.endswith("\n") or not self.text else self.newline
        lead += self.newline if self.text.strip() else ""
        end = len(self.text)
        return TextEdit(end, end, lead + self._block(keys, value)), [(lead, "")]

    def update(self, keys: Keys, values: Mapping[str, Any]) -> TextEdit:
        """Set keys of a table; keep its other keys."""
        self._statements_of(keys, values)
        start = self._header(keys, values).start
        combined, document = TextEdit(start, start, ""), self
        for key, value in values.items():
            if document.entry((*keys, key)) == value:
                continue
            edit = document._set(keys, key, value, values)
            combined = edit.combine(combined, self.text)
            document = TomlDocument(combined.apply(self.text), self.path)
        return combined

    def replace(self, keys: Keys, value: Mapping[str, Any]) -> tuple[TextEdit, str]:
        """Replace a table and its subtables; also return their text."""
        pieces = self._statements_of(keys, value)
        places = [self._statements.index(piece) for piece in pieces]
        if places[-1] - places[0] != len(places) - 1:
            raise self._by_hand(self._inline(keys, value))
        start, end = pieces[0].start, pieces[-1].end
        return TextEdit(start, end, self._block(keys, value)), self.text[start:end]

    def restore(self, keys: Keys, raw: str) -> TextEdit:
        """Put back the text that `replace` returned."""
        pieces = self._statements_of(keys, {})
        end = pieces[-1].end
        return TextEdit(pieces[0].start, end, raw + self._break(raw, end))

    def remove(self, keys: Keys, marks: Marks = ()) -> TextEdit:
        """Remove a table and its subtables, and what `add` wrote before it."""
        pieces = self._statements_of(keys, {})
        start, end = pieces[0].start, pieces[-1].end
        kept = "".join(
            self.text[before.end : after.start] if self._are_apart(before, after) else ""
            for before, after in zip(pieces, pieces[1:], strict=False)
        )
        lead = marks[0][0] if marks else self.newline * 2
        if lead and self.text.endswith(lead, 0, start):
            # Without a mark, also remove one of the two blank lines that would become adjacent.
            start -= len(lead) if marks else len(self.newline)
        return TextEdit(start, end, kept + self._break(self.text[:start] + kept, end))

    def _break(self, before: str, end: int) -> str:
        """Return the line break needed between a text and what follows `end`, if any."""
        return self.newline if before and not before.endswith("\n") and end < len(self.text) else ""

    def _by_hand(self, entry: str) -> UsageError:
        """Return the error for a table that cannot be edited without touching what others wrote."""
        return UsageError(
            f"`{self.path}` is written in a way that cannot be edited safely; {NOTHING_CHANGED}",
            f"add this to its list of servers by hand: {entry}" if entry else "remove the entry by hand",
        )

    def _parse(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text.removeprefix(BOM), parse_float=str)
        except RecursionError:
            raise too_deep(self.path, MAX_DEPTH) from None
        except ValueError as error:
            raise Unreadable(
                self.path, f"it is not valid TOML: {error}", f"fix it, then try again; {NOTHING_CHANGED}"
            ) from None

    def _statements_of(self, keys: Keys, value: Mapping[str, Any]) -> Sequence[TomlStatement]:
        """Return the statements of a table. Raise `UsageError` if they are not under headers of its own."""
        found = [one for one in self._statements if one.keys[: len(keys)] == keys]
        if not found or any(one.header[: len(keys)] != keys for one in found):
            raise self._by_hand(self._inline(keys, value) if value else "")
        return found

    def _are_apart(self, before: TomlStatement, after: TomlStatement) -> bool:
        """Return True if there are other statements between two statements."""
        return self._statements.index(after) - self._statements.index(before) > 1

    def _header(self, keys: Keys, value: Mapping[str, Any]) -> TomlStatement:
        for one in self._statements:
            if one.kind == "table" and one.keys == keys:
                return one
        raise self._by_hand(self._inline(keys, value))

    def _set(self, keys: Keys, key: str, value: Any, values: Mapping[str, Any]) -> TextEdit:
        for one in self._statements:
            if one.kind == "value" and one.header == keys and one.keys == (*keys, key):
                return TextEdit(*one.value, _encode(value))
        header = self._header(keys, values)
        lead = "" if self.text.endswith("\n", 0, header.end) else self.newline
        return TextEdit(header.end, header.end, f"{lead}{key} = {_encode(value)}{self.newline}")

    def _block(self, keys: Keys, value: Mapping[str, Any]) -> str:
        lines = [f"[{'.'.join(keys)}]", *(f"{key} = {_encode(inner)}" for key, inner in value.items())]
        return "".join(line + self.newline for line in lines)

    def _inline(self, keys: Keys, value: Mapping[str, Any]) -> str:
        inner = ", ".join(f"{key} = {_encode(inner)}" for key, inner in value.items())
        return f"{keys[-1]} = {{ {inner} }}"


def _encode(value: str | list[str]) -> str:
    """Return a string or list of strings as TOML: the same as JSON but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
