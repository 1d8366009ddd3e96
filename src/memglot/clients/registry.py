"""The supported clients: where each keeps its list of MCP servers, and the form of an entry there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from memglot.settings import SystemPaths

Format: TypeAlias = Literal["json", "toml"]
FindFile: TypeAlias = Callable[[SystemPaths], Path]


class ServerCommand(NamedTuple):
    """The program that a client starts as its MCP server."""

    command: str
    arguments: tuple[str, ...]


class ServerEntry(NamedTuple):
    """An entry for memglot in a client's configuration."""

    container: tuple[str, ...]
    """Keys of the object that lists the servers."""
    values: dict[str, Any]
    """Members that must have these values."""
    initial: dict[str, Any]
    """Members that only a new entry gets; the user may change them later."""


class Client(NamedTuple):
    """A program that agents run in."""

    name: str
    title: str
    find_user_file: FindFile
    """Return the path of the user's configuration."""
    project_file: str | None
    """Path of a project's configuration, relative to its folder; None if the client has none."""
    format: Format
    make_entry: Callable[[ServerCommand, Any], ServerEntry]
    """Return the entry for a server, in a configuration with this value."""
    check: str
    """Where the client shows that the server runs."""
    documented_paths: tuple[str, str, str]
    """Path of the user's configuration on Linux, macOS and Windows, for the documentation."""

    def path(self, system: SystemPaths, project: Path | None = None) -> Path | None:
        """Return the configuration of the user, or of a project; None if the client has none of that kind."""
        if project is None:
            found = self.find_user_file(system)
        elif self.project_file is None:
            return None
        else:
            found = project / self.project_file
        return _prefer_jsonc(found.absolute()) if self.name == "opencode" else found.absolute()


def _settings(system: SystemPaths) -> Path:
    """Return the folder where programs of this system keep their settings."""
    if system.platform == "win32":
        return Path(system.variables.get("APPDATA") or system.home / "AppData" / "Roaming")
    if system.platform == "darwin":
        return system.home / "Library" / "Application Support"
    return _xdg_settings(system)


def _xdg_settings(system: SystemPaths) -> Path:
    """Return the settings folder of programs that follow the XDG convention on every system."""
    return Path(system.variables.get("XDG_CONFIG_HOME") or system.home / ".config")


def _claude_code(system: SystemPaths) -> Path:
    folder = system.variables.get("CLAUDE_CONFIG_DIR")
    # If this older file exists, Claude Code uses it.
    older = Path(folder or system.home / ".claude") / ".config.json"
    return older if os.path.isfile(older) else Path(folder or system.home) / ".claude.json"


def _claude_desktop(system: SystemPaths) -> Path:
    name = "claude_desktop_config.json"
    if system.platform == "win32":
        # A packaged program has its own copy of the user's folders; which one depends on the release.
        local = Path(system.variables.get("LOCALAPPDATA") or system.home / "AppData" / "Local")
        packaged = [
            *sorted((local / "Claude-Data").glob("[Cc]laude*/")),
            *sorted((local / "Packages").glob("Claude_*/LocalCache/Roaming/Claude/")),
        ]
        if packaged:
            return next((folder for folder in packaged if os.path.isfile(folder / name)), packaged[0]) / name
    return _settings(system) / "Claude" / name


def _cursor(system: SystemPaths) -> Path:
    return system.home / ".cursor" / "mcp.json"


def _codex(system: SystemPaths) -> Path:
    return Path(system.variables.get("CODEX_HOME") or system.home / ".codex") / "config.toml"


def _vscode(system: SystemPaths) -> Path:
    if portable := system.variables.get("VSCODE_PORTABLE"):
        return Path(portable) / "user-data" / "User" / "mcp.json"
    return _settings(system) / "Code" / "User" / "mcp.json"


def _opencode(system: SystemPaths) -> Path:
    if named := system.variables.get("OPENCODE_CONFIG"):
        return Path(named)
    return _xdg_settings(system) / "opencode" / "opencode.json"


def _prefer_jsonc(path: Path) -> Path:
    """Return the `.jsonc` file next to it if there is one: OpenCode reads it later, and its values win."""
    other = path.with_suffix(".jsonc")
    return other if path.name == "opencode.json" and os.path.isfile(other) else path


