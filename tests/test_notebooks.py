"""What people see of objects in a shell and in a notebook, and memories as tables of other libraries."""

from __future__ import annotations

import builtins
import json
import sys
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest

import memglot
from memglot import Memory
from memglot.editing.deleted import DeletedMemory
from memglot.editing.history import Version
from memglot.errors import MissingProgram
from memglot.model import Event, Moment, OptionalMoment, Record, Temporal
from memglot.results import record_value
from memglot.store.contract import Import

ID = "0194a000-0001-7000-8000-000000000001"
HOSTILE = '<script>alert("x")</script>\u202e'


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.add("Deploys are frozen on Fridays", id=ID, tree="work.deploys", tags=["rule"], temporal="2024-05-01")
    memory.add(HOSTILE, title=HOSTILE, tags=[HOSTILE], meta={HOSTILE: 1}, strength=0.5)
    return memory


def test_records_and_hits_show_what_they_are(filled: Memory) -> None:
    record = filled.get(ID)
    assert repr(record) == (
        f"Record(id='{ID}', content='Deploys are frozen on Fridays', tree='work.deploys', tags=['rule'], "
        "created='2025-01-26T00:25:42.145Z')"
    )
    assert len(repr(Record(content="x" * 10_000))) < 200
    assert repr(Record(content="خانه\nدو")) == "Record(content='خانه دو')"
    results = filled.search("deploys")
    assert repr(results[0]).startswith(f"Hit(score={results[0].score:.3}".rstrip("0"))
    assert repr(results).splitlines() == [
        "Results(1 of 1)",
        f"  {results[0].score:.2f}  {ID}  Deploys are frozen on Fridays",
    ]
    for number in range(30):
        filled.add(f"deploys {number}")
    assert repr(filled.search("deploys", limit=20)).splitlines()[-1] == "  and 10 more"


def test_results_of_operations_show_their_counts(filled: Memory, tmp_path: Path) -> None:
    result = filled.import_from(b'[{"content": "a"}, {"content": ""}]', format="json")
    assert repr(result).startswith("ImportResult(imported=1, merged=0, skipped=0, failed=1, conflicts=0, import_id='")
    assert repr(filled.export(tmp_path / "out.json")) == (
        f"ExportResult(count=3, format='json', path='{tmp_path}/out.json')"
    )
    result_of_sync = filled.sync(tmp_path)
    assert repr(result_of_sync) == (
        f"SyncResult(path='{tmp_path}/memories.json', received=SideChanges(), sent=SideChanges(new=3), count=3, "
        "is_written=True)"
    )
    assert repr(filled) == "Memory(':memory:', 3 memories)"
    for value in (result, result_of_sync, filled.export(tmp_path / "more.json"), filled.search("deploys")):
        assert json.loads(json.dumps(value.to_dict()))
    assert result.to_dict()["errors"][0]["error"] == "`content` is empty"


def test_a_store_that_cannot_be_asked_still_has_a_repr(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path / "store.db")
    memory.close()
    assert repr(memory) == f"Memory('{tmp_path}/store.db', closed)"
    assert "closed" in memory._repr_html_()
    assert repr(Memory.open_for_dry_run(tmp_path / "none.db")) == "Memory(None, dry run)"


