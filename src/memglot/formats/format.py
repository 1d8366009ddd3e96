"""Format: what a format declares about itself, and the options readers and writers take."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from memglot.formats.source import Source
from memglot.formats.target import Target
from memglot.model import FIELDS, Item
from memglot.report import Report


@dataclass(frozen=True)
class Options:
    """What a caller may ask of a reader or a writer."""

    lenient: bool = False
    plain: bool = False
    layout: str = "flat"
    created_at: bool = True
    space: str | None = None


Read: TypeAlias = Callable[[Source, Report, Options], Iterator[Item]]
Write: TypeAlias = Callable[[Iterable[Item], Target, Report, Options], None]
ALL_FIELDS = frozenset(FIELDS)


@dataclass(frozen=True)
class Format:
    """One format. Detection, the law tests, the matrix and the tables in the docs all read this declaration.

    `read` yields any item of the model. It never raises for one record: it reports it and goes on, and it sets
    `report.line` and `report.item` before it yields a record. `write` takes items, a record followed by what rides
    with it, and reports what it drops.
    """

    name: str
    title: str
    tool: str
    family: str
    extensions: tuple[str, ...]
    homes: frozenset[str]
    carry: str
    read: Read
    write: Write | None
    dedup: str = "id"
    conflict: str = "skip"
    folder: bool = False
    empty_is_error: bool = True
    recognise: Callable[[bytes], bool] | None = None
    aliases: tuple[str, ...] = field(default=())

    @property
    def keeps(self) -> frozenset[str]:
        """The model fields that survive writing and reading: all of them, where there is a carry slot."""
        return ALL_FIELDS if self.carry else self.homes
