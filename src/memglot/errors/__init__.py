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
    MAX_ALIAS_GROWTH,
    MAX_DEPTH,
    MAX_PASSPHRASE_BYTES,
    MAX_SECTION_BYTES,
    MAX_ZIP_BYTES,
    MAX_ZIP_FILES,
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


def no_postgres() -> NotYet:
    """The PostgreSQL store is not part of this version."""
    return NotYet("this version of memglot has no PostgreSQL store", "use a path to a `.db` file, or `:memory:`")


def unknown_store(scheme: str) -> UsageError:
    """A store URL of a scheme that nothing is known about."""
    return UsageError(f"no store is known for `{shorten(scheme)}://`", "use a path, `sqlite:///path` or `:memory:`")


def no_store_file(path: str) -> UsageError:
    """A store that is no file."""
    return UsageError(f"`{path}` is not a file that a backup could be put in the place of", "name one with `--store`")


def log_out_of_reach(url: str) -> StoreError:
    """A write-ahead log that cannot be read where it lies."""
    return StoreError(
        f"the store `{url}` has a write-ahead log that cannot be read in a folder that is read-only",
        "copy the store and the files beside it to a folder that can be written",
    )


def store_closed(url: str) -> StoreError:
    """A store that was let go of."""
    return StoreError(f"the store `{url}` is closed", "open it again")


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


def store_refused(url: str, reason: str) -> StoreError:
    """The database refused a change, for a reason that is its own."""
    return StoreError(f"the store `{url}` refused a change: {shorten(reason)}", "`memglot doctor` checks the store")


def changed_meanwhile(id: str) -> CheckFailed:
    """A memory that somebody else changed."""
    return CheckFailed(f"memory `{id}` was changed while you edited it")


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


def missing_key(key: str) -> BadRecord:
    """A key that a line must have."""
    return BadRecord(f"`{key}` is missing")


def wrong_type(field: str, wanted: str, found: str) -> BadRecord:
    """A field of another type than it must have."""
    hint = f"leave `{field}` out instead of giving null" if found == "null" else None
    return BadRecord(f"`{field}` must be {wanted}, not {found}", hint)


def wrong_types(reason: str) -> BadRecord:
    """A record whose fields have other types than they must."""
    return BadRecord(f"not a memory: {reason[:1].lower()}{reason[1:]}")


def bad_id(text: str) -> BadRecord:
    """An id that is no UUIDv7."""
    return BadRecord(f"`id` must be a UUIDv7, not `{shorten(text)}`", "leave `id` out to get a new one")


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


def backward_time() -> BadRecord:
    """A range that ends before it starts."""
    return BadRecord("`temporal` ends before it starts")


def bad_temporal(found: str) -> BadRecord:
    """A temporal of none of the known shapes."""
    return BadRecord(f"`temporal` must be a time, or a list of one or two times, not {found}")


def temporal_object() -> BadRecord:
    """The object form where only JSON may have it."""
    return BadRecord(
        "`temporal` as an object is accepted in JSON only",
        "write a time or a list of two, or import with `--lenient`, which accepts it",
    )


def bad_text(field: str, what: str, offset: int) -> BadRecord:
    """Text that no store can hold."""
    return BadRecord(f"{_named(field)} contains {what} at character {offset}")


def kept_whole(reason: str) -> BadRecord:
    """A note that cannot be taken apart."""
    return BadRecord(f"{reason}; the note is kept whole")


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


def too_many_fields(found: int, width: int) -> BadRecord:
    """A row of a CSV that has values without a column."""
    return BadRecord(f"the row has {found:,} fields, and the header {width:,}", "quote fields that hold a delimiter")


def no_content_column(names: Sequence[str]) -> BadRecord:
    """A CSV of something else."""
    found = ", ".join(f"`{shorten(name)}`" for name in names[:20]) + (", ..." if len(names) > 20 else "")
    return BadRecord(
        f"no column is named `content`; the columns are {found}", "rename the one that holds the text of a memory"
    )


def bad_header(error: BadRecord) -> BadRecord:
    """A header that cannot be read."""
    return BadRecord(f"the header cannot be read: {error}", "save the file as UTF-8")


def bad_column(column: str, error: BadRecord) -> BadRecord:
    """A value that is wrong in one column."""
    return BadRecord(f"`{column}`: {error}", error.hint)


def unknown_time(text: str) -> BadRecord:
    """A time in a shape that could mean several."""
    return BadRecord(
        f"`{shorten(text)}` is neither an ISO 8601 time nor a number of seconds, milliseconds or microseconds"
    )


def bad_number(field: str, value: float) -> BadRecord:
    """NaN or an infinity."""
    return BadRecord(f"{_named(field)} contains `{value}`, which JSON cannot hold")


