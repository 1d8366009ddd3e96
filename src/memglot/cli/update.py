"""`memglot update`."""

from __future__ import annotations

from typing import Any

import click

from memglot.cli.move import print_count
from memglot.cli.record_fields import field_options, fields_of, text_argument
from memglot.cli.session import Session, command
from memglot.display import plural
from memglot.results import record_value


@command(
    "update",
    examples="""
    memglot update 0194a000-0006 --tag database --tag decision
    memglot update 0194a000-0006 --content - < new-text.md
    memglot update 0194a000-0006 0194a000-0007 --add-tag reviewed --status stale
    memglot update --where "tag:todo before:2024" --remove-tag todo --tree archive --dry-run
    """,
)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--where", metavar="FILTER", help="Change all memories that match, such as `tag:old tree:work`.")
@click.option("--content", help="New text; `-` reads it from standard input.")
@field_options
@click.option("--add-tag", "add_tags", multiple=True, metavar="TAG", help="Tag to add; can be repeated.")
@click.option("--remove-tag", "remove_tags", multiple=True, metavar="TAG", help="Tag to remove; can be repeated.")
@click.option("--status", help="Status, such as `active` or `stale`.")
@click.option("--dry-run", is_flag=True, help="Show what would change without writing anything.")
@click.option("--yes", "-y", is_flag=True, help="Change all memories that match without asking.")
def update(
    session: Session,
    ids: tuple[str, ...],
    where: str | None,
    content: str | None,
    add_tags: tuple[str, ...],
    remove_tags: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    **options: Any,
) -> None:
    """Change fields of memories.

    Each option replaces the old value of its field. `--tag ""` removes all tags. FILTER has the operators of a search:
    tag:x, -tag:x, tree:a.b, kind:x, scope:x, status:x, before:2024-05 and after:7d.
    """
    changes: Any = fields_of(options)
    if changes.get("tags") == [""]:
        changes["tags"] = []
    _check(ids, where, content)
    if content is not None:
        changes["content"] = text_argument(content)
    if not (changes or add_tags or remove_tags):
        raise click.UsageError("nothing to change: give at least one field")
    tags: dict[str, Any] = {"add_tags": add_tags, "remove_tags": remove_tags}
    if len(ids) == 1 and not dry_run:
        with session.memory(write=True) as memory:
            record = memory.update(ids[0], **tags, **changes)
        session.print_result(record_value(record), f"updated {record.id}")
        return
    with session.memory(write=not dry_run) as memory:
        if where is not None and not dry_run:
            count = memory.update_many(where=where, changes=changes, **tags, dry_run=True)
            _ask(session, count, yes=yes or not count)
        with session.counting("updating") as progress:
            count = memory.update_many(*ids, where=where, changes=changes, **tags, dry_run=dry_run, progress=progress)
    print_count(session, "would update" if dry_run else "updated", count, dry_run)


def _check(ids: tuple[str, ...], where: str | None, content: str | None) -> None:
    """Raise `UsageError` if it is not clear what to change."""
    if bool(ids) == (where is not None):
        raise click.UsageError(
            "give ids, or `--where` with a filter" + (", not both" if ids else " such as `tag:kitchen`")
        )
    if content is not None and len(ids) != 1:
        raise click.UsageError("`--content` would give several memories the same text: give one id")


def _ask(session: Session, count: int, *, yes: bool) -> None:
    session.confirm(
        f"Update {plural(count, 'memory')}?",
        yes=yes,
        refusal=f"this would update {plural(count, 'memory')}",
        hint="add `--yes` to update them, or `--dry-run` to count them",
    )
