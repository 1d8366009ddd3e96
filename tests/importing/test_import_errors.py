"""Import broken or interrupted input: an error affects only its own record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memglot import Memory


def test_progress_is_reported_for_invalid_records_too(tmp_path: Path) -> None:
    (tmp_path / "bad.ndjson").write_text('{"content": ""}\n' * 5_000)
    told: list[int] = []
    with Memory.open(tmp_path / "s.db") as memory:
        memory.import_from(tmp_path / "bad.ndjson", progress=lambda progress: told.append(progress.failed))
    assert told == [1_000, 2_000, 3_000, 4_000, 5_000]


X, Y = (f"0194a000-000{number}-7000-8000-000000000000" for number in (1, 2))


def line(id: str, content: str, **more: Any) -> bytes:
    import msgspec

    return msgspec.json.encode({"id": id, "content": content, **more}) + b"\n"


def test_times_outside_of_the_calendar(memory: Memory) -> None:
    far = "ffffffff-ffff-7fff-bfff-ffffffffffff"
    assert memory.import_from(line(far, "far"), format="ndjson").imported == 1
    assert memory.export(format="markdown").count == 1
    for slot in ({"temporal": {"start": 4 * 10**18}}, {"created_at": 2**63}):
        result = memory.import_from(line(X, "x", meta={"memglot": slot}), format="ndjson")
        assert memory.export(format="json").count
        assert result.exit_code == 0
        memory.undo("last")


def test_an_interrupted_import_records_what_was_written(store_path: str) -> None:
    with Memory.open(store_path) as memory:

        def stop(report: Any) -> None:
            raise KeyboardInterrupt

        text = b"".join(line(f"0194a000-0001-7000-8000-{number:012x}", "x") for number in range(2500))
        with pytest.raises(KeyboardInterrupt):
            memory.import_from(text, format="ndjson", progress=stop)
        (entry,) = memory.imports()
        assert (entry.state, entry.imported, entry.format) == ("open", 1000, "ndjson")


def test_a_broken_record_does_not_affect_the_others(memory: Memory) -> None:
    nested = b'{"content":"a","meta":{"l":[{"content":"x"}, {"content":"y"}]},}'
    text = b'[{"content":"first"},' + nested + b',{"content":"third"},{"content":"fourth"}]'
    result = memory.import_from(text, format="json")
    assert [memory.get(id).content for id in result.ids] == ["first", "third", "fourth"]
    assert result.failed == 1
    pretty = b'{\n "content": "1"\n}\n{\n "content": "2"\n\n{\n "content": "3"\n}\n'
    result = memory.import_from(pretty, format="json")
    assert (result.imported, result.failed) == (2, 1)


@pytest.mark.parametrize(
    ("text", "imported", "failed"),
    [
        (b'- content: "a" b\n-\n  content: second\n- content: third\n', 2, 1),
        (b"- content: first\n- @bad\n- content: third\n", 2, 1),
        (b"- @bad\n- content: third\n", 1, 1),
    ],
)
def test_yaml_continues_after_each_kind_of_error(memory: Memory, text: bytes, imported: int, failed: int) -> None:
    result = memory.import_from(text, format="yaml")
    assert (result.imported, result.failed) == (imported, failed)
