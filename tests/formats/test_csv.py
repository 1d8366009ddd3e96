"""CSV: valid rows, invalid rows, and round trips."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SHARED
from memglot import Memory, convert
from memglot.errors import UsageError
from memglot.exporting.verify import verify
from memglot.formats.base import ReadOptions
from memglot.formats.core.read import read_items
from memglot.formats.core.source import Source
from memglot.formats.registry import get
from memglot.formats.syntax import csv_rows
from memglot.formats.syntax.csv_rows import find_delimiter, rows
from memglot.model import Foreign, Record, derive_id, parse_time
from memglot.report import Report

FIXTURES = SHARED / "fixtures" / "agentos" / "csv"
ID = "0194a000-0001-7000-8000-000000000001"


def read(text: bytes | str, space: str | None = None) -> tuple[list[Record], list[tuple[int | None, str]], list[str]]:
    report = Report()
    given = text if isinstance(text, bytes) else text.encode()
    found = []
    for item in read_items([given], get("csv"), report, ReadOptions(space=space)):
        assert isinstance(item, Record)
        found.append(item)
    return found, [(fault.line, fault.error) for fault in report.faults()], report.notes


def one(text: bytes | str) -> Record:
    (record,), faults, _ = read(text)
    assert faults == []
    return record


def split(text: bytes) -> list[tuple[int, list[str]]]:
    return [(row.line, row.fields) for row in rows(Source.text(text), find_delimiter(text))]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\ufeff", "\n  \n"])
def test_any_delimiter_line_end_and_mark(delimiter: str, end: str, start: str) -> None:
    lines = [delimiter.join(("Content", "author")), delimiter.join(('"a,;\t""b"""', "ann")), "", "c"]
    found, faults, _ = read(start + end.join(lines))
    assert faults == []
    assert [(record.content, record.meta) for record in found] == [('a,;\t"b"', {"author": "ann"}), ("c", {})]


def test_a_delimiter_inside_quotes_of_the_header_does_not_count() -> None:
    assert find_delimiter(b'content;"a,b,c"\n1,2,3') == ";"
    assert find_delimiter(b"content") == ","
    assert one('"a,b\nc";content\n1;x').meta == {"a,b\nc": "1"}


def test_fields_over_many_lines_keep_their_line_ends_and_the_rows_their_lines() -> None:
    text = b'content,n\n"a\r\nb\rc\n\n",1\n\nd,2\n"e","3\n4"\n"",5\n'
    found, faults, _ = read(text)
    assert [(record.content, record.meta["n"]) for record in found] == [
        ("a\r\nb\rc\n\n", "1"),
        ("d", "2"),
        ("e", "3\n4"),
    ]
    assert faults == [(11, "`content` is empty")]


def test_quotes_in_an_unquoted_field_are_letters() -> None:
    assert [record.content for record in read('content,n\n5" disk and 6" disk,1\nsay "x", 2\n')[0]] == [
        '5" disk and 6" disk',
        'say "x"',
    ]


def test_content_is_never_trimmed_and_formulas_stay() -> None:
    assert [record.content for record in read('content,n\n  a  ,1\n"\n",2\n=1+1,3\n')[0]] == ["  a  ", "\n", "=1+1"]


def test_every_column_is_kept() -> None:
    record = one('content,Project ,,tags,TAGS,kind,Type,content\nx,apollo,y,"a,b",c,note,fact,z')
    assert (record.content, record.tags, record.kind) == ("x", ["a", "b"], "note")
    assert record.meta == {"Project": "apollo", "column 3": "y", "TAGS": "c", "Type": "fact", "content": "z"}


def test_a_column_never_replaces_a_key_of_the_metadata() -> None:
    record = one('content,metadata,author,author\nx,"{""author"":""a"",""contentHash"":""f"",""k"":[1]}",b,c')
    assert record.meta == {"author": "a", "k": [1], "author (column)": "b", "author (column) (column)": "c"}


