"""`memglot edit`."""

from __future__ import annotations

import click

from memglot.cli.editor import edit_text
from memglot.cli.session import Session, command
from memglot.editing.markdown import changes_from_markdown, markdown_of
from memglot.errors import CheckFailed
from memglot.results import record_value


@command(
    "edit",
    examples="""
    memglot edit 0194a000-0006
    EDITOR="code --wait" memglot edit 0194a000-0006
    """,
)
@click.argument("id")
def edit(session: Session, id: str) -> None:
    """Edit a memory in your editor.

    The editor opens the memory as Markdown; when you save and close the file, the memory is updated.
    """
    with session.memory() as memory:
        record = memory.get(id)
    before = markdown_of(record)
    after = edit_text(before, record.id, instead="memglot update")
    if after.text == before:
        after.remove()
        session.print_result(record_value(record), "nothing changed")
        return
    with after.kept_on_error():
        changes = changes_from_markdown(after.text)
        with session.memory(write=True) as memory:
            if memory.get(record.id) != record:
                raise CheckFailed(f"memory `{record.id}` was changed while you were editing it")
            record = memory.update(record.id, **changes)
    session.print_result(record_value(record), f"updated {record.id}")
