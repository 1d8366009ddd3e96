"""Every message of memglot, in one place.

    MemglotError
    ├── UsageError            2  the call itself is wrong
    │   ├── UnknownFormat, UnknownEmbedder, NotWritable
    │   └── TargetExists, NeedsFolder
    ├── Unreadable            2  an input that cannot be read at all
    │   └── WrongPassphrase
    ├── NotFound              2  no such memory, import or path
    ├── Ambiguous             2  a short id that fits several memories
    ├── AlreadyThere          2  an id that is taken
    ├── BadRecord             2  one record that breaks a rule; its siblings go on
    ├── CheckFailed           1  a check found something
    ├── NoPassphrase          3  no passphrase to seal sensitive scopes with
    ├── CannotWrite           3  an output that cannot be written
    └── StoreError            3  a precondition is missing
        ├── NoStore, NotAStore, NewerStore, ReadOnlyStore, LockedStore, FullStore, DamagedStore, DamagedText
        └── NotYet, MissingProgram, FailedEmbedder

An error's text says what happened and where; its `hint` says what to do next.
"""

from collections.abc import Sequence

from memglot.display import shorten
from memglot.settings import (
    MAX_DEPTH,
)

_ALLOW_SENSITIVE = "`memglot mcp --allow-sensitive` opens sensitive scopes to agents"
_GIVE_PASSPHRASE = "give it in a file with `--passphrase-file`, or in `$MEMGLOT_PASSPHRASE`"


class MemglotError(Exception):
    """The root of all errors that memglot raises on purpose."""

    code = "error"
    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(MemglotError):
    """The call itself is wrong: a value, a flag, or a combination of them."""

    code = "usage"


class UnknownFormat(UsageError):
    """A format name that nothing is registered under."""

    code = "unknown_format"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        from difflib import get_close_matches

        near = get_close_matches(name.lower(), known, 1)
        hint = f"did you mean `{near[0]}`?" if near else "`memglot formats` lists what can be read and written"
        super().__init__(f"unknown format `{name}`", hint)
        self.name = name


class UnknownEmbedder(UsageError):
    """An embedder's name that nothing is registered under."""

    code = "unknown_embedder"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        from difflib import get_close_matches

        near = get_close_matches(name, known, 1)
        listed = ", ".join(f"`{one}`" for one in known)
        hint = f"did you mean `{near[0]}`?" if near else "install the package that brings it, or use one of these"
        super().__init__(f"unknown embedder `{name}`; there is {listed}", hint)
        self.name = name


class NotWritable(UsageError):
    """A format that can only be read."""

    code = "not_writable"

    def __init__(self, name: str) -> None:
        super().__init__(f"`{name}` can be read, not written", "`memglot formats` lists what can be written")


class TargetExists(UsageError):
    """An export would overwrite something."""

    code = "exists"

    def __init__(self, path: str) -> None:
        super().__init__(f"`{path}` exists already", "give another path, or `--force` to overwrite it")


class NeedsFolder(UsageError):
    """Several memories in a format that holds one a file."""

    code = "needs_folder"

    def __init__(self, format: str, where: str) -> None:
        super().__init__(
            f"`{format}` holds one memory a file, and there are several to write to {where}",
            "give the path of a folder, or choose another format with `--format`",
        )


class Unreadable(MemglotError):
    """An input that cannot be read at all."""

    code = "unreadable"

    def __init__(self, name: str, reason: str, hint: str | None = None) -> None:
        super().__init__(f"cannot read `{name}`: {reason}", hint)
        self.name = name
        self.reason = reason


class WrongPassphrase(Unreadable):
    """A passphrase that does not open what is sealed in a file."""

    code = "wrong_passphrase"

    def __init__(self, name: str) -> None:
        super().__init__(
            name, "the passphrase does not open it", "check it, and whether the file is whole; " + _GIVE_PASSPHRASE
        )


class CannotWrite(MemglotError):
    """An output that cannot be written."""

    code = "cannot_write"
    exit_code = 3

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot write `{path}`: {reason}", "nothing was changed there; check the path and the disk")


class NotFound(MemglotError):
    """No such memory, import or other thing."""

    code = "not_found"

    def __init__(self, what: str, key: str, hint: str | None = None) -> None:
        super().__init__(f"no {what} `{key}`", hint)


class Ambiguous(MemglotError):
    """A short id that fits several memories."""

    code = "ambiguous"

    def __init__(self, prefix: str, ids: Sequence[str]) -> None:
        super().__init__(f"`{prefix}` fits several memories", "one of: " + ", ".join(ids))


class AlreadyThere(MemglotError):
    """An explicit id that is taken."""

    code = "exists"

    def __init__(self, id: str) -> None:
        super().__init__(f"memory `{id}` exists already", f"`memglot update {id}` changes it")


class BadRecord(MemglotError):
    """One record that breaks a rule. Readers report it and go on with its siblings."""

    code = "bad_record"


class CheckFailed(MemglotError):
    """A check found something that a person should look at."""

    code = "check_failed"
    exit_code = 1


