"""People change nodes one by one: add, list, edit, supersede, close and rm, and save from files and pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SHARED
from memglot.project.by_hand import add, change, close, remove, supersede
from memglot.project.document import document_of, new_node, node_of, open_node
from memglot.project.inspect import inspect
from memglot.project.listing import list_nodes
from memglot.project.node_ids import matching_ids
from memglot.project.save.parse import decode_json, trimmed
from memglot.project.save.request import FullSaveNode
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.hashes import follows_tool
from memglot.project.storage.json_place import place_of
from repo_projects import do, events, feature, files_of, git, new_project, save, saved, sidecar
from repo_stores import write_config, write_node, write_store

FLAT = SHARED / "fixtures/repo/store-flat-layout"
pty = pytest.importorskip("pty", reason="this system has no terminals of its own")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new_project(tmp_path)


def memglot(root: Path, *arguments: str, stdin: bytes = b"", **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a program would: without a terminal."""
    done = subprocess.run(
        [sys.executable, "-m", "memglot", "repo", *arguments],
        cwd=root,
        input=stdin,
        capture_output=True,
        env=os.environ | {"HOME": str(root.parent), "MEMORY_HOME": str(root.parent / "home")} | more,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def at_terminal(root: Path, *arguments: str, keys: str = "", **more: str) -> tuple[int, str]:
    """Run a command as a person would, on a terminal, with what they type; return its status and what they see."""
    import threading

    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "memglot", "repo", *arguments],
        cwd=root,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=os.environ | {"HOME": str(root.parent), "MEMORY_HOME": str(root.parent / "home"), "TERM": "dumb"} | more,
    )
    os.close(terminal)
    os.write(main, keys.encode())
    shown = bytearray()

    def read() -> None:
        try:
            while block := os.read(main, 4096):
                shown.extend(block)
        except OSError:
            pass  # The terminal is closed.

    reader = threading.Thread(target=read)
    reader.start()
    status = process.wait(timeout=60)
    reader.join()
    os.close(main)
    return status, shown.decode().replace("\r\n", "\n")


def editor(folder: Path, *steps: str) -> str:
    """An editor that runs a line of shell on the file, another each time that it is opened."""
    script = folder / "editor.sh"
    lines = "".join(f"{number}) {step};;\n" for number, step in enumerate(steps, 1))
    script.write_text(
        'count=$(($(cat "$0.count" 2>/dev/null || echo 0) + 1)); echo $count > "$0.count"\n'
        f"case $count in\n{lines}esac\n"
    )
    return f"sh {script}"


def body_of(root: Path, slug: str) -> str:
    return (root / f".memory/memory/{slug}.md").read_text()


# Adding.


@pytest.mark.parametrize("kind", ["feature", "decision", "gotcha", "question"])
def test_a_node_of_every_kind_is_added_by_hand(root: Path, kind: str) -> None:
    done = memglot(root, "add", kind, "One thing", "--body", "Text.", "--anchor", "src/a/", "--tag", "x", "--tag", "y")
    assert (done.returncode, done.stdout) == (0, f"created {kind}.one-thing\n")
    found = sidecar(root, "memory/one-thing.json")
    assert (found["type"], found["title"], found["anchors"], found["tags"]) == (
        kind,
        "One thing",
        ["src/a/"],
        ["x", "y"],
    )
    assert found["source"] == {"kind": "user", "task": "edited by hand"}
    assert body_of(root, "one-thing") == "Text.\n"
    assert {event["actor"] for event in events(root)} == {"user"}


def test_the_body_comes_from_standard_input(root: Path) -> None:
    text = "# Höhe 😀\n\nTwo lines.\n"
    assert memglot(root, "add", "gotcha", "Höhe", "--body", "-", stdin=text.encode()).returncode == 0
    assert body_of(root, "hohe") == text


