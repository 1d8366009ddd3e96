"""The registry of embedders: the built-in one, and plugins of the entry-point group `memglot.embedders`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from memglot.embed.embedder import Embedder
from memglot.embed.plugin import PluginEmbedder
from memglot.errors import FailedEmbedder, UnknownEmbedder, UsageError
from memglot.threads import import_for_all_threads

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "memglot.embedders"
BUILT_IN = "memglot-table-256-2"
"""The default embedder. A test compares it with the name in the table."""


def embedder_names() -> list[str]:
    """Return the names of all embedders, sorted, without importing plugins."""
    return sorted({BUILT_IN, *_plugins()})


@cache
def embedder(name: str | None = None) -> Embedder:
    """Return the embedder with this name (default: the built-in one), loaded once; raise `UnknownEmbedder`.

    The entry point of a plugin is a function without arguments that returns the embedder.
    """
    if name is None or name == BUILT_IN:
        return _built_in()
    if name not in (plugins := _plugins()):
        raise UnknownEmbedder(name, embedder_names())
    return PluginEmbedder(name, plugins[name].load)


@cache
def _built_in() -> Embedder:
    """Load the table; importing NumPy and the tokenizer takes a while, so it happens here."""
    import_for_all_threads("kitoken")
    try:
        from memglot.embed.table import TableEmbedder
    except ImportError as error:
        raise FailedEmbedder(BUILT_IN, f"{type(error).__name__}: {error}") from error
    return TableEmbedder.built_in()


@cache
def _plugins() -> dict[str, EntryPoint]:
    """Return the embedders of other packages; the built-in name cannot be replaced."""
    from importlib.metadata import entry_points

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        if entry.name == BUILT_IN:
            continue
        if entry.name in found:
            raise UsageError(
                f"two plugins offer the embedder `{entry.name}`: `{found[entry.name].value}` and `{entry.value}`",
                "uninstall one of them",
            )
        found[entry.name] = entry
    return found
