"""What the MCP server tells an agent that asked for something it cannot have: one sentence each."""

from collections.abc import Sequence

from memglot.errors import MemglotError, UsageError

_NAME_ROOT = "`memglot mcp --root DIR` names the folders that files may lie in"


def no_tool(name: str, known: Sequence[str]) -> UsageError:
    """A tool that is not there."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1)
    hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"
    return UsageError(f"no tool `{_short(name)}`", hint)


def no_parameter(tool: str, name: str, known: Sequence[str]) -> UsageError:
    """A parameter that a tool does not have."""
    takes = f"it takes {', '.join(known)}" if known else "it takes none"
    return UsageError(f"`{tool}` has no parameter `{_short(name)}`", takes)


def outside_roots(path: str, roots: Sequence[str]) -> UsageError:
    """A file that the server may not touch."""
    return UsageError(
        f"`{_short(path)}` is outside of the folders that this server may use: {', '.join(roots)}",
        "`memglot mcp --root DIR` allows another folder",
    )


def own_file(path: str) -> UsageError:
    """A file of memglot itself, such as the store that is served."""
    return UsageError(f"`{_short(path)}` belongs to memglot itself", "the other tools work with the store")


def special_file(path: str) -> UsageError:
    """A pipe or a device."""
    return UsageError(f"`{_short(path)}` is neither a file nor a folder")


def file_failed(path: str, reason: str) -> MemglotError:
    """A file that could not be used, for a reason of the system."""
    return MemglotError(f"`{_short(path)}` cannot be used: {reason}")


def silent_client(reason: str) -> UsageError:
    """A client that does not say which folders it works in."""
    told = f": {_short(reason)}" if reason else ""
    return UsageError(f"the client did not say which folders it works in{told}", _NAME_ROOT)


def no_root_named(here: str) -> UsageError:
    """A server that was started in no folder in particular."""
    return UsageError(f"no folder is open to this server, which was started in `{here}`", _NAME_ROOT)


def no_client_folder(uris: Sequence[str]) -> UsageError:
    """A client that works in places that are no folders of this machine."""
    return UsageError(f"none of the client's roots is a folder here: {_short(', '.join(uris))}", _NAME_ROOT)


def no_whole_id(id: str) -> UsageError:
    """A beginning of an id, or none at all."""
    return UsageError(f"`{_short(id)}` is no whole id of a memory", "`me_memory_search` tells ids")


def bad_path(path: str, reason: str) -> UsageError:
    """A path that is none."""
    return UsageError(f"`{_short(path)}` is no path: {reason}")


def project_outside(project: str, roots: Sequence[str]) -> UsageError:
    """A project whose folder is above what the server may touch."""
    return UsageError(
        f"the project around it, `{_short(project)}`, is outside of the folders that this server may use: "
        f"{', '.join(roots)}",
        "`memglot mcp --root DIR` allows another folder",
    )


def not_a_folder(path: str) -> UsageError:
    """A root that is no folder."""
    return UsageError(f"the root `{_short(path)}` is no folder")


def _short(text: str) -> str:
    shown = text.encode("utf-8", "backslashreplace").decode("utf-8")
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in shown).split())
    return line if len(line) <= 200 else line[:199] + "…"
