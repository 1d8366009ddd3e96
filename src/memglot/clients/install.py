"""Install memglot in a client's configuration, update it there, and uninstall it."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from memglot.clients.document import ConfigDocument, apply_edit, parse_document
from memglot.clients.errors import NOTHING_CHANGED, keeps_changing, unsafe_edit
from memglot.clients.files import missing_folders, read, real_path, remove, write
from memglot.clients.receipts import Receipt, Receipts
from memglot.clients.registry import CLIENTS, Client, ServerCommand, ServerEntry, starts_memglot
from memglot.clients.text_edit import TextEdit, unified_diff
from memglot.display import quoted
from memglot.errors import UnknownChoice, UsageError
from memglot.settings import SystemPaths, system_paths

Action: TypeAlias = Literal["added", "updated", "unchanged", "removed", "absent"]
_Side: TypeAlias = Literal["old", "new"]
NAME = "memglot"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ATTEMPTS = 4


class ConfigChange(NamedTuple):
    """A change of a client's configuration, made or planned."""

    client: Client
    path: Path
    name: str
    action: Action
    entry: dict[str, Any] | None = None
    """Our entry after the change."""
    before: str | None = None
    """The text of the file before; None if it did not exist."""
    after: str | None = None
    diff: str = ""
    """The changed lines, without anything of other servers."""
    notes: tuple[str, ...] = ()
    """Notes for the user."""
    next: str = ""
    """What the user should do next."""


class _Plan(NamedTuple):
    """A change and its receipt; carried out only if the file still has the content it was planned for."""

    change: ConfigChange
    data: bytes | None
    receipt: Receipt | None = None
    folders: tuple[Path, ...] = ()
    shared: bool = False
    """Whether the file is a project's."""


def install(
    client: str,
    server: ServerCommand,
    *,
    name: str = NAME,
    project: Path | None = None,
    dry_run: bool = False,
    force: bool = False,
    system: SystemPaths | None = None,
) -> ConfigChange:
    """Add `server` to a client's configuration, for the user or for one project.

    An existing entry that starts memglot is updated; any other entry of that name is replaced only with `force`.
    Raise `UsageError`, `Unreadable` or `CannotWrite` without changing anything.
    """
    system = system or system_paths()
    found, path = _locate(client, name, project, system)
    receipts = Receipts(system.data)

    def attempt() -> ConfigChange | None:
        plan = _plan_install(found, path, name, server, force, receipts.get(path, name))
        plan = plan._replace(shared=project is not None)
        if project is not None and plan.change.action == "added":
            plan = plan._replace(
                change=plan.change._replace(
                    notes=("this file contains paths of your machine; others who share the project need their own",)
                )
            )
        if dry_run or plan.change.action == "unchanged":
            return plan.change
        return plan.change if _carry_out(plan, receipts) else None

    return _retry(attempt, path)


def uninstall(
    client: str,
    *,
    name: str = NAME,
    project: Path | None = None,
    dry_run: bool = False,
    system: SystemPaths | None = None,
) -> ConfigChange:
    """Remove our entry from a client's configuration, which is then as it was before `install`.

    Later changes by others are kept. Raise `UsageError` if the entry does not start memglot, `Unreadable` or
    `CannotWrite`, without changing anything.
    """
    system = system or system_paths()
    found, path = _locate(client, name, project, system)
    receipts = Receipts(system.data)

    def attempt() -> ConfigChange | None:
        plan = _plan_uninstall(found, path, name, receipts.get(path, name))
        if dry_run:
            return plan.change
        if plan.change.action == "removed" and not _carry_out(plan, receipts):
            return None
        try:
            receipts.delete(path, name)
        except OSError as error:
            note = f"cannot remove memglot's own note about it ({error.strerror}); run the same command again"
            return plan.change._replace(notes=(*plan.change.notes, note))
        return plan.change

    return _retry(attempt, path)


