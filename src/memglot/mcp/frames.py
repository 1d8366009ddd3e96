"""Read and write JSON-RPC messages, so that every request with a usable id gets an answer with this id."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn, TypeAlias

import mcp_types as types
from pydantic import ValidationError

from memglot.settings import MAX_BODY_BYTES

FrameId: TypeAlias = str | int | float | None
_MAX_ID = 1_000
"""Maximum length of an id that is not a valid one, and is repeated in an error."""
_ENDS = 64 << 10
"""How much of the start and of the end of an oversized line is kept, to find its id."""
# A string that is not closed extends to the end, so that the search takes linear time.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_ID = re.compile(rb'\s*+:\s*+("(?:[^"\\]++|\\.)*+"|[-+.\w]++)(?=\s*+[,}])', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LAST_ID = re.compile(
    rb',\s*+"id"' + _ID.pattern + rb'\s*+(?:,\s*+"(?:jsonrpc|method)"\s*+:\s*+"[^"\\]*+"\s*+)*+\}\s*+$', re.DOTALL
)


class InvalidFrame(Exception):
    """Bytes that are not one JSON-RPC message, and the id of the request if it has one."""

    def __init__(self, reason: str, id: FrameId = None, code: int = types.INVALID_REQUEST) -> None:
        super().__init__(reason)
        self.id, self.code = id, code

    def answer(self) -> bytes:
        """Return the error response."""
        return encode({"jsonrpc": "2.0", "id": self.id, "error": {"code": self.code, "message": str(self)}})


def parse_frame(data: bytes) -> types.JSONRPCMessage:
    """Return the message of a line or of an HTTP body. Raise `InvalidFrame` if it is not exactly one."""
    data = data.removeprefix(codecs.BOM_UTF8)
    if len(data) > MAX_BODY_BYTES:
        raise too_large(data[:_ENDS], data[-_ENDS:])
    try:
        value = json.loads(data.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise InvalidFrame("this message is not valid UTF-8", _find_id(data), types.PARSE_ERROR) from None
    except ValueError:
        raise InvalidFrame("this message is not valid JSON", _find_id(data), types.PARSE_ERROR) from None
    except RecursionError:
        raise InvalidFrame("this message is nested too deeply", _find_id(data), types.PARSE_ERROR) from None
    if not isinstance(value, dict):
        what = "a batch, which MCP does not have" if isinstance(value, list) and value else "not a JSON-RPC message"
        raise InvalidFrame(f"this message is {what}")
    # A malformed answer is not answered with its id, which the client may use for a request of its own.
    id = _usable_id(value.get("id")) if "method" in value or not value.keys() & {"result", "error"} else None
    if _SURROGATE.search(data):
        _refuse_surrogates(value, id)
    try:
        message: types.JSONRPCMessage = _model(value).model_validate(value, by_name=False)
        return message
    except (ValidationError, RecursionError):
        raise InvalidFrame("this message is not a JSON-RPC message", id) from None


def too_large(head: bytes, tail: bytes) -> InvalidFrame:
    """Return the error for a message over the limit, given its start and its end."""
    last = _LAST_ID.search(tail)
    id = _find_id(head, is_complete=False)
    return InvalidFrame(
        f"this message has more than {MAX_BODY_BYTES >> 20} MiB; write long text to a file and import it by its path",
        _decode_id(last[1]) if id is None and last else id,
    )


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as JSON on one line. Lone surrogates are escaped; an answer that is not JSON is an error."""
    try:
        return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode()
    except (ValueError, TypeError, RecursionError):
        failed = {"code": types.INTERNAL_ERROR, "message": "the answer cannot be written as JSON"}
        return json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "error": failed}).encode()


def encode_message(message: types.JSONRPCMessage, id: FrameId = None) -> bytes:
    """Return a message of the SDK as JSON on one line; an answer gets the id `id`."""
    if isinstance(message, types.JSONRPCResponse):
        return encode({"jsonrpc": "2.0", "id": id, "result": message.result})
    if isinstance(message, types.JSONRPCError):
        return encode({"jsonrpc": "2.0", "id": id, "error": message.error.model_dump(exclude_unset=True)})
    return encode(message.model_dump(by_alias=True, exclude_unset=True))


class LineBuffer:
    """Split what a client sends into lines, in bounded memory."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None
        """The start of a line that is too long."""

    def feed(self, data: bytes) -> Iterator[bytes | InvalidFrame]:
        """Yield the lines that `data` completes, without blank ones, and an error in place of each that is too long."""
        # Like bytes.splitlines, which also splits at carriage returns, as some clients end lines with them.
        for line in data.splitlines(keepends=True):
            self._add(line)
            if line.endswith((b"\n", b"\r")):
                yield from self.flush()

    def flush(self) -> Iterator[bytes | InvalidFrame]:
        """Yield what is left at the end of the input."""
        line, head = b"".join(self._parts).strip(), self._head
        self._parts, self._size, self._head = [], 0, None
        if head is not None:
            yield too_large(head, line[-_ENDS:])
        elif line:
            yield line

    def _add(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > MAX_BODY_BYTES:
            line = b"".join(self._parts)
            self._head = self._head if self._head is not None else line[:_ENDS]
            self._parts = [line[-_ENDS:]]
            self._size = _ENDS


def _model(value: dict[str, Any]) -> type[Any]:
    """Return the kind of a message. Whether a request has an id is decided by the key, whatever its value is."""
    if "method" in value:
        return types.JSONRPCRequest if "id" in value else types.JSONRPCNotification
    return types.JSONRPCError if "error" in value else types.JSONRPCResponse


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _refuse_surrogates(value: object, id: FrameId) -> None:
    """Raise `InvalidFrame` if a text contains half of a character."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        found = f"U+{ord(error.object[error.start]):04X}"
        raise InvalidFrame(f"this message contains a lone surrogate ({found}), which is not valid text", id) from None


def _usable_id(value: object) -> FrameId:
    """Return an id that an error can repeat, or None for ids that are neither text nor numbers."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _find_id(data: bytes, *, is_complete: bool = True) -> FrameId:
    """Return the id of a message that is not valid JSON, or None.

    With `is_complete`, None for a message whose brackets do not match, whose end, and thus last id, is not known.
    """
    depth, id, end = 0, None, 0
    for token in _TOKEN.finditer(data):
        first = token[0][:1]
        if is_complete and not depth and (first != b"{" or end):
            return None
        depth += (first in b"[{") - (first in b"]}")
        if depth == 1 and token[0] == b'"id"' and (found := _ID.match(data, token.end())):
            id = _decode_id(found[1])
        end = token.end()
    is_cut = depth or data[end:].strip() or not data.lstrip().startswith(b"{")
    return None if is_complete and is_cut else id


def _decode_id(token: bytes) -> FrameId:
    try:
        return _usable_id(json.loads(token.decode())) if len(token) <= _MAX_ID else None
    except ValueError:
        return None
