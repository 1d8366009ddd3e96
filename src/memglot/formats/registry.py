"""The registry: which module holds which format. A new format is one line here."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module

from memglot.errors import UnknownFormat, two_plugins
from memglot.formats.format import Format

GROUP = "memglot.formats"
_BUILT_IN = ("json", "markdown", "ndjson", "yaml")
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
            _loaded[name] = import_module(f"memglot.formats.{name.replace('-', '_')}").FORMAT
        elif name in (plugins := _plugins()):
            _loaded[name] = plugins[name]
        else:
            raise UnknownFormat(name, sorted({*names(), *_ALIASES}))
    return _loaded[name]


def formats() -> Iterator[Format]:
    """All formats, in the order of their names."""
    return map(get, names())


@cache
def extensions() -> dict[str, Format]:
    """Which format a file extension stands for."""
    return {extension: format for format in formats() for extension in format.extensions}


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
            raise two_plugins(entry.name, origins[entry.name], entry.value)
        origins[entry.name] = entry.value
        found[entry.name] = entry.load()
    return found
