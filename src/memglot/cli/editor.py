"""Let the user edit a text in their editor."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memglot.errors import MemglotError, MissingProgram
from memglot.settings import editor


class EditedText:
    """A text that the user edited, and the temporary file that contains it."""

    def __init__(self, text: str, path: Path, instead: str) -> None:
        self.text = text
        self.path = path
        self._original = text
        self._instead = instead

    def edit(self) -> None:
        """Open the text in the user's editor, and read it when the editor is closed."""
        program = _program(self._instead)
        try:
            status = subprocess.run([*shlex.split(program), str(self.path)]).returncode
            with open(self.path, encoding="utf-8", newline="") as file:
                self.text = file.read()
        except (OSError, ValueError) as error:
            raise _editor_failed(program, str(error), str(self.path)) from error
        if status and self.text == self._original:
            self.remove()
            raise _editor_failed(program, f"exit status {status}")
        if status:
            raise _editor_failed(program, f"exit status {status}", str(self.path))

    @contextmanager
    def kept_on_error(self) -> Iterator[None]:
        """Delete the file after success; after an error, keep it and name it in the hint."""
        try:
            yield
        except MemglotError as error:
            error.hint = f"your text is kept in `{self.path}`"
            raise
        self.remove()

    def remove(self) -> None:
        """Delete the file."""
        shutil.rmtree(self.path.parent, ignore_errors=True)


def edit_text(text: str, name: str, *, instead: str) -> EditedText:
    """Open a text in the user's editor, and return it when the editor is closed.

    Raise `MissingProgram` if there is no editor; its hint names the command to use `instead`.
    """
    _program(instead)
    path = Path(tempfile.mkdtemp(prefix="memglot-")) / f"{name}.md"
    path.write_text(text, encoding="utf-8", newline="")
    edited = EditedText(text, path, instead)
    edited.edit()
    return edited


def _program(instead: str) -> str:
    program = editor()
    if program is None:
        raise MissingProgram("no editor is set", f"set `$EDITOR`, or use `{instead}`")
    return program


def _editor_failed(program: str, reason: str, kept: str | None = None) -> MissingProgram:
    hint = f"nothing was changed; your text is kept in `{kept}`" if kept else "nothing was changed"
    return MissingProgram(f"the editor `{program}` failed: {reason}", hint)
