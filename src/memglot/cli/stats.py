"""`memglot stats`."""

from __future__ import annotations

from memglot.cli.session import Session, command
from memglot.display import plural


@command("stats")
def stats(session: Session) -> None:
    """Show how much of what the store keeps."""
    with session.memory() as memory:
        value = memory.stats()
    lines = [f"{plural(value['memories'], 'memory')} in {value['store']} ({value['bytes']:,} bytes)"]
    for name in ("kinds", "scopes", "tags", "things"):
        if value[name]:
            lines.append(f"{name}: " + ", ".join(f"{key} {count:,}" for key, count in value[name].items()))
    vectors = value["vectors"]
    if vectors["count"]:
        missing = f", {vectors['missing']:,} cannot yet" if vectors["missing"] else ""
        lines.append(f"found by meaning: {vectors['count']:,}{missing} ({vectors['model']})")
    lines.append(f"{value['imports']:,} imports, {value['events']:,} audit rows")
    session.print_result(value, lines, always=True)
