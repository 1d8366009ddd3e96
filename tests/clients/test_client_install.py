"""`mcp install` and `mcp uninstall`: configuration files of clients, the entries in them, and their removal."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from test_config_edits import documents, tomls, value_of

from memglot.cli import mcp_install
from memglot.cli.session import Session
from memglot.clients import files
from memglot.clients import install as operations
from memglot.clients.command import server_command
from memglot.clients.install import install, uninstall
from memglot.clients.receipts import Receipts
from memglot.clients.registry import CLIENTS, Client, ServerCommand, starts_memglot
from memglot.errors import CannotWrite, MemglotError, Unreadable, UsageError
from memglot.settings import CLIENT_VARIABLES, SystemPaths

OURS = ServerCommand("/opt/bin/memglot", ("mcp",))
OTHERS = ServerCommand("/opt/bin/memglot", ("mcp", "--read-only"))
FOREIGN = '{\n  "mcpServers": {\n    "memglot": {"command": "npx", "env": {"KEY": "s3cret"}}\n  }\n}\n'
needs_modes = pytest.mark.skipif(sys.platform == "win32", reason="this system has no modes of files")


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use a temporary home, which may have the command of a checkout in a temporary folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


@contextmanager
def ordinary_user() -> Iterator[Path]:
    """Yield a folder of a user without special rights; root becomes another user for that."""
    with TemporaryDirectory() as folder:
        is_administrator = os.geteuid() == 0
        if is_administrator:
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        try:
            yield Path(folder)
        finally:
            if is_administrator:
                os.seteuid(0)


def system_paths(home: Path, platform: str = "linux", **variables: str | Path) -> SystemPaths:
    return SystemPaths(platform, home, {key: str(value) for key, value in variables.items()}, home / "data")


def everything(folder: Path) -> dict[str, bytes | None]:
    """Return all files with their content, and all folders, except for memglot's own data."""
    found = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*"))}
    return {
        name: path.read_bytes() if path.is_file() else None
        for name, path in found.items()
        if not name.startswith("data")
    }


def kept(place: SystemPaths) -> list[Path]:
    return sorted((place.data / "clients").glob("*"))


# Where


