"""Run all tests with faults again and again, each time with other faults, and add up what they did.

`make torture TIME=1200` runs it. No round begins when the time is over.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parent
_FIGURES = "figures: "


def run_round(seed: int, total: Counter[str]) -> bool:
    """Run all tests once, with the faults of a seed; return True if they pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", str(FOLDER)]
    environment = os.environ | {"MEMGLOT_FAULTS_SEED": str(seed)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(_FIGURES):
                total.update(json.loads(line.removeprefix(_FIGURES)))
            else:
                print(line, end="", flush=True)
    return process.returncode == 0


def main() -> int:
    """Run rounds for a number of seconds; return the number of those that failed."""
    until = time.monotonic() + float(sys.argv[1])
    first = int(os.environ.get("MEMGLOT_FAULTS_SEED", "0")) or time.time_ns() % 1_000_000
    total: Counter[str] = Counter()
    failed = []
    seed = first
    while seed == first or time.monotonic() < until:
        if not run_round(seed, total):
            failed.append(seed)
        seed += 1
    print(f"{seed - first} rounds, seeds {first} to {seed - 1}")
    for name, count in sorted(total.items()):
        print(f"{count:>12,} {name}")
    for seed in failed:
        print(f"failed: repeat it with `MEMGLOT_FAULTS_SEED={seed} make test-faults`")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
