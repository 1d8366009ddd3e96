"""Measure project memory with 1,000 and 10,000 nodes against a bare script that reads every file of the store once.

Times are CPU times of the complete process including start-up and git, best of three alternating runs. Run it with
`make bench-repo`.
"""

from __future__ import annotations

import json
import os
import platform
import random
import subprocess
import tempfile
import time
from pathlib import Path

from core import Cost, compare, python, run
from records import words

MEMGLOT = Path(__file__).parents[1] / ".venv/bin/memglot"
_READ = """
import json, sys
from pathlib import Path
for path in Path(sys.argv[1]).rglob("*"):
    if path.suffix == ".json":
        json.loads(path.read_bytes())
    elif path.suffix == ".md":
        path.read_text()
"""


def main() -> None:
    """Measure and print a table."""
    with tempfile.TemporaryDirectory() as name:
        os.environ["MEMORY_HOME"] = str(Path(name) / "home")
        print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
        print("| what | bare, s | memglot, s | ratio | peak, MiB |\n|---|---|---|---|---|")
        for count in (1_000, 10_000):
            commands(store(Path(name) / f"of-{count}", count), count)


def store(root: Path, count: int) -> Path:
    """Make a repository with a committed project memory: files, nodes with anchors and relations, one sync."""
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for number in range(count):
        path = root / f"src/part{number % 97}/file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"x = {number}\n")
    run_here(root, "init")
    source = random.Random(7)
    vocabulary = words(source, 2_000)
    for start in range(0, count, 500):
        nodes = [node(number, source, vocabulary) for number in range(start, min(start + 500, count))]
        run_here(root, "save", "--stdin", stdin={"task": "fill", "nodes": nodes})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all")
    run_here(root, "sync")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "synced")
    # Recently written files are read again, because their times may not show another change.
    time.sleep(3)
    run_here(root, "status")
    return root


def node(number: int, source: random.Random, vocabulary: list[str]) -> dict[str, object]:
    """Return a node of about fifty words."""
    kind = ("feature", "decision", "gotcha", "question")[number % 4]
    related = [{"predicate": "related_to", "to": f"{kind}.n{number - 4}"}] if number >= 4 else []
    found: dict[str, object] = {
        "id": f"{kind}.n{number}", "kind": kind, "title": " ".join(source.choices(vocabulary, k=5)),
        "body": " ".join(source.choices(vocabulary, k=50)) + ".", "tags": [source.choice(vocabulary)],
        "anchors": [f"src/part{number % 97}/file{number}.py", f"src/part{number % 97}/"], "related": related,
    }  # fmt: skip
    return found | ({"stage": "shipped"} if kind == "feature" else {})


def commands(root: Path, count: int) -> None:
    """Measure a save, a query, a status and a sync."""
    numbers = iter(range(1_000))
    source = random.Random(8)
    vocabulary = words(random.Random(7), 2_000)

    def bare() -> Cost:
        return python("-c", _READ, root / ".memory")

    def saving() -> Cost:
        value = {"task": "t", "nodes": [{"kind": "gotcha", "title": f"New {next(numbers)}", "body": "Something new."}]}
        path = root.parent / "input.json"
        path.write_text(json.dumps(value))
        return run("/bin/sh", "-c", f'cd "{root}" && "{MEMGLOT}" repo save --stdin < "{path}"')

    def command(*arguments: str) -> Cost:
        return run("/bin/sh", "-c", f'cd "{root}" && "{MEMGLOT}" repo {" ".join(arguments)}')

    compare(f"save into {count:,} nodes", bare, saving)
    compare(f"query {count:,} nodes", bare, lambda: command("query", f"'{' '.join(source.choices(vocabulary, k=3))}'"))
    compare(f"status of {count:,} nodes", bare, lambda: command("status"))
    compare(f"sync of {count:,} nodes", bare, lambda: command("sync"))


def run_here(root: Path, *arguments: str, stdin: object = None) -> None:
    """Run a command of project memory."""
    text = None if stdin is None else json.dumps(stdin).encode()
    subprocess.run([MEMGLOT, "repo", *arguments], cwd=root, input=text, check=True, capture_output=True)


def git(root: Path, *arguments: str) -> None:
    """Run git with a fixed author."""
    identity = ("-c", "user.name=T", "-c", "user.email=t@e.x", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


if __name__ == "__main__":
    main()
