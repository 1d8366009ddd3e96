"""Add and remove relations between memories and entities."""

import msgspec

from memglot.display import quoted
from memglot.editing.memory import resolve_id
from memglot.editing.operations import created, recorded
from memglot.errors import NotFound
from memglot.merging.registers import next_time
from memglot.model import (
    PREDICATES,
    Endpoint,
    Entity,
    Relation,
    Tombstone,
    check_text,
    check_value,
    derive_id,
    now,
    to_builtins,
)
from memglot.model.record_errors import empty_text
from memglot.store.contract import Revision, Store


def link(store: Store, subject: str, predicate: str, object: str, *, weight: float | None = None) -> Relation:
    """Relate two memories, or entities given as `entity:<id>`; an existing relation stays unchanged."""
    check_text(predicate, "predicate")
    check_value(weight, "weight")
    if not predicate.strip():
        raise empty_text("predicate")
    with recorded(store, "link", name=f"{subject} {predicate} {object}"):
        ends = [parse_endpoint(store, text) for text in (subject, object)]
        for relation in store.things.select(Relation, [ends[0].id]):
            if (relation.predicate, relation.object) == (predicate, ends[1]):
                return relation if weight in (None, relation.weight) else _set_weight(store, relation, weight)
        # The same relation gets the same id on every machine.
        id = derive_id("memglot-relation", "", "\0".join((_text(ends[0]), predicate, _text(ends[1]))))
        tombstone = store.things.get(Tombstone, id)
        at = next_time(tombstone.deleted_at) if tombstone is not None else now()
        store.things.remove([tombstone] if tombstone is not None else [])
        relation = Relation(
            id=id,
            subject=ends[0],
            predicate=predicate,
            object=ends[1],
            weight=weight,
            created_at=at,
            updated_at=at,
        )
        store.things.put([relation])
        store.history.add_revisions(created("relation", [id], at, "link"))
        store.history.log("link", relation.id, relation.scope, to_builtins(relation))
    return relation


def predicate_notes(predicate: str) -> list[str]:
    """Return a note about a predicate that other tools do not know."""
    return (
        []
        if predicate in PREDICATES
        else [f"{quoted(predicate)} is not a predicate that other tools know; they know {', '.join(PREDICATES)}"]
    )


def _set_weight(store: Store, relation: Relation, weight: float | None) -> Relation:
    changed = msgspec.structs.replace(relation, weight=weight, updated_at=next_time(relation.updated_at))
    store.things.put([changed])
    before = to_builtins(relation)
    store.history.add_revisions(
        [Revision(kind="relation", key=relation.id, at=changed.updated_at, action="link", before=before)]
    )
    store.history.log("link", relation.id, relation.scope, to_builtins(changed))
    return changed


def unlink(store: Store, subject: str, predicate: str, object: str) -> int:
    """Remove relations and return their number; each leaves a tombstone, so that no old file restores it."""
    with recorded(store, "unlink", name=f"{subject} {predicate} {object}"):
        ends = [parse_endpoint(store, text) for text in (subject, object)]
        found = [
            relation
            for relation in store.things.select(Relation, [ends[0].id])
            if (relation.predicate, relation.object) == (predicate, ends[1])
        ]
        if not found:
            raise NotFound("relation", f"{subject} {predicate} {object}", "run `memglot relations` to list them")
        store.things.remove(found)
        at, kind = now(), "relation"
        store.history.add_revisions(
            [Revision(kind=kind, key=one.id, at=at, action="unlink", before=to_builtins(one)) for one in found]
        )
        for relation in found:
            deleted_at = max(at, relation.updated_at)
            store.things.put([Tombstone(id=relation.id, content_hash="", kind=kind, deleted_at=deleted_at)])
            store.history.log("unlink", relation.id, relation.scope, to_builtins(relation))
    return len(found)


def parse_endpoint(store: Store, text: str) -> Endpoint:
    """Return the endpoint of a relation: a memory by its id, or an entity as `entity:<id>`."""
    if text.startswith("entity:"):
        id = text.removeprefix("entity:")
        for key in (text, id):
            if store.things.get(Entity, key) is not None:
                return Endpoint(key, entity=True)
        raise NotFound("entity", id, "run `memglot entities` to list them")
    return Endpoint(resolve_id(store, text))


def _text(end: Endpoint) -> str:
    return f"entity:{end.id}" if end.entity else end.id
