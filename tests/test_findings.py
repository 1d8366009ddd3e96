"""What a hostile reading of the code once found; each was wrong before it was right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import memglot
from memglot import MemglotError, Memory
from memglot.model import Conflict, Relation, Tombstone
from memglot.store.sqlite import connection

X, Y = (f"0194a000-000{number}-7000-8000-000000000000" for number in (1, 2))
LEAVE = (
    "import os, signal, sys; from memglot import Memory\n"
    "memory = Memory.open(sys.argv[1])\n"
    "for number in range(20): memory.add(f'memory {number}')\n"
    "os.kill(os.getpid(), signal.SIGKILL)\n"
)


def line(id: str, content: str, **more: Any) -> bytes:
    import msgspec

    return msgspec.json.encode({"id": id, "content": content, **more}) + b"\n"


def left_open(path: Path) -> Path:
    """A store whose last words are still in its write-ahead log."""
    done = subprocess.run([sys.executable, "-c", LEAVE, str(path)])
    assert done.returncode == -signal.SIGKILL
    assert os.path.getsize(f"{path}-wal") > 0
    return path


def test_restore_takes_the_log_along_and_sets_the_old_store_aside(tmp_path: Path) -> None:
    backup, store = left_open(tmp_path / "live.db"), tmp_path / "store.db"
    assert memglot.restore(backup, str(store)) == (store, 20)
    for _ in range(2):
        memglot.restore(backup, str(store), force=True)
    asides = sorted(path.name for path in tmp_path.glob("store.db.before*"))
    assert asides == ["store.db.before-restore", "store.db.before-restore-2"]
    with Memory.open(store, write=False) as memory:
        assert memory.count() == 20


def test_restore_over_a_store_in_use_or_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    backup, store = left_open(tmp_path / "live.db"), tmp_path / "store.db"
    with Memory.open(store) as memory:
        memory.add("mine")
        with pytest.raises(MemglotError, match="locked: another process has had it open"):
            memglot.restore(backup, str(store), force=True)
        assert memory.count() == 1
    store.write_bytes(store.read_bytes()[:9000])
    memglot.restore(backup, str(store), force=True)
    assert memglot.verify(store).ok
    store.unlink()
    (tmp_path / "store.db-wal").write_bytes(b"stale")
    memglot.restore(backup, str(store))
    assert memglot.verify(store).ok


def test_a_backup_onto_itself_is_refused(store_path: str) -> None:
    with Memory.open(store_path) as memory:
        memory.add("x")
        with pytest.raises(MemglotError, match="exists"):
            memory.backup(store_path, force=True)
        assert memory.count() == 1


def test_a_hostile_proof_deletes_and_reads_nothing_else(memory: Memory, tmp_path: Path) -> None:
    memory.add("mine", id=X)
    folder, outside = tmp_path / "vault", tmp_path / "outside"
    memory.export(folder, format="markdown")
    outside.mkdir()
    (outside / "victim.md").write_text("victim")
    (folder / "link").symlink_to(outside)
    (folder / "README.txt").write_text("mine")
    proof = folder / ".memglot.json"
    for files in ('{"README.txt":"0","link/victim.md":"0","/dev/zero":"0","../outside/victim.md":"0"}', "[]", "5"):
        proof.write_text(f'{{"format":"markdown","count":1,"digest":"x","files":{files},"beside":[]}}')
        try:
            assert not memglot.verify(folder).ok
            memory.export(folder, format="markdown")
        except MemglotError as error:
            assert "damaged" in str(error)
        memory.export(folder, format="markdown", force=True)
        assert (folder / "README.txt").exists() and (outside / "victim.md").exists()
    proof.write_text('{"format":"nosuch","count":0,"digest":"x"}')
    (tmp_path / "good.json").write_text('{"content":"good"}')
    result = memory.import_from(folder, tmp_path / "good.json")
    assert (result.imported, len(list(result.errors))) == (1, 1)


def test_a_folder_is_not_left_by_a_link_inside_it(memory: Memory, tmp_path: Path) -> None:
    memory.add("x", tree="work")
    folder, outside = tmp_path / "vault", tmp_path / "outside"
    outside.mkdir()
    memory.export(folder, format="markdown")
    (folder / "work").symlink_to(outside)
    with pytest.raises(MemglotError, match="leads out"):
        memory.export(folder, format="markdown", layout="tree")
    assert list(outside.iterdir()) == []


def test_a_note_edited_since_is_kept(memory: Memory, tmp_path: Path) -> None:
    memory.add("one", id=X)
    memory.add("two", id=Y)
    folder = tmp_path / "vault"
    memory.export(folder, format="markdown")
    for id in (X, Y):
        note = folder / f"{id}.md"
        note.write_text(note.read_text() + "my own words\n")
    memory.update(X, content="changed")
    memory.delete(Y)
    result = memory.export(folder, format="markdown")
    assert any("kept 2 notes edited" in note for note in result.notes)
    assert "my own words" in (folder / f"{X}.md").read_text() and (folder / f"{Y}.md").exists()
    memory.export(folder, format="markdown", force=True)
    assert "my own words" not in (folder / f"{X}.md").read_text()


def test_times_that_no_calendar_has(memory: Memory) -> None:
    far = "ffffffff-ffff-7fff-bfff-ffffffffffff"
    assert memory.import_from(line(far, "far"), format="ndjson").imported == 1
    assert memory.export(format="markdown").count == 1
    for slot in ({"temporal": {"start": 4 * 10**18}}, {"created_at": 2**63}):
        result = memory.import_from(line(X, "x", meta={"memglot": slot}), format="ndjson")
        assert memory.export(format="json").count
        assert result.exit_code == 0
        memory.undo("last")


def test_deletions_meet_their_memories_in_any_order(tmp_path: Path) -> None:
    old, new = tmp_path / "old.ndjson", tmp_path / "new.ndjson"
    old.write_bytes(line(X, "x") + line(Y, "y"))
    with Memory.open(":memory:") as memory:
        memory.import_from(old)
        memory.delete(X)
        memory.export(new)
    for inputs in ([old, new], [new, old]):
        for together in (True, False):
            with Memory.open(":memory:") as memory:
                for given in [inputs] if together else [[one] for one in inputs]:
                    memory.import_from(*given, conflict="merge")
                assert [record.id for record in memory.list()] == [Y]
                assert memory.store.things.count(Tombstone) == 1
    with Memory.open(":memory:") as memory:
        memory.import_from(old)
        result = memory.import_from(new)
        assert memory.count() == 2 and any("--conflict merge" in note for note in result.notes)
        memory.import_from(new, conflict="merge")
        memory.undo("last")
        assert memory.count() == 2 and memory.store.things.count(Tombstone) == 0


def test_undelete_after_a_restoring_import_was_undone(memory: Memory) -> None:
    memory.import_from(line(X, "x"), format="ndjson")
    memory.delete(X)
    memory.import_from(line(X, "x"), format="ndjson", restore_deleted=True)
    memory.undo("last")
    assert memory.undelete(X[:13]).content == "x"
    result = memory.undo(list(memory.imports())[-1].id)
    assert any("--force" in note for note in result.notes)


def test_converting_one_id_twice_to_notes_is_told(tmp_path: Path) -> None:
    (tmp_path / "d.ndjson").write_bytes(line(X, "first") + line(X, "second"))
    result = memglot.convert(tmp_path / "d.ndjson", tmp_path / "out", to="markdown")
    assert result.count == 1
    assert result.dropped == [{"field": "record", "records": [X]}]
    assert memglot.verify(tmp_path / "out").ok


def test_converting_nothing_leaves_the_target_alone(tmp_path: Path) -> None:
    target = tmp_path / "good.json"
    target.write_text("mine")
    assert memglot.convert(tmp_path / "typo.json", target, force=True).exit_code == 2
    assert target.read_text() == "mine"


def test_keys_of_our_names_are_the_users_in_json(tmp_path: Path) -> None:
    text = line(X, "x", memglot={"mine": 1}, created_at="2020-01-01T00:00:00Z")
    (tmp_path / "a.ndjson").write_bytes(text)
    memglot.convert(tmp_path / "a.ndjson", tmp_path / "a.md")
    memglot.convert(tmp_path / "a.md", tmp_path / "b.ndjson", plain=True)
    assert b'"memglot":{"mine":1}' in (tmp_path / "b.ndjson").read_bytes()
    (tmp_path / "c.md").write_text(
        "---\nmemglot: hello\ncontent: x\nmeta: {memglot: {extra: {memory-engine: x}}}\n---\nbody"
    )
    with Memory.open(":memory:") as memory:
        memory.import_from(tmp_path / "c.md")
        assert next(memory.list()).extra["memory-engine"] == {"memglot": "hello", "content": "x"}


def test_an_edit_of_meta_is_later_than_its_keys(memory: Memory) -> None:
    slot = {"clocks": {"meta.k": 1000}, "updated_at": 2000}
    memory.import_from(line(X, "x", meta={"k": 1, "memglot": slot}), format="ndjson")
    memory.update(X, meta={"k": 2})
    remote = line(X, "x", meta={"k": 3, "memglot": {"clocks": {"meta.k": 5000}, "updated_at": 9000}})
    memory.import_from(remote, format="ndjson", conflict="merge")
    assert memory.get(X).meta == {"k": 2}


def test_a_changed_relation_is_taken_when_asked(memory: Memory) -> None:
    relation = {"id": "r", "subject": {"id": X}, "predicate": "knows", "object": {"id": Y}, "updated_at": 1}
    memory.import_from(line(X, "x", meta={"memglot": {"relations": [relation]}}), format="ndjson")
    relation |= {"predicate": "likes", "updated_at": 2}
    memory.import_from(line(X, "x", meta={"memglot": {"relations": [relation]}}), format="ndjson", conflict="merge")
    assert [found.predicate for found in memory.store.things.select(Relation)] == ["likes"]
    memory.undo("last")
    assert [found.predicate for found in memory.store.things.select(Relation)] == ["knows"]


@pytest.mark.parametrize("wrong", [{"meta": [1]}, {"strength": "a"}, {"kind": None}, {"tags": [1]}, {"temporal": []}])
def test_wrong_types_never_reach_the_store(memory: Memory, wrong: dict[str, Any]) -> None:
    memory.add("good", id=X)
    with pytest.raises(MemglotError):
        memory.add("x", **wrong)
    with pytest.raises(MemglotError):
        memory.update(X, **wrong)
    assert memory.doctor().ok


def test_rows_that_went_behind_our_back_are_noticed(store_path: str) -> None:
    import apsw

    with Memory.open(store_path) as memory:
        memory.add("a")
        memory.add("b")
    db = apsw.Connection(store_path)
    db.execute("DELETE FROM records WHERE seq = 2")
    db.close()
    assert any("instead of 2" in problem for problem in memglot.verify(store_path).problems)


def test_a_file_beside_belongs_to_its_file(memory: Memory, tmp_path: Path) -> None:
    memory.add("a", id=X)
    memory.add("b")
    memory.delete(X)
    path, beside = tmp_path / "q.json", tmp_path / "q.json.memglot.ndjson"
    beside.write_text("mine")
    with pytest.raises(MemglotError, match="exists"):
        memory.export(path)
    assert beside.read_text() == "mine"
    beside.unlink()
    memory.export(path)
    beside.unlink()
    assert memglot.verify(path).problems == ["q.json.memglot.ndjson is missing"]
    memory.export(tmp_path / "p.json", plain=True)
    assert not (tmp_path / "p.json.memglot.ndjson").exists()


def test_a_link_stays_a_link(memory: Memory, tmp_path: Path) -> None:
    memory.add("a")
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    memory.export(tmp_path / "link.json", force=True)
    assert (tmp_path / "link.json").is_symlink() and "old" not in (tmp_path / "real.json").read_text()


def test_a_cut_off_import_tells_what_landed(store_path: str) -> None:
    with Memory.open(store_path) as memory:

        def stop(report: Any) -> None:
            raise KeyboardInterrupt

        text = b"".join(line(f"0194a000-0001-7000-8000-{number:012x}", "x") for number in range(2500))
        with pytest.raises(KeyboardInterrupt):
            memory.import_from(text, format="ndjson", progress=stop)
        (entry,) = memory.imports()
        assert (entry.state, entry.imported, entry.format) == ("open", 1000, "ndjson")


def test_secrets_of_a_url_are_not_shown() -> None:
    for url in ("mysql://user:hunter2@host/db", "postgresql+psycopg://user:hunter2@host/db", "sqlite://hunter2"):
        with pytest.raises(MemglotError) as caught:
            Memory.open(url)
        assert "hunter2" not in str(caught.value)


def test_file_names_that_are_no_text(memory: Memory, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    for name in (b"\xff.json", b"\xfe.txt"):
        with open(os.path.join(folder, name), "w") as out:
            out.write('{"content":""}')
    result = memory.import_from(tmp_path)
    assert "\\udcff.json" in next(result.errors).source
    assert any("\\udcfe.txt" in note for note in result.notes)


def test_deep_folders(memory: Memory, tmp_path: Path) -> None:
    here = os.getcwd()
    try:
        os.chdir(tmp_path)
        for _ in range(300):
            os.mkdir("d")
            os.chdir("d")
        Path("a.md").write_text("deep")
    finally:
        os.chdir(here)
    assert memory.import_from(tmp_path).imported == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["search", "x", "--limit", "99999999999999999999"], 2),
        (["get", b"01a1\xff"], 2),
        (["import", "-", "-"], 2),
        (["relations", "nope", "--json"], 2),
        ([], 0),
    ],
)
def test_wrong_calls_get_a_sentence(store_path: str, arguments: list[Any], code: int) -> None:
    import json

    with Memory.open(store_path) as memory:
        memory.add("x")
    environment = {**os.environ, "MEMGLOT_STORE": store_path}
    done = subprocess.run(
        [sys.executable, "-m", "memglot", *arguments], capture_output=True, env=environment, stdin=subprocess.DEVNULL
    )
    assert done.returncode == code, done.stderr
    assert b"internal" not in done.stderr
    if "--json" in arguments:
        assert json.loads(done.stdout)["error"]["code"] == "not_found"


def test_output_that_cannot_be_written(store_path: str) -> None:
    with Memory.open(store_path) as memory:
        memory.add("x")
    for command, code in (("list --json > /dev/full", 3), ("list | head -n 0", 0), ("list >&-", 0)):
        shell = f"{sys.executable} -m memglot --store {store_path} {command}; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), (command, done.stderr)


def test_restore_that_cannot_write_leaves_the_store(tmp_path: Path) -> None:
    backup, store = tmp_path / "backup.db", tmp_path / "store.db"
    for path, content in ((backup, "theirs " * 200_000), (store, "mine")):
        with Memory.open(path) as memory:
            memory.add(content)
    command = f"ulimit -f 1000; trap '' XFSZ; {sys.executable} -m memglot --store {store} restore {backup} --force"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 3 and "cannot write" in done.stderr
    assert not list(tmp_path.glob("*before*")) and not list(tmp_path.glob(".*part*"))
    with Memory.open(store, write=False) as memory:
        assert [record.content for record in memory.list()] == ["mine"]


def test_notes_are_written_removed_or_kept_as_their_owner_would(memory: Memory, tmp_path: Path) -> None:
    memory.add("one", id=X)
    memory.add("two", id=Y)
    folder = tmp_path / "vault"
    memory.export(folder, format="markdown")
    note = folder / f"{X}.md"
    note.write_text(note.read_text() + "my own words\n")
    memory.delete(X)
    memory.export(folder, format="markdown")
    memory.undelete(X)
    memory.export(folder, format="markdown")
    assert "my own words" in note.read_text()
    note.unlink()
    memory.update(X, content="changed")
    memory.export(folder, format="markdown")
    assert memglot.verify(folder).ok
    note.write_text(note.read_text().replace("---\n", "---\n# my comment\n", 1))
    memory.update(X, content="changed again")
    memory.export(folder, format="markdown")
    assert "my comment" in note.read_text()


def test_an_input_with_errors_removes_no_note(tmp_path: Path) -> None:
    source, folder = tmp_path / "s.ndjson", tmp_path / "notes"
    source.write_bytes(line(X, "x") + line(Y, "y"))
    memglot.convert(source, folder, to="markdown")
    source.write_bytes(line(X, "x") + b"broken\n")
    result = memglot.convert(source, folder, to="markdown")
    assert (folder / f"{Y}.md").exists()
    assert any("not read this time" in note for note in result.notes)


def test_a_broken_record_with_nested_objects_costs_only_itself(memory: Memory) -> None:
    nested = b'{"content":"a","meta":{"l":[{"content":"x"}, {"content":"y"}]},}'
    text = b'[{"content":"first"},' + nested + b',{"content":"third"},{"content":"fourth"}]'
    result = memory.import_from(text, format="json")
    assert [memory.get(id).content for id in result.ids] == ["first", "third", "fourth"]
    assert result.failed == 1
    pretty = b'{\n "content": "1"\n}\n{\n "content": "2"\n\n{\n "content": "3"\n}\n'
    result = memory.import_from(pretty, format="json")
    assert (result.imported, result.failed) == (2, 1)


def test_a_deletion_that_a_file_brings_is_told_and_undone(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "new.ndjson"
    memory.import_from(line(X, "x") + line(Y, "y"), format="ndjson")
    with Memory.open(":memory:") as other:
        other.import_from(line(X, "x") + line(Y, "y"), format="ndjson")
        other.delete(X)
        other.export(path)
    dry = memory.import_from(path, conflict="merge", dry_run=True)
    assert "would delete 1 memory, as the file says" in dry.notes and memory.count() == 2
    result = memory.import_from(path, conflict="merge")
    assert memory.count() == 1 and any("deleted 1 memory, as the file says" in note for note in result.notes)
    memory.undo("last")
    assert memory.count() == 2
    assert memory.undo(list(memory.imports())[-1].id).imported == 2


def test_undo_of_an_import_that_merged_its_own_records(memory: Memory) -> None:
    memory.import_from(line(X, "x") + line(X, "x", tree="a"), format="ndjson", conflict="merge")
    assert memory.get(X).tree == "a"
    memory.undo("last")
    assert memory.count() == 0


def test_undo_does_not_bring_back_what_the_user_took_away(memory: Memory) -> None:
    relation = {"id": "r", "subject": {"id": X}, "predicate": "knows", "object": {"id": Y}, "updated_at": 1}
    slot = {"relations": [relation]}
    memory.import_from(line(X, "x", meta={"memglot": slot}) + line(Y, "y"), format="ndjson")
    relation |= {"weight": 0.5, "updated_at": 2}
    memory.import_from(line(X, "x", meta={"memglot": slot}), format="ndjson", conflict="merge")
    memory.unlink(X, "knows", Y)
    result = memory.undo("last")
    assert list(memory.relations()) == [] and any("--force" in note for note in result.notes)


def test_every_value_of_a_clash_is_somewhere(memory: Memory) -> None:
    for content in ("gamma", "beta", "alpha"):
        memory.import_from(line(X, content), format="ndjson", conflict="merge")
    store = memory.store
    kept = str([*store.things.select(Conflict), *store.history.revisions(key=X), memory.get(X)])
    assert all(content in kept for content in ("gamma", "beta", "alpha"))


def test_a_zip_of_an_export_holds_all_of_it(memory: Memory, tmp_path: Path) -> None:
    import zipfile

    memory.add("x", id=X)
    memory.add("y", id=Y)
    memory.delete(X)
    memory.export(tmp_path / "vault", format="markdown")
    memory.export(tmp_path / "all.json")
    for names in (["vault/.memglot.json", f"vault/{Y}.md"], ["all.json", "all.json.memglot.ndjson"]):
        with zipfile.ZipFile(tmp_path / "out.zip", "w", zipfile.ZIP_LZMA) as out:
            for name in names:
                out.write(tmp_path / name, name)
        with Memory.open(":memory:") as other:
            result = other.import_from(tmp_path / "out.zip")
            assert (result.imported, other.store.things.count(Tombstone), list(result.errors)) == (1, 1, [])
    whole = (tmp_path / "out.zip").read_bytes()
    (tmp_path / "out.zip").write_bytes(whole[:60] + b"\xff\xff\xff" + whole[63:])
    (tmp_path / "good.json").write_bytes(line(X, "x"))
    result = memory.import_from(tmp_path / "out.zip", "a" * 300, tmp_path / "good.json", restore_deleted=True)
    assert result.imported == 1 and len(list(result.errors)) >= 2


def test_a_stale_file_beside_is_noticed(memory: Memory, tmp_path: Path) -> None:
    memory.add("x", id=X)
    memory.add("y", id=Y)
    memory.delete(X)
    path, beside = tmp_path / "v.json", tmp_path / "v.json.memglot.ndjson"
    memory.export(path)
    old = beside.read_bytes()
    memory.add("z")
    memory.delete(Y)
    memory.export(path, force=True)
    beside.write_bytes(old)
    assert not memglot.verify(path).ok


@pytest.mark.parametrize(
    ("text", "imported", "failed"),
    [
        (b'- content: "a" b\n-\n  content: second\n- content: third\n', 2, 1),
        (b"- content: first\n- @bad\n- content: third\n", 2, 1),
        (b"- @bad\n- content: third\n", 1, 1),
    ],
)
def test_yaml_goes_on_after_each_kind_of_fault(memory: Memory, text: bytes, imported: int, failed: int) -> None:
    result = memory.import_from(text, format="yaml")
    assert (result.imported, result.failed) == (imported, failed)


def test_an_editor_that_fails_keeps_the_text(store_path: str, tmp_path: Path) -> None:
    with Memory.open(store_path) as memory:
        memory.add("x", id=X)
    script = tmp_path / "editor"
    script.write_text('echo more >> "$1"; exit 1\n')
    environment = {**os.environ, "EDITOR": f"bash {script}", "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "memglot", "--store", store_path, "edit", X]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 3 and "your text is kept in" in done.stderr
    (kept,) = tmp_path.glob(f"memglot-*/{X}.md")
    assert kept.read_text().endswith("more\n")
