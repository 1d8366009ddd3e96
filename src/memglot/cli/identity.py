"""`memglot identity`."""

from __future__ import annotations

import sys
from typing import Any

import click

from memglot.cli.session import Session, command
from memglot.display import excerpt, shorten
from memglot.errors import NotFound, Unreadable
from memglot.model import format_time
from memglot.model.record_errors import bad_bytes


@command(
    "identity",
    examples="""
    memglot identity
    memglot identity set --text "Ann, backend engineer; prefers short answers"
    memglot identity set about-me.md --scope work
    memglot identity history --show 1
    """,
)
@click.argument("action", type=click.Choice(["show", "set", "history"]), default="show")
@click.argument("file", required=False, type=click.Path())
@click.option("--text", help="Identity text, for `set`.")
@click.option("--scope", default="user", show_default=True, help="Scope that the identity belongs to.")
@click.option(
    "--show",
    "number",
    type=click.IntRange(1),
    metavar="N",
    help="Number of a version whose text is shown, for `history`.",
)
def identity(session: Session, action: str, file: str | None, text: str | None, scope: str, number: int | None) -> None:
    """Show or set your identity text.

    `set` reads the text from FILE, from standard input (`-`) or from --text. `history` lists the earlier versions.
    """
    if action != "set" and (file is not None or text is not None):
        raise click.UsageError(f"`{action}` accepts no text")
    if action != "history" and number is not None:
        raise click.UsageError(f"`{action}` accepts no version")
    if action == "set":
        _set_identity(session, _read_text(file, text), scope)
    elif action == "show":
        _show_identity(session, scope)
    else:
        _show_history(session, scope, number)


def _read_text(file: str | None, text: str | None) -> str:
    if (file is None) == (text is None):
        raise click.UsageError("`set` needs one of FILE, `-` and --text")
    if file is None:
        return text or ""
    try:
        if file == "-":
            found = sys.stdin.buffer.read()
        else:
            with open(file, "rb") as source:
                found = source.read()
        return found.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(file, str(bad_bytes(error.start))) from None
    except OSError as error:
        raise Unreadable(file, (error.strerror or str(error)).lower()) from None


def _set_identity(session: Session, text: str, scope: str) -> None:
    with session.memory(write=True) as memory:
        before = memory.identity(scope)
        found = memory.set_identity(text, scope)
    changed = found != before
    session.print_result(_identity_value(found) | {"changed": changed}, "set" if changed else "nothing changed")


def _show_identity(session: Session, scope: str) -> None:

    with session.memory() as memory:
        found = memory.identity(scope)
    if found is None:
        raise NotFound("identity of scope", shorten(scope), "set one with `memglot identity set FILE`")
    session.print_result(_identity_value(found), found.content.removesuffix("\n"), always=True)


def _show_history(session: Session, scope: str, number: int | None) -> None:
    with session.memory() as memory:
        found = memory.identity_history(scope)
    if number is not None:
        if number > len(found):
            raise NotFound(
                "version", str(number), f"there are {len(found):,}; list them with `memglot identity history`"
            )
        one = found[number - 1]
        session.print_result(_identity_value(one) | {"number": number}, one.content.removesuffix("\n"), always=True)
        return
    lines = []
    for position, one in enumerate(found, 1):
        lines.append(f"{position}  {format_time(one.created_at)}" + ("  current" if position == len(found) else ""))
        lines.append("    " + excerpt(one.content))
    value = [_identity_value(one) | {"number": position} for position, one in enumerate(found, 1)]
    session.print_result({"versions": value}, lines or "none", always=True)


def _identity_value(found: Any) -> dict[str, Any]:
    value = {"id": found.id, "scope": found.scope, "content": found.content}
    return {**value, "created_at": format_time(found.created_at)}
