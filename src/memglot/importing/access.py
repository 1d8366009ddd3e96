"""What of an input may touch the store of somebody to whom sensitive scopes are closed."""

from collections import Counter
from collections.abc import Sequence

from memglot.errors import ALLOW_SENSITIVE, UsageError
from memglot.model import Entity, Record, Thing, Tombstone
from memglot.report import Report
from memglot.store.contract import Store
from memglot.store.hidden import Hiding


def open_to(
    store: Store,
    hidden: frozenset[str],
    records: list[Record],
    things: list[Thing],
    report: Report,
    sources: Sequence[str],
) -> tuple[list[Record], list[Thing]]:
    """The records and things that neither belong to hidden scopes, nor have ids of theirs; the others have failed.

    Else a file that knows an id could read a memory by taking it into another scope, or overwrite or delete it.
    `sources` names the input of each record.
    """
    hiding = Hiding(store, hidden)
    taken = hiding.ids([record.id for record in records if record.id])
    kept: list[Record] = []
    refused: Counter[str] = Counter()
    for record, source in zip(records, sources, strict=True):
        if record.scope in hidden or record.id in taken:
            refused[source] += 1
        else:
            kept.append(record)
    for source, count in refused.items():
        belong = "1 memory belongs" if count == 1 else f"{count:,} memories belong"
        error = UsageError(f"{belong} to sensitive scopes, which are hidden here", ALLOW_SENSITIVE)
        report.refused(error, source, count)
    # A deletion, or an entity, may bear the id of a hidden one and say that it is of another scope.
    owned = hiding.ids([thing.id for thing in things if isinstance(thing, (Entity, Tombstone))])
    return kept, [thing for thing in hiding.open(things) if getattr(thing, "id", None) not in owned]
