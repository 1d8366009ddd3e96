"""What both kinds of configuration have in common, and the proof that an edit changed our entry and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from memglot.clients.errors import no_utf8, not_only_ours
from memglot.clients.json_edit import JsonDocument, Keys, Marks
from memglot.clients.json_scan import Pairs
from memglot.clients.splice import Splice
from memglot.clients.table import Format
from memglot.clients.toml_edit import TomlDocument
from memglot.errors import MemglotError


class Document(Protocol):
    """A configuration that is read, and what can be done with one entry of it.

    Nothing is changed in place: each deed gives the one `Splice` of the text that does it.
    """

    text: str
    path: str
    is_blank: bool

    def value(self) -> Any:
        """The whole document as plain values."""

    def has(self, keys: Keys) -> bool:
        """Tell whether there is a value below these keys. Raises `Unreadable` where the way there is blocked."""

    def entry(self, keys: Keys) -> Any:
        """The value below these keys, or `None`. Raises `Unreadable` where the way there is blocked."""

    def add(self, keys: Keys, value: dict[str, Any]) -> tuple[Splice, Marks]:
        """Put a value below keys that lead nowhere yet; the marks tell what else had to be written."""

    def update(self, keys: Keys, values: Mapping[str, Any]) -> Splice:
        """Give members of an entry other values; its other members stay."""

    def replace(self, keys: Keys, value: dict[str, Any]) -> tuple[Splice, str]:
        """Put a value in the place of another, and tell the text of that one."""

    def restore(self, keys: Keys, raw: str) -> Splice:
        """Put a text back that `replace` gave."""

    def take(self, keys: Keys, marks: Marks = ()) -> Splice:
        """Take a value out, with what `add` had to write around it, unless others use that by now."""


def document_of(data: bytes, path: str, format: Format) -> Document:
    """Read a configuration. Raises `Unreadable`."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise no_utf8(path, data.count(b"\n", 0, error.start) + 1) from None
    return TomlDocument(text, path) if format == "toml" else JsonDocument(text, path)


def checked(document: Document, splice: Splice, keys: Keys) -> Document:
    """The document with a change. Raises `UsageError` where anything but the entry at `keys` would differ."""
    try:
        after = type(document)(splice.apply(document.text), document.path)  # type: ignore[call-arg]
        same = _without(document.value(), keys) == _without(after.value(), keys)
    except (MemglotError, ValueError, RecursionError) as error:
        raise not_only_ours(document.path) from error
    if not same:
        raise not_only_ours(document.path)
    return after


def _without(value: Any, keys: Keys) -> Any:
    """A value less what lies below the keys, and less the objects on the way there that hold nothing else."""
    if not isinstance(value, (dict, Pairs)):
        return value
    pairs = list(value.items()) if isinstance(value, dict) else value
    rest: Pairs = Pairs()
    for key, inner in pairs:
        if key != keys[0]:
            rest.append((key, inner))
        elif len(keys) > 1:
            left = _without(inner, keys[1:])
            if left != Pairs():
                rest.append((key, left))
    return sorted(rest, key=lambda pair: pair[0]) if isinstance(value, dict) else rest
