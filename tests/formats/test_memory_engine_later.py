"""Files of Memory Engine 0.8: read without a flag, and written again as version 0.8 accepts them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memglot
from memglot import Memory, Record
from memglot.editing.markdown import changes_from_markdown, markdown_of
from memglot.formats import registry
from memglot.formats.base import ReadOptions, WriteOptions
from memglot.formats.core.read import read_items
from memglot.formats.core.target import Target
from memglot.report import Report

IDS = [f"0197c3d0-000{number}-7abc-8def-00000000000{number}" for number in range(9)]
FORMATS = [("json", "a.json"), ("ndjson", "a.ndjson"), ("yaml", "a.yaml"), ("markdown", "a")]
by_format = pytest.mark.parametrize(("format", "name"), FORMATS)

# The keys and their order are those of `me memory export`.
EXPORT: list[dict[str, Any]] = [
    {"id": IDS[0], "content": "dash", "meta": {"a": 1}, "tree": "/share/with-dash", "name": "notes.md"},
    {"id": IDS[1], "content": "underscore", "tree": "/share/with_dash", "name": "notes.md"},
    {"id": IDS[2], "content": "home", "tree": "~"},
    {"id": IDS[3], "content": "below home", "tree": "~/projects/my-app", "name": "README"},
    {"id": IDS[4], "content": "named home", "tree": "/home/projects/my_app"},
    {"id": IDS[5], "content": "root", "tree": "/"},
    {
        "id": IDS[6],
        "content": "dated",
        "tree": "/share",
        "temporal": {"start": "2024-05-06T07:08:09Z", "end": "2024-05-07T00:00:00Z"},
    },
    {"id": IDS[7], "content": "other spelling", "tree": "a/b.c/"},
]
TREES = [
    "share.with_dash",
    "share.with_dash",
    "home",
    "home.projects.my_app",
    "home.projects.my_app",
    "",
    "share",
    "a.b.c",
]
NOTE = (
    "changed 3 tree paths, such as `/share/with-dash` to `share.with_dash`: "
    "export with `--dialect 0.8` to restore the original paths"
)


def exported(memory: Memory, path: Path, format: str, **options: Any) -> list[dict[str, Any]]:
    """Return the memories of an export as objects, without what only memglot writes."""
    memory.export(path, format=format, dialect="0.8", **options)
    if path.is_dir():
        memglot.convert(path, path.with_suffix(".json"), dialect="0.8")
        path = path.with_suffix(".json")
    if format == "yaml":
        memglot.convert(path, path := path.with_suffix(".json"), dialect="0.8")
    text = path.read_text()
    found = [json.loads(line) for line in text.splitlines()] if format == "ndjson" else json.loads(text)
    for memory_object in found:
        if not {key: value for key, value in memory_object.get("meta", {}).items() if key != "memglot"}:
            memory_object.pop("meta", None)
        memory_object.get("meta", {}).pop("memglot", None)
    return found


def test_paths_are_read_without_a_flag(memory: Memory) -> None:
    result = memory.import_from(json.dumps(EXPORT).encode(), format="json")
    assert (result.imported, list(result.errors)) == (8, [])
    assert [memory.get(id).tree for id in IDS[:8]] == TREES
    assert result.notes == [NOTE]
    assert memory.get(IDS[1]).extra == {"memory-engine": {"name": "notes.md"}}


def test_a_folder_has_one_note_for_all_of_its_files(memory: Memory, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.md").write_text(f"---\nid: {IDS[number]}\ntree: /a/b-{number}\n---\n\nx\n")
    (tmp_path / "more.yaml").write_text("- content: y\n  tree: /a/c-d\n")
    result = memory.import_from(tmp_path)
    assert result.imported == 4
    assert [note for note in result.notes if "tree path" in note] == [
        "changed 4 tree paths, such as `/a/b-0` to `a.b_0`: export with `--dialect 0.8` to restore the original paths"
    ]


@by_format
def test_paths_and_names_are_written_again(memory: Memory, tmp_path: Path, format: str, name: str) -> None:
    memory.import_from(json.dumps(EXPORT).encode(), format="json")
    assert exported(memory, tmp_path / name, format) == EXPORT
    assert memglot.verify(tmp_path / name).ok
    with Memory.open(":memory:") as other:
        assert other.import_from(tmp_path / name).notes == [NOTE]
        assert [other.get(id) for id in IDS[:8]] == [memory.get(id) for id in IDS[:8]]


@by_format
def test_the_default_dialect_keeps_the_paths_in_the_carry_slot(
    memory: Memory, tmp_path: Path, format: str, name: str
) -> None:
    memory.import_from(json.dumps(EXPORT).encode(), format="json")
    result = memory.export(tmp_path / name, format=format)
    assert result.notes == [
        "wrote 3 tree paths with the labels that Memory Engine documents; "
        "use `--dialect 0.8` to write the paths that version 0.8 has"
    ]
    with Memory.open(":memory:") as other:
        assert other.import_from(tmp_path / name).notes == []
        assert [other.get(id) for id in IDS[:8]] == [memory.get(id) for id in IDS[:8]]
        other.export(tmp_path / "later.json", dialect="0.8")
    assert [found["tree"] for found in json.loads((tmp_path / "later.json").read_text())] == [
        memory_object["tree"] for memory_object in EXPORT
    ]


def test_paths_with_the_same_labels_do_not_share_a_name(memory: Memory, tmp_path: Path) -> None:
    """Version 0.8 refuses up to 1,000 memories if one name occurs twice in a tree."""
    memory.import_from(json.dumps(EXPORT).encode(), format="json")
    memory.export(tmp_path / "a.json")
    found = json.loads((tmp_path / "a.json").read_text())
    assert [one.get("name") for one in found[:4]] == [None, "notes.md", None, None]


def test_a_conversion_counts_what_it_reads_and_what_it_writes(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(EXPORT))
    notes = memglot.convert(tmp_path / "a.json", tmp_path / "b.yaml").notes
    assert [note.partition(" tree")[0] for note in notes] == ["changed 3", "wrote 3"]
    assert memglot.convert(tmp_path / "b.yaml", tmp_path / "c.json", dialect="0.8").notes == []
    found = json.loads((tmp_path / "c.json").read_text())
    assert [one["tree"] for one in found] == [one["tree"] for one in EXPORT]


def test_a_path_does_not_outlive_its_tree(memory: Memory, tmp_path: Path) -> None:
    memory.import_from(json.dumps(EXPORT[:1]).encode(), format="json")
    memory.update(IDS[0], tree="moved.here")
    assert [found["tree"] for found in exported(memory, tmp_path / "a.json", "json")] == ["/moved/here"]


def test_a_memory_that_was_moved_in_the_tool_has_its_new_path(memory: Memory, tmp_path: Path) -> None:
    memory.import_from(json.dumps(EXPORT[:1]).encode(), format="json")
    memory.export(tmp_path / "a.json")
    (found,) = json.loads((tmp_path / "a.json").read_text())
    found["tree"] = "/moved/over-there"
    with Memory.open(":memory:") as other:
        other.import_from(json.dumps(found).encode(), format="json")
        assert other.get(IDS[0]).tree == "moved.over_there"
        assert other.get(IDS[0]).extra["memory-engine"]["tree"] == "/moved/over-there"


def test_names_that_would_be_refused_stay_in_the_carry_slot(memory: Memory, tmp_path: Path) -> None:
    given = [
        {"id": IDS[0], "content": "a", "tree": "/share", "name": "one"},
        {"id": IDS[1], "content": "b", "tree": "/share", "name": "one"},
        {"id": IDS[2], "content": "c", "name": "one"},
        {"id": IDS[3], "content": "d", "tree": "/share/x", "name": "one"},
        {"id": IDS[4], "content": "e", "tree": "/share", "name": "not a name!"},
    ]
    memory.import_from(json.dumps(given).encode(), format="json")
    for path in (tmp_path / "a.json", tmp_path / "a"):
        format = "json" if path.suffix else "markdown"
        result = memory.export(path, format=format, dialect="0.8")
        assert result.notes == [
            "kept 3 names in the carry slot only: Memory Engine refuses names that are not valid file names, "
            "or occur twice in a tree"
        ]
        with Memory.open(":memory:") as other:
            other.import_from(path)
            assert [other.get(id).extra["memory-engine"]["name"] for id in IDS[:5]] == [one["name"] for one in given]
    found = json.loads((tmp_path / "a.json").read_text())
    assert [one.get("name") for one in found] == ["one", None, None, "one", None]
    # Every note of the folder is known to be our own, so the second export may replace all of them.
    assert memory.export(tmp_path / "a", format="markdown").notes == []


def test_unknown_keys_survive_in_the_carry_slot(memory: Memory, tmp_path: Path) -> None:
    """Version 0.8 keeps `meta` and drops keys that it does not know."""
    memory.import_from(json.dumps({"id": IDS[0], "content": "a", "colour": "red"}).encode(), format="json")
    (found,) = exported(memory, tmp_path / "a.json", "json")
    assert found == {"id": IDS[0], "content": "a"}
    with Memory.open(":memory:") as other:
        other.import_from(tmp_path / "a.json")
        assert other.get(IDS[0]).extra == {"memory-engine": {"colour": "red"}}


@pytest.mark.parametrize("tree", ["/a b", "/a/~/b", "a/ö", "~x/y", "/a/*", "my-proj.api", "a.b."])
def test_paths_that_version_08_does_not_write_are_refused(memory: Memory, tree: str) -> None:
    result = memory.import_from(json.dumps({"content": "a", "tree": tree}).encode(), format="ndjson")
    assert (result.imported, [fault.error for fault in result.errors]) == (
        0,
        [f"`tree` must be labels of letters, digits and `_` joined by dots, not `{tree}`"],
    )


@pytest.mark.parametrize("format", ["yaml", "markdown"])
def test_periods_may_be_objects_in_every_format(memory: Memory, format: str) -> None:
    period = "temporal:\n  start: 2024-05-06T07:08:09.000Z\n  end: 2024-05-07T00:00:00.000Z\n"
    text = f"content: a\n{period}" if format == "yaml" else f"---\n{period}---\n\na\n"
    assert memory.import_from(text.encode(), format=format).imported == 1
    temporal = next(memory.list()).temporal
    assert temporal is not None and temporal.end is not None


def test_a_path_can_be_edited_as_markdown() -> None:
    record = Record(id=IDS[0], content="a", tree="x_y", extra={"memory-engine": {"tree": "/x-y"}})
    text = markdown_of(record)
    assert changes_from_markdown(text)["extra"] == record.extra
    changes = changes_from_markdown(text.replace("tree: x_y\n", "tree: /other/x-y\n"))
    assert (changes["tree"], changes["extra"]) == ("other.x_y", {"memory-engine": {"tree": "/other/x-y"}})


@pytest.mark.parametrize("dialect", [None, "0.8"])
def test_a_folder_of_exported_notes_is_not_a_vault(memory: Memory, tmp_path: Path, dialect: str | None) -> None:
    """Memory Engine does not mark its folders, and a memory may contain a wikilink."""
    given = [{**one, "content": f"{one['content']} [[x]]", "meta": {"text": "a\n\nb"}} for one in EXPORT]
    memory.import_from(json.dumps(given).encode(), format="json")
    folder = tmp_path / "notes"
    memory.export(folder, format="markdown", layout="tree", plain=True, dialect=dialect)
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text("x")
    with Memory.open(":memory:") as other:
        result = other.import_from(folder)
        assert (result.format, result.imported) == ("markdown", 8)
        assert [other.get(id).tree for id in IDS[:8]] == TREES
    (folder / "note.md").write_text("[[x]]")
    assert memory.import_from(folder, dry_run=True).format == "obsidian"
    (folder / "note.md").unlink()
    (folder / ".obsidian").mkdir()
    assert memory.import_from(folder, dry_run=True).format == "obsidian"


LABELS = st.sampled_from(["a", "b-c", "b_c", "home", "~", "1"])
PATHS = st.lists(LABELS, max_size=3).map("/".join) | st.lists(LABELS, max_size=3).map(lambda some: "/" + "/".join(some))
OWN = st.fixed_dictionaries(
    {},
    optional={
        "tree": PATHS | st.sampled_from(["", ".", "a.b", "a.b-c", "no path", 1, None]),
        "name": st.sampled_from(["n", "n.md", "", "-", "x" * 129, None, 1]),
        "other": st.integers(),
    },
)


@by_format
@pytest.mark.parametrize("dialect", [None, "0.8"])
@given(
    given_values=st.lists(
        st.tuples(st.sampled_from(["", "a", "b_c", "home", "a.b_c", "home.a"]), st.none() | OWN), max_size=5
    )
)
def test_what_was_kept_is_read_back_equal(
    format: str, name: str, dialect: str | None, given_values: list[tuple[str, Any]]
) -> None:
    records = [
        Record(id=id, content="x", tree=tree, extra={} if own is None else {"memory-engine": own})
        for id, (tree, own) in zip(IDS, given_values, strict=False)
    ]
    written = registry.get(format)
    assert written.write is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        written.write(iter(records), Target(path), Report(), WriteOptions(dialect=dialect))
        found = list(read_items([path], written, Report(), ReadOptions()))
    assert [(record.tree, record.extra) for record in found if isinstance(record, Record)] == [
        (record.tree, record.extra) for record in records
    ]
