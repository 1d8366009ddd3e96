"""Merge what another tool changed in a memory: a three-way merge with what the tool said at the last exchange.

A value that changed in the tool and not here is taken over. One that changed here and not there stays. One that
changed on both sides is a conflict. A value that the tool had at an earlier exchange is not an edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from memglot.formats.base import Format, MergeRule, MergeSupport
from memglot.merging.records import (
    LISTS,
    conflicts_of,
    join_lists,
    latest_access,
    merge_records,
    merge_unclocked,
)
from memglot.merging.registers import REMOVED, Parts, Register, clock_of, join_parts, split_record
from memglot.model import EDITED_NOTE, LATEST, Conflict, Record, derive_id, has_no_time, to_builtins
from memglot.model.fingerprints import (
    ABSENT,
    copy_value,
    fingerprint,
    list_fingerprint,
    merge_lists,
    parse_name,
)
from memglot.model.fingerprints import LISTS as EDITED_LISTS
from memglot.model.paths import DEFAULTS, SCALARS, Path, is_layout, path_name
from memglot.store.contract import Base


class ToolSource(NamedTuple):
    """A source of memories: a tool, and the space of its ids."""

    tool: str
    space: str = ""


def tool_format(format: Format) -> ToolFormat:
    """Return what merging must know about a format."""
    return ToolFormat(format.merging.source or format.tool, format.tool, format.fields, format.merging)


class ToolFormat(NamedTuple):
    """What merging must know about the format that a record was read from."""

    source: str
    tool: str
    fields: frozenset[str]
    merging: MergeSupport

    def source_of(self, record: Record) -> ToolSource:
        """Return the source of a record: the tool and space that its id comes from, if that tool has this format."""
        for place in record.foreign:
            if place.tool in (self.source, *self.merging.tools):
                if derive_id(place.tool, place.space, place.id) == record.id:
                    return ToolSource(place.tool, place.space)
        return ToolSource(self.source)

    def can_hold(self, path: Path) -> bool:
        """Return True if the format has a place for a value, so that a missing one was removed."""
        if path[0] not in self.fields:
            return False
        return path[0] != "extra" or path[1].partition(".")[0] == self.tool

    def merges_by_clocks(self, record: Record) -> bool:
        """Return True if a record has memglot's clocks, and nothing else is needed to merge it."""
        if self.merging.has_clocks:
            return True
        return record.is_carried and record.tool_edits is None and not self.merging.by_hand and not has_no_time(record)


@dataclass
class ToolMerge:
    """A memory after merging a tool's version of it, and what the tool said."""

    record: Record
    conflicts: list[Conflict]
    base: Base
    went_back: int = 0
    """Number of values that the tool had at an earlier exchange; the local ones stay."""
    unknown: int = 0
    """Number of differing values of a memory that was never exchanged with this source; the local ones stay."""


def merge_tool_version(
    local: Record,
    remote: Record,
    base: Base | None,
    format: ToolFormat,
    policy: str,
    at: int,
    known: Sequence[Conflict] = (),
) -> ToolMerge:
    """Merge the version of a memory that another tool has; `base` is what the tool said before, if that is known.

    The clock of a value that is taken over is the time when the source was modified, but never later than `at`, and
    always later than the clock of the value that it replaces.
    """
    if remote.tool_edits is not None:
        if policy != "merge":
            stamp_tool_edits(remote, at)
            record, conflicts = merge_records(local, remote, policy, known)
            return ToolMerge(record, conflicts, base or _no_base(remote, format))
        # The text around a note that memglot wrote says nothing new, nor do lists that a tool did not change.
        around = [path_name(path) for path in split_record(remote).registers if is_layout(path)]
        known_values = [*(around if format.merging.by_hand else ()), *(() if remote.is_from_memglot else EDITED_LISTS)]
        untouched = _without(remote, [*remote.tool_edits, *known_values])
        local, known = merge_records(local, untouched, "merge", known)
        if not remote.tool_edits:
            return ToolMerge(local, known, base or _no_base(remote, format))
    elif not has_no_time(remote) and not format.merging.by_hand and format.merging.has_edit_times:
        return _Merge(local, remote, base, format, policy, at, known).run_by_time()
    elif base is None and not has_no_time(remote) and (format.merging.has_edit_times or remote.is_carried):
        record, conflicts = merge_records(local, remote, policy, known)
        return _Merge(record, remote, None, format, policy, at, conflicts).only_remember()
    return _Merge(local, remote, base, format, policy, at, known).run()


