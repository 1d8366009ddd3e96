"""Tables of any shape: what a mapping makes of their rows, what it guesses, and that nothing is lost."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot import Memory
from memglot.errors import UsageError
from memglot.formats.table.mapping import parse_mapping, value_at
from memglot.formats.table.times import parse_time_of_table
from memglot.model import Record, format_time, parse_time


def records(content: str | bytes | Path, **options: Any) -> list[Record]:
    """Import a table into an empty store; the second import must change nothing."""
    source = content.encode() if isinstance(content, str) else content
    with Memory.open(":memory:") as memory:
        result = memory.import_from(source, embed=False, **options)
        found = list(memory.list())
        again = memory.import_from(source, embed=False, **options)
        assert again.imported == again.merged == 0 and again.skipped == result.imported
        assert list(memory.list()) == found
    return found


def test_columns_become_fields_and_the_rest_is_meta() -> None:
    text = "Text,labels,date,who\nHello,a|b,2024-05-01,ann\n"
    (found,) = records(text, map="content=text,tags=labels,created_at=date")
    assert (found.content, found.tags, found.meta) == ("Hello", ["a", "b"], {"who": "ann"})
    assert format_time(found.created_at) == "2024-05-01T00:00:00Z"


def test_json_paths_reach_into_objects_and_lists() -> None:
    rows = [{"message": {"parts": ["Hello"], "by": "ann"}, "a.b": 1, "tags": ["x", 2]}]
    (found,) = records(json.dumps(rows), map={"content": "message.parts.0", "kind": "a.b", "tags": "tags"})
    assert (found.content, found.kind, found.tags) == ("Hello", "1", ["x", "2"])
    assert found.meta == {"message": {"parts": ["Hello"], "by": "ann"}}


def test_rows_may_be_in_a_list_of_an_object() -> None:
    text = json.dumps({"data": {"items": [{"t": "one"}, 5, {"t": "two"}]}, "next": None})
    with Memory.open(":memory:") as memory:
        result = memory.import_from(text.encode(), map="content=t,records=data.items", embed=False)
        assert (result.imported, result.failed) == (2, 1)
        assert any("`next`" in note for note in result.notes)
        result = memory.import_from(text.encode(), map="content=t,records=items", embed=False)
        assert "no list at `items`" in next(result.errors).error


def test_a_table_of_a_database_is_chosen_by_name(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    db = sqlite3.connect(path)
    db.executescript(
        "CREATE TABLE notes (nr INTEGER PRIMARY KEY, body TEXT, at REAL, raw BLOB); CREATE TABLE other (x);"
    )
    db.execute("INSERT INTO notes VALUES (7, 'Hello', 1714521600.5, x'00ff'), (8, NULL, NULL, NULL)")
    db.commit()
    db.close()
    columns = {"content": "body", "created_at": "at", "id": "nr"}
    (found,) = records(path, map=columns, table="notes")
    assert found.meta == {"raw": {"base64": "AP8="}} and found.created_at == 1_714_521_600_500_000
    assert found.foreign[0].id == "7" and found.foreign[0].space == "notes.db:notes"
    with Memory.open(":memory:") as memory:
        for table, message in ((None, "there are 2 tables"), ("note", "there is no table `note`")):
            result = memory.import_from(path, map=columns, table=table, embed=False)
            fault = next(result.errors)
            assert message in fault.error and fault.hint == "choose one with `--table`: `notes`, `other`"


def test_a_guess_is_made_from_names_and_values() -> None:
    rows = [{"uid": 1, "Note Body": "first text", "label": "a,b", "Created": "2024-05-01", "x": None}] * 2
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    with Memory.open(":memory:") as memory:
        result = memory.import_from(out.getvalue().encode(), map="auto", embed=False)
        assert "--map content=Note Body,tags=label,created_at=Created`" in result.notes[0]
        assert result.imported == 2


def test_an_id_that_repeats_is_not_guessed() -> None:
    found = records("id,text\n1,one\n1,two\n", map="auto")
    assert {(one.content, one.meta["id"]) for one in found} == {("one", "1"), ("two", "1")}


@pytest.mark.parametrize(
    ("mapping", "message", "hint"),
    [
        ("contents=text", "`contents` is not a field", "did you mean `content`?"),
        ("content", "`content` is not a valid mapping", "write it as"),
        ("tags=labels", "needs a column for `content`", "write it as"),
        ("content=", "no column for `content`", "write it as"),
        ("content=a,content=b", "two columns for `content`", "write it as"),
        ('{"content": 1}', "not a valid JSON object", "write it as"),
        (["content=a", "content=b"], "two columns for `content`", "write it as"),
    ],
)
def test_a_wrong_mapping_is_an_error(mapping: Any, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_mapping(mapping)
    assert message in str(error.value) and hint in (error.value.hint or "")


@pytest.mark.parametrize("text", ["text,labels\nHello,x\n", '[{"text": "Hello", "labels": "x"}]'])
def test_a_wrong_column_names_those_that_exist(text: str) -> None:
    with Memory.open(":memory:") as memory:
        result = memory.import_from(text.encode(), map="content=text,tags=label", embed=False)
        fault = next(result.errors)
        assert (result.imported, result.exit_code) == (0, 2) and fault.error == "there is no column `label`"
        assert fault.hint == "its columns are `text`, `labels`; did you mean `labels`?"


def test_a_mapping_with_another_format_or_a_table_without_one_is_an_error() -> None:
    with Memory.open(":memory:") as memory:
        wrong: list[dict[str, Any]] = [{"map": "auto", "format": "obsidian"}, {"table": "notes"}, {"map": "nonsense"}]
        for options in wrong:
            with pytest.raises(UsageError):
                memory.import_from(b"a,b\n1,2\n", **options)


def test_bad_rows_are_reported_with_their_lines() -> None:
    text = "text,at\none,2024\n,2024\nthree,soon\nfour,x,y\n"
    with Memory.open(":memory:") as memory:
        result = memory.import_from(text.encode(), map="content=text,created_at=at", embed=False)
        assert (result.imported, result.failed) == (2, 2)
        assert [fault.line for fault in result.errors] == [3, 5]
        assert next(record for record in memory.list() if record.content == "three").meta == {"at": "soon"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-05-01", "2024-05-01"),
        ("2024-05-01 10:30", "2024-05-01T10:30:00"),
        ("2024-05-01T10:30:00+02:00", "2024-05-01T08:30:00"),
        (1_714_521_600, "2024-05-01"),
        ("1714521600000", "2024-05-01"),
        (1_714_521_600.25, "2024-05-01T00:00:00.250"),
        ("20240501", "2024-05-01"),
        ("2024/5/1 9:05", "2024-05-01T09:05:00"),
        ("31.12.2024", "2024-12-31"),
        ("5.4.2024", "2024-04-05"),
        ("12/31/2024 1:05 PM", "2024-12-31T13:05:00"),
        ("31/12/2024 12:05 am", "2024-12-31T00:05:00"),
        ("5/5/2024", "2024-05-05"),
        ("May 3, 2024", "2024-05-03"),
        ("3 May 2024", "2024-05-03"),
        ("september 2024", "2024-09-01"),
        ("Wed, 01 May 2024 10:30:00 +0200", "2024-05-01T08:30:00"),
    ],
)
def test_times_are_read_in_their_usual_shapes(value: Any, expected: str) -> None:
    time = expected if "T" in expected else f"{expected}T00:00:00"
    assert parse_time_of_table(value) == parse_time(f"{time}Z")


@pytest.mark.parametrize(
    "value", ["soon", "5/4/2024", "32.1.2024", "Octember 3 2024", "", True, None, [], "13:00 PM", "1e400"]
)
def test_what_is_not_a_time_or_could_be_two_is_none(value: Any) -> None:
    assert parse_time_of_table(value) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
FIELD = st.sampled_from(["tags", "created_at", "kind", "id", "tree", "meta", "strength"])


@given(rows=st.lists(st.dictionaries(st.sampled_from(["a", "b", "c"]), JSON), min_size=1, max_size=4), field=FIELD)
def test_every_value_of_a_row_can_be_found_again(rows: list[dict[str, Any]], field: str) -> None:
    """Rows are read or reported, columns without a field are whole, and a second import changes nothing."""
    rows = [{"text": f"row {number}", "a": "x", **row} for number, row in enumerate(rows)]
    text = "\n".join(json.dumps(row) for row in rows).encode()
    with Memory.open(":memory:") as memory:
        result = memory.import_from(text, map={"content": "text", field: "a"}, embed=False, format="ndjson")
        stored = {record.content: record for record in memory.list()}
        assert result.imported + result.failed + result.skipped == len(rows)
        for row in rows:
            record = stored.get(row["text"])
            if record is None:
                continue
            rest = {key: value for key, value in row.items() if key not in ("text", "a")}
            kept = record.meta.get("columns", record.meta) if field == "meta" and rest else record.meta
            assert rest.items() <= kept.items() or field == "meta"
        again = memory.import_from(text, map={"content": "text", field: "a"}, embed=False, format="ndjson")
        assert again.imported == again.merged == 0
        assert {record.content: record for record in memory.list()} == stored


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@given(rows=st.lists(st.tuples(CELL.filter(bool), CELL, CELL), min_size=1, max_size=5))
def test_cells_of_a_csv_are_kept_exactly(rows: list[tuple[str, str, str]]) -> None:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([("text", "one", "two"), *rows])
    with Memory.open(":memory:") as memory:
        result = memory.import_from(out.getvalue().encode(), map={"content": "text"}, embed=False)
        assert result.imported == len(rows) and result.failed == 0
        found = sorted((one.content, one.meta.get("one", ""), one.meta.get("two", "")) for one in memory.list())
    assert found == sorted(rows)


@given(value=JSON, path=st.text("ab.01", max_size=6))
def test_any_path_into_any_value_ends(value: Any, path: str) -> None:
    value_at(value, path)
