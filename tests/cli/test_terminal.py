"""Stored text on a terminal: every command runs in a pseudo-terminal on a store and a project full of hostile text."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from memglot import Memory
from memglot.cli.main import cli, main
from memglot.cli.terminal import safe_stream
from memglot.display import visible
from repo_projects import git, new_project
from repo_stores import write_node

READABLE = "می\u200cخواهم 👨\u200d👩\u200d👧 日本 é"
HOSTILE = (
    "\x1b]0;owned\x07\x1b[2J\x1b]8;;https://e.x\x1b\\\x9b31m\x85\x90\u202eevil\u2066\u200e\u200f\u061c\b\b\b\r\x7f\x0b\x0c"
    "\u200b\u2060\ufeff\u00ad\u3164\U000e0041\u2028[red]x[/red][link=https://e.x]y[/link]" + READABLE
)
"""Text as a file or an agent may store it."""
NAME = HOSTILE.replace("/", "-")
"""The same as a file name."""
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\U000e0000-\U000e007f]|\r(?!\r*\n)"
)
"""What no output may contain; the terminal itself turns `\\n` into `\\r\\n`."""
ONE, TWO = "0194a000-0001-7000-8000-000000000001", "0194a000-0002-7000-8000-000000000002"
ENTITY = f"entity:person:{HOSTILE}"

Calls = list[list[str]]
SHOWN: dict[str, Calls] = {
    "add": [["add", "x", "--tree", HOSTILE], ["add", "x", "--id", HOSTILE]],
    "audit": [["audit"]],
    "chain": [["chain"]],
    "config get": [["config", "get", HOSTILE]],
    "config set": [["config", "set", "machine", HOSTILE], ["config"]],
    "config unset": [["config", "unset", HOSTILE]],
    "conflicts": [["conflicts"], ["conflicts", "show", ONE], ["conflicts", "resolve", ONE, HOSTILE]],
    "convert": [["convert", "hostile.json", "-"], ["convert", "hostile.json", "-", "--to", "markdown"]],
    "diff": [["diff", "hostile.json", "other.json"]],
    "entities": [["entities"]],
    "export": [["export"], ["export", "-f", "yaml"], ["export", "-f", "csv"], ["export", HOSTILE + "/x.zip"]],
    "get": [["get", ONE], ["get", HOSTILE]],
    "history": [["history", ONE]],
    "identity": [["identity"], ["identity", "history"]],
    "import": [["import", NAME + ".json"], ["import", NAME], ["import", "bad.json"]],
    "imports": [["imports"]],
    "list": [["list"], ["list", "--tree", HOSTILE]],
    "relations": [["relations"], ["relations", HOSTILE]],
    "restore": [["restore", NAME + ".json"]],
    "scope": [["scope"], ["scope", "sensitive", HOSTILE]],
    "search": [["search", "evil"], ["search", "evil", "--budget", "500"], ["search", HOSTILE + "("]],
    "stats": [["stats"]],
    "sync export": [["sync", "export", "--plaintext"], ["sync", "export", f"--out={NAME}"]],
    "tags rename": [["tags"], ["tags", "rename", HOSTILE, "x"]],
    "verify": [["verify", NAME + ".json"]],
    "mcp install": [["mcp", "install", "cursor", "--project", "--root", NAME + "-folder", "--dry-run"]],
    "mcp uninstall": [["mcp", "uninstall", "cursor", "--name", HOSTILE]],
    "repo close": [["repo", "close", HOSTILE]],
    "repo edit": [["repo", "edit", HOSTILE, "--title", "x"]],
    "repo list": [["repo", "list"]],
    "repo map": [["repo", "map"]],
    "repo rm": [["repo", "rm", HOSTILE, "--yes"]],
    "repo supersede": [["repo", "supersede", HOSTILE, "decision.evil"]],
    "repo check": [["repo", "check"]],
    "repo diff": [["repo", "diff"]],
    "repo inspect": [["repo", "inspect", "decision.evil"], ["repo", "inspect", HOSTILE]],
    "repo projects add": [["repo", "projects", "add"]],
    "repo projects list": [["repo", "projects", "add"], ["repo", "projects", "list"]],
    "repo projects remove": [["repo", "projects", "remove", HOSTILE]],
    "repo query": [["repo", "query", "evil"]],
    "repo restore": [["repo", "restore", HOSTILE]],
    "repo status": [["repo", "status"], ["repo", "status", "--all"]],
    "repo sync": [["repo", "sync", "--dry-run"]],
}
"""Calls that print stored text, or text from the command line; at least one of a command must show it escaped."""
SILENT: dict[str, Calls] = {
    "backup": [["backup", NAME + ".db"]],
    "compact": [["compact"]],
    "completion": [["completion", "bash"]],
    "config edit": [["config", "edit"]],
    "config path": [["config", "path"]],
    "consolidate": [["consolidate"]],
    "copy": [["copy", "a", "b"]],
    "delete": [["delete", ONE, "--reason", HOSTILE]],
    "delete-tree": [["delete-tree", "a"]],
    "demo": [["demo", "sample"]],
    "doctor": [["doctor"]],
    "edit": [["edit", ONE]],
    "embed": [["embed"]],
    "entity": [["entity", "add", HOSTILE, "--type", HOSTILE]],
    "formats": [["formats"]],
    "help": [["help"]],
    "link": [["link", ONE, HOSTILE, TWO]],
    "mcp token": [["mcp", "token", "--token-file", "token"]],
    "mcp tools": [["mcp", "tools"]],
    "move": [["move", "a", "b"]],
    "repo add": [["repo", "add", "decision", HOSTILE, "--body", HOSTILE]],
    "repo init": [["repo", "init"], ["repo", "init", "--brief"], ["repo", "init", "--force", "--dry-run"]],
    "repo projects prune": [["repo", "projects", "prune"]],
    "repo rebuild": [["repo", "rebuild"]],
    "repo reset": [["repo", "reset", "--dry-run"], ["repo", "reset"]],
    "repo save": [["repo", "save", "--stdin"]],
    "repo view": [["repo", "view"]],
    "serve": [["serve"]],
    "supersede": [["supersede", ONE, TWO, "--reason", HOSTILE]],
    "sync diff-with-remote": [["sync", "diff-with-remote", "--from=hostile.json"]],
    "sync import": [["sync", "import", "--from=hostile.json"]],
    "tree": [["tree"]],
    "undelete": [["undelete", HOSTILE]],
    "undo": [["undo", "last"]],
    "unlink": [["unlink", ONE, HOSTILE, TWO]],
    "update": [["update", ONE, "--title", HOSTILE]],
}
"""Calls that need not show any of it."""


def _commands(command: click.Command, context: click.Context, path: tuple[str, ...] = ()) -> Iterator[str]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _commands(found, context, (*path, name))
    else:
        yield " ".join(path)


def test_every_command_has_a_case() -> None:
    assert set(_commands(cli, click.Context(cli))) == SHOWN.keys() | SILENT.keys()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a hostile project memory, and a hostile store next to it."""
    folder = tmp_path_factory.mktemp("hostile")
    root = new_project(folder, "project")
    write_node(root, "decision.evil", f"evil {HOSTILE}\n", title=HOSTILE, tags=[HOSTILE], anchors=[f"src/{NAME}"])
    (root / ".memory/memory" / f"{NAME}.json").write_text("{", encoding="utf-8")
    (root / NAME).write_text("{", encoding="utf-8")
    git(root, "checkout", "-q", "-b", "evil\u202e\x9b31m")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "start")
    write_node(root, "decision.other", f"Other {HOSTILE}\n", title=HOSTILE)
    config = json.loads((root / ".memory/config.json").read_text("utf-8"))
    config["project"]["name"] = HOSTILE
    (root / ".memory/config.json").write_text(json.dumps(config), encoding="utf-8")
    (root / f"{NAME}-folder").mkdir()
    _write_inputs(root)
    _fill_store(root)
    return root