def test_metadata_that_is_not_an_object_is_kept_and_bad_json_is_an_error() -> None:
    found, faults, _ = read('content,metadata\na,"[1]"\nb,{x}\nc,\n')
    assert [record.meta for record in found] == [{"metadata": [1]}, {}]
    assert faults[0][0] == 3 and faults[0][1].startswith("`metadata`: not valid JSON")
    deep = "[" * 101 + "]" * 101
    assert "nested deeper" in read(f"content,metadata\na,{deep}\n")[1][0][1]


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2024-03-24T12:34:56Z", "2024-03-24T12:34:56Z"),
        ("2024-03-24T12:34:56.5+02:00", "2024-03-24T10:34:56.5Z"),
        ("2024-03-24 12:34:56", "2024-03-24T12:34:56Z"),
        ("2024-03-24 12:34 UTC", "2024-03-24T12:34:00Z"),
        ("2024-03-24T12:34:56+0200", "2024-03-24T10:34:56Z"),
        (" 2024-03-24 ", "2024-03-24T00:00:00Z"),
        ("1711234567", "2024-03-23T22:56:07Z"),
        ("1711234567.25", "2024-03-23T22:56:07.25Z"),
        ("1711234567890", "2024-03-23T22:56:07.89Z"),
        ("1711234567890123", "2024-03-23T22:56:07.890123Z"),
        ("-1", "1969-12-31T23:59:59Z"),
        ("-62135596801", "1968-01-12T20:06:43.199Z"),
    ],
)
def test_times(text: str, time: str) -> None:
    record = one(f"content,createdAt,last_accessed\nx,{text},{text}")
    assert (record.created_at, record.updated_at, record.last_accessed) == (parse_time(time),) * 3


@pytest.mark.parametrize("text", ["03/24/2024", "yesterday", "2024-13-01", "1.7e9", "9" * 20, "2024-03-24T25:00:00Z"])
def test_a_time_that_cannot_be_read_fails_its_record(text: str) -> None:
    found, faults, _ = read(f"content,created_at\na,{text}\nb,\n")
    assert [record.content for record in found] == ["b"]
    assert [line for line, _ in faults] == [2] and "`created_at`: " in faults[0][1]


def test_digits_beyond_a_microsecond_are_reported() -> None:
    report = Report()
    list(read_items([b"content,created_at\na,2024-03-24T12:34:56.1234567Z"], get("csv"), report, ReadOptions()))
    assert list(report.dropped_counts) == ["created_at (digits beyond a microsecond)"]


@pytest.mark.parametrize(
    ("cell", "tags"),
    [
        ('"a, b ,,a"', ["a", "b"]),
        ("x|y, z|", ["x", "y, z"]),
        ('"[""a"",""b|c"",""a""]"', ["a", "b|c"]),
        ("[draft]", ["[draft]"]),
        ('"[1,2]"', ["[1", "2]"]),
        ("", []),
    ],
)
def test_tags(cell: str, tags: list[str]) -> None:
    assert one(f"content;tags\nx;{cell}").tags == tags


def test_repeated_tags_are_kept_for_agentos() -> None:
    record = one('content;tags;emotions\nx;"[""a"",""b"",""a""]";"{""valence"":1}"')
    assert record.extra == {"agentos": {"tags": ["a", "b", "a"], "emotions": {"valence": 1}}}


def test_values_that_do_not_fit_their_column_are_kept_as_text_with_a_note() -> None:
    (record,), faults, notes = read(
        "content,strength,retrieval_count,tree,deleted,emotions\nx,abc,many,oak tree,maybe,sad\n"
    )
    assert faults == [] and len(notes) == 5
    assert (record.strength, record.access_count, record.tree, record.status) == (None, 0, "", "active")
    assert record.meta == {
        "strength": "abc",
        "retrieval_count": "many",
        "tree": "oak tree",
        "deleted": "maybe",
        "emotions": "sad",
    }


def test_emotions_and_deletions_are_agentos() -> None:
    record = one('content,emotions,deleted,status\nx,"{""valence"":1}",TRUE,stale')
    assert (record.extra, record.status) == ({"agentos": {"emotions": {"valence": 1}}}, "deleted")
    assert one("content,emotions,deleted\nx,{},0").extra == {}


def test_ids_of_other_tools_are_derived_and_remembered(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"id,content\n7,a\nmt_1,b\n{ID.upper()},c\n6f9619ff-8b86-d011-b42d-00cf4fc964ff,d\n,e\n")
    with Memory.open(":memory:") as memory:
        assert memory.import_from(path).imported == 5
        found = {record.content: record for record in memory.list()}
    assert found["a"].id == derive_id("csv", "people.csv", "7")
    assert found["a"].foreign == [Foreign("csv", "7", "people.csv")]
    assert (found["b"].id, found["b"].foreign) == (derive_id("agentos", "", "mt_1"), [Foreign("agentos", "mt_1")])
    assert (found["c"].id, found["c"].foreign) == (ID, [])
    assert found["d"].foreign[0].space == ""
    assert found["e"].foreign == []
    assert read("id,content\n7,a\n", space="s")[0][0].foreign == [Foreign("csv", "7", "s")]


