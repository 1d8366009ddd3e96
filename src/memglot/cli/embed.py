"""`memglot embed`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command
from memglot.display import plural


@command(
    "embed",
    examples="""
    memglot embed
    memglot embed --again
    """,
)
@click.option("--model", metavar="NAME", help="Embedding model to use from now on; its vectors replace all others.")
@click.option("--again", is_flag=True, help="Rebuild all vectors.")
def embed(session: Session, model: str | None, again: bool) -> None:
    """Build vectors for semantic search.

    Memories get their vectors when they are added or imported. This builds those that are missing, as after an
    interrupted import or one with `--no-embed`. Nothing leaves this machine. If you interrupt the command, the next
    run continues where it stopped.
    """
    with session.memory(write=True) as memory, session.counting("embedding") as count:
        done = memory.embed(model, again=again, progress=count)
    text = f"embedded {plural(done.embedded, 'memory')}" if done.embedded else "nothing to embed"
    value = {"embedded": done.embedded, "total": done.total, "model": done.model, "dimensions": done.dimensions}
    session.print_result(value, f"{text}; semantic search covers {plural(done.total, 'memory')} ({done.model})")
