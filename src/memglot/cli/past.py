"""`history`, `imports`, `undo`, `audit`."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from memglot.cli.session import Session, command


@command("history")
@click.argument("id")
def history(session: Session, id: str) -> None:
    """Show every version of a memory, the oldest first, with the values that clashed in it."""
    from memglot.cli.conflicts import value_lines
    from memglot.display import excerpt
    from memglot.json_values import record_value
    from memglot.merging.conflicts import conflict_value
    from memglot.model import format_time

    with session.memory() as memory:
        versions, import_id = memory.history(id)
    value = []
    lines = [f"imported by {import_id}"] if import_id else []
    for version in versions:
        clashes = [conflict_value(version.record, one) for one in version.conflicts if version.record]
        value.append(
            {
                "number": version.number,
                "until": format_time(version.until) if version.until else None,
                "deed": version.deed,
                "record": record_value(version.record) if version.record else None,
                "conflicts": clashes,
            }
        )
        until = f"until {format_time(version.until)} ({version.deed})" if version.until else version.deed
        lines.append(f"{version.number}  {until}")
        if version.record:
            lines.append("    " + excerpt(version.record.content))
        for clash in clashes:
            lines.append(f"    {clash['field']} clashed:")
            lines += ["        " + text for text in value_lines(clash)]
    session.print_result({"versions": value, "importId": import_id}, lines, always=True)


@command("imports")
@click.argument("import_id", metavar="[IMPORT_ID]", required=False)
def imports(session: Session, import_id: str | None) -> None:
    """List past imports, the newest first; or show the report of one, with its errors. `last` is the newest."""
    from memglot.model import format_time

    if import_id is not None:
        _import(session, import_id)
        return
    with session.memory() as memory:
        entries = list(memory.imports())
    lines = [
        f"{entry.id}  {format_time(entry.at)[:16]}  {entry.format}  {entry.imported:,} imported, "
        f"{entry.merged:,} merged  {entry.state}  {', '.join(entry.sources)}"
        for entry in entries
    ]
    values = [msgspec.to_builtins(entry) for entry in entries]
    for value in values:
        del value["closed"]  # The store's own matter.
    session.print_result({"imports": values}, lines or "none", always=True)


def _import(session: Session, import_id: str) -> None:
    """Show what was recorded of one import."""
    from memglot.json_values import import_value
    from memglot.report import Fault

    with session.memory() as memory:
        entry = memory.import_report(import_id)
    counts = (f"{getattr(entry, name):,} {name}" for name in ("imported", "merged", "skipped", "failed"))
    lines = [f"{entry.id}  {entry.state}  {entry.format}  {', '.join(entry.sources)}", ", ".join(counts)]
    lines += [f"error: {msgspec.convert(error, Fault)}" for error in entry.errors]
    lines += [f"note: {note}" for note in entry.notes]
    session.print_result(import_value(entry), lines, always=True)


@command("undo")
@click.argument("import_id", metavar="IMPORT_ID")
@click.option("--force", is_flag=True, help="Also what was changed since.")
def undo(session: Session, import_id: str, force: bool) -> None:
    """Undo an import: remove what it added and put back what it changed. `last` is the newest import."""
    with session.memory(write=True) as memory:
        result = memory.undo(import_id, force=force)
    value: dict[str, Any] = {"importId": result.import_id, "removed": result.imported, "restored": result.merged}
    session.print_result({**value, "notes": result.notes}, f"removed {result.imported:,}, put back {result.merged:,}")
    session.print_notes(result.notes)


@command("audit")
@click.argument("what", type=click.Choice(["log", "verify"]), default="log")
@click.argument("file", required=False, type=click.Path())
@click.option("--limit", type=click.IntRange(1, 2**63 - 1), default=50, show_default=True, help="At most so many rows.")
@click.option("--target", help="Only rows about this id.")
@click.option("--imported", is_flag=True, help="Rows of other machines and tools, which came with files.")
def audit(session: Session, what: str, file: str | None, limit: int, target: str | None, imported: bool) -> int:
    """Show the chain of everything that was done, newest first, or check that nobody tampered with it.

    `audit verify FILE` checks the chain in a memories.json, or memoryd's own log.
    """
    from memglot.model import format_time

    if what == "verify":
        return _verify(session, file)
    if file is not None:
        raise click.UsageError("`audit log` takes no file")
    with session.memory() as memory:
        if imported:
            rows = memory.audit_imported(target=target, limit=limit)
            shown = [
                f"{row['ts']}  {row.get('actor', '')}  {row['action']}  {row.get('target_id') or ''}" for row in rows
            ]
            session.print_result({"events": list(rows)}, shown or "none", always=True)
            return 0
        events = memory.audit_log(target=target and target.lower(), limit=limit)
    lines = [
        f"{event.seq}  {format_time(event.at)[:19]}  {event.actor}  {event.action}  {event.target}" for event in events
    ]
    session.print_result({"events": [msgspec.to_builtins(event) for event in events]}, lines or "none", always=True)
    return 0


def _verify(session: Session, file: str | None) -> int:
    if file is not None:
        from memglot.exporting.audit_file import audit_file

        result = audit_file(file)
        kinds = f" ({result['verified']:,} verified, {result['linked']:,} linked)"
        if not result["head_fits"] and result["ok"]:
            session.print_note("the recorded head is not the hash of the last row")
    else:
        with session.memory() as memory:
            result = memory.audit_verify()
        kinds = ""
    bad = f"broken at row {result['first_broken']}" + (f": {result['reason']}" if result.get("reason") else "")
    rows = "1 row" if result["events"] == 1 else f"{result['events']:,} rows"
    session.print_result(result, f"{rows}{kinds}, " + ("whole" if result["ok"] else bad), always=True)
    return 0 if result["ok"] else 1


COMMANDS = {"history": history, "imports": imports, "undo": undo, "audit": audit}
