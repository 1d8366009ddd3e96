"""Every input of the corpus passes through its target, and the runner finds a planted defect."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_target import CORPUS, HERE, Target, all_targets

ALL = all_targets()
MAX_CORPUS = 600_000

PLANTED = """
SEEDS = [b"no", b"oops"]


def try_one(data):
    if data[:1] == b"b" and data[1:2] == b"u" and data[2:3] == b"g":
        raise KeyError("planted")
    if data == b"oops":
        return bytearray(1 << 30) and None
"""


@pytest.mark.parametrize("target", ALL, ids=[target.name for target in ALL])
def test_every_input_of_the_corpus_passes(target: Target) -> None:
    inputs = list(target.inputs())
    assert inputs
    for _, data in inputs:
        target.try_one(data)


def test_the_corpus_is_small_and_each_folder_has_a_target() -> None:
    folders = {path.name for path in CORPUS.iterdir()} if CORPUS.is_dir() else set()
    assert folders <= {target.name for target in ALL}
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) < MAX_CORPUS


def test_the_runner_finds_planted_defects(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="install it with `pip install --group fuzz`")
    (tmp_path / "planted.py").write_text(PLANTED)
    options = ["--targets", str(tmp_path), "--folder", str(tmp_path / "out"), "--seed", "1"]
    command = [sys.executable, str(HERE / "run.py"), *options, "--time", "30", "--runs", "60000", "--jobs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    findings = tmp_path / "out" / "findings" / "planted"
    assert done.returncode == 1, done.stdout + done.stderr
    assert (findings / "KeyError-planted-7").read_bytes()[:3] == b"bug"
    assert (findings / "MemoryError-planted-9").read_bytes() == b"oops"
    assert f"--replay {findings / 'KeyError-planted-7'}" in done.stdout


def test_a_replay_shows_the_error(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(PLANTED)
    for text, code in [("bug", 1), ("fine", 0)]:
        (tmp_path / "input").write_text(text)
        options = ["planted", "--targets", str(tmp_path), "--replay", str(tmp_path / "input")]
        done = subprocess.run([sys.executable, str(HERE / "run.py"), *options], capture_output=True, text=True)
        assert done.returncode == code
        assert ("KeyError: 'planted'" in done.stderr) == bool(code)
