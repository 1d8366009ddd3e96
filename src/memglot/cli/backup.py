"""`memglot backup`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command


@command("backup")
@click.argument("path", type=click.Path())
@click.option("--force", is_flag=True, help="Overwrite what is there.")
def backup(session: Session, path: str, force: bool) -> None:
    """Write a clean copy of the whole store to PATH."""
    with session.memory() as memory:
        size = memory.backup(path, force=force)
    session.print_result({"path": path, "bytes": size}, f"wrote {path} ({size:,} bytes)")
