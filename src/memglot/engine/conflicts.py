"""Conflicts: values that no rule decides between. List them, show one, settle it, and mirror them as readable files."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from memglot.engine.edit import get, resolve, update
from memglot.engine.registers import DEFAULTS, GONE, parts_of, path_of
from memglot.engine.registers import Path as Place
from memglot.engine.show import first_line
from memglot.errors import NotFound, no_such_value, one_of_clashes, wrong_types
from memglot.formats.source import CONFLICT_MARK, CONFLICTS
from memglot.model import Conflict, Record, canonical, format_time
from memglot.notes import conflict_page, note_no_mirror
from memglot.store.contract import Store
from memglot.store.sensitive import sensitive_scopes

_UNSET: Any = object()


def conflicts(store: Store, id: str | None = None, field: str | None = None) -> list[Conflict]:
    """All conflicts, those of one memory, or the one of a field."""
    if id is None:
        return list(store.things(Conflict))
    record = resolve(store, id)
    found = [one for one in store.things(Conflict, [record]) if field in (None, one.field)]
    if not found:
        name = f"{id} {field}" if field else id
        raise NotFound("conflict", name, "`memglot conflicts` lists them")
    return found


def standing(record: Record, conflict: Conflict) -> int:
    """The number of the value that stands meanwhile, counted from 1; 0 where it is none of them."""
    register = parts_of(record).registers.get(path_of(conflict.field) or ())
    shown = canonical(register.shown) if register is not None else b""
    return next((number for number, value in enumerate(conflict.values, 1) if canonical(value) == shown), 0)


def settle(store: Store, id: str, field: str | None = None, *, take: int | None = None, value: Any = _UNSET) -> Record:
    """Settle a conflict with one of its values, by number from 1, or with another one.

    It is an ordinary edit, later than the clash, so it travels to other machines. `null` sets a field to its default
    and takes a key away.
    """
    with store.writing():
        found = conflicts(store, id, field)
        if len(found) > 1:
            raise one_of_clashes([one.field for one in found])
        conflict = found[0]
        if take is not None:
            if not 1 <= take <= len(conflict.values):
                raise no_such_value(take, len(conflict.values))
            value = conflict.values[take - 1]
        elif value is _UNSET:
            raise no_such_value(0, len(conflict.values))
        record = get(store, conflict.record)
        changes = _with_value(record, path_of(conflict.field) or (), value)
        return update(store, record.id, changes, deed="resolve", settles=conflict.field)


def _with_value(record: Record, path: Place, value: Any) -> dict[str, Any]:
    """The change that gives a register a value."""
    if len(path) == 1:
        if value is None:
            return {path[0]: DEFAULTS[path[0]]}
        try:
            made = msgspec.convert({"content": record.content, path[0]: value}, Record)
        except msgspec.ValidationError as error:
            raise wrong_types(str(error)) from None
        return {path[0]: getattr(made, path[0])}
    register = parts_of(record).registers.get(path)
    if register is not None and register.value is not GONE and canonical(register.shown) == canonical(value):
        return {}
    whole = dict(getattr(record, path[0]))
    inner = whole
    for key in path[1:-1]:
        inner[key] = dict(inner.get(key) or {})
        inner = inner[key]
    if value is None:
        inner.pop(path[-1], None)
    else:
        inner[path[-1]] = value
    return {path[0]: whole}


# The mirror


def hidden(store: Store, scope: str) -> bool:
    """Tell whether the values of a scope must not be written into files beside the store."""
    return scope in sensitive_scopes(store)


def mirror(store: Store) -> None:
    """Show the conflicts of a store that is a file as files in a folder beside it; settled ones go.

    The conflicts themselves are in the store: where the folder cannot be written, a note says so.
    """
    if store.url == ":memory:" or "://" in store.url:
        return
    folder = Path(store.url).absolute().parent / CONFLICTS
    if not folder.is_dir() and not store.count_things(Conflict):
        return
    try:
        _write(store, folder, Path(store.url))
    except OSError as error:
        note = note_no_mirror(str(folder), error.strerror or str(error))
        if note not in store.notes:
            store.notes.append(note)


def _write(store: Store, folder: Path, file: Path) -> None:
    wanted = dict(_pages(store, file))
    if folder.is_symlink():
        # What the link leads to is not ours.
        raise OSError("it is a link")
    if wanted:
        folder.mkdir(exist_ok=True)
    for path in folder.glob("*.md"):
        if path.name.startswith(f"{file.stem}.") and path.name not in wanted and _is_ours(path, _mark(file)):
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if path.is_symlink() or not path.is_file() or path.read_bytes() != text:
            _replace(path, text)
    if not any(folder.iterdir()):
        folder.rmdir()


def _mark(file: Path) -> str:
    """The first line of a file that this store wrote; another store may lie in the same folder."""
    return f"{CONFLICT_MARK}{file.name} -->\n"


def _is_ours(path: Path, mark: str) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(mark.encode())) == mark.encode()


def _replace(path: Path, text: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=".", suffix=".new", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _pages(store: Store, file: Path) -> Iterator[tuple[str, bytes]]:
    for conflict in store.things(Conflict):
        for record in store.get([conflict.record]):
            text = _mark(file) + _page(store, record, conflict)
            yield f"{file.stem}.{record.id}.{_safe(conflict.field)}.md", text.encode()


def _safe(field: str) -> str:
    """A field as part of a file's name: letters and digits stay, the rest becomes hexadecimal; long ones are cut."""
    name = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-_") else f"~{ord(sign):x}" for sign in field)
    return name if len(name) <= 80 else f"{name[:60]}~{sha256(field.encode()).hexdigest()[:16]}"


def _page(store: Store, record: Record, conflict: Conflict) -> str:
    secret = hidden(store, record.scope)
    stands = standing(record, conflict)
    place = shlex.quote(str(Path(store.url).absolute()))
    command = f"memglot --store {place} conflicts resolve {record.id} {shlex.quote(conflict.field)}"
    return conflict_page(
        title=record.id if secret else first_line(record.title or record.content),
        record=record.id,
        field=conflict.field,
        at=format_time(conflict.clock),
        values=None if secret else [_shown(value) for value in conflict.values],
        stands=stands,
        command=command,
    )


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value).decode()
