"""Fuzz memglot, guided by coverage: `python tests/fuzz/run.py --time 120` runs every target, each in its own process.

An input that takes more than 5 s of CPU or 512 MiB, or ends in an error that is not memglot's, is a finding: it is
saved in `.fuzz/findings/` with the command that shows it again. The exit status is 1 if there are findings.
"""

from __future__ import annotations

import argparse
import importlib
import io
import mmap
import os
import pkgutil
import resource
import shutil
import struct
import sys
import tempfile
import time
import traceback
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "faults")]

from fuzz_target import CORPUS, TARGETS, Target, all_targets, digest, signature  # noqa: E402

CPU_SECONDS = 5.0
MEMORY = 512 << 20
HANG_SECONDS = 60
"""Real time after which a process that does not return is ended; its input is a finding too."""
MAX_SIZE = 64 << 10


class TooSlow(Exception):
    """An input took too much CPU time."""

    kind = "too-slow"


@dataclass
class Run:
    """A target that is being fuzzed in a process of its own."""

    target: Target
    folder: Path
    pid: int = 0
    # Shared with the process, so that the count is right even if the process dies.
    tried: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, 8))

    @property
    def findings(self) -> Path:
        """The folder of inputs that show a defect."""
        return self.folder / "findings" / self.target.name

    @property
    def count(self) -> int:
        """Number of inputs tried so far."""
        return int(struct.unpack("q", self.tried[:8])[0])


def main() -> int:
    """Run targets, or show one input again."""
    options = _arguments()
    with tempfile.TemporaryDirectory(prefix="memglot-fuzz-") as home:
        os.environ |= {"MEMORY_HOME": home, "MEMGLOT_MACHINE": "test-machine", "SOURCE_DATE_EPOCH": "1760000000"}
        return _replay(options) if options.replay else _fuzz(options)


