"""Format: what a format declares about itself, and the options of readers and writers."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.model import FIELDS, Item
from memglot.report import Report, SourceReport
from memglot.settings import MAX_RECORD_BYTES, Passphrase


@dataclass(frozen=True, kw_only=True)
class _Encrypted:
    """Options of whatever reads or writes encrypted items."""

    passphrase: Passphrase = field(default=None, repr=False)
    """Passphrase of encrypted items, or a function that asks for it; never shown."""

    def secret(self) -> str | None:
        """Return the passphrase; ask for it if necessary."""
        return self.passphrase() if callable(self.passphrase) else self.passphrase


@dataclass(frozen=True, kw_only=True)
class ReadOptions(_Encrypted):
    """Options of a reader."""

    lenient: bool = False
    max_record: int = MAX_RECORD_BYTES
    """Maximum size of one memory or conversation in bytes."""
    space: str | None = None
    """Namespace of ids that are derived from those of another tool."""
    accept_broken_audit: bool = False
    sensitive: bool = True
    """Whether the sensitive scopes of a store are read too."""
    columns: Mapping[str, str] | None = None
    """Columns of tables by the fields that they fill; then every input is read as a table."""
    table: str | None = None
    """The table of a database that is read with `columns`."""
    own: frozenset[str] = frozenset()
    """Real paths of files that belong to memglot itself; they are skipped in folders."""
    slots: Mapping[str, Any] | None = None
    """What the proof of a folder carries for its notes, by path."""
    digests: Mapping[str, str] | None = None
    """Digests of the notes when they were written, by path."""
    names: Mapping[str, str] | None = None
    """Paths that memglot made up for notes, by the ids of their memories."""


@dataclass(frozen=True, kw_only=True)
class WriteOptions(_Encrypted):
    """Options of a writer."""

    plain: bool = False
    """Whether to write no carry slots, sidecars and proofs."""
    layout: str = "flat"
    created_at: bool = True
    space: str | None = None
    """Namespace of ids that are derived from those of another tool."""
    dialect: str | None = None
    plaintext: bool = False
    """Whether sensitive scopes are written unencrypted."""
    encrypted_scopes: frozenset[str] = frozenset()
    """Scopes whose memories are encrypted."""
    only_scope: str | None = None
    """The only scope that is written, if it is only one."""
    chunk_size: int = 5
    """Maximum size of a text in MiB before it gets a file of its own."""
    store_name: str = ""
    """Name of the store, as the file shows it."""
    for_spreadsheets: bool = False
    """Whether cells that a spreadsheet would run as a formula are marked."""
    closed: bool = False
    """Whether sensitive scopes that are left out are not mentioned."""
    one_note_per: str | None = None
    """`conversation` to write each conversation as one note."""


Reader: TypeAlias = Callable[[Source, SourceReport, ReadOptions], Iterator[Item]]
Writer: TypeAlias = Callable[[Iterable[Item], Target, Report, WriteOptions], None]
FilesReader: TypeAlias = Callable[[Iterable[tuple[str, Source]], str, SourceReport, ReadOptions], Iterator[Item]]
FolderReader: TypeAlias = Callable[[Path, SourceReport, ReadOptions], Iterator[Item]]
ALL_FIELDS = frozenset(FIELDS)
STORE = "sqlite"
"""The format that is a store itself."""


class Glimpse(Protocol):
    """What can be seen of a folder, or of a zip, without reading all of it."""

    names: list[str]
    """Paths of files in it, including hidden ones, up to a maximum; the separator is `/`."""

    def heads(self, extension: str) -> Iterator[bytes]:
        """Return the first bytes of its files with an extension."""


@dataclass(frozen=True)
class FolderSupport:
    """How a format is read from a folder."""

    recognise: Callable[[Glimpse], bool] | None = None
    """Returns True if a folder has this format."""
    accepts_file: Callable[[str], bool] | None = None
    """Returns True if a file, by its path in the folder, has this format; by default, its extension decides."""
    read_files: FilesReader | None = None
    """Reads all files of a folder as one, for files that refer to each other. It gets the path of each file with its
    source, which it closes, and the name of the folder."""
    folder_name: str = ""
    """Name of the folder that holds the format, for formats that are one folder among others."""
    read: FolderReader | None = None
    """Reads this folder."""
    digest_file: Callable[[Path], str | None] | None = None
    """Returns the digest of a file, if that is not the digest of its record."""

    def find_in(self, folder: Path) -> Path:
        """Return the folder of this format in a folder, which may be that folder itself."""
        name = self.folder_name
        return folder / name if name and folder.absolute().name != name else folder


class MergeRule(StrEnum):
    """How to merge a value that a tool keeps for itself."""

    LATEST = "latest"
    """The tool's newest value replaces the stored one."""
    UNION = "union"
    """Two lists are united."""


