"""A minimal stdio client: JSON-RPC lines over two pipes, so that its own work takes little time."""

from __future__ import annotations

import itertools
import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
from core import Cost

VERSION = "2025-06-18"


class Failed(Exception):
    """A call that was answered with an error."""


class ThinClient:
    """One server process, and one client that sends one request at a time."""

    def __init__(self, *command: str | Path, log: Path | None = None) -> None:
        with open(log or os.devnull, "ab") as errors:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=-1,
            )
        self._numbers = itertools.count(1)
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder().decode

    def begin(self) -> None:
        """Do the handshake with the server."""
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Send a request, and wait for the answer."""
        number = next(self._numbers)
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = self._decode(line)
            if answer.get("id") == number:
                if "error" in answer:
                    raise Failed(answer["error"]["message"])
                return answer["result"]
        raise Failed("the server is gone")

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool, and return its structured result."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if answer.get("isError"):
            raise Failed(answer["content"][0]["text"])
        return answer["structuredContent"]

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(self._encode(message) + b"\n")
        self._process.stdin.flush()

    def end(self) -> Cost:
        """Close the pipes, and return what the server used in total."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        process.stdout.read()
        process.stdout.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise Failed(f"the server ended with {process.returncode}")
        return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
