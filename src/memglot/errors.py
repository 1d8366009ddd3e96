"""The errors memglot raises on purpose.

    MemglotError
    ├── UsageError            2  the call itself is wrong
    │   ├── UnknownFormat, UnknownEmbedder, UnknownStore, UnknownChoice, UnknownFilter
    │   ├── NotWritable, TargetExists, UnseenFile, NeedsFolder
    │   └── HiddenScope
    ├── Unreadable            2  an input that cannot be read at all
    │   └── NotADatabase, WrongPassphrase
    ├── NotFound              2  no such memory, import or path
    │   └── HiddenMemory
    ├── Ambiguous             2  a short id that fits several memories
    ├── AlreadyThere          2  an id that is taken
    ├── BadRecord             2  one record that breaks a rule; the others are read
    ├── CheckFailed           1  a check found a problem
    ├── NoPassphrase          3  no passphrase to encrypt sensitive scopes with
    ├── CannotWrite           3  an output that cannot be written
    └── StoreError            3  a precondition is missing
        ├── NoStore, ClosedStore, NotAStore, NewerStore, ReadOnlyStore, LockedStore, FullStore,
        │   FailedDisk, DamagedStore, DamagedText
        └── NotYet, NoViewer, MissingProgram, FailedEmbedder

The number is the exit code. The text says what happened and where, `hint` says what to do next, and the facts are
fields. A message used in one place is written in that place; errors about one record are in `model/record_errors.py`.
"""

from collections.abc import Sequence

from memglot.display import shorten

GIVE_PASSPHRASE = "give it in a file with `--passphrase-file`, or in `$MEMGLOT_PASSPHRASE`"
ALLOW_SENSITIVE = "`memglot mcp --allow-sensitive` shows sensitive scopes to agents"


class MemglotError(Exception):
    """Base class of all errors that memglot raises on purpose."""

    code = "error"
    exit_code = 2

    def __init_subclass__(cls, *, code: str = "", exit_code: int = 0) -> None:
        cls.code, cls.exit_code = code or cls.code, exit_code or cls.exit_code

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(MemglotError, code="usage"):
    """The call itself is wrong: a value, a flag, or a combination of them."""


class UnknownFormat(UsageError, code="unknown_format"):
    """A format name that is not registered."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        hint = _did_you_mean(name.lower(), known) or "`memglot formats` lists the formats you can read and write"
        super().__init__(f"unknown format `{name}`", hint)
        self.name, self.known = name, known


class UnknownEmbedder(UsageError, code="unknown_embedder"):
    """An embedder name that is not registered."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        listed = ", ".join(f"`{one}`" for one in known)
        hint = _did_you_mean(name, known) or "install the package that provides it, or use one of these"
        super().__init__(f"unknown embedder `{name}`; available: {listed}", hint)
        self.name, self.known = name, known


class UnknownStore(UsageError):
    """A store URL with an unknown scheme."""

    def __init__(self, scheme: str) -> None:
        super().__init__(
            f"`{shorten(scheme)}://` is not a valid store URL", "use a path, `sqlite:///path` or `:memory:`"
        )
        self.scheme = scheme


class UnknownChoice(UsageError):
    """A value that is not one of the allowed ones."""

    def __init__(self, name: str, value: object, known: Sequence[str]) -> None:
        super().__init__(f"unknown {name} `{shorten(str(value))}`", "one of: " + ", ".join(known))
        self.name, self.value, self.known = name, value, known


class UnknownFilter(UsageError, code="unknown_filter"):
    """A keyword argument that is not a filter."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        hint = _did_you_mean(name, known) or "the filters are " + ", ".join(f"`{one}`" for one in known)
        super().__init__(f"unknown filter `{shorten(name)}`", hint)
        self.name, self.known = name, known


class NotWritable(UsageError, code="not_writable"):
    """A format that can only be read."""

    def __init__(self, name: str) -> None:
        super().__init__(f"`{name}` can be read but not written", "`memglot formats` lists the formats you can write")
        self.name = name


class TargetExists(UsageError, code="exists"):
    """An export that would overwrite something."""

    def __init__(self, path: str, message: str = "", hint: str = "") -> None:
        super().__init__(
            message or f"`{path}` already exists", hint or "use another path, or `--force` to overwrite it"
        )
        self.path = path


class UnseenFile(TargetExists, code="unseen"):
    """A file that an export does not replace, because it contains what the store has not seen, or may contain it."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, f"`{path}` {reason}", f"`memglot sync {path}` merges both; `--force` replaces the file")


class NeedsFolder(UsageError, code="needs_folder"):
    """Several memories in a format that stores one memory per file."""

    def __init__(self, format: str, where: str) -> None:
        super().__init__(
            f"`{format}` stores one memory per file, and there are several to write to {where}",
            "give the path of a folder, or choose another format with `--format`",
        )
        self.format = format


