"""Damage to a store is noticed or harmless, ends in no internal error, and what can be read is salvaged."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest
from damage import CONTENT, ID, KINDS, build, damage, id_of, memglot, readable, rows_of

import memglot as package

INTERNAL = 70
NAMED = ("damage", "memory", "memories", "changed outside", "do not match", "not a memglot store", "chain breaks")
"""What `doctor` says about damage."""
READING = [
    ["list", "--limit", "0"],
    ["search", "queue garden"],
    ["search", "重跑 -cat"],
    ["search", "memory", "--tree", "work.part3", "--json"],
    ["get", id_of(7)],
    ["get", id_of(1_500)],
    ["stats"],
    ["history", id_of(7)],
    ["tree"],
    ["relations"],
    ["entities"],
    ["imports"],
    ["conflicts"],
    ["audit"],
    ["audit", "verify"],
    ["export", "{folder}/vault", "--format", "obsidian"],
    ["export", "{folder}/copy.json"],
    ["--store", "{folder}/other.db", "import", "{store}"],
    ["verify", "{store}"],
]
WRITING = [
    ["add", "new memory"],
    ["update", id_of(8), "--content", "changed"],
    ["delete", id_of(9)],
    ["link", id_of(10), "about", id_of(11)],
    ["consolidate"],
    ["undo", "last"],
]


@pytest.fixture(scope="session")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that is copied and damaged."""
    path = tmp_path_factory.mktemp("intact") / "store.db"
    build(path)
    assert memglot(path, "doctor")[0] == 0
    return path


def test_damaged_stores(intact: Path, place: Path, count: int, seed: int, figures: Counter[str]) -> None:
    original = rows_of(intact)
    wrong = []
    for number in range(count or 12):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        store = place / "store.db"
        shutil.copyfile(intact, store)
        done = damage(store, KINDS[number % len(KINDS)], random.Random(f"{seed} {number}"))
        about = f"store {number} of seed {seed}, {done}"
        try:
            check_store(store, original, figures, about)
        except AssertionError as error:
            wrong.append(str(error).partition("\nassert ")[0])
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:10])


def check_store(store: Path, original: dict[int, tuple[object, ...]], figures: Counter[str], about: str) -> None:
    """Run every command on a damaged store, and compare what it salvages with an independent reading."""
    folder, before = store.parent, store.read_bytes()
    left = readable(rows_of(store, list(original)), original)
    figures["damaged stores"] += 1
    code, out = run(store, about, "doctor")
    if code == 0:
        figures["damaged stores: harmless"] += 1
        assert rows_of(store) == original, about
    else:
        assert any(word in out for word in NAMED), f"{about}: {out}"
    check_salvage(store, left, original, figures, about)
    check_backup(store, original, about)
    check_export(store, left, figures, about)
    assert store.read_bytes() == before, about
    for command in READING:
        run(store, about, *(part.format(folder=folder, store=store) for part in command))
    copy = folder / "fixed.db"
    shutil.copyfile(store, copy)
    if run(copy, about, "doctor", "--fix")[0] == 0:
        assert rows_of(copy) == original and run(copy, about, "doctor")[0] == 0, about
    for command in WRITING:
        run(store, about, *command)


def run(store: Path, about: str, *command: str) -> tuple[int, str]:
    """Run a command; fail on an internal error."""
    code, out = memglot(store, *command)
    assert code != INTERNAL, f"{about}: {' '.join(command)}: {out[-2_000:]}"
    return code, out


def check_export(store: Path, left: set[str], figures: Counter[str], about: str) -> None:
    """Check that an export has what can be read."""
    out = store.with_name("export.ndjson")
    code, said = run(store, about, "export", str(out))
    if not out.exists():
        assert code == 3, f"{about}: {said}"
        return
    found = {json.loads(line).get("id") for line in out.read_text(encoding="utf-8").splitlines()}
    figures["damaged stores: memories exported"] += len(left & found)
    assert len(left & found) >= 0.99 * len(left), f"{about}: exported {len(left & found)} of {len(left)}: {said}"


def check_salvage(
    store: Path, left: set[str], original: dict[int, tuple[object, ...]], figures: Counter[str], about: str
) -> None:
    """Check that at least 99 % of the readable memories are salvaged, and that no loss is silent."""
    out = store.with_name("salvaged.db")
    code, said = run(store, about, "--json", "doctor", "--salvage", str(out))
    figures["damaged stores: readable memories"] += len(left)
    if not out.exists():
        assert code == 3 and not left, f"{about}: {said}"
        return
    assert package.verify(out).problems == [], about
    rows = {str(row[ID]): row for row in rows_of(out).values()}
    saved = left & rows.keys()
    figures["damaged stores: memories salvaged"] += len(saved)
    assert len(saved) >= 0.99 * len(left), f"{about}: salvaged {len(saved)} of {len(left)}"
    result = json.loads(said)
    altered = set(result["alteredIds"])
    same = {str(row[ID]): row for row in original.values()}
    wrong = [id for id, row in rows.items() if row[CONTENT] != same.get(id, row)[CONTENT] and id not in altered]
    assert not wrong, f"{about}: {wrong} were altered without a word"
    missing = same.keys() - rows.keys()
    assert not missing or code == 1 and result["lost"] > 0, f"{about}: {len(missing)} were lost without a word"
    assert rows.keys().isdisjoint(result["lostIds"]), about


def check_backup(store: Path, original: dict[int, tuple[object, ...]], about: str) -> None:
    """Check that a backup is intact, or that it leaves the previous one alone."""
    backup = store.with_name("backup.db")
    if run(store, about, "backup", str(backup))[0] == 0:
        assert rows_of(backup) == original and package.verify(backup).ok, about
    else:
        assert not backup.exists(), about
        backup.write_bytes(b"an earlier backup")
        assert run(store, about, "backup", str(backup), "--force")[0] != 0
        assert backup.read_bytes() == b"an earlier backup"
