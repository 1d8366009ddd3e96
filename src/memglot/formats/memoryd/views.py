"""What a memory's own row says of the graph: the entities it speaks of, its relations, what it supersedes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec

from memglot.disk import DiskMap
from memglot.formats.memoryd.graph import spelled_end
from memglot.model import Endpoint, Record, Relation, Supersession, Thing, to_builtins

Hides: TypeAlias = Callable[[Relation, Record], bool]
"""Tells whether the row of a memory must not speak of a relation."""


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
        source = relation.source_record
        if source is not None and relation.subject != Endpoint(source):
            self._any = True
            number = self._by_source.get(source, 0)
            self._by_source[f"{source} {number}"] = to_builtins(relation)
            self._by_source[source] = number + 1

    def of(self, record: Record, riders: list[Thing], hides: Hides | None = None) -> dict[str, Any]:
        """What the graph says of a memory; what `hides` tells must not be said is left out."""
        if not riders and not self._any:
            return {}
        found = [rider for rider in riders if isinstance(rider, Relation)]
        found += self._found_in(record.id)
        relations = [_short(one) for one in found if hides is None or not hides(one, record)]
        ends = [end for relation in relations for end in relation.pop("ends")]
        older = [_older(rider) for rider in riders if isinstance(rider, Supersession)] if hides is None else []
        views = {"entities": sorted(set(ends)), "relations": relations, "supersedes": sorted(set(older))}
        return {name: values for name, values in views.items() if values}

    def _found_in(self, id: str) -> Iterator[Relation]:
        for number in range(self._by_source.get(id, 0) if self._any else 0):
            yield msgspec.convert(self._by_source[f"{id} {number}"], Relation)


def _short(relation: Relation) -> dict[str, Any]:
    subject, object = (spelled_end(relation, side, lambda _: None) for side in ("subject", "object"))
    pairs = ((relation.subject, subject), (relation.object, object))
    ends = [text for end, text in pairs if end.entity]
    return {"predicate": relation.predicate, "subject_id": subject, "object_id": object, "ends": ends}


def _older(link: Supersession) -> str:
    own = link.extra.get("memoryd")
    given = own.get("older") if isinstance(own, dict) else None
    return given if isinstance(given, str) else link.older
