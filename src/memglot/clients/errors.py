"""What can go wrong with the configuration of a client, in words."""

from memglot.errors import CannotWrite, Unreadable, UsageError

_UNTOUCHED = "nothing was changed"


def bad_syntax(path: str, line: int, expected: str) -> Unreadable:
    """A configuration that breaks the rules of its format."""
    return Unreadable(path, f"line {line:,}: expected {expected}", f"mend that line, then try again; {_UNTOUCHED}")


def bad_toml(path: str, reason: str) -> Unreadable:
    """A configuration that is no TOML."""
    return Unreadable(path, f"it is not valid TOML: {reason}", f"mend it, then try again; {_UNTOUCHED}")


def no_utf8(path: str, line: int) -> Unreadable:
    """A configuration in another encoding."""
    return Unreadable(path, f"line {line:,}: it is not valid UTF-8", f"save it as UTF-8, then try again; {_UNTOUCHED}")


def too_deep(path: str, most: int) -> Unreadable:
    """A configuration that nests deeper than anything sensible."""
    return Unreadable(path, f"it is nested more than {most} deep", f"add the server by hand; {_UNTOUCHED}")


def no_object(path: str, line: int, what: str) -> Unreadable:
    """A value that has to be an object to hold servers."""
    return Unreadable(path, f"line {line:,}: {what} is not an object", f"make it one, `{{}}`; {_UNTOUCHED}")


def no_table(path: str, what: str) -> Unreadable:
    """A value that has to be a table to hold servers."""
    return Unreadable(path, f"{what} is not a table", f"make it one; {_UNTOUCHED}")


def twice(path: str, line: int, key: str) -> Unreadable:
    """A key on the way to our entry that stands there twice."""
    return Unreadable(path, f"line {line:,}: `{key}` stands there a second time", f"make them one; {_UNTOUCHED}")


def by_hand(path: str, add: str) -> UsageError:
    """A place that cannot be changed without touching what others wrote."""
    return UsageError(
        f"`{path}` is written in a way that cannot be changed safely; {_UNTOUCHED}",
        f"write this in its list of servers by hand: {add}" if add else "take the entry out by hand",
    )


def not_only_ours(path: str) -> UsageError:
    """An edit that would have changed more than our entry."""
    return UsageError(f"the edit of `{path}` would change more than this entry; {_UNTOUCHED}", "edit it by hand")


def not_ours(name: str, path: str) -> UsageError:
    """A server of that name which is not ours to take out."""
    return UsageError(
        f"the server `{name}` in `{path}` is not memglot; {_UNTOUCHED}",
        "take it out by hand, or give the name of ours with `--name`",
    )


def keeps_changing(path: str) -> CannotWrite:
    """A file that another program writes to at every attempt."""
    return CannotWrite(path, "another program keeps writing to it; close that program and try again")
