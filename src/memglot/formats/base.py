"""Format: what a format declares about itself, and the options readers and writers take."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.model import FIELDS, Item, Record
from memglot.report import Report, SourceReport
from memglot.settings import Passphrase


@dataclass(frozen=True)
class Options:
    """What a caller may ask of a reader or a writer."""

    lenient: bool = False
    plain: bool = False
    layout: str = "flat"
    created_at: bool = True
    space: str | None = None
    dialect: str | None = None
    passphrase: Passphrase = field(default=None, repr=False)
    """What seals and opens the memories of sensitive scopes; it is never shown."""
    plaintext: bool = False
    """Whether these scopes are written as they are."""
    sealed_scopes: frozenset[str] = frozenset()
    """The scopes whose memories are sealed."""
    only_scope: str | None = None
    """The one scope that is written, where only one is."""
    chunk_size: int = 5
    """How many MiB a body may have before it lies apart."""
    accept_broken_audit: bool = False
    store_name: str = ""
    """What the file says of where its memories come from."""
    sensitive: bool = True
    """Whether a store that is read gives its sensitive scopes too."""
    slots: Mapping[str, Any] | None = None
    """What the proof of a folder carries for its notes, by their paths."""
    digests: Mapping[str, str] | None = None
    """The digests of its notes as they were written, by their paths."""
    closed: bool = False
    """Whether nothing is told of sensitive scopes that are left out."""
    own: frozenset[str] = frozenset()
    """The real paths of what belongs to this tool itself, which is no part of a folder that is read."""

    def secret(self) -> str | None:
        """The passphrase; somebody who is to be asked for it is asked now."""
        return self.passphrase() if callable(self.passphrase) else self.passphrase


Reader: TypeAlias = Callable[[Source, SourceReport, Options], Iterator[Item]]
Writer: TypeAlias = Callable[[Iterable[Item], Target, Report, Options], None]
ReadHome: TypeAlias = Callable[[Path, SourceReport, Options], Iterator[Item]]
ReadFolder: TypeAlias = Callable[[Iterable[tuple[str, Source]], str, SourceReport, Options], Iterator[Item]]
ALL_FIELDS = frozenset(FIELDS)
STORE = "sqlite"
"""The format that is a store itself."""


class Glimpse(Protocol):
    """What can be seen of a folder, or of a zip, without reading all of it."""

    names: list[str]
    """Paths of files in it, hidden ones too, up to a bound; `/` between their parts."""

    def heads(self, extension: str) -> Iterator[bytes]:
        """The first bytes of its files with an extension."""


@dataclass(frozen=True)
class Format:
    """One format. Detection, the law tests, the matrix and the tables in the docs all read this declaration.

    `read` yields any item of the model. It never raises for one record: it reports it and goes on, and it sets
    `report.line` and `report.item` before it yields a record. `write` takes items, a record followed by what rides
    with it, and reports what it drops.

    `read_folder` reads the files of a folder as one, for formats whose files speak of each other: it gets their paths
    in the folder, each with its source, which it closes, and the folder's own name. `takes` tells which files of a
    folder are meant at all. A format with a `home` lies in a folder of that name, which it reads itself with
    `read_home`, however much else there is around it.
    `digest_file` digests a file of a folder where that is not the digest of its record.
    `empty_is_error` and `blank_is_error` tell whether a file of nothing, or of white space alone, is no file of the
    format at all, or one without records.
    `untouched` tells whether a memory still says what its note said when it was read last, and `residue` under which
    key of `extra` the bytes around the note's content are kept.
    `settles` tells that a record without an id or a time must get one before it is written, `whole` that the format
    holds everything there is, vectors too. `graph_first` asks for entities and relations before the memories, and
    `proves_rest` tells that the proof covers what is no record too, `audits` that there is a place for an audit chain,
    `seals` that sensitive scopes can be written sealed.
    """

    name: str
    title: str
    tool: str
    family: str
    extensions: tuple[str, ...]
    homes: frozenset[str]
    carry: str
    read: Reader
    write: Writer | None
    dedup: str = "id"
    conflict: str = "skip"
    folder: bool = False
    empty_is_error: bool = True
    blank_is_error: bool = True
    recognise: Callable[[bytes], bool] | None = None
    aliases: tuple[str, ...] = field(default=())
    read_folder: ReadFolder | None = None
    home: str = ""
    read_home: ReadHome | None = None
    takes: Callable[[str], bool] | None = None
    recognise_folder: Callable[[Glimpse], bool] | None = None
    digest_file: Callable[[Path], str | None] | None = None
    untouched: Callable[[Record], bool] | None = None
    residue: str = ""
    settles: bool = False
    whole: bool = False
    dialects: tuple[str, ...] = ()
    graph_first: bool = False
    proves_rest: bool = False
    audits: bool = False
    seals: bool = False

    def home_in(self, folder: Path) -> Path:
        """Where in a folder the format lies: in the folder of its own name, or in the one that is given."""
        return folder / self.home if self.home and folder.absolute().name != self.home else folder

    @property
    def keeps(self) -> frozenset[str]:
        """The model fields that survive writing and reading: all of them, where there is a carry slot."""
        return ALL_FIELDS if self.carry else self.homes
