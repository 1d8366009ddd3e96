"""`memglot repo edit`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from memglot.cli.repo.by_hand import (
    change_in_editor,
    field_options,
    given_fields,
    id_argument,
    print_change,
    read_document,
    write_options,
)
from memglot.cli.repo.output import Data
from memglot.cli.session import Session, command


@command(
    "edit",
    examples="""
    memglot repo edit decision.retries-run-in-the-worker
    # Change fields without an editor; the beginning of an id is enough.
    memglot repo edit decision.retries --title "Retries run in a worker" --tag billing
    """,
)
@id_argument("id")
@click.option("--title", help="Title.")
@click.option(
    "--status", type=click.Choice(["active", "stale", "open", "closed"]), help="Status; questions are open or closed."
)
@field_options
@write_options
def edit(session: Session, id: str, **options: Any) -> int:
    """Edit a node in your editor, or change the fields that options name.

    The editor shows title, status, stage, tags and anchors, and then the text. If the result cannot be saved, you can
    correct it. `--tag` and `--anchor` replace all tags and anchors.
    """
    file: Path | None = options.pop("file")
    fields, related = given_fields(options)
    register = not options["dry_run"]

    def save(text: str | None, opened: Data | None = None) -> Data:
        from memglot.project.by_hand import change
        from memglot.project.document import changed_node
        from memglot.project.envelope import run

        return run(
            Path(),
            lambda project: change(project, id, changed_node(project, id, text, fields, opened), related, **options),
            register=register,
        )

    if file is not None:
        return print_change(session, save(read_document(file)))
    if fields or related:
        return print_change(session, save(None))
    from memglot.project.document import open_node
    from memglot.project.envelope import run

    envelope = run(Path(), lambda project: open_node(project, id), register=False)
    if not envelope["ok"]:
        return print_change(session, envelope)
    opened = envelope["data"]
    options["seen"] = opened["state"]
    return change_in_editor(
        session,
        opened["text"],
        opened["id"],
        lambda text: save(text, opened),
        instead=f"memglot repo edit {opened['id']} --body",
        again=f"memglot repo edit {opened['id']}",
    )