def stamp_tool_edits(record: Record, at: int) -> None:
    """Set the clocks of the values that another tool changed since memglot wrote the record."""
    parts, edited = split_record(record), record.tool_edits or {}
    for name in edited:
        path = parse_name(name)
        if path is None or path in parts.lists or name in EDITED_LISTS:
            continue
        found = parts.registers.get(path)
        clock = _edit_clock(record, record, at, name)
        parts.registers[path] = Register(clock, _absent(path) if found is None else found.value)
        record.updated_at = max(record.updated_at, clock)
    join_parts(record, parts)


def add_exchange(known: Base | None, now: Base) -> Base:
    """Return what is known of a source after an exchange in which both sides had the same values."""
    if known is None:
        return now
    said = {name: list(found) for name, found in known.said.items()}
    for name in {**said, **now.said}:
        before, value = said.get(name, [ABSENT]), now.said.get(name, [ABSENT])[-1]
        said[name] = before if before[-1] == value else [*(one for one in before if one != value), value]
    updated_at = max(known.updated_at, now.updated_at)
    return msgspec.structs.replace(known, said=said, held={}, updated_at=updated_at, batch=None)


def _without(record: Record, names: Iterable[str]) -> Record:
    """Return a record without some of its values, as if they had never been set."""
    found = msgspec.structs.replace(record, clocks={**record.clocks})
    empty = Record(content="")
    for name in names:
        copy_value(name, empty, found)
        found.clocks.pop(name, None)
    return found


def _no_base(record: Record, format: ToolFormat) -> Base:
    tool, space = format.source_of(record)
    return Base(tool=tool, space=space, record=record.id)


def _edit_clock(local: Record, remote: Record, at: int, name: str = "") -> int:
    """Return the clock of a value that another tool changed; without a name, of the record."""
    before = clock_of(local, name) if name else local.updated_at
    return min(max(min(remote.modified_at or at, at), before + 1), LATEST)


def _absent(path: Path) -> Any:
    return DEFAULTS[path[0]] if len(path) == 1 else REMOVED


def _fingerprint(path: Path, register: Register | None) -> str:
    if register is None or register.value is REMOVED or len(path) == 1 and register.value == DEFAULTS[path[0]]:
        return ABSENT
    return fingerprint(to_builtins(register.value))


