"""SQLite databases as inputs, recognized by their first bytes and opened without changing them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from memglot.errors import NotADatabase, Unreadable
from memglot.formats.core.source import Source

if TYPE_CHECKING:
    import apsw

MAGIC = b"SQLite format 3\0"


def is_database(head: bytes) -> bool:
    """Return True if the first bytes are those of a SQLite database."""
    return head.startswith(MAGIC)


def application_id(head: bytes) -> int:
    """Return the number with which an application marks its databases."""
    return int.from_bytes(head[68:72], "big")


@contextmanager
def database(source: Source) -> Iterator[apsw.Connection]:
    """Open the database of a source for reading; turn errors of SQLite into `Unreadable`."""
    import apsw

    from memglot.database import open_input

    if not is_database(source.head):
        raise NotADatabase(source.name)
    with source.as_file() as path:
        check_complete(source, path)
        try:
            with open_input(path) as db:
                _begin(db)
                yield db
        except apsw.Error as error:
            _translate(error, source.name)
        except UnicodeDecodeError as error:
            # Readers expect damaged values, but a name that cannot be read leaves nothing to ask for.
            raise _damaged_database(source.name, "the name of a table or column is not valid UTF-8") from error


def schema_of(source: Source) -> bytes:
    """Return the SQL that created the tables of a database; nothing if it cannot be read."""
    try:
        with database(source) as db:
            found = db.execute("SELECT CAST(sql AS BLOB) FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL")
            return b"\n".join(sql for (sql,) in found)
    except Unreadable:
        # Reading it reports the reason.
        return b""


def expected_size(head: bytes) -> int:
    """Return the size of a database according to its header; 0 if the header does not know it."""
    if head[24:28] != head[92:96]:
        return 0
    page = int.from_bytes(head[16:18], "big")
    return int.from_bytes(head[28:32], "big") * (65_536 if page == 1 else page)


def check_complete(source: Source, path: Path) -> None:
    """Raise `Unreadable` for a file that is shorter than its header says; SQLite would read zeros."""
    expected = expected_size(source.head)
    size = path.stat().st_size
    if size < expected and not path.with_name(path.name + "-wal").exists():
        raise _damaged_database(source.name, f"its header says {expected:,} bytes, but it has {size:,}")


def _begin(db: apsw.Connection) -> None:
    """Read all tables as they are now, whatever the program that has the database open writes meanwhile."""
    import apsw

    from memglot.database import accept_damaged_schema

    db.execute("BEGIN")
    try:
        db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except apsw.CorruptError:
        accept_damaged_schema(db)


def _translate(error: apsw.Error, name: str) -> NoReturn:
    import apsw

    if isinstance(error, apsw.NotADBError):
        raise NotADatabase(name) from error
    if isinstance(error, (apsw.BusyError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError)):
        raise Unreadable(
            name, f"the database cannot be opened: {str(error)}", "close the program that uses it and try again"
        ) from error
    if isinstance(error, apsw.InterruptError):
        raise _damaged_database(name, "reading it does not end") from error
    raise _damaged_database(name, str(error)) from error


def _damaged_database(name: str, reason: str) -> Unreadable:
    """Return the error for a truncated or damaged database."""
    return Unreadable(
        name, f"the database is truncated or damaged: {reason}", "`sqlite3 FILE .recover` may recover some of its data"
    )
