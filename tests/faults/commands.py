"""Every command that writes, with the state it starts from; `test_kills.py` and others run them with faults."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from machine import Machine

VERSIONS = Path(__file__).parents[1] / "store" / "versions"
IDS = [f"0194a000-{number:04d}-7000-8000-{number:012d}" for number in range(1, 41)]
NOBODY = "0194a000-9999-7000-8000-000000009999"


def _records(count: int, *, start: int = 1, words: str = "") -> str:
    """Return memories with ids, one a line."""
    lines = []
    for number in range(start, start + count):
        record = {
            "id": f"0194a000-{number:04d}-7000-8000-{number:012d}",
            "content": f"Memory {number} about topic {number % 7}{words}",
            "tree": f"work.part{number % 3}",
            "meta": {"number": number},
        }
        lines.append(json.dumps(record) + "\n")
    return "".join(lines)


def files(folder: Path) -> None:
    """Write the files that commands read."""
    (folder / "few.ndjson").write_text(_records(40))
    (folder / "many.ndjson").write_text(_records(2_300, start=100))
    (folder / "later.ndjson").write_text(_records(10, start=35, words=", edited elsewhere"))
    (folder / "rows.csv").write_text("content,type\n" + "".join(f"Row {number},semantic\n" for number in range(30)))
    vault = folder / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    for number in range(12):
        (vault / f"Note {number}.md").write_text(
            f"---\ntags: [a, b{number}]\n---\n\nNote {number} [[Note {number + 1}]]\n"
        )
    # The same vault later, without some of its notes.
    shutil.copytree(vault, folder / "later" / "vault")
    for number in (3, 5):
        (folder / "later" / "vault" / f"Note {number}.md").unlink()
    graph = [
        {"type": "entity", "name": f"E{number}", "entityType": "t", "observations": [f"Fact {number}"]}
        for number in range(20)
    ]
    (folder / "graph.jsonl").write_text("".join(json.dumps(line) + "\n" for line in graph))


OPERATION = "<operation>"
"""Stands for the id of the last operation before a command."""
SAVE = json.dumps(
    {
        "task": "Keep decisions",
        "nodes": [
            {"kind": "decision", "title": f"Decision {number}", "body": f"Reason {number}."} for number in range(4)
        ],
    }
)
_REPOSITORY = ["git", "-c", "user.name=T", "-c", "user.email=t@e.x"]


def repository(folder: Path) -> None:
    """Make the folder a git repository."""
    files(folder)
    subprocess.run([*_REPOSITORY, "init", "-q", "-b", "main"], cwd=folder, check=True)
    subprocess.run([*_REPOSITORY, "commit", "-q", "--allow-empty", "-m", "start"], cwd=folder, check=True)


def with_edited_nodes(folder: Path) -> None:
    """Make a repository whose project memory was edited by hand."""
    repository(folder)
    for number in range(3):
        place = folder / f".memory/memory/by-hand-{number}"
        place.parent.mkdir(parents=True, exist_ok=True)
        sidecar = {
            "id": f"gotcha.by-hand-{number}",
            "type": "gotcha",
            "status": "active",
            "title": f"By hand {number}",
            "body_path": f"memory/by-hand-{number}.md",
            "content_hash": "sha256:" + "0" * 64,
            "created_at": "2026-01-02T03:04:05+00:00",
            "updated_at": "2026-01-02T03:04:05+00:00",
        }
        place.with_suffix(".json").write_text(json.dumps(sidecar))
        place.with_suffix(".md").write_text(f"Edited {number}.\n")


def with_readme(folder: Path) -> None:
    """Make a repository with a README."""
    repository(folder)
    (folder / "README.md").write_text("# Project\n\nText.\n")


def with_folder(folder: Path) -> None:
    """Add an empty folder for backups."""
    files(folder)
    (folder / "copies").mkdir()


def version(number: int) -> Callable[[Path], None]:
    """Return a function that creates a store of an earlier version."""

    def make(folder: Path) -> None:
        files(folder)
        db = sqlite3.connect(folder / "store.db")
        db.executescript((VERSIONS / f"v{number}.sql").read_text(encoding="utf-8"))
        db.close()

    return make


BASE = (["import", "few.ndjson"], ["link", IDS[0], "supports", IDS[1]], ["embed"])


@dataclass(frozen=True)
class Case:
    """A command, the state it starts from, and what may differ when it is run again after a kill."""

    name: str
    command: Sequence[str]
    setup: Sequence[Sequence[str]] = BASE
    start: Callable[[Path], None] = files
    stdin: str = ""
    ignored: tuple[str, ...] = ()
    """Fields of memories that a second run sets differently, such as ids that are new each time."""
    codes: tuple[int, ...] = (0,)
    """Exit codes of a second run; not only 0 if the first run may have been completed before it was killed."""
    skip: tuple[str, ...] = (".git", "index")
    """Files that are not compared."""
    names: tuple[str, str] = ("", "")
    """Part of the names of files that a second run writes, and what an undisturbed run writes instead."""

    def prepare(self, machine: Machine, folder: Path) -> None:
        """Create the state before the command."""
        folder.mkdir()
        self.start(folder)
        for step, call in enumerate(self.setup):
            found = machine.run(folder, [call], stdin=SAVE, step=step)
            assert found.status == 0 and found.results[0].code == 0, (call, found)


_TWO = ["add", "Same text", "--id", "0194a000-8888-7000-8000-000000000001"]
_SAME = ["add", "Same text", "--id", "0194a000-8888-7000-8000-000000000002"]
_REPO = (["repo", "init"], ["repo", "save", "--stdin"])

CASES = (
    Case("add", ["add", "A new memory", "--id", NOBODY], codes=(0, 2)),
    Case("add to a new store", ["add", "The first memory", "--id", NOBODY], setup=(), codes=(0, 2)),
    Case(
        "backup", ["backup", "copy.db", "--force"], setup=(*BASE, ["backup", "copy.db"], ["add", "x", "--id", NOBODY])
    ),
    Case(
        "backup --keep",
        ["backup", "copies", "--keep", "1d"],
        setup=(*BASE, ["backup", "copies"], ["backup", "copies"]),
        start=with_folder,
        names=("-2.db", ".db"),
    ),
    Case("config edit", ["config", "edit"]),
    Case("config set", ["config", "set", "search.limit", "5"], setup=(["config", "set", "color", "never"],)),
    Case("config unset", ["config", "unset", "color"], setup=(["config", "set", "color", "never"],)),
    Case(
        "conflicts",
        ["conflicts", "resolve", IDS[34], "content", "--take", "2"],
        setup=(*BASE, ["import", "later.ndjson", "--conflict", "merge"]),
        codes=(0, 2),
    ),
    Case("compact", ["compact"], setup=(*BASE, ["import", "many.ndjson"], ["undo", "last"])),
    Case("consolidate", ["consolidate"], setup=(*BASE, _TWO, _SAME)),
    Case("convert", ["convert", "few.ndjson", "out.json"], setup=(), codes=(0, 2)),
    Case("convert to a folder", ["convert", "few.ndjson", "notes", "--to", "markdown"], setup=()),
    Case("copy", ["copy", "work.part1", "other"], ignored=("id",)),
    Case("delete", ["delete", *IDS[:5]], codes=(0, 2)),
    Case("delete-tree", ["delete-tree", "work.part1"]),
    Case("demo", ["demo", "sample"], setup=()),
    Case("demo --remove", ["demo", "sample", "--remove"], setup=(["demo", "sample"],), codes=(0, 2)),
    Case("doctor --fix", ["doctor", "--fix"]),
    Case("doctor --salvage", ["doctor", "--salvage", "new.db"], codes=(0, 2)),
    Case("edit", ["edit", IDS[3]]),
    Case("embed", ["embed", "--again"]),
    Case("entity", ["entity", "add", "Ada", "--type", "person"]),
    Case("export agentos-sqlite", ["export", "brain.sqlite", "--format", "agentos-sqlite"], codes=(0, 2)),
    Case("export csv", ["export", "out.csv"], codes=(0, 2)),
    Case("export json", ["export", "out.json", "--force"], setup=(*BASE, ["export", "out.json"])),
    Case("export markdown", ["export", "notes", "--format", "markdown"]),
    Case(
        "export ndjson with a sidecar",
        ["export", "out.ndjson"],
        setup=(*BASE, ["entity", "add", "Ada", "--type", "person"]),
        codes=(0, 2),
    ),
    Case("export obsidian", ["export", "vault2", "--format", "obsidian"]),
    Case(
        "export obsidian again",
        ["export", "v", "--format", "obsidian"],
        setup=(
            *BASE,
            ["export", "v", "--format", "obsidian"],
            ["delete", IDS[1]],
            ["update", IDS[2], "--content", "new"],
        ),
    ),
    Case("export repo", ["export", ".", "--format", "repo"], start=repository, skip=(".git", "index")),
    Case("export sqlite", ["export", "out.db", "--format", "sqlite"], codes=(0, 2)),
    Case("identity", ["identity", "set", "--text", "I am a test"]),
    Case("import", ["import", "many.ndjson"]),
    Case("import a folder", ["import", "vault"], setup=()),
    Case("import and prune", ["import", "later/vault", "--prune"], setup=(["import", "vault"],)),
    Case(
        "import a store",
        ["import", "copy.db"],
        setup=(*BASE, ["backup", "copy.db"], ["delete", IDS[3]], ["update", IDS[5], "--content", "new"]),
    ),
    Case("import and merge", ["import", "later.ndjson", "--conflict", "merge"]),
    Case("import csv", ["import", "rows.csv"], ignored=("id",)),
    Case("import into a new store", ["import", "many.ndjson"], setup=()),
    Case("import mcp-graph", ["import", "graph.jsonl"]),
    Case("link", ["link", IDS[4], "supports", IDS[5]]),
    Case("mcp install", ["mcp", "install", "claude-code"], setup=()),
    Case("mcp uninstall", ["mcp", "uninstall", "cursor"], setup=(["mcp", "install", "cursor"],)),
    Case("migrate version 1", ["add", "x", "--id", NOBODY], setup=(), start=version(1), codes=(0, 2)),
    Case("migrate version 2", ["add", "x", "--id", NOBODY], setup=(), start=version(2), codes=(0, 2)),
    Case("migrate version 3", ["add", "x", "--id", NOBODY], setup=(), start=version(3), codes=(0, 2)),
    Case("migrate version 4", ["list"], setup=(), start=version(4)),
    Case("migrate version 5", ["add", "x", "--id", NOBODY], setup=(), start=version(5), codes=(0, 2)),
    Case("migrate version 6", ["add", "x", "--id", NOBODY], setup=(), start=version(6), codes=(0, 2)),
    Case("migrate version 7", ["add", "x", "--id", NOBODY], setup=(), start=version(7), codes=(0, 2)),
    Case("move", ["move", "work.part1", "done.part1"]),
    Case(
        "repo add",
        ["repo", "add", "decision", "One more", "--body", "Reason.", "--affects", "decision.decision-1"],
        setup=_REPO,
        start=repository,
    ),
    Case(
        "repo close",
        ["repo", "close", "who", "--answer", "decision.decision-1"],
        setup=(*_REPO, ["repo", "add", "question", "Who", "--body", "Nobody knows."]),
        start=repository,
    ),
    # An edit without changes takes no lock, so the lock of a killed process stays until the next save.
    Case(
        "repo edit",
        ["repo", "edit", "decision.decision-1"],
        setup=_REPO,
        start=repository,
        skip=(".git", "index", ".lock"),
    ),
    Case("repo init", ["repo", "init"], setup=(), start=repository),
    Case(
        "repo map",
        ["repo", "map", "--readme"],
        setup=_REPO,
        start=with_readme,
        skip=(".git", "index", ".lock"),
    ),
    Case("repo projects", ["repo", "projects", "remove", "."], setup=_REPO, start=repository, codes=(0, 1, 2, 3)),
    Case("repo rebuild", ["repo", "rebuild"], setup=_REPO, start=repository, skip=(".git", "index", "events.jsonl")),
    Case(
        "repo reset",
        ["repo", "reset"],
        setup=_REPO,
        start=repository,
        codes=(0, 1, 2, 3),
        skip=(".git", "index", ".backup"),
    ),
    Case(
        "repo restore",
        ["repo", "restore"],
        setup=(*_REPO, ["repo", "reset"]),
        start=repository,
        codes=(0, 1, 2, 3),
        skip=(".git", "index", ".backup"),
    ),
    # If the node is gone, the second run changes nothing: it takes no lock and registers no project.
    Case(
        "repo rm",
        ["repo", "rm", "decision.decision-1", "--yes"],
        setup=_REPO,
        start=repository,
        codes=(0, 1),
        skip=(".git", "index", ".lock", "projects"),
    ),
    Case("repo save", ["repo", "save", "--stdin"], setup=(["repo", "init"],), start=repository, stdin=SAVE),
    Case(
        "repo supersede",
        ["repo", "supersede", "decision.decision-0", "decision.decision-1"],
        setup=_REPO,
        start=repository,
    ),
    Case("repo sync", ["repo", "sync"], setup=_REPO, start=repository),
    Case("repo sync --adopt", ["repo", "sync", "--adopt"], setup=_REPO, start=with_edited_nodes),
    Case("restore", ["restore", "copy.db", "--force"], setup=(*BASE, ["backup", "copy.db"], ["delete", *IDS[:9]])),
    Case(
        "restore to nothing",
        ["--store", "new.db", "restore", "copy.db"],
        setup=(*BASE, ["backup", "copy.db"]),
        codes=(0, 1, 2, 3),
    ),
    Case("scope", ["scope", "sensitive", "user"]),
    Case("supersede", ["supersede", IDS[1], IDS[2]]),
    Case("sync", ["sync", "memories.json"]),
    Case(
        "sync with a file of another machine",
        ["sync", "memories.json"],
        setup=(
            *BASE,
            ["--store", "other.db", "import", "later.ndjson"],
            ["--store", "other.db", "sync", "memories.json"],
            ["delete", IDS[7]],
        ),
    ),
    Case("sync export", ["sync", "export", "--out=memories.json"]),
    Case(
        "sync import",
        ["sync", "import", "--from=memories.json"],
        setup=(
            *BASE,
            ["sync", "export", "--out=memories.json"],
            ["update", IDS[6], "--content", "new"],
            ["delete", IDS[7]],
        ),
    ),
    Case(
        "tags rename",
        ["tags", "rename", "x", "y"],
        setup=(*BASE, ["update", *IDS[:30], "--add-tag", "x"]),
        codes=(0, 2),
    ),
    Case("undelete", ["undelete", IDS[2]], setup=(*BASE, ["delete", IDS[2]]), codes=(0, 2)),
    Case("undelete a branch", ["undelete", "--tree", "work"], setup=(*BASE, ["delete-tree", "work.part1"])),
    Case("undo", ["undo", "last"], setup=(*BASE, ["import", "many.ndjson"])),
    Case("undo a deletion", ["undo", OPERATION], setup=(*BASE, ["delete", *IDS[:5]])),
    Case(
        "undo a large move",
        ["undo", OPERATION],
        setup=(["import", "many.ndjson"], ["move", "work", "done"]),
    ),
    Case("undo a supersession", ["undo", OPERATION], setup=(*BASE, ["supersede", IDS[1], IDS[2]])),
    Case("undo an addition", ["undo", OPERATION], setup=(*BASE, ["add", "x", "--id", NOBODY])),
    Case("unlink", ["unlink", IDS[0], "supports", IDS[1]], codes=(0, 2)),
    Case("update", ["update", IDS[0], "--content", "New text"]),
    Case("update --where", ["update", "--where", "tree:work", "--add-tag", "x", "--yes"]),
)
READING = {
    "config get", "config path",
    "audit", "chain", "completion", "diff", "entities", "formats", "get", "help", "history", "imports", "list",
    "relations", "search", "serve", "stats", "tags", "tree", "verify", "repo check", "repo diff", "repo inspect",
    "repo list", "repo query", "repo status", "repo view", "mcp tools", "mcp token", "sync diff-with-remote",
}  # fmt: skip
"""Commands that write nothing, or no more than a cache."""
