"""The files that belong to this tool itself: no export goes there, and no import of a folder takes them along."""

import os

from memglot.files import SQLITE_SUFFIXES
from memglot.settings import data_folder
from memglot.store.contract import Store


def paths_of(url: str) -> frozenset[str]:
    """The real paths of a store's file, and of the files that its database keeps beside it, be they there or not."""
    own = os.path.realpath(url)
    return frozenset(own + suffix for suffix in SQLITE_SUFFIXES)


def files_of(store: Store) -> frozenset[str]:
    """Those paths of a store that lies in a file."""
    return paths_of(store.url) if os.path.exists(store.url) else frozenset()


def passed_over(store: Store | None) -> frozenset[str]:
    """What an import of a folder around it passes over: the store, and the folder with tokens and other stores."""
    found = files_of(store) if store is not None else frozenset()
    return found | {os.path.realpath(data_folder())}
