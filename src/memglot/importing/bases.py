"""Bases: what a source said about memories at the last exchange, from the store or from its history."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from memglot.errors import UnknownFormat
from memglot.formats import registry
from memglot.merging.memory_state import parse_revision
from memglot.merging.tool_edits import ToolFormat, ToolSource, tool_format
from memglot.model import Record
from memglot.model.fingerprints import ABSENT, fingerprints
from memglot.store.contract import Base, RecordOrigin, Store

BaseChange = tuple[Base | None, Base]
"""A base before and after an exchange; `None` if there was none."""
BASE = "base"
"""The kind of a revision of a base."""


class Bases:
    """Finds the bases of the records in a batch."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ids: list[str] = []

    def use(self, ids: list[str]) -> None:
        """Prepare to look up the records of a batch."""
        self._ids = ids
        for name in ("_stored", "_origins", "_exchanged"):
            self.__dict__.pop(name, None)

    @cached_property
    def _stored(self) -> dict[tuple[str, str, str], Base]:
        return {(base.record, base.tool, base.space): base for base in self._store.history.bases(self._ids)}

    @cached_property
    def _origins(self) -> dict[str, RecordOrigin]:
        return self._store.history.origins(self._ids)

    @cached_property
    def _exchanged(self) -> set[str]:
        return {record for record, *_ in self._stored}

    def renamed(self, ids: list[str]) -> dict[str, Record]:
        """Return the memories that a tool calls by one of these ids, by that id."""
        found = {base.record: base.same_as for base in self._store.history.bases(ids) if base.same_as} if ids else {}
        records = {record.id: record for record in self._store.records.get(list(found.values()))} if found else {}
        return {id: records[here] for id, here in found.items() if here in records}

    def is_as_imported(self, id: str) -> bool:
        """Return True if a record was imported and neither changed nor exchanged since."""
        origin = self._origins.get(id)
        if origin is None or not origin.format or origin.is_changed:
            return False
        return id not in self._exchanged

    def find(self, format: ToolFormat, local: Record, remote: Record) -> tuple[Base | None, Base | None]:
        """Return the base that the store keeps for the source of a record, and the one to compare with.

        Without one, a record that came from this source is compared with what it was after its import.
        """
        source = format.source_of(remote)
        stored = self._stored.get((local.id, *source))
        if stored is not None:
            return stored, stored
        if remote.tool_edits is not None:
            return None, None
        return None, self.as_imported(source, local)

    def stored(self, source: ToolSource, id: str) -> Base | None:
        """Return the base that the store keeps for a source of a record."""
        return self._stored.get((id, *source))

    def is_from(self, source: ToolSource, id: str) -> bool:
        """Return True if an import from a source added a record."""
        origin = self._origins.get(id)
        return origin is not None and _is_from(source, origin.format)

    def as_imported(self, source: ToolSource, local: Record) -> Base | None:
        """Return a base from the states that imports of the source's tool left behind, or `None`."""
        if not self.is_from(source, local.id):
            return None
        base = Base(tool=source.tool, space=source.space, record=local.id)
        first, *later = self._states_after_imports(source, local) if self._origins[local.id].is_changed else [local]
        base.said = {name: [value] for name, value in fingerprints(first).items()}
        base.updated_at = max(base.updated_at, first.updated_at)
        for state in later:
            now = fingerprints(state)
            for name in {**base.said, **now}:
                said, value = base.said.setdefault(name, [ABSENT]), now.get(name, ABSENT)
                if said[-1] != value:
                    said.append(value)
            base.updated_at = max(base.updated_at, state.updated_at)
        return base

    def _states_after_imports(self, source: ToolSource, local: Record) -> list[Record]:
        """Return the states of a changed record right after it was imported, and after each later import."""
        history = self._store.history
        past = [one for one in history.revisions(key=local.id) if one.kind == "record" and one.before is not None]
        states = [*(parse_revision(one.before)[0] for one in past if one.before is not None), local]
        formats = history.formats([one.batch for one in past if one.batch is not None])
        changes = zip(past, states[1:], strict=True)
        later = [
            after
            for one, after in changes
            if one.action == "import" and one.batch is not None and _is_from(source, formats.get(one.batch))
        ]
        return [states[0], *later]


def _is_from(source: ToolSource, name: str | None) -> bool:
    """Return True if files of a format come from a source."""
    try:
        format = tool_format(registry.get(name)) if name else None
    except UnknownFormat:
        return False
    if format is None or format.merging.has_clocks:
        return False
    return source.tool in (format.source, *format.merging.tools)


def new_base(format: ToolFormat, record: Record, holds: Callable[[str], bool] | None = None) -> Base:
    """Return the base of a record of which nothing was known before, with the values that a format holds."""
    tool, space = format.source_of(record)
    said = {name: [value] for name, value in fingerprints(record).items() if holds is None or holds(name)}
    return Base(tool=tool, space=space, record=record.id, said=said, updated_at=record.updated_at)


def add_change(changes: list[BaseChange], stored: Base | None, used: Base | None, now: Base) -> None:
    """Add what a source says now, unless the store knows it: from its own base, or from the import of the record."""
    known = stored or used
    if not now.said or known is not None and _content(known) == _content(now):
        return
    changes.append((stored, now))


def _content(base: Base) -> tuple[Any, ...]:
    return base.said, base.held, base.updated_at
