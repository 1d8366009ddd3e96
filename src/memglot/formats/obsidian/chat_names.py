"""Names of notes that hold memories of chats, from titles or first words, and tags that are valid in Obsidian."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from memglot.disk import DiskMap
from memglot.formats.core.file_names import safe_name
from memglot.formats.core.note_files import NoteFiles
from memglot.model import Record

UNTITLED = "Untitled"
_WORDS, _LONGEST, _MAX_BYTES = 8, 60, 100
_HEAD = 4_000
_DEPTH = 2
"""Number of folders above a chat's note: its kind and its conversation. Notes that are named by ids have one."""
_SPEAKER = re.compile(r"\[(?:user|assistant|system|tool)\]:\s*")
_ATTACHMENT = re.compile(r"\[(?:image|audio|video|file): [^\]\n]*\]")
_CODE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_NOT_IN_NAME = re.compile(r"[\[\]#^|*_`>~$%=\\/:?\"<]+")
_NOT_IN_TAG = re.compile(r"[\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+")
_DIGITS = re.compile(r"[\d/]+")
_NUMBER = re.compile(r"(?: \d{1,9})?")


def conversation_of(record: Record) -> str | None:
    """Return the conversation that a memory is of; `None` if it is of no chat."""
    found = record.source.get("conversation")
    return found if isinstance(found, str) and found else None


def first_words(text: str) -> str:
    """Return the first words of a text as a name, without markup; those of code if there are no others."""
    text = _ATTACHMENT.sub("", _SPEAKER.sub("", text[:_HEAD]))
    for part in (_CODE.sub("", text), text):
        for line in _NOT_IN_NAME.sub(" ", part).split("\n"):
            words = line.strip(" \t-+.,;").split()
            if any(char.isalnum() for word in words for char in word):
                found = " ".join(words[:_WORDS])
                if len(found) > _LONGEST:
                    found = found[:_LONGEST].rpartition(" ")[0] or found[:_LONGEST]
                return found.rstrip(" -+.,;")
    return UNTITLED


def chat_name(record: Record) -> str:
    """Return the name of the note of a memory, without a number: its title, or its first words."""
    title = " ".join(_NOT_IN_NAME.sub(" ", record.title or "").split())
    # Shorter than a safe name, so that a number at its end is never cut off.
    name = safe_name(title or first_words(record.content)).encode()[:_MAX_BYTES].decode(errors="ignore")
    return name.rstrip(". ")


def is_chat_path(path: str, record: Record) -> bool:
    """Return True for a path that a memory of a chat gets."""
    kind, _, rest = path.partition("/")
    folder, _, name = rest.partition("/")
    own = chat_name(record)
    if kind != safe_name(record.kind) or not name.endswith(".md") or not _is_numbered(name[:-3], own):
        return False
    return _is_numbered(folder, own)


def _is_numbered(name: str, stem: str) -> bool:
    return name.startswith(stem) and _NUMBER.fullmatch(name[len(stem) :]) is not None


class ChatPaths:
    """Finds paths for notes of chats: those of an earlier export, else new ones in the folder of the conversation."""

    def __init__(self, files: NoteFiles, before: Mapping[str, str]) -> None:
        self._files, self._before = files, before
        self._folders = DiskMap()
        self._known = DiskMap()

    def close(self) -> None:
        """Delete the files on disk."""
        self._folders.close()
        self._known.close()

    def keep(self, record: Record, legacy: str | None) -> None:
        """Reserve the path that a note had in an earlier export, before any new path is made up."""
        path = self._before.get(record.id, legacy)
        if path is None or path != legacy and path.count("/") != _DEPTH or self._files.keep(path) is None:
            return
        self._known[record.id] = path
        folder = path.rpartition("/")[0]
        if path != legacy and path.count("/") == _DEPTH:
            key = _folder_key(record)
            if key not in self._folders:
                self._folders[key] = folder

    def keep_rest(self) -> None:
        """Reserve the paths of memories that are gone, whose notes somebody may have edited or linked."""
        for path in self._before.values():
            if path.count("/") == _DEPTH:
                self._files.keep(path)

    def path_of(self, record: Record) -> str:
        """Return the path of a note."""
        known = self._known.get(record.id)
        if known is not None:
            return str(known)
        key, name = _folder_key(record), chat_name(record)
        if key not in self._folders:
            self._folders[key] = self._files.make_folder(f"{safe_name(record.kind)}/{name}")
        return self._files.make(f"{self._folders[key]}/{name}.md")


def _folder_key(record: Record) -> str:
    return f"{record.kind}\0{conversation_of(record)}"


def exact_tags(tags: list[str], slot: dict[str, Any]) -> list[str]:
    """Return the tags that a note says, as they are spelled in the memory; its slot names those that differ."""
    exact = slot.get("tag_names")
    if not isinstance(exact, dict):
        return tags
    names = ((exact[tag] if isinstance(exact.get(tag), str) else tag) for tag in tags)
    return list(dict.fromkeys(name for name in names if name))


def valid_tags(tags: Iterable[str]) -> dict[str, str]:
    """Return a tag that is valid in Obsidian for each tag, with the exact one."""
    found: dict[str, str] = {}
    for tag in tags:
        valid = "/".join(filter(None, (part.strip("-") for part in _NOT_IN_TAG.sub("-", tag).split("/")))) or "_"
        if _DIGITS.fullmatch(valid):
            valid = f"_{valid}"
        number, name = 1, valid
        while name in found:
            number += 1
            name = f"{valid}-{number}"
        found[name] = tag
    return found
