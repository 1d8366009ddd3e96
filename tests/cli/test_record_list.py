"""`memglot`, `list` and `search` as people see them: on a terminal and in pipes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_terminal import FORBIDDEN, HOSTILE, on_terminal

from memglot import Memory
from memglot.cli.main import COMMANDS, GROUPS, cli, run
from memglot.cli.session import Session
from memglot.cli.style import age

COLOURS = re.compile("\x1b\\[(33|1|2|0|1;31)m")
ENDING = "1234abcd"
ID = f"0194a000-0001-7000-8000-0000{ENDING}"


@pytest.fixture
def store(store_path: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with a few memories, used by all commands."""
    with Memory.open(store_path) as memory:
        memory.add(
            "The task queue is in PostgreSQL", id=ID, title="Queues", tags=["a", "b", "c", "d", "e"], tree="work"
        )
        memory.add("Queued tasks run at night " + "and more " * 60 + "in the queue")
    monkeypatch.setenv("MEMGLOT_STORE", store_path)
    monkeypatch.setenv("PAGER", "cat")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    return store_path


def printed(*arguments: str) -> str:
    """Return what a command writes to a pipe."""
    done = CliRunner().invoke(cli, list(arguments), obj=Session())
    assert done.exit_code == 0, done.output
    return done.stdout


def test_matched_words_are_coloured_on_a_terminal_only(store: str) -> None:
    shown = on_terminal(["search", "task", "queue"])
    assert "\x1b[1;31mtask\x1b[0m \x1b[1;31mqueue\x1b[0m" in shown
    assert f"\x1b[33m{ENDING}\x1b[0m  \x1b[1mQueues\x1b[0m" in shown
    assert "#a #b #c +2" in shown
    assert "\x1b" not in printed("search", "task", "queue")


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_switched_off(store: str, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert "\x1b" not in on_terminal(["search", "queue"])


def test_hostile_text_stays_escaped_between_colours(store: str) -> None:
    with Memory.open(store) as memory:
        memory.add(f"queue {HOSTILE}", title=HOSTILE, tags=[HOSTILE])
    for arguments in (["search", "queue"], ["list"]):
        shown = COLOURS.sub("", on_terminal(arguments))
        assert FORBIDDEN.search(shown) is None
        assert "\\u001b" in shown


def test_lines_fit_the_terminal(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    for arguments in (["list"], ["search", "queue"]):
        lines = COLOURS.sub("", on_terminal(arguments)).splitlines()
        assert max(map(len, lines)) <= 60 or arguments[0] == "search" and "·" in max(lines, key=len)


def test_the_passage_with_the_words_is_shown(store: str) -> None:
    with Memory.open(store) as memory:
        memory.add("nothing of interest " * 50 + "the zebra crossing " + "nothing more " * 50)
    assert "the zebra crossing" in printed("search", "zebra")


def test_long_lists_go_through_the_pager(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory.open(store) as memory:
        memory.import_from(b"".join(b'{"content":"row %d"}\n' % number for number in range(60)), format="ndjson")
    target = tmp_path / "paged"
    monkeypatch.setenv("PAGER", f"tee {target}")
    on_terminal(["list", "--limit", "5"])
    assert not target.exists()
    on_terminal(["list", "--limit", "60"])
    assert target.read_text(encoding="utf-8").count("row ") == 60
    monkeypatch.setenv("PAGER", "no-such-program")
    assert on_terminal(["list", "--limit", "60"]).count("row ") == 60


@pytest.mark.parametrize("text", [ENDING, ENDING[-6:], ID[:30], ID])
def test_what_is_shown_can_be_pasted(store: str, text: str) -> None:
    assert "The task queue" in printed("get", text)
    assert ENDING in printed("list")


def test_shown_endings_grow_until_they_are_unique(store: str) -> None:
    with Memory.open(store) as memory:
        memory.add("other", id=f"0194a000-0002-7000-8000-0009{ENDING}")
        memory.add("third", id=f"0194a000-0003-7000-8000-0009{ENDING}")
    endings = [line.split()[0] for line in printed("list").splitlines()[:-1]]
    for ending in endings:
        assert printed("get", ending)
    assert f"00{ENDING}" not in endings and f"0{ENDING}" not in endings[:2]


def test_short_ids_that_fit_several_memories_are_refused(store: str) -> None:
    with Memory.open(store) as memory:
        memory.add("other", id=f"0194a000-0002-7000-8000-0009{ENDING}")
    done = CliRunner().invoke(cli, ["get", ENDING], obj=Session())
    assert type(done.exception).__name__ == "Ambiguous"


def test_formats_of_lists(store: str) -> None:
    assert printed("list", "--format", "ids").split()[-1] == ID
    assert printed("list", "--format", "ndjson").count('"content"') == 2
    assert printed("list", "--format", "json") == printed("list", "--json")
    assert printed("search", "queue", "--format", "ids").split()[0] in printed("list", "--format", "ids")
    assert '"score"' in printed("search", "queue", "--format", "ndjson")


def test_words_need_no_quotation_marks(store: str) -> None:
    assert printed("search", "task", "queue") == printed("search", "task queue")
    assert "1 found" in printed("search", "the task queue is", "postgresql")


def test_nothing_found_suggests_what_to_try(store: str) -> None:
    assert "leave out a filter" in printed("search", "zzz", "--tree", "work")
    assert "memglot list" in printed("search", "zzz")


def test_the_overview_names_the_next_step(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Session(), []) == 0
    assert "2 memories in" in capsys.readouterr().out
    assert run(Session(), ["--store", str(tmp_path / "none.db")]) == 0
    text = capsys.readouterr().out
    assert "Nothing is stored yet" in text and not (tmp_path / "none.db").exists()
    for title in ("everyday", "exchange", "agents", "projects", "care"):
        assert f"\n  {title}" in text


def test_every_command_is_in_one_group() -> None:
    names = [name for group in GROUPS.values() for name in group.split()]
    assert sorted(names) == sorted(COMMANDS)


@pytest.mark.parametrize(
    "arguments", [["repo"], ["mcp", "install"], ["mcp", "uninstall"], ["sync"], ["completion"], ["entity"]]
)
def test_groups_alone_show_their_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Session(), arguments) == 0
    assert "Usage: memglot" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3, "just now"), (60, "1 min ago"), (7_300, "2 hours ago"), (86_400 * 3, "3 days ago"), (-5, "in the future")],
)
def test_ages(seconds: int, text: str) -> None:
    assert age(seconds * 1_000_000) == text
