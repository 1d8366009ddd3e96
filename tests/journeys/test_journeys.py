"""Journeys: shell scripts that a newcomer could have typed, from the first command to the result they came for.

Each `NAME.sh` runs in an empty home folder with `memglot` on the PATH, offline and without input. Files that it needs
are in a folder `NAME` next to it, which is copied into the home folder first. A script checks itself: `set -eu` ends it
at the first command that fails, such as a `grep -q` that finds nothing. The journey of a Python programmer is a Python
script, with `assert`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

JOURNEYS = sorted(Path(__file__).parent.glob("*.sh"))
PROGRAMS = [path for path in sorted(Path(__file__).parent.glob("*.py")) if path != Path(__file__)]
START = re.compile(r"#!/usr/bin/env bash\n(# .+\n)+set -eu(o pipefail)?\n")
CHECK = re.compile(r"\b(?:grep -q|test|diff|cmp)\b|\[ ")
FOREIGN = re.compile(r"\b(?:python3?|pip|node|npm|perl|ruby|jq|curl|wget|sudo|ssh)\b")


def run(script: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in an empty home folder; its commands are printed to standard error as they run."""
    given = script.with_suffix("")
    if given.is_dir():
        shutil.copytree(given, home)
    else:
        home.mkdir()
    temporary = home.parent / "tmp"
    temporary.mkdir()
    environment = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        # The source that the tests use, if that is not the installed one.
        **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
        "TMPDIR": str(temporary),
        "USER": "ann",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        # Nothing listens there: a command that asks the network fails.
        **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9"),
    }
    return subprocess.run(
        ["bash", "-x", script] if script.suffix == ".sh" else [sys.executable, script],
        cwd=home,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=600,
    )


@pytest.mark.parametrize("script", [*JOURNEYS, *PROGRAMS], ids=lambda script: script.stem)
def test_journey(script: Path, tmp_path: Path) -> None:
    done = run(script, tmp_path / "home")
    assert done.returncode == 0, f"exit status {done.returncode} after\n{done.stdout}"


@pytest.mark.parametrize("script", JOURNEYS, ids=[script.stem for script in JOURNEYS])
def test_a_journey_uses_memglot_and_ordinary_tools_and_checks_itself(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert START.match(text), "start with `#!/usr/bin/env bash`, whose journey it is, and `set -eu`"
    commands = re.sub(r"^ *#.*$", "", text, flags=re.MULTILINE)
    assert "memglot " in commands and CHECK.search(commands)
    assert not FOREIGN.search(commands)


def test_a_failing_command_fails_the_journey(tmp_path: Path) -> None:
    script = tmp_path / "failing.sh"
    script.write_text("set -eu\nmemglot add tea > added\nmemglot list > found\ngrep -q deploys found\ntouch after\n")
    done = run(script, tmp_path / "home")
    assert done.returncode == 1
    assert "+ grep -q deploys found" in done.stdout
    assert not (tmp_path / "home/after").exists()
