"""`Memory.sync`: both sides get the union, nothing is lost, and a file with nothing new stays as it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memglot import Memory, verify
from memglot.errors import CannotWrite, NoPassphrase, TargetExists, Unreadable, UnseenFile, UsageError
from memglot.exporting import sync_path as syncing
from memglot.exporting.sync import write_sync_file
from memglot.exporting.sync_file import SideChanges, fingerprint
from memglot.model import Embedding
from memglot.report import Progress

IDS = [f"0194a000-000{number}-7000-8000-000000000001" for number in range(1, 7)]


@pytest.fixture
def laptops(tmp_path: Path) -> Iterator[tuple[Memory, Memory, Path]]:
    """Two stores, and the path of a file that both can see."""
    (tmp_path / "shared").mkdir()
    with Memory.open(tmp_path / "one.db") as one, Memory.open(tmp_path / "two.db") as two:
        yield one, two, tmp_path / "shared" / "memories.json"


def contents(memory: Memory) -> list[str]:
    return sorted(record.content for record in memory.list())


def stamp(path: Path) -> tuple[bytes, int, int]:
    """What changes when a file is written."""
    return path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino


def test_both_sides_get_the_union(laptops: tuple[Memory, Memory, Path]) -> None:
    one, two, file = laptops
    first = one.add("written on one", tags=["a"])
    one.add_entity("Ada", "person")
    result = one.sync(file)
    assert (result.received, result.sent, result.count) == (SideChanges(), SideChanges(new=1, others=1), 1)
    assert result.is_written and verify(file).ok
    two.add("written on two")
    result = two.sync(file)
    assert (result.received, result.sent) == (SideChanges(new=1, others=1), SideChanges(new=1))
    one.update(first.id, content="edited on one")
    result = one.sync(file)
    assert (result.received, result.sent) == (SideChanges(new=1), SideChanges(changed=1))
    result = two.sync(file)
    assert contents(two) == ["edited on one", "written on two"] and result.received == SideChanges(changed=1)
    two.delete(first.id)
    assert two.sync(file).sent == SideChanges(deleted=1)
    assert one.sync(file).received == SideChanges(deleted=1)
    assert contents(one) == contents(two) == ["written on two"]
    assert verify(file).ok


def test_what_came_can_be_found_by_meaning(laptops: tuple[Memory, Memory, Path]) -> None:
    one, two, file = laptops
    one.add("deploys are frozen on Fridays")
    one.sync(file)
    assert two.sync(file, embed=False).embedded == 0 and two.meaning.missing() == 1
    one.add("the staging database is reset on Mondays")
    one.sync(file)
    assert two.sync(file).embedded == 2 and two.meaning.missing() == 0


def test_nothing_new_leaves_the_bytes_alone(laptops: tuple[Memory, Memory, Path]) -> None:
    one, two, file = laptops
    one.link(one.add("a").id, "supports", one.add("b", meta={"k": [1]}).id)
    one.set_identity("I am Ann")
    one.delete(one.add("gone").id)
    one.sync(file)
    two.sync(file)
    two.add_entity("Ada", "person")
    two.sync(file)
    one.sync(file)
    before = stamp(file)
    for memory in (one, two, two, one):
        result = memory.sync(file)
        assert not result.is_written and not result.received and not result.sent and not result.import_ids
        assert not memory.sync_export(file).is_written
    assert stamp(file) == before
    assert os.listdir(file.parent) == ["memories.json"]


@settings(max_examples=25)
@given(st.data())
def test_laptops_converge_in_any_order(data: st.DataObject) -> None:
    """After each store synced twice, all stores and the file have the same, and nothing is written any more."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memories.json"
        stores = [Memory.open(":memory:") for _ in range(3)]
        try:
            for number in range(data.draw(st.integers(1, 14))):
                memory = data.draw(st.sampled_from(stores))
                _act(memory, data.draw(st.sampled_from(ACTIONS)), data.draw(st.sampled_from(IDS)), str(number), file)
            for memory in stores * 2:
                memory.sync(file)
            # Equal, memory by memory, with their clocks.
            states = [[msgspec.to_builtins(record) for record in memory.list()] for memory in stores]
            assert states[0] == states[1] == states[2]
            before = stamp(file)
            for memory in stores:
                assert not memory.sync(file).is_written
            assert stamp(file) == before and verify(file).ok
        finally:
            for memory in stores:
                memory.close()


