"""mypy accepts the calls that are right, and refuses those that are wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from memglot.arguments import EDITABLE_FIELDS, Edits, Filters
from memglot.store.query import Filter

CALLS = """
from datetime import date, datetime, timezone
from memglot import Edits, Filters, Memory, SyncResult

mem = Memory.open(":memory:")
mem.list(tree="work", tags=["a"], kind=("fact", "note"), since=datetime.now(timezone.utc), limit=3)
mem.count(tags="a", until="7d", updated_since=date(2024, 1, 1), meta={"k": 1}, source="codex")
mem.search("words", tree="work", temporal_within=("2024-01-01", "2024-02-01"), budget=2000)
mem.export("a.json", scope="user", status=None)
mem.tags(tree="work")
mem.update("id", title=None, tags=["a"], temporal=[date(2024, 1, 1)])
mem.update_many(tree="work", changes={"tree": "archive"})
filters: Filters = {"tree": "work", "tags": ["a"]}
mem.list(**filters)
edits: Edits = {"title": "new"}
mem.update("id", **edits)
result: SyncResult = mem.sync("memories.json", dry_run=True)
new: int = result.received.new
mem.list(tre="work")  # refused
mem.count(tag="a")  # refused
mem.search("words", tree=1)  # refused
mem.export("a.json", since_when="7d")  # refused
mem.list(since=1.5)  # refused
mem.update("id", titles="x")  # refused
mem.update("id", strength="high")  # refused
mem.update_many(changes={"tre": "archive"})  # refused
mem.tags(tre="work")  # refused
mem.sync("memories.json", dryrun=True)  # refused
mem.diff_with_remote("memories.json", passfrase="x")  # refused
wrong: Filters = {"tre": "work"}  # refused
"""


def test_mypy_refuses_wrong_arguments(tmp_path: Path) -> None:
    script = tmp_path / "calls.py"
    script.write_text(CALLS)
    options = ["--strict", "--no-error-summary", "--hide-error-context", f"--cache-dir={tmp_path / 'cache'}"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": "", "MYPYPATH": str(Path(__file__).parents[1] / "src")},
    )
    found = {int(number) for number in re.findall(r"^calls\.py:(\d+): error:", done.stdout, re.MULTILINE)}
    expected = {number for number, line in enumerate(CALLS.splitlines(), 1) if line.endswith("# refused")}
    assert found == expected, done.stdout + done.stderr


def test_the_types_name_every_argument() -> None:
    # The rest of a filter is for the store itself.
    assert Filters.__annotations__.keys() == set(Filter.__struct_fields__) - {"without_scopes", "also"}
    assert Edits.__annotations__.keys() == set(EDITABLE_FIELDS)
