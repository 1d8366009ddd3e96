"""Reject imported items that would reach scopes hidden from the caller."""

from collections import Counter
from collections.abc import Sequence

from memglot.display import plural
from memglot.errors import ALLOW_SENSITIVE, UsageError
from memglot.model import Entity, Record, Thing, Tombstone
from memglot.report import Report
from memglot.store.hidden import HiddenScopes


def refuse_hidden_records(
    hidden: HiddenScopes,
    records: list[Record],
    things: list[Thing],
    report: Report,
    sources: Sequence[str],
) -> tuple[list[Record], list[Thing]]:
    """Return the records and things that neither belong to hidden scopes nor have ids of theirs; refuse the others.

    Otherwise a file that contains an id could move a hidden memory to another scope, overwrite or delete it.
    `sources` names the input of each record.
    """
    scopes = hidden.scopes
    taken = hidden.ids([record.id for record in records if record.id])
    kept: list[Record] = []
    refused: Counter[str] = Counter()
    for record, source in zip(records, sources, strict=True):
        if record.scope in scopes or record.id in taken:
            refused[source] += 1
        else:
            kept.append(record)
    for source, count in refused.items():
        belong = plural(count, "memory belongs", "memories belong")
        error = UsageError(f"{belong} to sensitive scopes, which are hidden here", ALLOW_SENSITIVE)
        report.refused(error, source, count)
    return kept, _refuse_hidden_things(hidden, things)


def _refuse_hidden_things(hidden: HiddenScopes, things: list[Thing]) -> list[Thing]:
    """Return the things that reveal nothing about hidden scopes, and would replace nothing in them."""
    # A deletion or an entity may have the id of a hidden one and name another scope.
    owned = hidden.ids([thing.id for thing in things if isinstance(thing, (Entity, Tombstone))])
    found = [thing for thing in hidden.visible(things) if getattr(thing, "id", None) not in owned]
    stored = hidden.store.things.same_keys(found)
    visible = {id(thing) for thing in hidden.visible([thing for thing in stored if thing is not None])}
    return [thing for thing, old in zip(found, stored, strict=True) if old is None or id(old) in visible]
