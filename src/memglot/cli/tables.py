"""The options that read tables of any shape, and the question whether a guess is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from memglot.cli.session import Session
from memglot.display import excerpt, visible

F = TypeVar("F", bound=Callable[..., Any])


def table_options(function: F) -> F:
    """Add the options that map the columns of tables to fields."""
    for option in (
        click.option("--table", metavar="NAME", help="Table of a SQLite database to read with --map."),
        click.option(
            "--map",
            multiple=True,
            metavar="FIELD=COLUMN,...",
            help="Columns of a CSV, JSON or SQLite table, such as `content=text,tags=labels`; `auto` guesses them.",
        ),
    ):
        function = option(function)
    return function


def confirm_guess(
    session: Session, paths: tuple[str, ...], map: tuple[str, ...], table: str | None, *, yes: bool
) -> None:
    """Show what was guessed for tables, and ask whether it is right; without a terminal, `--yes` is needed."""
    from memglot.importing.tables import preview_tables, table_columns

    columns = table_columns(map)
    if columns is None or "auto" not in columns or yes:
        return
    found = preview_tables(paths, columns, table)
    lines = []
    for one in found:
        lines.append(f"{visible(one.name)}: --map {visible(one.mapping)}")
        for row in one.rows:
            shown = [f"{field}: {excerpt(str(value), 40)}" for field, value in row.items() if value not in (None, "")]
            lines.append("  " + " | ".join(shown))
    if not session.json and not session.quiet:
        click.echo("\n".join(lines), err=True)
    session.confirm(
        "Import with these columns?",
        yes=False,
        refusal="the columns were guessed" if found else "the columns would be guessed",
        hint=f"add `--yes`, or write `--map {found[0].mapping}`" if found else "add `--yes`, or write the columns",
    )
