"""Entities: the people, libraries, places and other things that memories mention."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

import msgspec

from memglot.display import quoted
from memglot.editing.operations import created, recorded
from memglot.merging.registers import next_time
from memglot.model import DEFAULT_SCOPE, ENTITY_TYPES, Entity, check_text, now, to_builtins
from memglot.model.record_errors import empty_text
from memglot.store.contract import Revision, Store


def entities(store: Store, query: str | None = None, type: str | None = None) -> Iterator[Entity]:
    """Yield entities of a type whose name, alias or id contains the query; case does not matter."""
    wanted = _folded(query or "")
    for entity in store.things.select(Entity):
        if type is not None and _folded(entity.type) != _folded(type):
            continue
        if any(wanted in _folded(text) for text in (entity.name, *entity.aliases, entity.id)):
            yield entity


def entity_id(name: str, type: str) -> str:
    """Return the id of an entity: `entity:library:solid_start`."""
    return f"entity:{type}:" + "".join("_" if letter.isspace() else letter for letter in name.strip().lower())


def add_entity(store: Store, name: str, type: str, aliases: Sequence[str] = (), scope: str | None = None) -> Entity:
    """Add an entity, or add aliases to an existing one; its mentions stay unchanged."""
    name, type = name.strip(), type.strip()
    for field, text in (("name", name), ("type", type), *(("alias", alias.strip()) for alias in aliases)):
        if not check_text(text, field):
            raise empty_text(field)
    check_text(scope or "", "scope")
    with recorded(store, "entity", name=name):
        before = store.things.get(Entity, entity_id(name, type))
        at = now()
        if before is None:
            found = Entity(id=entity_id(name, type), name=name, type=type, scope=DEFAULT_SCOPE, first_seen=at)
        else:
            found = msgspec.structs.replace(before)
        # Another spelling of the name becomes an alias.
        names = dict.fromkeys([*found.aliases, name, *(alias.strip() for alias in aliases)])
        found.aliases = [alias for alias in names if alias != found.name]
        found.scope = found.scope if scope is None else scope
        if before is not None and found == before:
            return before
        seen = found.last_seen or 0
        # An edit must win even if a clock ran ahead somewhere; aliases are merged whatever the time.
        found.last_seen = next_time(seen) if before is not None and found.scope != before.scope else max(at, seen)
        if before is not None:
            origin = store.things.batches_of([before])[0]
            revision = Revision(
                kind="entity", key=found.id, at=at, action="entity", before=to_builtins(before), previous_batch=origin
            )
            store.history.add_revisions([revision])
        else:
            store.history.add_revisions(created("entity", [found.id], at, "entity"))
        store.things.put([found])
        store.history.log("entity", found.id, found.scope, {"name": found.name, "aliases": found.aliases})
    return found


def type_notes(type: str) -> list[str]:
    """Return a note about a type that other tools do not know."""
    return (
        []
        if type.strip() in ENTITY_TYPES
        else [f"{quoted(type.strip())} is not a type that other tools know; they know {', '.join(ENTITY_TYPES)}"]
    )


def _folded(text: str) -> str:
    """Return a text for comparison, without case and in one Unicode form."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
