"""`memglot scope`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command
from memglot.display import escape


@command("scope")
@click.argument("what", type=click.Choice(["list", "sensitive", "normal"]), default="list")
@click.argument("scopes", nargs=-1, metavar="[SCOPE]...")
def scope(session: Session, what: str, scopes: tuple[str, ...]) -> None:
    """List scopes, or mark some as sensitive or as normal again.

    A sensitive scope leaves the store only encrypted, or in a copy of the whole store; other exports leave it out.
    """
    import msgspec

    if (what == "list") == bool(scopes):
        raise click.UsageError("`list` takes no scope" if scopes else f"`{what}` takes at least one scope")
    with session.memory(write=what != "list") as memory:
        if what == "list":
            found = memory.scopes()
            lines = [
                f"{_name(one.scope)}  {one.memories:,}" + ("  sensitive" if one.sensitive else "") for one in found
            ]
            session.print_result({"scopes": msgspec.to_builtins(found)}, lines or "none", always=True)
            return
        changed = (memory.mark_sensitive if what == "sensitive" else memory.mark_normal)(*scopes)
    lines = [f"{_name(name)} is {what} now" for name in changed]
    session.print_result({"changed": list(changed), "sensitive": what == "sensitive"}, lines or "nothing changed")


def _name(scope: str) -> str:
    """Return a scope on one line, an empty one as quotes."""
    return escape(scope) or '""'
