"""Translation of SQLite errors into memglot errors."""

from typing import NoReturn

import apsw

from memglot.display import shorten
from memglot.errors import (
    ClosedStore,
    DamagedStore,
    DamagedText,
    FullStore,
    LockedStore,
    NotAStore,
    ReadOnlyStore,
    StoreError,
)
from memglot.settings import BUSY_SECONDS


def translate(error: Exception, url: str) -> NoReturn:
    """Raise the memglot error that corresponds to an SQLite error."""
    if isinstance(error, (apsw.ConnectionClosedError, apsw.CursorClosedError)):
        raise ClosedStore(url) from error
    if isinstance(error, apsw.BusyError):
        raise LockedStore(url, BUSY_SECONDS) from error
    if isinstance(error, apsw.FullError):
        raise FullStore(
            f"no disk space left to write the store `{url}`",
            "the batches before this one are saved; free some space and run the same command again",
        ) from error
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, PermissionError)):
        raise ReadOnlyStore(url) from error
    if isinstance(error, apsw.NotADBError):
        raise NotAStore(url, "it is not a database") from error
    if _is_text_index(error):
        raise DamagedText(url) from error
    is_lost = isinstance(error, apsw.SQLError) and "no such table" in str(error)
    if is_lost or isinstance(error, (apsw.CorruptError, apsw.FormatError)):
        raise DamagedStore(url, str(error)) from error
    if isinstance(error, (apsw.CantOpenError, apsw.IOError, OSError)):
        raise NotAStore(url, "it cannot be opened") from error
    if isinstance(error, apsw.Error):
        raise StoreError(
            f"the store `{url}` rejected a change: {shorten(str(error))}", "check the store with `memglot doctor`"
        ) from error
    raise error


def _is_text_index(error: Exception) -> bool:
    """Return True if the text index is missing or unreadable, which SQLite reports as an error in the statement."""
    text = str(error)
    # Messages about constraints name every table except those of the text index.
    unnamed = isinstance(error, apsw.ConstraintError) and text == "constraint failed"
    return unnamed or isinstance(error, apsw.Error) and ("record_text" in text or "fts5" in text)