ACTIONS = ("put", "put", "update", "delete", "tag", "sync", "sync")


def _act(memory: Memory, action: str, id: str, text: str, file: Path) -> None:
    if action == "sync":
        memory.sync(file)
        return
    there = bool(list(memory.store.records.get([id])))
    if action == "put" and not there:
        memory.import_from(json.dumps([{"id": id, "content": text}]).encode(), restore_deleted=True)
    elif there and action == "update":
        memory.update(id, content=text)
    elif there and action == "tag":
        memory.update(id, tags=[text])
    elif there and action == "delete":
        memory.delete(id)


def test_a_dry_run_changes_neither_side(laptops: tuple[Memory, Memory, Path]) -> None:
    one, two, file = laptops
    one.add("one")
    assert one.sync(file, dry_run=True).sent == SideChanges(new=1) and not file.exists()
    one.sync(file)
    two.add("two")
    before, log = stamp(file), two.store.history.count_events()
    found = two.sync(file, dry_run=True)
    assert found.received == found.sent == SideChanges(new=1)
    assert found.dry_run and not found.import_ids
    assert stamp(file) == before and contents(two) == ["two"] and two.store.history.count_events() == log
    assert os.listdir(file.parent) == ["memories.json"]
    assert two.sync(file).sent == found.sent


def test_a_dry_run_needs_no_store(tmp_path: Path) -> None:
    with Memory.open(":memory:") as memory:
        memory.add("one")
        memory.sync(tmp_path / "memories.json")
    with Memory.open_for_dry_run(tmp_path / "none.db") as none:
        assert none.sync(tmp_path, dry_run=True).received == SideChanges(new=1)
    assert not (tmp_path / "none.db").exists()


# Places


def test_a_folder_means_the_file_in_it(laptops: tuple[Memory, Memory, Path]) -> None:
    one, two, file = laptops
    one.add("one")
    assert one.sync(file.parent).path == file
    two.sync(str(file.parent))
    assert contents(two) == ["one"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere/memories.json", "the folder `{}/nowhere` does not exist"),
        ("memories.txt", "`{}/memories.txt` does not exist, and its name does not end in `.json`"),
        ("pipe", "`{}/pipe` is not a file"),
        ("array.json", "`{}/array.json` is not a memories.json: it looks like `json` (JSON, an array of memories)"),
        ("notes.ndjson", "`{}/notes.ndjson` is not a memories.json: it looks like `ndjson`"),
        ("copy.db", "`{}/copy.db` is not a memories.json: it looks like `sqlite` (memglot store, a SQLite file)"),
        ("note.md", "`{}/note.md` is not a memories.json: it looks like `markdown`"),
        ("rows.json", "`{}/rows.json` is not a memories.json: it looks like a list of memories without"),
        ("picture.json", "`{}/picture.json` is not a memories.json"),
    ],
)
def test_other_places_are_refused(memory: Memory, tmp_path: Path, name: str, message: str) -> None:
    memory.add("one")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "array.json").write_text('[{"content": "a"}]')
    (tmp_path / "notes.ndjson").write_text('{"content": "a"}\n')
    (tmp_path / "note.md").write_text("---\ntitle: a\n---\n\ntext")
    (tmp_path / "rows.json").write_text('[{"content": "a", "content_hash": "x", "memory_type": "note"}]')
    (tmp_path / "picture.json").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    memory.backup(tmp_path / "copy.db")
    place = tmp_path / name
    before = place.read_bytes() if place.is_file() else None
    with pytest.raises(UsageError) as error:
        memory.sync(place)
    assert str(error.value).startswith(message.format(tmp_path)) and error.value.hint
    assert (place.read_bytes() if place.is_file() else None) == before
    assert contents(memory) == ["one"]


