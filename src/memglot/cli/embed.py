"""`memglot embed`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command
from memglot.display import plural


@command("embed")
@click.option("--model", metavar="NAME", help="Another embedder; its vectors take the place of all others.")
@click.option("--again", is_flag=True, help="Make all vectors anew.")
def embed(session: Session, model: str | None, again: bool) -> None:
    """Let memories that were imported be found by their meaning.

    Everything happens on this machine. What is added one by one can be found at once. A run that is stopped goes on
    where it was.
    """
    with session.memory(write=True) as memory, session.counting("embedding") as count:
        done = memory.embed(model, again=again, progress=count)
    text = f"embedded {plural(done.embedded, 'memory')}" if done.embedded else "nothing to embed"
    value = {"embedded": done.embedded, "total": done.total, "model": done.model, "dimensions": done.dimensions}
    session.print_result(value, f"{text}; {done.total:,} can be found by meaning ({done.model})")