@pytest.mark.parametrize(
    ("client", "platform", "path"),
    [
        *[("claude-code", platform, ".claude.json") for platform in ("linux", "darwin", "win32")],
        *[("cursor", platform, ".cursor/mcp.json") for platform in ("linux", "darwin", "win32")],
        *[("codex", platform, ".codex/config.toml") for platform in ("linux", "darwin", "win32")],
        *[("opencode", platform, ".config/opencode/opencode.json") for platform in ("linux", "darwin", "win32")],
        ("claude-desktop", "linux", ".config/Claude/claude_desktop_config.json"),
        ("claude-desktop", "darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("vscode", "linux", ".config/Code/User/mcp.json"),
        ("vscode", "darwin", "Library/Application Support/Code/User/mcp.json"),
        ("vscode", "win32", "AppData/Roaming/Code/User/mcp.json"),
    ],
)
def test_each_client_has_a_path_on_each_system(tmp_path: Path, client: str, platform: str, path: str) -> None:
    assert CLIENTS[client].path(system_paths(tmp_path, platform)) == tmp_path / path


@pytest.mark.parametrize(
    ("client", "platform", "variable", "path"),
    [
        ("claude-code", "linux", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "win32", "CODEX_HOME", "config.toml"),
        ("claude-desktop", "linux", "XDG_CONFIG_HOME", "Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", "APPDATA", "Claude/claude_desktop_config.json"),
        ("vscode", "linux", "XDG_CONFIG_HOME", "Code/User/mcp.json"),
        ("vscode", "win32", "APPDATA", "Code/User/mcp.json"),
        ("vscode", "darwin", "VSCODE_PORTABLE", "user-data/User/mcp.json"),
        ("opencode", "darwin", "XDG_CONFIG_HOME", "opencode/opencode.json"),
        ("opencode", "linux", "OPENCODE_CONFIG", ""),
    ],
)
def test_the_environment_changes_a_path(tmp_path: Path, client: str, platform: str, variable: str, path: str) -> None:
    assert variable in CLIENT_VARIABLES
    found = CLIENTS[client].path(system_paths(tmp_path / "home", platform, **{variable: tmp_path / "else"}))
    assert found == tmp_path / "else" / path


@pytest.mark.parametrize("client", CLIENTS.values(), ids=list(CLIENTS))
def test_documented_paths_are_correct(tmp_path: Path, client: Client) -> None:
    for platform, told in zip(("linux", "darwin", "win32"), client.documented_paths, strict=True):
        path = told.replace("$XDG_CONFIG_HOME", "~/.config").replace("%APPDATA%", "~/AppData/Roaming")
        assert client.path(system_paths(tmp_path, platform)) == tmp_path / path.removeprefix("~/")


def test_variables_of_other_systems_are_ignored(tmp_path: Path) -> None:
    place = system_paths(tmp_path, "darwin", APPDATA="/x", XDG_CONFIG_HOME="/y")
    assert CLIENTS["vscode"].path(place) == tmp_path / "Library/Application Support/Code/User/mcp.json"


def test_an_older_file_of_claude_code_is_used_if_it_exists(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / ".config.json").write_text("{}")
    assert CLIENTS["claude-code"].path(system_paths(tmp_path)) == tmp_path / ".claude" / ".config.json"


@pytest.mark.parametrize("folder", ["Packages/Claude_pzs8/LocalCache/Roaming/Claude", "Claude-Data/claude_x"])
def test_a_packaged_claude_desktop_has_its_own_folder(tmp_path: Path, folder: str) -> None:
    (tmp_path / "local" / folder).mkdir(parents=True)
    found = CLIENTS["claude-desktop"].path(system_paths(tmp_path, "win32", LOCALAPPDATA=tmp_path / "local"))
    assert found == tmp_path / "local" / folder / "claude_desktop_config.json"


def test_opencode_prefers_its_jsonc_file(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text("{} // mine\n")
    assert install("opencode", OURS, system=system_paths(tmp_path)).path == folder / "opencode.jsonc"
    (tmp_path / "opencode.jsonc").write_text("{}")
    assert (
        install("opencode", OURS, project=tmp_path, system=system_paths(tmp_path)).path == tmp_path / "opencode.jsonc"
    )


@pytest.mark.parametrize(
    ("client", "path"),
    [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("codex", ".codex/config.toml"),
        ("vscode", ".vscode/mcp.json"),
        ("opencode", "opencode.json"),
    ],
)
def test_a_project_has_its_own_file(tmp_path: Path, client: str, path: str) -> None:
    change = install(client, OURS, project=tmp_path / "project", system=system_paths(tmp_path))
    assert change.path == tmp_path / "project" / path and change.path.is_file()
    assert list(everything(tmp_path)) == [
        str(one.relative_to(tmp_path)) for one in _with_parents(change.path, tmp_path)
    ]


def _with_parents(path: Path, above: Path) -> list[Path]:
    return sorted([path, *(parent for parent in path.parents if above in parent.parents)])


def test_claude_desktop_has_no_projects(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Claude Desktop has no configuration for a single project"):
        install("claude-desktop", OURS, project=tmp_path, system=system_paths(tmp_path))


# What


def _entry(path: Path, *keys: str) -> Any:
    text = path.read_text(encoding="utf-8")
    found = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    for key in keys:
        found = found[key]
    return found


@pytest.mark.parametrize(
    ("client", "container", "entry"),
    [
        ("claude-code", "mcpServers", {"type": "stdio", "command": "/opt/bin/memglot", "args": ["mcp"]}),
        ("claude-desktop", "mcpServers", {"command": "/opt/bin/memglot", "args": ["mcp"]}),
        ("cursor", "mcpServers", {"type": "stdio", "command": "/opt/bin/memglot", "args": ["mcp"]}),
        ("codex", "mcp_servers", {"command": "/opt/bin/memglot", "args": ["mcp"]}),
        ("vscode", "servers", {"type": "stdio", "command": "/opt/bin/memglot", "args": ["mcp"]}),
        ("opencode", "mcp", {"type": "local", "command": ["/opt/bin/memglot", "mcp"], "enabled": True}),
    ],
)
def test_each_client_gets_an_entry_in_its_own_form(
    tmp_path: Path, client: str, container: str, entry: dict[str, Any]
) -> None:
    place = system_paths(tmp_path)
    change = install(client, OURS, system=place)
    assert (change.action, change.entry, change.before) == ("added", entry, None)
    assert _entry(change.path) == {container: {"memglot": entry}}
    again = install(client, OURS, system=place)
    assert (again.action, again.diff, again.entry) == ("unchanged", "", entry)
    other = install(client, OTHERS, system=place)
    assert other.action == "updated" and "--read-only" in json.dumps(_entry(change.path, container, "memglot"))
    assert starts_memglot(other.entry)
    assert uninstall(client, system=place).action == "removed"
    assert everything(tmp_path) == {} and kept(place) == []
    assert uninstall(client, system=place).action == "absent"


def test_an_entry_is_added_to_the_nested_list_of_opencode(tmp_path: Path) -> None:
    path = tmp_path / "opencode.json"
    path.write_text('{"mcp": {"servers": {"a": {}}, "timeout": 5}}')
    change = install("opencode", OURS, project=tmp_path, system=system_paths(tmp_path))
    assert _entry(path, "mcp", "servers", "memglot") == {"type": "local", "command": ["/opt/bin/memglot", "mcp"]}
    assert change.entry == {"type": "local", "command": ["/opt/bin/memglot", "mcp"]}
    uninstall("opencode", project=tmp_path, system=system_paths(tmp_path))
    assert path.read_text() == '{"mcp": {"servers": {"a": {}}, "timeout": 5}}'


def test_an_existing_entry_of_opencode_keeps_its_position(tmp_path: Path) -> None:
    path = tmp_path / "opencode.json"
    path.write_text('{"mcp": {"servers": {}, "memglot": {"command": ["memglot"], "enabled": false}}}')
    install("opencode", OURS, project=tmp_path, system=system_paths(tmp_path))
    assert _entry(path, "mcp")["servers"] == {}
    assert _entry(path, "mcp", "memglot", "enabled") is False
    install("opencode", OURS, name="servers", force=True, project=tmp_path, system=system_paths(tmp_path))
    assert list(_entry(path, "mcp", "servers")) == ["servers"]


def test_members_that_the_user_added_are_kept(tmp_path: Path) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text('{"mcpServers": {"memglot": {"command": "memglot", /* mine */ "env": {"A": "s3cret"}}}}')
    change = install("claude-code", OURS, project=tmp_path, system=system_paths(tmp_path))
    assert change.action == "updated" and change.entry is not None and "env" not in change.entry
    assert '/* mine */ "env": {"A": "s3cret"}' in path.read_text()
    assert "s3cret" not in change.diff and "@@ -1,1 +1,1 @@" in change.diff
    gone = uninstall("claude-code", project=tmp_path, system=system_paths(tmp_path))
    assert gone.action == "removed" and "s3cret" not in gone.diff + path.read_text()


@pytest.mark.parametrize(
    ("entry", "ours"),
    [
        ({"command": "memglot"}, True),
        ({"command": "C:\\Program Files\\MEMGLOT.EXE", "args": []}, True),
        ({"command": "/usr/bin/python3", "args": ["-m", "memglot", "mcp"]}, True),
        ({"type": "local", "command": ["/x/memglot", "mcp"]}, True),
        ({"command": "npx", "args": ["memglot"]}, False),
        ({"command": "memglot-other"}, False),
        ({"command": 7}, False),
        ({"command": []}, False),
        ({"url": "https://example.org"}, False),
        ({}, False),
        ("memglot", False),
        (None, False),
    ],
)
def test_entries_that_start_memglot_are_recognized(entry: Any, ours: bool) -> None:
    assert starts_memglot(entry) is ours


def test_replacing_another_server_requires_force_and_is_undone(tmp_path: Path) -> None:
    place, path = system_paths(tmp_path), tmp_path / ".mcp.json"
    path.write_text(FOREIGN)
    with pytest.raises(UsageError, match="has a server `memglot` that is not memglot"):
        install("claude-code", OURS, project=tmp_path, system=place)
    with pytest.raises(UsageError, match="is not memglot; nothing was changed"):
        uninstall("claude-code", project=tmp_path, system=place)
    assert path.read_text() == FOREIGN and kept(place) == []
    change = install("claude-code", OURS, project=tmp_path, force=True, system=place)
    assert change.action == "updated" and change.notes and "s3cret" not in change.diff
    assert "s3cret" not in path.read_text()
    install("claude-code", OTHERS, project=tmp_path, system=place)
    back = uninstall("claude-code", project=tmp_path, system=place)
    assert back.notes and "s3cret" not in back.diff
    assert path.read_text() == FOREIGN and kept(place) == []


@pytest.mark.parametrize("value", ["null", "[]", '"memglot"', "{}", '{"url": "https://example.org"}'])
def test_an_entry_of_another_kind_is_not_replaced(tmp_path: Path, value: str) -> None:
    place, path = system_paths(tmp_path), tmp_path / ".mcp.json"
    path.write_text(f'{{"mcpServers": {{"memglot": {value}}}}}')
    before = path.read_text()
    with pytest.raises(UsageError, match="is not memglot"):
        install("claude-code", OURS, project=tmp_path, system=place)
    install("claude-code", OURS, project=tmp_path, force=True, system=place)
    assert _entry(path, "mcpServers", "memglot", "command") == OURS.command
    uninstall("claude-code", project=tmp_path, system=place)
    assert path.read_text() == before


def test_a_receipt_is_private_and_has_no_copy_of_the_file(tmp_path: Path) -> None:
    place, path = system_paths(tmp_path), tmp_path / ".mcp.json"
    path.write_text('{"mcpServers": {"a": {"env": {"KEY": "s3cret"}}}}')
    install("claude-code", OURS, project=tmp_path, system=place)
    (receipt,) = kept(place)
    assert "s3cret" not in receipt.read_text()
    if sys.platform != "win32":
        assert stat.S_IMODE(receipt.stat().st_mode) == 0o600


@pytest.mark.parametrize("receipt", ["", "{}", "\x00", '{"client": "x", "path": "/", "name": "memglot", "keys": []}'])
def test_an_entry_without_receipt_is_removed(tmp_path: Path, receipt: str) -> None:
    place, path = system_paths(tmp_path), tmp_path / ".mcp.json"
    install("claude-code", OURS, project=tmp_path, system=place)
    kept(place)[0].write_text(receipt)
    assert uninstall("claude-code", project=tmp_path, system=place).action == "removed"
    assert json.loads(path.read_text()) == {"mcpServers": {}}


# Uninstalling restores the original files


def _round(client: str, file: str, data: bytes) -> None:
    with TemporaryDirectory() as folder:
        home = Path(folder)
        path = home / "project" / file
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        options: dict[str, Any] = {"project": home / "project", "system": system_paths(home)}
        change = install(client, OURS, **options)
        assert change.action == "added" and path.read_bytes().decode() == change.after
        install(client, OTHERS, **options)
        done = uninstall(client, **options)
        assert done.action == "removed"
        assert path.read_bytes() == data
        assert [one for one, inner in everything(home).items() if inner is not None] == [f"project/{file}"]


@given(documents)
def test_uninstall_restores_any_json(text: str) -> None:
    _round("claude-code", ".mcp.json", text.encode())


@given(tomls())
def test_uninstall_restores_any_toml(text: str) -> None:
    _round("codex", ".codex/config.toml", text.encode())


@given(documents, st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_a_client_may_rewrite_its_file(text: str, indent: int | str | None, sorts: bool) -> None:
    with TemporaryDirectory() as folder:
        home, path = Path(folder), Path(folder) / ".mcp.json"
        path.write_bytes(text.encode())
        install("claude-code", OURS, project=home, system=system_paths(home))
        value = value_of(path.read_bytes().decode())
        path.write_text(json.dumps(value, indent=indent, sort_keys=sorts, ensure_ascii=False), encoding="utf-8")
        uninstall("claude-code", project=home, system=system_paths(home))
        assert value_of(path.read_text(encoding="utf-8")) == value_of(text)


def test_a_file_that_others_use_is_kept(tmp_path: Path) -> None:
    place = system_paths(tmp_path)
    path = install("vscode", OURS, project=tmp_path, system=place).path
    value = json.loads(path.read_text())
    value["inputs"] = []
    path.write_text(json.dumps(value))
    uninstall("vscode", project=tmp_path, system=place)
    assert json.loads(path.read_text()) == {"inputs": []}


def test_two_names_are_two_servers(tmp_path: Path) -> None:
    place = system_paths(tmp_path)
    install("codex", OURS, system=place)
    install("codex", OTHERS, name="notes", system=place)
    uninstall("codex", system=place)
    path = tmp_path / ".codex" / "config.toml"
    assert _entry(path) == {"mcp_servers": {"notes": {"command": OURS.command, "args": ["mcp", "--read-only"]}}}
    uninstall("codex", name="notes", system=place)
    assert everything(tmp_path).get(".codex/config.toml", b"") == b""


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_a_dry_run_writes_nothing(tmp_path: Path, client: str) -> None:
    place = system_paths(tmp_path)
    change = install(client, OURS, dry_run=True, system=place)
    assert change.action == "added" and "+" in change.diff and change.after
    assert list(tmp_path.iterdir()) == []
    install(client, OURS, system=place)
    before = everything(tmp_path), [one.read_bytes() for one in kept(place)]
    assert uninstall(client, dry_run=True, system=place).action == "removed"
    assert install(client, OTHERS, dry_run=True, system=place).action == "updated"
    assert (everything(tmp_path), [one.read_bytes() for one in kept(place)]) == before


# Files


@needs_modes
def test_a_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    place, real = system_paths(tmp_path), tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}")
    real.chmod(0o640)
    (tmp_path / ".claude.json").symlink_to(real)
    change = install("claude-code", OURS, system=place)
    assert change.path == real and (tmp_path / ".claude.json").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640 and "memglot" in real.read_text()
    uninstall("claude-code", system=place)
    assert real.read_text() == "{}" and stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(one.name for one in real.parent.iterdir()) == ["claude.json"]


@needs_modes
def test_a_link_to_a_file_with_another_extension(tmp_path: Path) -> None:
    real = tmp_path / "codex-config"
    real.write_text("model = 'm'\n")
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").symlink_to(real)
    install("codex", OURS, system=system_paths(tmp_path))
    assert list(tomllib.loads(real.read_text())) == ["model", "mcp_servers"]


@needs_modes
def test_a_link_to_a_missing_file_is_followed(tmp_path: Path) -> None:
    place = system_paths(tmp_path)
    (tmp_path / ".claude.json").symlink_to(tmp_path / "dotfiles" / "claude.json")
    before = everything(tmp_path)
    assert install("claude-code", OURS, system=place).path == tmp_path / "dotfiles" / "claude.json"
    uninstall("claude-code", system=place)
    assert everything(tmp_path) == before and (tmp_path / ".claude.json").is_symlink()


def _bad_json(path: Path) -> None:
    path.write_text('{\n"a": oops}')


def _folder(path: Path) -> None:
    path.mkdir()


def _no_utf8(path: Path) -> None:
    path.write_bytes(b'{"a": "\xff"}')


def _no_object(path: Path) -> None:
    path.write_text('{"mcpServers": []}')


def _twice(path: Path) -> None:
    path.write_text('{"mcpServers": {}, "mcpServers": {}}')


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (_bad_json, Unreadable, "line 2: expected a value"),
        (_folder, CannotWrite, "it is not a file"),
        (_no_utf8, Unreadable, "not valid UTF-8"),
        (_no_object, Unreadable, "`mcpServers` is not an object"),
        (_twice, Unreadable, "is a duplicate"),
    ],
)
def test_a_file_that_cannot_be_edited_is_not_changed(
    tmp_path: Path, make: Callable[[Path], None], error: type[MemglotError], said: str
) -> None:
    place, path = system_paths(tmp_path), tmp_path / ".mcp.json"
    make(path)
    before = everything(tmp_path)
    deeds_: list[Callable[[], object]] = [
        lambda: install("claude-code", OURS, project=tmp_path, force=True, system=place),
        lambda: uninstall("claude-code", project=tmp_path, system=place),
    ]
    for deed in deeds_:
        with pytest.raises(error) as caught:
            deed()
        assert said in str(caught.value) and str(path) in str(caught.value)
    assert everything(tmp_path) == before and kept(place) == []


@needs_modes
@pytest.mark.parametrize("which", ["file", "folder"])
def test_a_read_only_file_is_not_changed(which: str) -> None:
    with ordinary_user() as home:
        place, folder = system_paths(home), home / "project"
        folder.mkdir()
        path = folder / ".mcp.json"
        path.write_text("{}")
        (path if which == "file" else folder).chmod(0o444 if which == "file" else 0o555)
        try:
            with pytest.raises(CannotWrite, match="permission denied"):
                install("claude-code", OURS, project=folder, system=place)
            assert everything(folder) == {".mcp.json": b"{}"} and kept(place) == []
        finally:
            folder.chmod(0o755)


@needs_modes
def test_an_unreadable_file_is_not_changed() -> None:
    with ordinary_user() as home:
        path = home / ".mcp.json"
        path.write_text("{}")
        path.chmod(0)
        with pytest.raises(Unreadable, match="permission denied"):
            install("claude-code", OURS, project=home, system=system_paths(home))
        path.chmod(0o600)
        assert path.read_text() == "{}"


def test_a_file_in_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    place = system_paths(tmp_path)
    (tmp_path / ".cursor").write_text("")
    with pytest.raises(MemglotError, match="not a directory|file exists"):
        install("cursor", OURS, system=place)
    assert everything(tmp_path) == {".cursor": b""} and kept(place) == []


def test_a_file_that_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, path = system_paths(tmp_path), tmp_path / ".mcp.json"
    path.write_text("{}")
    turns = iter(["{ }", '{"a":1}'])

    def meddled(place_: Path, data: bytes, *, expected: bytes | None, shared: bool) -> bool:
        for text in turns:
            path.write_text(text)
            break
        return files.write(place_, data, expected=expected, shared=shared)

    monkeypatch.setattr(operations, "write", meddled)
    install("claude-code", OURS, project=tmp_path, system=place)
    assert json.loads(path.read_text())["a"] == 1
    uninstall("claude-code", project=tmp_path, system=place)
    assert path.read_text() == '{"a":1}'


def test_a_file_that_keeps_changing_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, path = system_paths(tmp_path), tmp_path / ".mcp.json"
    path.write_text("{}")
    monkeypatch.setattr(operations, "write", lambda *_, **__: False)
    with pytest.raises(CannotWrite, match="keeps writing to it"):
        install("claude-code", OURS, project=tmp_path, system=place)
    assert path.read_text() == "{}" and kept(place) == []


def test_an_earlier_receipt_survives_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, path = system_paths(tmp_path), tmp_path / ".mcp.json"
    install("claude-code", OURS, project=tmp_path, system=place)
    path.write_text(FOREIGN)
    before = Receipts(place.data).get(path, "memglot")
    assert before is not None
    monkeypatch.setattr(operations, "write", lambda *_, **__: False)
    with pytest.raises(CannotWrite):
        install("claude-code", OURS, project=tmp_path, force=True, system=place)
    assert Receipts(place.data).get(path, "memglot") == before


@pytest.mark.parametrize("name", ["", "a b", "a.b", "ä", "x" * 65, "a\n", '"'])
def test_invalid_server_names_are_rejected(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="not a valid server name"):
        install("codex", OURS, name=name, system=system_paths(tmp_path))


def test_an_unknown_client_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown client `emacs`"):
        install("emacs", OURS, system=system_paths(tmp_path))


# The command that is written


def test_the_command_is_an_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memglot").write_text("")
    assert server_command(program="memglot") == ServerCommand(str(tmp_path / "memglot"), ("mcp",))
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "memglot.exe").write_text("")
    assert server_command(program="link/memglot").command == str(tmp_path / "link" / "memglot.exe")
    for program in ("src/memglot/__main__.py", "nowhere/memglot", "-c"):
        found = server_command(program=program, python="/usr/bin/python3")
        assert found == ServerCommand("/usr/bin/python3", ("-m", "memglot", "mcp"))


