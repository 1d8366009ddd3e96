"""Settings and limits; the only module that reads the environment."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

Passphrase: TypeAlias = str | Callable[[], str | None] | None
"""A passphrase, or a function that asks for one when it is needed."""
STORE_VARIABLE = "MEMGLOT_STORE"
PASSPHRASE_VARIABLE = "MEMGLOT_PASSPHRASE"
MCP_TOKEN_VARIABLE = "MEMGLOT_MCP_TOKEN"
BUSY_SECONDS = 10.0
"""Maximum time to wait for the lock of a project, or for a store that must be used alone."""
WRITER_SECONDS = 30.0
"""Maximum time to wait for other writers of a store; with dozens of them, a turn can take many seconds to come."""
IDLE_SECONDS = 5.0
"""Idle timeout of an open store, in seconds; shorter than `BUSY_SECONDS`, so that waiting processes get it."""
BATCH_SIZE = 1_000
BATCH_BYTES = 768 << 10
"""Maximum size of a batch as JSON; a larger memory is a batch of its own."""
MAX_DEPTH = 100
"""Maximum nesting depth of JSON and YAML."""
MAX_RECORD_BYTES = 64 << 20
"""Maximum size of one memory in an input, by default."""
MAX_VALUES = 2_000_000
"""Maximum number of values in one memory: each takes up to a hundred times the bytes that it has in a file."""
MAX_ERRORS = 100_000
"""Maximum number of errors in one file of which most is not valid; the rest of it is not read."""
MAX_MARKUP = 4 << 20
MAX_LINKS = 100_000
"""Number of characters of one note in which links and tags are read, and maximum number of its links."""
MANY_ITEMS = 1_000_000
MIN_ITEM_BYTES = 16
"""A file with more than `MANY_ITEMS` memories and other items must have as many bytes for each of them on average."""
MAX_ALIAS_GROWTH = 10
"""YAML aliases may expand a document to at most this many times its size."""
MAX_ZIP_FILES = 100_000
MAX_ZIP_BYTES = 4 << 30
MAX_PASSPHRASE_BYTES = 64 << 10
MAX_SECTION_BYTES = 16 << 20
MAX_INLINE_BYTES = 1 << 20
"""Maximum size of inline `content` in an MCP call."""
MAX_ANSWER_BYTES = 1_000_000
"""Maximum size of an answer: HTTP clients accept messages of up to 1 MiB, including headers."""
MAX_BODY_BYTES = 8 << 20
"""Maximum size of an HTTP request, with escaped inline text."""
GREP_SECONDS = 2.0
"""Maximum time of a pattern in one search, beyond what an ordinary one needs."""


def store_url() -> str:
    """Return the default store: `$MEMGLOT_STORE`, else a file in the user's data directory."""
    return os.environ.get(STORE_VARIABLE) or str(data_folder() / "memglot.db")


def data_folder() -> Path:
    """Return the folder for user data on this system."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "memglot"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "memglot"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "memglot"


def store_from_environment() -> str | None:
    """Return the store named by `$MEMGLOT_STORE`, if any."""
    return os.environ.get(STORE_VARIABLE) or None


CLIENT_VARIABLES = (
    "APPDATA",
    "LOCALAPPDATA",
    "XDG_CONFIG_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "OPENCODE_CONFIG",
    "VSCODE_PORTABLE",
)
"""Variables that change where other programs keep their configuration."""


class SystemPaths(NamedTuple):
    """What the paths of other programs' files depend on."""

    platform: str
    home: Path
    variables: Mapping[str, str]
    data: Path
    """Folder for memglot's user data."""


def system_paths() -> SystemPaths:
    """Return the paths of this system and user; empty variables count as not set."""
    variables = {name: value for name in CLIENT_VARIABLES if (value := os.environ.get(name))}
    return SystemPaths(sys.platform, Path.home(), variables, data_folder())


def editor() -> str | None:
    """Return the user's editor: `$VISUAL`, else `$EDITOR`."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or None


def colours_wanted() -> bool:
    """Return True unless `$NO_COLOR` is set, or the terminal has no colours."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def pager() -> str | None:
    """Return the command that shows long lists: `$PAGER`, else `less`; `None` if `$PAGER` is empty or `cat`."""
    command = os.environ.get("PAGER", "less -FRX")
    return None if command in ("", "cat") else command


def passphrase() -> str | None:
    """Return the passphrase for encrypted parts: `$MEMGLOT_PASSPHRASE`, unless empty."""
    return os.environ.get(PASSPHRASE_VARIABLE) or None


def mcp_token() -> str | None:
    """Return the token for MCP clients over HTTP: `$MEMGLOT_MCP_TOKEN`, unless empty."""
    return os.environ.get(MCP_TOKEN_VARIABLE) or None


def actor() -> str:
    """Return the name of the account, for the audit chain."""
    return os.environ.get("USER") or os.environ.get("USERNAME") or "unknown"


class Machine(NamedTuple):
    """What an export says about the machine it was made on."""

    name: str
    platform: str
    python: str


def this_machine() -> Machine:
    """Return this machine; its name is `$MEMGLOT_MACHINE`, else its network name."""
    import platform

    name = os.environ.get("MEMGLOT_MACHINE") or platform.node() or "unknown"
    return Machine(name, platform.system(), platform.python_version())


def export_time() -> int:
    """Return the timestamp of an export in microseconds: now, or `$SOURCE_DATE_EPOCH` for reproducible bytes."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(fixed) * 1_000_000 if fixed.isdecimal() else time.time_ns() // 1000


def memory_home() -> Path:
    """Return the folder of the project registry: `$MEMORY_HOME`, else `~/.memory`."""
    return Path(os.environ.get("MEMORY_HOME") or Path.home() / ".memory")


# Variables that git sets for hooks and aliases, and those that change how it reads paths.
_GIT_ELSEWHERE = frozenset(
    {
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_CONFIG",
        "GIT_EXTERNAL_DIFF",
        "GIT_LITERAL_PATHSPECS",
        "GIT_GLOB_PATHSPECS",
        "GIT_NOGLOB_PATHSPECS",
        "GIT_ICASE_PATHSPECS",
    }
)


def git_environment() -> dict[str, str]:
    """Return the environment for git: the user's, with English messages and without prompts."""
    inherited = {key: value for key, value in os.environ.items() if key not in _GIT_ELSEWHERE}
    return inherited | {"LC_ALL": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