@dataclass(frozen=True)
class MergeSupport:
    """How edits that another tool made are found and merged.

    Without clocks, what a source said at the last exchange shows what it changed since.
    """

    has_clocks: bool = False
    """Whether every record has memglot's own clocks, so that two versions are merged by them alone."""
    has_edit_times: bool = False
    """Whether a record has the time of its last edit."""
    by_hand: bool = False
    """Whether people edit its files, so that a value may change without any time."""
    source: str = ""
    """Name of the source if its files say values in other words than others of the tool; by default, the tool."""
    carries_all: bool = False
    """Whether every record has a carry slot, so that the store need not remember what was written."""
    tools: frozenset[str] = frozenset()
    """Other tools whose files have this format too."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values that a tool gives to a memory that has none."""
    whole_lists: frozenset[str] = frozenset()
    """Tools with edit times whose lists are complete, so that a missing value was removed; others are united."""
    bookkeeping: Mapping[str, MergeRule] = field(default_factory=dict)
    """Values that a tool keeps for itself, by name, with the rule that merges them; they never conflict. Of access
    counts and times of the last access, the greater one always wins."""


@dataclass(frozen=True)
class WriteSupport:
    """What the writer of a format needs, and what its output includes."""

    makes_folder: bool = False
    """Whether it writes a folder of files that are named by the ids of their memories."""
    needs_ids: bool = False
    """Whether every record needs an id and a time."""
    includes_vectors: bool = False
    """Whether it writes vectors without being asked to."""
    graph_first: bool = False
    """Whether entities and relations come before the memories."""
    proves_rest: bool = False
    """Whether the proof covers items that are not records too."""
    includes_audit: bool = False
    """Whether it can hold an audit chain."""
    encrypts: bool = False
    """Whether it can encrypt sensitive scopes."""
    groups_notes: bool = False
    """Whether it can write a conversation as one note."""
    marks_formulas: bool = False
    """Whether it can mark cells that a spreadsheet would run as a formula."""


@dataclass(frozen=True)
class Format:
    """One format. Detection, the law tests, the matrix and the tables in the docs all use this declaration.

    `read` yields any item of the model. It never raises an error for one record, but reports it and continues; it sets
    `report.line` and `report.item` before it yields a record. `write` gets items, each record followed by its attached
    items, and reports what it drops.
    """

    name: str
    title: str
    tool: str
    family: str
    """Formats that may share an extension, such as all JSON formats."""
    extensions: tuple[str, ...]
    fields: frozenset[str]
    """Fields of the model that have a place of their own."""
    carry: str
    """Where the carry slot is; empty if there is none."""
    read: Reader
    write: Writer | None
    aliases: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    recognise: Callable[[bytes], bool] | None = None
    """Returns True if the first bytes of a file have the shape of this format."""
    dedup: str = "id"
    conflict: str = "skip"
    empty_is_error: bool = True
    """Whether an empty file is not a valid file of this format; otherwise it has no records."""
    blank_is_error: bool = True
    """The same for a file that has only white space."""
    folder: FolderSupport = FolderSupport()
    merging: MergeSupport = MergeSupport()
    writing: WriteSupport = WriteSupport()

    @property
    def keeps(self) -> frozenset[str]:
        """The model fields that survive writing and reading: all of them, if there is a carry slot."""
        return ALL_FIELDS if self.carry else self.fields
