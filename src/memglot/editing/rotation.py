"""Names of backups in a folder, and which of them to keep."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from memglot.display import shorten
from memglot.errors import MemglotError, UsageError
from memglot.exporting.verify import verify
from memglot.formats.sqlite import is_store
from memglot.formats.syntax.sqlite_input import expected_size
from memglot.model import now

_KEEP = re.compile(r"([1-9]\d{0,4})([hdwmy])")
_PERIODS: dict[str, Callable[[datetime], object]] = {
    "h": lambda time: (time.date(), time.hour),
    "d": lambda time: time.date(),
    "w": lambda time: time.isocalendar()[:2],
    "m": lambda time: (time.year, time.month),
    "y": lambda time: time.year,
}
_TIME = "%Y%m%dT%H%M%SZ"


def parse_keep(text: str) -> dict[str, int]:
    """Return the number of hours, days, weeks, months and years to keep, such as `7d,4w,12m`."""
    found: dict[str, int] = {}
    for part in text.split(","):
        match = _KEEP.fullmatch(part.strip())
        if match is None or match[2] in found:
            raise UsageError(
                f"`{shorten(text)}` does not say which backups to keep",
                "use numbers of hours, days, weeks, months and years, such as `7d,4w,12m`",
            )
        found[match[2]] = int(match[1])
    return found


def new_path(folder: Path, store: str) -> Path:
    """Return an unused path in a folder for a backup of a store made now."""
    stem = f"{_stem(store)}-{datetime.fromtimestamp(now() // 1_000_000, UTC).strftime(_TIME)}"
    path = folder / f"{stem}.db"
    number = 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}.db"
    return path


def remove_old(made: Path, store: str, keep: Mapping[str, int]) -> tuple[list[Path], list[str]]:
    """Remove the backups of a store that need not be kept from the folder of the one that was just made.

    Return the removed ones, and a note for each damaged one that was left alone.
    Only complete stores with the names of backups count; each is verified before it is removed.
    """
    found: dict[Path, datetime] = {}
    notes = []
    for path in made.parent.iterdir():
        time = _time_of(path, store)
        if time is not None and _is_complete(path):
            found[path] = time
        elif time is not None:
            notes.append(f"`{path}` is not a complete store, so it was neither counted nor removed")
    removed = []
    for path in sorted(found.keys() - kept(found, keep) - {made}):
        if _is_intact(path):
            path.unlink()
            removed.append(path)
        else:
            notes.append(f"`{path}` is damaged, so it was not removed")
    return removed, sorted(notes)


def kept(found: Mapping[Path, datetime], keep: Mapping[str, int]) -> set[Path]:
    """Return the newest backup, and the newest one of each of the last hours, days and so on that have one."""
    newest_first = sorted(found, key=lambda path: (found[path], len(path.name), path.name), reverse=True)
    chosen = set(newest_first[:1])
    for unit, count in keep.items():
        chosen |= _newest_of_each(newest_first, found, _PERIODS[unit], count)
    return chosen


def _newest_of_each(
    newest_first: Iterable[Path], found: Mapping[Path, datetime], period: Callable[[datetime], object], count: int
) -> set[Path]:
    newest: dict[object, Path] = {}
    for path in newest_first:
        newest.setdefault(period(found[path]), path)
    return set(list(newest.values())[:count])


def _stem(store: str) -> str:
    return Path(store).stem if store != ":memory:" else "memories"


def _time_of(path: Path, store: str) -> datetime | None:
    """Return the time in the name of a backup; `None` for other files."""
    match = re.fullmatch(re.escape(_stem(store)) + r"-(\d{8}T\d{6}Z)(-\d+)?\.db", path.name)
    if match is None or path.is_symlink() or not path.is_file():
        return None
    try:
        return datetime.strptime(match[1], _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


def _is_intact(path: Path) -> bool:
    try:
        return verify(path).ok
    except MemglotError:
        return False


def _is_complete(path: Path) -> bool:
    if not is_store(path):
        return False
    with open(path, "rb") as file:
        return path.stat().st_size >= expected_size(file.read(100))
