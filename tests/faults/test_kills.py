"""Every command that writes can be killed at any call, or find a failing disk, and lose nothing."""

from __future__ import annotations

import random
from pathlib import Path

import click
import pytest
from commands import CASES, READING, Case
from kills import kill_after, prepare, survey
from machine import Fault, Machine

from memglot.cli.main import COMMANDS, Commands, cli


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_killed_command_can_be_repeated(case: Case, machine: Machine, place: Path, count: int, seed: int) -> None:
    found = prepare(case, machine, place)
    tried, wrong = survey(found, found.chosen(count or 10, seed), Fault.KILL)
    assert not wrong, f"{len(wrong)} of {tried}:\n" + "\n".join(wrong[:3])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_command_killed_at_any_time_can_be_repeated(
    case: Case, machine: Machine, place: Path, count: int, seed: int
) -> None:
    found = prepare(case, machine, place)
    source = random.Random(f"{case.name} {seed}")
    for _ in range(max(1, count // 10)):
        kill_after(found, source.uniform(0.001, 0.08))


@pytest.mark.parametrize("fault", [Fault.FAIL_ONCE, Fault.FULL, Fault.SHORT, Fault.READ_ONLY], ids=lambda f: f.name)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_command_whose_disk_fails_can_be_repeated(
    case: Case, fault: Fault, machine: Machine, place: Path, count: int, seed: int
) -> None:
    found = prepare(case, machine, place)
    tried, wrong = survey(found, found.chosen(count // 3 or 2, seed), fault)
    assert not wrong, f"{len(wrong)} of {tried}:\n" + "\n".join(wrong[:3])


def test_every_command_that_writes_has_a_case() -> None:
    tested = {" ".join(case.command[:2]) for case in CASES} | {case.command[0] for case in CASES} | {"restore"}
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name) if isinstance(cli, Commands) else None
        names = [name]
        if isinstance(command, click.Group):
            names = [f"{name} {inner}" for inner in command.commands]
        for found in names:
            assert found in tested or found in READING, found
