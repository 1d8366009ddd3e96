"""An import reports the local edits that it replaces with later ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memglot import Memory

ID = "0194a000-0001-7000-8000-000000000001"
LATER = 4_102_444_800_000_000
"""The year 2100."""


def version(content: str, at: int = LATER, **meta: object) -> bytes:
    slot = {"updated_at": at}
    return json.dumps({"id": ID, "content": content, "meta": {**meta, "memglot": slot}}).encode()


@pytest.fixture
def stored(memory: Memory) -> Memory:
    memory.import_from(b'{"id":"%s","content":"one"}' % ID.encode(), format="ndjson")
    return memory


def merge(memory: Memory, data: bytes) -> list[str]:
    result = memory.import_from(data, format="ndjson", conflict="merge")
    assert result.merged == 1
    return list(result.replaced_edits)


def test_a_later_edit_elsewhere_replaces_a_local_one(stored: Memory) -> None:
    stored.update(ID, content="edited here")
    assert merge(stored, version("edited there")) == [ID]
    assert stored.get(ID).content == "edited there"


def test_an_unedited_memory_loses_nothing(stored: Memory) -> None:
    assert merge(stored, version("edited there")) == []


def test_an_edit_that_stays_is_not_reported(stored: Memory) -> None:
    stored.update(ID, title="kept", tags=["here"])
    assert merge(stored, version("edited there")) == []
    record = stored.get(ID)
    assert (record.content, record.title, record.tags) == ("edited there", "kept", ["here"])


def test_an_edit_that_was_exchanged_before_is_not_reported_again(stored: Memory) -> None:
    stored.update(ID, content="edited here")
    merge(stored, version("edited there"))
    later = version("edited there again", LATER + 1)
    assert merge(stored, later) == []


def test_memories_added_here_count_only_if_they_were_edited(memory: Memory) -> None:
    memory.add("one", id=ID)
    assert merge(memory, version("edited there")) == []
    memory.update(ID, meta={"a": 1})
    assert merge(memory, version("edited there", LATER + 1_000_000, a=2)) == [ID]


def test_a_dry_run_reports_them_too(stored: Memory) -> None:
    stored.update(ID, content="edited here")
    result = stored.import_from(version("edited there"), format="ndjson", conflict="merge", dry_run=True)
    assert list(result.replaced_edits) == [ID]


def test_two_laptops(tmp_path: Path) -> None:
    one, other, file = (str(tmp_path / name) for name in ("one.db", "other.db", "memories.json"))
    with Memory.open(one) as first, Memory.open(other) as second:
        first.add("plan", id=ID)
        first.sync_export(file)
        second.sync_import(file)
        first.update(ID, content="plan of the first")
        second.update(ID, content="plan of the second")
        second.sync_export(file, force=True)
        assert list(first.sync_import(file).replaced_edits) == [ID]
        assert first.sync_import(file).value()["replacedEdits"] is not None
