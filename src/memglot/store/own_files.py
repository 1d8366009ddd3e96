"""Files that belong to memglot itself: exports do not overwrite them, and imports of folders skip them."""

import os

from memglot.files import SQLITE_SUFFIXES
from memglot.settings import data_folder
from memglot.store.contract import Store


def store_paths(url: str) -> frozenset[str]:
    """Return the real paths of a store and of the files that SQLite creates next to it, existing or not."""
    own = os.path.realpath(url)
    return frozenset(own + suffix for suffix in SQLITE_SUFFIXES)


def store_files(store: Store) -> frozenset[str]:
    """Return the paths of a store that is a file; none for one in memory."""
    return store_paths(store.url) if os.path.exists(store.url) else frozenset()


def skipped_paths(store: Store | None) -> frozenset[str]:
    """Return what imports of folders skip: the store, and the folder with tokens and other stores."""
    found = store_files(store) if store is not None else frozenset()
    return found | {os.path.realpath(data_folder())}