def test_relations_are_added_with_the_node_and_take_short_ids(root: Path) -> None:
    saved(root, nodes=[feature("Webhooks"), feature("Worker")])
    done = memglot(
        root, "add", "decision", "D", "--body", "B", "--affects", "webh", "--depends-on", "feature.wor", "--json"
    )
    data = json.loads(done.stdout)["data"]
    assert data["relations_created"] == [
        "rel.decision-d-affects-feature-webhooks",
        "rel.decision-d-depends-on-feature-worker",
    ]


def test_without_text_and_terminal_nothing_is_added(root: Path) -> None:
    before = files_of(root)
    done = memglot(root, "add", "decision", "D")
    assert done.returncode == 2 and "--body" in done.stderr
    assert files_of(root) == before


def test_on_a_terminal_the_text_is_written_in_the_editor(root: Path, tmp_path: Path) -> None:
    program = editor(tmp_path, 'echo "Because." >> "$1"')
    status, shown = at_terminal(root, "add", "decision", "D", "--tag", "x", EDITOR=program)
    assert (status, shown) == (0, "created decision.d\n")
    assert body_of(root, "d") == "Because.\n" and sidecar(root, "memory/d.json")["tags"] == ["x"]


def test_an_editor_that_is_closed_without_a_text_adds_nothing(root: Path, tmp_path: Path) -> None:
    before = files_of(root)
    assert at_terminal(root, "add", "decision", "D", EDITOR="true") == (0, "Nothing changed.\n")
    assert files_of(root) == before


def test_adding_the_same_again_changes_nothing(root: Path) -> None:
    words = ("add", "decision", "D", "--body", "B")
    memglot(root, *words)
    before = files_of(root)
    assert memglot(root, *words).stdout == "Nothing changed: all of this is already stored.\n"
    assert files_of(root) == before


def test_a_dry_run_writes_nothing(root: Path) -> None:
    before = files_of(root)
    assert memglot(root, "add", "decision", "D", "--body", "B", "--dry-run").stdout == "would create decision.d\n"
    assert files_of(root) == before


def test_agents_can_name_themselves(root: Path) -> None:
    memglot(root, "add", "decision", "D", "--body", "B", "--actor", "agent", "--task", "move retries")
    assert sidecar(root, "memory/d.json")["source"] == {"kind": "agent", "task": "move retries"}
    assert [event["actor"] for event in events(root)] == ["agent"]


# Bodies end with a newline in stores that memglot made.


def test_bodies_of_new_stores_end_with_a_newline_and_their_hash_fits(root: Path) -> None:
    saved(root, nodes=[{"id": "project.acme-render", "body": "Two"}, feature("A", "One\n\n")])
    assert (body_of(root, "a"), body_of(root, "acme-render")) == ("One\n", "Two\n")
    saved(root, nodes=[{"id": "feature.a", "body": "Three"}])
    assert body_of(root, "a") == "Three\n"
    assert memglot(root, "check").stdout == "Memory is valid.\n"
    before = files_of(root)
    saved(root, nodes=[{"id": "feature.a", "body": "Three"}])
    assert files_of(root) == before


def test_other_stores_keep_their_style(tmp_path: Path) -> None:
    """The original tool writes no newline, and nor did earlier versions."""
    write_config(tmp_path)
    write_node(tmp_path, "project.demo", "# Demo\n", place="memory/project", tool=True)
    saved(tmp_path, nodes=[feature("A", "One")])
    assert (tmp_path / ".memory/memory/features/a.md").read_bytes() == b"One"
    other = tmp_path / "other"
    write_config(other)
    write_node(other, "project.demo", "Saved by an earlier version.")
    saved(other, nodes=[feature("A", "One")])
    assert (other / ".memory/memory/a.md").read_bytes() == b"One"


