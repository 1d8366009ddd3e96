"""A client starts a command that still exists later, also if memglot was run with `uvx` or `pipx run`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

import memglot
from memglot.clients import launcher as launchers
from memglot.clients.command import server_command
from memglot.clients.launcher import launcher
from memglot.clients.registry import starts_memglot
from memglot.errors import UsageError

UV = "/home/ann/.cache/uv/archive-v0/gtFsqAnSlV8oW2mS"
PIPX = "/home/ann/.cache/pipx/203a4f67bb53a40"
CACHED = {
    UV: "uvx",
    "/home/ann/.cache/uv/environments-v2/memglot-3a5b": "uvx",
    "/home/ann/.cache/uv/builds-v0/.tmpUZEcIt": "uvx",
    "/data/my-cache/archive-v0/x": "uvx",
    PIPX: "pipx",
    "/home/ann/.local/pipx/.cache/203a4f67bb53a40": "pipx",
    "/home/ann/Library/Caches/pipx/203a4f67bb53a40": "pipx",
}
LASTING = [
    "/home/ann/.local/share/uv/tools/memglot",
    "/home/ann/.local/pipx/venvs/memglot",
    "/home/ann/.local/share/pipx/venvs/memglot",
    "/home/ann/project/.venv",
    "/usr",
]


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `uvx` and `pipx`, the only one in which programs are found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("uv", "uvx", "pipx"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("UV", raising=False)
    # Folders of tests are temporary.
    monkeypatch.setattr(launchers, "_SYSTEM_FOLDERS", ("/nowhere",))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    return folder


def package(folder: Path, direct_url: str | None = None) -> PathDistribution:
    """Return memglot as installed, with the text of its `direct_url.json`."""
    place = folder / "memglot-1.dist-info"
    place.mkdir(exist_ok=True)
    (place / "METADATA").write_text("Name: memglot\nVersion: 1\n")
    if direct_url is not None:
        (place / "direct_url.json").write_text(direct_url)
    return PathDistribution(place)


@pytest.mark.parametrize(("prefix", "program"), CACHED.items())
def test_an_environment_in_a_cache_is_made_again(prefix: str, program: str, programs: Path, tmp_path: Path) -> None:
    words = {"uvx": ["memglot"], "pipx": ["run", "memglot"]}[program]
    found = launcher(prefix, package(tmp_path))
    assert found == [str(programs / program), *words]
    assert starts_memglot({"command": found[0], "args": [*found[1:], "mcp", "--read-only"]})


@pytest.mark.parametrize("prefix", LASTING)
def test_other_environments_stay(prefix: str, tmp_path: Path) -> None:
    assert launcher(prefix, package(tmp_path)) is None


def test_a_windows_cache_is_recognized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pathlib import PureWindowsPath

    monkeypatch.setattr(launchers, "PurePath", PureWindowsPath)
    prefixes = {
        r"C:\Users\ann\AppData\Local\uv\cache\archive-v0\gtFsqAnSlV8oW2mS": "uvx",
        r"C:\Users\ann\AppData\Local\pipx\pipx\Cache\203a4f67bb53a40": "pipx",
        r"C:\Users\ann\pipx\venvs\memglot": None,
    }
    for prefix, program in prefixes.items():
        found = launcher(prefix, package(tmp_path))
        assert (None if found is None else Path(found[0]).name) == program


@pytest.mark.parametrize(
    ("direct_url", "origin"),
    [
        ('{"url":"https://x.org/memglot-1.whl","archive_info":{}}', "https://x.org/memglot-1.whl"),
        (
            '{"url":"https://x.org/m.git","vcs_info":{"vcs":"git","commit_id":"abc"},"subdirectory":"py"}',
            "git+https://x.org/m.git@abc#subdirectory=py",
        ),
        ("not JSON", None),
    ],
)
def test_what_did_not_come_from_an_index_is_named(
    tmp_path: Path, programs: Path, direct_url: str, origin: str | None
) -> None:
    found = package(tmp_path, direct_url)
    uvx = ["--from", origin] if origin else []
    assert launcher(UV, found) == [str(programs / "uvx"), *uvx, "memglot"]
    assert launcher(PIPX, found) == [str(programs / "pipx"), "run", *(["--spec", origin] if origin else []), "memglot"]


def test_a_local_file_must_stay(tmp_path: Path, programs: Path) -> None:
    wheel = tmp_path / "my files" / "memglot.whl"
    found = package(tmp_path, f'{{"url":"{wheel.as_uri()}","archive_info":{{}}}}')
    with pytest.raises(UsageError, match="which will not be there"):
        launcher(UV, found)
    wheel.parent.mkdir()
    wheel.touch()
    assert launcher(UV, found) == [str(programs / "uvx"), "--from", str(wheel), "memglot"]


def test_it_says_why_no_command_would_work(tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "temporary" / "ann")
    assert launcher(str(tmp_path / "temporary" / "venv"), package(tmp_path)) is None
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "ann")
    with pytest.raises(UsageError, match="is in the temporary folder") as raised:
        launcher(str(tmp_path / "temporary" / "venv"), package(tmp_path))
    assert "uv tool install memglot" in (raised.value.hint or "")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="`uvx` is not found"):
        launcher(UV, package(tmp_path))
    # uv names itself in the environment of what it starts.
    monkeypatch.setenv("UV", str(programs / "uv"))
    assert launcher(UV, package(tmp_path)) == [str(programs / "uvx"), "memglot"]


def test_the_options_of_the_server_follow(tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launchers, "_installed", lambda: package(tmp_path))
    found = server_command(read_only=True, program="/x/memglot", prefix=UV)
    assert (found.command, *found.arguments) == (str(programs / "uvx"), "memglot", "mcp", "--read-only")


PROBE = """\
import sys
import tempfile
sys.path.insert(0, {source!r})
sys.path += {packages!r}
from memglot.clients.launcher import launcher
def main():
    print("\\n".join(launcher(sys.prefix) or ["none"]))
