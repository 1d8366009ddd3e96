"""The clients: where each keeps its list of MCP servers on each system, and how it writes an entry."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from memglot.settings import SystemPaths

Format: TypeAlias = Literal["json", "toml"]
Place: TypeAlias = Callable[[SystemPaths], Path]


class Server(NamedTuple):
    """The program that a client starts as its MCP server."""

    command: str
    arguments: tuple[str, ...]


class Shape(NamedTuple):
    """Where an entry goes in a configuration, and what it says."""

    container: tuple[str, ...]
    values: dict[str, Any]
    """What has to be so for the entry to be the wanted one."""
    first: dict[str, Any]
    """What a new entry says beside that; later it is the user's."""


class Client(NamedTuple):
    """A program that agents run in."""

    name: str
    title: str
    user: Place
    """Where the configuration of the user lies."""
    project: str | None
    """Where that of a project lies, below its folder."""
    format: Format
    shape: Callable[[Server, Any], Shape]
    """An entry for a server, in a configuration with this value."""
    look: str
    """How a person sees there that the server runs."""
    places: tuple[str, str, str]
    """The user's configuration on Linux, macOS and Windows, for people."""

    def path(self, around: SystemPaths, project: Path | None = None) -> Path | None:
        """The file of the user, or of the project in a folder; `None` where the client has none of that kind."""
        if project is None:
            found = self.user(around)
        elif self.project is None:
            return None
        else:
            found = project / self.project
        return _with_comments(found.absolute()) if self.name == "opencode" else found.absolute()


def _settings(around: SystemPaths) -> Path:
    """Where programs of this system keep their settings."""
    if around.platform == "win32":
        return Path(around.variables.get("APPDATA") or around.home / "AppData" / "Roaming")
    if around.platform == "darwin":
        return around.home / "Library" / "Application Support"
    return _dotted_settings(around)


def _dotted_settings(around: SystemPaths) -> Path:
    """Where programs that follow the customs of Linux keep their settings, on every system."""
    return Path(around.variables.get("XDG_CONFIG_HOME") or around.home / ".config")


def _claude_code(around: SystemPaths) -> Path:
    folder = around.variables.get("CLAUDE_CONFIG_DIR")
    # Where this older file is there, it is the one that counts.
    older = Path(folder or around.home / ".claude") / ".config.json"
    return older if os.path.isfile(older) else Path(folder or around.home) / ".claude.json"


def _claude_desktop(around: SystemPaths) -> Path:
    name = "claude_desktop_config.json"
    if around.platform == "win32":
        # A packaged program sees folders of its own in the place of the user's; which, depends on its release.
        local = Path(around.variables.get("LOCALAPPDATA") or around.home / "AppData" / "Local")
        packaged = [
            *sorted((local / "Claude-Data").glob("[Cc]laude*/")),
            *sorted((local / "Packages").glob("Claude_*/LocalCache/Roaming/Claude/")),
        ]
        if packaged:
            return next((folder for folder in packaged if os.path.isfile(folder / name)), packaged[0]) / name
    return _settings(around) / "Claude" / name


def _cursor(around: SystemPaths) -> Path:
    return around.home / ".cursor" / "mcp.json"


def _codex(around: SystemPaths) -> Path:
    return Path(around.variables.get("CODEX_HOME") or around.home / ".codex") / "config.toml"


def _vscode(around: SystemPaths) -> Path:
    if portable := around.variables.get("VSCODE_PORTABLE"):
        return Path(portable) / "user-data" / "User" / "mcp.json"
    return _settings(around) / "Code" / "User" / "mcp.json"


def _opencode(around: SystemPaths) -> Path:
    if named := around.variables.get("OPENCODE_CONFIG"):
        return Path(named)
    return _dotted_settings(around) / "opencode" / "opencode.json"


def _with_comments(path: Path) -> Path:
    """The same file with comments, if it is there: its values are read later, and win."""
    other = path.with_suffix(".jsonc")
    return other if path.name == "opencode.json" and os.path.isfile(other) else path


def _typed(container: str) -> Callable[[Server, Any], Shape]:
    def shape(server: Server, _: Any) -> Shape:
        values = {"type": "stdio", "command": server.command, "args": list(server.arguments)}
        return Shape((container,), values, {})

    return shape


def _untyped(container: str) -> Callable[[Server, Any], Shape]:
    def shape(server: Server, _: Any) -> Shape:
        return Shape((container,), {"command": server.command, "args": list(server.arguments)}, {})

    return shape


def _local(server: Server, value: Any) -> Shape:
    values = {"type": "local", "command": [server.command, *server.arguments]}
    listed = value.get("mcp") if isinstance(value, dict) else None
    servers = listed.get("servers") if isinstance(listed, dict) else None
    # Release 2 lists servers one level deeper. It reads the older way too, which is the one that every release reads.
    if isinstance(servers, dict) and "type" not in servers:
        return Shape(("mcp", "servers"), values, {})
    return Shape(("mcp",), values, {"enabled": True})


CLIENTS: dict[str, Client] = {
    client.name: client
    for client in (
        Client(
            "claude-code",
            "Claude Code",
            _claude_code,
            ".mcp.json",
            "json",
            _typed("mcpServers"),
            "`/mcp` there shows it",
            ("~/.claude.json", "~/.claude.json", "~/.claude.json"),
        ),
        Client(
            "claude-desktop",
            "Claude Desktop",
            _claude_desktop,
            None,
            "json",
            _untyped("mcpServers"),
            "Settings, Developer shows it",
            (
                "$XDG_CONFIG_HOME/Claude/claude_desktop_config.json",
                "~/Library/Application Support/Claude/claude_desktop_config.json",
                "%APPDATA%/Claude/claude_desktop_config.json",
            ),
        ),
        Client(
            "cursor",
            "Cursor",
            _cursor,
            ".cursor/mcp.json",
            "json",
            _typed("mcpServers"),
            "its settings list it under MCP",
            ("~/.cursor/mcp.json", "~/.cursor/mcp.json", "~/.cursor/mcp.json"),
        ),
        Client(
            "codex",
            "Codex",
            _codex,
            ".codex/config.toml",
            "toml",
            _untyped("mcp_servers"),
            "`/mcp` there shows it",
            ("~/.codex/config.toml", "~/.codex/config.toml", "~/.codex/config.toml"),
        ),
        Client(
            "vscode",
            "VS Code",
            _vscode,
            ".vscode/mcp.json",
            "json",
            _typed("servers"),
            "`MCP: List Servers` in the command palette shows it",
            (
                "$XDG_CONFIG_HOME/Code/User/mcp.json",
                "~/Library/Application Support/Code/User/mcp.json",
                "%APPDATA%/Code/User/mcp.json",
            ),
        ),
        Client(
            "opencode",
            "OpenCode",
            _opencode,
            "opencode.json",
            "json",
            _local,
            "`opencode mcp list` shows it",
            (
                "$XDG_CONFIG_HOME/opencode/opencode.json",
                "$XDG_CONFIG_HOME/opencode/opencode.json",
                "$XDG_CONFIG_HOME/opencode/opencode.json",
            ),
        ),
    )
}
"""Every client by the name that a user types."""


def is_ours(entry: Any) -> bool:
    """Tell whether an entry starts memglot: by its script, or as a module of Python."""
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
    return script == "memglot" or ("-m", "memglot") in list(zip(words, words[1:], strict=False))
