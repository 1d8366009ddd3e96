"""Reading 16 MB of anything takes at most 5 s of CPU time and 512 MiB, and four times as much costs four times that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from bombs import BOMBS, Bomb

SIZE = 16_000_000
CPU_SECONDS = 5.0
MEMORY = 512 << 20
LOOPS = 50_000
LINE = '{"type":"entity","name":"a","entityType":"a","observations":["b"]}'
USUAL_SECONDS = LOOPS * 1.5e-6
"""What decoding that many lines takes on the machine of the 5 s; the bound grows with it on a slower one."""
START = 0.5
"""Seconds that a process may take before it reads anything."""
GROWTH = 8
"""A quarter of the size costs an eighth or more: four for a linear cost, two for what measuring adds."""
READ = """
import sys
from pathlib import Path
from memglot.formats.base import ReadOptions
from memglot.formats.core.read import read_items
from memglot.report import Report
for _ in read_items([Path(sys.argv[1])], None, Report(), ReadOptions()):
    pass
"""


class Cost(NamedTuple):
    """What reading one input took."""

    seconds: float
    memory: int


def slowness() -> float:
    """Return how many times slower than usual this machine decodes JSON now, at least 1."""
    start = time.process_time()
    for number in range(LOOPS):
        value = json.loads(LINE)
        value["number"] = number
        sorted(dict(value))
    return max(1.0, (time.process_time() - start) / USUAL_SECONDS)


def cost_of(bomb: Bomb, size: int, folder: Path) -> Cost:
    """Read an input of a given size in a process of its own."""
    path = folder / str(size) / bomb.file
    path.parent.mkdir(parents=True)
    path.write_bytes(bomb.make(size))
    # A vault is a folder.
    given = path.parent if path.parent.name == "vault" else path
    process = subprocess.Popen([sys.executable, "-c", READ, str(given)], stderr=subprocess.PIPE)
    assert process.stderr is not None
    errors = process.stderr.read().decode()
    process.stderr.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    path.unlink()
    assert process.returncode == 0 or "MemglotError" in errors or "memglot.errors" in errors, errors[-2_000:]
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss << 10)


@pytest.mark.parametrize("name", BOMBS)
def test_reading_is_bounded(name: str, tmp_path: Path, count: int, figures: Counter[str]) -> None:
    size = SIZE * 4 if count else SIZE
    before = slowness()
    found, quarter = cost_of(BOMBS[name], size, tmp_path), cost_of(BOMBS[name], size // 4, tmp_path)
    seconds = CPU_SECONDS * max(before, slowness())
    figures["bombs"] += 1
    assert max(found.memory, quarter.memory) <= MEMORY, f"{found.memory >> 20} MiB"
    assert (quarter if count else found).seconds <= seconds, f"{found.seconds:.1f} s of CPU"
    assert found.seconds <= START + GROWTH * max(quarter.seconds - START, 0.3), (
        f"{quarter.seconds:.1f}, {found.seconds:.1f} s"
    )
