"""What the MCP server tells an agent that asked for something it cannot have: one sentence each."""

from collections.abc import Sequence

from memglot.errors import CannotWrite, NotFound, StoreError, Unreadable, UsageError

MAX_INLINE_BYTES = 1 << 20
MAX_BODY_BYTES = 8 << 20
"""What one HTTP request may weigh: text of the inline limit, however it is escaped, and what is around it."""


def no_tool(name: str, known: Sequence[str]) -> UsageError:
    """A tool that is not there."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1)
    hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"
    return UsageError(f"no tool `{_short(name)}`", hint)


def writes_nothing(name: str) -> UsageError:
    """A tool that a server for reading does not have."""
    return UsageError(f"this server is read-only: `{name}` is not open here", "`memglot mcp` without `--read-only`")


def no_parameter(tool: str, name: str, known: Sequence[str]) -> UsageError:
    """A parameter that a tool does not have."""
    takes = f"it takes {', '.join(known)}" if known else "it takes none"
    return UsageError(f"`{tool}` has no parameter `{_short(name)}`", takes)


def missing_parameter(tool: str, name: str) -> UsageError:
    """A parameter that a tool cannot do without."""
    return UsageError(f"`{tool}` needs `{name}`")


def bad_parameter(tool: str, name: str, reason: str) -> UsageError:
    """A parameter of the wrong type or shape."""
    return UsageError(f"`{tool}`: `{name}`: {reason}")


def path_and_content() -> UsageError:
    """Two inputs at once."""
    return UsageError("`path` and `content` exclude each other", "give one of them, and leave out the other")


def path_or_content() -> UsageError:
    """No input at all."""
    return UsageError("`path` or `content` is needed", "`path` is better: the text need not pass through you")


def content_without_format() -> UsageError:
    """Content of an unknown kind."""
    return UsageError("`content` needs `format`", 'it is "json", "yaml" or "md"')


def content_too_large(size: int) -> UsageError:
    """More text than should pass through a conversation."""
    return UsageError(
        f"`content` of {size:,} bytes is more than 1 MB",
        "write it to a file and use `path` of `me_memory_import`, which has no limit",
    )


def all_chunks_failed(count: int, first: str) -> Unreadable:
    """An import of which nothing could be taken."""
    error = Unreadable("import", first)
    error.message = first if count == 1 else f"all {count:,} chunks failed; the first: {first}"
    error.args = (error.message,)
    return error


def inline_markdown(count: int) -> UsageError:
    """Several memories as one text of Markdown."""
    return UsageError(
        f"{count:,} memories are not returned as inline Markdown", "give `path`, a folder, which gets a file for each"
    )


def inline_too_large(size: int) -> UsageError:
    """An export that is too much for a conversation."""
    return UsageError(
        f"the export is {size:,} bytes, and more than 1 MB is not returned inline", "give `path`, or a filter"
    )


def needs_path(format: str) -> UsageError:
    """A format that is no text."""
    return UsageError(f"`{format}` is not returned inline", "give `path`")


def outside_roots(path: str, roots: Sequence[str]) -> UsageError:
    """A file that the server may not touch."""
    return UsageError(
        f"`{_short(path)}` is outside of the folders that this server may use: {', '.join(roots)}",
        "`memglot mcp --root DIR` allows another folder",
    )


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


def only_reading(what: str) -> UsageError:
    """A file to be written by a server that only reads."""
    return UsageError(f"this server is read-only: {what}", "`memglot mcp` without `--read-only`")


def plaintext_closed() -> UsageError:
    """Sensitive scopes in the clear, which the user did not allow."""
    return UsageError(
        "`plaintext` would write sensitive scopes in the clear", "`memglot mcp --allow-sensitive` allows it"
    )


def order_with_text() -> UsageError:
    """An order for results that are ordered by how well they fit."""
    return UsageError("`order_by` is for lists: leave out `query`, `semantic`, `fulltext` and `grep`")


def no_resource(uri: str) -> NotFound:
    """A resource that is not there."""
    return NotFound("resource", uri, "there are `memglot://imports` and `memglot://imports/{id}`")


def stopped() -> StoreError:
    """Work that was cancelled: nobody waits for this sentence, but a log may show it."""
    return StoreError("stopped: whole batches stay")


def unforeseen(tool: str, kind: str) -> StoreError:
    """Something that nobody thought of; what it says may hold anything, so it goes to the server's own log."""
    return StoreError(f"`{tool}` failed: {kind}", "the server's standard error tells more")


def port_taken(port: int, reason: str) -> CannotWrite:
    """A port that cannot be listened on."""
    return CannotWrite(f"127.0.0.1:{port}", reason)


def no_folder(path: str) -> UsageError:
    """A root that is no folder."""
    return UsageError(f"the root `{_short(path)}` is no folder")


def bad_token(where: str, reason: str) -> UsageError:
    """A token that cannot be used."""
    return UsageError(f"the token in {where} cannot be used: {reason}", "it must be 16 or more visible ASCII signs")


def _short(text: str) -> str:
    shown = text.encode("utf-8", "backslashreplace").decode("utf-8")
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in shown).split())
    return line if len(line) <= 200 else line[:199] + "…"