def _write_inputs(root: Path) -> None:
    record = {"id": ONE, "content": f"evil {HOSTILE}", "meta": {HOSTILE: HOSTILE}}
    (root / "hostile.json").write_text(json.dumps([record]), encoding="utf-8")
    (root / "other.json").write_text(json.dumps([record | {"content": HOSTILE * 2}]), encoding="utf-8")
    (root / f"{NAME}.json").write_text('{"content": 3', encoding="utf-8")
    (root / "bad.json").write_text(json.dumps([{"content": "x", "tree": HOSTILE}]), encoding="utf-8")


def _fill_store(root: Path) -> None:
    with Memory.open(str(root / "store.db"), write=True) as memory:
        for id, text in ((ONE, f"evil {HOSTILE}"), (TWO, HOSTILE)):
            memory.add(
                text,
                id=id,
                title=HOSTILE,
                tree="a.b",
                kind=HOSTILE,
                scope=HOSTILE,
                tags=[HOSTILE],
                meta={HOSTILE: HOSTILE},
                source={"tool": HOSTILE, HOSTILE: HOSTILE},
            )
        memory.update(ONE, content=f"evil twice {HOSTILE}")
        entity = memory.add_entity(HOSTILE, HOSTILE, aliases=[HOSTILE])
        memory.link(ONE, HOSTILE, f"entity:{entity.id.removeprefix('entity:')}")
        memory.link(ONE, HOSTILE, TWO)
        memory.supersede(ONE, TWO, reason=HOSTILE)
        memory.set_identity(HOSTILE)
        memory.set_identity(HOSTILE * 2)
        for content in ("one", HOSTILE):
            stored = {"id": TWO, "content": content, "updated_at": "2031-01-01T00:00:00Z"}
            memory.import_from(json.dumps([stored]).encode(), conflict="merge")
        (root / f"{NAME}.csv").write_text("content\n" + "hostile row\n", encoding="utf-8")
        memory.import_from(root / f"{NAME}.csv")


