"""`memglot backup`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command


@command("backup", examples="memglot backup memories-backup.db")
@click.argument("path", type=click.Path())
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def backup(session: Session, path: str, force: bool) -> None:
    """Write a copy of the store to a file."""
    with session.memory() as memory:
        size = memory.backup(path, force=force)
    session.print_result({"path": path, "bytes": size}, f"wrote {path} ({size:,} bytes)")
