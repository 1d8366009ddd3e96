"""Saves in real processes: killed, concurrent, on a full disk, and in a folder that cannot be written."""

# ruff: noqa: E501 - programs of other processes are read line by line

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from memglot import Memory
from memglot.project.check.run import check_project
from memglot.project.init import init
from memglot.project.query import query
from memglot.project.rebuild import rebuild
from memglot.project.status import status
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.journal import change_files
from memglot.project.storage.lock import locked
from memglot.project.storage.paths import JOURNAL
from memglot.project.sync import sync
from repo_projects import do, events, feature, files_of, git, new_project, save, saved, sidecar

# One process forks savers, kills each at a random moment, and then checks what is left, as any command would.
KILLED = """
import json, os, random, signal, sys, time
from pathlib import Path
from memglot.project.save.run import save as save_request
from memglot.project.check.run import check_project
from memglot.project.status import status
from memglot.project.envelope import run
root, rounds = Path(sys.argv[1]), int(sys.argv[2])
random.seed(5)
def do(deed, *values):
    told = run(root, lambda project: deed(project, *values), register=False)
    assert told["ok"], told
    return told
def three(round, number):
    mark = f"r{round}n{number}"
    node = {"kind": "feature", "body": mark, "tags": [mark]}
    link = lambda to: [{"predicate": "affects", "to": f"feature.{to}-{mark}"}]
    nodes = [{**node, "title": f"A {mark}", "related": link("b")}, {**node, "title": f"B {mark}", "related": link("c")}]
    nodes += [{**node, "title": f"C {mark}"}, {"id": "feature.counter", "body": mark}]
    return json.dumps({"task": mark, "nodes": nodes}).encode()
do(save_request, json.dumps({"task": "t", "nodes": [{"kind": "feature", "title": "Counter", "body": "0"}]}).encode())
began = time.monotonic()
for number in range(3):
    do(save_request, three("w", number))
one = (time.monotonic() - began) / 3
seen = set()
for round in range(rounds):
    child = os.fork()
    if child == 0:
        for number in range(1000):
            do(save_request, three(round, number))
        os._exit(0)
    time.sleep(random.random() * 2.5 * one)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    do(status)
    folder = root / ".memory"
    log = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    made = {event.get("id") or event.get("relation_id") for event in log}
    bodies = {}
    for path in (folder / "memory").glob("*.json"):
        fields = json.loads(path.read_bytes())
        body = (folder / fields["body_path"]).read_text().rstrip()
        assert fields["id"].startswith("project") or fields["id"] in made, fields["id"]
        for tag in fields.get("tags", ()):
            assert body == tag
            bodies.setdefault(tag, []).append(fields["id"])
    assert all(len(found) == 3 for found in bodies.values()), bodies
    assert len(list((folder / "relations").glob("*.json"))) == 2 * len(bodies)
    counter = (folder / "memory/counter.md").read_text().rstrip()
    assert counter == "0" or counter in bodies
    seen |= bodies.keys()
    assert not (folder / "index/journal").exists() and bodies.keys() == seen
do(save_request, three(rounds, 0))  # A killed save may leave its map to the next one.
found = do(check_project)["data"]
assert found["valid"], found["errors"]
print(json.dumps({"saves": len(seen), "warnings": found["warnings"]}))
"""

