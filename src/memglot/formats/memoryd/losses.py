"""What a row without a carry slot does not say of its memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memglot.formats.core.sidecar import name_of
from memglot.formats.memoryd.read_rows import File, read_row
from memglot.model import FIELDS, Record, Thing
from memglot.report import Report


def tell_losses(record: Record, row: dict[str, Any], riders: Sequence[Thing], report: Report) -> None:
    """Report them: what a reader makes of the row tells."""
    found, _ = read_row({**row, "content": record.content}, File(), Report())
    for name in FIELDS:
        if getattr(found, name) != getattr(record, name):
            report.dropped(name, record.id)
    for rider in riders:
        report.dropped(name_of(rider), record.id)
