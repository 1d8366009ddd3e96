"""A conversation of ChatGPT's export, decoded fast, or leniently if a field has an unexpected type."""

from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeVar

import msgspec

from memglot.errors import BadRecord
from memglot.formats.syntax.json_stream import decode_value
from memglot.formats.syntax.json_surrogates import count_and_replace
from memglot.model import EARLIEST, LATEST, parse_time
from memglot.report import SourceReport

_UNKNOWN = "\N{REPLACEMENT CHARACTER}"


class Author(msgspec.Struct, gc=False):
    """Author of a message: `user`, `assistant`, `tool` or `system`; a tool has a name."""

    role: str = ""
    name: str | None = None


class Metadata(msgspec.Struct, gc=False):
    """The keys of a message's metadata that are used."""

    model_slug: str | None = None
    is_visually_hidden_from_conversation: bool | None = None
    attachments: list[Any] | None = None


class Message(msgspec.Struct, gc=False):
    """One message; the keys of its content depend on `content_type`."""

    id: str | None = None
    author: Author | None = None
    create_time: float | None = None
    content: dict[str, Any] | None = None
    recipient: str | None = None
    weight: float | None = None
    metadata: Metadata | None = None


class MessageNode(msgspec.Struct, gc=False):
    """A node of the tree. Roots and some inner nodes have no message."""

    message: Message | None = None
    parent: str | None = None
    children: list[str] | None = None


_Part = TypeVar("_Part", bound=msgspec.Struct)
_Nodes = dict[str, MessageNode | None]
_top = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_mapping = msgspec.json.Decoder(_Nodes).decode
_value = msgspec.json.Decoder().decode
_NESTED: dict[str, type[Any]] = {"message": Message, "author": Author, "metadata": Metadata}


@dataclass
class Conversation:
    """One conversation: its tree of messages and its settings."""

    id: str
    title: str
    created_at: int
    current: str | None
    nodes: dict[str, MessageNode]
    rest: dict[str, Any]

    @property
    def name(self) -> str:
        """Title, or the id if there is none."""
        return self.title or self.id


@dataclass
class ReadCounts:
    """Counts for the notes about a file, with the name of the first conversation concerned."""

    empty: int = 0
    repaired: int = 0
    replaced: int = 0
    unpaired: int = 0
    orphans: int = 0
    first_orphan: str = ""
    no_current: int = 0
    first_no_current: str = ""
    unknown: Counter[str] = field(default_factory=Counter)

    def clean(self, text: str) -> str:
        """Replace NUL characters, which no store accepts."""
        if "\0" not in text:
            return text
        self.replaced += text.count("\0")
        return text.replace("\0", _UNKNOWN)


def decode(raw: bytes, report: SourceReport, counts: ReadCounts) -> Conversation:
    """Decode a conversation; raise `BadRecord`."""
    try:
        top = _top(raw)
        nodes = _mapping(top.pop("mapping"))
        values = {key: _value(value) for key, value in top.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError):
        # An export contains lone surrogates where it cut an emoji in two.
        count, replaced = count_and_replace(raw)
        counts.replaced += count
        values = decode_value(replaced, report)
        given = values.pop("mapping", None) if isinstance(values, dict) else None
        if not isinstance(given, dict):
            raise BadRecord("a conversation must be an object with its messages in `mapping`") from None
        nodes = {key: _repair(value, report, counts) for key, value in given.items()}
    return _conversation(values, nodes, counts)


def _conversation(values: dict[str, Any], nodes: _Nodes, counts: ReadCounts) -> Conversation:
    title, current = values.pop("title", None), values.pop("current_node", None)
    started = values.pop("create_time", None)
    own = [values.pop("conversation_id", None), values.pop("id", None)]
    id = next((str(id) for id in own if isinstance(id, str | int) and id), "")
    if not id:
        id = sha256(msgspec.json.encode([title, started])).hexdigest()
    return Conversation(
        id=counts.clean(id),
        title=counts.clean(title) if isinstance(title, str) and title.strip() else "",
        created_at=microseconds(_number(started)),
        current=current if isinstance(current, str) else None,
        nodes={key: node or MessageNode() for key, node in nodes.items()},
        rest=values,
    )


def microseconds(seconds: float | None) -> int:
    """Return a time in microseconds; 0 for none or one out of range."""
    if not seconds or not -1e15 < seconds < 1e15:
        return 0
    at = round(seconds * 1_000_000)
    return at if EARLIEST <= at <= LATEST else 0


def place(report: SourceReport) -> dict[str, int | None]:
    """Return the position of the current conversation, for a fault inside it."""
    return {"line": report.line if report.find_line is None else report.find_line(), "item": report.item}


def _repair(value: Any, report: SourceReport, counts: ReadCounts) -> MessageNode:
    """Return a node with all of its fields that have the expected type."""
    try:
        return msgspec.convert(value, MessageNode | None) or MessageNode()
    except msgspec.ValidationError:
        pass
    message = value.get("message") if isinstance(value, dict) else value
    if message is not None and not isinstance(message, dict):
        report.fault(
            BadRecord("left out a message that is not an object; the other messages were read"),
            **place(report),
        )
        value = {**value, "message": None} if isinstance(value, dict) else {}
    else:
        counts.repaired += 1
    return _lenient(value, MessageNode)


def _lenient(value: dict[str, Any], kind: type[_Part]) -> _Part:
    found = kind()
    for known in msgspec.structs.fields(kind):
        given = value.get(known.name)
        try:
            fitting = msgspec.convert(given, known.type) if given is not None else None
        except msgspec.ValidationError:
            fitting = _other(given, known.name)
        if fitting is not None:
            setattr(found, known.name, fitting)
    return found


def _other(given: Any, name: str) -> Any:
    """Convert a field of an unexpected type, if possible."""
    if name in _NESTED and isinstance(given, dict):
        return _lenient(given, _NESTED[name])
    if name == "content":
        return {"content_type": "text", "parts": given if isinstance(given, list) else [given]}
    if name == "author" and isinstance(given, str):
        return Author(role=given)
    if name == "id" and isinstance(given, int):
        return str(given)
    return _number(given) if name == "create_time" else None


def _number(value: Any) -> float | None:
    """Return a time as seconds; some tools write it as text."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            pass
        try:
            return parse_time(value) / 1_000_000
        except BadRecord:
            return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