SAVER = """
import json, sys
from pathlib import Path
from memglot.project.save.run import save as save_request
from memglot.project.envelope import run
root, name = Path(sys.argv[1]), sys.argv[2]
for number in range(5):
    node = {"kind": "feature", "title": f"{name} {number}", "body": "x", "related": [{"predicate": "affects", "to": "feature.hub"}]}
    text = json.dumps({"task": name, "nodes": [node, {"id": "feature.hub", "body": f"{name} {number}"}]}).encode()
    told = run(root, lambda project: save_request(project, text))
    assert told["ok"], told
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new_project(tmp_path)


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)


def test_200_saves_killed_at_random_moments_leave_only_complete_saves(root: Path) -> None:
    done = run(KILLED, root, 200)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)
    assert told["saves"] > 20
    assert [issue["code"] for issue in told["warnings"]] == []


def test_eight_processes_saving_at_once_lose_nothing(root: Path) -> None:
    saved(root, nodes=[feature("Hub")])
    names = [f"p{number}" for number in range(8)]
    savers = [
        subprocess.Popen([sys.executable, "-c", SAVER, str(root), name], stderr=subprocess.PIPE) for name in names
    ]
    for saver in savers:
        _, told = saver.communicate(timeout=120)
        assert saver.returncode == 0, told.decode()[-2000:]
    created = [event["id"] for event in events(root) if event["event"] == "memory.created"]
    assert sorted(created[1:]) == sorted(f"feature.{name}-{number}" for name in names for number in range(5))
    assert len(list((root / ".memory/relations").glob("*.json"))) == 40
    assert not (root / ".memory/.lock").exists()
    assert do(root, check_project)["data"] == {"valid": True, "errors": [], "warnings": []}
    registry = json.loads((Path(os.environ["MEMORY_HOME"]) / "projects.json").read_bytes())
    assert [row["project_root"] for row in registry["projects"]].count(str(root)) == 1


def test_a_save_stopped_after_its_journal_is_finished_by_the_next_command(root: Path) -> None:
    code = (
        "import os, sys, json; from pathlib import Path; from memglot.project.save.run import save as save_request; from memglot.project.storage import journal;"
        "from memglot.project.envelope import run\n"
        "journal._apply = lambda *_: os._exit(9)\n"
        "text = json.dumps({'task': 't', 'nodes': [{'kind': 'feature', 'title': 'A', 'body': 'b'}]}).encode()\n"
        "run(Path(sys.argv[1]), lambda project: save_request(project, text))\n"
    )
    assert run(code, root).returncode == 9
    assert (root / ".memory" / JOURNAL).exists()
    assert not (root / ".memory/memory/a.json").exists()
    told = do(root, query, "a b")
    assert told["data"]["included_ids"] == ["feature.a"]
    assert any("interrupted save was finished" in warning for warning in told["warnings"])
    assert sidecar(root, "memory/a.json")["id"] == "feature.a"
    assert not (root / ".memory" / JOURNAL).exists()


STOPPED = """
import json, os, sys
from pathlib import Path
from memglot.project.save.run import save as save_request
from memglot.project.storage import journal
from memglot.project.envelope import run
replace, count = os.replace, int(sys.argv[3])
def stopping(source, target):
    global count
    if "/stage/" in str(source):
        count -= 1
        if count < 0:
            os._exit(9)
    replace(source, target)