@pytest.mark.skipif(not FLAT.is_dir(), reason="the shared fixtures are not here")
def test_the_original_tool_kept_a_newline_and_hashed_it() -> None:
    """It saved this node of a store that it had not made: its title changed, its text did not."""
    fields = json.loads((FLAT / ".memory/memory/alpha.json").read_bytes())
    text = (FLAT / ".memory/memory/alpha.md").read_bytes()
    assert fields["title"] == "Alpha 2" and fields["updated_at"] > fields["created_at"]
    assert text.endswith(b"\n") and follows_tool(fields, text) is True
    assert follows_tool(fields, text.removesuffix(b"\n")) is None


# Listing, and short ids.


def test_list_filters_by_kind_status_tag_and_anchor(root: Path) -> None:
    saved(
        root,
        nodes=[
            feature("A", tags=["x", "y"], anchors=["src/billing/"]),
            feature("B", tags=["x"], anchors=["src/**/*.ts", "docs/a.md"]),
            {"kind": "question", "title": "Q", "body": "?"},
            {"kind": "question", "title": "R", "body": "?", "status": "closed"},
        ],
    )

    def ids(**filters: Any) -> set[str]:
        return {node["id"] for node in do(root, list_nodes, **filters)["data"]["nodes"]}

    assert ids() == {"feature.a", "feature.b", "question.q", "question.r", "project.acme-render"}
    assert ids(kinds=["question"], statuses=["open"]) == {"question.q"}
    assert ids(tags=["x"]) == {"feature.a", "feature.b"} and ids(tags=["x", "y"]) == {"feature.a"}
    assert ids(anchor="src/billing/retry.py") == {"feature.a"}
    assert ids(anchor="./src/billing/index.ts") == {"feature.a", "feature.b"}
    assert ids(anchor="docs") == {"feature.b"} and ids(anchor="src/billing") == {"feature.a"}
    assert ids(anchor="../outside") == set()


def test_an_empty_list_says_what_to_do(root: Path) -> None:
    assert memglot(root, "list", "--kind", "gotcha").stdout == "None of 1 nodes match. `memglot repo list` shows all.\n"
    remove_all = json.loads(memglot(root, "list", "--json").stdout)
    assert remove_all["data"]["total"] == 1


def test_short_ids_are_unique_beginnings(root: Path) -> None:
    known = ["decision.retries", "decision.retries-late", "feature.retry-queue", "gotcha.queue"]
    assert matching_ids("retries", known) == ["decision.retries"]  # An exact part wins.
    assert matching_ids("retries-", known) == ["decision.retries-late"]
    assert matching_ids("ret", known) == known[:3]
    assert matching_ids("feature.re", known) == ["feature.retry-queue"]
    assert matching_ids("re", known) == matching_ids("late", known) == []
    saved(root, nodes=[feature("Retry one"), feature("Retry two")])
    done = memglot(root, "close", "retry")
    assert done.returncode == 1
    assert "`retry` is the beginning of several ids: feature.retry-one, feature.retry-two." in done.stderr
    assert "`memglot repo list` shows all ids" in memglot(root, "inspect", "zzzz").stderr
    assert memglot(root, "inspect", "retry-t").returncode == 0
    assert not do(root, inspect, "retry-t")["ok"]  # Over MCP, ids are whole.


# Editing.


def test_options_change_fields_without_an_editor(root: Path) -> None:
    saved(root, nodes=[feature("A", "Old", tags=["x"])])
    done = memglot(root, "edit", "feature.a", "--title", "B", "--tag", "y", "--stage", "shipped", "--body", "New")
    assert (done.returncode, done.stdout) == (0, "updated feature.a\n")
    found = sidecar(root, "memory/a.json")
    assert (found["title"], found["tags"], found["stage"]) == ("B", ["y"], "shipped")
    assert body_of(root, "a") == "New\n"


