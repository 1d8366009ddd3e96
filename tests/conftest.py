"""What the tests share."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

from memglot import Memory

settings.register_profile(
    "memglot", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
# `pytest --hypothesis-profile=deep` looks further, and elsewhere each time.
settings.register_profile(
    "deep", deadline=None, max_examples=1_500, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("memglot")

# Exports that tell when and where they were made tell the same on every machine.
os.environ |= {"MEMGLOT_MACHINE": "test-machine", "SOURCE_DATE_EPOCH": "1760000000"}
os.environ.pop("MEMGLOT_PASSPHRASE", None)
# Projects that a test makes are registered away from the user's own; processes that a test starts inherit this.
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
    """Where a store may be made."""
    return str(tmp_path / "store.db")
