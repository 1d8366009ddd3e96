"""Values of the wrong type are rejected before they reach the store."""

from __future__ import annotations

from typing import Any

import pytest

from memglot import MemglotError, Memory

X, Y = (f"0194a000-000{number}-7000-8000-000000000000" for number in (1, 2))


@pytest.mark.parametrize("wrong", [{"meta": [1]}, {"strength": "a"}, {"kind": None}, {"tags": [1]}, {"temporal": []}])
def test_wrong_types_never_reach_the_store(memory: Memory, wrong: dict[str, Any]) -> None:
    memory.add("good", id=X)
    with pytest.raises(MemglotError):
        memory.add("x", **wrong)
    with pytest.raises(MemglotError):
        memory.update(X, **wrong)
    assert memory.doctor().ok