def test_an_edit_opens_all_fields_and_the_text(root: Path, tmp_path: Path) -> None:
    saved(root, nodes=[feature("A", "One\n\nTwo", stage="building", tags=["x"], anchors=["src/{a,b}/", "c d/*"])])
    shown = "---\ntitle: A\nstatus: active\nstage: building\ntags:\n- x\nanchors:\n- src/{a,b}/\n- c d/*\n---\n\n"
    shown += "One\n\nTwo\n"
    assert do(root, open_node, "feature.a")["data"]["text"] == shown
    program = editor(tmp_path, 'sed -i -e "s/title: A/title: New: title/" -e "s/- x/- y/" -e "s/Two/Three/" "$1"')
    done = memglot(root, "edit", "feature.a", EDITOR=program)
    assert (done.returncode, done.stdout) == (0, "updated feature.a\n")
    found = sidecar(root, "memory/a.json")
    assert (found["title"], found["tags"], found["anchors"]) == ("New: title", ["y"], ["src/{a,b}/", "c d/*"])
    assert body_of(root, "a") == "One\n\nThree\n"


def test_lists_are_emptied_by_removing_their_lines(root: Path, tmp_path: Path) -> None:
    saved(root, nodes=[feature("A", tags=["x"], anchors=["a/"])])
    memglot(root, "edit", "feature.a", EDITOR=editor(tmp_path, 'sed -i "/^- \\|^tags/d" "$1"'))
    found = sidecar(root, "memory/a.json")
    assert found["tags"] == [] and "anchors" not in found


def test_an_edit_that_changes_nothing_writes_nothing(root: Path) -> None:
    saved(root, nodes=[feature("A", tags=["x"])])
    before = files_of(root)
    assert memglot(root, "edit", "feature.a", EDITOR="true").stdout == "Nothing changed.\n"
    assert files_of(root) == before


def test_without_a_terminal_a_text_that_cannot_be_saved_is_kept_in_a_file(root: Path, tmp_path: Path) -> None:
    saved(root, nodes=[feature("A")])
    before = files_of(root)
    program = editor(tmp_path, 'printf "\\nMy long text\\n<<<<<<< mine\\n" >> "$1"')
    done = memglot(root, "edit", "feature.a", EDITOR=program, TMPDIR=str(tmp_path))
    assert done.returncode == 3 and "conflict markers" in done.stderr.lower()
    assert files_of(root) == before
    (kept,) = tmp_path.glob("memglot-*/feature.a.md")
    assert f"correct it, and run `memglot repo edit feature.a --file {kept}`" in done.stderr
    kept.write_text(kept.read_text().replace("<<<<<<< mine\n", ""))
    assert memglot(root, "edit", "feature.a", "--file", str(kept)).stdout == "updated feature.a\n"
    assert body_of(root, "a").endswith("My long text\n")


def test_on_a_terminal_a_text_is_corrected_until_it_can_be_saved(root: Path, tmp_path: Path) -> None:
    saved(root, nodes=[feature("A")])
    program = editor(
        tmp_path, 'echo "Mine." >> "$1"; sed -i "s/^title/heading/" "$1"', 'sed -i "s/^heading/title/" "$1"'
    )
    status, shown = at_terminal(root, "edit", "feature.a", keys="y\n", EDITOR=program, TMPDIR=str(tmp_path))
    assert status == 0, shown
    assert "Line 2: `heading: A` is not a field; fields are title, status, stage, tags, anchors." in shown
    assert "Edit the text again?" in shown and shown.endswith("updated feature.a\n")
    assert body_of(root, "a") == "It works.\nMine.\n"
    assert not list(tmp_path.glob("memglot-*"))


def test_a_second_editor_that_fails_does_not_lose_the_text(root: Path, tmp_path: Path) -> None:
    saved(root, nodes=[feature("A")])
    program = editor(tmp_path, 'echo "Mine." >> "$1"; sed -i "s/^title/heading/" "$1"', "exit 3")
    status, shown = at_terminal(root, "edit", "feature.a", keys="y\n", EDITOR=program, TMPDIR=str(tmp_path))
    assert status != 0
    (kept,) = tmp_path.glob("memglot-*/feature.a.md")
    assert str(kept) in shown and "Mine." in kept.read_text()