def test_the_store_itself_is_refused(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memories.json") as memory, pytest.raises(CannotWrite, match="it is the store itself"):
        memory.add("one")
        memory.sync(tmp_path)


def test_an_empty_file_is_a_new_one(memory: Memory, tmp_path: Path) -> None:
    memory.add("one")
    for content in (b"", b" \n"):
        (tmp_path / "memories.json").write_bytes(content)
        result = memory.sync(tmp_path)
        assert result.is_written and result.sent == SideChanges(new=1) and not list(result.errors)
        assert verify(tmp_path / "memories.json").ok


# Files that another tool wrote, or that are damaged


def v5(*rows: dict[str, Any]) -> bytes:
    metadata = {"source_machine": "m", "exporter_version": "5.0.1", "total_memories": len(rows)}
    return json.dumps({"export_metadata": metadata, "memories": rows}).encode()


def test_a_file_of_mcp_memory_service_keeps_its_format(laptops: tuple[Memory, Memory, Path]) -> None:
    one, two, file = laptops
    theirs = {"content": "theirs", "tags": [], "created_at": 1.5, "updated_at": 1.5, "memory_type": "note"}
    file.write_bytes(v5(theirs))
    one.add("ours", tree="work")
    one.add_entity("Ada", "person")
    result = one.sync(file)
    assert (result.format, result.received.new, result.sent.new) == ("mcp-memory-v5", 1, 1)
    assert json.loads(file.read_bytes())["export_metadata"]["exporter_version"] == "5.0.1"
    two.sync(file)
    assert contents(two) == ["ours", "theirs"] and [entity.name for entity in two.entities()] == ["Ada"]
    before = stamp(file)
    assert not two.sync(file).is_written and not one.sync(file).is_written
    assert stamp(file) == before and verify(file).ok


def test_a_file_of_memoryd_becomes_the_union(memory: Memory, tmp_path: Path) -> None:
    metadata = {"source_machine": "desk", "exporter_version": "memoryd-1"}
    rows = [{"id": "tea", "content": "Tee", "created_at": 1, "updated_at": 1, "memory_type": "note", "tags": []}]
    (tmp_path / "memories.json").write_text(
        json.dumps({"export_metadata": metadata, "memories": rows, "board": {"x": 1}})
    )
    memory.add("ours")
    with pytest.raises(UnseenFile, match="memglot did not write it"):
        memory.sync_export(tmp_path / "memories.json")
    memory.sync(tmp_path)
    found = json.loads((tmp_path / "memories.json").read_bytes())
    assert {row["content"] for row in found["memories"]} == {"Tee", "ours"}
    assert (
        found["board"] == {"x": 1} and next(row for row in found["memories"] if row["content"] == "Tee")["id"] == "tea"
    )
    assert not memory.sync(tmp_path).is_written


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_not_replaced(laptops: tuple[Memory, Memory, Path], kept: float) -> None:
    one, two, file = laptops
    for number in range(20):
        one.add(f"memory {number}")
    one.sync(file)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * kept)])
    before = stamp(file)
    two.add("only here")
    result = two.sync(file)
    assert list(result.errors) and result.exit_code in (1, 2) and not result.is_written
    assert any("was not replaced" in note for note in result.notes)
    assert stamp(file) == before and "only here" in contents(two)
    with pytest.raises(UnseenFile):
        two.sync_export(file)
    file.write_bytes(whole)
    assert two.sync(file).is_written and len(contents(two)) == 21


def test_a_bad_row_keeps_the_file(laptops: tuple[Memory, Memory, Path]) -> None:
    one, two, file = laptops
    one.add("kept as it is")
    one.add("also here")
    one.sync(file)
    text = file.read_text().replace('"content":"kept as it is"', '"content":7')
    file.write_text(text)
    result = two.sync(file)
    assert (result.exit_code, result.failed, contents(two)) == (1, 1, ["also here"])
    assert file.read_text() == text


def test_sections_and_rows_that_a_file_has_stay_in_it(laptops: tuple[Memory, Memory, Path]) -> None:
    one, two, file = laptops
    vector = Embedding(record=one.add("a").id, vector=b"\0\0\x80?" * 4, dimensions=4, model="m")
    one.store.things.put([vector])
    one.sync_export(file, include_audit_chain=True, include_embeddings=True)
    two.add("b")
    two.sync(file)
    found = json.loads(file.read_bytes())
    assert len(found["audit_chain"]) > 2 and found["export_metadata"]["include_embeddings"]
    assert sum("embedding" in row for row in found["memories"]) == 1
    one.add("work", scope="work")
    one.sync_export(scoped := file.with_name("work.json"), scope="work")
    two.sync(scoped)
    assert two.count(scope="work") == 1
    assert [row["content"] for row in json.loads(scoped.read_bytes())["memories"]] == ["work"]


