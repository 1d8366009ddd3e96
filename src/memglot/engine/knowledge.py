"""Knowledge: the part of `Memory` that knows of scopes, identities, entities, relations and what replaced what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memglot.engine import entities, identity, links, scopes, supersede
from memglot.engine.upkeep import Upkeep
from memglot.model import DEFAULT_SCOPE, Document, Entity, Relation, Supersession


class Knowledge(Upkeep):
    """What `Memory` knows beside memories."""

    def scopes(self) -> Sequence[scopes.Scope]:
        """Every scope, with the number of its memories and whether it is sensitive."""
        return scopes.scopes(self.store)

    def mark_sensitive(self, *names: str) -> Sequence[str]:
        """Mark scopes as sensitive, so that exports leave them out; tells which were not."""
        return self._mark(names, sensitive=True)

    def mark_normal(self, *names: str) -> Sequence[str]:
        """Take the mark of sensitive scopes away; tells which had it."""
        return self._mark(names, sensitive=False)

    def _mark(self, names: Sequence[str], *, sensitive: bool) -> Sequence[str]:
        changed = scopes.mark_all(self.store, names, sensitive=sensitive)
        # What is sensitive now must not be readable beside the store, also where a crash left it there.
        self.mirror_conflicts()
        return changed

    def identity(self, scope: str = DEFAULT_SCOPE) -> Document | None:
        """Who the user, or another scope, is said to be; `None` where nobody said so."""
        return identity.identity(self.store, scope)

    def set_identity(self, text: str, scope: str = DEFAULT_SCOPE) -> Document:
        """Say who somebody is; what was said before stays in `identity_history`."""
        return identity.set_identity(self.store, text, scope)[0]

    def identity_history(self, scope: str = DEFAULT_SCOPE) -> Sequence[Document]:
        """Everything that was said to be the identity, the present text last."""
        return identity.history(self.store, scope)

    def entities(self, query: str | None = None, *, type: str | None = None) -> Iterator[Entity]:
        """The entities that memories mention: all, or those whose name, alias or id contains the query."""
        return entities.entities(self.store, query, type)

    def add_entity(self, name: str, type: str, *, aliases: Sequence[str] = (), scope: str | None = None) -> Entity:
        """Keep an entity under `entity:<type>:<name>`; one that is there gets the new aliases."""
        return entities.add_entity(self.store, name, type, [aliases] if isinstance(aliases, str) else aliases, scope)

    def relations(self, id: str | None = None, *, predicate: str | None = None) -> Iterator[Relation]:
        """All relations, or those from and to one memory or `entity:<id>`; with one predicate, only those."""
        return (found for found in self._relations(id) if predicate in (None, found.predicate))

    def _relations(self, id: str | None) -> Iterator[Relation]:
        if id is None:
            yield from self.store.things(Relation)
            return
        end = links.end_of(self.store, id).id
        yield from self.store.things(Relation, [end])
        yield from (found for found in self.store.mentions(Relation, end) if found.subject.id != end)

    def supersede(self, newer: str, older: str, *, reason: str = "", entity: str | None = None) -> Supersession:
        """Say that a memory takes the place of another, which gets the status `superseded`."""
        found, _ = supersede.supersede(self.store, newer, older, reason=reason, entity=entity)
        self.mirror_conflicts(found.newer, found.older)
        return found

    def chain(self, id: str | None = None) -> Sequence[Supersession]:
        """What took the place of what: everything, or the whole chain of one memory, the earliest decision first."""
        return supersede.chain(self.store, id)
