"""CLI cases: Markdown that reads as documentation, run command by command in real processes.

A `console` block holds commands behind `$ `, what they print, what goes to standard error behind `2> `, and an exit
status other than 0 behind `=> `. A block named `file PATH` is written before the commands run. Where an answer holds
three backticks, the block has four. `make accept` rewrites the answers; the review is the diff.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "cases"
CASES = [*sorted(FOLDER.glob("*.md")), Path(__file__).parents[2] / "docs/repo.md"]
ACCEPT = os.environ.get("MEMGLOT_ACCEPT") == "1"
BLOCK = re.compile(r"^(`{3,})(console|file \S+)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b20\d\d-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?")


def test_there_are_cases() -> None:
    assert CASES


@pytest.mark.parametrize("case", CASES, ids=[path.stem for path in CASES])
def test_case(case: Path, tmp_path: Path) -> None:
    text = case.read_text(encoding="utf-8")
    shown = BLOCK.sub(lambda match: _block(match, tmp_path), text)
    if ACCEPT:
        case.write_text(shown, encoding="utf-8")
        text = shown
    assert shown == text


def _block(match: re.Match[str], folder: Path) -> str:
    fence, kind, body = match.groups()
    if kind != "console":
        path = folder / kind.removeprefix("file ")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="utf-8")
        return match[0]
    commands = [line.removeprefix("$ ") for line in body.splitlines() if line.startswith("$ ")]
    return f"{fence}console\n" + "".join(_run(command, folder) for command in commands) + fence


def _run(command: str, folder: Path) -> str:
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=folder, env=_environment(folder))
    lines = [f"$ {command}", *done.stdout.splitlines(), *(f"2> {line}".rstrip() for line in done.stderr.splitlines())]
    if done.returncode:
        lines.append(f"=> {done.returncode}")
    return "".join(_steady(line, folder) + "\n" for line in lines)


def _environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {
        "PATH": path,
        "MEMGLOT_STORE": "store.db",
        "HOME": str(folder),
        "USER": "ann",
        "TMPDIR": str(folder),
        "LC_ALL": "C.UTF-8",
        # The source that the tests use, if that is not the installed one.
        **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
        **{f"GIT_{who}_{what}": "ann@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }


def _steady(line: str, folder: Path) -> str:
    """Replace what differs from run to run with a name: new ids, current times, sizes, the folder."""
    line = line.replace(str(folder), "<folder>")
    line = UUID.sub(lambda match: match[0] if match[0].startswith("0194a000") else "<id>", line)
    line = re.sub(r"^(    \| )?(?!0000)[0-9a-f]{8}(?=  |$)", r"\1<id>", line)
    line = re.sub(r"\b[\d,]{6,} bytes|\"bytes\":\d+", "<size>", line)
    line = re.sub(r"[0-9a-f]{64}", "<hash>", line)
    line = re.sub(r"memglot-[a-z0-9_]{8}/", "<random>/", line)
    line = re.sub(r"memory-[-\dTZ]+-[-0-9a-f]{36}(?=\.tar\.gz)", "memory-<time>-<id>", line)
    line = re.sub(r"\b(since|at) [0-9a-f]{7}\b", r"\1 <commit>", line)
    line = re.sub(r"\bprj_[0-9a-f]{16}\b", "<registry id>", line)
    return re.sub(r"(<time>|<date>)([+ :\d]{6})+", "<time>", TIME.sub(_time, line))


def _time(match: re.Match[str]) -> str:
    now = datetime.now(UTC).timestamp()
    day = datetime.fromisoformat(match[0][:10]).replace(tzinfo=UTC).timestamp()
    if abs(now - day) > 3 * 86400:
        return match[0]
    return "<time>" if len(match[0]) > 10 else "<date>"
