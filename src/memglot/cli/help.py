"""`memglot help`."""

from __future__ import annotations

from difflib import get_close_matches

import click

from memglot.cli.session import Session, command
from memglot.cli.style import Style
from memglot.errors import UsageError
from memglot.topics import pages, readable, title


@command(
    "help",
    examples="""
    memglot help
    memglot help tutorial
    memglot help repo save
    """,
)
@click.argument(
    "topic", nargs=-1, shell_complete=lambda _, __, start: [name for name in pages() if name.startswith(start)]
)
@click.pass_context
def help(context: click.Context, session: Session, topic: tuple[str, ...]) -> None:
    """Show a page of the documentation, or the help of a command.

    Without TOPIC the command lists all pages.
    """
    found = pages()
    if not topic:
        rows = {name: title(page) for name, page in found.items()}
        lines = [f"{name:<{max(map(len, rows))}}  {text}" for name, text in rows.items()]
        session.print_result({"topics": rows}, [*lines, "", "`memglot help TOPIC` shows a page."], always=True)
        return
    if len(topic) == 1 and topic[0] in found:
        text = readable(found[topic[0]])
    else:
        text = _command_help(context.find_root(), topic)
    if session.json:
        session.print_result({"topic": " ".join(topic), "text": text}, "")
    else:
        Style().show(text.splitlines())


def _command_help(root: click.Context, words: tuple[str, ...]) -> str:
    """Return the help of a command; raise `UsageError` if there is no such command or page."""
    context = root
    for word in words:
        inner = context.command.get_command(context, word) if isinstance(context.command, click.Group) else None
        if inner is None:
            names = [*pages(), *root.command.list_commands(root)] if isinstance(root.command, click.Group) else []
            near = get_close_matches(" ".join(words), names, 1)
            hint = f"run `memglot help {near[0]}`" if near else "run `memglot help` for a list of topics"
            raise UsageError(f"no page and no command `{' '.join(words)}`", hint)
        context = click.Context(inner, info_name=word, parent=context)
    return context.get_help()