def _locate(client: str, name: str, project: Path | None, system: SystemPaths) -> tuple[Client, Path]:
    if client not in CLIENTS:
        raise UnknownChoice("client", client, sorted(CLIENTS))
    if not _NAME.fullmatch(name):
        raise UsageError(f"{quoted(name, 64)} is not a valid server name", "use 1 to 64 letters, digits, `-` and `_`")
    found = CLIENTS[client]
    path = found.path(system, project)
    if path is None:
        raise UsageError(f"{found.title} has no configuration for a single project", "leave out `--project`")
    return found, real_path(path)


def _retry(attempt: Callable[[], ConfigChange | None], path: Path) -> ConfigChange:
    """Retry if another program, such as a running client, wrote the file at the same moment."""
    for _ in range(_ATTEMPTS):
        change = attempt()
        if change is not None:
            return change
    raise keeps_changing(str(path))


def _plan_install(
    client: Client, path: Path, name: str, server: ServerCommand, force: bool, earlier: Receipt | None
) -> _Plan:
    data = read(path)
    document = parse_document(data or b"", str(path), client.format)
    wanted, keys = _keys(client, document, name, server)
    entry = document.entry(keys)
    before = None if data is None else data.decode()
    change = ConfigChange(client, path, name, "unchanged", _our_members(entry, wanted), before, before)
    if not document.has(keys):
        edit, marks = document.add(keys, wanted.values | wanted.initial)
        folders = missing_folders(path)
        receipt = Receipt(client.name, str(path), name, list(keys), list(marks), is_new=data is None)
        # An install that was killed may have created some of them.
        created = earlier.folders if earlier is not None else []
        receipt.folders = list(dict.fromkeys([*created, *map(str, folders)]))
        receipt.blank = before if document.is_blank else None
        return _Plan(_plan_change(change, document, edit, keys, wanted, "added"), data, receipt, tuple(folders))
    if isinstance(entry, dict) and _is_up_to_date(entry, wanted):
        return _Plan(change, data)
    if starts_memglot(entry):
        return _Plan(
            _plan_change(change, document, document.update(keys, wanted.values), keys, wanted, "updated"), data
        )
    if not force:
        raise UsageError(
            f"`{path}` already has a server `{name}` that is not memglot",
            "choose another name with `--name`, or replace it with `--force`; `uninstall` restores it",
        )
    edit, raw = document.replace(keys, wanted.values | wanted.initial)
    change = _plan_change(change, document, edit, keys, wanted, "updated", hide=("old",))
    return _Plan(
        change._replace(notes=(f"replaced another server `{name}`; `uninstall` restores it",)),
        data,
        Receipt(client.name, str(path), name, list(keys), replaced=raw),
    )


def _plan_uninstall(client: Client, path: Path, name: str, receipt: Receipt | None) -> _Plan:
    data = read(path)
    change = ConfigChange(client, path, name, "absent")
    if data is None:
        return _Plan(change, data)
    document = parse_document(data, str(path), client.format)
    wanted, keys = _keys(client, document, name, ServerCommand(NAME, ()))
    entry = document.entry(keys)
    before = data.decode()
    if not document.has(keys):
        return _Plan(change._replace(before=before, after=before), data)
    if not starts_memglot(entry):
        raise UsageError(
            f"the server `{name}` in `{path}` is not memglot; {NOTHING_CHANGED}",
            "remove it by hand, or give the name of memglot's server with `--name`",
        )
    receipt = receipt if receipt and tuple(receipt.keys) == keys else None
    hide: tuple[_Side, ...] = ("old",) if _has_user_members(entry, wanted) else ()
    if receipt and receipt.replaced is not None:
        hide = (*hide, "new")
        edit = document.restore(keys, receipt.replaced)
        notes: tuple[str, ...] = (f"restored the server `{name}` that `install` had replaced",)
    else:
        edit, notes = document.remove(keys, receipt.marks if receipt else ()), ()
    after: str | None = apply_edit(document, edit, keys).text
    if receipt and (receipt.is_new or receipt.blank is not None) and after is not None:
        if after.strip("\ufeff \t\r\n") in ("", "{}"):
            after = receipt.blank
    if not notes and after is not None and parse_document(after.encode(), str(path), client.format).has(keys):
        raise unsafe_edit(str(path))
    shown = unified_diff(str(path), before, _file_edit(before, document, edit, after), hide=hide)
    change = change._replace(action="removed", before=before, after=after, diff=shown, notes=notes)
    change = change._replace(next=_next_step(client, check=False))
    folders = tuple(Path(folder) for folder in receipt.folders) if receipt else ()
    return _Plan(change, data, folders=folders)


