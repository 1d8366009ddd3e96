"""What the notes of reports and checks say: all sentences that are no errors, in one place."""


def note_left_out(names: list[str]) -> str:
    """Files in a folder that no reader is known for."""
    return f"left out {_count(names, 'file')} of no known format: {_some(names)}"


def note_left_alone(attachments: list[str], hidden: int) -> str:
    """What in a vault is no note."""
    parts = [f"{_count(attachments, 'attachment')} ({_some(attachments)})"] if attachments else []
    parts += [f"{hidden:,} hidden file" + ("" if hidden == 1 else "s")] if hidden else []
    return f"left alone {' and '.join(parts)}"


def note_other_shape(source: str, named: str, read: str) -> str:
    """A name that two tools use, and a file that has the other tool's shape."""
    return f"{source} was named `{named}` and has the shape of `{read}`: it was read as that"


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


def note_links(names: list[str]) -> str:
    """Links in a folder."""
    return f"did not follow {_count(names, 'symbolic link')}: {_some(names)}"


def note_kept_notes(names: list[str]) -> str:
    """Notes in a folder of ours that somebody else wrote in."""
    kept = f"kept {_count(names, 'note')} edited since the last export: {_some(names)}"
    return f"{kept}; import them, or overwrite them with `--force`"


def note_unsure(names: list[str]) -> str:
    """Notes that an export with errors does not dare to remove."""
    return f"kept {_count(names, 'note')} whose memory was not read this time: {_some(names)}"


def note_foreign_carry(source: str, reason: str) -> str:
    """A key with our name that we did not write."""
    return f"`memglot` in {source} is not this tool's carry slot and stays where it is: {reason}"


def note_kept_as_text(source: str, column: str, wanted: str) -> str:
    """Values of a column that are not what its name promises."""
    return f"`{column}` in {source} is not always {wanted}: such values are kept as text in `meta.{column}`"


def _count(names: list[str], noun: str) -> str:
    return f"{len(names):,} {noun}" + ("" if len(names) == 1 else "s")


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def note_virtual(names: list[str]) -> str:
    """Virtual tables of a database, which only their own program can fill."""
    return f"left out {_count(names, 'virtual table')}, which hold no rows of their own: {_some(names)}"


def note_not_kept(found: dict[str, int]) -> str:
    """Parts of a database that are programs, not memories."""
    names = {"index": "indexes"}
    parts = [
        f"{count:,} {kind if count == 1 else names.get(kind, kind + 's')}" for kind, count in sorted(found.items())
    ]
    return f"left out {' and '.join(parts)} of the database: they hold no rows of their own"


def note_incomplete() -> str:
    """A store whose last load was cut off."""
    return (
        "an import was cut off before its indexes were built; searching without them until the next writing command "
        "completes them (`memglot doctor --fix` does only that)"
    )


def note_damage(text: str) -> str:
    """What SQLite found."""
    return f"the file is damaged: {text}"


def note_altered(id: str) -> str:
    """A record that was changed behind our back."""
    return f"memory {id} does not fit its digest: it was altered outside memglot"


def note_lost(said: int, found: int) -> str:
    """Records that came or went without memglot."""
    return f"the store should hold {said:,} memories and holds {found:,}: some were added or removed outside memglot"


def note_text_index() -> str:
    """A full text index that does not fit."""
    return "the full text index does not fit the memories; `memglot doctor --fix` rebuilds it"


def note_no_records(source: str) -> str:
    """A well-formed input that holds nothing."""
    return f"{source} holds no memories"


def note_cut_off(source: str, said: int, read: int) -> str:
    """An end mark that does not fit what was read."""
    return f"{source} says it holds {said:,} memories, but {read:,} were read: `memglot verify` tells more"


def note_no_ids(count: int) -> str:
    """Records without ids, in a format that compares ids alone."""
    return f"{_many(count)} no id and got a new one: importing the same file again will add them again"


def note_twice(count: int) -> str:
    """Ids that stand in the input more than once."""
    return f"{_many(count)} an id that stands earlier in the input: the first one was kept"