def test_a_file_with_one_scope_says_what_it_does_not_get(laptops: tuple[Memory, Memory, Path]) -> None:
    one, two, file = laptops
    one.add("work", scope="work")
    one.sync_export(file, scope="work")
    assert one.sync(file).notes == []
    two.add("at home", scope="home")
    note = f"`{file}` contains only the scope `work`; 1 memory of another scope was not sent"
    assert two.sync(file).notes == two.sync(file, dry_run=True).notes == [note]
    before = stamp(file)
    (record,) = two.list(scope="work")
    two.update(record.id, scope="home")
    with pytest.raises(CannotWrite, match="1 memory of it is in another scope here"):
        two.sync(file)
    assert stamp(file) == before
    two.update(record.id, scope="work")
    assert two.sync(file).count == 1


def test_large_bodies_come_along(laptops: tuple[Memory, Memory, Path]) -> None:
    one, two, file = laptops
    one.add("x" * (6 << 20))
    one.sync(file)
    assert len(list((file.parent / "memories.json.chunks").iterdir())) == 1
    two.add("small")
    two.sync(file)
    assert max(map(len, contents(two))) == 6 << 20
    assert not one.sync(file).is_written and contents(one) == contents(two)
    shutil.rmtree(file.parent / "memories.json.chunks")
    before = stamp(file)
    assert one.sync(file).exit_code == 1 and stamp(file) == before


# Encryption


def test_an_encrypted_file_needs_its_passphrase_and_stays_encrypted(laptops: tuple[Memory, Memory, Path]) -> None:
    one, two, file = laptops
    one.add("my salary", scope="private")
    one.add("open")
    one.mark_sensitive("private")
    with pytest.raises(NoPassphrase):
        one.sync(file)
    assert not file.exists()
    one.sync(file, passphrase="p")
    before = stamp(file)
    two.add("more")
    with pytest.raises(NoPassphrase, match="is encrypted") as error:
        two.sync(file)
    assert error.value.hint and "--plaintext" not in error.value.hint
    wrong = two.sync(file, passphrase="wrong")
    assert "the passphrase does not decrypt it" in str(next(wrong.errors)) and wrong.exit_code == 2
    with pytest.raises(UnseenFile, match="the passphrase does not decrypt it"):
        one.sync_export(file, passphrase="wrong")
    assert stamp(file) == before and contents(two) == ["more"]
    asked: list[int] = []
    result = two.sync(file, passphrase=lambda: asked.append(1) or "p")  # type: ignore[func-returns-value]
    assert result.received.new == 2 and len(asked) == 1
    assert b"salary" not in file.read_bytes() and b"more" in file.read_bytes()
    assert one.sync(file, passphrase="p").received == SideChanges(new=1)
    before = stamp(file)
    assert not one.sync(file, passphrase="p").is_written and not one.sync_export(file, passphrase="p").is_written
    assert stamp(file) == before


def test_a_scope_that_becomes_sensitive_is_encrypted_although_nothing_is_new(
    laptops: tuple[Memory, Memory, Path],
) -> None:
    one, _, file = laptops
    one.add("my salary", scope="private")
    one.sync(file)
    assert b"salary" in file.read_bytes()
    one.mark_sensitive("private")
    assert one.sync(file, passphrase="p").is_written
    assert b"salary" not in file.read_bytes()


def test_a_view_without_sensitive_scopes_cannot_sync(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "one.db") as memory:
        memory.add("x")
    with Memory.open(tmp_path / "one.db", sensitive=False) as view, pytest.raises(UsageError):
        view.sync(tmp_path / "memories.json")


# SideChanges by somebody else


class Sneaking:
    """A progress callback that changes the file while it is read, the first few times."""

    def __init__(self, times: int, change: Callable[[], object]) -> None:
        self.left, self._change = times, change

    def __call__(self, progress: Progress) -> None:
        if self.left:
            self.left -= 1
            self._change()


def _put(file: Path, content: bytes) -> None:
    """Replace a file as programs do that copy files between machines."""
    part = file.with_suffix(".part")
    part.write_bytes(content)
    os.replace(part, file)


def versions_of(tmp_path: Path, file: Path, count: int) -> list[bytes]:
    """Files of another machine, each with one memory more."""
    found = []
    with Memory.open(tmp_path / "elsewhere.db") as other:
        other.sync_import(file)
        for number in range(count):
            other.add(f"from elsewhere {number}")
            found.append(other.sync_export().content or b"")
    return found


