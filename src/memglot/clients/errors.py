"""Errors that several modules of this package raise."""

from memglot.errors import CannotWrite, Unreadable, UsageError

NOTHING_CHANGED = "nothing was changed"


def too_deep(path: str, limit: int) -> Unreadable:
    """Return the error for a configuration that is nested too deeply."""
    return Unreadable(path, f"it is nested more than {limit} levels deep", f"add the server by hand; {NOTHING_CHANGED}")


def unsafe_edit(path: str) -> UsageError:
    """Return the error for an edit that would change more than our entry."""
    return UsageError(f"editing `{path}` would change more than this entry; {NOTHING_CHANGED}", "edit it by hand")


def keeps_changing(path: str) -> CannotWrite:
    """Return the error for a file that another program writes to at every attempt."""
    return CannotWrite(path, "another program keeps writing to it; close that program and try again")
