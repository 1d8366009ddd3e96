"""Build tool results for clients, within the size limits that clients accept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import mcp_types as types
import msgspec

from memglot.disk import DiskList
from memglot.errors import MemglotError, UsageError
from memglot.mcp.texts import LISTS_TRUNCATED
from memglot.mcp.tool import Answer, Tool
from memglot.search.pack import close_fence
from memglot.settings import MAX_ANSWER_BYTES

MAX_LISTED = 10_000
"""Maximum number of entries of a list in a structured answer."""
_MAX_SHOWN = 50
"""Maximum number of entries of a list in the text for the model."""
_MAX_LIST_BYTES = MAX_ANSWER_BYTES - 100_000
"""Maximum size of all lists of an answer, so that a completed operation never fails because its result is large."""
_MAX_TEXT = 100_000
_MAX_ERROR = 1_000
_FLAG = re.compile(r"`--([a-z]+(?:-[a-z]+)*)`")


def tool_result(tool: Tool[Any], answer: Answer) -> types.CallToolResult:
    """Return an answer as a tool result. Long text is truncated for the model; the structured value is complete."""
    value = msgspec.to_builtins(answer.value)
    encoded = msgspec.json.encode(value).decode()
    if len(encoded) > MAX_ANSWER_BYTES:
        return error_result(
            tool,
            UsageError(
                f"the result would be {len(encoded):,} bytes, which is more than 1 MB",
                "narrow it with `limit`, `levels` or a filter, or export to a file with `me_memory_export`",
            ),
        )
    text = answer.text if answer.text is not None else encoded
    if answer.failed:
        text = _one_line(_name_parameters(tool, text))
    elif len(text) > _MAX_TEXT:
        shown = f"{_MAX_TEXT:,} of {len(text):,} characters"
        text = f"{close_fence(text[:_MAX_TEXT])}\n[truncated: showing {shown}; the structured result is complete]"
    content: list[types.ContentBlock] = [types.TextContent(text=text)]
    if answer.notes:
        content.append(types.TextContent(text="\n".join(_name_parameters(tool, note) for note in answer.notes)))
    if answer.link is not None:
        content.append(types.ResourceLink(uri=answer.link, name="import report", mime_type="application/json"))
    return types.CallToolResult(content=content, structured_content=value, is_error=answer.failed)


def error_result(tool: Tool[Any] | None, error: MemglotError) -> types.CallToolResult:
    """Return an error as a tool result."""
    return types.CallToolResult(content=[types.TextContent(text=error_text(tool, error))], is_error=True)


def error_text(tool: Tool[Any] | None, error: MemglotError) -> str:
    """Return the message and the hint of an error on one line."""
    return _one_line(_name_parameters(tool, f"{error} ({error.hint})" if error.hint else str(error)))


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_ERROR else line[: _MAX_ERROR - 1] + "…"


def _name_parameters(tool: Tool[Any] | None, text: str) -> str:
    """Replace command-line flags in a message with the tool's parameters of the same name."""
    known = () if tool is None else tool.input.__struct_fields__

    def parameter(flag: re.Match[str]) -> str:
        name = flag[1].replace("-", "_")
        return f"`{name}`" if name in known else flag[0]

    return _FLAG.sub(parameter, text)


def fit_lists(lists: Mapping[str, Iterable[Any]]) -> dict[str, list[Any]]:
    """Truncate lists so that together they fit one answer; errors come first, since no count can replace them."""
    left = _MAX_LIST_BYTES
    fitted: dict[str, list[Any]] = {}
    for number, name in enumerate(sorted(lists, key=lambda name: name != "errors")):
        share, used = left // (len(lists) - number), 0
        fitted[name] = []
        for value in islice(lists[name], MAX_LISTED):
            size = len(msgspec.json.encode(value)) + 1
            if used + size > share:
                break
            used += size
            fitted[name].append(value)
        left -= used
    return fitted


def load_lists(value: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return an answer with its lists read from disk, and a note if any of them is truncated."""
    on_disk = {name: inner for name, inner in value.items() if isinstance(inner, DiskList)}
    lists = fit_lists(on_disk)
    is_truncated = any(len(lists[name]) < len(inner) for name, inner in on_disk.items())
    return value | lists, (LISTS_TRUNCATED,) if is_truncated else ()


def shorten_lists(value: dict[str, Any]) -> str:
    """Return an answer as JSON for the model, with long lists truncated and their lengths added."""
    shown = {name: inner[:_MAX_SHOWN] if isinstance(inner, list) else inner for name, inner in value.items()}
    lengths = {name: len(inner) for name, inner in value.items() if isinstance(inner, list) and len(inner) > _MAX_SHOWN}
    return msgspec.json.encode(shown | ({"lengths": lengths} if lengths else {})).decode()
