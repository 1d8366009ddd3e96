"""memglot: one memory for every agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from memglot.editing.consolidate import Consolidation
    from memglot.editing.maintenance import restore
    from memglot.editing.scopes import Scope
    from memglot.errors import MemglotError
    from memglot.exporting.convert import Conversion, convert
    from memglot.exporting.diff import Difference, diff
    from memglot.exporting.verify import Verdict, verify
    from memglot.formats.base import Format
    from memglot.memory import Memory
    from memglot.model import Document, Entity, Record, Relation, Supersession, Temporal
    from memglot.results import ExportResult, ImportResult
    from memglot.search.results import Hit, Results

    def formats() -> list[Format]:
        """All formats that can be read or written; at run time this is the package, which can be called."""


# Imported on use, so that `memglot --help` and a caller of one function pay for nothing else.
_PLACES = {
    "Consolidation": "memglot.editing.consolidate",
    "Conversion": "memglot.exporting.convert",
    "Difference": "memglot.exporting.diff",
    "Document": "memglot.model",
    "Entity": "memglot.model",
    "ExportResult": "memglot.results",
    "Hit": "memglot.search.results",
    "ImportResult": "memglot.results",
    "MemglotError": "memglot.errors",
    "Memory": "memglot.memory",
    "Record": "memglot.model",
    "Relation": "memglot.model",
    "Results": "memglot.search.results",
    "Scope": "memglot.editing.scopes",
    "Supersession": "memglot.model",
    "Temporal": "memglot.model",
    "Verdict": "memglot.exporting.verify",
    "convert": "memglot.exporting.convert",
    "diff": "memglot.exporting.diff",
    "restore": "memglot.editing.maintenance",
    "verify": "memglot.exporting.verify",
}

__all__ = [
    "Consolidation",
    "Conversion",
    "Difference",
    "Document",
    "Entity",
    "ExportResult",
    "Hit",
    "ImportResult",
    "MemglotError",
    "Memory",
    "Record",
    "Relation",
    "Results",
    "Scope",
    "Supersession",
    "Temporal",
    "Verdict",
    "__version__",
    "convert",
    "diff",
    "formats",
    "restore",
    "verify",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "formats":
        return import_module("memglot.formats")
    if name not in _PLACES:
        raise AttributeError(f"module 'memglot' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
