"""One table of a TOML document is put in, changed or taken out; every other byte stays."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from memglot.clients.errors import bad_toml, by_hand, no_table, too_deep
from memglot.clients.json_edit import Keys, Marks
from memglot.clients.json_scan import MARK
from memglot.clients.splice import Splice
from memglot.clients.toml_scan import Statement, statements
from memglot.settings import MAX_DEPTH


class TomlDocument:
    """A TOML text."""

    is_blank = False

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self._value = self._read()
        # The mark is a sign like any other to the scanner, which counts places in the whole text.
        mark = len(MARK) if text.startswith(MARK) else 0
        self._statements = statements(" " * mark + text[mark:])

    def value(self) -> Any:
        """The whole document as plain values."""
        return self._value

    def has(self, keys: Keys) -> bool:
        """Tell whether there is a value below these keys. Raises `Unreadable` where the way there is blocked."""
        return self.entry(keys) is not None

    def entry(self, keys: Keys) -> Any:
        """The value below these keys, or `None`. Raises `Unreadable` where the way there is blocked."""
        value = self._value
        for depth, key in enumerate(keys):
            if not isinstance(value, dict):
                raise no_table(self.path, f"`{keys[depth - 1]}`")
            if key not in value:
                return None
            value = value[key]
        return value

    def add(self, keys: Keys, value: Mapping[str, Any]) -> tuple[Splice, Marks]:
        """Put a table at the end, below keys that lead nowhere yet; tells what was written before it.

        Raises `UsageError` where the table around it is written as one value, to which nothing can be added.
        """
        if any(one.kind == "value" and one.keys == keys[: len(one.keys)] for one in self._statements):
            raise by_hand(self.path, self._inline(keys, value))
        lead = "" if self.text.endswith("\n") or not self.text.strip() else self.newline
        lead += self.newline if self.text.strip() else ""
        end = len(self.text)
        return Splice(end, end, lead + self._block(keys, value)), [(lead, "")]

    def update(self, keys: Keys, values: Mapping[str, Any]) -> Splice:
        """Give keys of a table other values; its other keys stay."""
        self._pieces(keys, values)
        whole, document = Splice(self._header(keys, values).start, self._header(keys, values).start, ""), self
        for key, value in values.items():
            if document.entry((*keys, key)) == value:
                continue
            splice = document._set(keys, key, value, values)
            whole = splice.after(whole, self.text)
            document = TomlDocument(whole.apply(self.text), self.path)
        return whole

    def replace(self, keys: Keys, value: Mapping[str, Any]) -> tuple[Splice, str]:
        """Put a table in the place of another with all below it, and tell the text of that one."""
        pieces = self._pieces(keys, value)
        places = [self._statements.index(piece) for piece in pieces]
        if places[-1] - places[0] != len(places) - 1:
            raise by_hand(self.path, self._inline(keys, value))
        start, end = pieces[0].start, pieces[-1].end
        return Splice(start, end, self._block(keys, value)), self.text[start:end]

    def restore(self, keys: Keys, raw: str) -> Splice:
        """Put a text back that `replace` gave."""
        pieces = self._pieces(keys, {})
        end = pieces[-1].end
        return Splice(pieces[0].start, end, raw + self._break(raw, end))

    def take(self, keys: Keys, marks: Marks = ()) -> Splice:
        """Take a table out with all below it, and with what `add` had to write before it."""
        pieces = self._pieces(keys, {})
        start, end = pieces[0].start, pieces[-1].end
        kept = "".join(
            self.text[before.end : after.start] if self._are_apart(before, after) else ""
            for before, after in zip(pieces, pieces[1:], strict=False)
        )
        lead = marks[0][0] if marks else self.newline * 2
        if lead and self.text.endswith(lead, 0, start):
            # Without a mark, one of the two empty lines that would meet goes too.
            start -= len(lead) if marks else len(self.newline)
        return Splice(start, end, kept + self._break(self.text[:start] + kept, end))

    def _break(self, before: str, end: int) -> str:
        """What must stand between two texts, so that each has its own lines."""
        return self.newline if before and not before.endswith("\n") and end < len(self.text) else ""

    def _read(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text.removeprefix(MARK), parse_float=str)
        except RecursionError:
            raise too_deep(self.path, MAX_DEPTH) from None
        except ValueError as error:
            raise bad_toml(self.path, str(error)) from None

    def _pieces(self, keys: Keys, value: Mapping[str, Any]) -> Sequence[Statement]:
        """The statements of a table. Raises `UsageError` where they are not below headers of its own."""
        found = [one for one in self._statements if one.keys[: len(keys)] == keys]
        if not found or any(one.header[: len(keys)] != keys for one in found):
            raise by_hand(self.path, self._inline(keys, value) if value else "")
        return found

    def _are_apart(self, before: Statement, after: Statement) -> bool:
        """Tell whether something of others lies between two statements."""
        return self._statements.index(after) - self._statements.index(before) > 1

    def _header(self, keys: Keys, value: Mapping[str, Any]) -> Statement:
        for one in self._statements:
            if one.kind == "table" and one.keys == keys:
                return one
        raise by_hand(self.path, self._inline(keys, value))

    def _set(self, keys: Keys, key: str, value: Any, values: Mapping[str, Any]) -> Splice:
        for one in self._statements:
            if one.kind == "value" and one.header == keys and one.keys == (*keys, key):
                return Splice(*one.value, _written(value))
        header = self._header(keys, values)
        lead = "" if self.text.endswith("\n", 0, header.end) else self.newline
        return Splice(header.end, header.end, f"{lead}{key} = {_written(value)}{self.newline}")

    def _block(self, keys: Keys, value: Mapping[str, Any]) -> str:
        lines = [f"[{'.'.join(keys)}]", *(f"{key} = {_written(inner)}" for key, inner in value.items())]
        return "".join(line + self.newline for line in lines)

    def _inline(self, keys: Keys, value: Mapping[str, Any]) -> str:
        inner = ", ".join(f"{key} = {_written(inner)}" for key, inner in value.items())
        return f"{keys[-1]} = {{ {inner} }}"


def _written(value: str | list[str]) -> str:
    """A text or a list of texts: what JSON makes of them is TOML too, but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
