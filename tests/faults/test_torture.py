"""`make torture` repeats all tests that choose their faults at random."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from torture import STEPS, TESTS, Step


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.file} {step.only}")
def test_each_step_has_tests(step: Step) -> None:
    names = re.findall(r"^def (test_\w+)", (TESTS / step.file).read_text(encoding="utf-8"), re.MULTILINE)
    assert any(step.only in name for name in names), step


def test_every_file_of_random_faults_is_repeated() -> None:
    """A test chooses faults at random if it uses the fixture `seed` or `count`; inputs of one size are no choice."""
    fixed = {"faults/test_reading_cost.py"}
    for folder in ("faults", "fuzz"):
        for path in sorted(Path(TESTS / folder).glob("test_*.py")):
            name = f"{folder}/{path.name}"
            if re.search(r"\b(seed|count): int\b", path.read_text(encoding="utf-8")) and name not in fixed:
                assert name in {step.file for step in STEPS}, name
