"""Fixtures and settings for all tests."""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from memglot import Memory

if TYPE_CHECKING:
    from machine import Machine

settings.register_profile(
    "memglot", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
# `pytest --hypothesis-profile=deep` runs more examples, and different ones each time.
settings.register_profile(
    "deep", deadline=None, max_examples=1_500, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("memglot")

# Exports that record when and where they were made are the same on every machine.
os.environ |= {"MEMGLOT_MACHINE": "test-machine", "SOURCE_DATE_EPOCH": "1760000000"}
os.environ.pop("MEMGLOT_PASSPHRASE", None)
# Projects of tests have their own registry, not the user's; processes that a test starts inherit this.
_HOME = TemporaryDirectory(prefix="memglot-home-", ignore_cleanup_errors=True)
atexit.register(_HOME.cleanup)
os.environ["MEMORY_HOME"] = _HOME.name
# Tests do not read the configuration file of whoever runs them.
os.environ["MEMGLOT_CONFIG"] = f"{_HOME.name}/config.toml"

# Faults are injected with a library that is loaded into the process, which only Linux can do. Tests of the command line
# that run a shell need one, and links and modes of files, which Windows has not.
collect_ignore_glob = [] if sys.platform == "linux" else ["faults/*"]
if sys.platform == "win32":
    collect_ignore_glob += ["cli/test_cli_cases.py", "journeys/*", "test_files.py"]

_FIGURES = pytest.StashKey[Counter[str]]()
SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture
def memory() -> Iterator[Memory]:
    """An empty store in memory."""
    with Memory.open(":memory:") as found:
        yield found


@pytest.fixture
def store_path(tmp_path: Path) -> str:
    """The path of a new store."""
    return str(tmp_path / "store.db")


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with faults; it needs Linux and gcc."""
    from machine import Machine

    with Machine(tmp_path_factory.mktemp("machine")) as found:
        yield found


@pytest.fixture(scope="session")
def count() -> int:
    """Number of faults for each test, from `$MEMGLOT_FAULTS_COUNT`; 0 for the default of the test."""
    return int(os.environ.get("MEMGLOT_FAULTS_COUNT", "0"))


@pytest.fixture(scope="session")
def seed() -> int:
    """Seed for the choice of faults, from `$MEMGLOT_FAULTS_SEED`."""
    return int(os.environ.get("MEMGLOT_FAULTS_SEED", "1"))


@pytest.fixture(scope="session")
def figures(request: pytest.FixtureRequest) -> Counter[str]:
    """Counts of what the tests with faults did, such as `kills`, which are printed at the end of a run."""
    return request.config.stash[_FIGURES]


def pytest_configure(config: pytest.Config) -> None:
    """Start counting."""
    config.stash[_FIGURES] = Counter()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the figures of a worker to the process that started it."""
    if hasattr(session.config, "workeroutput"):
        found: Counter[str] = session.config.stash[_FIGURES]
        session.config.workeroutput["figures"] = dict(found)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the figures of a worker."""
    found: Counter[str] = node.config.stash[_FIGURES]
    found.update(getattr(node, "workeroutput", {}).get("figures", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the figures."""
    if found := config.stash[_FIGURES]:
        terminalreporter.write_line("figures: " + json.dumps(dict(sorted(found.items()))))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that does not exist yet."""
    return tmp_path / "case"