def test_the_options_of_the_server_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = server_command(
        store="s.db", roots=["a", tmp_path], read_only=True, allow_sensitive=True, program="x", python="p"
    )
    roots = ["--root", str(tmp_path / "a"), "--root", str(tmp_path)]
    options = ["mcp", "--store", str(tmp_path / "s.db"), *roots, "--read-only", "--allow-sensitive"]
    assert found.arguments == ("-m", "memglot", *options)


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("sqlite:///s.db", "s.db"),
        ("sqlite:////tmp/s.db", "/tmp/s.db"),
        ("postgresql://ann@host/db", None),
        ("postgres:///db?sslmode=require", None),
    ],
)
def test_stores_are_written_with_absolute_paths(url: str, written: str | None) -> None:
    found = server_command(store=url, program="x").arguments
    assert found[found.index("--store") + 1] == (os.path.abspath(written) if written else url)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://ann:s3cret@host/db", "contains a password"),
        ("POSTGRES://ann:s3cret@host/db", "contains a password"),
        ("postgresql://host/db?user=ann&password=s3cret", "contains a password"),
        ("postgresql://ann:s3cret@[host/db", "contains a password"),
        ("mysql://ann:s3cret@host/db", "mysql"),
        ("sqlite://ann:s3cret", "sqlite"),
        (":memory:", "in-memory"),
        ("sqlite:///:memory:", "in-memory"),
    ],
)
def test_stores_with_passwords_or_in_memory_are_rejected(url: str, said: str) -> None:
    with pytest.raises(MemglotError) as caught:
        server_command(store=url)
    assert said in str(caught.value) and "s3cret" not in str(caught.value) + (caught.value.hint or "")


