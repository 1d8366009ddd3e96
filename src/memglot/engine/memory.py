"""Memory: the Python face of everything memglot does with a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from memglot.engine import edit, links, tree
from memglot.engine import search as searching
from memglot.engine.arguments import CHANGEABLE, choice, make_tags, make_temporal, whole_number
from memglot.engine.exchange import Exchange
from memglot.engine.hits import Results
from memglot.engine.meaning import Embedded
from memglot.errors import AlreadyThere, NoStore, sensitive_memory, sensitive_scope
from memglot.model import Record, Relation
from memglot.store.contract import Store
from memglot.store.location import open_store
from memglot.store.sensitive import Hiding


class Memory(Exchange):
    """One store of memories. Use it as a context manager, or call `close()`.

    Every optional argument is named as the flag of the command line. Errors are `memglot.MemglotError`; their
    text says what happened, their `hint` what to do.
    """

    def __init__(self, store: Store | None, *, sensitive: bool = True) -> None:
        self._store = store
        self._sensitive = sensitive

    @classmethod
    def open(cls, url: str | Path | None = None, *, write: bool = True, sensitive: bool = True) -> Memory:
        """Open a store: a path, `sqlite:///path` or `:memory:`; without one, `$MEMGLOT_STORE` or the user's own.

        With `write=False` the store must exist and is never changed. With `sensitive=False` memories of sensitive
        scopes are neither shown, found, counted nor exported, and none can be added, changed or deleted.
        """
        return cls(open_store(url, write=write), sensitive=sensitive)

    @classmethod
    def open_for_dry_run(cls, url: str | Path | None = None) -> Memory:
        """Open a store for `import_from(dry_run=True)`, which needs none to exist and creates none."""
        try:
            return cls.open(url, write=False)
        except NoStore:
            return cls(None)

    @property
    def notes(self) -> list[str]:
        """What a person should know about the store, such as an index that is not complete."""
        return self._store.notes if self._store else []

    def close(self) -> None:
        """Let go of the store."""
        if self._store is not None:
            self._store.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # One memory

    def add(
        self,
        content: str,
        *,
        id: str = "",
        title: str | None = None,
        kind: str = "semantic",
        scope: str = "user",
        tree: str = "",
        tags: Sequence[str] = (),
        meta: dict[str, Any] | None = None,
        temporal: Any = None,
        strength: float | None = None,
        confidence: float | None = None,
        source: dict[str, Any] | None = None,
    ) -> Record:
        """Keep a new memory and return it with its id. `source` says who it is from, such as `{"tool": "codex"}`."""
        record = Record(
            id=id,
            content=content,
            title=title,
            kind=kind,
            scope=scope,
            tree=tree,
            tags=make_tags(tags),
            meta=meta or {},
            temporal=make_temporal(temporal),
            strength=strength,
            confidence=confidence,
            source=source or {},
        )
        hidden = self._hidden()
        if scope in hidden:
            raise sensitive_scope(scope)
        if id and hidden and Hiding(self.store, hidden).ids([id.strip().lower()]):
            # Also where it was deleted: to take its id would undo that.
            raise AlreadyThere(id)
        added = edit.add(self.store, record)
        self.meaning.embed_new([added.id])
        return added

    def get(self, id: str) -> Record:
        """The memory with this id, or with an id that begins so."""
        record = edit.get(self.store, id)
        if record.scope in self._hidden():
            raise sensitive_memory(id)
        return record

    def _check_shown(self, *ids: str) -> None:
        for id in ids if self._hidden() else ():
            self.get(id)

    def list(
        self, *, limit: int | None = None, offset: int = 0, newest_first: bool = False, **filters: Any
    ) -> Iterator[Record]:
        """Memories by time. Filters: `tree tags without_tags kind scope status meta source`, `since until updated_since
        updated_until`, and `temporal_` with `contains overlaps within before after`; all that are given must hold."""
        return self.store.records(self._filter(filters), newest_first=newest_first, limit=limit, offset=offset)

    def count(self, **filters: Any) -> int:
        """How many memories match the filters of `list`."""
        return self.store.count(self._filter(filters))

    def update(self, id: str, **changes: Any) -> Record:
        """Change fields of a memory, such as `content`, `tree`, `tags` or `meta`; each replaces the old value."""
        if "tags" in changes:
            changes["tags"] = make_tags(changes["tags"])
        if "temporal" in changes:
            changes["temporal"] = make_temporal(changes["temporal"])
        for field in changes:
            choice("field", field, CHANGEABLE)
        self._check_shown(id)
        if changes.get("scope") in self._hidden():
            raise sensitive_scope(changes["scope"])
        record = edit.update(self.store, id, changes)
        self.meaning.embed_new([record.id])
        self.mirror_conflicts(record.id)
        return record

    def delete(self, *ids: str, reason: str = "") -> Sequence[str]:
        """Delete memories; `undelete` brings one back."""
        self._check_shown(*ids)
        gone = edit.delete(self.store, ids, reason=reason)
        self.mirror_conflicts(*gone)
        return gone

    def undelete(self, id: str) -> Record:
        """Bring a deleted memory back."""
        record = edit.undelete(self.store, id)
        self.meaning.embed_new([record.id])
        self.mirror_conflicts(record.id)
        return record

    def link(self, subject: str, predicate: str, object: str, *, weight: float | None = None) -> Relation:
        """Relate two memories, or entities given as `entity:<id>`."""
        return links.link(self.store, subject, predicate, object, weight=weight)

    def unlink(self, subject: str, predicate: str, object: str) -> int:
        """Take a relation away."""
        return links.unlink(self.store, subject, predicate, object)

    # Many

    def search(
        self,
        query: str,
        *,
        limit: int | None = 10,
        offset: int = 0,
        mode: str = "hybrid",
        meaning: str | None = None,
        grep: str | None = None,
        context: int = 0,
        budget: int | None = None,
        touch: bool = False,
        **filters: Any,
    ) -> Results:
        """The memories that answer a question, best first. Modes: `hybrid`, `fulltext`, `semantic`.

        `"a phrase"` must be there as written, `-word` must not; `tag:x kind:x tree:a.b scope:x status:x`,
        `before:2024-05` and `after:2024` filter, as the filters of `list` do. Each hit says why it was found.
        `meaning` is another wording, to compare by meaning while `query` is looked for by its words.
        `context` brings so many memories before and after each hit; `budget` packs them into the `block` of the
        result, of at most so many tokens; `touch` counts that they were used.
        """
        choice("mode", mode, searching.MODES)
        for name, value in {"limit": limit, "offset": offset, "context": context, "budget": budget}.items():
            whole_number(name, value)
        wanted = searching.Wanted(
            mode=mode,
            limit=-1 if limit is None else limit,
            offset=max(offset, 0),
            meaning=meaning,
            grep=grep,
            context=context,
            budget=budget,
            touch=touch,
        )
        return searching.search(self.store, self.meaning, query, self._filter(filters), wanted)

    def embed(
        self, model: str | None = None, *, again: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> Embedded:
        """Let memories without a vector be found by meaning, too; `again` makes all vectors anew.

        `model` names another embedder, whose vectors take the place of all others.
        """
        return self.meaning.embed(model, again=again, progress=progress)

    def tree(self, path: str = "", *, depth: int | None = None) -> Sequence[tree.Branch]:
        """The tree at and below a path, with counts."""
        return tree.branches(self.store, path, depth, self._filter({}))

    def move(self, source: str, target: str, *, dry_run: bool = False) -> int:
        """Move a branch of the tree; tells how many memories are on it."""
        count = tree.move(self.store, source, target, dry_run=dry_run, among=self._filter({}))
        self.mirror_conflicts()
        return count

    def copy(self, source: str, target: str, *, dry_run: bool = False) -> int:
        """Copy a branch of the tree under new ids."""
        return tree.copy(self.store, source, target, dry_run=dry_run)

    def delete_tree(self, path: str, *, dry_run: bool = False, reason: str = "") -> int:
        """Delete a branch of the tree."""
        count = tree.delete_tree(self.store, path, dry_run=dry_run, reason=reason, among=self._filter({}))
        self.mirror_conflicts()
        return count