def too_deep(field: str) -> BadRecord:
    """Nesting beyond the limit."""
    return BadRecord(f"{_named(field)} is nested deeper than {MAX_DEPTH} levels", "flatten it before importing")


def alias_bomb() -> BadRecord:
    """YAML aliases that blow a small file up."""
    return BadRecord(
        f"YAML aliases expand this document beyond {MAX_ALIAS_GROWTH} times its size",
        "write the repeated values out, or split the file",
    )


def bad_pack(field: str) -> BadRecord:
    """A memory pack without what it must have."""
    return BadRecord(f"this memory pack has no valid `{field}`", "a pack's name and version are text: quote them")


def no_mapping() -> BadRecord:
    """Something else where a conversation of ChatGPT's should be."""
    return BadRecord("a conversation must be an object with its messages in `mapping`")


def not_a_message() -> BadRecord:
    """Something else where a message of ChatGPT's should be."""
    return BadRecord("a message of this conversation is no object and was left out; the others were read")


def circular(conversation: str) -> BadRecord:
    """Messages that follow each other in a circle."""
    return BadRecord(f"the messages of `{shorten(conversation)}` follow each other in a circle; each was read once")


def bad_settings(conversation: str, error: BadRecord) -> BadRecord:
    """What is said of a whole conversation, in a form that no store can hold."""
    return BadRecord(f"left out the settings of `{shorten(conversation)}`: {error}; its messages were read")


def rest_lost(error: BadRecord) -> BadRecord:
    """A fault after which a file cannot be read any further."""
    return BadRecord(f"{error}; nothing after this place could be read", "mend the file and import it again")


def bad_syntax(language: str, reason: str) -> BadRecord:
    """Text that is not what it should be."""
    return BadRecord(f"not valid {language}: {reason}")


def _named(field: str) -> str:
    """A field in backticks; words that are no field as they are."""
    return field if " " in field else f"`{field}`"


def wrong_hash() -> BadRecord:
    """A content that is not the one its hash was made of."""
    return BadRecord("`content_hash` does not fit the content: one of the two was altered")


def needs_passphrase(things: int | None = None) -> BadRecord:
    """Something sealed, and nothing to open it with."""
    what = "it is sealed" if things is None else f"{things:,} things besides the memories are sealed"
    return BadRecord(f"{what}, and no passphrase was given", _GIVE_PASSPHRASE)


def no_key() -> BadRecord:
    """Something sealed in a file that does not tell how."""
    return BadRecord("it is sealed, and the file does not say how: it has no `encryption`")


def no_chain_in_v5() -> UsageError:
    """An audit chain in a shape that has no place for it."""
    return UsageError("mcp-memory-service's shape has no place for an audit chain", "leave `--include-audit-chain` out")


def cannot_open(reason: str) -> BadRecord:
    """Something sealed that does not open."""
    return BadRecord(f"the sealed text cannot be opened: {reason}")


def bad_encryption(reason: str) -> BadRecord:
    """A file whose sealing cannot be understood."""
    return BadRecord(f"`encryption` cannot be used: {reason}")


def chunk_outside(path: str) -> BadRecord:
    """A pointer to a body that leads out of the folder of bodies."""
    return BadRecord(
        f"its body is said to lie at `{shorten(path)}`, which is outside the folder of bodies: it was not opened"
    )


def bad_chunk(path: str, reason: str) -> BadRecord:
    """A body that lies apart and cannot be used."""
    return BadRecord(
        f"its body `{shorten(path)}` cannot be used: {reason}", "copy the folder of bodies together with its file"
    )


def section_too_large(name: str) -> BadRecord:
    """A section that is one huge value, which cannot be read piece by piece."""
    return BadRecord(
        f"`{name}` is one value of more than {MAX_SECTION_BYTES >> 20} MiB and was left out",
        "only lists may be longer",
    )


def bad_section(name: str) -> BadRecord:
    """A section, or an element of one, that is something else."""
    return BadRecord(f"`{name}` is not a list of what it should hold")


def broken_audit(name: str, row: int, reason: str) -> Unreadable:
    """A file whose audit chain was tampered with."""
    hint = "nothing was imported; `--accept-broken-audit` imports it all the same"
    return Unreadable(name, f"its audit chain is broken at row {row:,}: {reason}", hint)


def no_target() -> UsageError:
    """A conversion to nowhere."""
    return UsageError("no path or stream to write to")


def two_plugins(name: str, first: str, second: str) -> UsageError:
    """Two packages that claim one format name."""
    return UsageError(f"two plugins offer the format `{name}`: `{first}` and `{second}`", "uninstall one of them")


