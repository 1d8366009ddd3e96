"""Tags: count and rename them; change fields of many memories at once."""

from collections.abc import Sequence
from typing import Any

import msgspec

from memglot.arguments import EDITABLE_FIELDS, check_choice, make_tags, make_temporal
from memglot.editing.batches import ShowCount, change_in_batches, ids_of
from memglot.editing.memory import edited, resolve_id, update_all
from memglot.editing.operations import Recorder
from memglot.errors import NotFound, UsageError
from memglot.model import Record, check_text
from memglot.store.contract import Store
from memglot.store.query import Filter


class TagCount(msgspec.Struct):
    """A tag, and the number of memories that have it."""

    tag: str
    count: int


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What to change in each memory: new values of fields, tags to add and to remove."""

    fields: dict[str, Any] = {}
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    renamed_tags: dict[str, str] = {}

    @property
    def names(self) -> list[str]:
        """The names of the fields that may change."""
        has_tags = self.add_tags or self.remove_tags or self.renamed_tags
        return sorted({*self.fields, *(["tags"] if has_tags else [])})

    def of(self, record: Record) -> dict[str, Any]:
        """Return the new values of the fields of one memory."""
        if not (self.add_tags or self.remove_tags or self.renamed_tags):
            return self.fields
        tags = [self.renamed_tags.get(tag, tag) for tag in self.fields.get("tags", record.tags)]
        tags = [tag for tag in tags if tag not in self.remove_tags]
        return {**self.fields, "tags": list(dict.fromkeys([*tags, *self.add_tags]))}


def make_changes(fields: dict[str, Any], add_tags: Sequence[str] = (), remove_tags: Sequence[str] = ()) -> Changes:
    """Return changes from arguments as callers write them; raise `UnknownChoice` for a field that cannot be edited."""
    for field in fields:
        check_choice("field", field, EDITABLE_FIELDS)
    if "tags" in fields:
        fields["tags"] = make_tags(fields["tags"])
    if "temporal" in fields:
        fields["temporal"] = make_temporal(fields["temporal"])
    if not all(tag.strip() for tag in make_tags(add_tags)):
        raise UsageError("the tag to add is empty")
    return Changes(fields=fields, add_tags=tuple(make_tags(add_tags)), remove_tags=tuple(make_tags(remove_tags)))


def count_tags(store: Store, filter: Filter = Filter()) -> list[TagCount]:
    """Return the tags of the memories that match a filter, the most common first."""
    found = [TagCount(tag, count) for tag, count in store.records.count_by("tag", filter)]
    return sorted(found, key=lambda one: (-one.count, one.tag))


def rename_tag(store: Store, old: str, new: str, *, dry_run: bool = False, progress: ShowCount | None = None) -> int:
    """Rename a tag in all memories that have it, and return their number. A memory that has both keeps the new one."""
    if not check_text(new, "tags").strip():
        raise UsageError(
            "the new tag is empty", f"remove a tag with `memglot update --where tag:{old} --remove-tag {old}`"
        )
    wanted = Filter(tags=(old,))
    if not store.records.count(wanted):
        raise NotFound("tag", old, "run `memglot tags` to list them")
    return update_many(store, wanted, Changes(renamed_tags={old: new}), dry_run=dry_run, progress=progress)


def update_many(
    store: Store,
    wanted: Filter | Sequence[str],
    changes: Changes,
    *,
    dry_run: bool = False,
    progress: ShowCount | None = None,
) -> int:
    """Change the memories with some ids, or all that match a filter; return the number of those that differ afterwards.

    Large numbers are changed in batches; after an interruption, the same call changes the rest.
    """

    def differs(record: Record) -> bool:
        return bool(edited(record, changes.of(record))[1])

    def change(records: list[Record]) -> int:
        edits = [(record, changes.of(record)) for record in records if differs(record)]
        update_all(store, edits, action="update")
        return len(edits)

    recorder = Recorder(store, "update", {"fields": changes.names})
    if isinstance(wanted, Filter):
        found = (record for record in store.records.select(wanted) if differs(record))
        if dry_run:
            return sum(1 for _ in found)
        return change_in_batches(store, ids_of(found), change, progress, recorder)
    ids = list(dict.fromkeys(resolve_id(store, id) for id in wanted))
    if dry_run:
        return sum(map(differs, store.records.get(ids)))
    # All of them, or none: a bad value must not leave half of the given memories changed.
    with recorder.transaction():
        return change_in_batches(store, ids, change, progress)