def _keys(
    client: Client, document: ConfigDocument, name: str, server: ServerCommand
) -> tuple[ServerEntry, tuple[str, ...]]:
    """Return our entry and its keys; an existing entry at an older position stays there."""
    wanted = client.make_entry(server, document.entry(()))
    keys, older = (*wanted.container, name), (*wanted.container[:1], name)
    if older != wanted.container and not document.has(keys) and document.has(older):
        return wanted, older
    return wanted, keys


def _is_up_to_date(entry: dict[str, Any], wanted: ServerEntry) -> bool:
    return all(entry.get(key) == value for key, value in wanted.values.items())


def _our_members(entry: Any, wanted: ServerEntry) -> dict[str, Any] | None:
    """Return the members of an entry that we write; the others belong to the user, and may be secret."""
    known = wanted.values | wanted.initial
    return {key: entry[key] for key in known if key in entry} if isinstance(entry, dict) else None


def _has_user_members(entry: dict[str, Any], wanted: ServerEntry) -> bool:
    """Return True if the user added members to our entry."""
    return not set(entry) <= set(wanted.values | wanted.initial | {"enabled": True})


def _plan_change(
    change: ConfigChange,
    document: ConfigDocument,
    edit: TextEdit,
    keys: tuple[str, ...],
    wanted: ServerEntry,
    action: Action,
    hide: tuple[_Side, ...] = (),
) -> ConfigChange:
    """Return the change that an edit makes. Raise `UsageError` if it would change more than our entry."""
    after = apply_edit(document, edit, keys)
    entry = after.entry(keys)
    if not isinstance(entry, dict) or not _is_up_to_date(entry, wanted):
        raise unsafe_edit(str(change.path))
    if _has_user_members(entry, wanted) and not {"\n", "\r"} & set(edit.text):
        # Members that the user added are on the same line as the change.
        hide = ("old", "new")
    before = change.before or ""
    shown = unified_diff(str(change.path), before, _file_edit(before, document, edit, after.text), hide=hide)
    change = change._replace(action=action, entry=_our_members(entry, wanted), after=after.text, diff=shown)
    return change._replace(next=_next_step(change.client, check=True))


def _file_edit(before: str, document: ConfigDocument, edit: TextEdit, after: str | None) -> TextEdit:
    """Return the edit of the file; it differs from that of the document if the file was blank or is deleted."""
    if before == document.text and after == edit.apply(before):
        return edit
    return TextEdit(0, len(before), after or "")


def _carry_out(plan: _Plan, receipts: Receipts) -> bool:
    """Carry out a plan. The receipt is written first, so that a replaced entry is never lost."""
    change = plan.change
    earlier = receipts.get(change.path, change.name)
    if plan.receipt is not None:
        receipts.put(plan.receipt)
    done = False
    try:
        if change.after is None and plan.data is not None:
            done = remove(change.path, expected=plan.data, folders=list(plan.folders))
        else:
            done = write(change.path, (change.after or "").encode(), expected=plan.data, shared=plan.shared)
    finally:
        if not done and plan.receipt is not None:
            _roll_back(plan, earlier, receipts)
    return done


def _roll_back(plan: _Plan, earlier: Receipt | None, receipts: Receipts) -> None:
    """Remove the receipt and the folders of a change that was not made."""
    with suppress(OSError):
        receipts.delete(plan.change.path, plan.change.name)
    if earlier is not None:
        receipts.put(earlier)
    for folder in reversed(plan.folders):
        with suppress(OSError):
            folder.rmdir()


def _next_step(client: Client, *, check: bool) -> str:
    return f"restart {client.title}" + (f", then check the server {client.check}" if check else "")