def note_differ(count: int) -> str:
    """Skipped records that are not what is stored."""
    return f"{_many(count)} an id that is stored with other values: `--conflict prefer-remote` takes the file's"


def note_poorer(count: int) -> str:
    """Skipped doubles that are not all alike."""
    return f"{_many(count)} the content of one that is there, but other fields, and stayed out: `--no-dedup` takes them"


def note_conflicts(count: int) -> str:
    """Values that no rule decides between."""
    many = "1 field clashes" if count == 1 else f"{count:,} fields clash"
    return f"{many} and no rule decides: all values are kept and one stands meanwhile; `memglot conflicts` shows them"


def note_no_mirror(folder: str, reason: str) -> str:
    """A folder for conflicts that cannot be written."""
    return f"{folder} cannot be written ({reason}): `memglot conflicts` shows the conflicts, which are in the store"


def conflict_page(
    *, title: str, record: str, field: str, at: str, values: list[str] | None, stands: int, command: str
) -> str:
    """A conflict for a person: the memory, every value with its number, and how to settle it."""
    lines = [
        f"# {title}",
        "",
        f"Memory {record}: the field `{field}` was set to different values at {at}, and no rule decides between them.",
        "",
    ]
    if values is None:
        lines += [f"Its scope is sensitive, so the values are not shown here; number {stands} stands meanwhile.", ""]
    for number, value in enumerate(values or [], 1):
        lines += [f"## {number}" + (" (stands meanwhile)" if number == stands else ""), ""]
        lines += [f"    {line}" for line in value.split("\n")] + [""]
    lines += [
        "To settle it, on any machine:",
        "",
        f"    {command} --take 1",
        "",
        "`--value TEXT` takes a text of your own instead. This file goes when the conflict is settled.",
    ]
    return "\n".join(lines) + "\n"


def note_removed(count: int) -> str:
    """Deletions that a file brought."""
    return f"{_many(count)} been deleted, as the file says: `memglot undo` brings them back"


def note_to_itself(count: int) -> str:
    """Relations between two memories that became one."""
    many = "1 relation leads" if count == 1 else f"{count:,} relations lead"
    return f"{many} from a memory to its own double and stayed out"


def note_unapplied(count: int) -> str:
    """Deletions in a file that was imported without merging."""
    return f"{_many(count)} been deleted according to the file and stay here: `--conflict merge` deletes them"


def note_deleted(count: int) -> str:
    """Records that were deleted before."""
    return f"{_many(count)} been deleted earlier and stay so: `--restore-deleted` brings them back"


def _many(count: int) -> str:
    return "1 memory has" if count == 1 else f"{count:,} memories have"


def note_no_match() -> str:
    """An export whose filter selects nothing."""
    return "no memory matches the filter"


def note_filtered(count: int) -> str:
    """What a filtered export leaves out."""
    return f"a filtered export holds memories and their relations only: {count:,} other things stayed in the store"


def note_kept_since(count: int) -> str:
    """Records that were edited after the import that is undone."""
    return f"{_many(count)} been changed since and stayed as they are now: `--force` undoes them too"


def note_chain(row: int) -> str:
    """An audit chain that does not hold."""
    return f"the audit chain breaks at row {row}"


def note_no_end() -> str:
    """A record file without a proof."""
    return "no end mark: the file was cut off, or never carried a proof"


def note_count(said: int, found: int) -> str:
    """An end mark of another count."""
    return f"the end mark tells of {said:,}, and {found:,} were read"


def note_digest() -> str:
    """An end mark of another digest."""
    return "the digest does not fit: at least one memory was edited, replaced or put elsewhere"


def note_no_proof() -> str:
    """A folder without a proof."""
    return "no `.memglot.json`: the folder carries no proof"


def note_file(path: str, what: str) -> str:
    """A file of a folder that is not as its proof says."""
    return f"{path} {what}"


def note_dropped(field: str, count: int) -> str:
    """What reading could not keep."""
    return f"dropped {field} of {count:,}"


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
