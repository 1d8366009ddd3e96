"""Export to files: the store, links, sidecars and existing files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import memglot
from memglot import MemglotError, Memory
from memglot.model import Tombstone


@pytest.mark.parametrize("name", ["s.db", "s.db-wal", "s.db-shm", "s.db-journal"])
def test_an_export_never_overwrites_its_store(tmp_path: Path, name: str) -> None:
    with Memory.open(tmp_path / "s.db") as memory:
        memory.add("kept")
        with pytest.raises(Exception, match="the store itself"):
            memory.export(tmp_path / name, format="json", force=True)
        assert memory.count() == 1


X, Y = (f"0194a000-000{number}-7000-8000-000000000000" for number in (1, 2))


def line(id: str, content: str, **more: Any) -> bytes:
    import msgspec

    return msgspec.json.encode({"id": id, "content": content, **more}) + b"\n"


def test_converting_nothing_does_not_change_the_target(tmp_path: Path) -> None:
    target = tmp_path / "good.json"
    target.write_text("mine")
    assert memglot.convert(tmp_path / "typo.json", target, force=True).exit_code == 2
    assert target.read_text() == "mine"


def test_users_may_use_our_key_names_in_json(tmp_path: Path) -> None:
    text = line(X, "x", memglot={"mine": 1}, created_at="2020-01-01T00:00:00Z")
    (tmp_path / "a.ndjson").write_bytes(text)
    memglot.convert(tmp_path / "a.ndjson", tmp_path / "a.md")
    memglot.convert(tmp_path / "a.md", tmp_path / "b.ndjson", plain=True)
    assert b'"memglot":{"mine":1}' in (tmp_path / "b.ndjson").read_bytes()
    (tmp_path / "c.md").write_text(
        "---\nmemglot: hello\ncontent: x\nmeta: {memglot: {extra: {memory-engine: x}}}\n---\nbody"
    )
    with Memory.open(":memory:") as memory:
        memory.import_from(tmp_path / "c.md")
        assert next(memory.list()).extra["memory-engine"] == {"memglot": "hello", "content": "x"}


def test_a_sidecar_belongs_to_its_file(memory: Memory, tmp_path: Path) -> None:
    memory.add("a", id=X)
    memory.add("b")
    memory.delete(X)
    path, beside = tmp_path / "q.json", tmp_path / "q.json.memglot"
    beside.write_text("mine")
    with pytest.raises(MemglotError, match="exists"):
        memory.export(path)
    assert beside.read_text() == "mine"
    beside.unlink()
    memory.export(path)
    beside.unlink()
    assert memglot.verify(path).problems == ["q.json.memglot is missing"]
    memory.export(tmp_path / "p.json", plain=True)
    assert not (tmp_path / "p.json.memglot").exists()


def test_sidecars_of_earlier_versions_are_read_and_replaced(memory: Memory, tmp_path: Path) -> None:
    memory.add("a", id=X)
    memory.add("b")
    memory.delete(X)
    path, beside = tmp_path / "q.json", tmp_path / "q.json.memglot"
    old = tmp_path / "q.json.memglot.ndjson"
    memory.export(path)
    beside.rename(old)
    assert memglot.verify(path).ok
    for given in (path, tmp_path):
        with Memory.open(":memory:") as other:
            result = other.import_from(given)
            assert (result.imported, other.store.things.count(Tombstone), result.notes) == (1, 1, [])
    with pytest.raises(MemglotError, match="exists"):
        memory.export(path)
    path.unlink()
    with pytest.raises(MemglotError, match="exists"):
        memory.export(path)
    memory.export(path, force=True)
    assert beside.exists() and not old.exists()


def test_other_tools_do_not_read_the_sidecar_in_a_folder(memory: Memory, tmp_path: Path) -> None:
    """Memory Engine imports every file of a folder with one of these endings, unless its name begins with a dot."""
    memory.add("a", id=X)
    memory.add("b", id=Y)
    memory.delete(X)
    for format, name in (("json", "a.json"), ("ndjson", "a.ndjson"), ("yaml", "a.yaml"), ("markdown", "notes")):
        memory.export(tmp_path / name, format=format)
    endings = {".md", ".markdown", ".yaml", ".yml", ".json", ".ndjson", ".jsonl"}
    found = [path for path in tmp_path.rglob("*") if path.suffix in endings and not path.name.startswith(".")]
    assert sorted(path.name for path in found) == [f"{Y}.md", "a.json", "a.ndjson", "a.yaml"]
    assert (tmp_path / "a.yaml.memglot").exists()


def test_a_link_stays_a_link(memory: Memory, tmp_path: Path) -> None:
    memory.add("a")
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    memory.export(tmp_path / "link.json", force=True)
    assert (tmp_path / "link.json").is_symlink() and "old" not in (tmp_path / "real.json").read_text()


def test_verify_finds_an_outdated_sidecar(memory: Memory, tmp_path: Path) -> None:
    memory.add("x", id=X)
    memory.add("y", id=Y)
    memory.delete(X)
    path, beside = tmp_path / "v.json", tmp_path / "v.json.memglot"
    memory.export(path)
    old = beside.read_bytes()
    memory.add("z")
    memory.delete(Y)
    memory.export(path, force=True)
    beside.write_bytes(old)
    assert not memglot.verify(path).ok
