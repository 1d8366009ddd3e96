"""What JSON and TOML configurations have in common, and the check that an edit changes our entry and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from memglot.clients.errors import NOTHING_CHANGED, unsafe_edit
from memglot.clients.json_document import JsonDocument, JsonPairs
from memglot.clients.registry import Format
from memglot.clients.text_edit import Keys, Marks, TextEdit
from memglot.clients.toml_document import TomlDocument
from memglot.errors import MemglotError, Unreadable


class ConfigDocument(Protocol):
    """A parsed configuration. Methods do not change it; they return the `TextEdit` that makes the change."""

    text: str
    path: str
    is_blank: bool

    def value(self) -> Any:
        """Return the document as built-in values."""

    def has(self, keys: Keys) -> bool:
        """Return True if there is a value at these keys. Raise `Unreadable` if a value on the path is not an object."""

    def entry(self, keys: Keys) -> Any:
        """Return the value at these keys, or None. Raise `Unreadable` if a value on the path is not an object."""

    def add(self, keys: Keys, value: dict[str, Any]) -> tuple[TextEdit, Marks]:
        """Add a value at keys that do not exist yet. The marks say what else was written around it."""

    def update(self, keys: Keys, values: Mapping[str, Any]) -> TextEdit:
        """Set members of an entry; keep its other members."""

    def replace(self, keys: Keys, value: dict[str, Any]) -> tuple[TextEdit, str]:
        """Replace a value; also return the text of the old value."""

    def restore(self, keys: Keys, raw: str) -> TextEdit:
        """Put back the text that `replace` returned."""

    def remove(self, keys: Keys, marks: Marks = ()) -> TextEdit:
        """Remove a value, and what `add` wrote around it unless that is used by others now."""


def parse_document(data: bytes, path: str, format: Format) -> ConfigDocument:
    """Parse a configuration. Raise `Unreadable` if it is not valid."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(
            path, f"line {line:,}: it is not valid UTF-8", f"save it as UTF-8, then try again; {NOTHING_CHANGED}"
        ) from None
    return TomlDocument(text, path) if format == "toml" else JsonDocument(text, path)


def apply_edit(document: ConfigDocument, edit: TextEdit, keys: Keys) -> ConfigDocument:
    """Return the edited document. Raise `UsageError` if anything but the entry at `keys` would change."""
    try:
        after = type(document)(edit.apply(document.text), document.path)  # type: ignore[call-arg]
        same = _without(document.value(), keys) == _without(after.value(), keys)
    except (MemglotError, ValueError, RecursionError) as error:
        raise unsafe_edit(document.path) from error
    if not same:
        raise unsafe_edit(document.path)
    return after


def _without(value: Any, keys: Keys) -> Any:
    """Return a value without what is at the keys, and without objects on the path that contain nothing else."""
    if not isinstance(value, (dict, JsonPairs)):
        return value
    pairs = list(value.items()) if isinstance(value, dict) else value
    rest: JsonPairs = JsonPairs()
    for key, inner in pairs:
        if key != keys[0]:
            rest.append((key, inner))
        elif len(keys) > 1:
            left = _without(inner, keys[1:])
            if left != JsonPairs():
                rest.append((key, left))
    return sorted(rest, key=lambda pair: pair[0]) if isinstance(value, dict) else rest
