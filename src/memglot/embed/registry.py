"""The registry of embedders: the built-in one, and those of plugins by the entry-point group `memglot.embedders`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from memglot.embed.embedder import Embedder
from memglot.embed.plugin import PluginEmbedder
from memglot.errors import UnknownEmbedder, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "memglot.embedders"
BUILT_IN = "memglot-table-256-2"
"""The embedder that is used when none is named. A test holds it to the name in the table itself."""


def embedder_names() -> list[str]:
    """The names of all embedders, sorted; no plugin is imported."""
    return sorted({BUILT_IN, *_plugins()})


@cache
def embedder(name: str | None = None) -> Embedder:
    """The embedder of that name, loaded once; the built-in one when none is named. Raises `UnknownEmbedder`.

    A plugin's entry point names a function of no arguments that makes the embedder.
    """
    if name is None or name == BUILT_IN:
        return _built_in()
    if name not in (plugins := _plugins()):
        raise UnknownEmbedder(name, embedder_names())
    return PluginEmbedder(name, plugins[name].load)


@cache
def _built_in() -> Embedder:
    """The table, with numpy and tokenizers, which take a while to import and are needed from here on only."""
    from memglot.embed.table import TableEmbedder

    return TableEmbedder.built_in()


@cache
def _plugins() -> dict[str, EntryPoint]:
    """Embedders of other packages; the built-in name wins."""
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
