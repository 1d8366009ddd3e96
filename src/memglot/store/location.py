"""Which store a URL or a path means."""

from memglot.errors import no_postgres
from memglot.settings import store_url
from memglot.store.contract import Store


def open_store(url: str | None = None, *, write: bool = True) -> Store:
    """Open the store that `url` names: a path, `sqlite:///path` or `:memory:`; else the one from the settings."""
    url = url or store_url()
    if url.startswith(("postgresql://", "postgres://")):
        raise no_postgres()
    from memglot.store.sqlite.store import SqliteStore

    return SqliteStore(url.removeprefix("sqlite:///"), write=write)
