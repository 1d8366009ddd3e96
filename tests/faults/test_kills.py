"""Every command that writes can be killed at any call, or find a failing disk, and lose nothing."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import click
import pytest
from commands import CASES, READING, Case
from kills import INTERNAL, check_after_fault, kill_after, prepare, run, survey
from machine import Fault, Machine

from memglot.cli.main import COMMANDS, Commands, cli


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_killed_command_can_be_repeated(
    case: Case, machine: Machine, place: Path, count: int, seed: int, figures: Counter[str]
) -> None:
    found = prepare(case, machine, place)
    chosen = {*found.chosen(count, seed), *found.commits} if count else found.chosen(10, seed)
    tried, wrong = survey(found, sorted(chosen), Fault.KILL)
    figures["kills"] += tried
    assert not wrong, f"{len(wrong)} of {tried}:\n" + "\n".join(wrong[:3])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_command_killed_at_any_time_can_be_repeated(
    case: Case, machine: Machine, place: Path, count: int, seed: int, figures: Counter[str]
) -> None:
    found = prepare(case, machine, place)
    source = random.Random(f"{case.name} {seed}")
    for _ in range(max(1, count // 10)):
        figures["kills"] += kill_after(found, source.uniform(0.001, 0.08))


@pytest.mark.parametrize("fault", [Fault.FAIL_ONCE, Fault.FULL, Fault.SHORT, Fault.READ_ONLY], ids=lambda f: f.name)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_command_whose_disk_fails_can_be_repeated(
    case: Case, fault: Fault, machine: Machine, place: Path, count: int, seed: int, figures: Counter[str]
) -> None:
    found = prepare(case, machine, place)
    tried, wrong = survey(found, found.chosen(count // 3 or 2, seed), fault)
    figures["faults"] += tried
    assert not wrong, f"{len(wrong)} of {tried}:\n" + "\n".join(wrong[:3])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_disk_that_cannot_be_read_is_reported_as_such(
    case: Case, machine: Machine, place: Path, count: int, seed: int, figures: Counter[str]
) -> None:
    found = prepare(case, machine, place)
    source = random.Random(f"{case.name} {seed}")
    for at in sorted(source.randrange(60) for _ in range(count // 3 or 2)):
        figures["faults"] += 1
        outcome = run(found, folder := found.copy(), fault=Fault.UNREADABLE, at=at)
        assert outcome.status == 0, outcome
        result = outcome.results[0]
        assert result.code != INTERNAL and "Traceback" not in result.err, (at, result)
        assert "is not a memglot store" not in result.err and "is damaged" not in result.err, (at, result)
        check_after_fault(found, folder, is_done=(result.code, result.err) == (found.code, found.err))


def test_every_command_that_writes_has_a_case() -> None:
    tested = {" ".join(case.command[:2]) for case in CASES} | {case.command[0] for case in CASES} | {"restore"}
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name) if isinstance(cli, Commands) else None
        names = [name]
        if isinstance(command, click.Group):
            names = [f"{name} {inner}" for inner in command.commands]
        for found in names:
            assert found in tested or found in READING, found
