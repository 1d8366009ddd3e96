"""Paths in the tree from the folders of an input, with labels that are valid in the tree."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from hashlib import sha256

FOLDERS = "folders"
_NOT_IN_LABEL = re.compile("[^A-Za-z0-9_]+")
_HASH = 6


def tree_in_folders(source: str, inputs: Sequence[str]) -> str:
    """Return the path in the tree for the folder of a file, below the input folder or zip that contains it."""
    if not inputs:
        return ""
    source = source.replace(os.sep, "/")
    for name in inputs:
        folder = name.replace(os.sep, "/").rstrip("/") + "/"
        if source.startswith(folder):
            return tree_of_folder(source[len(folder) :])
        if name in (".", "./") and not source.startswith(("/", "../")):
            return tree_of_folder(source)
    return ""


def tree_of_folder(path: str) -> str:
    """Return the path in the tree for the folder of a file.

    Accents are removed and punctuation becomes `_`. A name in another script gets a part of its hash, so that two
    folders never share a label because their letters are lost.
    """
    return ".".join(map(_label, path.split("/")[:-1]))


def _label(name: str) -> str:
    name = unicodedata.normalize("NFC", name)
    plain = "".join(char for char in unicodedata.normalize("NFKD", name) if not unicodedata.combining(char))
    label = _NOT_IN_LABEL.sub("_", plain).strip("_")
    if not label or any(char.isalnum() and not char.isascii() for char in plain):
        label = f"{label or 'folder'}_{sha256(name.encode()).hexdigest()[:_HASH]}"
    return label
