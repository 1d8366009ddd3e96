"""The registry: which module holds which format. A new format is one line here."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module

from memglot.errors import UnknownFormat, UsageError
from memglot.formats.base import Format

GROUP = "memglot.formats"
# Name, module, family and extensions; a test compares them with what the format declares. Looking one up imports no
# other.
# The first format that has an extension is what the extension stands for; its shape may tell another of its family.
_BUILT_IN: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "csv": ("csv.format", "csv", (".csv", ".tsv")),
    "json": ("memory_engine.json", "json", (".json",)),
    "memories-json": ("memoryd.memories_json", "json", (".json",)),
    "mcp-memory-v5": ("memoryd.mcp_memory_v5", "json", (".json",)),
    "chatgpt": ("chatgpt.format", "json", (".json",)),
    "markdown": ("memory_engine.markdown", "markdown", (".md", ".markdown")),
    "ndjson": ("memory_engine.ndjson", "json", (".ndjson", ".jsonl")),
    "sqlite": ("sqlite", "sqlite", (".sqlite", ".db", ".sqlite3")),
    "agentos-sqlite": ("agentos.sqlite", "sqlite", (".sqlite", ".db", ".sqlite3")),
    "yaml": ("memory_engine.yaml", "yaml", (".yaml", ".yml")),
    "obsidian": ("obsidian.format", "markdown", (".md", ".markdown")),
    "agentos-markdown": ("agentos.markdown", "markdown", (".md", ".markdown")),
    "agentos-json": ("agentos.json", "json", (".json", ".ndjson", ".jsonl")),
    "mcp-graph": ("mcp_graph.format", "json", (".jsonl", ".json")),
    "repo": ("repo.format", "repo", (".json", ".md")),
}
# The store's own file is known to the store alone.
_ELSEWHERE: dict[str, str] = {"sqlite": "memglot.formats.sqlite"}
# Asked in this order: notes in a repository do not make its memory theirs, and an AgentOS vault is a vault first.
_FOLDERS: tuple[str, ...] = ("repo", "obsidian", "chatgpt", "agentos-markdown")
SHARED_NAMES = {"json": "agentos", "ndjson": "agentos", "markdown": "agentos", "sqlite": "agentos"}
"""Names that two tools use for shapes of their own: reading takes the other tool's too, with a note."""
_ALIASES = {"jsonl": "ndjson", "md": "markdown", "yml": "yaml"}
_loaded: dict[str, Format] = {}


def names() -> list[str]:
    """All format names, sorted; the built-in ones and those that plugins add."""
    return sorted({*_BUILT_IN, *_plugins()})


def get(name: str) -> Format:
    """The format of that name or alias; raises `UnknownFormat`."""
    name = _ALIASES.get(name, name)
    if name not in _loaded:
        if name in _BUILT_IN:
            _loaded[name] = import_module(f"memglot.formats.{_BUILT_IN[name][0]}").FORMAT
        elif name in (plugins := _plugins()):
            _loaded[name] = plugins[name]
        else:
            raise UnknownFormat(name, sorted({*names(), *_ALIASES}))
    return _loaded[name]


def formats() -> Iterator[Format]:
    """All formats, in the order of their names."""
    return map(get, names())


def by_extension(extension: str) -> Format | None:
    """The format that a file extension stands for; plugins are asked only for those that are not built in."""
    for name, (_, _, known) in _BUILT_IN.items():
        if extension in known:
            return get(name)
    for format in _plugins().values():
        if extension and extension in format.extensions:
            return format
    return None


def extensions() -> frozenset[str]:
    """All file extensions that stand for a format."""
    of_plugins = (extension for format in _plugins().values() for extension in format.extensions)
    return frozenset((*(extension for _, _, known in _BUILT_IN.values() for extension in known), *of_plugins))


def by_folder() -> Iterator[Format]:
    """The formats that may be known by what lies in a folder, in the order they are asked."""
    for name in _FOLDERS:
        yield get(name)
    yield from _plugins().values()


def family(name: str) -> Iterator[Format]:
    """The formats of a family; others are not even imported."""
    for format, (_, own, _) in _BUILT_IN.items():
        if own == name:
            yield get(format)
    for plugin in _plugins().values():
        if plugin.family == name:
            yield plugin


@cache
def _plugins() -> dict[str, Format]:
    """Formats of other packages, by the entry-point group `memglot.formats`; built-in names win."""
    from importlib.metadata import entry_points

    found: dict[str, Format] = {}
    origins: dict[str, str] = {}
    for entry in entry_points(group=GROUP):
        if entry.name in _BUILT_IN:
            continue
        if entry.name in origins:
            raise UsageError(
                f"two plugins offer the format `{entry.name}`: `{origins[entry.name]}` and `{entry.value}`",
                "uninstall one of them",
            )
        origins[entry.name] = entry.value
        found[entry.name] = entry.load()
    return found
