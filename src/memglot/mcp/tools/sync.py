"""`memory_sync_export`, `memory_sync_import` and `memory_sync_diff`: exchange memories.json with other machines."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from memglot.errors import UsageError
from memglot.mcp.results import load_lists, shorten_lists
from memglot.mcp.schemas import Text
from memglot.mcp.texts import import_note
from memglot.mcp.tool import Answer, Arguments, Call, Tool, always
from memglot.report import Fault

FileArg = Annotated[Text, Meta(description="Path of the memories.json file.")]
Flag = bool | None


class SyncExportArgs(Arguments):
    """Arguments of `memory_sync_export`."""

    path: FileArg
    scope: Annotated[str | None, Meta(description="Export only this scope, with everything that belongs to it.")] = None
    include_audit_chain: Annotated[Flag, Meta(description="Include the audit chain.")] = None
    include_embeddings: Annotated[Flag, Meta(description="Include vectors.")] = None
    plaintext: Annotated[Flag, Meta(description="Write sensitive scopes unencrypted, if the user allows it.")] = None
    v5: Annotated[Flag, Meta(description="Write the format of mcp-memory-service.")] = None
    chunk_size_mb: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Write bodies larger than this to separate files, in MiB (default: 5)."),
    ] = None
    force: Annotated[
        Flag, Meta(description="Overwrite a file of another tool, or one with memories that are not stored here.")
    ] = None


class SyncImportArgs(Arguments):
    """Arguments of `memory_sync_import`."""

    path: FileArg
    conflict: Annotated[
        Literal["merge", "prefer-local", "prefer-remote"] | None,
        Meta(description="How to handle a memory that differs here (default: merge)."),
    ] = None
    dry_run: Annotated[Flag, Meta(description="Only report what would change.")] = None
    restore_deleted: Annotated[Flag, Meta(description="Restore memories that were deleted here.")] = None
    accept_broken_audit: Annotated[Flag, Meta(description="Import even if the audit chain is broken.")] = None


class SyncDiffArgs(Arguments):
    """Arguments of `memory_sync_diff`."""

    path: FileArg


class SyncExportOut(msgspec.Struct, omit_defaults=True):
    """The result of a sync export."""

    count: int
    path: str
    format: str
    digest: str
    losses: dict[str, int]
    notes: list[str]
    unchanged: bool = False


class SyncImportOut(msgspec.Struct, omit_defaults=True):
    """The result of a sync import, as in `memglot sync import --json`."""

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
    """The changes that an import would make, as in `memglot sync diff-with-remote --json`."""

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
            "`plaintext` would write sensitive scopes unencrypted",
            "allow it with `memglot mcp --allow-sensitive`",
        )
    path = call.resolve(given.path)
    names = ("scope", "include_audit_chain", "include_embeddings", "plaintext", "v5", "chunk_size_mb", "force")
    options = {name: getattr(given, name) for name in names if getattr(given, name) is not None}
    with call.memory() as memory:
        result = memory.sync_export(path, passphrase=call.config.passphrase, progress=call.progress, **options)
    return Answer(result.value())


def import_(call: Call, given: SyncImportArgs) -> Answer:
    """Merge memories.json into the store."""
    path = call.resolve(given.path)
    options = {name: bool(getattr(given, name)) for name in ("dry_run", "restore_deleted", "accept_broken_audit")}
    with call.memory(write=True) as memory:
        result = memory.sync_import(
            path,
            conflict=given.conflict or "merge",
            passphrase=call.config.passphrase,
            isolate=True,
            progress=call.progress,
            **options,
        )
    value, notes = load_lists(result.value())
    error = next(result.errors, None)
    if result.exit_code == 2 and error is not None:
        return Answer(value, _error_text(error), failed=True)
    if not result.import_id:
        return Answer(value, shorten_lists(value), notes)
    notes = (*notes, import_note(result.import_id))
    return Answer(value, shorten_lists(value), notes, f"memglot://imports/{result.import_id}")


def diff(call: Call, given: SyncDiffArgs) -> Answer:
    """Compare memories.json with the store."""
    path = call.resolve(given.path)
    with call.memory() as memory:
        found = memory.diff_with_remote(path, passphrase=call.config.passphrase, progress=call.progress)
    value, notes = load_lists(found.value())
    error = next(iter(found.report.faults()), None)
    if error is not None and not value["remote_total"]:
        return Answer(value, _error_text(error), failed=True)
    return Answer(value, shorten_lists(value), notes)


def _error_text(error: Fault) -> str:
    return f"{error} ({error.hint})" if error.hint else str(error)


TOOLS: list[Tool[Any]] = [
    Tool(
        name="memory_sync_export",
        title="Write memories.json",
        description="Write the complete memory to one file that another machine, memoryd or mcp-memory-service can "
        "import. Sensitive scopes are encrypted with the user's passphrase. A file with memories that are not stored "
        "here is not replaced: merge it with `memory_sync_import` first.",
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
        description="Merge the memories of another machine, field by field. Start with `memory_sync_diff` or "
        "`dry_run`. Values that no rule can merge are kept as a conflict for the user to resolve.",
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
        description="Show what merging another machine's file would add, change and delete, without changing anything.",
        input=SyncDiffArgs,
        output=SyncDiffOut,
        run=diff,
        read_only=True,
        idempotent=True,
        touches_files=always,
    ),
]
