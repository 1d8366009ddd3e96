"""A store opened without its sensitive scopes does not show, find, count or change their memories."""

from collections.abc import Iterator
from inspect import isfunction, signature
from pathlib import Path
from typing import Any

import pytest

from memglot import Memory
from memglot.errors import AlreadyThere, NotFound, UsageError
from memglot.store import contract, overlay


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Memory.open(tmp_path / "a.db") as memory:
        memory.add("the salary is a secret number", scope="finance", tree="work.pay", id=SECRET)
        memory.add("the office is in Lisbon", tree="work.pay", id=OPEN)
        memory.link(OPEN, "related_to", SECRET)
        memory.mark_sensitive("finance")
    return tmp_path / "a.db"


@pytest.fixture
def view(store: Path) -> Iterator[Memory]:
    with Memory.open(store, sensitive=False) as memory:
        yield memory


SECRET, OPEN = "0194a000-0001-7000-8000-000000000001", "0194a000-0002-7000-8000-000000000002"


def test_a_hidden_memory_is_not_shown_found_or_counted(view: Memory) -> None:
    with pytest.raises(NotFound) as caught:
        view.get(SECRET)
    assert "salary" not in str(caught.value) and "--allow-sensitive" in str(caught.value.hint)
    assert [record.id for record in view.list()] == [OPEN]
    assert view.count() == 1
    for mode in ("hybrid", "fulltext", "semantic"):
        assert SECRET not in [hit.id for hit in view.search("secret salary office", mode=mode)]
    assert not view.search("salary", scope="finance", mode="fulltext").total
    found = view.search("office", context=3, budget=500)
    assert [record.id for hit in found for record in hit.context] == []
    assert "salary" not in (found.block or "")
    assert [(branch.path, branch.total) for branch in view.tree("work")] == [("work", 1), ("work.pay", 1)]
    assert b"salary" not in (view.export(format="json").content or b"")


def test_a_hidden_memory_is_not_changed(view: Memory, store: Path) -> None:
    for deed in (
        lambda: view.update(SECRET, content="x"),
        lambda: view.delete(SECRET),
        lambda: view.delete(OPEN, SECRET),
        lambda: view.add("x", scope="finance"),
        lambda: view.update(OPEN, scope="finance"),
    ):
        with pytest.raises((NotFound, UsageError)):
            deed()
    assert view.move("work", "play") == 1
    assert view.delete_tree("") == 1
    with Memory.open(store) as whole:
        assert [(record.id, record.tree) for record in whole.list()] == [(SECRET, "work.pay")]


def remote(tmp_path: Path, **fields: Any) -> Path:
    """Write a memories.json of another machine that names the secret by its id."""
    with Memory.open(":memory:") as other:
        other.add("guessed", id=SECRET, scope="user")
        other.add("of another", scope="finance")
        other.update(SECRET, content="overwritten")
        for name, value in fields.items():
            other.update(SECRET, **{name: value})
        other.sync_export(tmp_path / "remote.json", force=True)
    return tmp_path / "remote.json"


def secret(store: Path) -> tuple[str, str]:
    with Memory.open(store) as whole:
        record = whole.get(SECRET)
        return record.content, record.scope


KEPT = ("the salary is a secret number", "finance")


@pytest.mark.parametrize("conflict", ["merge", "prefer-remote", "prefer-local"])
def test_an_import_does_not_read_or_overwrite_a_hidden_memory(
    view: Memory, store: Path, tmp_path: Path, conflict: str
) -> None:
    result = view.import_from(remote(tmp_path), conflict=conflict)
    assert (result.imported, result.merged, result.failed) == (0, 0, 2)
    assert "2 memories belong to sensitive scopes" in str(next(result.errors))
    assert secret(store) == KEPT
    with pytest.raises(NotFound):
        view.get(SECRET)


def test_an_import_does_not_delete_a_hidden_memory_or_link_to_it(view: Memory, store: Path, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "remote.db") as other:
        other.add("x", id=SECRET)
        other.add("y", id="0194a000-0003-7000-8000-000000000003")
        other.link("0194a000-0003-7000-8000-000000000003", "related_to", SECRET)
        other.delete(SECRET)
        other.sync_export(tmp_path / "remote.json")
    assert view.import_from(tmp_path / "remote.json").imported == 1
    assert secret(store) == KEPT
    with Memory.open(store) as whole:
        assert len(list(whole.relations(SECRET))) == 1


def test_an_import_does_not_mark_scopes(view: Memory, store: Path, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "other.db") as other:
        other.add("mine", scope="user")
        other.add("theirs", scope="team")
        other.mark_sensitive("user", "team")
    result = view.import_from(tmp_path / "other.db", format="sqlite")
    assert (result.imported, result.failed) == (0, 2)
    assert view.count() == 1
    with Memory.open(store) as whole:
        assert [scope.scope for scope in whole.scopes() if scope.sensitive] == ["finance"]