class _Merge:
    """Merges one memory, value by value."""

    def __init__(
        self,
        local: Record,
        remote: Record,
        base: Base | None,
        format: ToolFormat,
        policy: str,
        at: int,
        known: Sequence[Conflict],
    ) -> None:
        self._local, self._remote, self._base, self._format = local, remote, base, format
        self._policy, self._at, self._known = policy, at, list(known)
        self._open = {conflict.field for conflict in known}
        self._mine, self._theirs = split_record(local), split_record(remote)
        self._lists = {name: list(getattr(local, name)) for name in EDITED_LISTS}
        self._new: list[Conflict] = []
        self._clock = local.updated_at
        # A record with our carry slot says itself what it was compared with.
        self._edits = remote.tool_edits
        self._said = {name: list(found) for name, found in base.said.items()} if base else {}
        self._held = dict(base.held) if base else {}
        self._is_dated = (
            format.merging.has_edit_times
            and self._edits is None
            and not has_no_time(remote)
            and remote.updated_at > (local.updated_at if base is None else base.updated_at)
        )
        self.went_back = self.unknown = 0

    def run(self) -> ToolMerge:
        """Merge all values."""
        for path in self._paths():
            if is_layout(path):
                self._merge_layout(path)
            else:
                self._merge_register(path)
        for path in self._list_paths():
            self._merge_list(path)
        return self._result(self._joined())

    def run_by_time(self) -> ToolMerge:
        """Merge by the time of the last edit; values that the tool did not change since the last exchange stay."""
        rules = self._format.merging.bookkeeping
        kept, unchanged, layouts = [], [], []
        for path, register in self._theirs.registers.items():
            name, now = path_name(path), _fingerprint(path, register)
            if name in rules:
                kept.append(path)
            elif is_layout(path):
                layouts.append(name)
            elif self._base is not None and now == self._history(name)[-1]:
                unchanged.append(name)
        if len(kept) + len(unchanged) + len(layouts) == len(self._theirs.registers):
            # The tool changed nothing, so how it spells the values does not matter.
            unchanged += layouts
        whole = self._base is not None and self._base.tool in self._format.merging.whole_lists
        there = self._their_lists() if whole and self._policy == "merge" else {}
        lists = [name for name in EDITED_LISTS if (name,) in there]
        remote = _without(self._remote, [*map(path_name, kept), *unchanged, *lists])
        self._local, self._known = merge_records(self._local, remote, self._policy, self._known)
        self._mine, self._clock = split_record(self._local), self._local.updated_at
        self._lists = {name: list(getattr(self._local, name)) for name in EDITED_LISTS}
        for path in kept:
            self._merge_register(path)
        for name in lists:
            self._merge_list((name,))
        return self.only_remember([*unchanged, *lists])

    def only_remember(self, unchanged: Sequence[str] = ()) -> ToolMerge:
        """Remember what the tool says; the memory was merged by its clocks already."""
        for path, register in self._theirs.registers.items():
            if not is_layout(path) and (name := path_name(path)) not in unchanged:
                rule = self._format.merging.bookkeeping.get(name)
                self._remember(name, _fingerprint(path, register), self._here(path), rule)
        for path, values in self._their_lists().items():
            if path_name(path) in unchanged:
                continue
            self._remember(path_name(path), list_fingerprint(values), list_fingerprint(self._my_list(path)))
        return self._result(self._joined(), self._known)

    # What to compare

    def _paths(self) -> list[Path]:
        if self._edits is not None:
            found = [parse_name(name) for name in self._edits if name not in EDITED_LISTS]
            layouts = [path for path in self._theirs.registers if is_layout(path) and self._edits]
            lists = {**self._mine.lists, **self._theirs.lists}
            return [path for path in found if path is not None and path not in lists] + layouts
        said = [parse_name(name) for name in self._said if name not in EDITED_LISTS]
        removed = [path for path in said if path is not None and self._can_be_removed(path)]
        paths = {**self._theirs.registers, **dict.fromkeys(removed)}
        return [path for path in paths if path not in self._mine.lists and path not in self._theirs.lists]

    def _list_paths(self) -> list[Path]:
        theirs = self._their_lists()
        if self._edits is not None:
            return [path for path in theirs if path_name(path) in self._edits]
        return list(theirs)

    def _their_lists(self) -> dict[Path, list[Any]]:
        """Return the lists that the tool has, also empty ones."""
        own = [path for path in self._mine.lists if self._can_be_removed(path)]
        names: dict[Path, list[Any]] = {(name,): getattr(self._remote, name) for name in EDITED_LISTS}
        names = {path: found for path, found in names.items() if found or self._format.can_hold(path)}
        return names | dict.fromkeys(own, []) | self._theirs.lists

    def _can_be_removed(self, path: Path) -> bool:
        return self._format.can_hold(path) and path[0] not in self._remote.unsaid

    def _here(self, path: Path) -> str:
        return _fingerprint(path, self._mine.registers.get(path))

    def _my_list(self, path: Path) -> list[Any]:
        return self._lists[path[0]] if len(path) == 1 else self._mine.lists.get(path, [])

    # One value

    def _merge_register(self, path: Path) -> None:
        name, theirs, here = path_name(path), self._theirs.registers.get(path), self._here(path)
        now = _fingerprint(path, theirs)
        rule = self._format.merging.bookkeeping.get(name)
        if now == here:
            self._remember(name, now, here, rule)
        elif theirs is not None and self._is_rendering(path, name, theirs.value, here):
            return
        elif rule is not None:
            self._merge_bookkeeping(path, name, theirs, now)
        elif self._policy != "merge":
            if self._policy == "prefer-remote" or self._is_unset(path):
                self._take(path, theirs)
            self._remember(name, now, self._here(path))
        elif self._is_known:
            self._merge_change(path, name, theirs, now, here)
        else:
            self._fill(path, name, theirs, now, here)

    def _is_rendering(self, path: Path, name: str, value: Any, here: str) -> bool:
        """Return True if a value is what the tool makes of the local one: a default, or a scope without its id."""
        if here == ABSENT:
            return bool(self._format.merging.defaults.get(name) == value)
        return path == ("scope",) and "scope" in self._remote.unsaid and self._local.scope.startswith(f"{value}:")

    @property
    def _is_known(self) -> bool:
        """Whether it is known what the tool said before."""
        return self._base is not None or self._edits is not None

    def _history(self, name: str) -> list[str]:
        """Return what the tool said before, the newest last."""
        said = self._said.get(name, [])
        if self._edits is not None and (written := self._edits[name]) not in said:
            # Memglot wrote the carry slot after the last exchange that this store knows of.
            return [*said, written]
        return said or [ABSENT]

    def _is_edit_of_last(self, name: str, now: str) -> bool:
        """Return True if a carry slot proves that a tool edited the value of the last exchange."""
        last = self._history(name)[-1]
        return self._edits is not None and self._edits[name] == last != now

    def _held_before(self, name: str) -> str:
        """Return what this store had at the last exchange."""
        said, last = self._said.get(name, []), self._history(name)[-1]
        return self._held.get(name, last) if said and said[-1] == last else last

    def _merge_change(self, path: Path, name: str, theirs: Register | None, now: str, here: str) -> None:
        history = self._history(name)
        if now in history and not self._is_edit_of_last(name, now):
            self.went_back += now != history[-1]
            return
        held = self._held_before(name)
        clock = clock_of(self._local, name)
        if self._is_dated:
            is_taken, conflicts = self._remote.updated_at > clock, self._remote.updated_at == clock
        else:
            older = self._edits is not None and clock < clock_of(self._remote, name)
            is_taken = (here == held or older) and name not in self._open and clock < LATEST
            conflicts = not is_taken
        if is_taken:
            self._take(path, theirs)
        elif conflicts:
            self._conflict(path, name, theirs, clock)
        self._remember(name, now, self._here(path))

    def _fill(self, path: Path, name: str, theirs: Register | None, now: str, here: str) -> None:
        """Without a base, only fill in what is empty; an edit that the note itself shows is taken over."""
        clock = clock_of(self._local, name)
        if self._remote.origin == EDITED_NOTE and self._format.can_hold(path):
            if here == ABSENT or clock <= self._local.created_at:
                self._take(path, theirs)
            else:
                self._conflict(path, name, theirs, clock)
        elif self._is_unset(path) and theirs is not None:
            self._mine.registers[path] = Register(0, theirs.value)
        elif theirs is not None:
            self.unknown += 1
        self._remember(name, now, self._here(path))

    def _is_unset(self, path: Path) -> bool:
        return path not in self._mine.registers

    def _take(self, path: Path, theirs: Register | None, *, is_edit: bool = True) -> None:
        """Take over a value; only an edit counts as a change of the memory."""
        clock = _edit_clock(self._local, self._remote, self._at, path_name(path))
        if self._is_dated:
            clock = self._remote.updated_at
        if is_edit:
            self._clock = max(self._clock, clock)
        self._mine.registers[path] = Register(clock, _absent(path) if theirs is None else theirs.value)

    def _conflict(self, path: Path, name: str, theirs: Register | None, clock: int) -> None:
        """Keep both values; the local one is used until somebody decides."""
        mine = self._mine.registers.get(path) or Register(clock, _absent(path))
        self._mine.registers[path] = mine
        other = Register(clock, _absent(path)) if theirs is None else theirs
        self._new.append(
            Conflict(record=self._local.id, field=name, clock=mine.clock, values=[mine.json_value, other.json_value])
        )

    def _merge_bookkeeping(self, path: Path, name: str, theirs: Register | None, now: str) -> None:
        """Follow the tool in a value that it keeps for itself, which never conflicts."""
        if theirs is not None and now != self._history(name)[-1] and not self._is_older(name):
            self._take(path, theirs, is_edit=False)
        self._remember(name, now, self._here(path), MergeRule.LATEST)

    def _is_older(self, name: str) -> bool:
        """Return True if the version of a tool that has edit times is older than a local value."""
        merging = self._format.merging
        timed = merging.has_edit_times and not merging.by_hand and self._edits is None
        return timed and self._remote.updated_at < clock_of(self._local, name)

    def _merge_layout(self, path: Path) -> None:
        """Follow the tool in how it spells its values; where its folder is does not count."""
        mine, theirs = self._mine.registers.get(path), self._theirs.registers.get(path)
        if theirs is None or mine is not None and _same_layout(mine.value, theirs.value):
            return
        self._take(path, theirs, is_edit=False)

    def _merge_list(self, path: Path) -> None:
        name, mine, theirs = path_name(path), self._my_list(path), self._their_lists()[path]
        now, here = list_fingerprint(theirs), list_fingerprint(mine)
        rule = self._format.merging.bookkeeping.get(name)
        if now == here:
            self._remember(name, now, here)
            return
        found = mine
        if self._policy == "prefer-remote":
            found = theirs
        elif self._policy == "merge" and (not self._is_known or rule == MergeRule.UNION):
            found = join_lists(mine, theirs)
        elif self._policy == "merge":
            history = self._history(name)
            if now in history and not self._is_edit_of_last(name, now):
                self.went_back += now != history[-1]
                return
            found = merge_lists(mine, theirs, history[-1])
        if list_fingerprint(found) != here:
            # A list has no clock of its own.
            self._clock = max(self._clock, _edit_clock(self._local, self._remote, self._at))
        if len(path) == 1:
            self._lists[path[0]] = list(found)
        elif found:
            self._mine.lists[path] = found
        else:
            self._mine.lists.pop(path, None)
        self._remember(name, now, list_fingerprint(found))

    # The result

    def _remember(self, name: str, now: str, here: str, rule: str | None = None) -> None:
        """Remember what the tool says now, and what is stored here, if that is something else."""
        before = self._history(name) if self._is_known else []
        if rule is not None:
            # It may return to an earlier state, and changes often.
            before = []
        if not before or before[-1] != now:
            self._said[name] = [*(one for one in before if one != now), now]
        self._held.pop(name, None)
        if here != now:
            self._held[name] = here

    def _joined(self) -> Record:
        local, remote = self._local, self._remote
        times = {
            "updated_at": max(self._clock, remote.updated_at) if self._is_dated else self._clock,
            "last_accessed": latest_access(local, remote),
            "access_count": max(local.access_count, remote.access_count),
        }
        merged = msgspec.structs.replace(local, **times)
        for field in SCALARS:
            setattr(merged, field, DEFAULTS[field])
        for field in LISTS:
            values = self._lists.get(field)
            setattr(merged, field, join_lists(local.foreign, remote.foreign) if values is None else values)
        parts = Parts(
            self._mine.registers,
            self._mine.lists,
            merge_unclocked(self._mine.unclocked, self._theirs.unclocked),
        )
        join_parts(merged, parts)
        return merged

    def _result(self, record: Record, conflicts: list[Conflict] | None = None) -> ToolMerge:
        if conflicts is None:
            conflicts = conflicts_of(record, [*self._known, *self._new])
        base = self._base or _no_base(self._remote, self._format)
        updated_at = max(base.updated_at, self._remote.updated_at)
        base = msgspec.structs.replace(base, said=self._said, held=self._held, updated_at=updated_at)
        return ToolMerge(record, conflicts, base, self.went_back, self.unknown)


def _same_layout(mine: Any, theirs: Any) -> bool:
    """Return True if a note looks the same, in whatever folder; a tool may repeat the lines that it adds below."""
    if not isinstance(mine, dict) or not isinstance(theirs, dict):
        return bool(mine == theirs)
    here, there = _blocks(mine), _blocks(theirs)
    if len(there) > len(here) and set(here) == set(there):
        theirs = {**theirs, "tail": mine.get("tail", "")}
    return {**mine, "vault": ""} == {**theirs, "vault": ""}


def _blocks(layout: dict[str, Any]) -> list[str]:
    tail = layout.get("tail")
    return tail.strip("\r\n").split("\n\n") if isinstance(tail, str) else []
