"""memglot: one memory for every agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from memglot.conversion import Conversion, convert
    from memglot.engine.care import restore
    from memglot.engine.consolidate import Consolidation
    from memglot.engine.diff import Difference, diff
    from memglot.engine.hits import Hit, Results
    from memglot.engine.memory import Memory
    from memglot.engine.results import ExportResult, ImportResult
    from memglot.engine.scopes import Scope
    from memglot.engine.verify import Verdict, verify
    from memglot.errors import MemglotError
    from memglot.formats.format import Format
    from memglot.model import Document, Entity, Record, Relation, Supersession, Temporal

    def formats() -> list[Format]:
        """All formats that can be read or written; at run time this is the package, which can be called."""


# Imported on use, so that `memglot --help` and a caller of one function pay for nothing else.
_PLACES = {
    "Consolidation": "memglot.engine.consolidate",
    "Conversion": "memglot.conversion",
    "Difference": "memglot.engine.diff",
    "Document": "memglot.model",
    "Entity": "memglot.model",
    "ExportResult": "memglot.engine.results",
    "Hit": "memglot.engine.hits",
    "ImportResult": "memglot.engine.results",
    "MemglotError": "memglot.errors",
    "Memory": "memglot.engine.memory",
    "Record": "memglot.model",
    "Relation": "memglot.model",
    "Results": "memglot.engine.hits",
    "Scope": "memglot.engine.scopes",
    "Supersession": "memglot.model",
    "Temporal": "memglot.model",
    "Verdict": "memglot.engine.verify",
    "convert": "memglot.conversion",
    "diff": "memglot.engine.diff",
    "restore": "memglot.engine.care",
    "verify": "memglot.engine.verify",
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
