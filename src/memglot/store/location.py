"""Which store a URL or a path means."""

from pathlib import Path

from memglot.errors import no_postgres, unknown_store
from memglot.settings import store_url
from memglot.store.contract import Store


def open_store(url: str | None = None, *, write: bool = True) -> Store:
    """Open the store that `url` names: a path, `sqlite:///path` or `:memory:`; else the one from the settings."""
    path = _path_of(url or store_url())
    from memglot.store.sqlite.store import SqliteStore

    return SqliteStore(path, write=write)


def quiet(path: Path) -> None:
    """Make sure that a store is one file which nobody uses; raises `LockedStore` where somebody does."""
    from memglot.store.sqlite.connection import take_in_log

    take_in_log(str(path))


def _path_of(url: str) -> str:
    scheme = url.partition("://")[0] if "://" in url else ""
    if scheme in ("postgresql", "postgres"):
        raise no_postgres()
    if scheme and scheme != "sqlite":
        # The rest of a URL may hold a password, so only its scheme is shown.
        raise unknown_store(scheme)
    return url.removeprefix("sqlite:///")
