"""Run the tests with faults again and again, each round with other and many more faults, and add up what they did.

`make torture TIME=1200` runs it. No step begins when the time is over.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parents[1]
_FIGURES = "figures: "


class Step(NamedTuple):
    """Tests, and how many faults each of them tries."""

    file: str
    faults: int
    only: str = ""

    @property
    def command(self) -> list[str]:
        """The arguments of pytest."""
        return [f"tests/{self.file}", *(["-k", self.only] if self.only else [])]


STEPS = (
    Step("faults/test_kills.py", 150, "killed"),
    Step("faults/test_many_writers.py", 120),
    Step("faults/test_kills.py", 12, "disk"),
    Step("faults/test_private_files.py", 10),
    Step("faults/test_power_cuts.py", 100),
    Step("faults/test_damaged_stores.py", 60),
    Step("faults/test_hostile_stores.py", 100),
    Step("faults/test_frames.py", 50_000),
    Step("fuzz/test_mutations.py", 300, "variant"),
    Step("faults/test_doctor.py", 100),
)
"""One round. Tests whose inputs are the same each time, such as `test_reading_cost.py`, are not repeated."""


def run_step(step: Step, seed: int, total: Counter[str]) -> bool:
    """Run tests with the faults of a seed; return True if they pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *step.command]
    environment = os.environ | {"MEMGLOT_FAULTS_SEED": str(seed), "MEMGLOT_FAULTS_COUNT": str(step.faults)}
    with subprocess.Popen(command, cwd=TESTS.parent, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(_FIGURES):
                total.update(json.loads(line.removeprefix(_FIGURES)))
            else:
                print(line, end="", flush=True)
    return process.returncode == 0


def main() -> int:
    """Run steps for a number of seconds; return the number of those that failed."""
    until = time.monotonic() + float(sys.argv[1])
    first = int(os.environ.get("MEMGLOT_FAULTS_SEED", "0")) or time.time_ns() % 1_000_000
    total: Counter[str] = Counter()
    failed: list[tuple[Step, int]] = []
    done = 0
    for number, step in enumerate(itertools.cycle(STEPS)):
        if number and time.monotonic() > until:
            break
        seed = first + number // len(STEPS)
        print(f"{' '.join(step.command)}: count {step.faults:,}, seed {seed}", flush=True)
        if not run_step(step, seed, total):
            failed.append((step, seed))
        done += 1
    print(f"{done} steps; a round has {len(STEPS)}")
    for name, count in sorted(total.items()):
        print(f"{count:>12,} {name}")
    for step, seed in failed:
        variables = f"MEMGLOT_FAULTS_COUNT={step.faults} MEMGLOT_FAULTS_SEED={seed}"
        print(f"failed: repeat it with `{variables} .venv/bin/pytest {' '.join(step.command)}`")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