def test_an_edit_of_a_node_that_changed_meanwhile_is_refused_and_kept(root: Path, tmp_path: Path) -> None:
    saved(root, nodes=[feature("A")])
    other = f'{sys.executable} -m memglot repo edit feature.a --body Theirs; echo "Mine." >> "$1"'
    done = memglot(root, "edit", "feature.a", EDITOR=editor(tmp_path, other), TMPDIR=str(tmp_path))
    assert done.returncode == 1 and "was changed while you were editing it" in done.stderr
    assert body_of(root, "a") == "Theirs\n"
    (kept,) = tmp_path.glob("memglot-*/feature.a.md")
    assert "Mine." in kept.read_text()


def test_without_an_editor_the_error_names_the_command_that_needs_none(root: Path) -> None:
    saved(root, nodes=[feature("A")])
    done = memglot(root, "edit", "feature.a", EDITOR="", VISUAL="")
    assert done.returncode == 3 and "memglot repo edit feature.a --body" in done.stderr


WRONG = {
    "no fields": ("Text only", "Line 1: The fields must be between two lines `---`."),
    "no end": ("---\ntitle: A\n", "Line 3: The fields must be between two lines `---`."),
    "twice": ("---\ntitle: A\ntitle: B\n---\nx", "Line 3: `title` is here a second time."),
    "unknown": ("---\ncolour: red\n---\nx", "Line 2: `colour: red` is not a field"),
    "stray item": ("---\n- a\n---\nx", "Line 2: `- a` is not a field"),
    "superseded": ("---\ntitle: A\nstatus: superseded\n---\nx", "run `memglot repo supersede OLD NEW`"),
    "status": ("---\ntitle: A\nstatus: done\n---\nx", "`done` is not a valid status."),
    "stage": ("---\ntitle: A\nstage: later\n---\nx", "`later` is not a valid stage."),
}


@pytest.mark.parametrize("text, message", WRONG.values(), ids=list(WRONG))
def test_a_wrong_document_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ProjectError) as error:
        new_node("feature", text, {})
    assert message in str(error.value)


def test_a_node_keeps_its_stage_and_status() -> None:
    before = document_of({"title": "A", "status": "active", "stage": "idea"}, "x")
    with pytest.raises(ProjectError, match="a node keeps its stage"):
        node_of(before.replace("stage: idea\n", ""), before)


LINE = st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1).map(str.strip).filter(bool)
TAGS = st.lists(st.from_regex(r"[a-z0-9][a-z0-9-]*", fullmatch=True), unique=True)


@given(LINE, TAGS, st.lists(LINE, unique=True), st.text().map(trimmed).filter(bool))
def test_a_document_returns_what_it_was_made_of(title: str, tags: list[str], anchors: list[str], body: str) -> None:
    node = node_of(document_of({"title": title, "tags": tags, "anchors": anchors, "status": "active"}, body))
    assert (node.title, node.tags or [], node.anchors or [], node.body) == (title, tags, anchors, body)


@given(LINE, TAGS, st.text().map(trimmed))
def test_a_document_that_nobody_changed_changes_nothing(title: str, tags: list[str], body: str) -> None:
    text = document_of({"title": title, "tags": tags, "status": "superseded", "stage": "idea"}, body)
    assert node_of(text, text) == FullSaveNode()


# Superseding, closing and deleting.


def test_supersede_marks_the_old_node_and_relates_the_new_one(root: Path) -> None:
    saved(root, nodes=[{"kind": "decision", "title": title, "body": title} for title in ("Old one", "New one")])
    done = memglot(root, "supersede", "old", "new", "--reason", "moved")
    assert (done.returncode, done.stdout) == (0, "created 1 relation\nupdated decision.old-one\n")
    found = sidecar(root, "memory/old-one.json")
    assert (found["status"], found["superseded_by"]) == ("superseded", "decision.new-one")
    assert [(event["actor"], event.get("reason")) for event in events(root)[-2:]] == [("user", "moved"), ("user", None)]


