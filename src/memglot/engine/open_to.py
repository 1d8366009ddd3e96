"""What of an input may touch the store of somebody to whom sensitive scopes are closed."""

from memglot.errors import closed_records
from memglot.model import Entity, Record, Thing, Tombstone
from memglot.report import Report
from memglot.store.contract import Store
from memglot.store.sensitive import Hiding


def open_to(
    store: Store, hidden: frozenset[str], records: list[Record], things: list[Thing], report: Report
) -> tuple[list[Record], list[Thing]]:
    """The records and things that neither belong to hidden scopes, nor have ids of theirs; the others have failed.

    Else a file that knows an id could read a memory by taking it into another scope, or overwrite or delete it.
    """
    hiding = Hiding(store, hidden)
    taken = hiding.ids([record.id for record in records if record.id])
    kept = [record for record in records if record.scope not in hidden and record.id not in taken]
    if refused := len(records) - len(kept):
        report.failed += refused
        report.fault(closed_records(refused), count=refused)
    # A deletion, or an entity, may bear the id of a hidden one and say that it is of another scope.
    owned = hiding.ids([thing.id for thing in things if isinstance(thing, (Entity, Tombstone))])
    return kept, [thing for thing in hiding.open(things) if getattr(thing, "id", None) not in owned]