class NoPassphrase(MemglotError):
    """Sensitive scopes that are to go out, and no passphrase to seal them with."""

    code = "no_passphrase"
    exit_code = 3

    def __init__(self, scopes: Sequence[str], *, closed: bool = False) -> None:
        if closed:
            # To whom they are not shown, not even their names are.
            super().__init__(
                "there are sensitive scopes, and no passphrase was given to seal them with",
                "`memglot mcp --passphrase-file FILE` or `$MEMGLOT_PASSPHRASE` gives the server one; a `scope` that is "
                "not sensitive needs none",
            )
            return
        noun = "the scope" if len(scopes) == 1 else "the scopes"
        names = ", ".join(f"`{shorten(scope)}`" for scope in scopes[:5]) + (", ..." if len(scopes) > 5 else "")
        verb, them = ("is", "it") if len(scopes) == 1 else ("are", "them")
        super().__init__(
            f"{noun} {names} {verb} sensitive, and no passphrase was given to seal {them} with",
            f"{_GIVE_PASSPHRASE}; `--plaintext` writes {them} in the clear",
        )


class StoreError(MemglotError):
    """The store cannot be used as asked."""

    code = "store"
    exit_code = 3


class NoStore(StoreError):
    """A reading command on a store that does not exist."""

    code = "no_store"

    def __init__(self, url: str) -> None:
        super().__init__(f"no store at `{url}`", "`memglot import PATH` or `memglot add TEXT` creates one")


class NotAStore(StoreError):
    """A file that is no database, or another program's."""

    code = "not_a_store"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"`{url}` is not a memglot store: {reason}", "name another file with `--store`")


class NewerStore(StoreError):
    """A store that a later memglot wrote."""

    code = "newer_store"

    def __init__(self, url: str, found: int, known: int) -> None:
        super().__init__(
            f"`{url}` is a store of version {found}, and this memglot knows versions up to {known}",
            "`pip install --upgrade memglot`",
        )


class ReadOnlyStore(StoreError):
    """A writing command on a store that cannot be written."""

    code = "read_only"

    def __init__(self, url: str) -> None:
        super().__init__(f"the store `{url}` is read-only", "check the permissions of the file and its folder")


class LockedStore(StoreError):
    """Another process keeps writing; or, where nobody else may use the store, keeps it open."""

    code = "locked"

    def __init__(self, url: str, seconds: float, *, alone: bool = False) -> None:
        super().__init__(
            f"the store `{url}` is locked: another process has {'had it open' if alone else 'been writing'} "
            f"for {seconds:g} s",
            "stop the programs that use it, and try again" if alone else "try again when it is done",
        )


class FullStore(StoreError):
    """No room for more."""

    code = "full"

    def __init__(self, url: str) -> None:
        super().__init__(
            f"no room left to write the store `{url}`",
            "whole batches before this one are kept; make room and run the same command again",
        )


class DamagedStore(StoreError):
    """A database whose file is broken."""

    code = "damaged"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"the store `{url}` is damaged: {reason}",
            "`memglot doctor` tells more; `memglot restore` brings a backup back",
        )


class DamagedText(DamagedStore):
    """A full text index that is broken, while the memories may be whole."""

    def __init__(self, url: str) -> None:
        super().__init__(url, "its full text index cannot be used")
        self.hint = "`memglot doctor --fix` makes it anew from the memories"


class FailedEmbedder(StoreError):
    """An embedder of another package that raised an error."""

    code = "failed_embedder"

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"the embedder `{name}` failed: {shorten(reason)}", "`memglot embed --model` takes another one"
        )


class NotYet(StoreError):
    """A part of the interface that this version does not have."""

    code = "not_yet"


class MissingProgram(StoreError):
    """A program or setting that a command needs."""

    code = "missing"


def unknown_store(scheme: str) -> UsageError:
    """A store URL of a scheme that nothing is known about."""
    return UsageError(f"no store is known for `{shorten(scheme)}://`", "use a path, `sqlite:///path` or `:memory:`")


def sensitive_memory(id: str) -> NotFound:
    """A memory that is not shown, where sensitive scopes are not."""
    return NotFound("memory in the scopes shown here", id, _ALLOW_SENSITIVE)


def sensitive_scope(scope: str) -> UsageError:
    """A new memory for a scope that is not shown."""
    return UsageError(f"the scope `{shorten(scope)}` is sensitive, and such scopes are not open here", _ALLOW_SENSITIVE)


def closed_records(count: int) -> UsageError:
    """Memories of sensitive scopes, for a store that is open without these."""
    many = "a memory belongs" if count == 1 else f"{count:,} memories belong"
    return UsageError(f"{many} to sensitive scopes, which are not open here", _ALLOW_SENSITIVE)


# What can be wrong with one record -----------------------------------------------------------------------------------


def not_an_object(found: str) -> BadRecord:
    """Something else where a memory should be."""
    return BadRecord(f"a memory must be an object, not {found}")