journal.os.replace = stopping
run(Path(sys.argv[1]), lambda project: save_request(project, sys.argv[2].encode()), register=False)
"""


@pytest.mark.parametrize("done", [0, 1, 2])
def test_a_stopped_save_is_rolled_back_if_files_were_changed_since(root: Path, done: int) -> None:
    saved(root, nodes=[feature("A", "old"), feature("B", "old b")])
    before = files_of(root)
    nodes = [{"id": "feature.a", "body": "saved"}, {"id": "feature.b", "body": "saved b"}, feature("C", "new")]
    text = json.dumps({"task": "t", "nodes": nodes, "delete": [{"id": "feature.b", "reason": "x"}]})
    assert run(STOPPED, root, text, done).returncode == 9
    by_hand = root / ".memory/events.jsonl"
    by_hand.write_bytes(
        by_hand.read_bytes() + b'{"actor":"user","event":"index.rebuilt","timestamp":"2026-01-01T00:00:00Z"}\n'
    )
    told = do(root, status)
    assert any("was rolled back" in warning for warning in told["warnings"])
    assert files_of(root) == before | {"events.jsonl": by_hand.read_bytes()}
    (kept,) = (root / ".memory/recovery").rglob("a.md")
    assert kept.read_text() == "saved\n"
    assert not (root / ".memory" / JOURNAL).exists()
    saved(root, nodes=[{"id": "feature.a", "body": "again"}])


@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_a_save_that_fails_halfway_is_rolled_back(root: Path, done: int) -> None:
    saved(root, nodes=[feature("A", "old"), feature("B", "old b")])
    before = files_of(root)
    nodes = [{"id": "feature.a", "body": "saved"}, feature("C", "new")]
    text = json.dumps({"task": "t", "nodes": nodes, "delete": [{"id": "feature.b", "reason": "x"}]})
    code = STOPPED.replace("os._exit(9)", "raise PermissionError(1, 'Operation not permitted', str(target))")
    code = code.replace(
        'if "/stage/" in str(source)', 'if "/stage/" in str(source) and not str(source).endswith(".old")'
    )
    code = code.replace("run(Path", "told = run(Path") + "print(json.dumps(told))"
    done_ = run(code, root, text, done)
    told = json.loads(done_.stdout)
    assert not told["ok"]
    assert "Nothing was changed" in told["error"]["message"]
    assert files_of(root) == before
    assert not (root / ".memory" / JOURNAL).exists()


def test_backups_of_the_same_second_do_not_overwrite_each_other(root: Path) -> None:
    saved(root, nodes=[feature("A", "one")])
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    (root / ".memory/memory/a.md").write_text("by hand")
    for body in ("two", "three", "four"):
        saved(root, nodes=[{"id": "feature.a", "body": body}])
    assert {path.read_text() for path in (root / ".memory/recovery").rglob("a.md")} == {"by hand", "two\n", "three\n"}


def test_a_disk_that_fills_up_in_a_save_leaves_everything_as_it_was(root: Path) -> None:
    saved(root, nodes=[feature("A", "old")])
    before = files_of(root)
    code = (
        "import json, resource, sys; from pathlib import Path; from memglot.project.save.run import save as save_request;"
        "from memglot.project.envelope import run\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "nodes = [{'id': 'feature.a', 'body': 'new'}, {'kind': 'feature', 'title': 'B', 'body': 'x' * 400_000}]\n"
        "text = json.dumps({'task': 't', 'nodes': nodes}).encode()\n"
        "told = run(Path(sys.argv[1]), lambda project: save_request(project, text), register=False)\n"
        "print(json.dumps(told))\n"
    )
    done = run(code, root)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert not told["ok"]
    assert "Nothing was changed" in told["error"]["message"]
    assert files_of(root) == before
    assert not (root / ".memory/index/stage").exists()
    assert not (root / ".memory" / JOURNAL).exists()


def test_a_read_only_folder_can_be_read_but_not_saved_to() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = new_project(Path(folder))
        saved(root, nodes=[feature("Alpha", "Found by its words.")])
        code = (
            "import json, os, pkgutil, sys; from pathlib import Path\n"
            "import encodings.utf_16_le, memglot.project.storage, memglot.project.save; from memglot.project.save.run import save as save_request; from memglot.project.query import query; from memglot.project.status import status; from memglot.project.rebuild import rebuild; from memglot.project.envelope import run\n"
            # A process that drops root may no longer be able to read the modules.
            "for package in (memglot.project, memglot.project.storage, memglot.project.save):\n"
            "    for module in pkgutil.iter_modules(package.__path__, package.__name__ + '.'): __import__(module.name)\n"
            "os.geteuid() == 0 and (os.setgroups([]), os.setgid(65534), os.setuid(65534))\n"
            "root = Path(sys.argv[1])\n"
            "do = lambda deed, *values: run(root, lambda project: deed(project, *values))\n"
            "node = {'kind': 'feature', 'title': 'B', 'body': 'b'}\n"
            "text = json.dumps({'task': 't', 'nodes': [node]}).encode()\n"
            "print(json.dumps([do(query, 'words'), do(status), do(save_request, text), do(rebuild)]))\n"
        )
        modes = {place: place.stat().st_mode for place in (Path(folder), *Path(folder).rglob("*"))}
        for place in modes:
            place.chmod(0o555 if place.is_dir() else 0o444)
        try:
            done = run(code, root)
        finally:
            for place, mode in modes.items():
                place.chmod(mode)
        assert done.returncode == 0, done.stderr
        query, status, refused, rebuild = json.loads(done.stdout)
        assert query["data"]["included_ids"] == ["feature.alpha"]
        assert status["ok"]
        for told in (refused, rebuild):
            assert not told["ok"]
            assert "cannot be written" in told["error"]["message"]


def test_a_lock_is_waited_for_and_its_holder_named(root: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    lock = root / ".memory/.lock"
    try:
        owner = {"created_at": "2026-01-01T00:00:00+00:00", "operation": "save", "pid": holder.pid}
        lock.write_text(json.dumps(owner))
        with pytest.raises(ProjectError) as failed, locked(root / ".memory", "save", wait=0.2):
            raise AssertionError("the lock was not heeded")
        assert failed.value.code == "MemoryLockBusy"
        assert failed.value.exit_code == 3
        assert str(holder.pid) in failed.value.message
        assert failed.value.details == {"path": ".memory/.lock", "lock": owner}
        assert lock.exists()
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    saved(root, nodes=[feature("After its death")])
    assert not lock.exists()


def test_an_old_lock_without_an_owner_is_replaced(root: Path) -> None:
    lock = root / ".memory/.lock"
    lock.write_bytes(b"")
    with pytest.raises(ProjectError), locked(root / ".memory", "save", wait=0.1):
        raise AssertionError("the lock was not heeded")
    os.utime(lock, (1, 1))
    saved(root, nodes=[feature("A")])


def test_a_lock_is_invalid_if_another_process_has_its_process_id(root: Path) -> None:
    lock = root / ".memory/.lock"
    lock.write_text(json.dumps({"created_at": "", "operation": "save", "pid": os.getpid()}))
    os.utime(lock, (1, 1))
    saved(root, nodes=[feature("A")])
    assert not lock.exists()


def test_links_are_neither_read_nor_written_through(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("top secret words")
    saved(root, nodes=[feature("A"), feature("B")])
    (root / ".memory/memory/a.md").unlink()
    (root / ".memory/memory/a.md").symlink_to(outside / "secret.md")
    assert "feature.a" not in do(root, query, "top secret words")["data"]["included_ids"]
    fields = sidecar(root, "memory/b.json") | {"body_path": "memory/../../../outside/secret.md"}
    (root / ".memory/memory/b.json").write_text(json.dumps(fields))
    assert do(root, query, "top secret words")["data"]["included_ids"] == []
    assert save(root, delete=[{"id": "feature.b", "reason": "x"}])["error"]["code"] == "MemoryObjectNotFound"
    assert (outside / "secret.md").exists()
    (root / ".memory/relations").rmdir()
    (root / ".memory/relations").symlink_to(outside)
    link = {"predicate": "affects", "to": "feature.d"}
    told = save(root, nodes=[feature("C", related=[link]), feature("D")])
    assert "symbolic link" in told["error"]["message"]
    assert [path.name for path in outside.iterdir()] == ["secret.md"]


def test_an_incomplete_log_is_repaired_from_the_files(root: Path) -> None:
    saved(root, nodes=[feature("A"), feature("B", related=[{"predicate": "affects", "to": "feature.a"}])])
    log = root / ".memory/events.jsonl"
    whole = log.read_bytes()
    for cut in (1, 20, 40):
        log.write_bytes(whole[:-cut])
        told = save(root, nodes=[feature(f"C {cut}")])
        assert told["ok"], told
        if cut > 1:
            assert told["data"]["repairs_applied"], cut
            kept = [path for path in (root / ".memory/recovery").rglob("events.jsonl")]
            assert whole[:-cut] in [path.read_bytes() for path in kept]
        names = [event.get("id") or event["relation_id"] for event in events(root)]
        for name in ("feature.a", "feature.b", "rel.feature-b-affects-feature-a", f"feature.c-{cut}"):
            assert names.count(name) == 1
        assert do(root, check_project)["data"]["errors"] == []


@pytest.mark.parametrize(
    "journal",
    [
        b"{broken",
        b"[]",
        b'{"steps":[{"path":"../../outside.txt","staged":"index/stage/0","old":"index/stage/0.old","after":null,"before":null}]}',
        b'{"steps":[{"path":"memory/../../../outside.md","staged":"index/stage/0","old":"index/stage/0.old","after":null,"before":null}]}',
        b'{"steps":[{"path":"/outside.md","staged":"index/stage/0","old":"index/stage/0.old","after":null,"before":null}]}',
        b'{"steps":[{"path":"memory/x.md","staged":"../../inside.txt","old":"index/stage/0.old","after":null,"before":null}]}',
        b'{"steps":[{"path":"../inside.txt","staged":null,"old":"index/stage/0.old","after":null,"before":null}]}',
        b'{"steps":[{"path":"memory/x.md","staged":null,"old":"../inside.txt","after":null,"before":"1"}]}',
        b'{"steps":[{"path":"memory/link/x.md","staged":"index/stage/0","old":"index/stage/0.old","after":null,"before":null}]}',
    ],
)
def test_a_journal_that_comes_with_a_repository_is_not_applied(root: Path, tmp_path: Path, journal: bytes) -> None:
    folder = root / ".memory"
    (root / "inside.txt").write_text("mine")
    (folder / "index/stage").mkdir(parents=True, exist_ok=True)
    (folder / "index/stage/0").write_text("theirs")
    (folder / "memory/link").symlink_to(tmp_path)
    (folder / JOURNAL).write_bytes(journal)
    told = do(root, status)
    assert told["ok"]
    assert any("not written by memglot" in warning for warning in told["warnings"])
    assert (root / "inside.txt").read_text() == "mine"
    assert not list(tmp_path.rglob("outside*")) and not (tmp_path / "x.md").exists()


def test_a_change_of_files_is_complete_even_if_a_folder_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    change_files(tmp_path, {"a": None, "deep/b": b"2"})
    assert not (tmp_path / "a").exists()
    assert (tmp_path / "deep/b").read_bytes() == b"2"


def test_an_incomplete_log_is_kept_when_the_index_is_rebuilt(root: Path) -> None:
    saved(root, nodes=[feature("A")])
    log = root / ".memory/events.jsonl"
    torn = log.read_bytes() + b'{"actor":"agent","event":"memory.cre'
    log.write_bytes(torn)
    told = do(root, rebuild)
    assert any("incomplete" in warning for warning in told["warnings"])
    (kept,) = (root / ".memory/recovery").rglob("events.jsonl")
    assert kept.read_bytes() == torn
    assert events(root)[-1]["event"] == "index.rebuilt"


@pytest.mark.parametrize("name", ["index", "recovery", "memory", "relations", "schema"])
def test_a_linked_folder_that_comes_with_a_repository_is_refused(root: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    (outside / "stage").mkdir(parents=True)
    (outside / "memory.sqlite").write_text("mine")
    (outside / "stage/file").write_text("mine")
    place = root / ".memory" / name
    if place.exists():
        place.rename(root / "away")
    place.symlink_to(outside)
    for told in (
        do(root, status),
        save(root, nodes=[feature("A")]),
        do(root, rebuild),
        do(root, sync),
    ):
        assert "symbolic link" in told["error"]["message"]
    assert sorted(path.name for path in outside.rglob("*")) == ["file", "memory.sqlite", "stage"]


def test_several_processes_can_index_at_once(root: Path) -> None:
    saved(root, nodes=[feature(f"N {number}", "words") for number in range(40)])
    code = (
        "import sys, os; from pathlib import Path; from memglot.project.query import query; from memglot.project.envelope import run\n"
        "root = Path(sys.argv[1])\n"
        "for number in range(15):\n"
        "    for path in (root / '.memory/memory').glob('n-*.md'): os.utime(path)\n"
        "    told = run(root, lambda project: query(project, 'words'), register=False)\n"
        "    assert told['ok'] and told['data']['included_ids'], told\n"
    )
    readers = [subprocess.Popen([sys.executable, "-c", code, str(root)], stderr=subprocess.PIPE) for _ in range(3)]
    for number in range(5):
        assert saved(root, nodes=[feature(f"M {number}")])["memory_created"]
    for reader in readers:
        _, told = reader.communicate(timeout=120)
        assert reader.returncode == 0, told.decode()[-2000:]


@pytest.mark.parametrize(
    "field, value", [("body_path", "memory/a\0.md"), ("body_path", "memory/a.md\n"), ("id", "feature.a\n")]
)
def test_a_sidecar_with_invalid_names_is_a_separate_error(root: Path, field: str, value: str) -> None:
    saved(root, nodes=[feature("A"), feature("B", "findable")])
    (root / ".memory/memory/a.json").write_text(json.dumps(sidecar(root, "memory/a.json") | {field: value}))
    told = do(root, query, "findable")
    assert told["data"]["included_ids"] == ["feature.b"]
    assert any("a.json" in warning for warning in told["warnings"])
    assert not do(root, check_project)["data"]["valid"]


def test_a_pipe_in_place_of_a_text_does_not_block(root: Path) -> None:
    saved(root, nodes=[feature("A"), feature("B", "findable")])
    (root / ".memory/memory/a.md").unlink()
    os.mkfifo(root / ".memory/memory/a.md")
    assert do(root, query, "findable")["data"]["included_ids"] == ["feature.b"]
    assert not do(root, check_project)["data"]["valid"]


def test_a_pipe_in_place_of_a_sidecar_does_not_block(root: Path) -> None:
    saved(root, nodes=[feature("A"), feature("B", "findable")])
    (root / ".memory/memory/a.json").unlink()
    os.mkfifo(root / ".memory/memory/a.json")
    answer = do(root, query, "findable")
    assert answer["data"]["included_ids"] == ["feature.b"]
    assert any("memory/a.json" in warning for warning in answer["warnings"])
    assert not do(root, check_project)["data"]["valid"]
    (root / ".memory/memory/a.json").unlink()
    assert do(root, query, "findable")["warnings"] == []


@pytest.mark.parametrize("name", [b"odd\xff.json", b"odd\xff"])
def test_a_name_that_is_not_utf8_is_an_error_of_that_file_only(root: Path, name: bytes) -> None:
    saved(root, nodes=[feature("A", "findable")])
    path = Path(os.fsdecode(os.fsencode(root / ".memory/memory") + b"/" + name))
    try:
        path.mkdir()
    except OSError:
        pytest.skip("this system has no such names")
    answer = do(root, query, "findable")
    assert answer["data"]["included_ids"] == ["feature.a"]
    assert any("odd\ufffd" in warning for warning in answer["warnings"])
    (issue,) = do(root, check_project)["data"]["errors"]
    assert (issue["code"], issue["path"]) == (
        "CanonicalFileUnsafe",
        os.fsencode(path.relative_to(root)).decode(errors="replace"),
    )
    path.rmdir()
    assert do(root, query, "findable")["warnings"] == []


def test_a_linked_config_is_refused(root: Path, tmp_path: Path) -> None:
    """A link could lead to a file of another project, or out of the repository."""
    config = root / ".memory/config.json"
    config.rename(tmp_path / "config.json")
    config.symlink_to(tmp_path / "config.json")
    answer = do(root, status)
    assert not answer["ok"] and "does not follow links" in answer["error"]["message"]


@pytest.mark.parametrize("version", [5.0, "5", 6, None])
def test_a_version_other_than_the_number_5_is_not_supported(root: Path, version: object) -> None:
    config = root / ".memory/config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"version": version}))
    answer = do(root, status)
    assert not answer["ok"] and answer["error"]["code"] == "MemoryUnsupportedStorageVersion"


def test_a_folder_named_like_a_sidecar_is_entered(root: Path) -> None:
    saved(root, nodes=[feature("A", "findable")])
    folder = root / ".memory/memory/more.json"
    folder.mkdir()
    for suffix in ("json", "md"):
        (root / f".memory/memory/a.{suffix}").rename(folder / f"a.{suffix}")
    text = (folder / "a.json").read_text().replace("memory/a.md", "memory/more.json/a.md")
    (folder / "a.json").write_text(text)
    assert do(root, query, "findable")["data"]["included_ids"] == ["feature.a"]
    with Memory.open(":memory:") as memory:
        memory.import_from(root)
        assert [record.content for record in memory.list(kind=["feature"])] == ["findable\n"]


def test_a_text_that_was_a_link_and_is_a_file_again_is_read(root: Path, tmp_path: Path) -> None:
    saved(root, nodes=[feature("A", "findable")])
    path = root / ".memory/memory/a.md"
    path.rename(tmp_path / "a.md")
    path.symlink_to(tmp_path / "a.md")
    assert do(root, query, "findable")["data"]["included_ids"] == []
    path.unlink()
    path.write_text("findable")
    assert do(root, query, "findable")["data"]["included_ids"] == ["feature.a"]


def test_an_index_that_is_damaged_inside_is_rebuilt(root: Path) -> None:
    saved(root, nodes=[feature("A", "findable")])
    index = root / ".memory/index/memglot.sqlite"
    for deed in (status, rebuild):
        do(root, query, "findable")
        raw = index.read_bytes()
        index.write_bytes(raw[:4096] + b"\xff" * (len(raw) - 4096))
        assert do(root, deed)["ok"]
        assert do(root, query, "findable")["data"]["included_ids"] == ["feature.a"]


def test_conflict_markers_in_a_text_cause_a_warning(root: Path) -> None:
    saved(root, nodes=[feature("A", "findable")])
    (root / ".memory/memory/a.md").write_text("<<<<<<< HEAD\nfindable\n=======\nother\n>>>>>>> x\n")
    told = do(root, query, "findable")
    assert any("a.md" in warning for warning in told["warnings"])


def test_every_result_is_an_envelope(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    odd = tmp_path / os.fsdecode(b"n\xff")
    odd.mkdir()
    code = "import os, sys; os.chdir(sys.argv[1]); from memglot.cli.main import main; main(['repo', *sys.argv[2:], '--json'])"
    for arguments in (["init"], ["status"], ["check"], ["projects"]):
        done = subprocess.run([sys.executable, "-c", code, odd, *arguments], capture_output=True)
        told = json.loads(done.stdout)
        assert (done.returncode, told["ok"]) == (0, True), done.stdout
        assert done.stdout.count(b"\n") == 1
    gone.mkdir()
    code = code.replace("from memglot", "os.rmdir(sys.argv[1]); from memglot", 1)
    done = subprocess.run([sys.executable, "-c", code, gone, "status"], capture_output=True)
    told = json.loads(done.stdout)
    assert (done.returncode, told["ok"], told["error"]["code"]) == (1, False, "MemoryInternalError")


def test_a_linked_folder_of_nodes_is_an_error(root: Path, tmp_path: Path) -> None:
    saved(root, nodes=[feature("A", "findable")])
    (tmp_path / "outside").mkdir()
    (root / ".memory/memory/more").symlink_to(tmp_path / "outside")
    told = do(root, query, "findable")
    assert any("memory/more" in warning for warning in told["warnings"])
    (root / ".memory/memory/more").unlink()
    assert do(root, query, "findable")["warnings"] == []


def test_a_map_that_links_to_itself_is_harmless(root: Path) -> None:
    (root / "AGENTS.md").unlink()
    (root / "AGENTS.md").symlink_to("AGENTS.md")
    assert save(root, nodes=[feature("A")])["ok"]
    assert do(root, init)["ok"]


def test_an_interrupted_save_is_complete_in_a_copy_of_the_folder(root: Path, tmp_path: Path) -> None:
    saved(root, nodes=[feature("A", "old"), feature("B", "old b")])
    nodes = [{"id": "feature.a", "body": "saved"}, feature("C", "new")]
    text = json.dumps({"task": "t", "nodes": nodes, "delete": [{"id": "feature.b", "reason": "x"}]})
    for done in range(5):
        place = tmp_path / f"copy-{done}"
        shutil.copytree(root, place)
        assert run(STOPPED, place, text, done).returncode == 9
        moved = tmp_path / f"moved-{done}"
        shutil.copytree(place, moved)
        for path in moved.rglob("*"):
            os.utime(path)
        assert do(moved, status)["ok"]
        assert (moved / ".memory/memory/a.md").read_text() == "saved\n"
        assert (moved / ".memory/memory/c.json").exists() and not (moved / ".memory/memory/b.json").exists()
        assert do(moved, check_project)["data"]["errors"] == []


def test_an_index_that_is_a_link_is_not_followed(root: Path, tmp_path: Path) -> None:
    saved(root, nodes=[feature("A", "findable")])
    victim = tmp_path / "victim.db"
    index = root / ".memory/index/memglot.sqlite"
    for path in index.parent.glob("memglot.sqlite*"):
        path.unlink()
    victim.write_bytes(b"")
    index.symlink_to(victim)
    assert do(root, query, "findable")["data"]["included_ids"] == ["feature.a"]
    assert victim.read_bytes() == b""
    assert not index.is_symlink()


def test_an_incomplete_log_of_two_time_zones_is_repaired(root: Path) -> None:
    saved(root, nodes=[feature("A"), feature("B")])
    log = root / ".memory/events.jsonl"
    for name, time in (("a", "2026-03-05T08:00:00+00:00"), ("b", "2026-03-05T01:00:00-08:00")):
        fields = sidecar(root, f"memory/{name}.json") | {"created_at": time, "updated_at": time}
        (root / f".memory/memory/{name}.json").write_text(json.dumps(fields))
    line = '{"actor":"agent","event":"memory.created","id":"feature.a","timestamp":"2026-03-05T08:00:00+00:00"}\n'
    log.write_text(line + '{"actor":"agent","event":"memory.created","id":"feature.b","timest')
    saved(root, nodes=[feature("C")])
    assert [event["id"] for event in events(root)] == ["feature.a", "feature.b", "feature.c"]
