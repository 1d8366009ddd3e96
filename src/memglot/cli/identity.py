"""`memglot identity`."""

from __future__ import annotations

import sys
from typing import Any

import click

from memglot.cli.session import Session, command
from memglot.display import excerpt, shorten
from memglot.errors import NotFound


@command("identity")
@click.argument("what", type=click.Choice(["show", "set", "history"]), default="show")
@click.argument("file", required=False, type=click.Path())
@click.option("--text", help="The text itself, for `set`.")
@click.option("--scope", default="user", show_default=True, help="Whose identity it is.")
@click.option("--show", "number", type=click.IntRange(1), metavar="N", help="The text of this version, for `history`.")
def identity(session: Session, what: str, file: str | None, text: str | None, scope: str, number: int | None) -> None:
    """Show who you are said to be, set it from FILE or `-`, or list what was said before."""
    if what != "set" and (file is not None or text is not None):
        raise click.UsageError(f"`{what}` takes no text")
    if what != "history" and number is not None:
        raise click.UsageError(f"`{what}` takes no version")
    if what == "set":
        _set_identity(session, _given(file, text), scope)
    elif what == "show":
        _show_identity(session, scope)
    else:
        _show_history(session, scope, number)


def _given(file: str | None, text: str | None) -> str:
    from memglot.errors import Unreadable
    from memglot.model.record_errors import bad_bytes

    if (file is None) == (text is None):
        raise click.UsageError("`set` takes one of FILE, `-` and --text")
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
    session.print_result(_document(found) | {"changed": changed}, "set" if changed else "nothing changed")


def _show_identity(session: Session, scope: str) -> None:

    with session.memory() as memory:
        found = memory.identity(scope)
    if found is None:
        raise NotFound("identity of scope", shorten(scope), "`memglot identity set FILE` tells one")
    session.print_result(_document(found), found.content.removesuffix("\n"), always=True)


def _show_history(session: Session, scope: str, number: int | None) -> None:
    from memglot.model import format_time

    with session.memory() as memory:
        found = memory.identity_history(scope)
    if number is not None:
        if number > len(found):
            raise NotFound("version", str(number), f"there are {len(found):,}; `memglot identity history` lists them")
        one = found[number - 1]
        session.print_result(_document(one) | {"number": number}, one.content.removesuffix("\n"), always=True)
        return
    lines = []
    for place, one in enumerate(found, 1):
        lines.append(f"{place}  {format_time(one.created_at)}" + ("  present" if place == len(found) else ""))
        lines.append("    " + excerpt(one.content))
    value = [_document(one) | {"number": place} for place, one in enumerate(found, 1)]
    session.print_result({"versions": value}, lines or "none", always=True)


def _document(found: Any) -> dict[str, Any]:
    from memglot.model import format_time

    value = {"id": found.id, "scope": found.scope, "content": found.content}
    return {**value, "created_at": format_time(found.created_at)}
