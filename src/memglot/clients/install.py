"""An entry for memglot is put into a client's configuration, changed there, and taken out again."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from memglot.clients.document import Document, checked, document_of
from memglot.clients.errors import keeps_changing, not_only_ours, not_ours
from memglot.clients.files import missing_folders, read, real_path, remove, write
from memglot.clients.receipts import Receipt, Receipts
from memglot.clients.splice import Splice, difference
from memglot.clients.table import CLIENTS, Client, Server, Shape, is_ours
from memglot.errors import UnknownChoice, UsageError
from memglot.settings import SystemPaths, system_paths

Action: TypeAlias = Literal["added", "updated", "unchanged", "removed", "absent"]
_Side: TypeAlias = Literal["old", "new"]
NAME = "memglot"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ATTEMPTS = 4


class Change(NamedTuple):
    """What was done to a client's file, or would be."""

    client: Client
    path: Path
    name: str
    action: Action
    entry: dict[str, Any] | None = None
    """Our entry as it is now."""
    before: str | None = None
    """The text of the file; `None` where there was none."""
    after: str | None = None
    diff: str = ""
    """The lines that differ, without those of other servers."""
    notes: tuple[str, ...] = ()
    """What a person should know of it."""
    next: str = ""
    """What a person should do now."""


class _Plan(NamedTuple):
    """A change, and what has to be kept of it; done only if the file is still what it was made for."""

    change: Change
    data: bytes | None
    receipt: Receipt | None = None
    folders: tuple[Path, ...] = ()


def install(
    client: str,
    server: Server,
    *,
    name: str = NAME,
    project: Path | None = None,
    dry_run: bool = False,
    force: bool = False,
    around: SystemPaths | None = None,
) -> Change:
    """Let a client start `server`, for the user or for one project.

    An entry that is there and starts memglot is brought up to date; any other one is only replaced by `force`.
    Raises `UsageError`, `Unreadable` and `CannotWrite`, and changes nothing then.
    """
    around = around or system_paths()
    found, path = _place(client, name, project, around)
    receipts = Receipts(around.data)

    def attempt() -> Change | None:
        plan = _plan_install(found, path, name, server, force)
        if project is not None and plan.change.action == "added":
            plan = plan._replace(
                change=plan.change._replace(
                    notes=("the file names paths of this machine: others who get it with the project need their own",)
                )
            )
        if dry_run or plan.change.action == "unchanged":
            return plan.change
        return plan.change if _carry_out(plan, receipts) else None

    return _try(attempt, path)


def uninstall(
    client: str,
    *,
    name: str = NAME,
    project: Path | None = None,
    dry_run: bool = False,
    around: SystemPaths | None = None,
) -> Change:
    """Take our entry out of a client's configuration, which is then as it was before `install`.

    What others changed there meanwhile stays. Raises `UsageError` where the entry does not start memglot,
    `Unreadable` and `CannotWrite`, and changes nothing then.
    """
    around = around or system_paths()
    found, path = _place(client, name, project, around)
    receipts = Receipts(around.data)

    def attempt() -> Change | None:
        plan = _plan_uninstall(found, path, name, receipts.get(path, name))
        if dry_run:
            return plan.change
        if plan.change.action == "removed" and not _carry_out(plan, receipts):
            return None
        with suppress(OSError):
            receipts.drop(path, name)
        return plan.change

    return _try(attempt, path)


def _place(client: str, name: str, project: Path | None, around: SystemPaths) -> tuple[Client, Path]:
    if client not in CLIENTS:
        raise UnknownChoice("client", client, sorted(CLIENTS))
    if not _NAME.fullmatch(name):
        raise _bad_server_name(name)
    found = CLIENTS[client]
    path = found.path(around, project)
    if path is None:
        raise UsageError(f"{found.title} has no configuration for a single project", "leave `--project` away")
    return found, real_path(path)


def _try(attempt: Callable[[], Change | None], path: Path) -> Change:
    """Do it anew where another program wrote the file at the same moment, as clients that run may do."""
    for _ in range(_ATTEMPTS):
        change = attempt()
        if change is not None:
            return change
    raise keeps_changing(str(path))


def _plan_install(client: Client, path: Path, name: str, server: Server, force: bool) -> _Plan:
    data = read(path)
    document = document_of(data or b"", str(path), client.format)
    shape, keys = _keys(client, document, name, server)
    entry = document.entry(keys)
    before = None if data is None else data.decode()
    change = Change(client, path, name, "unchanged", _ours(entry, shape), before, before)
    if not document.has(keys):
        splice, marks = document.add(keys, shape.values | shape.first)
        folders = missing_folders(path)
        receipt = Receipt(client.name, str(path), name, list(keys), list(marks), is_new=data is None)
        receipt.folders = [str(folder) for folder in folders]
        receipt.blank = before if document.is_blank else None
        return _Plan(_changed(change, document, splice, keys, shape, "added"), data, receipt, tuple(folders))
    if isinstance(entry, dict) and _says(entry, shape):
        return _Plan(change, data)
    if is_ours(entry):
        return _Plan(_changed(change, document, document.update(keys, shape.values), keys, shape, "updated"), data)
    if not force:
        raise UsageError(
            f"`{str(path)}` has a server `{name}` that is not memglot",
            "`--name` gives ours another name; `--force` replaces that one, and `uninstall` brings it back",
        )
    splice, raw = document.replace(keys, shape.values | shape.first)
    change = _changed(change, document, splice, keys, shape, "updated", hide=("old",))
    return _Plan(
        change._replace(notes=(f"it takes the place of another server `{name}`, which `uninstall` brings back",)),
        data,
        Receipt(client.name, str(path), name, list(keys), replaced=raw),
    )