def _stdio_entry(container: str) -> Callable[[ServerCommand, Any], ServerEntry]:
    def make_entry(server: ServerCommand, _: Any) -> ServerEntry:
        values = {"type": "stdio", "command": server.command, "args": list(server.arguments)}
        return ServerEntry((container,), values, {})

    return make_entry


def _plain_entry(container: str) -> Callable[[ServerCommand, Any], ServerEntry]:
    def make_entry(server: ServerCommand, _: Any) -> ServerEntry:
        return ServerEntry((container,), {"command": server.command, "args": list(server.arguments)}, {})

    return make_entry


def _opencode_entry(server: ServerCommand, value: Any) -> ServerEntry:
    values = {"type": "local", "command": [server.command, *server.arguments]}
    listed = value.get("mcp") if isinstance(value, dict) else None
    servers = listed.get("servers") if isinstance(listed, dict) else None
    # Release 2 lists servers one level deeper, but also reads the older form, which every release understands.
    if isinstance(servers, dict) and "type" not in servers:
        return ServerEntry(("mcp", "servers"), values, {})
    return ServerEntry(("mcp",), values, {"enabled": True})


CLIENTS: dict[str, Client] = {
    client.name: client
    for client in (
        Client(
            name="claude-code",
            title="Claude Code",
            find_user_file=_claude_code,
            project_file=".mcp.json",
            format="json",
            make_entry=_stdio_entry("mcpServers"),
            check="with `/mcp`",
            documented_paths=("~/.claude.json", "~/.claude.json", "~/.claude.json"),
        ),
        Client(
            name="claude-desktop",
            title="Claude Desktop",
            find_user_file=_claude_desktop,
            project_file=None,
            format="json",
            make_entry=_plain_entry("mcpServers"),
            check="in Settings > Developer",
            documented_paths=(
                "$XDG_CONFIG_HOME/Claude/claude_desktop_config.json",
                "~/Library/Application Support/Claude/claude_desktop_config.json",
                "%APPDATA%/Claude/claude_desktop_config.json",
            ),
        ),
        Client(
            name="cursor",
            title="Cursor",
            find_user_file=_cursor,
            project_file=".cursor/mcp.json",
            format="json",
            make_entry=_stdio_entry("mcpServers"),
            check="in its MCP settings",
            documented_paths=("~/.cursor/mcp.json", "~/.cursor/mcp.json", "~/.cursor/mcp.json"),
        ),
        Client(
            name="codex",
            title="Codex",
            find_user_file=_codex,
            project_file=".codex/config.toml",
            format="toml",
            make_entry=_plain_entry("mcp_servers"),
            check="with `/mcp`",
            documented_paths=("~/.codex/config.toml", "~/.codex/config.toml", "~/.codex/config.toml"),
        ),
        Client(
            name="vscode",
            title="VS Code",
            find_user_file=_vscode,
            project_file=".vscode/mcp.json",
            format="json",
            make_entry=_stdio_entry("servers"),
            check="with `MCP: List Servers` in the command palette",
            documented_paths=(
                "$XDG_CONFIG_HOME/Code/User/mcp.json",
                "~/Library/Application Support/Code/User/mcp.json",
                "%APPDATA%/Code/User/mcp.json",
            ),
        ),
        Client(
            name="opencode",
            title="OpenCode",
            find_user_file=_opencode,
            project_file="opencode.json",
            format="json",
            make_entry=_opencode_entry,
            check="with `opencode mcp list`",
            documented_paths=(
                "$XDG_CONFIG_HOME/opencode/opencode.json",
                "$XDG_CONFIG_HOME/opencode/opencode.json",
                "$XDG_CONFIG_HOME/opencode/opencode.json",
            ),
        ),
    )
}
"""Every client by the name that users type."""


_LAUNCHERS = ("uvx", "uv", "pipx")
"""Programs that make an environment for memglot and start it there."""


def starts_memglot(entry: Any) -> bool:
    """Return True if an entry starts memglot, by its script, with `python -m memglot`, `uvx` or `pipx run`."""
    if not isinstance(entry, dict):
        return False
    command, arguments = entry.get("command"), entry.get("args")
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    if not words or not all(isinstance(word, str) for word in words):
        return False
    script = words[0].replace("\\", "/").rsplit("/", 1)[-1].lower().removesuffix(".exe")
    pairs = list(zip(words, words[1:], strict=False))
    return script == "memglot" or ("-m", "memglot") in pairs or script in _LAUNCHERS and ("memglot", "mcp") in pairs