class Tags(HTMLParser):
    """Collects the names of all tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.names.add(tag)


def test_notebooks_show_escaped_tables(filled: Memory, tmp_path: Path) -> None:
    bad = json.dumps([{"content": "", "id": HOSTILE}]).encode()
    shown = [
        *filled.list(),
        *filled.search("script"),
        filled.search("script"),
        filled,
        filled.import_from(bad, format="json"),
        filled.export(tmp_path / "a<b.json"),
        filled.sync(tmp_path),
    ]
    for value in shown:
        page = value._repr_html_()
        parser = Tags()
        parser.feed(page)
        assert parser.names <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}, page
        assert "\u202e" not in page and page.startswith("<table>")
    assert "&lt;script&gt;" in filled.search("script")._repr_html_()


def test_to_dict_is_what_json_shows(filled: Memory) -> None:
    for record in filled.list():
        assert record.to_dict() == record_value(record)
        assert json.loads(json.dumps(record.to_dict())) == record.to_dict()
    assert filled.get(ID).to_dict()["temporal"] == {"start": "2024-05-01T00:00:00Z"}


# Times


NAMES = frozenset("at start end until first_seen last_seen last_accessed".split())


def test_every_stored_time_is_there_as_a_datetime() -> None:
    public = [found for name in memglot.__all__ if isinstance(found := getattr(memglot, name), type)]
    structs = [found for found in public if issubclass(found, msgspec.Struct)]
    for kind in [*structs, Event, Import, DeletedMemory, Version]:
        moments = {value.field for value in vars(kind).values() if isinstance(value, Moment)}
        hints = get_type_hints(kind, vars(sys.modules[kind.__module__]) | {"Version": Version})
        times = {
            name
            for name, hint in hints.items()
            if (
                name.endswith("_at")
                or name in ("at", "start", "end", "until", "first_seen", "last_seen", "last_accessed")
            )
            and hint in (int, int | None)
        }
        assert moments == times, kind
        for value in vars(kind).values():
            if isinstance(value, Moment):
                assert isinstance(value, OptionalMoment) is (hints[value.field] is not int), (kind, value.field)


def test_datetimes_are_exact_and_in_utc(filled: Memory) -> None:
    record = filled.get(ID)
    assert record.created == datetime(2025, 1, 26, 0, 25, 42, 145000, UTC) and record.last_accessed_time is None
    assert record.created + timedelta(microseconds=1) == Record(content="", created_at=record.created_at + 1).created
    assert record.temporal is not None and record.temporal.start_time == datetime(2024, 5, 1, tzinfo=UTC)
    assert record.temporal.end_time is None
    assert Temporal(-62_135_596_800_000_000, 253_402_300_799_999_999).end_time == datetime.max.replace(tzinfo=UTC)
    filled.import_from(b'[{"content": "a"}]', format="json")
    entry = next(filled.imports())
    assert entry.finished is not None and entry.time <= entry.finished
    assert [found.id for found in filled.list(until=record.created + timedelta(seconds=1))] == [ID]
    filled.delete(ID)
    assert filled.deleted()[0][0].deleted.tzinfo is UTC


# Tables


@pytest.mark.parametrize("name", ["pandas", "pyarrow"])
def test_a_missing_library_is_named(filled: Memory, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    for owner in (filled, filled.search("deploys")):
        with pytest.raises(MissingProgram, match=f"`{name}` is not installed") as error:
            owner.to_pandas() if name == "pandas" else owner.to_arrow()
        assert error.value.hint == f"`pip install {name}` installs it"


def test_nothing_imports_them_unasked() -> None:
    assert not hasattr(builtins, "pandas")
    assert {"pandas", "pyarrow"}.isdisjoint(vars(memglot))


def test_pandas(filled: Memory) -> None:
    pytest.importorskip("pandas")
    frame = filled.to_pandas()
    assert len(frame) == 2 and list(frame["id"])[0] == ID and list(frame["tags"])[0] == ["rule"]
    assert str(frame["created_at"].dtype) == str(frame["temporal_end"].dtype) == "datetime64[us, UTC]"
    assert frame["created_at"][0].to_pydatetime() == filled.get(ID).created and frame["temporal_end"].isna().all()
    assert list(frame["content"]) == [record.content for record in filled.list()] and frame["strength"][1] == 0.5
    assert list(filled.to_pandas(tree="work")["id"]) == [ID]
    found = filled.search("deploys").to_pandas()
    assert list(found.columns)[-2:] == ["score", "why"] and found["score"][0] > 0
    empty = filled.to_pandas(tree="nothing")
    assert list(empty.columns) == list(frame.columns) and len(empty) == 0
    assert [str(kind) for kind in empty.dtypes] == [str(kind) for kind in frame.dtypes]
    filled.update(ID, temporal=["0001-01-01", "9999-12-31"])
    assert filled.to_pandas()["temporal_start"][0].year == 1


def test_arrow(filled: Memory) -> None:
    pytest.importorskip("pyarrow")
    table = filled.to_arrow()
    assert table.num_rows == 2 and str(table.schema.field("created_at").type) == "timestamp[us, tz=UTC]"
    (first, second) = table.to_pylist()
    assert (first["id"], first["tags"], first["temporal_end"]) == (ID, ["rule"], None)
    assert first["created_at"].timestamp() == filled.get(ID).created.timestamp()
    assert json.loads(second["meta"]) == {HOSTILE: 1}
    assert filled.to_arrow(tree="nothing").schema == table.schema
    assert filled.search("deploys").to_arrow().column_names[-2:] == ["score", "why"]