def test_close_closes_questions_and_relates_the_answer(root: Path) -> None:
    saved(root, nodes=[{"kind": "question", "title": title, "body": "?"} for title in ("Q one", "Q two")])
    saved(root, nodes=[{"kind": "decision", "title": "D one", "body": "B"}])
    assert do(root, close, ["q-one", "q-two"], answers=["d-one"])["data"]["memory_updated"] == [
        "question.q-one",
        "question.q-two",
    ]
    assert sidecar(root, "memory/q-one.json")["status"] == "closed"
    assert (root / ".memory/relations/decision-d-one-affects-question-q-two.json").exists()
    answer = do(root, close, ["d-one"])
    assert answer["error"]["message"].startswith("Only questions are closed.")
    assert memglot(root, "edit", "q-one", "--status", "open").returncode == 0
    assert sidecar(root, "memory/q-one.json")["status"] == "open"


def test_rm_asks_on_a_terminal_and_needs_yes_elsewhere(root: Path) -> None:
    saved(root, nodes=[feature("A"), feature("B", related=[{"predicate": "affects", "to": "feature.a"}])])
    before = files_of(root)
    done = memglot(root, "rm", "feature.a")
    assert done.returncode == 2 and "add `--yes`" in done.stderr
    status, shown = at_terminal(root, "rm", "feature.a", keys="n\n")
    assert status == 130 and "Delete `feature.a` (A) and 1 relation?" in shown
    assert files_of(root) == before
    assert memglot(root, "rm", "feature.a", "--dry-run").stdout == "would delete feature.a\nwould delete 1 relation\n"
    assert files_of(root) == before
    status, shown = at_terminal(root, "rm", "feature.a", keys="y\n")
    assert status == 0 and shown.endswith("deleted feature.a\ndeleted 1 relation\n")
    assert memglot(root, "rm", "feature.b", "--yes").stdout == "deleted feature.b\n"
    assert memglot(root, "rm", "project.acme-render", "--yes").returncode == 1


def test_nothing_is_written_if_one_of_several_ids_is_unknown(root: Path) -> None:
    saved(root, nodes=[feature("A")])
    before = files_of(root)
    answers = [
        do(root, remove, ["feature.a", "feature.no"]),
        do(root, supersede, "feature.a", "feature.no"),
        do(root, change, "feature.a", FullSaveNode(title="B"), [("affects", "feature.no")]),
        do(root, add, FullSaveNode(kind="gotcha", title="G", body="b"), [("affects", "feature.no")]),
    ]
    assert [answer["error"]["code"] for answer in answers] == ["MemoryObjectNotFound"] * 4
    assert files_of(root) == before


# Saving from a file, from a pipe, and at a terminal.

REQUEST = b'{"task": "t", "nodes": [{"kind": "gotcha", "title": "G", "body": "b"}]}'


@pytest.mark.parametrize("how", [["--stdin"], [], ["-"], ["given.json"]])
def test_save_reads_a_file_or_standard_input(root: Path, how: list[str]) -> None:
    (root / "given.json").write_bytes(b"\xef\xbb\xbf" + REQUEST)
    done = memglot(root, "save", *how, stdin=REQUEST)
    assert done.returncode == 0 and "- gotcha.g" in done.stdout
    assert sidecar(root, "memory/g.json")["source"] == {"kind": "agent", "task": "t"}


def test_save_at_a_terminal_shows_its_help_and_does_not_wait(root: Path) -> None:
    status, shown = at_terminal(root, "save")
    assert status == 0 and shown.startswith("Usage: memglot repo save [OPTIONS] [FILE]")


