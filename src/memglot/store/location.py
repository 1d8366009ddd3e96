"""Open the store that a URL or a path names."""

from collections.abc import Callable
from pathlib import Path

from memglot.errors import BadRecord, NotYet, UnknownStore, UsageError
from memglot.settings import MAX_RECORD_BYTES, store_url
from memglot.store.contract import Store


def open_store(url: str | Path | None = None, *, write: bool = True) -> Store:
    """Open a store: a path, `sqlite:///path` or `:memory:`; by default the one from the settings."""
    path = _path_of(str(url) if url else store_url())
    from memglot.store.sqlite.store import SqliteStore

    return SqliteStore(path, write=write)


def open_input_store(
    url: str | Path,
    on_damage: Callable[[BadRecord, bool], None] | None = None,
    max_record: int = MAX_RECORD_BYTES,
) -> Store:
    """Open a store that somebody else may have made, for reading; neither its file nor its folder changes.

    `on_damage` is called with each row that is skipped because it cannot be read or is larger than `max_record`, and
    whether it is a memory. Without it, a row that cannot be read is an error, and its size does not matter.
    """
    from memglot.store.sqlite.large_rows import skip_large_rows
    from memglot.store.sqlite.store import SqliteStore

    store = SqliteStore(_path_of(str(url)), write=False, as_input=True)
    store.connection.on_damage = on_damage
    skip_large_rows(store.connection, max_record)
    return store


def store_file(url: str | None = None) -> Path:
    """Return the file of a store. Raise `UsageError` if it is not a file."""
    path = _path_of(url or store_url())
    if path == ":memory:" or Path(path).is_dir():
        raise UsageError(
            f"`{path}` is not a file, so a backup cannot replace it", "name the file of a store with `--store`"
        )
    return Path(path)


def merge_log(path: Path) -> None:
    """Make a store a single file without a write-ahead log. Raise `LockedStore` while another process uses it."""
    from memglot.store.sqlite import connection

    connection.merge_log(str(path))


def _path_of(url: str) -> str:
    scheme = url.partition("://")[0] if "://" in url else ""
    if scheme in ("postgresql", "postgres"):
        raise NotYet("this version of memglot has no PostgreSQL store", "use a path to a `.db` file, or `:memory:`")
    if scheme and scheme != "sqlite":
        # The rest of a URL may contain a password, so show only its scheme.
        raise UnknownStore(scheme)
    if scheme and not url.startswith("sqlite:///"):
        raise UnknownStore("sqlite")
    return url.removeprefix("sqlite:///")
