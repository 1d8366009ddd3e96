"""One memory: add, get, update, delete, undelete, link."""

from collections.abc import Sequence
from typing import Any

import msgspec

from memglot.errors import AlreadyThere, Ambiguous, NotFound, empty_text
from memglot.model import (
    DEFAULT_STATUS,
    DELETED,
    Embedding,
    End,
    Entity,
    Minter,
    Record,
    Relation,
    Tombstone,
    check_id,
    check_record,
    check_text,
    check_types,
    check_value,
    content_hash,
    date_by_id,
    is_id,
    now,
    plain,
    settle,
)
from memglot.store.contract import Revision, Store

_SHORTEST = 4


def resolve(store: Store, text: str) -> str:
    """The id of a stored memory, from the id itself or from an unambiguous beginning of it."""
    id = text.strip().lower()
    if is_id(id):
        if store.known([id]):
            return id
    elif len(id) >= _SHORTEST:
        found = store.starting_with(id, 4)
        if len(found) == 1:
            return found[0]
        if found:
            raise Ambiguous(text, found)
    buried = store.thing(Tombstone, id)
    raise NotFound("memory", text, f"it was deleted: `memglot undelete {id}` brings it back" if buried else None)


def get(store: Store, id: str) -> Record:
    """One memory by its id."""
    return store.get([resolve(store, id)])[0]


