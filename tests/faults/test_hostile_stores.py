"""Databases that somebody changed on purpose end in a clear error or a skipped row, never in an internal error."""

from __future__ import annotations

import random
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from hostile import Attacker, make_brain, make_service_database, make_store

from memglot import MemglotError, Memory
from memglot.cli.main import cli
from memglot.cli.session import Session

READ = [
    ["verify", "IN"],
    ["diff", "IN", "GOOD"],
    ["diff", "GOOD", "IN"],
    ["convert", "IN", "OUT.ndjson"],
    ["convert", "IN", "OUT.db"],
    ["--store", "NEW.db", "import", "IN"],
    ["--store", "NEW.db", "import", "IN"],
    ["--store", "NEW.db", "list"],
    ["--store", "NEW.db", "doctor"],
    ["--store", "NEW.db", "export", "OUT.agentos", "--format", "agentos-sqlite"],
]
ASK = [
    ["list"],
    ["search", "memory first"],
    ["search", "--grep", "mem.*"],
    ["search", "tag:one"],
    ["get", "ID"],
    ["history", "ID"],
    ["stats"],
    ["tree"],
    ["entities"],
    ["conflicts"],
    ["imports"],
    ["audit"],
    ["audit", "verify"],
    ["doctor"],
    ["export", "OUT.json", "--format", "json"],
    ["export", "OUT.vault", "--format", "obsidian"],
    ["export", "OUT.db"],
]
CHANGE = [
    ["add", "A new memory"],
    ["link", "ID", "mentions", "ID"],
    ["move", "a", "b"],
    ["import", "GOOD"],
    ["undo", "last"],
    ["delete", "ID"],
    ["consolidate"],
    ["doctor", "--fix"],
    ["backup", "OUT.backup"],
    ["list"],
]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    folder = tmp_path_factory.mktemp("originals")
    store = make_store(folder / "store.db")
    yield [store, make_brain(folder / "brain.sqlite", store), make_service_database(folder / "service.db")]


def first_id(store: Path) -> str:
    """Return the id of the memory that others refer to."""
    with Memory.open(store, write=False) as memory:
        return next(iter(memory.list(tree="a"))).id


def failures(commands: list[list[str]], words: dict[str, str], store: Path | None = None) -> list[str]:
    """Run commands; return the internal errors."""
    found = []
    for command in commands:
        args = [next((word.replace(name, to) for name, to in words.items() if name in word), word) for word in command]
        given = ["--store", str(store), *args] if store else args
        done = CliRunner().invoke(cli, given, obj=Session(), standalone_mode=False)
        if done.exception is not None and not isinstance(done.exception, (SystemExit, MemglotError)):
            frames = traceback.extract_tb(done.exception.__traceback__)
            place = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-4:]))
            found.append(f"{' '.join(command)}: {done.exception!r:.200} at {place}")
    return found


def test_a_hostile_database_never_ends_in_an_internal_error(
    originals: list[Path], tmp_path: Path, count: int, seed: int, figures: Counter[str]
) -> None:
    wrong = []
    for number in range(count or 60):
        attacker = Attacker(f"{seed} {number}")
        original = originals[random.Random(f"{seed} {number}").choice([0, 0, 0, 1, 2])]
        folder = tmp_path / str(number)
        folder.mkdir()
        hostile = folder / original.name
        what = attacker.attack(original, hostile)
        before = hostile.read_bytes()
        words = {"IN": str(hostile), "GOOD": str(originals[0]), "OUT": f"{folder}/out", "NEW": f"{folder}/new"}
        words["ID"] = first_id(originals[0])
        found = failures(READ, words)
        figures["hostile stores"] += 1
        assert hostile.read_bytes() == before, what
        if original == originals[0]:
            found += failures(ASK, words, hostile)
            found += failures(CHANGE, words, hostile)
        wrong += [f"{number} {original.name} {what}: {failure}" for failure in found]
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:20])