def test_a_file_without_content_names_its_columns(memory: Memory) -> None:
    result = memory.import_from(b"text,type\nhello,semantic\n", format="csv")
    (fault,) = result.errors
    assert fault.error == "no column is named `content`; the columns are `text`, `type`"
    assert (fault.line, result.exit_code) == (1, 2)


def test_a_header_alone_is_reported_and_an_empty_file_is_an_error(memory: Memory) -> None:
    result = memory.import_from(b"content,type\n", format="csv")
    assert (result.exit_code, result.notes) == (0, ["content contains no memories"])
    assert memory.import_from(b"", format="csv").exit_code == 2
    assert memory.import_from(b"\xff\xfec\0o\0", format="csv").exit_code == 2


def test_bad_rows_affect_only_themselves() -> None:
    text = b'content,n\na,1\nb,2,3\n,4\nc\xff,5\nd\0,6\n"e"x,7\nf\ng,8\n'
    found, faults, _ = read(text)
    assert [record.content for record in found] == ["a", "d\ufffd", "f", "g"]
    assert faults == [
        (3, "the row has 3 fields, but the header has 2"),
        (4, "`content` is empty"),
        (5, f"invalid UTF-8 at byte {text.index(0xFF)}"),
        (7, "text follows the quote that closes a field"),
    ]


def test_an_unclosed_quote_is_reported_with_its_line_and_affects_only_its_row() -> None:
    found, faults, _ = read('content,n\na,1\n"b,2\nsome prose\nc,3\n"d","4"\n')
    assert [record.content for record in found] == ["a", "c", "d"]
    assert faults == [(3, "a quote opens a field here and closes before other text, lines below")]
    found, faults, _ = read('content,n\na,1\n"two\nlines","b\nsome prose\nc,3\n"",4\n')
    assert [record.content for record in found] == ["a", "c"]
    assert faults == [(4, "a quote opens a field here and never closes"), (7, "`content` is empty")]


def test_a_header_with_an_unclosed_quote_leaves_no_open_file() -> None:
    # Warnings are errors, and a temporary file that nobody closed is one.
    found, faults, _ = read(b'"content\na\n"b"c\n' * 3)
    assert found == [] and len(faults) == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_many_blank_lines_keep_the_numbers_of_lines_and_the_text_of_fields(end: str) -> None:
    blank = end * 300_000
    found, faults, _ = read(f'content,n{end}a,1{blank}{end},b{end}"c{blank}d",2{end},3{end}')
    assert [record.content for record in found] == ["a", f"c{blank}d"]
    assert [line for line, _ in faults] == [300_003, 600_005]


def test_an_unclosed_quote_in_a_long_file_is_read_fast() -> None:
    text = b"content,n\n" + b'"a\nb,1\n' * 20_000
    found, faults, _ = read(text)
    assert len(found) + len(faults) >= 20_000


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_after_many_lines_of_a_field_keep_their_places(end: str) -> None:
    fields = f'"a{end}b",' * 700 + "c"
    text = f"content{',n' * 700}{end}{fields}{end}\xe9,1{end}" * 3
    found = split(text.encode())
    width = 1 + 700
    assert [(line, len(row)) for line, row in found[1:3]] == [(2, width), (703, 2)]
    assert found[1][1] == [f"a{end}b"] * 700 + ["c"] and found[2][1] == ["\xe9", "1"]
    assert [line for line, _ in found] == [place + start for start in (0, 703, 1406) for place in (1, 2, 703)]


def test_bad_bytes_below_many_lines_of_a_field_are_reported_at_their_row() -> None:
    text = b"content,n\n" + b'"' + b'a\nb","' * 9 + b'c"\n"\xff",1\n"d",2\n\xfe,3\ne,4\n'
    found, faults, _ = read(text)
    assert [record.content for record in found] == ["d", "e"]
    assert faults == [
        (2, "the row has 10 fields, but the header has 2"),
        (12, f"invalid UTF-8 at byte {text.index(0xFF)}"),
        (14, f"invalid UTF-8 at byte {text.index(0xFE)}"),
    ]


