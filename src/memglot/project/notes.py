"""What project memory tells a person beside its answer."""

from collections.abc import Sequence

from memglot.display import one_line, shown, some

_ONE_PAIR = (
    "Remove all but one pair of markers (`<!-- memory:…start -->`, `<!-- memory:…end -->`) from it, or all of them"
)

NO_FILE = "it is no file"
"""Why a place cannot hold text for agents."""


def note_finished(count: int) -> str:
    """A stopped save was finished."""
    files = "1 file" if count == 1 else f"{count:,} files"
    return f"A save that was stopped half-way has been finished ({files})."


def note_bad_journal() -> str:
    """A journal that memglot did not write."""
    return "`.memory/index/journal` was not written by memglot; it was put aside, and nothing in it was done."


def note_taken_back(path: str) -> str:
    """A stopped save was taken back."""
    return (
        "A save was stopped half-way, and files were changed by others since: it was taken back, and what it would "
        f"have written is kept in `{path}`."
    )


def note_faults(paths: list[str]) -> str:
    """Files that cannot be used."""
    files = "1 file" if len(paths) == 1 else f"{len(paths):,} files"
    return f"{files} of project memory cannot be used, or not whole: {_listed(paths)}. `memglot repo check` tells why."


def note_unfinished() -> str:
    """A stopped save that cannot be finished now."""
    return "A save was stopped half-way, and could not be finished now: its files may be half there."


def note_secret(message: str, field: str, line: int) -> str:
    """Something that may be a secret, or not."""
    return f"{message} In {field}, line {line}."


def note_dirty(path: str) -> str:
    """A file with changes that are not committed is replaced."""
    return f"Dirty Memory file will be backed up before save: {path}"


def note_restored() -> str:
    """A deleted `.memory` came back from the last commit."""
    return "Memory storage was restored from HEAD before writing because tracked .memory files were deleted."


def note_log_mended(path: str, events: int) -> str:
    """A torn log was mended."""
    lines = "1 event" if events == 1 else f"{events:,} events"
    mended = f"{lines} were made anew from the files, and a copy is kept in {path}"
    return f"The last line of .memory/events.jsonl was torn; {mended}."


def note_anchors_unchecked(reason: str) -> str:
    """Git could not tell which files there are."""
    return f"Anchor verification skipped: {reason}"


def note_already_there() -> str:
    """A second `repo init`."""
    return "Memory is already initialized; existing valid storage was left unchanged."


def note_guidance_there(name: str) -> str:
    """A file that tells agents of project memory in words of its own."""
    return (
        f"{name} was left as it is: it speaks of project memory in words of its own. For the product map, add the "
        "lines `<!-- memory:map:start -->` and `<!-- memory:map:end -->` to it."
    )


def note_guidance_ambiguous(name: str) -> str:
    """A file whose sections nobody can tell apart."""
    return (
        f"{name} was left as it is: the markers of project memory in it are not one pair of each. {_ONE_PAIR}, "
        "then run `memglot repo init` again."
    )


def note_guidance_skipped(name: str, reason: str) -> str:
    """A file for agents that cannot be read or written."""
    return f"{name} was left as it is: {reason}."


def note_guidance_outside(name: str) -> str:
    """A file for agents that is a link to somewhere else."""
    return f"{name} was left as it is: it is a link that leads out of the project."


def note_map_unmarked(name: str) -> str:
    """A file for agents that has no place for the map."""
    return (
        f"{name} was not refreshed because Memory map markers are missing or ambiguous. "
        "Run `memglot repo init` to install them."
    )


def note_map_ambiguous(name: str) -> str:
    """A file for agents in which the place of the map is not clear."""
    return (
        f"{name} was not refreshed because Memory map markers are ambiguous. {_ONE_PAIR}, then run `memglot repo init`."
    )


def note_map_missing(name: str) -> str:
    """A file for agents that is not there."""
    return f"{name} was not refreshed because the file is missing. Run `memglot repo init` to install it."


def note_map_outside(name: str) -> str:
    """A file for agents that is a link to somewhere else."""
    return f"{name} was not refreshed because it is a link that leads out of the project."


def note_map_unwritable(name: str, reason: str) -> str:
    """A file for agents that cannot be read or written."""
    return f"{name} was not refreshed: {reason}."


def note_map_held(paths: Sequence[str]) -> str:
    """The map would lack nodes whose files cannot be used."""
    return (
        f"The product map was left as it is, for it would lack nodes whose files cannot be used: {_listed(paths)}. "
        "Mend these, and save or sync again."
    )


def note_sync_held(paths: Sequence[str]) -> str:
    """A sync that could not look at every node."""
    return (
        "The sync marker and the product map stay as they are, for what changed cannot be told of nodes whose files "
        f"cannot be used: {_listed(paths)}. Mend these, and run `memglot repo sync` again."
    )


def note_nothing_committed() -> str:
    """A repository in which a sync has nothing to count from."""
    return (
        "The repository has no commits yet: all anchors were checked against the files there are, and the sync marker "
        "was not advanced. Run `memglot repo sync` again after the first commit."
    )


def note_marker_unknown(commit: str) -> str:
    """A marker whose commit this clone does not have."""
    return (
        f"The commit {shown(commit)} of the last sync is not in this clone, or shares nothing with the branch here: "
        "all anchors were checked instead of the changes since."
    )


def note_map_behind() -> str:
    """A save that landed, and whose map did not."""
    return "The save has landed, but the product map could not be brought up to date; the next save or sync does that."


def _listed(paths: Sequence[str]) -> str:
    return some([one_line(path) for path in paths])