def _plan_uninstall(client: Client, path: Path, name: str, receipt: Receipt | None) -> _Plan:
    data = read(path)
    change = Change(client, path, name, "absent")
    if data is None:
        return _Plan(change, data)
    document = document_of(data, str(path), client.format)
    shape, keys = _keys(client, document, name, Server(NAME, ()))
    entry = document.entry(keys)
    before = data.decode()
    if not document.has(keys):
        return _Plan(change._replace(before=before, after=before), data)
    if not is_ours(entry):
        raise not_ours(name, str(path))
    receipt = receipt if receipt and tuple(receipt.keys) == keys else None
    hide: tuple[_Side, ...] = ("old",) if _is_used(entry, shape) else ()
    if receipt and receipt.replaced is not None:
        hide = (*hide, "new")
        splice = document.restore(keys, receipt.replaced)
        notes: tuple[str, ...] = (f"the server `{name}` that was there before is back",)
    else:
        splice, notes = document.take(keys, receipt.marks if receipt else ()), ()
    after: str | None = checked(document, splice, keys).text
    if receipt and (receipt.is_new or receipt.blank is not None) and after is not None:
        if after.strip("\ufeff \t\r\n") in ("", "{}"):
            after = receipt.blank
    if not notes and after is not None and document_of(after.encode(), str(path), client.format).has(keys):
        raise not_only_ours(str(path))
    shown = difference(str(path), before, _hull(before, document, splice, after), hide=hide)
    change = change._replace(action="removed", before=before, after=after, diff=shown, notes=notes)
    change = change._replace(next=_next(client.title, ""))
    folders = tuple(Path(folder) for folder in receipt.folders) if receipt else ()
    return _Plan(change, data, folders=folders)


def _keys(client: Client, document: Document, name: str, server: Server) -> tuple[Shape, tuple[str, ...]]:
    """Where the entry is, or will be: what stands in an older place stays there."""
    shape = client.shape(server, document.entry(()))
    keys, older = (*shape.container, name), (*shape.container[:1], name)
    if older != shape.container and not document.has(keys) and document.has(older):
        return shape, older
    return shape, keys


def _says(entry: dict[str, Any], shape: Shape) -> bool:
    return all(entry.get(key) == value for key, value in shape.values.items())


def _ours(entry: Any, shape: Shape) -> dict[str, Any] | None:
    """What we write of an entry; the rest of it is the user's, and may be secret."""
    known = shape.values | shape.first
    return {key: entry[key] for key in known if key in entry} if isinstance(entry, dict) else None


def _is_used(entry: dict[str, Any], shape: Shape) -> bool:
    """Tell whether the user keeps things of their own in our entry."""
    return not set(entry) <= set(shape.values | shape.first | {"enabled": True})


def _changed(
    change: Change,
    document: Document,
    splice: Splice,
    keys: tuple[str, ...],
    shape: Shape,
    action: Action,
    hide: tuple[_Side, ...] = (),
) -> Change:
    """The change that a splice makes, once it is sure that it changes our entry alone."""
    after = checked(document, splice, keys)
    entry = after.entry(keys)
    if not isinstance(entry, dict) or not _says(entry, shape):
        raise not_only_ours(str(change.path))
    if _is_used(entry, shape) and not {"\n", "\r"} & set(splice.text):
        # What the user keeps in our entry stands on the same line as what changes.
        hide = ("old", "new")
    before = change.before or ""
    shown = difference(str(change.path), before, _hull(before, document, splice, after.text), hide=hide)
    change = change._replace(action=action, entry=_ours(entry, shape), after=after.text, diff=shown)
    return change._replace(next=_next(change.client.title, change.client.look))


def _hull(before: str, document: Document, splice: Splice, after: str | None) -> Splice:
    """The change of the file itself, which a document of a blank one, or one that goes away, is not."""
    if before == document.text and after == splice.apply(before):
        return splice
    return Splice(0, len(before), after or "")


def _carry_out(plan: _Plan, receipts: Receipts) -> bool:
    """Write what was planned; the receipt first, since what was replaced must not be lost."""
    change = plan.change
    earlier = receipts.get(change.path, change.name)
    if plan.receipt is not None:
        receipts.put(plan.receipt)
    done = False
    try:
        if change.after is None and plan.data is not None:
            done = remove(change.path, expected=plan.data, folders=list(plan.folders))
        else:
            done = write(change.path, (change.after or "").encode(), expected=plan.data)
    finally:
        if not done and plan.receipt is not None:
            _take_back(plan, earlier, receipts)
    return done


def _take_back(plan: _Plan, earlier: Receipt | None, receipts: Receipts) -> None:
    """Leave no trace of a change that did not come about."""
    with suppress(OSError):
        receipts.drop(plan.change.path, plan.change.name)
    if earlier is not None:
        receipts.put(earlier)
    for folder in reversed(plan.folders):
        with suppress(OSError):
            folder.rmdir()


def _next(title: str, look: str) -> str:
    """What to do after a server was put in or taken out."""
    return f"restart {title}" + (f"; {look}" if look else "")


def _bad_server_name(name: str) -> UsageError:
    """A name that some client would refuse."""
    shown = name if name.isprintable() and len(name) <= 64 else name.encode("unicode_escape").decode("ascii")[:64]
    return UsageError(f"`{shown}` is no name for a server", "take 1 to 64 letters, digits, `-` and `_`")
