"""What `memglot` alone shows: the commands by purpose, examples, and the next step."""

from __future__ import annotations

from textwrap import wrap

from memglot import __version__
from memglot.cli.session import Session
from memglot.errors import MemglotError, NoStore
from memglot.memory import Memory

_EXAMPLES = """
  memglot import ~/Downloads/chatgpt-export.zip
  memglot search task queue
  memglot mcp install claude-code
"""
_NEXT_STEPS = """
Nothing is stored yet. Next:
  memglot import PATH    reads an export, a vault or a folder of notes
  memglot add "A text"   adds one memory
  memglot demo           makes a store with a year of sample memories to play with
  memglot formats        lists what can be read
"""


def print_overview(session: Session, groups: dict[str, list[str]]) -> None:
    """Print the commands by purpose, examples, and what is stored or what to do first."""
    lines = [f"memglot {__version__}: one memory for every agent", ""]
    for title, names in groups.items():
        lines += wrap(", ".join(names), 80, initial_indent=f"  {title.lower():<10} ", subsequent_indent=" " * 13)
    lines += ["", "Examples:", *_EXAMPLES.strip("\n").splitlines(), "", *_state(session)]
    lines += ["", "`memglot COMMAND --help` explains a command, and `memglot --help` lists all of them."]
    session.print_result({"version": __version__, "commands": groups}, lines, always=True)


def _state(session: Session) -> list[str]:
    try:
        with Memory.open(session.store, write=False) as memory:
            count = memory.count()
            if count:
                return [f"{count:,} {'memory' if count == 1 else 'memories'} in {memory.store.url}"]
    except NoStore:
        pass
    except MemglotError as error:
        return [f"The store cannot be opened: {error}"]
    return _NEXT_STEPS.strip("\n").splitlines()
