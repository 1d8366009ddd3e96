"""Create and remove the folder of a demo: a store of its own, never the user's."""

from __future__ import annotations

import shlex
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from memglot.demo.year import year
from memglot.errors import UsageError
from memglot.files import create_folders, remove_abandoned, replace_file
from memglot.memory import Memory
from memglot.report import ShowProgress

STORE = "demo.db"
MARKER = "memglot-demo.txt"
"""A file that shows that memglot made the folder; without it, nothing in the folder is changed or removed."""
_ABOUT = "This folder was made by `memglot demo`. `memglot demo --remove FOLDER` removes it.\n"
_OURS = (STORE, f"{STORE}-wal", f"{STORE}-shm", MARKER)


class Demo(NamedTuple):
    """A demo that was created."""

    folder: Path
    memories: int

    @property
    def store(self) -> Path:
        """The file of the store."""
        return self.folder / STORE

    def commands(self) -> list[tuple[str, str]]:
        """Return commands to try, each with what it shows; the first one makes the others use the demo."""
        vault = shlex.quote(str(self.folder / "vault"))
        return [
            (f"export MEMGLOT_STORE={shlex.quote(str(self.store))}", "use the demo in this shell"),
            ("memglot search task queue", "keywords and meaning"),
            ("memglot search where does Mara live --limit 3", "a fact, and the one that it superseded"),
            ("memglot search 請求書", "any language"),
            ("memglot tree", "the tree of memories"),
            ("memglot list --kind decision --since 2025-06", "decisions of the second half of the year"),
            ("memglot list --tag recipe", "everything with a tag"),
            ("memglot chain", "what was superseded by what"),
            (f"memglot export {vault} --format obsidian --force", "a vault to open in Obsidian"),
        ]


def make_demo(folder: Path | None = None, progress: ShowProgress | None = None) -> Demo:
    """Create a demo in a new or empty folder, by default a temporary one; complete one that was interrupted.

    Raise `UsageError` if the folder contains anything else.
    """
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="memglot-demo-"))
    folder = folder.absolute()
    if folder.is_dir():
        remove_abandoned(folder)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"`{folder}` is not a folder", "name a new folder: `memglot demo FOLDER`")
    if not (folder / MARKER).is_file() and folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"`{folder}` is not empty", "name a new folder: `memglot demo FOLDER`")
    create_folders(folder)
    # The marker comes first: a demo that is interrupted can be completed, or removed.
    with replace_file(folder / MARKER) as out:
        out.write(_ABOUT.encode())
    with Memory.open(folder / STORE) as memory:
        memory.import_from(year(), format="ndjson", progress=progress)
        return Demo(folder, memory.count())


def remove_demo(folder: Path) -> list[str]:
    """Remove a demo; return the names of other files in its folder, which are kept. Raise `UsageError`."""
    if not (folder / MARKER).is_file():
        raise UsageError(f"`{folder}` is not a folder that `memglot demo` made", "name the folder that it printed")
    remove_abandoned(folder)
    for name in _OURS:
        (folder / name).unlink(missing_ok=True)
    others = sorted(path.name for path in folder.iterdir())
    if not others:
        with suppress(OSError):
            folder.rmdir()
    return others
