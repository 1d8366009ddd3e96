"""Settings: the only file that reads the environment."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

Passphrase: TypeAlias = str | Callable[[], str | None] | None
"""A passphrase, or what asks for one when it turns out to be needed."""
STORE_VARIABLE = "MEMGLOT_STORE"
PASSPHRASE_VARIABLE = "MEMGLOT_PASSPHRASE"
MCP_TOKEN_VARIABLE = "MEMGLOT_MCP_TOKEN"
BUSY_SECONDS = 10.0
IDLE_SECONDS = 5.0
"""So long a server keeps a store open that nobody asks for: less than others wait for it, so that they get it."""
BATCH_SIZE = 1_000
BATCH_BYTES = 768 << 10
"""What the memories of one batch weigh at most, as JSON; a heavier one is a batch of its own."""
MAX_DEPTH = 100
"""Maximum nesting depth of JSON and YAML."""
MAX_ALIAS_GROWTH = 10
"""YAML aliases may expand a document to at most this many times its size."""
MAX_ZIP_FILES = 100_000
MAX_ZIP_BYTES = 4 << 30
MAX_PASSPHRASE_BYTES = 64 << 10
MAX_SECTION_BYTES = 16 << 20
MAX_INLINE_BYTES = 1 << 20
"""Maximum size of inline `content` in an MCP call."""
MAX_ANSWER_BYTES = 1_000_000
"""HTTP clients accept messages of up to 1 MiB, part of which surrounds the answer."""
MAX_BODY_BYTES = 8 << 20
"""Maximum size of one HTTP request: inline text, however it is escaped, and what surrounds it."""
GREP_SECONDS = 2.0
"""How long a pattern may take beyond what a fair one needs, over all the memories of one search."""


def store_url() -> str:
    """The store to use when none is named: `$MEMGLOT_STORE`, else a file in the user's data directory."""
    return os.environ.get(STORE_VARIABLE) or str(data_folder() / "memglot.db")


def data_folder() -> Path:
    """Where this system keeps a user's data."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "memglot"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "memglot"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "memglot"


def store_from_environment() -> str | None:
    """The store that the environment names, if it does."""
    return os.environ.get(STORE_VARIABLE) or None


CLIENT_VARIABLES = (
    *("APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME"),
    *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_CONFIG", "VSCODE_PORTABLE"),
)
"""What tells where other programs keep their configuration."""


class SystemPaths(NamedTuple):
    """What the places of other programs' files depend on."""

    platform: str
    home: Path
    variables: Mapping[str, str]
    data: Path
    """Where memglot keeps what belongs to the user."""


def system_paths() -> SystemPaths:
    """This system and this user; variables that are empty count as not set."""
    variables = {name: value for name in CLIENT_VARIABLES if (value := os.environ.get(name))}
    return SystemPaths(sys.platform, Path.home(), variables, data_folder())


def editor() -> str | None:
    """The user's editor: `$VISUAL`, else `$EDITOR`."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR")


def passphrase() -> str | None:
    """What encrypted parts are opened with: `$MEMGLOT_PASSPHRASE`; an empty one is none."""
    return os.environ.get(PASSPHRASE_VARIABLE) or None


def mcp_token() -> str | None:
    """What clients of the MCP server over HTTP must show: `$MEMGLOT_MCP_TOKEN`; an empty one is none."""
    return os.environ.get(MCP_TOKEN_VARIABLE) or None


def actor() -> str:
    """Who acts, for the audit chain: the name of the account."""
    return os.environ.get("USER") or os.environ.get("USERNAME") or "unknown"


class Machine(NamedTuple):
    """What an export tells of the machine it was made on."""

    name: str
    platform: str
    python: str


def this_machine() -> Machine:
    """This machine: `$MEMGLOT_MACHINE`, else the name it has in the network."""
    import platform

    name = os.environ.get("MEMGLOT_MACHINE") or platform.node() or "unknown"
    return Machine(name, platform.system(), platform.python_version())


def export_time() -> int:
    """The time that an export tells, in microseconds: the present, or `$SOURCE_DATE_EPOCH` for equal bytes."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(fixed) * 1_000_000 if fixed.isdecimal() else time.time_ns() // 1000


def memory_home() -> Path:
    """Where the registry of projects lies: `$MEMORY_HOME`, else `.memory` in the user's home."""
    return Path(os.environ.get("MEMORY_HOME") or Path.home() / ".memory")


# What a hook, or an alias of git, is told of the repository that it runs in, and what would change how paths are read.
_GIT_ELSEWHERE = frozenset(
    {
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_EXTERNAL_DIFF",
        "GIT_LITERAL_PATHSPECS",
        "GIT_GLOB_PATHSPECS",
        "GIT_NOGLOB_PATHSPECS",
        "GIT_ICASE_PATHSPECS",
    }
)


def git_environment() -> dict[str, str]:
    """The environment that git is asked in: the user's, in plain English, asking nobody for anything."""
    inherited = {key: value for key, value in os.environ.items() if key not in _GIT_ELSEWHERE}
    return inherited | {"LC_ALL": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