class HiddenScope(UsageError):
    """A memory for a scope that is hidden from the caller."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"the scope `{shorten(scope)}` is sensitive and hidden here", ALLOW_SENSITIVE)
        self.scope = scope


class Unreadable(MemglotError, code="unreadable"):
    """An input that cannot be read at all."""

    def __init__(self, name: str, reason: str, hint: str | None = None) -> None:
        super().__init__(f"cannot read `{name}`: {reason}", hint)
        self.name, self.reason = name, reason


class NotADatabase(Unreadable):
    """A file that SQLite cannot read."""

    def __init__(self, name: str) -> None:
        super().__init__(
            name,
            "it is not a SQLite database, or it is encrypted",
            "decrypt it first, or name its format with `--format`",
        )


class WrongPassphrase(Unreadable, code="wrong_passphrase"):
    """A passphrase that does not decrypt a file."""

    def __init__(self, name: str) -> None:
        hint = f"check the passphrase, and whether the file is intact; {GIVE_PASSPHRASE}"
        super().__init__(name, "the passphrase does not decrypt it", hint)


class CannotWrite(MemglotError, code="cannot_write", exit_code=3):
    """An output that cannot be written."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot write `{path}`: {reason}", "nothing was changed there; check the path and the disk")
        self.path, self.reason = path, reason


class NotFound(MemglotError, code="not_found"):
    """No such memory, import or other item."""

    def __init__(self, what: str, key: str, hint: str | None = None) -> None:
        super().__init__(f"no {what} `{key}`", hint)
        self.what, self.key = what, key


class HiddenMemory(NotFound):
    """A memory that does not exist, or is hidden from the caller: the message is the same for both."""

    def __init__(self, id: str) -> None:
        super().__init__("memory in the scopes shown here", id, ALLOW_SENSITIVE)


class Ambiguous(MemglotError, code="ambiguous"):
    """A short id that fits several memories."""

    def __init__(self, prefix: str, ids: Sequence[str]) -> None:
        super().__init__(f"`{prefix}` fits several memories", "one of: " + ", ".join(ids))
        self.prefix, self.ids = prefix, ids


class AlreadyThere(MemglotError, code="exists"):
    """An explicit id that is taken."""

    def __init__(self, id: str) -> None:
        super().__init__(f"memory `{id}` already exists", f"use `memglot update {id}` to change it")
        self.id = id


class BadRecord(MemglotError, code="bad_record"):
    """One record that breaks a rule. Readers report it and continue with the next."""


class CheckFailed(MemglotError, code="check_failed", exit_code=1):
    """A check found a problem that a person should look at."""


class NoPassphrase(MemglotError, code="no_passphrase", exit_code=3):
    """An export of sensitive scopes without a passphrase to encrypt them with."""


class StoreError(MemglotError, code="store", exit_code=3):
    """The store cannot be used as asked."""


class NoStore(StoreError, code="no_store"):
    """A store that does not exist, for a command that only reads."""

    def __init__(self, url: str) -> None:
        super().__init__(f"no store at `{url}`", "`memglot import PATH` or `memglot add TEXT` creates one")
        self.url = url


class ClosedStore(StoreError, code="closed"):
    """A store that was closed before it was used."""

    def __init__(self, url: str) -> None:
        super().__init__(f"the store `{url}` is closed", "open it again with `Memory.open()`")
        self.url = url


class NotAStore(StoreError, code="not_a_store"):
    """A file that is not a database, or belongs to another program."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"`{url}` is not a memglot store: {reason}", "name another file with `--store`")
        self.url, self.reason = url, reason


class NewerStore(StoreError, code="newer_store"):
    """A store written by a later version of memglot."""


class ReadOnlyStore(StoreError, code="read_only"):
    """A store that cannot be written."""

    def __init__(self, url: str) -> None:
        super().__init__(f"the store `{url}` is read-only", "check the permissions of the file and its folder")
        self.url = url


class LockedStore(StoreError, code="locked"):
    """A store that another process keeps locked, or keeps open where exclusive access is needed."""

    def __init__(self, url: str, seconds: float, *, alone: bool = False) -> None:
        super().__init__(
            f"the store `{url}` is locked: another process has {'had it open' if alone else 'been writing'} "
            f"for {seconds:g} s",
            "stop the programs that use it, and try again" if alone else "try again when it has finished",
        )
        self.url, self.seconds = url, seconds


class FullStore(StoreError, code="full"):
    """No disk space left for the store."""


class FailedDisk(StoreError, code="failed_disk"):
    """A disk that reports an error when the store is read or written."""

    def __init__(self, url: str) -> None:
        super().__init__(
            f"the disk reported an error while the store `{url}` was read or written",
            "check the disk, and copy the store to another one",
        )
        self.url = url


class DamagedStore(StoreError, code="damaged"):
    """A database file that is damaged."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"the store `{url}` is damaged: {reason}",
            "`memglot doctor` shows details; `memglot doctor --salvage OUT` copies what can be read to a new store",
        )
        self.url, self.reason = url, reason


class DamagedText(DamagedStore):
    """A full-text index that is damaged, while the memories may be intact."""

    def __init__(self, url: str) -> None:
        super().__init__(url, "its full-text index cannot be used")
        self.hint = "`memglot doctor --fix` rebuilds it from the memories"


class FailedEmbedder(StoreError, code="failed_embedder"):
    """An embedder of another package that raised an error."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"the embedder `{name}` failed: {shorten(reason)}", "choose another: `memglot embed --model`")
        self.name, self.reason = name, reason


class NotYet(StoreError, code="not_yet"):
    """A part of the interface that this version does not have."""


class NoViewer(NotYet):
    """The web viewer, which this version does not have."""

    def __init__(self) -> None:
        super().__init__(
            "this version of memglot has no web viewer", "`memglot list`, `tree` and `search` show your memories"
        )


class MissingProgram(StoreError, code="missing"):
    """A program or setting that a command needs."""


def _did_you_mean(name: str, known: Sequence[str]) -> str | None:
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1)
    return f"did you mean `{near[0]}`?" if near else None