@pytest.mark.parametrize("format", ["sqlite", "agentos-sqlite", "json", "memories-json", "obsidian", "markdown"])
@pytest.mark.parametrize("tree", [None, "work"])
def test_no_format_exports_a_hidden_memory(view: Memory, tmp_path: Path, format: str, tree: str | None) -> None:
    result = view.export(tmp_path / "out", format=format, tree=tree)
    assert result.count == 1
    found = [tmp_path / "out"] if (tmp_path / "out").is_file() else list((tmp_path / "out").rglob("*"))
    for path in (path for path in found if path.is_file()):
        assert b"salary" not in path.read_bytes() and SECRET.encode() not in path.read_bytes()
    assert "finance" not in " ".join(result.notes)


def test_an_export_does_not_reveal_guesses(view: Memory) -> None:
    right = view.export(format="json", meta={"pin": "1234"})
    assert right.notes == view.export(format="json", meta={"pin": "9999"}).notes


def test_a_diff_reveals_nothing_about_hidden_memories(view: Memory, tmp_path: Path) -> None:
    for content in ("guessed", KEPT[0]):
        found = view.diff_with_remote(remote(tmp_path, content=content)).value()
        told = [*found["new"], *found["updates"], *found["conflicts"], *found["unchanged"], *found["ahead"]]
        assert told == [] and found["failed"] == 2


def test_a_v5_export_reveals_nothing_about_hidden_memories(view: Memory, tmp_path: Path) -> None:
    result = view.sync_export(tmp_path / "out.json", v5=True)
    text = (tmp_path / "out.json").read_bytes()
    assert b"salary" not in text and SECRET.encode() not in text
    assert "finance" not in " ".join(result.notes)


def test_import_reports_reveal_nothing_about_hidden_memories(store: Path, view: Memory) -> None:
    """A person may import memories of a sensitive scope, and errors quote unreadable input."""
    with Memory.open(store) as whole:
        whole.import_from(b'[{"content": "fine"}, {"content": "x", "tree": "a salary of 5000"}]', format="json")
        assert "salary" in str(whole.import_report().errors)
        person = whole.import_report().id
    assert list(view.imports()) == []
    for id in (person, person[:13], "last"):
        with pytest.raises(NotFound):
            view.import_report(id)
    view.import_from(b'[{"content": "of an agent"}]', format="json")
    assert [entry.imported for entry in view.imports()] == [1] and view.import_report().closed
    with Memory.open(store) as whole:
        assert len(list(whole.imports())) == 2
        whole.mark_normal("finance")
    assert len(list(view.imports())) == 2


def test_an_exported_audit_chain_reveals_nothing_about_hidden_memories(view: Memory, tmp_path: Path) -> None:
    result = view.sync_export(tmp_path / "out.json", scope="user", include_audit_chain=True)
    text = (tmp_path / "out.json").read_bytes()
    assert b"salary" not in text and SECRET.encode() not in text
    assert "finance" not in " ".join(result.notes)


def test_hidden_memories_without_a_vector_are_not_counted(store: Path, view: Memory) -> None:
    with Memory.open(":memory:") as other, Memory.open(store) as whole:
        for number in range(3):
            other.add(f"the salary of {number}", scope="finance")
        whole.import_from(other.export(format="json").content or b"", format="json", embed=False)
        assert any("3 memories have no vector" in note for note in whole.search("office").notes)
        assert view.search("office").notes == []
        whole.import_from(b'[{"content": "the garden of the office"}]', format="json", embed=False)
    assert [note[:20] for note in view.search("office").notes] == ["1 memory has no vect"]


def test_the_id_of_a_hidden_memory_stays_in_use_after_deletion(store: Path, view: Memory) -> None:
    for _ in range(2):
        with pytest.raises(AlreadyThere):
            view.add("mine now", id=SECRET)
        with Memory.open(store) as whole:
            whole.delete(SECRET) if whole.count(scope="finance") else None
    with Memory.open(store) as whole:
        assert whole.undelete(SECRET).content == KEPT[0]


@pytest.mark.parametrize("conflict", ["merge", "prefer-remote", "prefer-local"])
def test_a_dry_run_reports_the_same_as_an_import(view: Memory, store: Path, tmp_path: Path, conflict: str) -> None:
    file = remote(tmp_path)
    would = view.import_from(file, conflict=conflict, dry_run=True)
    did = view.import_from(file, conflict=conflict)
    assert (would.imported, would.merged, would.failed) == (did.imported, did.merged, did.failed) == (0, 0, 2)
    assert [str(fault) for fault in would.errors] == [str(fault) for fault in did.errors]
    assert secret(store) == KEPT


PARTS = {
    contract.Store: overlay.Overlay,
    contract.Records: overlay.OverlayRecords,
    contract.Things: overlay.OverlayThings,
    contract.History: overlay.OverlayHistory,
}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_a_dry_run_has_the_methods_of_a_store(part: type[Any]) -> None:
    def named(method: Any) -> list[str]:
        return list(signature(method).parameters)

    for name, method in vars(part).items():
        if not name.startswith("_") and isfunction(method):
            assert named(getattr(PARTS[part], name)) == named(method), name
