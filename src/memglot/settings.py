"""Settings and limits; the only module that reads the environment."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

Passphrase: TypeAlias = str | Callable[[], str | None] | None
"""A passphrase, or a function that asks for one when it is needed."""
STORE_VARIABLE = "MEMGLOT_STORE"
PASSPHRASE_VARIABLE = "MEMGLOT_PASSPHRASE"
MCP_TOKEN_VARIABLE = "MEMGLOT_MCP_TOKEN"
CONFIG_VARIABLE = "MEMGLOT_CONFIG"
MACHINE_VARIABLE = "MEMGLOT_MACHINE"
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
MAX_UNPACKED_BYTES = 4 << 30
MAX_UNPACKED_RATIO = 100
"""A compressed file may hold this many bytes, or this many times its own size if that is more."""
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


class Setting(NamedTuple):
    """One setting: what people can write into the configuration file, and the variables that replace it."""

    name: str
    """Its key; `search.limit` is `limit` in the table `[search]`, and the default of `memglot search --limit`."""
    type: type[str] | type[int] | type[bool]
    help: str
    default: Any = ""
    """The default, or a function that returns it."""
    choices: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    """Environment variables that replace the value in the file, the most important first."""
    is_path: bool = False
    """Whether it is a path, which must be absolute or begin with `~`; a URL is accepted too."""


class Value(NamedTuple):
    """The value of a setting, and where it comes from: `default`, `$VARIABLE`, or the file with the line."""

    value: Any
    origin: str


def _network_name() -> str:
    import platform

    return platform.node() or "unknown"


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "store",
        str,
        "Path or URL of the store.",
        lambda: str(data_folder() / "memglot.db"),
        variables=(STORE_VARIABLE,),
        is_path=True,
    ),
    Setting("passphrase_file", str, "File with the passphrase for encrypted memories.", is_path=True),
    Setting("sync_path", str, "File that `memglot sync` alone merges.", is_path=True),
    Setting("machine", str, "Name of this machine in memories.json.", _network_name, variables=(MACHINE_VARIABLE,)),
    Setting("color", str, "Whether terminals show colours.", "auto", ("auto", "never"), ("NO_COLOR",)),
    Setting("progress", bool, "Whether terminals show progress bars.", True),
    Setting("pager", str, "Program that shows long lists; none if empty.", "less -FRX", variables=("PAGER",)),
    Setting("editor", str, "Program that `memglot edit` opens.", variables=("VISUAL", "EDITOR")),
    Setting("list.limit", int, "Maximum number of memories that `memglot list` shows.", 50),
    Setting("search.limit", int, "Maximum number of results of `memglot search`.", 10),
    Setting("search.mode", str, "Kind of search.", "hybrid", ("hybrid", "fulltext", "semantic")),
    Setting("import.embed", bool, "Whether `memglot import` builds vectors for semantic search.", True),
)
"""All settings, in the order in which they are shown."""


def setting(name: str) -> Any:
    """Return the value of a setting: of the environment, else of the configuration file, else the default."""
    return find_setting(name).value


def find_setting(name: str) -> Value:
    """Return the value of a setting with its origin. Raise `UsageError` if the configuration file is not valid."""
    chosen = next(one for one in SETTINGS if one.name == name)
    for variable in chosen.variables:
        text = os.environ.get(variable)
        # An empty `$PAGER` means no pager; any other empty variable is not set.
        if text or (text == "" and variable == "PAGER"):
            return Value("never" if variable == "NO_COLOR" else text, f"${variable}")
    return configured(name) or Value(default_of(chosen), "default")


def default_of(chosen: Setting) -> Any:
    """Return the value of a setting that nobody set."""
    return chosen.default() if callable(chosen.default) else chosen.default


def configured(name: str) -> Value | None:
    """Return the value of a setting in the configuration file. Raise `UsageError` if the file is not valid."""
    path = config_path()
    if not path.exists():
        return None
    from memglot.config import read_config

    return read_config(path).values.get(name)


def config_path() -> Path:
    """Return the configuration file: `$MEMGLOT_CONFIG`, else `config.toml` in the user's folder for settings."""
    if given := os.environ.get(CONFIG_VARIABLE):
        return Path(given)
    home = Path.home()
    if sys.platform == "win32":
        folder = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        folder = home / "Library" / "Application Support"
    else:
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return folder / "memglot" / "config.toml"


def store_url() -> str:
    """Return the default store: `$MEMGLOT_STORE`, else that of the configuration file, else one of the user's files."""
    return str(setting("store"))


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
    """Return the user's editor: `$VISUAL`, else `$EDITOR`, else that of the configuration file."""
    return setting("editor") or None


def colours_wanted() -> bool:
    """Return True unless the user wants none (`$NO_COLOR`), or the terminal has none."""
    return os.environ.get("TERM") != "dumb" and setting("color") != "never"


def uv_program() -> str | None:
    """Return the path of the `uv` that started this process, which it says in `$UV`."""
    return os.environ.get("UV") or None


def pager() -> str | None:
    """Return the command that shows long lists, by default `less`; `None` if it is empty or `cat`."""
    command = str(setting("pager"))
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
    """Return this machine; by default, its name is its network name."""
    import platform

    return Machine(str(setting("machine")), platform.system(), platform.python_version())


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
