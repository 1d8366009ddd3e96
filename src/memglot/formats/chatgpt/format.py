"""ChatGPT's export: each question with its answer is one episodic memory, saved memories are semantic ones.

Pairs follow the line that ends at `current_node`; other branches are kept and marked. What a conversation says of
itself and changes while it goes on (its last change, its default model, its list of safe links) is not kept.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

import msgspec

from memglot.display import plural
from memglot.errors import BadRecord
from memglot.formats.base import FolderSupport, Format, Glimpse, ReadOptions
from memglot.formats.chatgpt.conversation import ReadCounts, decode
from memglot.formats.chatgpt.pairs import PairCollector
from memglot.formats.chatgpt.records import TOOL, conversation_records, instructions_record
from memglot.formats.chatgpt.tree import branches
from memglot.formats.core.source import Source
from memglot.formats.syntax.json_shape import first_keys
from memglot.formats.syntax.json_stream import objects
from memglot.model import Record
from memglot.report import SourceReport

_NAME = re.compile(r"conversations(-\d+)?\.json")
_INSTRUCTIONS = 1_000
"""How many different custom instructions are held until the end of a file; real ones are a few."""


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Record]:
    """Yield the memories of each conversation, holding one at a time."""
    counts = ReadCounts()
    instructions_at: dict[str, int] = {}
    # No end of a conversation is found by decoding alone, so the stream is spared the work.
    for raw, _ in objects(source, report, msgspec.json.Decoder(msgspec.Raw).decode):
        try:
            conversation = decode(raw, report, counts)
        except BadRecord as error:
            report.failed_record(error)
            continue
        collector = PairCollector(conversation, counts)
        for branch in branches(conversation, report, counts):
            collector.add(branch)
        found = False
        for record in conversation_records(conversation, collector, report, counts):
            found = True
            yield record
        for text, at in collector.instructions:
            # The earliest time is the same in every export, whichever conversation comes first in it.
            at = at or conversation.created_at
            instructions_at[text] = min(filter(None, (at, instructions_at.get(text))), default=0)
        if len(instructions_at) > _INSTRUCTIONS:
            yield from _all_instructions(instructions_at)
        counts.empty += not found and not collector.instructions
    yield from _all_instructions(instructions_at)
    _add_notes(source.name, counts, report)


def _all_instructions(instructions_at: dict[str, int]) -> Iterator[Record]:
    yield from (instructions_record(text, at) for text, at in instructions_at.items())
    instructions_at.clear()


def _add_notes(name: str, counts: ReadCounts, report: SourceReport) -> None:
    """Say once a file what a person should know."""
    if counts.empty:
        report.note(f"{name}: {_conversations(counts.empty)} no messages")
    if counts.no_current:
        found = f"{_conversations(counts.no_current)} no current message, so the newest was used"
        report.note(f"{name}: {found}; the first is `{counts.first_no_current}`")
    if counts.orphans:
        found = f"{_conversations(counts.orphans)} messages whose parent is missing; each begins a branch"
        report.note(f"{name}: {found}; the first is `{counts.first_orphan}`")
    if counts.unknown:
        report.note(
            f"{name}: no text could be had from "
            + ", ".join(f"{count:,} of `{type}`" for type, count in sorted(counts.unknown.items())[:10])
        )
    if counts.replaced:
        report.note(f"{name}: replaced {counts.replaced:,} NUL or halved characters by U+FFFD")
    if counts.unpaired:
        report.note(
            f"{name}: left out {counts.unpaired:,} messages of tools or the system that belong to no question "
            "and no answer"
        )
    if counts.repaired:
        messages = plural(counts.repaired, "message")
        report.note(f"{name}: ignored fields of an unexpected type in {messages}; the other fields were read")


def _conversations(count: int) -> str:
    return plural(count, "conversation has", "conversations have")


def is_conversations_file(path: str) -> bool:
    """Tell whether a file of an export holds conversations: the whole of them, or one of the numbered pieces."""
    return _NAME.fullmatch(PurePosixPath(path).name) is not None


def recognise(head: bytes) -> bool:
    """Tell a conversation by its tree of messages."""
    return first_keys(head).get("mapping") == b"{"


def recognise_folder(glance: Glimpse) -> bool:
    """Tell an export that was unpacked, or its zip, by its files of conversations."""
    return any(map(is_conversations_file, glance.names))


FORMAT = Format(
    name=TOOL,
    title="ChatGPT export",
    tool=TOOL,
    family="json",
    extensions=(".json",),
    fields=frozenset(
        {"id", "content", "kind", "tags", "meta", "created_at", "updated_at", "source", "foreign", "extra"}
    ),
    carry="",
    read=read,
    write=None,
    dedup="content",
    conflict="merge",
    recognise=recognise,
    folder=FolderSupport(recognise=recognise_folder, accepts_file=is_conversations_file),
)
