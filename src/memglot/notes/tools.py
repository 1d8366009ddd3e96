"""What notes say about the formats of particular tools."""


def note_broken_links(count: int, first: list[str]) -> str:
    """Wikilinks to notes that are not there."""
    return _links(count, "to a note that is not there", first)


def note_ambiguous_links(count: int, first: list[str]) -> str:
    """Wikilinks that several notes could be meant by."""
    return _links(count, "that could mean more than one note", first)


def _links(count: int, what: str, first: list[str]) -> str:
    noun = "1 link" if count == 1 else f"{count:,} links"
    return f"{noun} {what}, kept in the text only: {', '.join(first)}" + (", ..." if count > len(first) else "")


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


def _conversations(count: int) -> str:
    return "1 conversation has" if count == 1 else f"{count:,} conversations have"
