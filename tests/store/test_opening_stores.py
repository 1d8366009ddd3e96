"""Open a store: created by several at once, upgraded after an interruption, closed without a log."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from memglot import MemglotError, Memory
from memglot.store.sqlite import text_index


def test_several_threads_create_a_store_at_once(tmp_path: Path) -> None:
    def make(path: Path) -> None:
        gate.wait()
        try:
            with Memory.open(path) as memory:
                memory.add("x")
        except Exception as error:  # noqa: BLE001 - the test reports any error
            failed.append(error)

    for number in range(12):
        failed: list[Exception] = []
        gate = threading.Barrier(8)
        threads = [threading.Thread(target=make, args=[tmp_path / f"{number}.db"]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        with Memory.open(tmp_path / f"{number}.db") as memory:
            assert memory.count() == 8


def test_errors_do_not_show_passwords_in_urls() -> None:
    for url in ("mysql://user:hunter2@host/db", "postgresql+psycopg://user:hunter2@host/db", "sqlite://hunter2"):
        with pytest.raises(MemglotError) as caught:
            Memory.open(url)
        assert "hunter2" not in str(caught.value)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:") as found:
        yield found


def test_a_garbage_collected_store_leaves_no_log(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path / "store.db")
    memory.add("kept")
    memory.search("kept")
    del memory
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


def test_an_interrupted_upgrade_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    db = apsw.Connection(str(path))
    db.execute((Path(__file__).parents[1] / "store/versions/v2.sql").read_text(encoding="utf-8"))
    db.close()
    path.chmod(0o600)

    def killed(self: object, limit: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(text_index.TextIndex, "add", killed)
        with pytest.raises(KeyboardInterrupt):
            Memory.open(path, write=False)
    with Memory.open(path, write=False) as memory:
        assert (memory.notes, memory.search("old").total, memory.doctor().ok) == ([], 1, True)
