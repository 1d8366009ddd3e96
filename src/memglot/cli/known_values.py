"""Completion in the shell: ids, tags, paths of the tree, scopes and kinds that are in the store, and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import click
from click.shell_completion import CompletionItem

from memglot.cli.session import Session
from memglot.display import excerpt
from memglot.errors import MemglotError
from memglot.memory import Memory
from memglot.settings import SETTINGS

Found = Iterable[tuple[str, str]]
"""Values, each with a text that explains it; some shells show it."""
_MOST = 50
_NEWEST = 1_000
"""Number of memories whose ids are completed from their ends; ids that begin with a text are found in the index."""
_STATUSES = ("active", "stale", "superseded", "open", "closed", "deleted")


def complete_values(name: str, command: click.Command) -> None:
    """Let the shell complete the values of a command's parameters."""
    for param in command.params:
        find = _BY_COMMAND.get((name, param.name or "")) or _BY_OPTION.get(param.name or "")
        is_own = (name, param.name or "") in _BY_COMMAND
        if find is not None and (is_own or isinstance(param, click.Option)) and param.type is click.STRING:
            param.type = _KnownValue(find)
    if isinstance(command, click.Group) and name in ("config", "sync", "tags"):
        for inner, found in command.commands.items():
            complete_values(f"{name} {inner}", found)


class _KnownValue(click.types.StringParamType):
    """A text for which the store, or memglot itself, knows values."""

    def __init__(self, find: Callable[[Session, str], Found]) -> None:
        self._find = find

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            found = list(self._find(ctx.find_object(Session) or Session(), incomplete))
        except (MemglotError, OSError):
            # A shell that completes has no place for errors.
            return []
        items = [CompletionItem(value, help=text) for value, text in found if value.startswith(incomplete)]
        return items[:_MOST] if len(items) > _MOST else items


def _ids(session: Session, incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield short ids of the newest memories, and ids that begin with a text."""
    from memglot.editing.short_ids import short_ids

    with Memory.open(session.store, write=False) as memory:
        newest = list(memory.list(newest_first=True, limit=_NEWEST if incomplete else _MOST))
        shown = [record for record in newest if not incomplete or record.id[-8:].startswith(incomplete)][:_MOST]
        short = short_ids(memory.store, [record.id for record in shown])
        yield from ((short[record.id], excerpt(record.title or record.content)) for record in shown)
        if incomplete:
            for record in memory.store.records.get(memory.store.records.ids_starting_with(incomplete, _MOST)):
                yield record.id, excerpt(record.title or record.content)


def _deleted_ids(session: Session, incomplete: str) -> Iterator[tuple[str, str]]:
    with Memory.open(session.store, write=False) as memory:
        for one in memory.deleted(limit=_MOST)[0]:
            yield one.id, excerpt(one.record.content) if one.record is not None else ""


def _tags(session: Session, incomplete: str) -> Iterator[tuple[str, str]]:
    with Memory.open(session.store, write=False) as memory:
        yield from ((one.tag, f"{one.count:,}") for one in memory.tags())


def _paths(session: Session, incomplete: str) -> Iterator[tuple[str, str]]:
    with Memory.open(session.store, write=False) as memory:
        yield from ((branch.path, f"{branch.total:,}") for branch in memory.tree() if branch.path)


def _scopes(session: Session, incomplete: str) -> Iterator[tuple[str, str]]:
    with Memory.open(session.store, write=False) as memory:
        yield from ((one.scope, f"{one.memories:,}") for one in memory.scopes())


def _kinds(session: Session, incomplete: str) -> Iterator[tuple[str, str]]:
    with Memory.open(session.store, write=False) as memory:
        yield from ((kind, f"{count:,}") for kind, count in memory.store.records.count_by("kind"))


def _statuses(session: Session, incomplete: str) -> Found:
    return [(status, "") for status in _STATUSES]


def _settings(session: Session, incomplete: str) -> Found:
    return [(one.name, one.help) for one in SETTINGS]


_BY_OPTION: dict[str, Callable[[Session, str], Found]] = {
    "tree": _paths,
    **dict.fromkeys(("tags", "without_tags", "add_tags", "remove_tags"), _tags),
    "scope": _scopes,
    "kind": _kinds,
    "status": _statuses,
}
"""Options that have these values wherever they are."""
_BY_COMMAND: dict[tuple[str, str], Callable[[Session, str], Found]] = {
    **dict.fromkeys(
        [
            *((name, "id") for name in ("get", "edit", "history", "relations", "chain", "conflicts")),
            *((name, "ids") for name in ("update", "delete")),
            *((name, end) for name in ("link", "unlink") for end in ("subject", "object")),
            *(("supersede", which) for which in ("newer", "older")),
        ],
        _ids,
    ),
    ("undelete", "ids"): _deleted_ids,
    **dict.fromkeys(
        [*((name, "path") for name in ("tree", "delete-tree")), *((n, "source") for n in ("move", "copy"))], _paths
    ),
    **dict.fromkeys([("move", "target"), ("copy", "target")], _paths),
    **dict.fromkeys([("tags rename", "old"), ("tags rename", "new")], _tags),
    **dict.fromkeys([(f"config {name}", "name") for name in ("get", "set", "unset")], _settings),
    ("scope", "scopes"): _scopes,
}
"""Arguments, by command and name."""
