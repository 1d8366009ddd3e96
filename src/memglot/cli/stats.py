"""`memglot stats`."""

from __future__ import annotations

from memglot.cli.session import Session, command
from memglot.display import plural


@command("stats")
def stats(session: Session) -> None:
    """Show statistics about the store."""
    with session.memory() as memory:
        value = memory.stats()
    lines = [f"{plural(value['memories'], 'memory')} in {value['store']} ({value['bytes']:,} bytes)"]
    for name in ("kinds", "scopes", "tags", "things"):
        if value[name]:
            lines.append(f"{name}: " + ", ".join(f"{key} {count:,}" for key, count in value[name].items()))
    vectors = value["vectors"]
    if vectors["count"]:
        missing = f", {vectors['missing']:,} missing" if vectors["missing"] else ""
        lines.append(f"vectors for semantic search: {vectors['count']:,}{missing} ({vectors['model']})")
    lines.append(f"{plural(value['imports'], 'import')}, {plural(value['events'], 'audit row')}")
    session.print_result(value, lines, always=True)
