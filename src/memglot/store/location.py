"""Which store a URL or a path means."""

from pathlib import Path

from memglot.errors import NotYet, UnknownStore, UsageError
from memglot.settings import store_url
from memglot.store.contract import Store


def open_store(url: str | Path | None = None, *, write: bool = True) -> Store:
    """Open the store that `url` names: a path, `sqlite:///path` or `:memory:`; else the one from the settings."""
    path = _path_of(str(url) if url else store_url())
    from memglot.store.sqlite.store import SqliteStore

    return SqliteStore(path, write=write)


def store_file(url: str | None = None) -> Path:
    """The file of a store that is one; raises `UsageError` for any other."""
    path = _path_of(url or store_url())
    if path == ":memory:" or Path(path).is_dir():
        raise UsageError(
            f"`{path}` is not a file that a backup could be put in the place of", "name one with `--store`"
        )
    return Path(path)


def quiet(path: Path) -> None:
    """Make sure that a store is one file which nobody uses; raises `LockedStore` where somebody does."""
    from memglot.store.sqlite.connection import merge_log

    merge_log(str(path))


def _path_of(url: str) -> str:
    scheme = url.partition("://")[0] if "://" in url else ""
    if scheme in ("postgresql", "postgres"):
        raise NotYet("this version of memglot has no PostgreSQL store", "use a path to a `.db` file, or `:memory:`")
    if scheme and scheme != "sqlite":
        # The rest of a URL may hold a password, so only its scheme is shown.
        raise UnknownStore(scheme)
    if scheme and not url.startswith("sqlite:///"):
        raise UnknownStore("sqlite")
    return url.removeprefix("sqlite:///")
