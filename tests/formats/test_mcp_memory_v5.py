"""mcp-memory-service's JSON: every memory arrives there, and every value comes back as it was."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from conftest import SHARED
from memglot import Memory
from memglot.formats.memoryd.tool_keys import service_id
from service_databases import hash_of

FIXTURES = [
    *sorted((SHARED / "fixtures/mcp-memory-service").glob("*.json")),
    *sorted((SHARED / "fixtures/mcp-memory-service-db").glob("*.json")),
]
TEXTS = ["Tea is hot", "tea IS hot ", "Tea is hot", "Other"]


def rows(memory: Memory, path: Path, **options: Any) -> list[dict[str, Any]]:
    memory.export(path, format="mcp-memory-v5", force=True, **options)
    found: list[dict[str, Any]] = json.loads(path.read_bytes())["memories"]
    return found


def hashes(found: list[dict[str, Any]]) -> list[Any]:
    return [row["content_hash"] for row in found]


def row(content: str, hash: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "content": content,
        "content_hash": hash if hash is not None else hash_of(content),
        "tags": [],
        "created_at": 1_700_000_000.5,
        "updated_at": 1_700_000_000.5,
        "memory_type": "note",
        "metadata": {},
        "export_source": "mill",
        **more,
    }


def put(path: Path, *given: dict[str, Any]) -> Path:
    head = {"source_machine": "mill", "exporter_version": "5.0.1"}
    path.write_text(json.dumps({"export_metadata": head, "memories": given}, ensure_ascii=False), encoding="utf-8")
    return path


def add(memory: Memory, *texts: str) -> None:
    for number, text in enumerate(texts):
        memory.add(text, id=f"0194a000-0000-7000-8000-{number:012}")


# Hashes


def test_equal_texts_get_hashes_of_their_own(memory: Memory, tmp_path: Path) -> None:
    """The service keeps one memory for each hash, whatever the case of its text."""
    add(memory, *TEXTS)
    found = rows(memory, tmp_path / "out.json")
    assert [row["content"] for row in found] == TEXTS
    assert len(set(hashes(found))) == len(TEXTS)
    assert hashes(found)[0] == hash_of("Tea is hot")
    id = "0194a000-0000-7000-8000-000000000001"
    assert hashes(found)[1] == sha256(f"{hash_of('Tea is hot')}\0{id}".encode()).hexdigest()
    assert hashes(rows(memory, tmp_path / "again.json")) == hashes(found)
    with Memory.open(str(tmp_path / "other.db")) as other:
        assert other.import_from(tmp_path / "out.json").imported == len(TEXTS)
        assert hashes(rows(other, tmp_path / "other.json")) == hashes(found)
        assert other.import_from(tmp_path / "again.json").imported == 0


def test_equal_texts_in_plain_files(memory: Memory, tmp_path: Path) -> None:
    """A plain file has no ids, so the hashes that it gave are the ids from then on."""
    add(memory, *TEXTS)
    found = rows(memory, tmp_path / "out.json", plain=True)
    with Memory.open(str(tmp_path / "other.db")) as other:
        assert other.import_from(tmp_path / "out.json").imported == len(TEXTS)
        assert {record.id for record in other.list()} == {service_id(hash) for hash in hashes(found)}
        again = rows(other, tmp_path / "again.json", plain=True)
        assert sorted(hashes(again)) == sorted(hashes(found))
        assert other.import_from(tmp_path / "again.json").imported == 0
        # Both stores in one: the hashes that were read stay, and the others get new ones.
        memory.import_from(tmp_path / "out.json")
        both = rows(memory, tmp_path / "both.json", plain=True)
        assert len(set(hashes(both))) == 2 * len(TEXTS)
        assert set(hashes(found)) <= set(hashes(both))


@pytest.mark.parametrize("first", [True, False])
def test_read_hashes_stay(memory: Memory, tmp_path: Path, first: bool) -> None:
    given = put(tmp_path / "in.json", row("Tea is hot"), row("Tea is hot", "ffff"), row("Number", 5))
    if first:
        memory.import_from(given)
    add(memory, "tea is HOT", "x" * 2_000_000)
    if not first:
        memory.import_from(given)
    found = rows(memory, tmp_path / "out.json")
    by_text = {(row["content"], str(row["content_hash"])) for row in found}
    assert {("Tea is hot", hash_of("Tea is hot")), ("Tea is hot", "ffff"), ("Number", "5")} <= by_text
    assert len({str(hash) for hash in hashes(found)}) == 5
    (own,) = [row for row in found if row["content"] == "tea is HOT"]
    seed = f"{hash_of('Tea is hot')}\0{own['metadata']['memglot']['id']}"
    assert own["content_hash"] == sha256(seed.encode()).hexdigest()


# Values


EXACT: list[dict[str, Any]] = [
    {"memory_type": ""},
    {"memory_type": None},
    {"created_at": 0.0, "updated_at": 1_700_000_000.5},
    {"created_at": 1_700_000_000.1234567, "updated_at": 1_700_000_001.7654321},
    {"created_at": 0.0, "updated_at": 0.0},
    {"created_at": -86_400.5, "updated_at": 5.0},
    {"tags": ["dup", "dup", "DUP", "a"]},
    {"tags": ["dup", "dup"], "created_at": 0.0, "memory_type": ""},
]


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("more", EXACT)
def test_values_come_back_exactly(memory: Memory, tmp_path: Path, more: dict[str, Any], plain: bool) -> None:
    given = row("Tea is hot", **more)
    memory.import_from(put(tmp_path / "in.json", given))
    (found,) = rows(memory, tmp_path / "out.json", plain=plain)
    found["metadata"].pop("memglot", None)
    if not (given["created_at"] or given["updated_at"]):
        # Without any time, a memory has that of its import.
        del found["created_at"], found["updated_at"], given["created_at"], given["updated_at"]
    assert found == given
    before = list(memory.list())
    again = memory.import_from(tmp_path / "out.json")
    assert (again.imported, again.conflicts) == (0, 0)
    assert list(memory.list()) == before


def test_changed_values_are_written(memory: Memory, tmp_path: Path) -> None:
    times = {"created_at": 0.0, "updated_at": 1_700_000_000.1234567}
    memory.import_from(put(tmp_path / "in.json", row("Tea is hot", tags=["dup", "dup"], memory_type="", **times)))
    (record,) = memory.list()
    edited = memory.update(record.id, tags=["dup", "new"], kind="decision")
    (found,) = rows(memory, tmp_path / "out.json")
    assert (found["tags"], found["memory_type"]) == (["dup", "new"], "decision")
    assert found["updated_at"] == edited.updated_at / 1_000_000
    assert found["created_at"] == edited.created_at / 1_000_000


def test_creation_at_0_survives_an_edit_in_the_service(memory: Memory, tmp_path: Path) -> None:
    memory.import_from(put(tmp_path / "in.json", row("Tea is hot", created_at=0.0, updated_at=1_700_000_000.5)))
    (found,) = rows(memory, tmp_path / "out.json")
    found["updated_at"] = 1_800_000_000.0
    with Memory.open(str(tmp_path / "other.db")) as other:
        other.import_from(put(tmp_path / "edited.json", found))
        (record,) = other.list()
        assert record.created_at == 1_700_000_000_500_000


@pytest.mark.skipif(not FIXTURES, reason="needs the shared fixtures")
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_exports_of_the_real_service_come_back_exactly(memory: Memory, tmp_path: Path, path: Path) -> None:
    """All rows but those that are refused: no text, or NUL in it."""
    memory.import_from(path)
    given = {row["content_hash"]: row for row in json.loads(path.read_bytes())["memories"]}
    found = {row["content_hash"]: row for row in rows(memory, tmp_path / "out.json")}
    assert len(found) >= len(given) - 3
    for hash, one in found.items():
        # A key of that name in the metadata of a user is inside our slot.
        for either in (one, given[hash]):
            either["metadata"].pop("memglot", None)
        assert one == given[hash]