ROWS = st.sampled_from(['"', '""', ",", "\n", "\r", "\r\n", "a", "\xe9", '"a\nb",', '"a\n', 'b",', 'b","a\n', "1,a\n"])


@given(st.lists(ROWS, max_size=60).map("".join), st.integers(1, 9), st.sampled_from([12, 40, 1 << 20]))
def test_how_much_is_read_at_once_changes_nothing(text: str, at_once: int, limit: int) -> None:
    found = []
    for size, together in ((csv_rows._CHUNK, csv_rows._TOGETHER), (at_once, 1), (csv_rows._CHUNK, at_once)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(csv_rows, "_CHUNK", size)
            patch.setattr(csv_rows, "_TOGETHER", together)
            source = Source.text(("a,b\n" + text).encode())
            source.max_record = limit
            found.append([(row.fields, row.line, str(row.error)) for row in rows(source, ",")])
    assert found[0] == found[1] == found[2]


def test_a_field_may_be_large() -> None:
    content = "long, \n" * 2_000_000
    assert one(f'content,n\n"{content}",1').content == content


FIELDS = st.text(st.sampled_from('a",;\t\r\n é\u2028\x85'), max_size=6)


@given(st.lists(st.lists(FIELDS, min_size=2, max_size=3), min_size=1, max_size=4))
def test_what_is_quoted_is_split_as_it_was(table: list[list[str]]) -> None:
    lines = ["h,h"] + [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in table]
    found = [fields for _, fields in split("\r\n".join(lines).encode())]
    assert found == [["h", "h"], *table]


@given(st.binary(max_size=60) | st.text(st.sampled_from('a,"\n\r'), max_size=40).map(str.encode))
def test_no_bytes_break_the_reader(text: bytes) -> None:
    found, faults, _ = read(b"content,n\n" + text)
    assert all(record.content for record in found)
    assert all(line is not None and line > 1 for line, _ in faults)


def test_memories_from_a_csv_are_exported_with_their_own_ids(tmp_path: Path) -> None:
    path, out, renamed = (tmp_path / name for name in ("people.csv", "out.csv", "renamed.csv"))
    path.write_text('id,content,tags,author\n7,"a, b",x|y,ann\nmt_1,c,,\n')
    with Memory.open(":memory:") as memory:
        memory.import_from(path)
        memory.export(out)
        out.rename(renamed)
        before = list(memory.list())
        again = memory.import_from(renamed)
        assert (again.imported, again.merged, again.skipped, again.failed) == (0, 0, 2, 0)
    assert {line.split(",")[0] for line in renamed.read_text().splitlines()[1:]} == {"7", "mt_1"}
    with Memory.open(":memory:") as memory:
        memory.import_from(renamed)
        assert list(memory.list()) == before


def test_importing_twice_changes_nothing(memory: Memory) -> None:
    text = b"content,type\nhello,semantic\nhello,note\nhello,semantic\n"
    first = memory.import_from(text, format="csv")
    assert (first.imported, first.skipped) == (2, 1)
    second = memory.import_from(text, format="csv")
    assert (second.imported, second.skipped, second.import_id) == (0, 3, None)


def test_a_column_named_memglot_that_is_not_ours_stays() -> None:
    (record,), _, notes = read("content,memglot\nx,mine\n")
    assert record.meta == {"memglot": "mine"} and len(notes) == 1


def test_a_record_without_id_or_time_is_exported_without_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("content\nx\n")
    convert(tmp_path / "a.csv", tmp_path / "b.csv")
    (header, row) = (tmp_path / "b.csv").read_text().splitlines()
    assert row.startswith(",x,,semantic,user,,,active,,,,,,,") and header.endswith(",metadata,memglot")


EXPECTED: dict[str, tuple[int, list[int]]] = {
    "docs.csv": (2, []),
    "extra-columns.csv": (1, []),
    "full.csv": (2, [4, 7]),
    "semicolon.csv": (1, []),
    "missing-content.csv": (0, [1]),
}


@pytest.mark.skipif(not FIXTURES.exists(), reason="the fixtures are not part of this repository")
@pytest.mark.parametrize("name", EXPECTED)
def test_the_fixtures_of_agentos(name: str) -> None:
    count, lines = EXPECTED[name]
    found, faults, _ = read((FIXTURES / name).read_bytes())
    assert (len(found), [line for line, _ in faults]) == (count, lines)
    if name == "full.csv":
        first: Any = found[0]
        assert first.content == 'Quoted "inner" and\r\nnewline, comma'
        assert (first.tags, first.meta, first.scope) == (["a", "b|c"], {"k": 1, "author": "ann"}, "thread")
        assert (found[1].content, found[1].status, found[1].tags) == ("  trimmed  ", "deleted", ["one", "two", "three"])


def test_the_dialect_of_agentos_has_its_times_and_scopes(tmp_path: Path) -> None:
    with Memory.open(":memory:") as memory:
        memory.import_from(
            b'{"id":"mt_1","content":"x","scope":"user","tags":["a","b"],"metadata":{"scopeId":"id0","k":1},'
            b'"createdAt":1711234567890,"lastAccessed":1711234600000}',
            format="agentos-json",
        )
        memory.add("y", meta={"scopeId": "mine"})
        default = memory.export(format="csv")
        program = memory.export(format="csv", dialect="program")
        before = list(memory.list())
    assert default.content is not None and program.content is not None
    assert any("--dialect program" in note for note in default.notes) and program.notes == []
    row = next(row for row in csv.DictReader(program.content.decode().splitlines()) if row["content"] == "x")
    assert (row["scope"], row["created_at"], row["last_accessed"]) == ("user", "1711234567890", "1711234600000")
    assert json.loads(row["metadata"]) == {"scopeId": "id0", "k": 1}
    for content in (default.content, program.content):
        with Memory.open(":memory:") as memory:
            memory.import_from(content, format="csv")
            assert list(memory.list()) == before


def test_the_second_part_of_a_scope_may_be_in_the_metadata() -> None:
    record = one('content,scope,metadata\nx,thread,"{""scopeId"":""7"",""k"":1}"')
    assert (record.scope, record.meta) == ("thread:7", {"k": 1})


def test_a_csv_that_is_not_for_agentos_has_no_hint() -> None:
    with Memory.open(":memory:") as memory:
        memory.add("y")
        assert memory.export(format="csv").notes == []


FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "'=1",
    "=",
    '="a,b"\nc',
    "-5",
    "+1e3",
    "a=1",
]