def test_a_file_that_changes_is_merged_again(
    laptops: tuple[Memory, Memory, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syncing, "_PAUSE", 0)
    one, two, file = laptops
    one.add("one")
    one.sync(file)
    two.add("two")
    news = iter(versions_of(tmp_path, file, 3))
    sneaking = Sneaking(3, lambda: _put(file, next(news)))
    result = two.sync(file, progress=sneaking)
    assert result.is_written and not sneaking.left
    assert contents(two) == ["from elsewhere 0", "from elsewhere 1", "from elsewhere 2", "one", "two"]
    assert result.received.new == 4 and verify(file).ok
    one.sync(file)
    assert contents(one) == contents(two)


def test_a_file_that_never_rests_is_left_alone(
    laptops: tuple[Memory, Memory, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syncing, "_PAUSE", 0)
    one, two, file = laptops
    one.add("one")
    one.sync(file)
    two.add("two")
    news = versions_of(tmp_path, file, 9)
    with pytest.raises(CannotWrite, match="it changed 5 times while it was read"):
        two.sync(file, progress=Sneaking(9, lambda: _put(file, news.pop(0))))
    assert verify(file).ok and "two" in contents(two)
    assert b'"two"' not in file.read_bytes()


def test_an_export_does_not_replace_what_came_meanwhile(
    laptops: tuple[Memory, Memory, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _, file = laptops
    one.add("one")
    one.sync_export(file)
    (news,) = versions_of(tmp_path, file, 1)
    one.add("two")
    from memglot.exporting import sync_file

    original = sync_file.FileState.of.__func__  # type: ignore[attr-defined]

    def late(*given: Any) -> Any:
        _put(file, news)
        return original(sync_file.FileState, *given)

    monkeypatch.setattr(sync_file.FileState, "of", late)
    with pytest.raises(UnseenFile, match="1 memory or edit"):
        one.sync_export(file)
    assert file.read_bytes() == news
    # The same for a file that was not there at first.
    other = file.with_name("new.json")
    check = sync_file.Replacement.check

    def later(replacement: sync_file.Replacement, *given: Any) -> None:
        if not other.exists():
            _put(other, news)
        check(replacement, *given)

    monkeypatch.setattr(sync_file.Replacement, "check", later)
    with pytest.raises(UnseenFile):
        one.sync_export(other)
    assert other.read_bytes() == news


def test_a_torn_file_that_is_completed_meanwhile_is_merged(
    laptops: tuple[Memory, Memory, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syncing, "_PAUSE", 0)
    one, two, file = laptops
    for number in range(10):
        one.add(f"memory {number}")
    one.sync(file)
    whole = file.read_bytes()
    file.write_bytes(whole[:-300])
    result = two.sync(file, progress=Sneaking(1, lambda: file.write_bytes(whole)))
    assert result.exit_code == 0 and result.received.new == 10 and not result.is_written


def test_a_folder_that_vanishes_leaves_both_sides_intact(laptops: tuple[Memory, Memory, Path], tmp_path: Path) -> None:
    one, two, file = laptops
    one.add("one")
    one.sync(file)
    two.add("two")
    away = tmp_path / "away"
    for left_over in (False, True):

        def vanish(left_over: bool = left_over) -> None:
            file.parent.rename(away)
            if left_over:
                # As an unmounted disk leaves an empty folder.
                file.parent.mkdir()

        content = file.read_bytes()
        with pytest.raises(CannotWrite) as error:
            two.sync(file, progress=Sneaking(1, vanish))
        assert error.value.hint and "run the same command again" in error.value.hint
        assert file.parent.exists() == left_over and not (left_over and os.listdir(file.parent))
        assert (away / "memories.json").read_bytes() == content and os.listdir(away) == ["memories.json"]
        assert contents(two) == ["one", "two"]
        if left_over:
            file.parent.rmdir()
        away.rename(file.parent)
    assert two.sync(file).is_written
    one.sync(file)
    assert contents(one) == contents(two)


def test_a_folder_that_vanishes_before_bodies_are_written_is_not_created(
    laptops: tuple[Memory, Memory, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _, file = laptops
    one.add("x" * (6 << 20))

    def late(*given: Any, **options: Any) -> Any:
        shutil.rmtree(file.parent)
        return write_sync_file(*given, **options)

    monkeypatch.setattr(syncing, "write_sync_file", late)
    with pytest.raises(CannotWrite, match="is gone"):
        one.sync(file)
    assert not file.parent.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only_leaves_the_file(laptops: tuple[Memory, Memory, Path]) -> None:
    one, two, file = laptops
    one.add("one")
    one.sync(file)
    two.add("two")
    before = stamp(file)
    file.parent.chmod(0o500)
    try:
        with pytest.raises(CannotWrite, match="permission denied") as error:
            two.sync(file)
        assert error.value.hint and "memglot undo" in error.value.hint
    finally:
        file.parent.chmod(0o700)
    assert stamp(file) == before and contents(two) == ["one", "two"]


def test_a_format_that_cannot_store_a_memory_of_the_file_does_not_replace_it(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "memories.json"
    memory.add("secret", scope="private")
    memory.sync_export(file, v5=True)
    before = stamp(file)
    memory.mark_sensitive("private")
    with pytest.raises(CannotWrite, match="would lack 1 memory that was not deleted"):
        memory.sync(file)
    assert stamp(file) == before


def test_many_processes_sync_with_one_file(tmp_path: Path) -> None:
    file, count = tmp_path / "memories.json", 6
    for number in range(count):
        with Memory.open(tmp_path / f"{number}.db") as memory:
            memory.add(f"memory of {number}")
            memory.add("y" * (6 << 20))
    environment = {**os.environ, "HOME": str(tmp_path)}
    calls = [
        [sys.executable, "-m", "memglot", "--store", str(tmp_path / f"{number}.db"), "sync", str(file)]
        for number in range(count)
    ]
    running = [
        subprocess.Popen(call, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for call in calls
    ]
    for process in running:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0 and not errors, errors.decode()
    # Whoever came last has seen everybody, so the file is complete after one round.
    with Memory.open(":memory:") as everybody:
        everybody.sync_import(file)
        assert everybody.count() == 2 * count
    assert verify(file).ok


# Exports


def test_an_export_does_not_replace_what_the_store_has_not_seen(laptops: tuple[Memory, Memory, Path]) -> None:
    one, two, file = laptops
    shared = one.add("shared")
    one.sync_export(file)
    two.sync_import(file)
    two.update(shared.id, content="edited on two")
    two.add("new on two")
    two.add_entity("Ada", "person")
    assert two.sync_export(file).is_written
    before = stamp(file)
    with pytest.raises(UnseenFile, match="contains 3 memories or edits that this store has not seen") as error:
        one.sync_export(file)
    assert error.value.hint == f"`memglot sync {file}` merges both; `--force` replaces the file"
    assert isinstance(error.value, TargetExists) and error.value.code == "unseen"
    assert stamp(file) == before
    one.sync_import(file)
    assert not one.sync_export(file).is_written
    one.delete(shared.id)
    assert one.sync_export(file).is_written
    with pytest.raises(UnseenFile, match="1 memory or edit that"):
        two.sync_export(file)
    two.sync_export(file, force=True)
    assert two.count() == 2


def test_a_view_does_not_learn_how_much_it_has_not_seen(tmp_path: Path) -> None:
    file = tmp_path / "memories.json"
    with Memory.open(tmp_path / "one.db") as one, Memory.open(tmp_path / "two.db") as two:
        one.add("x")
        one.mark_sensitive("private")
        two.add("a", scope="private")
        two.add("b", scope="private")
        two.sync_export(file)
    with Memory.open(tmp_path / "one.db", sensitive=False) as view, pytest.raises(UnseenFile) as error:
        view.sync_export(file)
    assert "contains memories or edits that this store has not seen" in str(error.value)


def test_another_size_of_bodies_is_something_new(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "memories.json"
    memory.add("x" * (2 << 20))
    memory.sync_export(file)
    assert memory.sync_export(file, chunk_size_mb=1).is_written
    assert not memory.sync_export(file, chunk_size_mb=1).is_written


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memories.json").write_text("{}")

    def fail(*_: object) -> Any:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("builtins.open", fail)
    with pytest.raises(Unreadable, match="input/output error"):
        fingerprint(tmp_path / "memories.json")
