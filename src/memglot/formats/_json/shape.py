"""The shape of a JSON file by its first bytes: which keys its first object has."""

import re

_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*+)"(?:\s*:\s*(?=(.)))?|[{}\[\]]', re.DOTALL)


def first_keys(head: bytes) -> dict[str, bytes]:
    """The keys of the first object in a text, alone or in a list, each with the first byte of its value.

    The text may be cut off anywhere; what it no longer shows is not told.
    """
    found: dict[str, bytes] = {}
    level = 0
    start = head.find(b"{", 0, len(head) - len(head.lstrip(b" \t\r\n[")) + 1)
    for match in _TOKEN.finditer(head, start) if start >= 0 else ():
        token = match[0]
        if token in (b"{", b"["):
            level += 1
        elif token in (b"}", b"]"):
            level -= 1
        elif level == 1 and match[2] is not None:
            found[match[1].decode("utf-8", "replace")] = match[2]
        if level <= 0:
            break
    return found