def test_paths_that_are_not_valid_utf8_are_rejected() -> None:
    with pytest.raises(UsageError, match="not valid UTF-8"):
        server_command(roots=["/tmp/\udcff"])


# The command line


@click.group()
def group() -> None:
    """A group with the two commands."""


group.add_command(mcp_install.install)
group.add_command(mcp_install.uninstall)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run a command for a user with an empty home folder, and return its JSON or text."""
    for name in (*CLIENT_VARIABLES, "XDG_DATA_HOME", "MEMGLOT_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    def call(*words: str) -> Any:
        session = Session()
        done = CliRunner().invoke(group, list(words), obj=session, standalone_mode=False)
        if done.exception:
            raise done.exception
        return json.loads(done.stdout) if "--json" in words else done.output

    return call


def test_the_registry_and_the_command_line_have_the_same_clients() -> None:
    assert mcp_install.CLIENTS == tuple(sorted(CLIENTS))


def test_json_output_describes_the_change(run: Callable[..., Any], tmp_path: Path) -> None:
    answer = run("install", "cursor", "--json", "--read-only", "--root", ".", "--store", "x.db")
    entry = answer["entry"]
    assert entry["args"][-6:] == [
        "mcp",
        "--store",
        str(tmp_path / "work" / "x.db"),
        "--root",
        str(tmp_path / "work"),
        "--read-only",
    ]
    path = str(tmp_path / ".cursor" / "mcp.json")
    told = {"client": "cursor", "path": path, "action": "added", "name": "memglot", "entry": entry, "dryRun": False}
    assert answer == told
    assert run("install", "cursor", "--json", "--dry-run")["diff"].startswith(f"--- {path}\n+++ {path}\n@@ ")
    assert run("uninstall", "cursor", "--json") == {**told, "action": "removed", "entry": None}
    assert run("uninstall", "cursor", "--json")["action"] == "absent"


def test_text_output_shows_the_next_step_and_how_to_undo(run: Callable[..., Any], tmp_path: Path) -> None:
    said = run("install", "claude-code", "--project", "--name", "notes")
    assert f"added the server `notes` to Claude Code: {tmp_path / 'work' / '.mcp.json'}" in said
    assert "next: restart Claude Code, then check the server with `/mcp`" in said
    assert "undo: memglot mcp uninstall claude-code --name notes --project" in said
    assert "already up to date" in run("install", "claude-code", "--project", "--name", "notes")
    assert "would remove the server `notes` from" in run(
        "uninstall", "claude-code", "--project", "--name", "notes", "--dry-run"
    )
    assert "removed the server `notes` from" in run("uninstall", "claude-code", "--project", "--name", "notes")
    assert "has no server `notes`" in run("uninstall", "claude-code", "--project", "--name", "notes")


def test_the_store_of_the_environment_is_written(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGLOT_STORE", "postgresql://ann:s3cret@host/db")
    with pytest.raises(UsageError, match="contains a password"):
        run("install", "codex")
    monkeypatch.setenv("MEMGLOT_STORE", "mine.db")
    assert str(Path("mine.db").absolute()) in run("install", "codex", "--json")["entry"]["args"]


def test_the_written_entry_starts_the_server(run: Callable[..., Any], tmp_path: Path) -> None:
    entry = run("install", "claude-code", "--json", "--store", "x.db", "--root", ".", "--read-only")["entry"]
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    done = subprocess.run(
        [entry["command"], *entry["args"]], input=json.dumps(call) + "\n", capture_output=True, text=True, cwd=tmp_path
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "memglot", done.stderr


def test_every_name_in_the_help_is_a_client() -> None:
    found = re.search(r"CLIENT is ([^.]+)\.", " ".join((mcp_install.install.help or "").split()))
    assert found and re.split(", | or ", found[1]) == sorted(CLIENTS)


def test_invalid_arguments_of_install_are_an_error(run: Callable[..., Any]) -> None:
    for words in (("install",), ("install", "emacs"), ("install", "codex", "--root", "nowhere")):
        with pytest.raises(click.UsageError):
            run(*words)
