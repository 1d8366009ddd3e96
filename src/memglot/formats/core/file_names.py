"""File names that are safe on every system."""

import re

_UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
_LONGEST = 120


def safe_name(text: str) -> str:
    """A file or folder name made from any text: no separators, nothing hidden, nothing that Windows reserves."""
    name = _UNSAFE.sub("_", text).rstrip(". ").lstrip(".")
    name = name.encode("utf-8")[:_LONGEST].decode("utf-8", "ignore") or "_"
    return f"_{name}" if _RESERVED.fullmatch(name) else name
