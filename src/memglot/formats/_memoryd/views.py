"""What a memory's own row says of the graph: the entities it speaks of, its relations, what it supersedes."""

from __future__ import annotations

from typing import Any

from memglot.formats._memoryd.graph import spelled_end
from memglot.formats._notes.shelf import DiskMap
from memglot.model import End, Record, Relation, Supersession, Thing


class Views:
    """Collects relations by the memory they were found in, on disk, for the rows that come behind them."""

    def __init__(self) -> None:
        self._by_source = DiskMap()
        self._any = False

    def close(self) -> None:
        """Let go of the file."""
        self._by_source.close()

    def add(self, relation: Relation) -> None:
        """Take in a relation that hangs on no row that is still to come."""
        if relation.source_record is not None and relation.subject != End(relation.source_record):
            self._any = True
            known = self._by_source.get(relation.source_record, [])
            self._by_source[relation.source_record] = [*known, _short(relation)]

    def of(self, record: Record, riders: list[Thing]) -> dict[str, Any]:
        """What the graph says of a memory."""
        if not riders and not self._any:
            return {}
        relations = [_short(rider) for rider in riders if isinstance(rider, Relation)]
        relations += self._by_source.get(record.id, []) if self._any else []
        ends = [end for relation in relations for end in relation.pop("ends")]
        older = [_older(rider) for rider in riders if isinstance(rider, Supersession)]
        found = {"entities": sorted(set(ends)), "relations": relations, "supersedes": sorted(set(older))}
        return {name: values for name, values in found.items() if values}


def _short(relation: Relation) -> dict[str, Any]:
    subject, object = (spelled_end(relation, side, lambda _: None) for side in ("subject", "object"))
    pairs = ((relation.subject, subject), (relation.object, object))
    ends = [text for end, text in pairs if end.entity]
    return {"predicate": relation.predicate, "subject_id": subject, "object_id": object, "ends": ends}


def _older(link: Supersession) -> str:
    own = link.extra.get("memoryd")
    given = own.get("older") if isinstance(own, dict) else None
    return given if isinstance(given, str) else link.older