def two_embedders(name: str, first: str, second: str) -> UsageError:
    """Two packages that claim one embedder's name."""
    return UsageError(f"two plugins offer the embedder `{name}`: `{first}` and `{second}`", "uninstall one of them")


def damaged_table(path: str) -> Unreadable:
    """A table of vectors that is missing, cut off, or something else."""
    return Unreadable(
        path, "it is no whole table of vectors", "`pip install --force-reinstall memglot` brings the built-in one back"
    )


def zip_too_large(name: str) -> Unreadable:
    """A zip beyond the limits."""
    return Unreadable(
        name,
        f"it holds more than {MAX_ZIP_FILES:,} files or {MAX_ZIP_BYTES >> 30} GB",
        "unpack it and import the folder",
    )


def not_a_database(name: str) -> Unreadable:
    """A file that SQLite cannot read."""
    return Unreadable(
        name, "it is not a SQLite database, or an encrypted one", "decrypt it first, or name its format with `--format`"
    )


def damaged_database(name: str, reason: str) -> Unreadable:
    """A database whose file is broken or cut off."""
    return Unreadable(
        name, f"the database is cut off or damaged: {reason}", "`sqlite3 FILE .recover` may save what is left of it"
    )


def closed_database(name: str, reason: str) -> Unreadable:
    """A database that cannot be opened or is in use."""
    return Unreadable(name, f"the database cannot be opened: {reason}", "close the program that uses it and try again")


def no_brain(name: str) -> Unreadable:
    """A database of some other program."""
    return Unreadable(
        name,
        "it has no table `memory_traces`: it is neither a memglot store nor an AgentOS brain",
        "`--format sqlite` reads a store that is in use",
    )


def no_dialect(format: str, dialect: str) -> UsageError:
    """A dialect that a format does not have."""
    return UsageError(f"`{format}` has no dialect `{dialect}`", "leave `--dialect` out, or choose another format")


def empty_input(name: str) -> Unreadable:
    """A file of no bytes, or of white space."""
    return Unreadable(name, "it is empty")


def empty_text(field: str) -> BadRecord:
    """A text that must say something."""
    return BadRecord(f"`{field}` is empty")


def tree_into_itself(source: str, target: str) -> UsageError:
    """A branch that would be moved into itself."""
    return UsageError(
        f"`{source or '(root)'}` cannot be moved or copied to `{target or '(root)'}`, which lies inside it"
    )


def supersedes_itself(id: str) -> UsageError:
    """A memory that would take its own place."""
    return UsageError(f"memory `{id}` cannot supersede itself", "name the newer memory first, then the older one")


def last_moment(time: str) -> UsageError:
    """An edit of what has the last time that there is."""
    text = f"its clock is the last moment there is, {time}, and no edit can be later"
    return UsageError(text, "`memglot delete` takes it away; add it anew to change it")


def bad_passphrase(where: str, reason: str) -> UsageError:
    """A passphrase that cannot be had from where it should be; what was found there is never shown."""
    return UsageError(f"no passphrase can be read from `{where}`: {reason}", "it must hold the passphrase and no more")


def passphrase_too_long(where: str) -> UsageError:
    """A file that is too long to be a passphrase."""
    return bad_passphrase(where, f"it holds more than {MAX_PASSPHRASE_BYTES >> 10} KiB")


def no_identity(scope: str) -> NotFound:
    """A scope that nobody told the identity of."""
    return NotFound("identity of scope", shorten(scope), "`memglot identity set FILE` tells one")


def no_version(number: int, count: int) -> NotFound:
    """A version of an identity that there is none of."""
    return NotFound("version", str(number), f"there are {count:,}; `memglot identity history` lists them")


def no_words(query: str) -> UsageError:
    """A query of nothing, or of nothing but punctuation."""
    what = f"the query `{shorten(query)}` has no word to look for" if query.strip() else "the query is empty"
    return UsageError(what, "`memglot list` shows memories without a query")


def phrase_too_long(most: int) -> UsageError:
    """A phrase in quotes that nobody would look for as it stands."""
    return UsageError(f"a phrase in quotes may have at most {most:,} characters", "without quotes its words are found")


def bad_pattern(pattern: str, reason: str, position: int | None) -> UsageError:
    """A regular expression that is none."""
    where = "" if position is None else f" at position {position}"
    return UsageError(f"`{shorten(pattern)}` is not a regular expression: {reason}{where}")


def pattern_too_large(pattern: str, reason: str) -> UsageError:
    """A regular expression that would take too much memory or time before it is even run."""
    return UsageError(f"the pattern `{shorten(pattern)}` is too large: {reason}", "search for a smaller part of it")


