"""`memglot scope`."""

from __future__ import annotations

import click
import msgspec

from memglot.cli.session import Session, command
from memglot.display import escape


@command(
    "scope",
    examples="""
    memglot scope
    memglot scope sensitive health finance
    memglot scope normal finance
    """,
)
@click.argument("action", type=click.Choice(["list", "sensitive", "normal"]), default="list")
@click.argument("scopes", nargs=-1, metavar="[SCOPE]...")
def scope(session: Session, action: str, scopes: tuple[str, ...]) -> None:
    """List scopes, or mark them as sensitive or normal.

    Exports leave sensitive scopes out, unless they encrypt them or copy the complete store.
    """
    if (action == "list") == bool(scopes):
        raise click.UsageError("`list` accepts no scope" if scopes else f"`{action}` needs at least one scope")
    with session.memory(write=action != "list") as memory:
        if action == "list":
            found = memory.scopes()
            lines = [
                f"{_name(one.scope)}  {one.memories:,}" + ("  sensitive" if one.sensitive else "") for one in found
            ]
            session.print_result({"scopes": msgspec.to_builtins(found)}, lines or "none", always=True)
            return
        changed = (memory.mark_sensitive if action == "sensitive" else memory.mark_normal)(*scopes)
    lines = [f"marked {_name(name)} as {action}" for name in changed]
    session.print_result({"changed": list(changed), "sensitive": action == "sensitive"}, lines or "nothing changed")


def _name(scope: str) -> str:
    """Return a scope on one line, an empty one as quotes."""
    return escape(scope) or '""'
