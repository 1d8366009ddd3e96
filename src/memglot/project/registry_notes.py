"""What the care of project memory tells beside its answers: of the registry and of backups."""

from memglot.display import number_of, some


def note_bad_registry(path: str, reason: str) -> str:
    """A registry that nobody can read."""
    return f"`{path}` is no registry of projects ({reason}) and counts as empty; the next write keeps it aside."


def note_not_registered(reason: str) -> str:
    """A registry that cannot be written."""
    return f"This project was not registered: {reason}"


def note_links_left_out(names: list[str]) -> str:
    """Links in a backup; they could lead anywhere."""
    return f"Left out {number_of(names, 'link')} of the backup: {some(names)}."
