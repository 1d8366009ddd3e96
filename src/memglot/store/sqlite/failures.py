"""Translation of SQLite errors into memglot errors."""

import errno
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

import apsw
import msgspec

from memglot.display import shorten
from memglot.errors import (
    ClosedStore,
    DamagedStore,
    DamagedText,
    FailedDisk,
    FullStore,
    LockedStore,
    NotAStore,
    ReadOnlyStore,
    StoreError,
)
from memglot.files import is_unreadable
from memglot.settings import WRITER_SECONDS

T = TypeVar("T")
_NOT_AS_WRITTEN = ("no such table", "no such column", "has no column", "prohibited", "malformed JSON", "JSON path")
"""What SQLite says about tables and values that memglot cannot have written."""


class DamagedRow(Exception):
    """A row whose values cannot be those of a memory or another item."""


def of_texts(function: Callable[..., T]) -> Callable[..., T]:
    """Return a function for SQL that raises `DamagedRow` for values that are not texts."""

    def call(*values: Any) -> T:
        try:
            return function(*values)
        except (AttributeError, TypeError) as error:
            check_texts(values)
            raise error

    return call


def check_texts(values: Iterable[object]) -> None:
    """Raise `DamagedRow` unless all values are texts or NULL."""
    if not all(value is None or isinstance(value, str) for value in values):
        raise DamagedRow("a value that must be a text is not one")


FAILURES = (apsw.Error, UnicodeDecodeError, msgspec.DecodeError, DamagedRow)
"""What reading or writing rows raises; SQLite returns damaged texts and values as they are, so decoding them fails."""


def translate(error: Exception, url: str) -> NoReturn:
    """Raise the memglot error that corresponds to an SQLite error."""
    if isinstance(error, (apsw.ConnectionClosedError, apsw.CursorClosedError)):
        raise ClosedStore(url) from error
    if isinstance(error, apsw.BusyError):
        raise LockedStore(url, WRITER_SECONDS) from error
    _translate_disk_error(error, url)
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, PermissionError)):
        raise ReadOnlyStore(url) from error
    if isinstance(error, apsw.NotADBError):
        raise NotAStore(url, "it is not a database") from error
    if _is_text_index(error):
        raise DamagedText(url) from error
    if (reason := _damage(error)) is not None:
        raise DamagedStore(url, reason) from error
    if isinstance(error, (apsw.CantOpenError, OSError)):
        raise NotAStore(url, "it cannot be opened") from error
    if isinstance(error, apsw.Error):
        raise StoreError(
            f"the store `{url}` rejected a change: {shorten(str(error))}", "check the store with `memglot doctor`"
        ) from error
    raise error


def _translate_disk_error(error: Exception, url: str) -> None:
    """Raise the error for a full or failing disk, if it is one. SQLite reports what it cannot read as damage."""
    if isinstance(error, apsw.FullError):
        raise FullStore(
            f"no disk space left to write the store `{url}`",
            "the batches before this one are saved; free some space and run the same command again",
        ) from error
    is_damage = isinstance(error, (apsw.NotADBError, apsw.CorruptError))
    if (
        isinstance(error, apsw.IOError)
        or getattr(error, "errno", None) == errno.EIO
        or is_damage
        and is_unreadable(url)
    ):
        raise FailedDisk(url) from error


def _damage(error: Exception) -> str | None:
    """Return what is damaged, if an error means that the file is."""
    if isinstance(error, UnicodeDecodeError):
        return "a text is not valid UTF-8"
    if isinstance(error, (msgspec.DecodeError, DamagedRow)):
        return f"a row has a wrong value: {shorten(str(error), 200)}"
    if isinstance(error, apsw.InterruptError):
        return "reading it does not end"
    is_strange = isinstance(error, apsw.SQLError) and any(map(str(error).__contains__, _NOT_AS_WRITTEN))
    is_damage = is_strange or isinstance(error, (apsw.CorruptError, apsw.FormatError, apsw.TooBigError))
    return shorten(str(error), 200) if is_damage else None


def _is_text_index(error: Exception) -> bool:
    """Return True if the text index is missing or unreadable, which SQLite reports as an error in the statement."""
    text = str(error)
    # Messages about constraints name every table except those of the text index.
    unnamed = isinstance(error, apsw.ConstraintError) and text == "constraint failed"
    return unnamed or isinstance(error, apsw.Error) and ("record_text" in text or "fts5" in text)
