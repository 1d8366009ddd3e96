"""`memglot repo view`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command


@command("view")
@click.option("--port", type=int, help="Port to listen on.")
@click.option("--open", "open_", is_flag=True, help="Open the viewer in the browser.")
def view(session: Session, port: int | None, open_: bool) -> None:
    """Open the web viewer (not available in this version)."""
    from memglot.errors import NoViewer

    raise NoViewer()