def add(store: Store, record: Record) -> Record:
    """Keep a new memory; raises `BadRecord` or `AlreadyThere`."""
    check_types(record)
    if record.id:
        record.id = check_id(record.id)
    record.tags = list(dict.fromkeys(record.tags))
    check_record(record)
    date_by_id(record)
    settle(record, Minter(now() // 1000))
    with store.writing():
        if store.known([record.id]):
            raise AlreadyThere(record.id)
        buried = store.thing(Tombstone, record.id)
        if buried is not None:
            store.take([buried])
        store.add([record])
        store.log("add", record.id, record.scope, {"content_hash": content_hash(record.content).hex()})
    return record


def update(store: Store, id: str, changes: dict[str, Any], *, deed: str = "update") -> Record:
    """Change fields of a memory. A change to what is there already writes nothing."""
    with store.writing():
        record = get(store, id)
        before = plain(record)
        after = msgspec.structs.replace(record, **changes)
        check_types(after)
        after.tags = list(dict.fromkeys(after.tags))
        check_record(after)
        changed = [field for field in changes if getattr(after, field) != getattr(record, field)]
        if changed:
            at = now()
            after.updated_at = at
            # An edit of the whole of `meta` is later than what is known of its keys.
            after.clocks = {
                name: clock for name, clock in after.clocks.items() if name.partition(".")[0] not in changed
            }
            # A field that was not touched keeps the clock it had, which used to be the record's own time.
            for field in _clocked(before):
                if field not in changed:
                    after.clocks.setdefault(field, record.updated_at)
            store.replace(after)
            if "content" in changed:
                # A vector of the old text would find the wrong things.
                store.take(list(store.things(Embedding, [record.id])))
            store.remember([Revision(kind="record", key=record.id, at=at, deed=deed, before=before)])
            store.log(deed, record.id, after.scope, {"fields": sorted(changed)})
        return after


def _clocked(values: dict[str, Any]) -> list[str]:
    """The fields of a record that an edit can change."""
    kept_apart = {"id", "created_at", "updated_at", "clocks", "last_accessed", "access_count", "source", "foreign"}
    return [field for field in values if field not in kept_apart]


def delete(store: Store, ids: Sequence[str], *, reason: str = "") -> list[str]:
    """Delete memories. Each leaves a tombstone, so that an old file does not bring it back, and can be undeleted."""
    with store.writing():
        wanted = list(dict.fromkeys(resolve(store, id) for id in ids))
        records = store.get(wanted)
        bury(store, records, reason=reason)
        for record in records:
            store.log("delete", record.id, record.scope, {"reason": reason} if reason else {})
    return wanted


def bury(store: Store, records: Sequence[Record], *, deed: str = "delete", reason: str = "") -> None:
    """Remove records, each with a tombstone and what `undelete` needs to bring it back."""
    at = now()
    for record in records:
        origin = store.origin(record.id)
        before = plain(record)
        store.remember([Revision(kind="record", key=record.id, at=at, deed=deed, before=before, origin=origin)])
        store.put([_tombstone(record, at, reason)])
    store.remove([record.id for record in records])


def _tombstone(record: Record, at: int, reason: str) -> Tombstone:
    return Tombstone(
        id=record.id,
        content_hash=content_hash(record.content).hex(),
        kind=record.kind,
        scope=record.scope,
        deleted_at=at,
        reason=reason,
    )


def undelete(store: Store, id: str) -> Record:
    """Bring a deleted memory back as it was, or one that its source had marked as deleted."""
    with store.writing():
        id = _buried_id(store, id.strip().lower())
        if store.known([id]):
            record = store.get([id])[0]
            return (
                update(store, id, {"status": DEFAULT_STATUS}, deed="undelete") if record.status == DELETED else record
            )
        tombstone = store.thing(Tombstone, id)
        past = [revision for revision in store.revisions(key=id) if revision.kind == "record" and revision.before]
        if tombstone is None or not past:
            raise NotFound("deleted memory", id, "`memglot audit log` shows what was deleted here")
        record = msgspec.convert(past[-1].before, Record)
        store.add([record], past[-1].origin)
        store.take([tombstone])
        store.log("undelete", id, record.scope, {})
        return record


def _buried_id(store: Store, text: str) -> str:
    """The id of a deleted memory, from an unambiguous beginning of it; any other text as it is."""
    if is_id(text) or len(text) < _SHORTEST:
        return text
    found = [tombstone.id for tombstone in store.things(Tombstone) if tombstone.id.startswith(text)]
    if len(found) > 1:
        raise Ambiguous(text, found[:4])
    return found[0] if found else text


def link(store: Store, subject: str, predicate: str, object: str, *, weight: float | None = None) -> Relation:
    """Relate two memories, or entities given as `entity:<id>`. The same relation again changes nothing."""
    check_text(predicate, "predicate")
    check_value(weight, "weight")
    if not predicate.strip():
        raise empty_text("predicate")
    with store.writing():
        ends = [end_of(store, text) for text in (subject, object)]
        for relation in store.things(Relation, [ends[0].id]):
            if (relation.predicate, relation.object) == (predicate, ends[1]):
                return relation if weight in (None, relation.weight) else _reweigh(store, relation, weight)
        at = now()
        relation = Relation(
            id=Minter(at // 1000).mint(),
            subject=ends[0],
            predicate=predicate,
            object=ends[1],
            weight=weight,
            created_at=at,
            updated_at=at,
        )
        store.put([relation])
        store.log("link", relation.id, relation.scope, plain(relation))
    return relation


def _reweigh(store: Store, relation: Relation, weight: float | None) -> Relation:
    changed = msgspec.structs.replace(relation, weight=weight, updated_at=now())
    store.put([changed])
    before = plain(relation)
    store.remember([Revision(kind="relation", key=relation.id, at=changed.updated_at, deed="link", before=before)])
    store.log("link", relation.id, relation.scope, plain(changed))
    return changed


def unlink(store: Store, subject: str, predicate: str, object: str) -> int:
    """Take relations away; tells how many there were."""
    with store.writing():
        ends = [end_of(store, text) for text in (subject, object)]
        found = [
            relation
            for relation in store.things(Relation, [ends[0].id])
            if (relation.predicate, relation.object) == (predicate, ends[1])
        ]
        if not found:
            raise NotFound("relation", f"{subject} {predicate} {object}", "`memglot relations` lists them")
        store.take(found)
        at, kind = now(), "relation"
        store.remember([Revision(kind=kind, key=one.id, at=at, deed="unlink", before=plain(one)) for one in found])
        for relation in found:
            store.log("unlink", relation.id, relation.scope, plain(relation))
    return len(found)


def end_of(store: Store, text: str) -> End:
    """An end of a relation: a memory by its id, or an entity as `entity:<id>`."""
    if text.startswith("entity:"):
        id = text.removeprefix("entity:")
        for key in (text, id):
            if store.thing(Entity, key) is not None:
                return End(key, entity=True)
        raise NotFound("entity", id, "`memglot entities` lists them")
    return End(resolve(store, text))
