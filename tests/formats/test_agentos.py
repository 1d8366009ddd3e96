"""AgentOS's files, as its page describes them and as its program writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from memglot import Memory
from memglot.errors import UsageError

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures" / "agentos"
needs_fixtures = pytest.mark.skipif(not FIXTURES.exists(), reason="the fixtures are not here")
KEYS = "id type scope content strength tags emotions metadata createdAt lastAccessed retrievalCount".split()


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:") as memory:
        yield memory


def lines(memory: Memory, **options: Any) -> list[dict[str, Any]]:
    content = memory.export(format="agentos-json", **options).content
    assert content is not None
    return [json.loads(line) for line in content.splitlines()]


def test_a_line_has_the_keys_of_the_page(memory: Memory) -> None:
    memory.add("User prefers tea", kind="semantic", scope="user:7", tags=["a"], meta={"k": 1})
    (line,) = lines(memory, plain=True)
    assert list(line) == KEYS
    assert line["metadata"]["contentHash"] == sha256(b"User prefers tea").hexdigest()
    assert line["metadata"]["contentHash"] == line["metadata"]["import_hash"] == line["metadata"]["content_hash"]
    assert (line["scope"], line["metadata"]["scopeId"], line["metadata"]["k"]) == ("user", "7", 1)
    assert isinstance(line["createdAt"], int)


def test_hashes_are_not_kept_as_metadata(memory: Memory) -> None:
    text = b'{"id":"mt_1","content":"x","createdAt":1,"metadata":{"contentHash":"wrong","import_hash":"w","k":1}}'
    memory.import_from(text, format="agentos-json")
    (record,) = memory.list()
    assert record.meta == {"k": 1}
    assert lines(memory)[0]["metadata"]["contentHash"] != "wrong"


@pytest.mark.parametrize("value", ["1.7e308", "1e300", '"1.7e308"', f'"{"9" * 5_000}"', "1" + "0" * 400, "NaN"])
@pytest.mark.parametrize("key", ["createdAt", "lastAccessed", "strength", "retrievalCount"])
def test_a_number_beyond_all_bounds_fails_only_its_trace(memory: Memory, key: str, value: str) -> None:
    row = f'{{"id":"mt_1","content":"a","type":"semantic","{key}":{value}}}'
    good = '{"id":"mt_2","content":"b","type":"semantic"}'
    for text in (f"{row}\n{good}\n", f'{{"traces":[{row},{good}]}}'):
        result = memory.import_from(text.encode(), format="agentos-json", dedup=False, allow_duplicates=True)
        assert "b" in [record.content for record in memory.list()]
        assert all(len(fault.error) < 300 for fault in result.errors)
        if key in ("createdAt", "lastAccessed"):
            assert result.failed == 1


def test_one_content_in_other_types_and_scopes_is_three_memories(memory: Memory) -> None:
    rows = [("semantic", "user"), ("episodic", "user"), ("semantic", "thread"), ("semantic", "user")]
    text = "\n".join(json.dumps({"content": "same", "type": kind, "scope": it, "createdAt": 1}) for kind, it in rows)
    result = memory.import_from(text.encode(), format="agentos-json")
    assert (result.imported, result.skipped, list(result.errors)) == (3, 1, [])
    again = memory.import_from(text.encode(), format="agentos-json")
    assert (again.imported, again.skipped, again.import_id) == (0, 4, None)
    twice = memory.import_from(text.encode(), format="agentos-json", dedup=False)
    assert twice.imported == 4


def test_a_deleted_trace_does_not_block_a_new_one(memory: Memory) -> None:
    gone = b'{"traces":[{"id":"mt_1","content":"x","deleted":1,"created_at":1}]}'
    assert memory.import_from(gone, format="agentos-json").imported == 1
    assert list(memory.list()) == []
    assert memory.import_from(b'{"id":"mt_2","content":"x","createdAt":1}', format="agentos-json").imported == 1
    assert [record.content for record in memory.list()] == ["x"]


def test_a_dialect_that_a_format_does_not_have_is_refused(memory: Memory) -> None:
    with pytest.raises(UsageError, match="no dialect `program`"):
        memory.export(format="ndjson", dialect="program")


def test_format_names_shared_by_two_tools_accept_both_forms(memory: Memory, tmp_path: Path) -> None:
    result = memory.import_from(b'{"id":"mt_1","content":"x","createdAt":1}', format="json")
    assert result.format == "agentos-json" and "agentos-json" in result.notes[0]
    note = tmp_path / "n.md"
    note.write_text("---\nid: mt_2\ntype: semantic\nscope: user\n---\ny\n", encoding="utf-8")
    assert memory.import_from(note, format="markdown").format == "agentos-markdown"


def test_front_matter_in_javascript_is_text(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "n.md").write_text("---js\nprocess.exit(1)\n---\nbody\n", encoding="utf-8")
    memory.import_from(tmp_path / "n.md", format="agentos-markdown")
    (record,) = memory.list()
    assert record.content == "---js\nprocess.exit(1)\n---\nbody"


@needs_fixtures
@pytest.mark.parametrize("name", ["json/memories.json", "sqlite/brain.sqlite"])
def test_files_of_the_program_survive_a_round_trip_as_values(name: str, memory: Memory, tmp_path: Path) -> None:
    result = memory.import_from(FIXTURES / name)
    assert (result.imported, result.failed, memory.count()) == (34, 0, 32)
    memory.export(tmp_path / "memories.json", format="agentos-json", dialect="program", include_embeddings=True)
    ours = json.loads((tmp_path / "memories.json").read_text(encoding="utf-8"))
    theirs = json.loads((FIXTURES / "json" / "memories.json").read_text(encoding="utf-8"))
    for section in ("traces", "documents", "chunks", "images", "conversations", "messages", "nodes", "edges"):
        assert {row["id"] for row in ours[section]} == {row["id"] for row in theirs[section]}, section
    found = {row["id"]: row for row in ours["traces"]}
    for row in theirs["traces"]:
        other = found[row["id"]]
        same = ("type", "scope", "content", "strength", "created_at", "last_accessed", "retrieval_count", "deleted")
        assert [row[key] for key in same] == [other[key] for key in same]
        for key in ("tags", "emotions", "metadata"):
            value = json.loads(other[key])
            value.pop("memglot", None) if key == "metadata" else None
            assert json.loads(row[key]) == value


@needs_fixtures
def test_files_in_the_pages_shapes_are_read(memory: Memory) -> None:
    page = FIXTURES / "page-style"
    assert memory.import_from(page / "array.json").imported == 1
    again = memory.import_from(page / "ndjson.json", page / "traces-camel.json")
    assert (again.imported, again.skipped + again.merged, again.failed) == (1, 2, 0)
    notes = memory.import_from(page / "markdown", format="agentos-markdown")
    assert {Path(fault.source).name for fault in notes.errors} == {"badyaml.md", "empty.md"}
    kinds = {record.content: record.kind for record in memory.list()}
    assert kinds["No front matter here, in semantic folder"] == "semantic"
    assert "upper case extension" in kinds and "other extension" in kinds
    (odd,) = (record for record in memory.list() if record.content == "String tags")
    assert (odd.tags, odd.strength, odd.meta["custom"]) == (["one", "two"], 0.5, "keepme")


@pytest.mark.parametrize("dialect", [None, "program"])
def test_empty_and_repeated_tags_survive_a_round_trip(dialect: str | None, memory: Memory, tmp_path: Path) -> None:
    tags = {"mt_1": ["dup", "dup", "b"], "mt_2": [""], "mt_3": ["", "a", ""], "mt_4": ["a"]}
    source = tmp_path / "in.json"
    source.write_bytes("\n".join(json.dumps({"id": id, "content": id, "tags": tags[id]}) for id in tags).encode())
    memory.import_from(source, format="agentos-json")
    assert sorted(record.tags for record in memory.list()) == [[], ["a"], ["a"], ["dup", "b"]]
    for target in (tmp_path / "1.json", tmp_path / "2.json"):
        memory.export(target, format="agentos-json", dialect=dialect)
        memory = Memory.open(":memory:")
        memory.import_from(target, format="agentos-json")
        text = target.read_bytes()
        found = json.loads(text)["traces"] if dialect else list(map(json.loads, text.splitlines()))
        decode = json.loads if dialect else list
        assert {trace["id"]: decode(trace["tags"]) for trace in found} == tags
    record = next(record for record in memory.list() if "dup" in record.tags)
    memory.update(record.id, tags=["dup", "b", "c"])
    memory.export(tmp_path / "3.json", format="agentos-json")
    assert b'"tags":["dup","b","c"]' in (tmp_path / "3.json").read_bytes()
    memory.close()


@pytest.mark.parametrize(
    ("time", "exact"),
    [
        (1760000002000, True),
        (1760000002000.125, True),
        ("2025-10-09T08:53:22.000125Z", True),
        (1760000002000.1252, False),
        ("1760000002000.1252", False),
        ("2025-10-09T08:53:22.000125200Z", False),
    ],
)
def test_digits_beyond_a_microsecond_are_reported(time: Any, exact: bool, memory: Memory) -> None:
    text = json.dumps({"id": "mt_1", "content": "x", "createdAt": time, "lastAccessed": time}).encode()
    result = memory.import_from(text, format="agentos-json")
    (record,) = memory.list()
    assert record.created_at == record.last_accessed == 1760000002000125 - (125 if time == 1760000002000 else 0)
    fields = {"created_at (digits beyond a microsecond)", "last_accessed (digits beyond a microsecond)"}
    assert {field for field in fields if any(field in note for note in result.notes)} == (set() if exact else fields)


@pytest.mark.parametrize("format", ["agentos-json", "agentos-markdown", "obsidian"])
def test_an_export_that_the_program_misreads_has_a_hint(format: str, memory: Memory, tmp_path: Path) -> None:
    text = b'{"id":"mt_1","content":"x","createdAt":1711234567890}'
    memory.import_from(text, format="agentos-json")
    memory.import_from(text.replace(b"mt_1", b"mt_2").replace(b'"x"', b'"y"'), format="agentos-json")
    notes = memory.export(tmp_path / "default", format=format).notes
    assert len(notes) == 1 and "--dialect program" in notes[0]
    assert memory.export(tmp_path / "program", format=format, dialect="program").notes == []


def test_a_vault_that_is_not_for_agentos_has_no_hint(memory: Memory, tmp_path: Path) -> None:
    memory.add("x")
    assert memory.export(tmp_path / "vault", format="obsidian").notes == []
