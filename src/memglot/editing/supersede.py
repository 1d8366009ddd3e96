"""Supersessions: which memory replaced which, and the chains that they form."""

from __future__ import annotations

from memglot.editing import links, memory
from memglot.editing.operations import created, recorded
from memglot.errors import UsageError
from memglot.merging.memory_state import link_tombstone
from memglot.merging.registers import next_time
from memglot.model import DEFAULT_STATUS, DELETED, Supersession, Tombstone, check_text, now, thing_key, to_builtins
from memglot.store.contract import Revision, Store

SUPERSEDED = "superseded"


def supersede(
    store: Store, newer: str, older: str, *, reason: str = "", entity: str | None = None
) -> tuple[Supersession, bool]:
    """Mark one memory as the replacement of another, which gets the status `superseded`; return True if that is new.

    The opposite supersession, if there is one, is removed.
    """
    check_text(reason, "reason")
    with recorded(store, "supersede", name=f"{older} by {newer}"):
        new, old = (memory.resolve_id(store, id) for id in (newer, older))
        if new == old:
            raise UsageError(
                f"memory `{new}` cannot supersede itself", "name the newer memory first, then the older one"
            )
        about = links.parse_endpoint(store, f"entity:{entity.removeprefix('entity:')}").id if entity else None
        found = Supersession(newer=new, older=old, entity=about, decided_by="user", reason=reason)
        before, gone = store.things.same_key(found), store.things.get(Tombstone, thing_key(found))
        if before is not None and (before.reason, before.entity) == (reason or before.reason, about or before.entity):
            return before, False
        scope = store.records.get([new])[0].scope
        # The decision must win even if a clock ran ahead somewhere.
        found.decided_at = next_time(
            (before.decided_at if before is not None else None) or 0, gone.deleted_at if gone is not None else 0
        )
        store.things.remove([gone] if gone is not None else [])
        if (opposite := store.things.same_key(Supersession(newer=old, older=new))) is not None:
            _remove_decision(store, opposite, scope)
            _set_status(store, new, SUPERSEDED, DEFAULT_STATUS)
        if before is not None:
            _keep_revision(store, before)
        else:
            store.history.add_revisions(created("supersession", [thing_key(found)], now(), "supersede"))
        store.things.put([found])
        store.history.log("supersede", new, scope, to_builtins(found))
        record = store.records.get([old])[0]
        _set_status(store, old, record.status, record.status if record.status == DELETED else SUPERSEDED)
    return found, True


def undo_supersession(store: Store, decision: Supersession) -> None:
    """Remove a supersession without a trace; the superseded memory is active again."""
    store.things.remove([decision])
    if store.records.known([decision.older]) and not list(store.things.by_second_key(Supersession, decision.older)):
        _set_status(store, decision.older, SUPERSEDED, DEFAULT_STATUS)


def _set_status(store: Store, id: str, was: str, status: str) -> None:
    record = store.records.get([id])[0]
    if record.status == was != status:
        memory.update_all(store, [(record, {"status": status})], action="update")


def _remove_decision(store: Store, thing: Supersession, scope: str) -> None:
    _keep_revision(store, thing)
    store.things.remove([thing])
    store.things.put([link_tombstone(thing, now(), scope)])


def _keep_revision(store: Store, thing: Supersession) -> None:
    revision = Revision(
        kind="supersession", key=thing_key(thing), at=now(), action="supersede", before=to_builtins(thing)
    )
    revision.previous_batch = store.things.batches_of([thing])[0]
    store.history.add_revisions([revision])


def supersessions(store: Store, id: str | None = None) -> list[Supersession]:
    """Return all supersessions, or those of the chain that a memory belongs to; the earliest decision first."""
    if id is None:
        return sorted(store.things.select(Supersession), key=_when)
    start = memory.resolve_id(store, id)
    seen, rest = {start}, [start]
    found: dict[tuple[str, str], Supersession] = {}
    while rest:
        link = rest.pop()
        for one in (*store.things.select(Supersession, [link]), *store.things.by_second_key(Supersession, link)):
            found[one.newer, one.older] = one
            # A chain written by another tool may be a circle.
            rest += {one.newer, one.older} - seen
            seen |= {one.newer, one.older}
    return sorted(found.values(), key=_when)


def _when(one: Supersession) -> tuple[int, str, str]:
    return one.decided_at or 0, one.newer, one.older
