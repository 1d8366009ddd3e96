"""What a command reported as done is on disk: a power cut at any later moment does not lose it."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from cuts import cut_at, lost_memories, moments, record_day, record_server
from machine import Event, Kind, Machine
from power import Disk


def test_nothing_acknowledged_is_lost_in_a_power_cut(
    machine: Machine, place: Path, count: int, seed: int, figures: Counter[str]
) -> None:
    day = record_day(machine, place)
    wrong = []
    for number, moment in enumerate(chosen := moments(day, count or 60, seed)):
        try:
            cut_at(machine, day, moment, seed + number)
        except AssertionError as error:
            wrong.append(f"at call {moment} of {len(day.events)}: {str(error)[:600]}")
    figures["power cuts"] += len(chosen)
    assert not wrong, f"{len(wrong)} of {len(chosen)}:\n" + "\n".join(wrong[:5])


def test_a_server_loses_nothing_while_others_have_the_store_open(
    machine: Machine, place: Path, count: int, seed: int, figures: Counter[str]
) -> None:
    served = record_server(machine, place, 40)
    for number, moment in enumerate(moments(served, count or 60, seed)):
        lost = lost_memories(machine, served, moment, seed + number)
        figures["power cuts"] += 1
        assert not lost, f"{len(lost)} lost at call {moment} of {len(served.events)}"


def test_the_simulated_disk_forgets_what_was_not_synced(tmp_path: Path) -> None:
    root = tmp_path / "disk"
    root.mkdir()

    def after(*events: Event) -> dict[str, bytes]:
        disk = Disk(root)
        disk.replay(events)
        target = tmp_path / f"cut{len(list(tmp_path.iterdir()))}"
        disk.cut(target, random.Random(1), 1.0)
        return {path.name: path.read_bytes() for path in target.iterdir()}

    path = str(root / "a")
    create = Event(Kind.CREATE, 7, 0, path, "", b"")
    write = Event(Kind.WRITE, 7, 0, path, "", b"text")
    sync = Event(Kind.SYNC, 7, 0, path, "", b"")
    sync_folder = Event(Kind.SYNC, 1, 0, str(root), "", b"")
    rename = Event(Kind.RENAME, 7, 0, path, str(root / "b"), b"")
    # An unsynced name may survive a cut by chance, so only what is certain is compared.
    assert after(create, write, sync_folder) == {"a": b""}
    assert after(create, write, sync, sync_folder) == {"a": b"text"}
    assert after(create, write, sync, sync_folder, rename, sync_folder) == {"b": b"text"}