"""


@pytest.mark.parametrize("program", ["uvx", "pipx"])
def test_real_programs_start_the_same_package_again(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run a wheel named memglot with the real program; it must be able to run what the wheel prints."""
    monkeypatch.undo()
    here = os.path.dirname(sys.executable)
    found = shutil.which(program, path=os.pathsep.join([here, os.environ.get("PATH", "")]))
    if found is None:
        pytest.skip(f"there is no {program}")
    wheel = make_wheel(tmp_path / "wheels")
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PATH": os.pathsep.join([os.path.dirname(found), os.environ["PATH"]]),
        "TMPDIR": str(tmp_path / "nowhere"),
        "UV_OFFLINE": "1",
        "UV_PYTHON": sys.executable,
        "PIP_NO_INDEX": "1",
    }
    option = ["--from"] if program == "uvx" else ["run", "--spec"]
    run = [found, *option, str(wheel), "memglot"]
    first = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=120)
    assert first.returncode == 0, first.stderr
    words = first.stdout.splitlines()
    assert words[1:] == [*option, str(wheel), "memglot"]
    second = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
    assert (second.returncode, second.stdout) == (0, first.stdout), second.stderr


def make_wheel(folder: Path) -> Path:
    """Make a wheel whose script `memglot` prints how it would be started later."""
    import base64
    import zipfile
    from hashlib import sha256

    folder.mkdir()
    source = str(Path(memglot.__file__).parents[1])
    packages = [path for path in sys.path if path.endswith("site-packages")]
    probe = PROBE.format(source=source, packages=packages).replace(
        "def main",
        "from memglot.clients import launcher as module\nmodule._is_temporary = lambda path: False\ndef main",
    )
    files = {
        "probe.py": probe,
        "memglot-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: memglot\nVersion: 1\n",
        "memglot-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "memglot-1.dist-info/entry_points.txt": "[console_scripts]\nmemglot = probe:main\n",
    }
    rows = [
        f"{name},sha256={base64.urlsafe_b64encode(sha256(text.encode()).digest()).rstrip(b'=').decode()},{len(text)}"
        for name, text in files.items()
    ]
    wheel = folder / "memglot-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as out:
        for name, text in files.items():
            out.writestr(name, text)
        out.writestr("memglot-1.dist-info/RECORD", "\n".join([*rows, "memglot-1.dist-info/RECORD,,"]) + "\n")
    return wheel
