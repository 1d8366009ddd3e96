"""`memglot edit`."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from memglot.cli.session import Session, command
from memglot.editing.markdown import changes_from_markdown, markdown_of
from memglot.errors import CheckFailed, MemglotError, MissingProgram
from memglot.results import record_value
from memglot.settings import editor


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
    after = _edit_text(before, record.id)
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


class _EditedText:
    """A text that the user edited, and the temporary file that contains it."""

    def __init__(self, text: str, path: Path) -> None:
        self.text = text
        self._path = path

    @contextmanager
    def kept_on_error(self) -> Iterator[None]:
        """Delete the file after success; after an error, keep it and name it in the hint."""
        try:
            yield
        except MemglotError as error:
            error.hint = f"your text is kept in `{self._path}`"
            raise
        self.remove()

    def remove(self) -> None:
        """Delete the file."""
        shutil.rmtree(self._path.parent, ignore_errors=True)


def _edit_text(text: str, name: str) -> _EditedText:
    """Open a text in the user's editor, and return it when the editor is closed."""
    program = editor()
    if program is None:
        raise MissingProgram("no editor is set", "set `$EDITOR`, or use `memglot update`")
    path = Path(tempfile.mkdtemp(prefix="memglot-")) / f"{name}.md"
    path.write_text(text, encoding="utf-8", newline="")
    edited = _EditedText(text, path)
    try:
        status = subprocess.run([*shlex.split(program), str(path)]).returncode
        with open(path, encoding="utf-8", newline="") as file:
            edited.text = file.read()
    except (OSError, ValueError) as error:
        raise _editor_failed(program, str(error), str(path)) from error
    if status and edited.text == text:
        edited.remove()
        raise _editor_failed(program, f"exit status {status}")
    if status:
        raise _editor_failed(program, f"exit status {status}", str(path))
    return edited


def _editor_failed(program: str, reason: str, kept: str | None = None) -> MissingProgram:
    hint = f"nothing was changed; your text is kept in `{kept}`" if kept else "nothing was changed"
    return MissingProgram(f"the editor `{program}` failed: {reason}", hint)
