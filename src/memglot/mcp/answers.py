"""How answers and errors go out: a structure, a text for the model, or one sentence for what went wrong."""

from __future__ import annotations

import re
from typing import Any

import mcp_types as types
import msgspec

from memglot.errors import MemglotError, UsageError
from memglot.mcp.tool import Answer, Tool
from memglot.search.pack import close_fence
from memglot.settings import MAX_ANSWER_BYTES

_LONGEST_TEXT = 100_000
_LONGEST_SENTENCE = 1_000
_FLAG = re.compile(r"`--([a-z]+(?:-[a-z]+)*)`")


def result_of(tool: Tool[Any], answer: Answer) -> types.CallToolResult:
    """What a client is answered. A long text is cut for the model: the structure holds all of it."""
    value = msgspec.to_builtins(answer.value)
    encoded = msgspec.json.encode(value).decode()
    if len(encoded) > MAX_ANSWER_BYTES:
        return error_of(
            tool,
            UsageError(
                f"the answer would be {len(encoded):,} bytes, and no more than 1 MB is answered",
                "ask for less with a `limit`, `levels` or a filter, or export to a file with `me_memory_export`",
            ),
        )
    text = answer.text if answer.text is not None else encoded
    if answer.failed:
        text = _one_line(_parameters(tool, text))
    elif len(text) > _LONGEST_TEXT:
        text = f"{close_fence(text[:_LONGEST_TEXT])}\n{_cut_text(_LONGEST_TEXT, len(text))}"
    content: list[types.ContentBlock] = [types.TextContent(text=text)]
    if answer.notes:
        content.append(types.TextContent(text="\n".join(_parameters(tool, note) for note in answer.notes)))
    if answer.link is not None:
        content.append(types.ResourceLink(uri=answer.link, name="import report", mime_type="application/json"))
    return types.CallToolResult(content=content, structured_content=value, is_error=answer.failed)


def error_of(tool: Tool[Any] | None, error: MemglotError) -> types.CallToolResult:
    """What a client is answered where something went wrong."""
    return types.CallToolResult(content=[types.TextContent(text=sentence_of(tool, error))], is_error=True)


def sentence_of(tool: Tool[Any] | None, error: MemglotError) -> str:
    """What happened, and what to do next, on one line."""
    return _one_line(_parameters(tool, f"{error} ({error.hint})" if error.hint else str(error)))


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_SENTENCE else line[: _LONGEST_SENTENCE - 1] + "…"


def _parameters(tool: Tool[Any] | None, text: str) -> str:
    """A sentence for the command line, with flags named as the parameters that agents know."""
    known = () if tool is None else tool.takes.__struct_fields__

    def named(flag: re.Match[str]) -> str:
        name = flag[1].replace("-", "_")
        return f"`{name}`" if name in known else flag[0]

    return _FLAG.sub(named, text)


def _cut_text(shown: int, whole: int) -> str:
    """An answer that is too long to be read whole."""
    return f"[cut: {shown:,} of {whole:,} signs are shown here; the structured answer holds all of it]"
