"""Files that belong to memglot itself: exports do not overwrite them, and imports of folders skip them."""

import os
import shlex
from contextlib import suppress
from pathlib import Path

from memglot.files import SQLITE_SUFFIXES, make_private, open_to_others
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


def keep_private(url: str) -> str | None:
    """Let only the user read a store in memglot's own folder; return a note about an unprotected one elsewhere."""
    found = open_to_others(url)
    if not found:
        return None
    is_private = Path(url) not in found
    if is_private or os.path.dirname(os.path.realpath(url)) == os.path.realpath(data_folder()):
        # SQLite gives its logs the mode of their store, but keeps those that are there already.
        with suppress(OSError):
            for file in found:
                make_private(file)
            return None
    mode = oct(found[0].stat().st_mode & 0o777).removeprefix("0o")
    command = f"chmod 600 {shlex.quote(url)}"
    return f"other users of this computer may be able to read the store `{url}` (mode {mode}); `{command}` prevents it"
