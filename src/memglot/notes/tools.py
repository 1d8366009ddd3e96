"""What notes say about the formats of particular tools."""

from memglot.display import number_of, some


def note_left_alone(attachments: list[str], hidden: int) -> str:
    """What in a vault is no note."""
    parts = [f"{number_of(attachments, 'attachment')} ({some(attachments)})"] if attachments else []
    parts += [f"{hidden:,} hidden file" + ("" if hidden == 1 else "s")] if hidden else []
    return f"left alone {' and '.join(parts)}"


def note_broken_links(count: int, first: list[str]) -> str:
    """Wikilinks to notes that are not there."""
    return _links(count, "to a note that is not there", first)


def note_ambiguous_links(count: int, first: list[str]) -> str:
    """Wikilinks that several notes could be meant by."""
    return _links(count, "that could mean more than one note", first)


def _links(count: int, what: str, first: list[str]) -> str:
    noun = "1 link" if count == 1 else f"{count:,} links"
    return f"{noun} {what}, kept in the text only: {', '.join(first)}" + (", ..." if count > len(first) else "")


def note_copied(path: str, first: str) -> str:
    """A note with the id of another."""
    return f"{path} has the id of {first}: it was taken as a memory of its own"


def note_kept_as_text(source: str, column: str, wanted: str) -> str:
    """Values of a column that are not what its name promises."""
    return f"`{column}` in {source} is not always {wanted}: such values are kept as text in `meta.{column}`"


def note_virtual(names: list[str]) -> str:
    """Virtual tables of a database, which only their own program can fill."""
    return f"left out {number_of(names, 'virtual table')}, which hold no rows of their own: {some(names)}"


def note_not_kept(found: dict[str, int]) -> str:
    """Parts of a database that are programs, not memories."""
    names = {"index": "indexes"}
    parts = [
        f"{count:,} {kind if count == 1 else names.get(kind, kind + 's')}" for kind, count in sorted(found.items())
    ]
    return f"left out {' and '.join(parts)} of the database: they hold no rows of their own"


def note_no_messages(source: str, count: int) -> str:
    """Conversations that nobody said anything in."""
    return f"{source}: {_conversations(count)} no messages"


def note_no_current(source: str, count: int, first: str) -> str:
    """Conversations that do not say which of their branches is the current one."""
    return f"{source}: {_conversations(count)} no current message, and the newest was taken; the first is `{first}`"


def note_no_parent(source: str, count: int, first: str) -> str:
    """Conversations with messages that answer to nothing."""
    missing = "messages whose parent is missing; each begins a line of its own"
    return f"{source}: {_conversations(count)} {missing}; the first is `{first}`"


def note_unknown_content(source: str, types: list[tuple[str, int]]) -> str:
    """Contents of messages that no text could be had from."""
    return f"{source}: no text could be had from " + ", ".join(f"{count:,} of `{type}`" for type, count in types)


def note_replaced(source: str, count: int) -> str:
    """Characters that no store can hold."""
    return f"{source}: replaced {count:,} NUL or halved characters by U+FFFD"


def note_unpaired(source: str, count: int) -> str:
    """What tools and the system said where nobody asked or answered."""
    return f"{source}: left out {count:,} messages of tools or the system that belong to no question and no answer"


def note_mended(source: str, count: int) -> str:
    """Messages with fields of another type than they should have."""
    return f"{source}: {count:,} messages have fields of an unexpected type; the rest of them was read"


def _conversations(count: int) -> str:
    return "1 conversation has" if count == 1 else f"{count:,} conversations have"


def note_no_metadata(source: str) -> str:
    """A memories.json that does not say what wrote it."""
    return f"{source} has no `export_metadata`: its hashes were not checked"


def note_other_hash(source: str) -> str:
    """A body that lies apart or is sealed, whole by its own proof, with another hash in its row."""
    return f"{source} has bodies that are whole, with a `content_hash` that is not theirs"


def note_milliseconds(source: str) -> str:
    """Times that are too great for seconds."""
    return f"{source} has times that were taken for milliseconds"


def note_predicates(words: list[str]) -> str:
    """Relations with words of their own."""
    return f"kept relations with other predicates than memoryd's eleven: {some(words)}"


def note_audit(rows: int, verified: int, linked: int) -> str:
    """An audit chain that holds."""
    noun = "1 row" if rows == 1 else f"{rows:,} rows"
    return f"the audit chain of {noun} is continuous: {verified:,} verified, {linked:,} linked"


def note_audit_broken(source: str, row: int, reason: str) -> str:
    """An audit chain that does not hold, and was taken all the same."""
    return f"the audit chain of {source} is broken at row {row:,}: {reason}"


def note_audit_head(source: str) -> str:
    """A recorded head that is not the hash of the last row."""
    return f"the audit chain of {source} ends with another row than its head says"


def note_linked_rows(count: int) -> str:
    """Audit rows of other scopes."""
    noun = "1 audit row" if count == 1 else f"{count:,} audit rows"
    return f"{noun} of other scopes told only how the chain goes on, and were not kept"


def note_ignored_lines(source: str, count: int) -> str:
    """Lines of a graph that the MCP memory server passes over."""
    what = "1 line that is" if count == 1 else f"{count:,} lines that are"
    return f"{source} has {what} neither entity nor relation, which the server ignores: kept, and given back"


def note_other_bodies(file: str, count: int) -> str:
    """Bodies that an export of the past put beside a file."""
    noun = "1 body" if count == 1 else f"{count:,} bodies"
    return f"{noun} of earlier exports stay in {file}.chunks: copies of these may need them; delete what none does"


def note_interrupted(folder: str) -> str:
    """A save that was cut off, and whose files may be half there."""
    return f"{folder}: an interrupted save waits there; any `memglot repo` command in that repository finishes it"


def note_loose_relations(folder: str, count: int) -> str:
    """Relations of nodes that are not there."""
    noun = "1 relation leads" if count == 1 else f"{count:,} relations lead"
    return f"{folder}: {noun} from or to a node that is not there; kept all the same"


def note_stay_deleted(ids: list[str]) -> str:
    """Nodes that an export did not bring back."""
    return f"{number_of(ids, 'node')} stay deleted, as the repository's log says: {some(ids)}"


def note_doubtful(ids: list[str]) -> str:
    """Memories that a save into project memory would refuse."""
    count = "1 memory holds" if len(ids) == 1 else f"{len(ids):,} memories hold"
    what = "what looks like a secret, a merge conflict or front matter"
    return f"{count} {what}; `memglot repo check` tells where, look before you commit: {some(ids)}"
