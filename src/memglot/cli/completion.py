"""`memglot completion`."""

from __future__ import annotations

from typing import Any

import click

from memglot.cli.session import Session, command


@command(
    "completion",
    examples="""
    eval "$(memglot completion bash)"
    """,
    help_alone=True,
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(session: Session, shell: str) -> None:
    """Print the completion script for a shell."""
    from click.shell_completion import get_completion_class

    from memglot.cli.main import cli

    found: Any = get_completion_class(shell)
    click.echo(found(cli, {}, "memglot", "_MEMGLOT_COMPLETE").source())
