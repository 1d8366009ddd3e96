"""`memglot stats`."""

from __future__ import annotations

from memglot.cli.session import Session, command
from memglot.display import plural
from memglot.search.semantic import note_missing_vectors


@command("stats")
def stats(session: Session) -> None:
    """Show statistics about the store."""
    with session.memory() as memory, session.working("counting"):
        value = memory.stats()
    lines = [f"{plural(value['memories'], 'memory')} in {value['store']} ({value['bytes']:,} bytes)"]
    for name in ("kinds", "scopes", "tags", "things"):
        if value[name]:
            lines.append(f"{name}: " + ", ".join(f"{key} {count:,}" for key, count in value[name].items()))
    vectors = value["vectors"]
    if vectors["count"]:
        lines.append(f"vectors for semantic search: {vectors['count']:,} ({vectors['model']})")
    if vectors["missing"]:
        lines.append(note_missing_vectors(vectors["missing"]))
    lines.append(f"{plural(value['imports'], 'import')}, {plural(value['events'], 'audit row')}")
    session.print_result(value, lines, always=True)
