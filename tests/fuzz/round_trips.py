"""Laws for any input: reading never fails inside, a second import changes nothing, an export keeps everything."""

from __future__ import annotations

import traceback
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from fuzz_target import signature
from mutations import Sample

from memglot import MemglotError, Memory
from memglot.exporting.verify import verify_path
from memglot.formats import registry
from memglot.formats.base import Format, ReadOptions
from memglot.formats.core.audit_chain import is_audit
from memglot.formats.core.read import read_items
from memglot.model import Blob, Record, thing_key, to_builtins
from memglot.report import Report
from memglot.store.stream import everything

Shape = tuple[Format, str | None]
SHAPES: list[Shape] = [
    (format, dialect)
    for format in registry.formats()
    if format.write is not None
    for dialect in (None, *format.dialects)
]
NAMES = [f"{format.name}-{dialect}" if dialect else format.name for format, dialect in SHAPES]
EDITS: dict[str, list[Any]] = {
    "content": ["edited", "edited [[a]] #tag", "---\na: 1\n---\nx", " x\n", "é"],
    "title": ["Edited", None, "a/b", "x" * 300],
    "tags": [[], ["edited"], ["a", "b c", "d,e"]],
    "meta": [{}, {"edited": True}, {"memglot": 1}, {"tags": ["x"], "id": "y"}],
    "tree": ["", "edited.here"],
    "kind": ["episodic", "edited"],
    "scope": ["user", "edited"],
    "temporal": [None, "2024-01-02"],
    "strength": [None, 0.25],
}
State = dict[tuple[str, str], Any]


