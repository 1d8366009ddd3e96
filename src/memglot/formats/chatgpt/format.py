"""ChatGPT's export: each question with its answer is an episodic memory; saved memories are semantic.

Pairs follow the branch that ends at `current_node`; other branches are kept and marked. Settings that change while a
conversation goes on (update time, default model, safe links) are not kept.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

import msgspec

from memglot.display import plural
from memglot.errors import BadRecord
from memglot.formats.base import FolderSupport, Format, Glimpse, MergeRule, MergeSupport, ReadOptions
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
"""Maximum number of different custom instructions held until the end of a file; real files have a few."""


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Record]:
    """Yield the memories of each conversation, one conversation at a time."""
    counts = ReadCounts()
    instructions_at: dict[str, int] = {}
    # Decoding cannot find the end of a conversation, so the stream does not try.
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
    """Add the notes about a file."""
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
            f"{name}: found no text in "
            + ", ".join(f"{count:,} of `{type}`" for type, count in sorted(counts.unknown.items())[:10])
        )
    if counts.replaced:
        characters = plural(counts.replaced, "NUL character or lone surrogate", "NUL characters or lone surrogates")
        report.note(f"{name}: replaced {characters} with U+FFFD")
    if counts.unpaired:
        report.note(
            f"{name}: left out {plural(counts.unpaired, 'message')} of tools or the system without a question or answer"
        )
    if counts.repaired:
        messages = plural(counts.repaired, "message")
        report.note(f"{name}: ignored fields of an unexpected type in {messages}; the other fields were read")


def _conversations(count: int) -> str:
    return plural(count, "conversation has", "conversations have")


def is_conversations_file(path: str) -> bool:
    """Return True if a file of an export has all conversations, or is one of the numbered parts."""
    return _NAME.fullmatch(PurePosixPath(path).name) is not None


def recognise(head: bytes) -> bool:
    """Return True for a conversation with a tree of messages."""
    return first_keys(head).get("mapping") == b"{"


def recognise_folder(glance: Glimpse) -> bool:
    """Return True for an unpacked export or its zip."""
    return any(map(is_conversations_file, glance.names))


FORMAT = Format(
    name=TOOL,
    title="ChatGPT export",
    tool=TOOL,
    family="json",
    extensions=(".json",),
    fields=frozenset(
        {"id", "content", "title", "kind", "tags", "meta", "created_at", "updated_at", "source", "foreign", "extra"}
    ),
    carry="",
    read=read,
    write=None,
    dedup="content",
    conflict="merge",
    recognise=recognise,
    folder=FolderSupport(recognise=recognise_folder, accepts_file=is_conversations_file),
    # A conversation is renamed without a new time in its messages.
    merging=MergeSupport(has_edit_times=True, bookkeeping={"title": MergeRule.LATEST}),
)
