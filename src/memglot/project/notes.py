"""What project memory tells a person beside its answer."""

from collections.abc import Sequence

from memglot.display import first_few, one_line

_ONE_PAIR = (
    "Remove all but one pair of markers (`<!-- memory:…start -->`, `<!-- memory:…end -->`) from it, or all of them"
)

NO_FILE = "it is no file"
"""Why a place cannot hold text for agents."""


def note_faults(paths: list[str]) -> str:
    """Files that cannot be used."""
    files = "1 file" if len(paths) == 1 else f"{len(paths):,} files"
    return f"{files} of project memory cannot be used, or not whole: {_listed(paths)}. `memglot repo check` tells why."


def note_guidance_ambiguous(name: str) -> str:
    """A file whose sections nobody can tell apart."""
    return (
        f"{name} was left as it is: the markers of project memory in it are not one pair of each. {_ONE_PAIR}, "
        "then run `memglot repo init` again."
    )


def note_map_ambiguous(name: str) -> str:
    """A file for agents in which the place of the map is not clear."""
    return (
        f"{name} was not refreshed because Memory map markers are ambiguous. {_ONE_PAIR}, then run `memglot repo init`."
    )


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


def _listed(paths: Sequence[str]) -> str:
    return first_few([one_line(path) for path in paths])
