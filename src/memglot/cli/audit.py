"""`memglot audit`."""

from __future__ import annotations

import click
import msgspec

from memglot.cli.session import Session, command
from memglot.display import plural
from memglot.exporting.audit_file import audit_file
from memglot.model import format_time


@command(
    "audit",
    examples="""
    memglot audit --limit 10
    memglot audit log --target 0194a000-0006-7000-8000-000000000006
    memglot audit verify
    memglot audit verify memories.json
    """,
)
@click.argument("action", type=click.Choice(["log", "verify"]), default="log")
@click.argument("file", required=False, type=click.Path())
@click.option(
    "--limit", type=click.IntRange(1, 2**63 - 1), default=50, show_default=True, help="Maximum number of rows."
)
@click.option("--target", help="Id; show only rows about it.")
@click.option("--imported", is_flag=True, help="Show rows of other machines and tools that came with imported files.")
def audit(session: Session, action: str, file: str | None, limit: int, target: str | None, imported: bool) -> int:
    """Show or verify the audit log.

    The log records every change, newest first; each row contains the hash of the row before it. `audit verify` detects
    tampering in the store, `audit verify FILE` in a memories.json or in the log of memoryd.
    """
    if action == "verify":
        return _verify(session, file)
    if file is not None:
        raise click.UsageError("`audit log` accepts no file")
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
        result = audit_file(file)
        kinds = f" ({result['verified']:,} verified, {result['linked']:,} linked)"
        if not result["head_fits"] and result["ok"]:
            session.print_note("the recorded head of the chain is not the hash of its last row")
    else:
        with session.memory() as memory, session.working("verifying"):
            result = memory.audit_verify()
        kinds = ""
    bad = f"broken at row {result['first_broken']}" + (f": {result['reason']}" if result.get("reason") else "")
    session.print_result(
        result, f"{plural(result['events'], 'row')}{kinds}, " + ("intact" if result["ok"] else bad), always=True
    )
    return 0 if result["ok"] else 1
