"""`memglot compact`."""

from __future__ import annotations

import msgspec

from memglot.cli.session import Session, command
from memglot.display import plural
from memglot.memory import Memory


@command(
    "compact",
    examples="""
    memglot compact
    memglot --store old.db compact
    """,
)
def compact(session: Session) -> None:
    """Remove unused space from the file of the store.

    Deleting memories leaves free space in the file, which later ones fill. This command rewrites the file without it,
    which gives the space back to the file system. Other programs can read the store meanwhile, but wait before they
    write. For a while it needs disk space for two copies of the store; if it is stopped, the store is as before.
    """
    # Opened to be read, a store that does not exist is an error; opened to be written, it is created.
    Memory.open(session.store, write=False).close()
    with session.memory(write=True) as memory, session.working("compacting"):
        done = memory.compact()
    lines = [f"freed {plural(done.freed, 'byte')}: {done.store} has {done.after + done.waiting:,} bytes now"]
    if done.waiting:
        lines.append(f"{done.waiting:,} more are freed when other programs stop reading the store")
    session.print_result({**msgspec.to_builtins(done), "freed": done.freed}, lines)
