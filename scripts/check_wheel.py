"""Build the wheel, install it in a new environment without extras, and use it there."""

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
LIMIT = 200 * 2**20
"""Maximum size of an installation in bytes; docs/packages.md says what takes how much."""


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None, text: str = "") -> str:
    """Run a command and return its output; exit if it fails."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, env=env, input=text)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Check the wheel."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
        run(*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT, cwd=folder)
        (wheel,) = folder.glob("memglot-*.whl")
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / "bin" / "python"
        run(python, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", wheel, cwd=folder)
        memglot = folder / "env" / "bin" / "memglot"
        store = ("--store", folder / "store.db")
        run(memglot, *store, "add", "from the wheel", "--tag", "x", cwd=folder)
        for format in ("json", "ndjson", "yaml", "markdown"):
            out = folder / f"out-{format}"
            run(memglot, *store, "export", out, "--format", format, cwd=folder)
            run(memglot, "verify", out, "--format", format, cwd=folder)
        (folder / "key").write_text("pass phrase\n")
        run(memglot, *store, "scope", "sensitive", "user", cwd=folder)
        run(memglot, *store, "sync", "export", "--out=encrypted.json", "--passphrase-file=key", cwd=folder)
        run(memglot, "verify", "encrypted.json", "--passphrase-file=key", cwd=folder)
        project = folder / "project"
        project.mkdir()
        home = {**os.environ, "MEMORY_HOME": str(folder / "home")}
        run(memglot, "repo", "init", cwd=project, env=home)
        run(memglot, "repo", "check", cwd=project, env=home)
        check_demo_and_action(memglot, folder, home)
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "wheel", "version": "0"}}
        lines = [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {
                "jsonrpc": "2.0",
                "id": 2,
                "method": "tools/call",
                "params": {"name": "me_memory_search", "arguments": {}},
            },
        ]
        answer = run(
            memglot,
            *store,
            "mcp",
            "--allow-sensitive",
            cwd=folder,
            text="".join(json.dumps(line) + "\n" for line in lines),
        )
        assert "from the wheel" in answer, answer
        assert "# Tutorial" in run(memglot, "help", "tutorial", cwd=folder)
        assert (folder / "env" / "share" / "man" / "man1" / "memglot.1").exists()
        typed = run(python, "-c", "import memglot, pathlib; print(pathlib.Path(memglot.__file__).parent)", cwd=folder)
        package = Path(typed.strip())
        assert (package / "py.typed").exists()
        size = installed_size(package.parent)
        assert size < LIMIT, f"an installation takes {size / 2**20:.0f} MiB; docs/packages.md names the limit"
        run(python, "-c", "from memglot.embed import embedder; assert embedder().embed(['a wheel']).any()", cwd=folder)
        assert "from the wheel" in run(memglot, *store, "search", "wheel", cwd=folder)
        # After the size was measured.
        check_uvx(folder, wheel)
    print(f"the wheel works in a new environment, which takes {size / 2**20:.0f} MiB")


def check_uvx(folder: Path, wheel: Path) -> None:
    """Run the wheel with uvx, which runs a program without installing it."""
    programs = folder / "env" / "bin"
    python = programs / "python"
    run(python, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "uv~=0.13.8", cwd=folder)
    uvx = (programs / "uvx", "--quiet", "--no-config", "--python", python, "--from", wheel, "memglot")
    assert "from uvx" in run(*uvx, "--store", "uvx.db", "add", "from uvx", "--json", cwd=folder)


def check_demo_and_action(memglot: Path, folder: Path, home: dict[str, str]) -> None:
    """Create the demo, and run the steps of the GitHub Action, which installs memglot from its own folder."""
    run(memglot, "demo", "demo", cwd=folder)
    run(memglot, "--store", folder / "demo" / "demo.db", "search", "task queue", cwd=folder)
    runner = {"PYTHON": sys.executable, "RUNNER_TEMP": str(folder), "GITHUB_ACTION_PATH": str(ROOT)}
    runner |= {"STRICT": "true", "PROJECT": "project"}
    for step in yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]:
        run("bash", "-e", "-c", step["run"], cwd=folder, env=home | runner)


def installed_size(folder: Path) -> int:
    """Return how much space the packages take on the disk, with pip and compiled bytecode."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


if __name__ == "__main__":
    main()
