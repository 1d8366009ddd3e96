"""Memories as lists for people, in one of the formats that `list` and `search` print."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import click

from memglot.cli.style import Style
from memglot.editing.short_ids import short_ids
from memglot.memory import Memory
from memglot.model import Record
from memglot.text.highlight import passage

F = TypeVar("F", bound=Callable[..., Any])
_PAGE = 200
"""Number of memories whose short ids are looked up at once."""
_INDENT = 4


def format_option(function: F) -> F:
    """Add the option that chooses how memories are printed."""
    return click.option(
        "--format",
        "-f",
        type=click.Choice(["table", "json", "ndjson", "ids"]),
        default="table",
        show_default=True,
        help="How to print the memories: for people, as JSON (same as --json), one JSON object per line, or ids only.",
    )(function)


def print_plain(format: str, records: Iterable[Any], value: Callable[[Any], Any]) -> None:
    """Print memories as ids or as lines of JSON."""
    import msgspec

    out = sys.stdout.buffer
    for record in records:
        out.write((record.id.encode() if format == "ids" else msgspec.json.encode(value(record))) + b"\n")


def rows(memory: Memory, records: Iterable[Record], style: Style) -> Iterator[str]:
    """Yield one line for each memory: its short id, age and text, then tree and tags."""
    records = iter(records)
    while page := list(islice(records, _PAGE)):
        short = short_ids(memory.store, [record.id for record in page])
        for record in page:
            yield _row(record, short[record.id], style)


def _row(record: Record, short: str, style: Style) -> str:
    when = style.age(record.created_at)
    when = when.removesuffix(" ago").ljust(9) if style.is_terminal else when
    about = "  ".join(filter(None, [record.tree, style.tags(record.tags)]))
    room = max(style.width - len(short) - len(when) - len(about) - 6, 20)
    text, _ = passage(record.title or record.content, (), room)
    line = f"{style.paint(short, 'id')}  {style.paint(when, 'about')}  {text}"
    return f"{line}  {style.paint(about, 'about')}" if about else line


def found(memory: Memory, results: Any, style: Style) -> Iterator[str]:
    """Yield the lines of each result: id and title, the passage with the words that match, and facts about it."""
    short = short_ids(memory.store, [record.id for hit in results for record in [hit.record, *hit.context]])
    for hit in results:
        record = hit.record
        ending = short[record.id]
        head, room = style.paint(ending, "id"), style.width - _INDENT
        if record.title:
            yield f"{head}  {style.paint(record.title, 'title')}"
        text, spans = passage(record.content, hit.matched, room if record.title else style.width - len(ending) - 2)
        shown = style.highlight(text, spans)
        yield " " * _INDENT + shown if record.title else f"{head}  {shown}"
        for other in hit.context:
            line, _ = passage(other.title or other.content, (), room - len(short[other.id]) - 4)
            yield f"{'':{_INDENT}}| {style.paint(short[other.id], 'id')}  {line}"
        about = [style.age(record.created_at), record.tree, style.tags(record.tags), *hit.why]
        yield " " * _INDENT + style.paint(" · ".join(filter(None, about)), "about")
