"""What is said about entries in the configuration of clients."""


def note_next(title: str, look: str) -> str:
    """What to do after a server was put in or taken out."""
    return f"restart {title}" + (f"; {look}" if look else "")


def note_brought_back(name: str) -> str:
    """A replaced entry that is there again."""
    return f"the server `{name}` that was there before is back"


def note_replaces(name: str) -> str:
    """An entry of somebody else that was replaced."""
    return f"it takes the place of another server `{name}`, which `uninstall` brings back"


def note_shared() -> str:
    """A file that others may get too."""
    return "the file names paths of this machine: others who get it with the project need their own"
