"""Run npm's MCP Inspector, one process per call, against `memglot mcp` over either transport."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

INSTALLED = Path(__file__).parents[2] / ".venv" / "clients" / "node_modules"
PROGRAM = INSTALLED / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
TOKEN = "a-token-for-tests-only-0123456789abcdef"
PATIENCE = 60  # Timeout of a call, in seconds.

# Exit codes of the Inspector.
DONE, NO_TOKEN, TOOL_ERROR = 0, 3, 5


@dataclass(frozen=True)
class Answer:
    """The result of one run of the Inspector."""

    code: int
    result: dict[str, Any]
    error: dict[str, Any]
    told: str

    @property
    def structured(self) -> dict[str, Any]:
        """The structured content of a successful call."""
        assert self.code == DONE, self.told
        found: dict[str, Any] = self.result["structuredContent"]
        return found

    @property
    def text(self) -> str:
        """The text for the model."""
        return "\n".join(part["text"] for part in self.result["content"] if part["type"] == "text")


@dataclass(frozen=True)
class Inspector:
    """The Inspector, and how it connects to a server."""

    home: Path
    reach: list[str]
    era: str = "legacy"
    headers: dict[str, str] = field(default_factory=dict)

    def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        """Call a tool."""
        # One JSON object instead of `key=value` pairs, which would read "12" and "null" as what they look like.
        return self.ask("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))

    def ask(self, method: str, *options: str) -> Answer:
        """Call a method of the server."""
        headers = [word for name, value in self.headers.items() for word in ("--header", f"{name}: {value}")]
        command = [node(), str(PROGRAM), "--cli", *self.reach, *headers, "--method", method, *options]
        command += ["--format", "json", "--protocol-era", self.era]
        if self.headers:
            command.append("--stored-auth-only")  # A wrong token must fail instead of waiting for a login.
        done = subprocess.run(
            command, cwd=self.home, env=environment(self.home), capture_output=True, text=True, timeout=PATIENCE
        )
        told = f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return Answer(done.returncode, envelope(done.stdout, "result"), envelope(done.stderr, "error"), told)


def node() -> str:
    """Return the pinned Node.js if its packages have one for this machine, or else the installed one."""
    pinned = INSTALLED / ".bin" / "node"
    found = str(pinned) if pinned.exists() else shutil.which("node")
    assert found and PROGRAM.exists(), "the MCP Inspector is not installed: `make test-clients` does it"
    return found


def environment(home: Path) -> dict[str, str]:
    """Return an environment without configuration, registry and key ring."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    places = {"HOME": str(home), "MEMORY_HOME": str(home / "projects"), "MCP_STORAGE_DIR": str(home / "inspector")}
    return kept | places | {"MCP_INSPECTOR_SECRET_STORE": "memory"}


def envelope(output: str, key: str) -> dict[str, Any]:
    """Return the last line that is an object with this key; servers may print other lines."""
    for line in reversed(output.splitlines()):
        if line.startswith(f'{{"{key}"'):
            found: dict[str, Any] = json.loads(line)[key]
            return found
    return {}


def command_of(store: Path, root: Path, *options: str) -> list[str]:
    """Return the command that starts our server."""
    return [sys.executable, "-m", "memglot", "--store", str(store), "mcp", "--root", str(root), *options]


def over_stdio(home: Path, store: Path, root: Path, era: str) -> Inspector:
    """Return an Inspector that starts the server itself, from a configuration file as clients have it."""
    program, *arguments = command_of(store, root)
    # A server that the Inspector starts inherits few variables, so name those it needs.
    server = {"command": program, "args": arguments, "env": environment(home), "cwd": str(root)}
    path = home / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"memglot": server}}), encoding="utf-8")
    return Inspector(home, ["--config", str(path), "--server", "memglot"], era)


@contextmanager
def over_http(home: Path, store: Path, root: Path, era: str) -> Iterator[Inspector]:
    """Yield an Inspector with a running HTTP server."""
    port = free_port()
    command = command_of(store, root, "--transport", "http", "--port", str(port))
    log = home / "server.log"
    with log.open("wb") as output:
        variables = environment(home) | {"MEMGLOT_MCP_TOKEN": TOKEN}
        server = subprocess.Popen(
            command, cwd=root, env=variables, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        wait_for(port, server, log)
        reach = [f"http://127.0.0.1:{port}/mcp", "--transport", "http"]
        yield Inspector(home, reach, era, {"Authorization": f"Bearer {TOKEN}"})
    finally:
        server.terminate()
        server.wait(PATIENCE)


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
    return number


def wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the server accepts connections; fail if it exits or never does."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"the server did not start:\n{log.read_text('utf-8', 'replace')}")
