"""The text of a message, by the type of its content."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

INSTRUCTIONS = "user_editable_context"
MEMORIES = "model_editable_context"
OUTPUT = "execution_output"
_TICKS = re.compile("`{3,}")
_ASSETS = {
    "image_asset_pointer": "image",
    "audio_asset_pointer": "audio",
    "video_container_asset_pointer": "video",
    "video_asset_pointer": "video",
}


@dataclass
class Content:
    """The content of a message: its text, files and thoughts.

    `shown` is the part of the text that names files. `unknown` names parts that could not be read.
    """

    type: str
    text: str = ""
    shown: str = ""
    assets: list[str] = field(default_factory=list)
    thoughts: list[dict[str, str]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def read_content(content: dict[str, Any] | None) -> Content:
    """Return the content of a message; an unknown type yields its text, if it has any."""
    if not content:
        return Content("")
    given = content.get("content_type")
    found = Content(given if isinstance(given, str) else "")
    _READERS.get(found.type, _other)(content, found)
    return found


def plain_text(content: dict[str, Any] | None) -> str:
    """Return the text of a content without a code fence."""
    content = content or {}
    text = _string(content, "text")
    return text or "\n".join(part for part in _list(content, "parts") if isinstance(part, str))


def _parts(content: dict[str, Any], found: Content) -> None:
    lines: list[str] = []
    shown: list[str] = []
    for part in _list(content, "parts"):
        if isinstance(part, str):
            lines.append(part)
        elif isinstance(part, dict):
            named = _part(part, found)
            # Adding only the image's lines leaves no empty line if there is no text.
            lines += named
            shown += named if not _string(part, "text") else []
        elif part is not None:
            found.unknown.append(f"{found.type or 'text'} part")
    found.text = "\n".join(lines if any(line.strip() for line in lines) else [])
    found.shown = "\n".join(shown)


def _part(part: dict[str, Any], found: Content) -> list[str]:
    """Return the lines for a part that is not plain text: its transcript, or the name of its file."""
    type = _string(part, "content_type")
    if type == "audio_transcription" or _string(part, "text"):
        return [_string(part, "text")]
    if _string(part, "asset_pointer"):
        asset = _string(part, "asset_pointer")
        found.assets.append(asset)
        return [f"[{_ASSETS.get(type, 'file')}: {asset}]"]
    # A voice or video message has its recordings one level deeper.
    inner = [part.get(key) for key in ("audio_asset_pointer", "video_container_asset_pointer")]
    inner += _list(part, "frames_asset_pointers")
    lines = [line for each in inner if isinstance(each, dict) for line in _part(each, found)]
    if not lines and type != "real_time_user_audio_video_asset_pointer":
        found.unknown.append(type or "part")
    return lines


def _code(content: dict[str, Any], found: Content) -> None:
    language = _string(content, "language")
    found.text = _fenced(_string(content, "text"), "" if language == "unknown" else language)


def _output(content: dict[str, Any], found: Content) -> None:
    found.text = _fenced(_string(content, "text"), "")


def _thoughts(content: dict[str, Any], found: Content) -> None:
    for thought in _list(content, "thoughts"):
        if isinstance(thought, dict):
            kept = {key: _string(thought, key) for key in ("summary", "content") if _string(thought, key)}
            found.thoughts += [kept] if kept else []
        else:
            found.unknown.append("thoughts part")


def _recap(content: dict[str, Any], found: Content) -> None:
    if recap := _string(content, "content"):
        found.thoughts.append({"summary": recap})


def _fields(*keys: str) -> Callable[[dict[str, Any], Content], None]:
    """Return a reader for content with its text in several keys."""

    def read(content: dict[str, Any], found: Content) -> None:
        found.text = "\n".join(text for key in keys if (text := _string(content, key)).strip())

    return read


def _error(content: dict[str, Any], found: Content) -> None:
    found.text = ": ".join(filter(None, (_string(content, "name"), _string(content, "text"))))


def _screen(content: dict[str, Any], found: Content) -> None:
    screenshot = content.get("screenshot")
    found.text = found.shown = "\n".join(_part(screenshot, found)) if isinstance(screenshot, dict) else ""


def _other(content: dict[str, Any], found: Content) -> None:
    if _list(content, "parts"):
        _parts(content, found)
    elif text := _string(content, "text"):
        found.text = text
    elif any(value for key, value in content.items() if key != "content_type"):
        found.unknown.append(found.type or "content of no type")


def _fenced(text: str, language: str) -> str:
    if not text.strip():
        return ""
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return f"{fence}{language}\n{text.removesuffix(chr(10))}\n{fence}"


def _string(content: dict[str, Any], key: str) -> str:
    value = content.get(key)
    return value if isinstance(value, str) else ""


def _list(content: dict[str, Any], key: str) -> list[Any]:
    value = content.get(key)
    if isinstance(value, str) and value:
        return [value]
    return value if isinstance(value, list) else []


_READERS: dict[str, Callable[[dict[str, Any], Content], None]] = {
    "text": _other,
    "multimodal_text": _parts,
    "code": _code,
    OUTPUT: _output,
    "thoughts": _thoughts,
    "reasoning_recap": _recap,
    "tether_quote": _fields("title", "url", "text"),
    "tether_browsing_display": _fields("result", "summary"),
    "tether_browsing_code": _fields("text"),
    "sonic_webpage": _fields("title", "url", "text", "snippet"),
    "citable_code_output": _fields("output_str"),
    "computer_output": _screen,
    "system_error": _error,
    INSTRUCTIONS: _fields("user_profile", "user_instructions"),
    MEMORIES: _fields("model_set_context"),
}
