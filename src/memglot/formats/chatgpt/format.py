"""ChatGPT's export: each question with its answer is one episodic memory, saved memories are semantic ones.

Pairs follow the line that ends at `current_node`; other branches are kept and marked. What a conversation says of
itself and changes while it goes on (its last change, its default model, its list of safe links) is not kept.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

import msgspec

from memglot.errors import BadRecord
from memglot.formats.base import Format, Glimpse, Options
from memglot.formats.chatgpt.pairs import Gathering
from memglot.formats.chatgpt.records import TOOL, instructions, records
from memglot.formats.chatgpt.tree import lines
from memglot.formats.chatgpt.wire import Tally, decode
from memglot.formats.core.source import Source
from memglot.formats.syntax.json_shape import first_keys
from memglot.formats.syntax.json_stream import objects
from memglot.model import Record
from memglot.notes.tools import note_no_current, note_no_messages, note_no_parent
from memglot.report import SourceReport

_NAME = re.compile(r"conversations(-\d+)?\.json")
_INSTRUCTIONS = 1_000
"""How many different custom instructions are held until the end of a file; real ones are a few."""


def read(source: Source, report: SourceReport, options: Options) -> Iterator[Record]:
    """Yield the memories of each conversation, holding one at a time."""
    tally = Tally()
    told: dict[str, int] = {}
    # No end of a conversation is found by decoding alone, so the stream is spared the work.
    for raw, _ in objects(source, report, msgspec.json.Decoder(msgspec.Raw).decode):
        try:
            conversation = decode(raw, report, tally)
        except BadRecord as error:
            report.failed_record(error)
            continue
        gathering = Gathering(conversation, tally)
        for line in lines(conversation, report, tally):
            gathering.take(line)
        found = False
        for record in records(conversation, gathering, report, tally):
            found = True
            yield record
        for text, at in gathering.instructions:
            # The earliest time is the same in every export, whichever conversation comes first in it.
            at = at or conversation.created_at
            told[text] = min(filter(None, (at, told.get(text))), default=0)
        if len(told) > _INSTRUCTIONS:
            yield from _all_instructions(told)
        tally.empty += not found and not gathering.instructions
    yield from _all_instructions(told)
    _tell(source.name, tally, report)


def _all_instructions(told: dict[str, int]) -> Iterator[Record]:
    yield from (instructions(text, at) for text, at in told.items())
    told.clear()


def _tell(name: str, tally: Tally, report: SourceReport) -> None:
    """Say once a file what a person should know."""
    if tally.empty:
        report.note(note_no_messages(name, tally.empty))
    if tally.no_current:
        report.note(note_no_current(name, tally.no_current, tally.first_no_current))
    if tally.orphans:
        report.note(note_no_parent(name, tally.orphans, tally.first_orphan))
    if tally.unknown:
        report.note(
            f"{name}: no text could be had from "
            + ", ".join(f"{count:,} of `{type}`" for type, count in sorted(tally.unknown.items())[:10])
        )
    if tally.replaced:
        report.note(f"{name}: replaced {tally.replaced:,} NUL or halved characters by U+FFFD")
    if tally.unpaired:
        report.note(
            f"{name}: left out {tally.unpaired:,} messages of tools or the system that belong to no question "
            "and no answer"
        )
    if tally.mended:
        report.note(f"{name}: {tally.mended:,} messages have fields of an unexpected type; the rest of them was read")


def takes(path: str) -> bool:
    """Tell whether a file of an export holds conversations: the whole of them, or one of the numbered pieces."""
    return _NAME.fullmatch(PurePosixPath(path).name) is not None


def recognise(head: bytes) -> bool:
    """Tell a conversation by its tree of messages."""
    return first_keys(head).get("mapping") == b"{"


def recognise_folder(glance: Glimpse) -> bool:
    """Tell an export that was unpacked, or its zip, by its files of conversations."""
    return any(map(takes, glance.names))


FORMAT = Format(
    name=TOOL,
    title="ChatGPT export",
    tool=TOOL,
    family="json",
    extensions=(".json",),
    homes=frozenset(
        {"id", "content", "kind", "tags", "meta", "created_at", "updated_at", "source", "foreign", "extra"}
    ),
    carry="",
    read=read,
    write=None,
    dedup="content",
    conflict="merge",
    recognise=recognise,
    recognise_folder=recognise_folder,
    takes=takes,
)
