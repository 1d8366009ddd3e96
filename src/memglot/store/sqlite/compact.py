"""Give the unused space of a store back to the file system."""

from __future__ import annotations

import os
import shutil
import tempfile

import apsw

from memglot.errors import FullStore, ReadOnlyStore
from memglot.store.contract import Compaction
from memglot.store.sqlite.connection import Connection

_RESERVE = 1 << 20
_STEPS = 10_000
"""Number of steps of SQLite between two moments at which Ctrl-C can stop it."""


def compact(connection: Connection) -> Compaction:
    """Rewrite the file without its unused pages.

    The pages go through the write-ahead log in one transaction: others can read meanwhile, and a killed process leaves
    the store as it was. The file shrinks when nobody reads an earlier state any more.
    """
    if not connection.write:
        raise ReadOnlyStore(connection.url)
    if connection.url == ":memory:":
        return Compaction(connection.url, 0, 0, 0)
    connection.checkpoint()
    before = os.path.getsize(connection.url)
    _check_space(connection)
    connection.db.set_progress_handler(lambda: False, _STEPS)
    try:
        # SQLite waits for other writers itself.
        connection.db.execute("VACUUM").fetchall()
    except apsw.FullError as error:
        raise _no_space(connection.url, before) from error
    except apsw.Error as error:
        connection.translate(error)
    finally:
        connection.db.set_progress_handler(None)
    connection.checkpoint()
    pages, size = next(connection.rows("SELECT page_count, page_size FROM pragma_page_count, pragma_page_size"))
    waiting = max(0, os.path.getsize(connection.url) - pages * size)
    return Compaction(connection.url, before, pages * size, waiting)


def _check_space(connection: Connection) -> None:
    """Raise `FullStore` unless there is room for what is used in the write-ahead log and in a temporary file."""
    sql = (
        "SELECT (page_count - freelist_count) * page_size "
        "FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
    )
    needed = connection.value(sql) + _RESERVE
    places = [os.path.dirname(os.path.abspath(connection.url)), tempfile.gettempdir()]
    if os.stat(places[0]).st_dev == os.stat(places[1]).st_dev:
        places, needed = places[:1], 2 * needed
    for place in places:
        free = shutil.disk_usage(place).free
        if free < needed:
            raise _no_space(place, needed, free)


def _no_space(place: str, needed: int, free: int | None = None) -> FullStore:
    there = "" if free is None else f", and {free:,} are free"
    return FullStore(
        f"not enough disk space in `{place}`: compacting needs about {needed:,} bytes for a while{there}",
        "nothing was changed; free some space, or write a compact copy to another disk with `memglot backup`",
    )
