"""memglot: one memory for every agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from memglot.arguments import Edits as Edits
    from memglot.arguments import Filters as Filters
    from memglot.editing.backup import restore as restore
    from memglot.editing.consolidate import Consolidation as Consolidation
    from memglot.editing.scopes import Scope as Scope
    from memglot.errors import MemglotError as MemglotError
    from memglot.exporting.convert import Conversion as Conversion
    from memglot.exporting.convert import convert as convert
    from memglot.exporting.diff import Difference as Difference
    from memglot.exporting.diff import diff as diff
    from memglot.exporting.sync_path import SyncResult as SyncResult
    from memglot.exporting.verify import Verdict as Verdict
    from memglot.exporting.verify import verify as verify
    from memglot.formats.base import Format
    from memglot.memory import Memory as Memory
    from memglot.model import Document as Document
    from memglot.model import Entity as Entity
    from memglot.model import Record as Record
    from memglot.model import Relation as Relation
    from memglot.model import Supersession as Supersession
    from memglot.model import Temporal as Temporal
    from memglot.results import ExportResult as ExportResult
    from memglot.results import ImportResult as ImportResult
    from memglot.search.results import Hit as Hit
    from memglot.search.results import Results as Results

    def formats() -> list[Format]:
        """All formats that can be read or written; at run time this is the package, which can be called."""


# Imported on first use: `memglot --help`, and callers of one function, load nothing else.
_NAMES = {
    "memglot.arguments": ("Edits", "Filters"),
    "memglot.editing.consolidate": ("Consolidation",),
    "memglot.editing.backup": ("restore",),
    "memglot.editing.scopes": ("Scope",),
    "memglot.errors": ("MemglotError",),
    "memglot.exporting.sync_path": ("SyncResult",),
    "memglot.exporting.convert": ("Conversion", "convert"),
    "memglot.exporting.diff": ("Difference", "diff"),
    "memglot.exporting.verify": ("Verdict", "verify"),
    "memglot.memory": ("Memory",),
    "memglot.model": ("Document", "Entity", "Record", "Relation", "Supersession", "Temporal"),
    "memglot.results": ("ExportResult", "ImportResult"),
    "memglot.search.results": ("Hit", "Results"),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(["__version__", "formats", *_MODULE_OF])


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "formats":
        return import_module("memglot.formats")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'memglot' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