@pytest.fixture
def place(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that a command may change."""
    root = tmp_path / "project"
    shutil.copytree(prepared, root)
    monkeypatch.chdir(root)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMORY_HOME", str(tmp_path / "registry"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("PAGER", "cat")
    monkeypatch.setenv("MEMGLOT_STORE", str(root / "store.db"))
    return root


SAVE = json.dumps({"task": "evil", "nodes": [{"kind": "decision", "title": "Evil", "body": HOSTILE}]})


def on_terminal(arguments: list[str], stdin: str = SAVE) -> str:
    """Run memglot in a forked process on a pseudo-terminal, and return what the terminal gets."""
    reader, writer = os.pipe()
    os.write(writer, stdin.encode())
    os.close(writer)
    child, terminal = pty.fork()
    if child == 0:
        try:
            os.dup2(reader, 0)
            sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8")
            sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
            sys.argv = ["memglot", *arguments]
            main(arguments)
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.close(reader)
    found = b""
    try:
        while block := os.read(terminal, 1 << 16):
            found += block
    except OSError:
        pass  # The child closed the terminal.
    os.close(terminal)
    os.waitpid(child, 0)
    return found.decode("utf-8")


@pytest.mark.parametrize("name", [*SHOWN, *SILENT])
def test_no_command_sends_control_characters_of_stored_text(name: str, place: Path) -> None:
    shown = ""
    for call in SHOWN.get(name) or SILENT[name]:
        for options in ([], ["--json"]):
            output = on_terminal([*call, *options])
            assert not FORBIDDEN.search(output), (call, output)
            assert "internal error" not in output
            shown += output
    if name in SHOWN:
        assert re.search(r"\\u001b|\\x1b", shown), shown


def test_the_check_notices_a_raw_control_character(place: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "memglot", "get", ONE], capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout
    assert FORBIDDEN.search(shown)


def test_text_in_a_pipe_is_exact(place: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "memglot", "get", ONE], capture_output=True, check=True)
    assert f"evil twice {HOSTILE}".encode() in done.stdout


def test_json_on_a_terminal_is_the_same_json(place: Path) -> None:
    piped = subprocess.run([sys.executable, "-m", "memglot", "get", ONE, "--json"], capture_output=True, check=True)
    assert json.loads(on_terminal(["get", ONE, "--json"])) == json.loads(piped.stdout)


def test_joiners_and_other_scripts_stay_readable(place: Path) -> None:
    assert READABLE in on_terminal(["get", ONE])


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_characters_and_line_ends_may_be_split_between_writes() -> None:
    screen = _Screen(newline="")
    stream: Any = safe_stream(screen)
    for byte in "é\x9b\r\n日\rx\t\n".encode():
        stream.buffer.write(bytes([byte]))
    stream.buffer.write(b"\xff\r")
    stream.flush()
    assert screen.getvalue() == "é\\u009b\r\n日\\u000dx\t\n\\xff\\u000d"


def test_a_stream_is_wrapped_once_and_a_file_not_at_all() -> None:
    stream = safe_stream(_Screen())
    assert safe_stream(stream) is stream
    plain = io.StringIO()
    assert safe_stream(plain) is plain


def test_flags_made_of_tag_characters_stay() -> None:
    england = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    assert visible(england) == england
    assert visible("\U000e0067") == "\\udb40\\udc67"


def test_a_progress_bar_shows_names_as_text(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from memglot.cli.terminal import safe_stream\n"
        "sys.stderr = safe_stream(sys.stderr)\n"
        "from memglot.cli import progress\n"
        "from memglot.report import Progress\n"
        "progress._DELAY = 0.0\n"
        "shown = Progress()\n"
        "shown.source = '[red]\\x1b]0;owned\\x07[link=https://e.x]'\n"
        "with progress.Bar('importing') as bar:\n"
        "    bar.show(shown)\n"
        "    print('\\x1b]0;note\\x07', file=sys.stderr)\n"
    )
    reader, terminal = os.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen([sys.executable, "-c", program], stderr=terminal, env=environment):
        os.close(terminal)
        found = b""
        try:
            while block := os.read(reader, 1 << 16):
                found += block
        except OSError:
            pass  # The process closed the terminal.
    os.close(reader)
    assert b"importing [red]\\u001b]0;owned\\u0007[link=https://e.x]" in found
    assert b"\\u001b]0;note" in found
    assert b"\x1b]" not in found