def test_a_person_who_saves_a_file_is_the_actor(root: Path) -> None:
    (root / "given.json").write_bytes(REQUEST)
    assert at_terminal(root, "save", "given.json")[0] == 0
    assert sidecar(root, "memory/g.json")["source"] == {"kind": "user", "task": "t"}
    memglot(root, "save", "--actor", "user", stdin=REQUEST.replace(b'"G"', b'"H"'))
    assert [event["actor"] for event in events(root)] == ["user", "user"]


@pytest.mark.parametrize("words", [["missing.json"], ["."], ["given.json", "--stdin"]])
def test_a_file_that_cannot_be_read_is_a_usage_error(root: Path, words: list[str]) -> None:
    (root / "given.json").write_bytes(REQUEST)
    done = memglot(root, "save", *words)
    assert done.returncode == 2 and words[0] in done.stderr.replace("FILE", "given.json")


INVALID = {
    "middle": (b'{"task": "t",\n "nodes": [\xc3\xa9]}', 2, 12),
    "comma": (b'{"task": "t",\n\n}', 3, 1),
    "truncated": (b'{"task":\n "t"', 2, 5),
    "not UTF-8": (b'{"task":\n "\xff"}', 2, 3),
    "a second value": (b"{}\n{}", 2, 1),
}


@pytest.mark.parametrize("text, line, column", INVALID.values(), ids=list(INVALID))
def test_invalid_json_is_reported_with_line_and_column(text: bytes, line: int, column: int) -> None:
    with pytest.raises(ProjectError) as error:
        decode_json(text, "given.json")
    details = error.value.details or {}
    assert (details.get("line"), details.get("column"), details["source"]) == (line, column, "given.json")
    assert f"line {line}, column {column}: " in str(error.value)


def test_an_empty_input_is_called_empty(root: Path) -> None:
    done = memglot(root, "save")
    assert done.returncode == 1
    assert "Save input contains invalid JSON: the text is empty." in done.stderr
    assert str(place_of(b" \n", ValueError("x"))) == "the text is empty"


def test_check_names_the_line_of_a_broken_sidecar(root: Path) -> None:
    saved(root, nodes=[feature("A")])
    path = root / ".memory/memory/a.json"
    path.write_text(path.read_text().replace('"status"', "status"))
    found = json.loads(memglot(root, "check", "--json").stdout)["data"]["errors"]
    assert any("line " in issue["message"] and "column 3" in issue["message"] for issue in found)


# Completion.


def test_completion_knows_ids_and_tags(root: Path) -> None:
    saved(root, nodes=[feature("Retry queue", tags=["billing"]), feature("Other")])

    def complete(words: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", "from memglot.cli.main import cli; cli(prog_name='memglot')"],
            cwd=root,
            capture_output=True,
            text=True,
            env=os.environ
            | {
                "_MEMGLOT_COMPLETE": "bash_complete",
                "COMP_WORDS": f"memglot repo {words}",
                "COMP_CWORD": str(len(words.split()) + 1),
                "MEMORY_HOME": str(root.parent / "home"),
            },
        )
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert complete("edit ret") == complete("inspect feature.ret") == ["feature.retry-queue"]
    assert complete("list --tag bil") == ["billing"]


def test_an_edit_backs_up_what_was_not_committed(root: Path) -> None:
    saved(root, nodes=[feature("A")])
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    (root / ".memory/memory/a.md").write_text("By hand.\n")
    done = memglot(root, "edit", "feature.a", "--body", "Other")
    assert "backed up .memory/memory/a.md to .memory/recovery/" in done.stdout
    assert [path.read_text() for path in (root / ".memory/recovery").rglob("a.md")] == ["By hand.\n"]


def test_the_whole_store_stays_as_it_was_when_a_change_is_refused(tmp_path: Path) -> None:
    write_store(tmp_path)
    before = files_of(tmp_path)
    assert save(tmp_path, nodes=[{"id": "feature.alpha", "status": "open"}])["ok"] is False
    assert memglot(tmp_path, "edit", "alpha", "--tag", "Not a tag").returncode == 1
    assert files_of(tmp_path) == before
