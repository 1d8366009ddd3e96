"""The configuration file: what it sets, what is wrong with it, and changes that keep everything else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot import Memory, config, settings
from memglot.cli.main import run
from memglot.cli.session import Session
from memglot.config import checked, known_setting, parse_value, set_value, unset_value
from memglot.errors import CannotWrite, UsageError
from memglot.settings import SETTINGS, config_path, find_setting, setting


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "settings" / "config.toml"
    monkeypatch.setenv("MEMGLOT_CONFIG", str(path))
    for one in SETTINGS:
        for variable in one.variables:
            monkeypatch.delenv(variable, raising=False)
    path.parent.mkdir()
    return path


def test_the_environment_replaces_the_file_and_the_file_the_default(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_setting("machine").origin == "default"
    path.write_text('# mine\nmachine = "mill"\n')
    assert find_setting("machine") == ("mill", f"{path}:2")
    monkeypatch.setenv("MEMGLOT_MACHINE", "desk")
    assert find_setting("machine") == ("desk", "$MEMGLOT_MACHINE")


def test_an_empty_variable_is_not_set_but_for_the_pager(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("MEMGLOT_MACHINE", "PAGER", "EDITOR"):
        monkeypatch.setenv(variable, "")
    path.write_text('machine = "mill"\npager = "more"\neditor = "ed"\n')
    assert (setting("machine"), setting("pager"), settings.pager(), setting("editor")) == ("mill", "", None, "ed")


def test_python_and_the_server_use_the_store_of_the_file(path: Path, tmp_path: Path) -> None:
    path.write_text(f'store = "{tmp_path / "mine.db"}"\n')
    with Memory.open() as memory:
        memory.add("in my store")
    with Memory.open(tmp_path / "mine.db", write=False) as memory:
        assert memory.count() == 1


def test_a_file_that_changes_is_read_again(path: Path) -> None:
    path.write_text('machine = "mill"')
    assert setting("machine") == "mill"
    path.write_text('machine = "desk 2"')
    assert setting("machine") == "desk 2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nstorre = 1", "unknown key `storre` in `{path}`, line 2"),
        ("[search]\nlimits = 1", "unknown key `search.limits` in `{path}`, line 2"),
        ("[searches]\nlimit = 1", "unknown key `searches` in `{path}`, line 1"),
        ("search = {mode = 'fulltext', fast = true}", "unknown key `search.fast` in `{path}`, line 1"),
        ("search = 5", "unknown key `search` in `{path}`, line 1"),
        ("search.limit = -1", "`search.limit` must be a whole number from 0, not `-1` (`{path}`, line 1)"),
        ("search.limit = true", "`search.limit` must be a whole number from 0, not `true` (`{path}`, line 1)"),
        ("progress = 'yes'", "`progress` must be `true` or `false`, not `yes` (`{path}`, line 1)"),
        ("color = 'always'", "`color` must be one of auto, never, not `always` (`{path}`, line 1)"),
        ("store = 'notes.db'", "`store` must be an absolute path or begin with `~`, not `notes.db` (`{path}`, line 1)"),
        ("a = [", "`{path}` is not valid TOML: Invalid value (at line 1, the end of the file)"),
        ("a = " + "[" * 5_000, "`{path}` is not valid TOML: it is nested too deeply"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_line(path: Path, text: str, message: str) -> None:
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        setting("machine")
    assert str(error.value) == message.format(path=path) and error.value.hint


@pytest.mark.parametrize("content", [b"\xff\xfe", b"#" * 2_000_000, None])
def test_a_file_that_cannot_be_read_is_an_error(path: Path, content: bytes | None) -> None:
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(UsageError):
        setting("machine")


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("storre", "did you mean `store`?"),
        ("limit", "did you mean `list.limit`?"),
        ("mode", "did you mean `search.mode`?"),
        ("quux", "`memglot config` lists all settings"),
    ],
)
def test_the_nearest_setting_is_named(wrong: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        known_setting(wrong)
    assert error.value.hint == hint


def test_every_setting_accepts_its_default_and_a_typed_value() -> None:
    for one in SETTINGS:
        assert checked(one, settings.default_of(one)) == settings.default_of(one)
        assert type(parse_value(one, {int: "7", bool: "no", str: one.choices[0] if one.choices else "x"}[one.type]))


def test_settings_of_commands_are_options_of_them() -> None:
    from click import Context

    from memglot.cli.main import cli

    for one in SETTINGS:
        command, dot, option = one.name.partition(".")
        if dot:
            found = cli.get_command(Context(cli), command)
            assert found is not None and option in {param.name for param in found.params}


TEXT = """\
# About the store
store = "/a" # where

# Colours
color = "auto"

# About searches
[search] # table
limit = 3 # three
# mode = "semantic"

