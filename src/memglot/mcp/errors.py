"""What the MCP server tells an agent that asked for something it cannot have: one sentence each."""

from collections.abc import Sequence

from memglot.errors import MemglotError, NotFound, StoreError, UsageError

_NAME_ROOT = "`memglot mcp --root DIR` names the folders that files may lie in"


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


def no_text(sign: str) -> UsageError:
    """Half of a sign, which a program can send and nobody can write."""
    return UsageError(f"a parameter holds U+{ord(sign):04X}, half of a sign, which is no text")


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


def labels_too_large(size: int, most: int) -> UsageError:
    """A title or tags that are no labels any more."""
    return UsageError(
        f"the title and the tags of {size:,} bytes are more than {most:,}", "a long text belongs in `content`"
    )


def all_chunks_failed(count: int, first: str) -> MemglotError:
    """An import of which nothing could be taken."""
    return MemglotError(first if count == 1 else f"all {count:,} chunks failed; the first: {first}")


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


def answer_too_large(size: int) -> UsageError:
    """An answer that no client would take."""
    return UsageError(
        f"the answer would be {size:,} bytes, and no more than 1 MB is answered",
        "ask for less with a `limit`, `levels` or a filter, or export to a file with `me_memory_export`",
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


def context_without_text() -> UsageError:
    """Neighbours of what nobody looked for."""
    return UsageError("`context` is for searches: give `query`, `semantic`, `fulltext` or `grep` too")


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


def port_taken(port: int, reason: str) -> StoreError:
    """A port that cannot be listened on."""
    return StoreError(f"cannot listen on 127.0.0.1:{port}: {reason}", "`--port` takes another one, 0 any free one")


def needs_token() -> str:
    """What a request without the token is answered."""
    return "a bearer token is needed: `memglot mcp token` shows it"


def no_message(*, is_json: bool) -> str:
    """What a line that is no message is answered."""
    return "this line is no JSON-RPC message" if is_json else "this line is no JSON"


def unfit_token(where: str) -> UsageError:
    """A token that a header cannot carry, or that is easy to guess."""
    return bad_token(where, "it is too short, too long, or has signs that a header cannot carry")


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