class Broken(Exception):
    """A law does not hold for an input."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


def read_only(path: Path) -> int:
    """Read an input and return the number of its items; any error but a reported one is a finding."""
    try:
        return sum(1 for _ in read_items([path], None, Report(), ReadOptions()))
    except MemglotError:
        return 0


def check_laws(path: Path, shape: Shape, folder: Path, random: Random | None = None, *, layout: bool = True) -> bool:
    """Import an input twice, export it, and import that. Return whether there was anything to import.

    With `random`, some memories are edited, deleted or linked before the export. Without `layout`, how a file spelled
    values may change, for inputs in which just that is damaged.
    """
    with Memory.open(":memory:") as memory:
        try:
            first = memory.import_from(path)
        except MemglotError:
            return False
        known = state(memory)
        _check_second_import(memory, path, known)
        if not known:
            return bool(first.failed)
        if random is not None:
            edit(memory, random)
        memory.mark_normal(*(scope.scope for scope in memory.scopes() if scope.sensitive))
        # What could not be read is kept, if it is kept, as it was, and reported each time.
        faults = {fault.error for fault in first.errors}
        place = _check_export(memory, shape, folder, faults, layout=layout and random is None)
        if place is not None:
            _check_import_back(memory, place, shape, layout=layout)
        return True


def state(memory: Memory) -> State:
    """Return everything in a store except its audit chain."""
    found: State = {}
    for item in everything(memory.store):
        if not (isinstance(item, Blob) and is_audit(item)):
            value = to_builtins(item)
            found[type(item).__name__, item.id if isinstance(item, Record) else thing_key(item)] = value
    return found


def edit(memory: Memory, random: Random) -> None:
    """Change a few memories as a user would."""
    for _ in range(random.choice([1, 1, 2, 3])):
        ids = [record.id for record in memory.list()]
        if not ids:
            return
        id, other = random.choice(ids), random.choice(ids)
        change = random.choice(["delete", "link", *EDITS])
        if change == "delete":
            memory.delete(id)
        elif change == "link" and id != other:
            memory.link(id, "depends_on", other)
        elif change in EDITS:
            memory.update(id, **{change: random.choice(EDITS[change])})


def _check_second_import(memory: Memory, path: Path, known: State) -> None:
    second = memory.import_from(path)
    if (after := state(memory)) != known:
        raise Broken(f"second-import-changes-{second.format}-{_first_difference(known, after)}", _show(known, after))
    if second.import_id or second.imported or second.merged:
        raise Broken(f"second-import-writes-{second.format}", "\n".join(second.notes))


def _check_export(memory: Memory, shape: Shape, folder: Path, faults: set[str], *, layout: bool) -> Path | None:
    """Export a store, import that into another one, and compare; return the export, or None if it may be empty."""
    known = state(memory)
    format, dialect = shape
    place = folder / ("there" if format.writing.makes_folder else "there" + format.extensions[0])
    name = NAMES[SHAPES.index(shape)]
    result = memory.export(place, format=format.name, dialect=dialect, include_embeddings=True)
    for field in result.losses:
        raise Broken(f"export-drops-{name}-{field}", str(result.losses))
    if not any(kind == "Record" for kind, _ in known):
        return None
    verdict = verify_path(place, Report())
    if verdict.state != "whole":
        raise Broken(f"verify-{name}-{verdict.state}", f"{verdict.problems}")
    with Memory.open(":memory:") as other:
        back = other.import_from(place)
        other.mark_normal(*(scope.scope for scope in other.scopes() if scope.sensitive))
        there = state(other)
        errors = [fault.error for fault in back.errors if fault.error not in faults]
        if not layout:
            known, there = _without_layout(known), _without_layout(there)
        if there != known or errors:
            what = _first_difference(known, there) if there != known else "reports"
            what += "-of-duplicates" if _has_duplicates(known) else ""
            raise Broken(f"export-changes-{name}-{what}", f"{errors}\n{_show(known, there)}")
    return place


def _check_import_back(memory: Memory, place: Path, shape: Shape, *, layout: bool) -> None:
    """Import an export into the store that wrote it; only a layout that was damaged may change."""
    name = NAMES[SHAPES.index(shape)]
    known = state(memory)
    again = memory.import_from(place)
    now = state(memory)
    if not layout:
        known, now = _without_layout(known), _without_layout(now)
    if now != known:
        raise Broken(f"import-back-changes-{name}-{_first_difference(known, now)}", _show(known, now))
    if again.imported or (again.merged and layout):
        raise Broken(f"import-back-{name}", f"imported {again.imported}, merged {again.merged}")


def _without_layout(known: State) -> State:
    """Leave out how a file spelled edited values, and links in texts: what they mean changes with a deletion."""
    found = {}
    deleted = any(kind == "Tombstone" for kind, _ in known)
    for key, value in known.items():
        if deleted and key[0] == "Relation" and "link" in value.get("extra", {}).get("obsidian", {}):
            continue
        extra = {name: part for name, part in value.get("extra", {}).items() if "." not in name}
        if isinstance(own := extra.get("obsidian"), dict):
            extra["obsidian"] = {name: part for name, part in own.items() if name != "empty"}
        clocks = {name: at for name, at in value.get("clocks", {}).items() if not name.startswith("extra")}
        found[key] = {**value, "extra": extra, "clocks": clocks} if key[0] == "Record" else value
    return found


def _has_duplicates(known: State) -> bool:
    keys = [
        (value["content"], value.get("kind"), value.get("scope"))
        for (kind, _), value in known.items()
        if kind == "Record"
    ]
    return len(set(keys)) < len(keys)


def _first_difference(before: State, after: State) -> str:
    """Name what differs first: a kind of item, or a field."""
    for kind, key in sorted(before.keys() ^ after.keys(), key=repr):
        return f"{kind}-{'lost' if (kind, key) in before else 'new'}"
    for (kind, key), value in before.items():
        other = after[kind, key]
        if value != other:
            names = sorted(name for name in {**value, **other} if value.get(name) != other.get(name))
            return f"{kind}.{'.'.join(names)}"
    return "nothing"


def _show(before: State, after: State) -> str:
    lines = []
    for key in sorted(before.keys() | after.keys(), key=repr):
        if before.get(key) != after.get(key):
            lines += [f"- {before[key]!r}"] if key in before else []
            lines += [f"+ {after[key]!r}"] if key in after else []
    return "\n".join(lines)


def find(sample: Sample, shape: Shape | None, random: Random | None = None) -> tuple[str, str] | None:
    """Try one input, and return the name and the description of what is wrong with it; without a shape, only read."""
    with TemporaryDirectory(prefix="memglot-") as made:
        folder = Path(made)
        try:
            path = sample.write(folder / "in")
        except (OSError, ValueError):
            return None
        try:
            if shape is None:
                read_only(path)
            else:
                check_laws(path, shape, folder, random)
        except Broken as error:
            return error.kind, str(error)
        except Exception as error:  # noqa: BLE001 - every error that is not memglot's is a finding
            return signature(error), "".join(traceback.format_exception(error))
    return None
