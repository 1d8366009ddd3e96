"""A store that is opened without its sensitive scopes: nothing of them is shown, found, counted or changed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memglot import Memory
from memglot.errors import NotFound, UsageError


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


def test_it_is_neither_shown_nor_found_nor_counted(view: Memory) -> None:
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


def test_it_is_not_changed(view: Memory, store: Path) -> None:
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