@pytest.mark.parametrize("field", ["content", "title", "kind", "scope", "tags"])
def test_cells_for_spreadsheets_are_marked_and_restored(memory: Memory, tmp_path: Path, field: str) -> None:
    for number, text in enumerate(FORMULAS):
        values: dict[str, Any] = {"content": f"memory {number}", field: [text, "b"] if field == "tags" else text}
        memory.add(**values)
    path = tmp_path / "a.csv"
    result = memory.export(path, for_spreadsheets=True)
    assert not any("spreadsheet" in note for note in result.notes)
    found = list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))
    for cell in (cell for row in found for cell in row):
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")) or cell in ("-5", "+1e3")
    assert verify(path).ok
    with Memory.open(":memory:") as other:
        assert other.import_from(path, dedup="id").imported == len(FORMULAS)
        assert list(other.list()) == list(memory.list())
        assert other.import_from(path, dedup="id").imported == 0


def test_formulas_have_a_note_without_the_option(memory: Memory, tmp_path: Path) -> None:
    for text in ("=1+1", "- a list", "plain"):
        memory.add(text)
    path = tmp_path / "a.csv"
    assert memory.export(path).notes == [
        "2 memories have cells that a spreadsheet would run as formulas; `--for-spreadsheets` marks them"
    ]
    assert b"=1+1" in path.read_bytes() and b"'=1+1" not in path.read_bytes()
    result = convert(path, tmp_path / "b.csv", for_spreadsheets=True, plain=True)
    assert result.count == 3 and b"'=1+1" in (tmp_path / "b.csv").read_bytes()
    with pytest.raises(UsageError, match="`json` has no cells to mark"):
        memory.export(tmp_path / "a.json", for_spreadsheets=True)


def test_a_marked_cell_that_was_edited_keeps_the_edit(memory: Memory, tmp_path: Path) -> None:
    memory.add("=1+1", id="0194a000-0001-7000-8000-000000000000")
    path = tmp_path / "a.csv"
    memory.export(path, for_spreadsheets=True)
    for before, after in ((b"'=1+1", b"=2+2"), (b"=2+2", b"now text")):
        path.write_bytes(path.read_bytes().replace(before, after))
        with Memory.open(":memory:") as other:
            other.import_from(path)
            assert [record.content for record in other.list()] == [after.decode()]
