"""`memglot repo rebuild`."""

from __future__ import annotations

from pathlib import Path

from memglot.cli.repo.output import Data, print_envelope
from memglot.cli.session import Session, command
from memglot.display import plural


@command("rebuild")
def rebuild(session: Session) -> int:
    """Rebuild the index, and create missing schemas and folders."""
    from memglot.project.envelope import run
    from memglot.project.rebuild import rebuild

    return print_envelope(session, run(Path(), rebuild), rebuild_text)


def rebuild_text(data: Data) -> str:
    """Return the numbers of indexed items."""
    counts = (("objects", "node"), ("relations", "relation"), ("events", "event"))
    listed = ", ".join(plural(data[f"{name}_indexed"], noun) for name, noun in counts)
    return f"{'Index rebuilt' if data['index_rebuilt'] else 'Index not written'}: {listed}."