[list]
"""


@pytest.mark.parametrize(
    ("name", "value", "before", "after"),
    [
        ("store", "/b", TEXT, TEXT.replace('"/a"', '"/b"')),
        ("search.limit", 5, TEXT, TEXT.replace("limit = 3", "limit = 5")),
        ("search.mode", "hybrid", TEXT, TEXT.replace("three\n", 'three\nmode = "hybrid"\n')),
        ("list.limit", 9, TEXT, TEXT + "limit = 9\n"),
        ("progress", False, TEXT, TEXT.replace('"auto"\n', '"auto"\nprogress = false\n')),
        ("import.embed", True, TEXT, TEXT + "\n[import]\nembed = true\n"),
        ("store", "/a", "", 'store = "/a"\n'),
        ("store", "/a", "# only a comment", '# only a comment\nstore = "/a"\n'),
        ("search.limit", 1, "", "[search]\nlimit = 1\n"),
        ("store", "/a", "# a\n\n# b\n[list]\n", '# a\n\nstore = "/a"\n\n# b\n[list]\n'),
        ("search.mode", "hybrid", "search.limit = 1", 'search.limit = 1\nsearch.mode = "hybrid"\n'),
        ("search.limit", 2, "search = {limit = 1}", None),
        ("machine", 'a"\u007f\\ä', "", 'machine = "a\\"\\u007f\\\\ä"\n'),
        ("store", "/b", 'store = "/a"\r\n[list]\r\nlimit = 1', 'store = "/b"\r\n[list]\r\nlimit = 1'),
        ("list.limit", 2, "[list]\r\n# x", "[list]\r\nlimit = 2\r\n# x"),
    ],
)
def test_one_value_is_changed_and_nothing_else(
    path: Path, name: str, value: Any, before: str, after: str | None
) -> None:
    path.write_bytes(before.encode())
    if after is None:
        with pytest.raises(UsageError, match="nothing was changed"):
            set_value(path, known_setting(name), value)
        after = before
    else:
        set_value(path, known_setting(name), value)
        assert setting(name) == value
    assert path.read_bytes().decode() == after


def test_a_key_is_removed_with_its_line(path: Path) -> None:
    path.write_text(TEXT + "other = 5")
    assert unset_value(path, "color") and unset_value(path, "search.limit") and unset_value(path, "list.other")
    assert not unset_value(path, "color") and not unset_value(path, "nothing")
    assert path.read_text() == TEXT.replace('color = "auto"\n', "").replace("limit = 3 # three\n", "")
    path.write_text("search = {limit = 1}")
    with pytest.raises(UsageError):
        unset_value(path, "search.limit")


_LINES = st.sampled_from(
    [
        *("", "# note", 'store = "/x" # s', 'color = "never"', "progress = true", "[search]", "limit = 1"),
        *('  mode = "hybrid"', "[list]", "[import]", "embed = true", "[[other]]", "a.b = [1,", "2] # c"),
        *("'list'.limit = 3", 'x = """', '"""'),
    ]
)
_VALUES = {str: "/v", int: 42, bool: True}


@given(lines=st.lists(_LINES, max_size=12), chosen=st.sampled_from(SETTINGS), end=st.sampled_from(["\n", "\r\n"]))
def test_any_valid_file_keeps_its_other_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], chosen: settings.Setting, end: str
) -> None:
    text = end.join(lines)
    try:
        before = tomllib.loads(text)
    except ValueError:
        return
    path = tmp_path_factory.getbasetemp() / "law.toml"
    path.write_bytes(text.encode())
    value = chosen.choices[-1] if chosen.choices else _VALUES[chosen.type]
    try:
        set_value(path, chosen, value)
    except UsageError:
        assert path.read_bytes().decode() == text
        return
    after = tomllib.loads(path.read_text())
    table, dot, key = chosen.name.rpartition(".")
    assert (after[table] if dot else after)[key] == value
    kept = path.read_text().splitlines()
    assert any(json.dumps(value) in line for line in kept)
    assert [line for line in lines if line and line not in kept and key not in line] == []
    assert unset_value(path, chosen.name)
    assert config._flat(tomllib.loads(path.read_text())) == [
        (name, found) for name, found in config._flat(before) if name != chosen.name
    ]


def test_a_link_stays_a_link_and_keeps_its_mode(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.toml"
    target.write_text('color = "auto"\n')
    target.chmod(0o640)
    path.symlink_to(target)
    set_value(path, known_setting("color"), "never")
    assert path.is_symlink() and target.read_text() == 'color = "never"\n'
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises((CannotWrite, UsageError)):
        set_value(tmp_path / "file" / "config.toml", known_setting("color"), "never")


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, ".config/memglot/config.toml"),
        ("linux", {"XDG_CONFIG_HOME": "{home}/conf"}, "conf/memglot/config.toml"),
        ("darwin", {"XDG_CONFIG_HOME": "{home}/conf"}, "Library/Application Support/memglot/config.toml"),
        ("win32", {}, "AppData/Roaming/memglot/config.toml"),
        ("win32", {"APPDATA": "{home}/Roam"}, "Roam/memglot/config.toml"),
    ],
)
def test_the_file_is_in_the_folder_of_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: str
) -> None:
    for name in ("MEMGLOT_CONFIG", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(home=tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    assert config_path() == tmp_path / expected


def test_a_broken_file_stops_commands_but_neither_help_nor_config(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMGLOT_STORE", str(tmp_path / "store.db"))
    path.write_text("nonsense")
    assert run(Session(), ["search", "x"]) == 2 and run(Session(), ["list"]) == 2
    assert "line 1" in capsys.readouterr().err
    for call in (["--help"], ["search", "--help"], ["list", "--help"], ["config", "path"], ["config", "--help"], []):
        assert run(Session(), call) == 0, call
    assert run(Session(), ["config"]) == 2
    shown = capsys.readouterr()
    assert "search.limit" in shown.out and "line 1" in shown.err
    assert run(Session(), ["config", "set", "color", "never"]) == 2
    assert path.read_text() == "nonsense"


def test_the_passphrase_file_of_the_settings_is_used(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memglot.cli.passphrase import passphrase

    secret = tmp_path / "secret"
    secret.write_text("open sesame\n")
    path.write_text(f'passphrase_file = "{secret}"')
    assert passphrase(None, ask=False) == "open sesame"
    monkeypatch.setenv("MEMGLOT_PASSPHRASE", "other")
    assert passphrase(None, ask=False) == "other"


def test_the_command_line_without_a_file_does_not_read_toml() -> None:
    code = "import sys; from memglot.cli.main import run; from memglot.cli.session import Session\n"
    code += "run(Session(), ['--help']); assert not {'tomllib', 'memglot.config', 'msgspec'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, env=dict(os.environ))
