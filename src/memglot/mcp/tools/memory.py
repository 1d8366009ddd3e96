"""`me_memory_create`, `get`, `update`, `delete`: one memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from memglot.errors import UsageError
from memglot.mcp.errors import no_whole_id
from memglot.mcp.schemas import MemoryOut, MetaArg, TagsArg, TemporalArg, Text, TreeArg, memory_out, temporal_value
from memglot.mcp.texts import recalled_heading
from memglot.mcp.tool import Answer, Arguments, Call, Tool
from memglot.model import Record, is_id
from memglot.search.pack import render_all
from memglot.search.results import pack_item
from memglot.settings import MAX_INLINE_BYTES

IdArg = Annotated[Text, Meta(description="The whole id of the memory, as a search tells it.")]
_MAX_REPEATED = 100_000


class CreateArgs(Arguments):
    """What a new memory holds."""

    content: Annotated[
        Text, Meta(description="The memory itself: one fact, decision or preference that needs no context.")
    ]
    id: Annotated[str | None, Meta(description="A UUIDv7 of your own; leave out to get a new one.")] = None
    meta: MetaArg = None
    tree: TreeArg = None
    temporal: TemporalArg = None
    title: Annotated[str | None, Meta(description="A short name for a long memory.")] = None
    kind: Annotated[
        str | None, Meta(description="semantic (default), episodic, procedural, prospective, decision, preference…")
    ] = None
    scope: Annotated[str | None, Meta(description="Whose memory it is; `user` by default.")] = None
    tags: TagsArg = None


class IdArgs(Arguments):
    """Which memory."""

    id: IdArg


class UpdateArgs(Arguments):
    """Which memory, and what about it changes. What is left out stays as it is."""

    id: IdArg
    content: Annotated[str | None, Meta(description="The new text.")] = None
    meta: Annotated[dict[str, Any] | None, Meta(description="The new metadata: all of it, for it is replaced.")] = None
    tree: TreeArg = None
    temporal: TemporalArg = None
    title: Annotated[str | None, Meta(description='The new title; "" takes it away.')] = None
    kind: Annotated[str | None, Meta(description="The new kind.")] = None
    tags: Annotated[list[str] | None, Meta(description="The new tags: all of them, for they are replaced.")] = None
    status: Annotated[
        Literal["active", "stale", "superseded", "open", "closed"] | None,
        Meta(description="Whether it still holds; `me_memory_delete` deletes."),
    ] = None


class DeletedOut(msgspec.Struct):
    """That it is gone."""

    deleted: bool


def check_size(content: str | None) -> None:
    """Refuse text that is too much for a conversation."""
    size = len(content.encode("utf-8", "replace")) if content is not None else 0
    if size > MAX_INLINE_BYTES:
        raise UsageError(
            f"`content` of {size:,} bytes is more than 1 MB",
            "write it to a file and use `path` of `me_memory_import`, which has no limit",
        )


def _check_labels(*labels: Any) -> None:
    """Refuse a title, tags and the like that no answer could hold beside the text."""
    size = len(msgspec.json.encode(labels))
    if size > _MAX_REPEATED:
        raise UsageError(
            f"the title and the tags of {size:,} bytes are more than {_MAX_REPEATED:,}",
            "a long text belongs in `content`",
        )


def check_id(id: str) -> str:
    """An id that is whole: a guess at its beginning must not find, let alone delete, another memory."""
    if not is_id(id.strip().lower()):
        raise no_whole_id(id)
    return id


def _written_memory(record: Record, notes: Sequence[str] = ()) -> Answer:
    """What an agent just wrote: what is long of it is not sent back, which could be too much for an answer."""
    value = memory_out(record)
    if len(record.content) > _MAX_REPEATED:
        value.content = record.content[:_MAX_REPEATED]
        notes = [
            *notes,
            f"`content` has {len(record.content):,} signs, all of which are kept; this answer repeats the first "
            f"{_MAX_REPEATED:,}",
        ]
    if (size := len(msgspec.json.encode(record.meta))) > _MAX_REPEATED:
        value.meta = {}
        notes = [*notes, f"`meta` has {size:,} bytes, all of which are kept; this answer leaves it out"]
    return Answer(value, notes=tuple(notes))


def create(call: Call, given: CreateArgs) -> Answer:
    """Keep a new memory."""
    check_size(given.content)
    _check_labels(given.title, given.tags, given.kind, given.scope)
    chosen = {name: getattr(given, name) for name in ("id", "title", "kind", "scope", "tree", "tags", "meta")}
    source = {"kind": "mcp"} | ({"tool": call.client} if call.client else {})
    with call.memory(write=True) as memory:
        before = len(memory.notes)
        record = memory.add(
            given.content,
            temporal=temporal_value(given.temporal),
            source=source,
            **{name: value for name, value in chosen.items() if value},
        )
        return _written_memory(record, memory.notes[before:])


def get(call: Call, given: IdArgs) -> Answer:
    """Show a memory."""
    with call.memory() as memory:
        return recalled_memory(memory.get(check_id(given.id)), memory.store.url)


def update(call: Call, given: UpdateArgs) -> Answer:
    """Change a memory."""
    check_size(given.content)
    _check_labels(given.title, given.tags, given.kind)
    names = ("content", "meta", "tree", "title", "kind", "tags", "status")
    changes = {name: getattr(given, name) for name in names if getattr(given, name) is not None}
    if given.kind == "":
        # As for a new memory, no kind is none that was chosen.
        del changes["kind"]
    if given.title == "":
        changes["title"] = None
    if given.temporal is not None:
        changes["temporal"] = temporal_value(given.temporal)
    with call.memory(write=True) as memory:
        record = memory.update(check_id(given.id), **changes)
        written = _written_memory(record)
        return written if given.content or written.notes else recalled_memory(record, memory.store.url)


def delete(call: Call, given: IdArgs) -> Answer:
    """Delete a memory."""
    with call.memory(write=True) as memory:
        gone = memory.delete(check_id(given.id), reason="mcp")
        return Answer(DeletedOut(bool(gone)))


def recalled_memory(record: Record, store: str) -> Answer:
    """A stored memory, its text in a fence."""
    return Answer(memory_out(record), f"{recalled_heading(1, store)}\n\n{render_all([pack_item(record)])}".rstrip())


TOOLS: list[Tool[Any]] = [
    Tool(
        name="me_memory_create",
        title="Keep a memory",
        description="Keep something that will still matter later: a fact, a decision, a preference, a lesson, in words "
        "that need no context. Search first: update what is there rather than keeping it twice.",
        input=CreateArgs,
        output=MemoryOut,
        run=create,
    ),
    Tool(
        name="me_memory_get",
        title="Get a memory",
        description="Get one memory whole, by its id: after a search, or before an update.",
        input=IdArgs,
        output=MemoryOut,
        run=get,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        name="me_memory_update",
        title="Change a memory",
        description="Change fields of a memory that is out of date or incomplete. Fields left out, or null, stay. "
        "`meta` and `tags` are replaced, not merged. Earlier versions stay in its history.",
        input=UpdateArgs,
        output=MemoryOut,
        run=update,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        name="me_memory_delete",
        title="Delete a memory",
        description="Delete a memory that is wrong, or that the user wants forgotten. The user can bring it back with "
        "`memglot undelete`.",
        input=IdArgs,
        output=DeletedOut,
        run=delete,
        destructive=True,
        idempotent=False,
    ),
]
