"""Audit chains in imported files, and in files that are not imported."""

from pathlib import Path
from typing import Any

from memglot.errors import Unreadable
from memglot.formats.core.audit_chain import check_log, is_audit
from memglot.formats.core.source import Source
from memglot.formats.memoryd.scan import check_chain
from memglot.formats.syntax.json_shape import first_keys
from memglot.model import Blob
from memglot.store.contract import Store


def imported_rows(store: Store, *, target: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
    """Return the audit rows of imported files, newest first."""
    rows = [blob.row for blob in store.things.select(Blob) if is_audit(blob)]
    rows = [row for row in rows if target is None or row.get("target_id") == target]
    rows.sort(key=lambda row: str(row.get("ts")), reverse=True)
    return rows[:limit]


def audit_file(path: str | Path) -> dict[str, Any]:
    """Check the audit chain in a memories.json or in memoryd's log; return the first bad row, if any."""
    source = Source.file(Path(path))
    if source.is_blank():
        raise Unreadable(source.name, "it is empty")
    if set(first_keys(source.head)) & {"export_metadata", "memories", "audit_chain"}:
        check, fits = check_chain(source)
    else:
        check, fits = check_log(source), True
    number, reason = check.broken or (None, None)
    found = {"ok": check.broken is None, "events": check.count, "verified": check.verified, "linked": check.linked}
    return {**found, "head_fits": fits, "first_broken": number, "reason": reason}