def not_a_slot() -> BadRecord:
    """Something under our key that we cannot have written."""
    return BadRecord("it has none of the carry slot's fields")


def empty_content() -> BadRecord:
    """Content of no letters at all."""
    return BadRecord("`content` is empty")


def missing_content() -> BadRecord:
    """No content key."""
    return BadRecord("`content` is missing")


def wrong_type(field: str, wanted: str, found: str) -> BadRecord:
    """A field of another type than it must have."""
    hint = f"leave `{field}` out instead of giving null" if found == "null" else None
    return BadRecord(f"`{field}` must be {wanted}, not {found}", hint)


def wrong_types(reason: str) -> BadRecord:
    """A record whose fields have other types than they must."""
    return BadRecord(f"not a memory: {reason[:1].lower()}{reason[1:]}")


def bad_tree(text: str) -> BadRecord:
    """A tree path of other letters or dots."""
    return BadRecord(
        f"`tree` must be labels of letters, digits and `_` joined by dots, not `{shorten(text)}`",
        "`import --lenient` also takes `/` between labels, and `-` in them",
    )


def bad_time(text: str) -> BadRecord:
    """A time without date, `T` or offset, or that does not exist."""
    return BadRecord(f"`{shorten(text)}` is not an ISO 8601 time with an offset, such as `2024-01-15T10:30:00Z`")


def time_out_of_range(value: int) -> BadRecord:
    """A number of microseconds that no calendar has."""
    return BadRecord(f"`{value}` microseconds since 1970 lie outside the years 1 to 9999")


def bad_temporal(found: str) -> BadRecord:
    """A temporal of none of the known shapes."""
    return BadRecord(f"`temporal` must be a time, or a list of one or two times, not {found}")


def bad_text(field: str, what: str, offset: int) -> BadRecord:
    """Text that no store can hold."""
    return BadRecord(f"{_named(field)} contains {what} at character {offset}")


def bad_bytes(offset: int, what: str = "invalid UTF-8") -> BadRecord:
    """Bytes that are no text."""
    return BadRecord(f"{what} at byte {offset}")


_REREAD = "; the lines below it were read again, and those with as many fields as the header were taken for rows"


def open_quote() -> BadRecord:
    """A quote in a CSV without its other half."""
    return BadRecord("a quote opens a field here and never closes", "close it, or double it if it is text" + _REREAD)


def bad_quote(*, lines: bool) -> BadRecord:
    """Text behind the quote that closes a field of a CSV, which may have opened lines before."""
    hint = "double the quotes inside a quoted field"
    if not lines:
        return BadRecord("text follows the quote that closes a field", hint)
    return BadRecord("a quote opens a field here and closes before other text, lines below", hint + _REREAD)


def bad_number(field: str, value: float) -> BadRecord:
    """NaN or an infinity."""
    return BadRecord(f"{_named(field)} contains `{value}`, which JSON cannot hold")


def too_deep(field: str) -> BadRecord:
    """Nesting beyond the limit."""
    return BadRecord(f"{_named(field)} is nested deeper than {MAX_DEPTH} levels", "flatten it before importing")


def bad_syntax(language: str, reason: str) -> BadRecord:
    """Text that is not what it should be."""
    return BadRecord(f"not valid {language}: {reason}")


def _named(field: str) -> str:
    """A field in backticks; words that are no field as they are."""
    return field if " " in field else f"`{field}`"


def needs_passphrase(things: int | None = None) -> BadRecord:
    """Something sealed, and nothing to open it with."""
    what = "it is sealed" if things is None else f"{things:,} things besides the memories are sealed"
    return BadRecord(f"{what}, and no passphrase was given", _GIVE_PASSPHRASE)


def cannot_open(reason: str) -> BadRecord:
    """Something sealed that does not open."""
    return BadRecord(f"the sealed text cannot be opened: {reason}")


def not_a_database(name: str) -> Unreadable:
    """A file that SQLite cannot read."""
    return Unreadable(
        name, "it is not a SQLite database, or an encrypted one", "decrypt it first, or name its format with `--format`"
    )


def empty_input(name: str) -> Unreadable:
    """A file of no bytes, or of white space."""
    return Unreadable(name, "it is empty")


def empty_text(field: str) -> BadRecord:
    """A text that must say something."""
    return BadRecord(f"`{field}` is empty")


def bad_passphrase(where: str, reason: str) -> UsageError:
    """A passphrase that cannot be had from where it should be; what was found there is never shown."""
    return UsageError(f"no passphrase can be read from `{where}`: {reason}", "it must hold the passphrase and no more")


def bad_choice(name: str, value: str, known: Sequence[str]) -> UsageError:
    """A value that is none of those that are known."""
    return UsageError(f"unknown {name} `{shorten(str(value))}`", "one of: " + ", ".join(known))


def no_viewer() -> NotYet:
    """The web viewer is not part of this version."""
    return NotYet("this version of memglot has no web viewer", "`memglot list`, `tree` and `search` show what is kept")
