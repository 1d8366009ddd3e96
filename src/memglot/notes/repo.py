"""What project memory warns of: nothing that stops it, but something that a person should know."""

from memglot.notes.words import shown


def note_map_unmarked(name: str) -> str:
    """A file for agents that has no place for the map, or more than one."""
    return (
        f"{name} was not refreshed because Memory map markers are missing or ambiguous. "
        "Run `memglot repo init` to install them."
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
