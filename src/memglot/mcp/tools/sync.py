"""`memory_sync_export`, `import`, `diff`: memories.json between machines and tools."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from memglot.errors import UsageError
from memglot.mcp.results import load_lists, shorten_lists
from memglot.mcp.schemas import Text
from memglot.mcp.texts import import_note
from memglot.mcp.tool import Answer, Arguments, Call, Tool, always

FileArg = Annotated[Text, Meta(description="The memories.json file.")]
Flag = bool | None


class SyncExportArgs(Arguments):
    """What to write, and where to."""

    path: FileArg
    scope: Annotated[str | None, Meta(description="Only this scope, with all that belongs to it.")] = None
    include_audit_chain: Annotated[Flag, Meta(description="The chain of everything that was done too.")] = None
    include_embeddings: Annotated[Flag, Meta(description="Vectors too.")] = None
    plaintext: Annotated[Flag, Meta(description="Sensitive scopes in the clear, where the user allows it.")] = None
    v5: Annotated[Flag, Meta(description="The shape of mcp-memory-service.")] = None
    chunk_size_mb: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Bodies of more MiB lie apart; 5 by default.")
    ] = None
    force: Annotated[Flag, Meta(description="Overwrite a file that another tool wrote.")] = None


class SyncImportArgs(Arguments):
    """What to read, and how to merge it."""

    path: FileArg
    conflict: Annotated[
        Literal["merge", "prefer-local", "prefer-remote"] | None,
        Meta(description="What to do with a memory that differs here; merge by default."),
    ] = None
    dry_run: Annotated[Flag, Meta(description="Only say what would happen.")] = None
    restore_deleted: Annotated[Flag, Meta(description="Bring back what was deleted here.")] = None
    accept_broken_audit: Annotated[Flag, Meta(description="Import though the audit chain is broken.")] = None


class SyncDiffArgs(Arguments):
    """What to compare with."""

    path: FileArg


class SyncExportOut(msgspec.Struct):
    """What was written."""

    count: int
    path: str
    format: str
    digest: str
    losses: dict[str, int]
    notes: list[str]


class SyncImportOut(msgspec.Struct, omit_defaults=True):
    """What was read and merged; the same as `memglot sync import --json`."""

    imported: int
    merged: int
    skipped: int
    failed: int
    conflicts: int
    ids: list[str]
    skippedIds: list[str]
    errors: list[dict[str, Any]]
    notes: list[str]
    format: str
    importId: str | None
    dryRun: bool = False


class SyncDiffOut(msgspec.Struct):
    """What an import would change; the same as `memglot sync diff-with-remote --json`."""

    new: list[str]
    updates: list[dict[str, Any]]
    conflicts: list[dict[str, Any]]
    unchanged: list[str]
    ahead: list[dict[str, Any]]
    deletes: list[str]
    deleted: list[str]
    others: dict[str, int]
    remote_total: int
    failed: int
    errors: list[dict[str, Any]]
    notes: list[str]


def export(call: Call, given: SyncExportArgs) -> Answer:
    """Write memories.json."""
    if given.plaintext and not call.config.allow_sensitive:
        raise UsageError(
            "`plaintext` would write sensitive scopes in the clear", "`memglot mcp --allow-sensitive` allows it"
        )
    place = call.resolve(given.path)
    names = ("scope", "include_audit_chain", "include_embeddings", "plaintext", "v5", "chunk_size_mb", "force")
    options = {name: getattr(given, name) for name in names if getattr(given, name) is not None}
    with call.memory() as memory:
        result = memory.sync_export(place, passphrase=call.config.passphrase, progress=call.progress, **options)
    return Answer(result.value())


def import_(call: Call, given: SyncImportArgs) -> Answer:
    """Read memories.json."""
    place = call.resolve(given.path)
    options = {name: bool(getattr(given, name)) for name in ("dry_run", "restore_deleted", "accept_broken_audit")}
    with call.memory(write=True) as memory:
        result = memory.sync_import(
            place,
            conflict=given.conflict or "merge",
            passphrase=call.config.passphrase,
            isolate=True,
            progress=call.progress,
            **options,
        )
    value, cut = load_lists(result.value())
    told = next(result.errors, None)
    if result.exit_code == 2 and told is not None:
        return Answer(value, f"{told}" + (f" ({told.hint})" if told.hint else ""), failed=True)
    notes = (*cut, import_note(result.import_id)) if result.import_id else cut
    return Answer(value, shorten_lists(value), notes, result.import_id and f"memglot://imports/{result.import_id}")


def diff(call: Call, given: SyncDiffArgs) -> Answer:
    """Compare with memories.json."""
    place = call.resolve(given.path)
    with call.memory() as memory:
        found = memory.diff_with_remote(place, passphrase=call.config.passphrase, progress=call.progress)
    value, cut = load_lists(found.value())
    told = next(iter(found.report.faults()), None)
    if told is not None and not value["remote_total"]:
        return Answer(value, f"{told}" + (f" ({told.hint})" if told.hint else ""), failed=True)
    return Answer(value, shorten_lists(value), cut)


TOOLS: list[Tool[Any]] = [
    Tool(
        name="memory_sync_export",
        title="Write memories.json",
        description="Write the whole memory to one file that another machine, memoryd or mcp-memory-service can "
        "import. Sensitive scopes are sealed with the user's passphrase.",
        input=SyncExportArgs,
        output=SyncExportOut,
        run=export,
        destructive=True,
        idempotent=True,
        touches_files=always,
    ),
    Tool(
        name="memory_sync_import",
        title="Merge memories.json",
        description="Merge the memories of another machine, field by field. Begin with `memory_sync_diff` or "
        "`dry_run`; what no rule decides is kept as a conflict for the user.",
        input=SyncImportArgs,
        output=SyncImportOut,
        run=import_,
        destructive=True,
        idempotent=True,
        touches_files=always,
    ),
    Tool(
        name="memory_sync_diff",
        title="Compare with memories.json",
        description="Show what merging another machine's file would add, change and delete here, without doing it.",
        input=SyncDiffArgs,
        output=SyncDiffOut,
        run=diff,
        read_only=True,
        idempotent=True,
        touches_files=always,
    ),
]
