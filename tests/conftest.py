"""Fixtures and settings for all tests."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

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


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that does not exist yet."""
    return tmp_path / "case"
