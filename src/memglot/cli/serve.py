"""`memglot serve`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command


@command("serve")
@click.option("--port", type=int, help="The port to listen on.")
@click.option("--open", "open_", is_flag=True, help="Open it in the browser.")
def serve(session: Session, port: int | None, open_: bool) -> None:
    """Open the web viewer (not part of this version)."""
    from memglot.errors import NoViewer

    raise NoViewer()