def pattern_calls_itself(pattern: str, position: int) -> UsageError:
    """A regular expression that calls a part of itself, which has no bound in memory."""
    text = f"the pattern `{shorten(pattern)}` calls a part of itself at position {position}"
    return UsageError(text, "write the part out where it is needed again")


def pattern_too_slow(pattern: str, id: str, reason: str) -> UsageError:
    """A regular expression that was stopped at a memory."""
    return UsageError(
        f"the pattern `{shorten(pattern)}` was stopped at memory `{id}`: {reason}",
        "give words or filters too, so that it is tried on fewer memories, or avoid a repeat inside a repeat, as in"
        " `(a+)+`",
    )


def budget_too_small(budget: int, least: int) -> UsageError:
    """A budget that cannot hold the beginning of one memory."""
    return UsageError(
        f"a budget of {budget:,} tokens is too small for these memories", f"the least that works here is {least:,}"
    )


def bad_tree_pattern(pattern: str, expected: str, position: int) -> UsageError:
    """A pattern of tree paths that breaks off, or has a sign where none can stand."""
    return UsageError(
        f"`{shorten(pattern)}` is not a tree pattern: expected {expected} at position {position}",
        "`work.*` matches `work` and all below, `*.a|b` what ends so, `a & !b` what has the one and not the other",
    )


def bad_moment(text: str) -> UsageError:
    """A time of a filter in none of the ways it can be written."""
    return UsageError(
        f"`{shorten(text)}` is not a time",
        "write `2024`, `2024-05`, `2024-05-31`, or the whole with an offset, `2024-05-31T10:30:00Z`",
    )


def bad_range(name: str) -> UsageError:
    """A range of a filter that is not two times, or ends before it starts."""
    return UsageError(f"`{name}` takes two times, the earlier one first")


def bad_source(text: str, reason: str) -> UsageError:
    """A source to look for that is neither a word, nor a key with its value, nor an object."""
    return UsageError(
        f"`{shorten(text)}` is not a source: {reason}",
        'write the tool, such as `chatgpt`, or `tool=chatgpt`, or a JSON object such as `{"tool": "chatgpt"}`',
    )


def no_whole_number(name: str, value: object) -> UsageError:
    """A number of things that is none."""
    return UsageError(f"`{name}` must be a whole number, not `{shorten(str(value))}`")


def bad_choice(name: str, value: str, known: Sequence[str]) -> UsageError:
    """A value that is none of those that are known."""
    return UsageError(f"unknown {name} `{shorten(str(value))}`", "one of: " + ", ".join(known))


def one_of_clashes(fields: Sequence[str]) -> UsageError:
    """A memory with several conflicts, of which one is to be settled."""
    return UsageError("several fields of this memory clash: say which", "one of: " + ", ".join(fields))


def no_such_value(number: int | None, count: int) -> UsageError:
    """A number that no value of a conflict has, or none at all."""
    what = f"there is no value {number}" if number is not None else "no value is given"
    return UsageError(what, f"take one from 1 to {count}, or give a value of your own")


def no_editor() -> MissingProgram:
    """No editor to open."""
    return MissingProgram("no editor is set", "set `$EDITOR`, or use `memglot update`")


def editor_failed(program: str, reason: str, kept: str | None = None) -> MissingProgram:
    """An editor that did not end well; `kept` is where the text lies."""
    hint = f"nothing was changed; your text is kept in `{kept}`" if kept else "nothing was changed"
    return MissingProgram(f"the editor `{program}` failed: {reason}", hint)


def no_viewer() -> NotYet:
    """The web viewer is not part of this version."""
    return NotYet("this version of memglot has no web viewer", "`memglot list`, `tree` and `search` show what is kept")


def no_vectors() -> NotYet:
    """A search by meaning in a store that knows nothing of it yet."""
    return NotYet("no memory can be found by its meaning yet", "`memglot embed` makes that possible, offline")


def too_many_conditions(count: int, most: int) -> UsageError:
    """A question with so many quotes and operators that it is a text pasted by mistake."""
    what = f"the query has {count:,} phrases, exclusions and filters, and at most {most:,} are taken"
    return UsageError(what, "ask with fewer quotes and operators")


def no_such_exclusion(name: str, value: str) -> UsageError:
    """An operator with a `-` that only tags can have."""
    what = f"`-{name}:{shorten(value)}` cannot be asked: of the operators only `tag:` takes a `-`"
    hints = {"before": "`after:` is the other way round", "after": "`before:` is the other way round"}
    hints["tree"] = 'a pattern leaves labels out: `tree:"work & !draft"`'
    return UsageError(what, hints.get(name, f"say what you want instead; several `{name}:` mean any of them"))
