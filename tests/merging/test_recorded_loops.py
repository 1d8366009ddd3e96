"""Files that real programs wrote before and after their users edited memories; `tests/peers/record.py` records them.

The programs do not record when something was edited. `make test-peers` runs the same loops with the programs.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memglot import Memory
from memglot.model import Record, to_builtins
from memglot.store.stream import everything

RECORDED = Path(__file__).parents[1] / "peers" / "recorded"
NAMES = sorted(path.name for path in RECORDED.iterdir())
View = dict[str, tuple[list[str], str]]


class Recording:
    """The recorded files of one program, and a store that imports them."""

    def __init__(self, name: str, folder: Path, memory: Memory) -> None:
        self._source, self._folder, self.memory = RECORDED / name, folder, memory
        self.expect: dict[str, Any] = json.loads((self._source / "expect.json").read_text(encoding="utf-8"))

    @property
    def wanted(self) -> View:
        """The memories after the edits, by content: tags and kind."""
        return {content: (tags, kind) for content, (tags, kind) in self.expect["edited"].items()}

    def receive(self, name: str) -> None:
        """Import a recorded file as the program named it; fail if there is any error or conflict."""
        (source,) = (path for path in self._source.iterdir() if path.stem == name)
        path = self._folder / name / str(self.expect["file"])
        path.parent.mkdir(exist_ok=True)
        if source.suffix == ".sql":
            path.unlink(missing_ok=True)
            with closing(sqlite3.connect(path)) as database:
                database.executescript(source.read_text(encoding="utf-8"))
        else:
            path.write_bytes(source.read_bytes())
        result = self.memory.import_from(path, format=self.expect["format"])
        assert not list(result.errors)
        assert [(one.record, one.field, one.values) for one in self.memory.conflicts()] == []

    def send(self) -> bytes:
        """Export for the program, and return the file."""
        path = self._folder / "sent" / str(self.expect["file"])
        path.parent.mkdir(exist_ok=True)
        self.memory.export(path, format=self.expect["format"], dialect=self.expect["dialect"], force=True)
        return path.read_bytes()

    def view(self) -> View:
        """Return what the store shows, without the tags that the program adds."""
        records = list(self.memory.list())
        found = {record.content: (self._tags(record), record.kind) for record in records}
        assert len(found) == len(records)
        return found

    def _tags(self, record: Record) -> list[str]:
        added = "source:" if self.expect["adds_tags"] else None
        return sorted(tag for tag in record.tags if added is None or not tag.startswith(added))

    def state(self) -> list[str]:
        """Return everything in the store."""
        items = everything(self.memory.store)
        return sorted(f"{type(item).__name__} {json.dumps(to_builtins(item), sort_keys=True)}" for item in items)


@pytest.fixture(params=NAMES)
def recording(request: pytest.FixtureRequest, tmp_path: Path, memory: Memory) -> Iterator[Recording]:
    yield Recording(request.param, tmp_path, memory)


def test_edits_arrive(recording: Recording) -> None:
    recording.receive("before")
    recording.receive("after")
    assert recording.view() == recording.wanted


def test_edits_of_our_export_arrive(recording: Recording) -> None:
    recording.receive("before")
    recording.send()
    recording.receive("returned")
    assert recording.view() == recording.wanted


@pytest.mark.parametrize("name", ["after", "returned"])
def test_the_same_file_again_changes_nothing(recording: Recording, name: str) -> None:
    recording.receive("before")
    recording.send()
    recording.receive(name)
    state, sent = recording.state(), recording.send()
    recording.receive(name)
    assert recording.state() == state
    assert recording.send() == sent


@pytest.mark.parametrize("name", ["after", "returned"])
def test_edits_here_stay(recording: Recording, name: str) -> None:
    """The program's file does not have the edit yet, and its old value is not an edit of the program."""
    recording.receive("before")
    recording.send()
    (id,) = (one.id for one in recording.memory.list() if one.content == recording.expect["edit_here"])
    recording.memory.update(id, content="The staging server is called Cirrus.", tags=["cloud"])
    wanted = recording.wanted
    _, kind = wanted.pop(recording.expect["edit_here"])
    wanted["The staging server is called Cirrus."] = (["cloud"], kind)
    for _ in range(2):
        recording.receive(name)
        assert recording.view() == wanted
    assert b"called Cirrus." in recording.send()


def test_an_older_file_takes_nothing_back(recording: Recording) -> None:
    """A copy of the program's data from before its edits has values that the store already knows."""
    recording.receive("before")
    recording.receive("after")
    recording.receive("before")
    assert recording.view() == recording.wanted
