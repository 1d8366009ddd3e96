"""The registry: which module holds which format. A new format is one line here."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import NamedTuple

from memglot.errors import UnknownFormat, UsageError
from memglot.formats.base import Format

GROUP = "memglot.formats"
"""The entry-point group of plugins."""


class Entry(NamedTuple):
    """Where a format is, and what detection needs to know before it imports the module.

    The values repeat the declaration, because importing all formats would make every command slow; a test compares
    them.
    """

    module: str
    family: str
    extensions: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    folder_order: int = 0
    """Position among the formats that a folder is tested for; 0 if it is not tested."""


# The first format with an extension is the default for it; a file's shape may show another format of the same family.
# A repository that contains notes is still a repository, and an AgentOS vault may be an Obsidian vault first. Of two
# formats with the same position, the first name is tested first: exported memories may have wikilinks, like vaults.
_BUILT_IN: dict[str, Entry] = {
    "csv": Entry("csv.format", "csv", (".csv", ".tsv")),
    "json": Entry("memory_engine.json", "json", (".json",)),
    "memories-json": Entry("memoryd.memories_json", "json", (".json",)),
    "memoryd-folder": Entry("memoryd.folder", "memoryd", (".tar.gz",), folder_order=1),
    "mcp-memory-v5": Entry("memoryd.mcp_memory_v5", "json", (".json",)),
    "chatgpt": Entry("chatgpt.format", "json", (".json",), folder_order=3),
    "markdown": Entry("memory_engine.markdown", "markdown", (".md", ".markdown"), ("md",), folder_order=2),
    "ndjson": Entry("memory_engine.ndjson", "json", (".ndjson", ".jsonl"), ("jsonl",)),
    "sqlite": Entry("sqlite", "sqlite", (".sqlite", ".db", ".sqlite3")),
    "mcp-memory-sqlite": Entry("memoryd.mcp_memory_sqlite", "sqlite", (".db", ".sqlite", ".sqlite3")),
    "agentos-sqlite": Entry("agentos.sqlite", "sqlite", (".sqlite", ".db", ".sqlite3")),
    "yaml": Entry("memory_engine.yaml", "yaml", (".yaml", ".yml"), ("yml",)),
    "obsidian": Entry("obsidian.format", "markdown", (".md", ".markdown"), folder_order=2),
    "agentos-markdown": Entry("agentos.markdown", "markdown", (".md", ".markdown"), folder_order=4),
    "agentos-json": Entry("agentos.json", "json", (".json", ".ndjson", ".jsonl")),
    "mcp-graph": Entry("mcp_graph.format", "json", (".jsonl", ".json")),
    "repo": Entry("repo.format", "repo", (".json", ".md"), folder_order=1),
}
SHARED_NAMES = {"json": "agentos", "ndjson": "agentos", "markdown": "agentos", "sqlite": "agentos"}
"""Names that two tools use for formats of their own; a reader accepts the other tool's format too, with a note."""
_BY_OPTION = {"table": "table.format"}
"""Modules of formats that an option asks for; they are neither listed nor detected."""
_ALIASES = {alias: name for name, entry in _BUILT_IN.items() for alias in entry.aliases}
_loaded: dict[str, Format] = {}


def names() -> list[str]:
    """Return the names of all formats, sorted; those of plugins too."""
    return sorted({*_BUILT_IN, *_plugins()})


def get(name: str) -> Format:
    """Return the format with this name or alias. Raise `UnknownFormat`."""
    name = _ALIASES.get(name, name)
    if name not in _loaded:
        if name in _BUILT_IN:
            _loaded[name] = import_module(f"memglot.formats.{_BUILT_IN[name].module}").FORMAT
        elif name in _BY_OPTION:
            _loaded[name] = import_module(f"memglot.formats.{_BY_OPTION[name]}").FORMAT
        elif name in (plugins := _plugins()):
            _loaded[name] = plugins[name]
        else:
            raise UnknownFormat(name, sorted({*names(), *_ALIASES}))
    return _loaded[name]


def formats() -> Iterator[Format]:
    """Return all formats, sorted by name."""
    return map(get, names())


def by_extension(extension: str) -> Format | None:
    """Return the default format for a file extension; built-in formats come before plugins."""
    for name, entry in _BUILT_IN.items():
        if extension in entry.extensions:
            return get(name)
    for format in _plugins().values():
        if extension and extension in format.extensions:
            return format
    return None


def extensions() -> frozenset[str]:
    """Return all file extensions that belong to a format."""
    known = [entry.extensions for entry in _BUILT_IN.values()]
    known += [format.extensions for format in _plugins().values()]
    return frozenset(extension for some in known for extension in some)


def by_folder() -> Iterator[Format]:
    """Return the formats that a folder may have, in the order they are tested."""
    ordered = sorted((entry.folder_order, name) for name, entry in _BUILT_IN.items() if entry.folder_order)
    for _, name in ordered:
        yield get(name)
    yield from _plugins().values()


def family(name: str) -> Iterator[Format]:
    """Return the formats of a family; no other format is imported."""
    for format, entry in _BUILT_IN.items():
        if entry.family == name:
            yield get(format)
    for plugin in _plugins().values():
        if plugin.family == name:
            yield plugin


@cache
def _plugins() -> dict[str, Format]:
    """Return the formats of other packages; a built-in format wins over a plugin of the same name."""
    from importlib.metadata import entry_points

    found: dict[str, Format] = {}
    origins: dict[str, str] = {}
    for entry in entry_points(group=GROUP):
        if entry.name in _BUILT_IN:
            continue
        if entry.name in origins:
            raise UsageError(
                f"two plugins provide the format `{entry.name}`: `{origins[entry.name]}` and `{entry.value}`",
                "uninstall one of them",
            )
        origins[entry.name] = entry.value
        found[entry.name] = entry.load()
    return found
