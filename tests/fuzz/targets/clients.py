"""Client configurations: `install` and `uninstall` give back the original bytes, or fail and change nothing."""

from __future__ import annotations

import atexit
from pathlib import Path
from tempfile import TemporaryDirectory

from memglot import MemglotError
from memglot.clients.install import install, uninstall
from memglot.clients.registry import CLIENTS, ServerCommand
from memglot.settings import SystemPaths

SERVER, OTHER = ServerCommand("/opt/bin/memglot", ("mcp",)), ServerCommand("/opt/bin/memglot", ("mcp", "--read-only"))
NAMES = ("claude-code", "codex", "opencode", "vscode")
_HOME = TemporaryDirectory(prefix="memglot-clients-", ignore_cleanup_errors=True)
atexit.register(_HOME.cleanup)
SYSTEM = SystemPaths("linux", Path(_HOME.name), {}, Path(_HOME.name) / "data")
SEEDS = [
    bytes([number]) + text
    for number, texts in enumerate(
        [
            [b"", b" \n", b"{}", b'{"mcpServers": {"a": {"command": "x"}}}', b'// c\r\n{\r\n\t"a": [1,],\r\n}\r\n'],
            [
                b"",
                b"   ",
                b"\xef\xbb\xbf \r\n",
                b"# c",
                b"a = 1",
                b'[mcp_servers.a]\r\ncommand = "x"\r\n',
                b"[[t]]\nx = {}",
            ],
            [b'{"mcp": {"servers": {}}}', b'{"mcp": {"memglot": {"type": "local", "command": ["memglot", "mcp"]}}}'],
            [b'\xef\xbb\xbf{"servers":{"memglot":{"command":"other","env":{"A":"b"}}}}', b'{"servers":{}/*x*/}'],
        ]
    )
    for text in texts
]


class Changed(Exception):
    """A file that is not as it was before."""


def try_one(data: bytes) -> None:
    """Install, update and uninstall in a file with these bytes; the first byte chooses the client and the server."""
    name, before = NAMES[data[0] % len(NAMES) if data else 0], data[1:]
    path = CLIENTS[name].path(SYSTEM, None)
    assert path is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(before)
    force = bool(data and data[0] & 64)
    try:
        first = install(name, SERVER, force=force, system=SYSTEM)
    except MemglotError:
        _expect(path, before, "a failed install changed the file")
        return
    _expect(path, (first.after or "").encode(), "the file is not as reported")
    if install(name, SERVER, system=SYSTEM).action != "unchanged":
        raise Changed("a second install changed the file")
    try:
        install(name, OTHER, system=SYSTEM)
        install(name, SERVER, system=SYSTEM)
    except MemglotError:
        pass
    updated = path.read_bytes()
    try:
        uninstall(name, system=SYSTEM)
    except MemglotError:
        _expect(path, updated, "a failed uninstall changed the file")
        if first.action == "added":
            raise Changed("what was installed cannot be uninstalled") from None
        return
    # An entry that was there before, and that started memglot, is removed for good.
    if first.action == "added" or first.notes:
        _expect(path, before, "uninstall did not give back the original")
    if path.exists() and uninstall(name, system=SYSTEM).action != "absent" and not first.notes:
        raise Changed("a second uninstall found an entry")


def _expect(path: Path, wanted: bytes, problem: str) -> None:
    if path.read_bytes() != wanted:
        raise Changed(f"{problem}: {path.read_bytes()!r} instead of {wanted!r}")
