"""Record a loop with each program for tests/merging/test_recorded_loops.py: `python tests/peers/record.py [NAME ...]`.

`before` is what the program had, `after` the same data edited in the program, and `returned` what came back after
the program took memglot's export and was edited in the same way. Brains are recorded as SQL without their index.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from drive_agentos import Brain, Json
from drive_mcp_graph import Server
from drive_mcp_memory import Service
from loops import EDITED_HERE, HERE, Loop, LoopTests, Peer, View

from memglot import Memory

TARGET = HERE / "recorded"
HOME = "/home/ada"  # Replaces the folder in which the programs ran.
PEERS: dict[str, Callable[[Path], Peer]] = {
    "agentos": Brain,
    "agentos-json": Json,
    "mcp-memory-9.0.0": lambda folder: Service(folder, "9.0.0"),
    "mcp-memory-12.4.0": lambda folder: Service(folder, "12.4.0"),
    "mcp-graph": Server,
}


def edit(loop: Loop) -> View:
    """Make every edit that the program has, use it, and return what must be shown afterwards."""
    wanted = loop.view()
    for name in ("rewrite", "retag", "retype", "forget", "remember"):
        if name in loop.peer.can or name == "remember":
            LoopTests().edit_there(loop, name, wanted)
    loop.peer.use()
    return wanted


def record(name: str, folder: Path) -> None:
    """Run one program twice: once alone, and once with memglot's export."""
    target = TARGET / name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    peer = PEERS[name](folder / "peer")
    with Memory.open(folder / "store.db") as memory:
        loop = Loop(peer, memory)
        before = copy(peer.give(), folder / "before")
        loop.receive()
        wanted = edit(loop)
        after = copy(peer.give(), folder / "after")
        loop.send()
        assert edit(loop) == wanted
        returned = copy(peer.give(), folder / "returned")
    for path in (before, after, returned):
        text = dump(path) if path.suffix == ".sqlite" else path.read_text(encoding="utf-8")
        suffix = ".sql" if path.suffix == ".sqlite" else path.suffix
        (target / f"{path.parent.name}{suffix}").write_text(text.replace(str(folder), HOME), encoding="utf-8")
    expect: dict[str, Any] = {
        "format": peer.format,
        "dialect": peer.dialect,
        "file": before.name,
        "adds_tags": peer.adds_tag("source:"),
        "edit_here": EDITED_HERE,
        "edited": {content: [list(seen.tags), seen.kind] for content, seen in sorted(wanted.items())},
    }
    (target / "expect.json").write_text(json.dumps(expect, indent=1) + "\n", encoding="utf-8")


def copy(path: Path, folder: Path) -> Path:
    """Copy a file into a new folder."""
    folder.mkdir()
    return Path(shutil.copy(path, folder / path.name))


def dump(path: Path) -> str:
    """Return the tables of a database as SQL, except full-text indexes and our own table."""
    lines = []
    with closing(sqlite3.connect(path)) as database:
        tables = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY rowid").fetchall()
        for name, sql in tables:
            if name.startswith(("sqlite_", "memory_traces_fts")):
                continue
            lines.append(f"{sql};")
            columns = [
                f'quote("{column}")' for (column,) in database.execute("SELECT name FROM pragma_table_info(?)", (name,))
            ]
            for row in database.execute(f'SELECT {", ".join(columns)} FROM "{name}"'):
                lines.append(f'INSERT INTO "{name}" VALUES ({", ".join(row)});')
    return "\n".join(lines) + "\n"


def main() -> None:
    os.environ |= {"MEMGLOT_MACHINE": "test-machine", "SOURCE_DATE_EPOCH": "1760000000"}
    for name in sys.argv[1:] or PEERS:
        with tempfile.TemporaryDirectory() as folder:
            record(name, Path(folder))
        print(f"recorded {name}")


if __name__ == "__main__":
    main()
