"""Formats: one file each, with its reader and its writer.

`memglot.formats()` lists them, so this package can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memglot.formats.base import Format


class _Formats(ModuleType):
    """A package that is also the function `memglot.formats`."""

    def __call__(self) -> list[Format]:
        """All formats that can be read or written, in the order of their names."""
        from memglot.formats import registry

        return list(registry.formats())


sys.modules[__name__].__class__ = _Formats