def _fuzz(options: argparse.Namespace) -> int:
    """Run targets, as many at a time as there are jobs."""
    try:
        import atheris
    except ImportError:
        print("fuzzing needs atheris: run `.venv/bin/pip install --group fuzz`", file=sys.stderr)
        return 2
    targets = _instrumented(atheris, Path(options.targets), options.names)
    folder = Path(options.folder)
    shutil.rmtree(folder / "findings", ignore_errors=True)
    share = options.time * min(options.jobs, len(targets)) / len(targets)
    runs, waiting, running = [], [Run(target, folder) for target in targets], dict[int, Run]()
    while waiting or running:
        while waiting and len(running) < options.jobs:
            run = waiting.pop(0)
            _start(atheris, run, share, options)
            running[run.pid] = run
        pid, status = os.wait()
        if pid in running:
            run = running.pop(pid)
            runs.append(run)
            _record_death(run, os.waitstatus_to_exitcode(status))
    return _summary(runs)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fuzz memglot, guided by coverage.")
    parser.add_argument("names", nargs="*", help="targets to run (default: all)")
    parser.add_argument("--time", type=float, default=120, help="total time in seconds (default: 120)")
    parser.add_argument("--runs", type=int, default=-1, help="maximum number of inputs for each target")
    parser.add_argument("--seed", type=int, default=0, help="seed for the choice of inputs (default: another each run)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="number of processes at a time")
    parser.add_argument("--folder", default=".fuzz", help="folder for findings, logs and new inputs (default: .fuzz)")
    parser.add_argument("--targets", default=str(TARGETS), help="folder of targets")
    parser.add_argument("--replay", metavar="FILE", help="try one file with one target, and show what happens")
    return parser.parse_args()


def _instrumented(atheris: Any, folder: Path, names: list[str]) -> list[Target]:
    """Import memglot with counters for coverage, and return the targets."""
    quiet = redirect_stderr(io.StringIO())  # atheris names each module
    with quiet, atheris.instrument_imports(include=["memglot"], enable_loader_override=False):
        import memglot

        for module in pkgutil.walk_packages(memglot.__path__, "memglot."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    targets = all_targets(folder)
    unknown = set(names) - {target.name for target in targets}
    if unknown or not targets:
        raise SystemExit(f"no such target: {', '.join(sorted(unknown))}")
    for target in targets:
        atheris.instrument_func(target.try_one)
    return [target for target in targets if not names or target.name in names]


def _start(atheris: Any, run: Run, seconds: float, options: argparse.Namespace) -> None:
    """Start the process of a target."""
    run.findings.mkdir(parents=True, exist_ok=True)
    corpus = run.folder / "corpus" / run.target.name
    seeds = run.folder / "seeds" / run.target.name
    for path in (corpus, seeds):
        path.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(run.target.seeds):
        (seeds / str(number)).write_bytes(seed)
    run.pid = os.fork()
    if run.pid:
        return
    try:
        with open(run.folder / f"{run.target.name}.log", "wb", buffering=0) as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        _limit_memory()
        given = [path for path in (CORPUS / run.target.name, seeds) if path.is_dir()]
        arguments = [
            *("fuzz", f"-max_total_time={max(int(seconds), 1)}", f"-seed={options.seed}", f"-runs={options.runs}"),
            *(f"-max_len={MAX_SIZE}", f"-timeout={HANG_SECONDS}", "-rss_limit_mb=0", "-len_control=0"),
            # A command may wait ten seconds for a lock; `_try` bounds the CPU time.
            f"-report_slow_units={HANG_SECONDS}",
            *(f"-artifact_prefix={run.findings}/", str(corpus), *map(str, given)),
        ]
        extra = {"custom_mutator": run.target.mutate} if run.target.mutate else {}
        atheris.Setup(arguments, lambda data: _try(run, data), internal_libfuzzer=True, **extra)
        atheris.Fuzz()
    except BaseException:  # noqa: BLE001 - the process of a target never returns into the loop of the parent
        traceback.print_exc()
        os._exit(70)
    os._exit(0)


def _limit_memory() -> None:
    """Let one input take no more than 512 MiB on top of what the process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _try(run: Run, data: bytes) -> None:
    run.tried[:8] = struct.pack("q", run.count + 1)
    started = time.process_time()
    try:
        run.target.try_one(data)
        spent = time.process_time() - started
        if spent > CPU_SECONDS:
            raise TooSlow(f"{spent:.1f} s of CPU")
    except Exception as error:  # noqa: BLE001 - every error that a target lets pass is a finding
        _save(run, data, error)


def _save(run: Run, data: bytes, error: Exception) -> None:
    """Keep the smallest input for each kind of finding."""
    path = run.findings / signature(error)
    if path.exists() and path.stat().st_size <= len(data):
        return
    path.write_bytes(data)
    text = "".join(traceback.format_exception(error))
    path.with_name(path.name + ".txt").write_text(f"{_command(run, path)}\n\n{text}", errors="replace")


def _command(run: Run, path: Path) -> str:
    return f"show it again: .venv/bin/python tests/fuzz/run.py {run.target.name} --replay {path}"


def _record_death(run: Run, code: int) -> None:
    """Add a finding for a process that died, if libFuzzer did not save its input."""
    if code and not any(path.suffix != ".txt" for path in run.findings.iterdir()):
        log = (run.folder / f"{run.target.name}.log").read_text(errors="replace")
        (run.findings / f"exit-{code}").write_text(log[-5_000:])


def _summary(runs: list[Run]) -> int:
    found = 0
    for run in sorted(runs, key=lambda run: run.target.name):
        kinds = sorted(path for path in run.findings.iterdir() if path.suffix != ".txt")
        found += len(kinds)
        print(f"{run.target.name}: {run.count:,} inputs, {len(kinds)} findings")
        for path in kinds:
            print(f"  {path}\n    {_command(run, path)}")
    print(f"{sum(run.count for run in runs):,} inputs, {found} findings")
    return 1 if found else 0


def _replay(options: argparse.Namespace) -> int:
    """Try a file with a target, without counters for coverage."""
    data = Path(options.replay).read_bytes()
    found = [target for target in all_targets(Path(options.targets)) if target.name in options.names]
    if len(found) != 1:
        raise SystemExit("name one target for --replay")
    started = time.process_time()
    found[0].try_one(data)
    print(f"no finding: {digest(data)}, {time.process_time() - started:.2f} s of CPU")
    return 0


if __name__ == "__main__":
    sys.exit(main())
