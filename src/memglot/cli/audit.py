"""`memglot audit`."""

from __future__ import annotations

import click
import msgspec

from memglot.cli.session import Session, command


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
