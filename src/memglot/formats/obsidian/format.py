"""Obsidian vaults: one memory per note, wikilinks as relations, tags in the text; an unchanged note is kept byte for
byte.

Other fields are carried under the front matter key `memglot`, or in the proof for notes that must not change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from memglot.errors import NeedsFolder
from memglot.formats.base import (
    FolderSupport,
    Format,
    Glimpse,
    MergeSupport,
    ReadOptions,
    WriteOptions,
    WriteSupport,
)
from memglot.formats.core.carry import bundles
from memglot.formats.core.note_files import digest_file
from memglot.formats.core.note_folder import open_note_folder
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.formats.core.trace import NATIVE_FIELDS, TOOL_DEFAULTS, note_bookkeeping
from memglot.formats.core.trace_fields import is_agentos_note
from memglot.formats.obsidian.note import TOOL, has_tag_line
from memglot.formats.obsidian.reader import read_vault
from memglot.formats.obsidian.writer import VaultWriter
from memglot.model import Item
from memglot.report import Report, SourceReport

_SAMPLE = 50
_HEAD = 1 << 14
"""A longer note is seen without its end."""
_WIKILINK = re.compile(rb"\[\[[^\[\]\s][^\[\]\n]*\]\]")


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the memory of one note; its links to other notes cannot be resolved."""
    name = source.path.name if source.path else "note.md"
    folder = source.path.parent.name if source.path else ""
    return read_vault([(f"{folder}/{name}" if folder else name, source)], folder, report, options)


def write(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write a vault: notes in folders by kind, or where they were read."""
    if target.path is None:
        raise NeedsFolder("obsidian", "standard output")
    vault = options.space or target.path.resolve().name
    is_vault = (target.path / ".obsidian").is_dir()
    with open_note_folder(target, digest_file, plain=options.plain, joins=is_vault) as notes:
        writer = VaultWriter(notes, target.path, vault, report, options)
        for bundle in bundles(items, writer, report):
            writer.add(bundle)
        writer.finish()
        report.proof = notes.finish("obsidian", report)


def recognise(head: bytes) -> bool:
    """Return True if a note of AgentOS ends with its tags, which only its vaults have."""
    return is_agentos_note(head) and has_tag_line(head.decode(errors="replace")) is True


def recognise_folder(glimpse: Glimpse) -> bool:
    """Return True if a folder has Obsidian's settings or wikilinks, or if most notes of AgentOS end with their tags."""
    if any(name.startswith(".obsidian/") or "/.obsidian/" in name for name in glimpse.names):
        return True
    found: Counter[bool | None] = Counter()
    for head in glimpse.heads(".md"):
        if _WIKILINK.search(head):
            return True
        if len(head) < _HEAD and found[True] + found[False] < _SAMPLE and is_agentos_note(head):
            found[has_tag_line(head.decode(errors="replace"))] += 1
    return found[True] > found[False]


FORMAT = Format(
    name="obsidian",
    title="Obsidian vault",
    tool=TOOL,
    family="markdown",
    extensions=(".md", ".markdown"),
    fields=NATIVE_FIELDS | {"title"},
    carry="memglot",
    read=read,
    write=write,
    dedup="content",
    conflict="merge",
    recognise=recognise,
    dialects=("program",),
    folder=FolderSupport(read_files=read_vault, recognise=recognise_folder, digest_file=digest_file),
    writing=WriteSupport(makes_folder=True, needs_ids=True, groups_notes=True),
    merging=MergeSupport(by_hand=True, defaults=TOOL_DEFAULTS, bookkeeping=note_bookkeeping(TOOL)),
)
