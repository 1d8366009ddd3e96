"""File names that are safe on every system."""

import re

_UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
_MAX_BYTES = 120


def safe_name(text: str) -> str:
    """Return a file or folder name for a text: without separators, not hidden, not reserved by Windows."""
    name = _UNSAFE.sub("_", text).rstrip(". ").lstrip(".")
    name = name.encode("utf-8")[:_MAX_BYTES].decode("utf-8", "ignore") or "_"
    return f"_{name}" if _RESERVED.fullmatch(name) else name
