"""AgentOS and memglot exchange a brain, and the three kinds of files that AgentOS writes and reads.

`make test-peers` installs the program and runs this; `make test` does not collect it.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest
from loops import CONTENTS, HERE, INSTALLED, Loop, LoopTests, Peer, View, Visible, run

from memglot import Memory

NAME = "mind.sqlite"
_GENERATED = re.compile(r"(\n\n(#\S+( #\S+)*|\*\*Related:\*\*(\n- \[\[.*\]\])+))+\Z")


class Brain(Peer):
    """AgentOS, whose brain file is exchanged itself."""

    format = "agentos-sqlite"
    kinds = ("episodic", "semantic", "procedural")
    can = frozenset({"rewrite", "retag", "forget"})

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.brain = folder / NAME
        super().__init__(folder)

    def operate(self, *operations: tuple[str, dict[str, Any]]) -> Any:
        """Run operations and return their results."""
        script: list[str | Path] = [shutil.which("node") or "node", HERE / "agentos.mjs", INSTALLED, self.brain]
        return run(script, operations, environment={"HOME": str(self.folder)})

    def give(self) -> Path:
        return self.brain

    def target(self) -> Path:
        return self.new_folder() / NAME

    def take(self, path: Path) -> None:
        self.brain = path

    def traces(self) -> list[dict[str, Any]]:
        """Return the traces that were not forgotten."""
        (found,) = self.operate(("view", {}))
        return [trace for trace in found["traces"] if not trace["deleted"]]

    def view(self) -> View:
        traces = self.traces()
        found = {self.text(one): Visible(tuple(json.loads(one["tags"])), one["type"]) for one in traces}
        assert len(found) == len(traces)
        return found

    def text(self, trace: dict[str, Any]) -> str:
        """Return the content of a trace as a person wrote it."""
        return str(trace["content"])

    def id(self, content: str) -> str:
        """Return the id of a trace."""
        (found,) = (trace["id"] for trace in self.traces() if self.text(trace) == content)
        return str(found)

    def remember(self, *contents: str, tags: list[str], kind: str) -> None:
        options = {"tags": tags, "type": kind, "entities": ["Ada"]}
        self.operate(*(("remember", {"content": content, **options}) for content in contents))

    def rewrite(self, content: str, new: str) -> None:
        self.operate(("update", {"traceId": self.id(content), "content": new}))

    def retag(self, content: str, tags: list[str]) -> None:
        self.operate(("update", {"traceId": self.id(content), "tags": tags}))

    def forget(self, content: str) -> None:
        self.operate(("forget", {"traceId": self.id(content)}))

    def use(self) -> None:
        (found, _, _) = self.operate(
            ("recall", {"query": "office build tea"}),
            ("recall", {"query": "staging server"}),
            ("feedback", {"traceId": self.id(CONTENTS[0]), "signal": "used"}),
        )
        assert found


class Exported(Brain):
    """AgentOS, whose exports are exchanged; an import needs a new brain, since AgentOS never updates a trace."""

    written: ClassVar[str]
    """The program's name of the format."""
    dialect = "program"

    def give(self) -> Path:
        path = self.new_folder() / self.file
        self.operate(("export", {"path": str(path), "format": self.written}))
        return path

    @property
    def file(self) -> str:
        return "mind"

    def target(self) -> Path:
        return self.new_folder() / self.file

    def take(self, path: Path) -> None:
        self.brain = self.new_folder() / NAME
        (result,) = self.operate(("import", {"path": str(path), "format": self.written}))
        assert result["errors"] == []


class Json(Exported):
    """AgentOS and its JSON."""

    format, written = "agentos-json", "json"

    @property
    def file(self) -> str:
        return "mind.json"


class Markdown(Exported):
    """AgentOS and its folder of notes."""

    format, written, reports_deletions = "agentos-markdown", "markdown", False


class Obsidian(Exported):
    """AgentOS and its Obsidian vault."""

    format, written, reports_deletions = "obsidian", "obsidian", False

    def text(self, trace: dict[str, Any]) -> str:
        # AgentOS writes tags and links below the content, and reads them as content.
        return _GENERATED.sub("", trace["content"])


@pytest.fixture(params=[Brain, Json, Markdown, Obsidian], ids=lambda kind: kind.format)
def loop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Loop]:
    with Memory.open(tmp_path / "store.db") as memory:
        yield Loop(request.param(tmp_path / "peer"), memory)


class TestLoop(LoopTests):
    """AgentOS in the loop."""


def test_a_brain_keeps_every_row(tmp_path: Path) -> None:
    """The graph, documents and logs of a brain come back, not only its traces."""
    brain = Brain(tmp_path)
    (tmp_path / "guide.md").write_text("# Guide\n\nOpen the valve slowly.\n", encoding="utf-8")
    first, second, _ = brain.operate(
        ("entity", {"label": "Ada", "type": "person", "properties": {"age": 36}}),
        ("entity", {"label": "Parser", "type": "concept"}),
        ("ingest", {"path": str(tmp_path / "guide.md")}),
    )
    brain.operate(("relation", {"sourceId": first, "targetId": second, "type": "works_on", "label": "works on"}))
    brain.use()
    before = rows(brain.brain)
    with Memory.open(tmp_path / "store.db") as memory:
        loop = Loop(brain, memory)
        loop.receive()
        loop.send()
        brain.use()  # The program opens the file and searches it.
        after = rows(brain.brain)
    assert {table: len(found) for table, found in after.items()} == {
        table: len(found) for table, found in before.items()
    }
    assert after["knowledge_edges"] == before["knowledge_edges"]
    assert after["document_chunks"] == before["document_chunks"]


def test_the_program_reads_our_csv(tmp_path: Path) -> None:
    """AgentOS reads CSV but does not write it."""
    brain = Brain(tmp_path / "first")
    with Memory.open(tmp_path / "store.db") as memory:
        memory.import_from(brain.give())
        memory.export(tmp_path / "traces.csv", format="csv", dialect="program")
    there = {trace["content"]: trace for trace in brain.traces()}
    brain.brain = brain.new_folder() / NAME
    (result,) = brain.operate(("import", {"path": str(tmp_path / "traces.csv"), "format": "csv"}))
    assert result["errors"] == []
    found = {trace["content"]: trace for trace in brain.traces()}
    for field in ("id", "type", "scope", "tags", "created_at", "strength"):
        assert {one: trace[field] for one, trace in found.items()} == {
            one: trace[field] for one, trace in there.items()
        }


def rows(path: Path) -> dict[str, list[Any]]:
    """Return the rows of every table of a brain except its index, its settings and our own table."""
    with closing(sqlite3.connect(path)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: sorted(database.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr)
            for name in names
            if not name.startswith(("sqlite_", "memory_traces_fts", "brain_meta", "memglot", "retrieval_feedback"))
        }
