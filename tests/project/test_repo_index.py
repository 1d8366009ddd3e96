"""The index always matches the files, whatever happened to them since the last update."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memglot.project import index
from memglot.project.index import Index
from memglot.project.project import Project
from memglot.project.query import query
from memglot.project.snapshot import snapshot_of
from memglot.project.status import status
from repo_projects import do, feature, new_project, save, saved

NAMES = ("alpha", "beta", "gamma", "delta")
TABLES = {
    "nodes": "SELECT path, id, kind, status, title, body_path, stage, anchors, tags, intent, sidecar FROM nodes",
    "links": "SELECT path, id, subject, predicate, object, status, fields FROM links",
    "faults": "SELECT path, issue FROM faults",
    "files": "SELECT path FROM files",
}
name = st.sampled_from(NAMES)
ACTS = st.one_of(
    st.tuples(st.just("save"), name, st.sampled_from(["One.", "Two words.", "Drei."])),
    st.tuples(st.just("relate"), name, name),
    st.tuples(st.just("stale"), name, st.just("")),
    st.tuples(st.just("delete"), name, st.just("")),
    st.tuples(st.just("edit"), name, st.sampled_from(["By hand.", "", "\udcff"])),
    st.tuples(st.just("break"), name, st.sampled_from(["{", "[]", '{"id": "feature.alpha"}'])),
    st.tuples(st.just("remove"), name, st.sampled_from([".json", ".md"])),
    st.tuples(st.just("look"), st.just(""), st.just("")),
)


def act(root: Path, what: str, of: str, value: str) -> None:
    """Do one action; this test ignores actions that are rejected."""
    place = root / ".memory/memory" / of
    if what == "save":
        known = place.with_suffix(".json").exists()
        node: dict[str, Any] = {"id": f"feature.{of}", "body": value} if known else feature(of, value)
        save(root, nodes=[node])
    elif what == "relate":
        save(root, nodes=[{"id": f"feature.{of}", "related": [{"predicate": "affects", "to": f"feature.{value}"}]}])
    elif what in ("stale", "delete"):
        intent: dict[str, Any] = {what: [{"id": f"feature.{of}", "reason": "x"}]}
        save(root, **intent)
    elif what in ("edit", "break"):
        # Replace the file with a new one, as editors and git do.
        part = root / "part"
        part.write_bytes(value.encode("utf-8", "surrogateescape"))
        os.replace(part, place.with_suffix(".md" if what == "edit" else ".json"))
    elif what == "remove":
        place.with_suffix(value).unlink(missing_ok=True)
    else:
        do(root, status)


@settings(max_examples=40)
@given(st.lists(ACTS, max_size=10))
def test_the_index_equals_a_rebuilt_one(acts: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # Otherwise every file would be read again for two seconds, and the index would not be tested.
        patch.setattr(index, "_SETTLED_NANOSECONDS", 0)
        root = new_project(Path(folder))
        for what, of, value in acts:
            act(root, what, of, value)
        with snapshot_of(Project.find(root)) as kept:
            whole = Index(root / ".memory", keep=False)
            whole.refresh()
            for table, query in TABLES.items():
                assert sorted(kept.index.rows(query), key=repr) == sorted(whole.rows(query), key=repr), table
            for word in ("One", "words", "Drei", "hand", *NAMES):
                found = {kept.node_at(seq).path for seq, _ in kept.index.find([word])}
                ((count,),) = whole.rows("SELECT count(*) FROM words WHERE words MATCH ?", word)
                assert len(found) == count, word
            whole.close()


def test_a_recently_changed_file_is_read_again(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    saved(root, nodes=[feature("Alpha", "first")])
    path = root / ".memory/memory/alpha.md"
    before = path.stat()
    with open(path, "r+b") as file:
        file.write(b"again")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert do(root, query, "again")["data"]["included_ids"] == ["feature.alpha"]
