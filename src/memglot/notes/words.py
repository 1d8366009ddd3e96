"""Words that notes share."""


def number_of(names: list[str], noun: str) -> str:
    """How many there are, with the noun."""
    return f"{len(names):,} {noun}" + ("" if len(names) == 1 else "s")


def some(names: list[str]) -> str:
    """The first few names."""
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def many(count: int) -> str:
    """So many memories have something."""
    return "1 memory has" if count == 1 else f"{count:,} memories have"


def shown(name: str) -> str:
    """A name on one line that is not too long."""
    line = name if name.isprintable() else name.encode("unicode_escape").decode("ascii")
    return f"`{line if len(line) <= 60 else line[:57] + '...'}`"
