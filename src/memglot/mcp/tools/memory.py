"""`me_memory_create`, `me_memory_get`, `me_memory_update` and `me_memory_delete`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from memglot.display import quoted
from memglot.errors import ALLOW_SENSITIVE, UsageError
from memglot.mcp.schemas import MemoryOut, MetaArg, TagsArg, TemporalArg, Text, TreeArg, memory_out, temporal_value
from memglot.mcp.texts import recalled_heading
from memglot.mcp.tool import Answer, Arguments, Call, Tool
from memglot.model import Record, is_id
from memglot.search.pack import render_all
from memglot.search.results import pack_item
from memglot.settings import MAX_INLINE_BYTES

IdArg = Annotated[Text, Meta(description="The full id of the memory, as in search results.")]
_MAX_REPEATED = 100_000
"""Maximum size of a field that a result repeats after it was written."""


class CreateArgs(Arguments):
    """Arguments of `me_memory_create`."""

    content: Annotated[
        Text, Meta(description="The text of the memory: one fact, decision or preference, clear without context.")
    ]
    id: Annotated[str | None, Meta(description="A UUIDv7 that you choose. Leave out to generate one.")] = None
    meta: MetaArg = None
    tree: TreeArg = None
    temporal: TemporalArg = None
    title: Annotated[str | None, Meta(description="A short title for a long memory.")] = None
    kind: Annotated[
        str | None, Meta(description="semantic (default), episodic, procedural, prospective, decision, preference…")
    ] = None
    scope: Annotated[str | None, Meta(description="Whose memory it is (default: `user`).")] = None
    tags: TagsArg = None


class IdArgs(Arguments):
    """Arguments of `me_memory_get` and `me_memory_delete`."""

    id: IdArg


class UpdateArgs(Arguments):
    """Arguments of `me_memory_update`. Fields that are left out keep their value."""

    id: IdArg
    content: Annotated[str | None, Meta(description="The new text.")] = None
    meta: Annotated[dict[str, Any] | None, Meta(description="The new metadata; it replaces all of the old.")] = None
    tree: TreeArg = None
    temporal: TemporalArg = None
    title: Annotated[str | None, Meta(description='The new title; "" removes it.')] = None
    kind: Annotated[str | None, Meta(description="The new kind.")] = None
    tags: Annotated[list[str] | None, Meta(description="The new tags; they replace all of the old.")] = None
    status: Annotated[
        Literal["active", "stale", "superseded", "open", "closed"] | None,
        Meta(description="Whether the memory is still valid. To delete it, use `me_memory_delete`."),
    ] = None


class DeletedOut(msgspec.Struct):
    """Whether the memory was deleted."""

    deleted: bool


def check_size(content: str | None) -> None:
    """Raise `UsageError` if a text is too large to pass through a conversation."""
    size = len(content.encode("utf-8", "replace")) if content is not None else 0
    if size > MAX_INLINE_BYTES:
        raise UsageError(
            f"`content` has {size:,} bytes, which is more than 1 MB",
            "write it to a file and give its `path` to `me_memory_import`, which has no limit",
        )


def _check_labels(*labels: Any) -> None:
    """Raise `UsageError` if the title, tags and other labels would leave no room for the text in a result."""
    size = len(msgspec.json.encode(labels))
    if size > _MAX_REPEATED:
        raise UsageError(
            f"the title and tags have {size:,} bytes, which is more than {_MAX_REPEATED:,}",
            "put long text in `content`",
        )


def check_id(id: str) -> str:
    """Return a full id. Raise `UsageError` for a prefix, which could match, and delete, the wrong memory."""
    if not is_id(id.strip().lower()):
        raise UsageError(f"{quoted(id, 200)} is not a full memory id", "find ids with `me_memory_search`")
    return id


def _written_memory(record: Record, notes: Sequence[str] = ()) -> Answer:
    """Return a memory that was just written, without the parts that are too long to repeat."""
    value = memory_out(record)
    if len(record.content) > _MAX_REPEATED:
        value.content = record.content[:_MAX_REPEATED]
        notes = [
            *notes,
            f"all {len(record.content):,} characters of `content` were stored; this result repeats the first "
            f"{_MAX_REPEATED:,}",
        ]
    if (size := len(msgspec.json.encode(record.meta))) > _MAX_REPEATED:
        value.meta = {}
        notes = [*notes, f"all {size:,} bytes of `meta` were stored; this result leaves it out"]
    return Answer(value, notes=tuple(notes))


def create(call: Call, given: CreateArgs) -> Answer:
    """Store a new memory."""
    check_size(given.content)
    _check_labels(given.title, given.tags, given.kind, given.scope)
    chosen = {name: getattr(given, name) for name in ("id", "title", "kind", "scope", "tree", "tags", "meta")}
    source = {"kind": "mcp"} | ({"tool": call.client} if call.client else {})
    with call.memory(write=True) as memory:
        if given.id and memory.hides:
            # Whether an id is free would tell the id of a hidden memory from an unknown one.
            raise UsageError(
                "`id` cannot be chosen while sensitive scopes are hidden", f"leave it out; {ALLOW_SENSITIVE}"
            )
        before = len(memory.notes)
        record = memory.add(
            given.content,
            temporal=temporal_value(given.temporal),
            source=source,
            **{name: value for name, value in chosen.items() if value},
        )
        return _written_memory(record, memory.notes[before:])


def get(call: Call, given: IdArgs) -> Answer:
    """Return a memory."""
    with call.memory() as memory:
        return recalled_memory(memory.get(check_id(given.id)), memory.store.url)


def update(call: Call, given: UpdateArgs) -> Answer:
    """Update a memory."""
    check_size(given.content)
    _check_labels(given.title, given.tags, given.kind)
    names = ("content", "meta", "tree", "title", "kind", "tags", "status")
    changes = {name: getattr(given, name) for name in names if getattr(given, name) is not None}
    if given.kind == "":
        # As for a new memory, an empty kind means that none was chosen.
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
    """Return a stored memory, with its text in a fenced block."""
    return Answer(memory_out(record), f"{recalled_heading(1, store)}\n\n{render_all([pack_item(record)])}".rstrip())


TOOLS: list[Tool[Any]] = [
    Tool(
        name="me_memory_create",
        title="Store a memory",
        description="Store something that will still matter later: a fact, a decision, a preference or a lesson, in "
        "words that are clear without context. Search first, and update an existing memory rather than storing a "
        "duplicate.",
        input=CreateArgs,
        output=MemoryOut,
        run=create,
    ),
    Tool(
        name="me_memory_get",
        title="Get a memory",
        description="Get one complete memory by its id, for example after a search or before an update.",
        input=IdArgs,
        output=MemoryOut,
        run=get,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        name="me_memory_update",
        title="Update a memory",
        description="Update fields of a memory that is outdated or incomplete. Fields that are left out or null keep "
        "their value. `meta` and `tags` are replaced, not merged. Earlier versions stay in the history.",
        input=UpdateArgs,
        output=MemoryOut,
        run=update,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        name="me_memory_delete",
        title="Delete a memory",
        description="Delete a memory that is wrong, or that the user wants forgotten. The user can restore it with "
        "`memglot undelete`.",
        input=IdArgs,
        output=DeletedOut,
        run=delete,
        destructive=True,
        idempotent=False,
    ),
]
