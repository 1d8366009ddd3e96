"""Reader of YAML 1.2 core from libyaml's events, one list item at a time.

PyYAML's own loaders implement YAML 1.1, in which `no` is false and `12:30` is 750; its C parser does not interpret
values.
"""

import io
import math
import re
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec
import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]

from memglot.errors import BadRecord
from memglot.formats.syntax.yaml_text import TooMuchText, YamlText, restore
from memglot.model.record_errors import bad_number, bad_syntax, too_deep, too_large
from memglot.report import NotMemories
from memglot.settings import MAX_ALIAS_GROWTH, MAX_DEPTH, MAX_RECORD_BYTES

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_TYPED = frozenset("~+-.0123456789nNtTfF")
_MAX_LEVEL = 3 * MAX_DEPTH
_MAX_EVENTS = 1_000_000
# A document with more events must have some text in each of them.
_MANY_EVENTS = 2_000_000
_CHARACTERS_PER_EVENT = 8
_STANDARD = "tag:yaml.org,2002:"


class BrokenYaml(Exception):
    """The rest of the document cannot be read; `ended` is True if the document was complete."""

    def __init__(self, error: BadRecord, line: int, *, ended: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.line = line
        self.ended = ended


class YamlReader:
    """One YAML document. `values` yields its items; an invalid one is yielded as a `BadRecord`.

    Only the value of the key `unchecked` of an item may contain lone surrogates.
    """

    def __init__(
        self,
        stream: BinaryIO,
        *,
        start: int = 0,
        size: int | None = None,
        unchecked: str | None = None,
        max_record: int = MAX_RECORD_BYTES,
    ) -> None:
        self._text = YamlText(stream, start)
        self._max_record = self._text.bytes_allowed = max_record
        self._unchecked = unchecked
        self._parser = CParser(self._text)
        self._size = size or 0
        self._anchors: dict[str, Any] = {}
        # By identity: an anchored value lives as long as this reader, or is replaced by one that is measured again.
        self._weights: dict[int, int] = {}
        self._expanded = 0
        self._level = self._events = self._all_events = 0
        self._event: Any = None
        self.line = 0
        self.inside = False
        self.is_list = False

    def values(self) -> Iterator[Any]:
        """Yield the items of a list, or the single value; nothing for an empty document. Raise `BrokenYaml`."""
        self._next()
        event = self._next()
        if isinstance(event, yaml.StreamEndEvent):
            return
        event = self._next()
        if isinstance(event, yaml.SequenceStartEvent):
            self.is_list = True
            while not isinstance(event := self._next(), yaml.SequenceEndEvent):
                yield self._item(event)
        else:
            value = self._item(event)
            if value is not None:
                yield value
        self._next()
        event = self._next()
        if not isinstance(event, yaml.StreamEndEvent):
            error = bad_syntax("YAML", "the file contains more than one document")
            raise BrokenYaml(error, event.start_mark.line + 1, ended=True)

    def _item(self, event: Any) -> Any:
        """Return one value, or its error; all of its events are consumed."""
        self.line = event.start_mark.line + 1
        self.inside = True
        self._events = 0
        self._text.bytes_allowed = self._max_record
        base = self._level - (1 if isinstance(event, yaml.CollectionStartEvent) else 0)
        try:
            value = self._build(event, 1)
            # Marks count too, but they are rare.
            if self._event.end_mark.index - event.start_mark.index > self._max_record and not self._text.has_marks:
                value = too_large(self._max_record)
        except BadRecord as error:
            while self._level > base:
                self._next()
            value = error
        self.inside = False
        return self._text.refused_before(self._event.end_mark.index) or value

    def _next(self) -> Any:
        try:
            event = self._event = self._parser.get_event()
        except TooMuchText:
            raise BrokenYaml(too_large(self._max_record), self.line) from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else self.line
            raise BrokenYaml(bad_syntax("YAML", error.problem or str(error)), line) from None
        except yaml.YAMLError as error:
            raise BrokenYaml(bad_syntax("YAML", str(error).partition("\n")[0]), self.line) from None
        if isinstance(event, yaml.CollectionStartEvent):
            self._level += 1
            if self._level > _MAX_LEVEL:
                # libyaml takes quadratic time to read on.
                raise BrokenYaml(too_deep("the memory"), self.line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._level -= 1
        self._events += 1
        self._all_events += 1
        if self._events > _MAX_EVENTS:
            raise BrokenYaml(_too_many(), self.line)
        if self._all_events > _MANY_EVENTS:
            self._check_density()
        return event

    def _check_density(self) -> None:
        if self._event.end_mark.index < self._all_events * _CHARACTERS_PER_EVENT:
            raise NotMemories(
                f"stopped after {self._all_events:,} values, because they have fewer than {_CHARACTERS_PER_EVENT} "
                "characters each on average; the rest was not read"
            )

    def _build(self, event: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise too_deep("the memory")
        kind = type(event)
        if kind is yaml.ScalarEvent:
            value = _scalar(event, self._text_of(event))
        elif kind is yaml.MappingStartEvent:
            value = self._mapping(depth)
        elif kind is yaml.SequenceStartEvent:
            value = []
            while not isinstance(inner := self._next(), yaml.SequenceEndEvent):
                value.append(self._build(inner, depth + 1))
        else:
            return self._alias(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = value
            self._weights[id(value)] = self._weight(value)
        return value

    def _weight(self, value: Any) -> int:
        """Return the approximate number of characters of a value when written out; anchored values are cached."""
        if (known := self._weights.get(id(value))) is not None:
            return known
        if isinstance(value, dict):
            return 2 + sum(len(key) + 2 + self._weight(inner) for key, inner in value.items())
        if isinstance(value, list):
            return 2 + sum(self._weight(inner) + 2 for inner in value)
        return len(value) + 1 if isinstance(value, str) else 8

    def _mapping(self, depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if type(event) is yaml.ScalarEvent:
                key = self._text_of(event)
                if event.anchor is not None:
                    self._anchors[event.anchor] = key
            else:
                key = self._build(event, depth + 1)
                if not isinstance(key, str):
                    key = msgspec.json.encode(key).decode("utf-8")
            if key in value:
                raise bad_syntax("YAML", f"duplicate key `{key[:40]}` in a mapping")
            event = self._next()
            if depth == 1 and key == self._unchecked and type(event) is yaml.ScalarEvent and event.anchor is None:
                value[key] = _scalar(event, restore(event.value))
            else:
                value[key] = self._build(event, depth + 1)
        return value

    def _text_of(self, event: Any) -> str:
        """Return the text of a scalar; raise `BadRecord` for a lone surrogate."""
        text: str = event.value
        if not self._text.has_marks:
            return text
        text = restore(text)
        if (error := self._text.lone_surrogate(text, event.start_mark.index)) is not None:
            raise error
        return text

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            raise bad_syntax("YAML", f"unknown alias `{event.anchor}`")
        value = self._anchors[event.anchor]
        self._expanded += self._weight(value)
        size = max(self._size, event.end_mark.index)
        if size + self._expanded > MAX_ALIAS_GROWTH * size:
            raise BadRecord(
                f"YAML aliases expand this document beyond {MAX_ALIAS_GROWTH} times its size",
                "write the repeated values out, or split the file",
            )
        return value


def _too_many() -> BadRecord:
    """Return the error for an item with too many values."""
    return BadRecord(f"the memory has more than {_MAX_EVENTS:,} values", "split it, or import it as JSON")


def load(text: bytes, start: int = 0) -> Any:
    """Return the value of a small document; raise `BadRecord` or `BrokenYaml`."""
    reader = YamlReader(io.BytesIO(text), start=start, size=len(text), max_record=sys.maxsize)
    values = list(reader.values())
    for value in values:
        if isinstance(value, BadRecord):
            raise value
    return values if reader.is_list else values[0] if values else None


def _scalar(event: Any, text: str) -> Any:
    tag = event.tag
    if tag is None or not tag.startswith(_STANDARD):
        # Unknown tags are ignored; `!` alone means text.
        return text if not event.implicit[0] and tag is None or tag == "!" or event.style else resolve(text)
    if tag == _STANDARD + "str":
        return text
    return resolve(text)


def resolve(text: str) -> Any:
    """Return the value of a plain scalar in the core schema."""
    if text and text[0] not in _TYPED:
        return text
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.fullmatch(text):
        try:
            return int(text, 0 if text[:2] in ("0o", "0x") else 10)
        except ValueError:
            raise bad_syntax("YAML", "a number with too many digits") from None
    if _FLOAT.fullmatch(text):
        number = float(text)
        if math.isfinite(number):
            return number
    if _SPECIAL.fullmatch(text) or _FLOAT.fullmatch(text):
        raise bad_number("the memory", float(text.replace(".", "", 1)) if _SPECIAL.fullmatch(text) else float(text))
    return text
