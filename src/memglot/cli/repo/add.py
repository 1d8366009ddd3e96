"""`memglot repo add`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from memglot.cli.repo.by_hand import (
    can_ask,
    change_in_editor,
    field_options,
    given_fields,
    print_change,
    read_document,
    write_options,
)
from memglot.cli.repo.output import Data
from memglot.cli.session import Session, command
from memglot.project.storage.vocabulary import SAVED_KINDS


@command(
    "add",
    examples="""
    memglot repo add decision "Retries run in the worker" --body "Inline retries blocked requests."
    # Write the text in your editor.
    memglot repo add gotcha "Fonts are cached" --anchor src/fonts/ --tag rendering
    memglot repo add feature "Billing" --stage building --body - < billing.md
    """,
)
@click.argument("kind", type=click.Choice(SAVED_KINDS))
@click.argument("title", required=False)
@field_options
@write_options
def add(session: Session, kind: str, title: str | None, **options: Any) -> int:
    """Add a feature, decision, gotcha or question.

    Without `--body`, your editor opens for the text. The id is made from the kind and the title. Adding the same again
    changes nothing.
    """
    file: Path | None = options.pop("file")
    fields, related = given_fields(options | {"title": title})
    register = not options["dry_run"]
    options = {name: options[name] for name in ("task", "actor", "dry_run")}

    def save(text: str | None) -> Data:
        from memglot.project.by_hand import add
        from memglot.project.document import new_node
        from memglot.project.envelope import run

        return run(
            Path(), lambda project: add(project, new_node(kind, text, fields), related, **options), register=register
        )

    if file is not None:
        return print_change(session, save(read_document(file)))
    if not title:
        raise click.UsageError('the title is missing: memglot repo add KIND "TITLE"')
    if "body" in fields:
        return print_change(session, save(None))
    if not can_ask(session):
        raise click.UsageError("the text is missing: give it with `--body TEXT`, or `--body -` for standard input")
    from memglot.project.document import document_of

    before = document_of({"tags": [], "anchors": []} | fields, "")
    return change_in_editor(
        session, before, kind, save, instead="memglot repo add --body", again=f"memglot repo add {kind}"
    )
