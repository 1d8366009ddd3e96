"""Variants of small inputs in every format: no internal error, no second import, nothing lost in an export.

`MEMGLOT_FAULTS_COUNT` sets how many are imported and exported; fifty times as many are only read.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from mutations import Sample, cases, mutate, samples
from round_trips import NAMES, SHAPES, Shape, find

DEEP = 300
READ = 2_000
MAX_KINDS = 20


def try_all(count: int, seed: int, shapes: list[Shape] | None) -> list[str]:
    """Try variants of all samples; return what was found, one of each kind."""
    random, found = Random(seed), dict[str, str]()
    known = cases()
    for number in range(count):
        sample = mutate(random.choice(random.choice(known)), random)
        shape = shapes[number % len(shapes)] if shapes else None
        edits = Random(random.random()) if number % 2 else None
        if (finding := find(sample, shape, edits)) is not None and len(found) < MAX_KINDS:
            kind, text = finding
            found.setdefault(kind, f"{kind}: {sample.name} to {shape and NAMES[SHAPES.index(shape)]}\n{sample}\n{text}")
    return list(found.values())


def test_reading_a_variant_ends_in_no_internal_error(count: int, seed: int, figures: Counter[str]) -> None:
    figures["mutated files"] += count * 50 or READ
    assert try_all(count * 50 or READ, seed, None) == []


def test_variants_are_imported_once_and_exported_completely(count: int, seed: int, figures: Counter[str]) -> None:
    figures["mutated files"] += count or DEEP
    figures["mutated files: imported and exported"] += count or DEEP
    assert try_all(count or DEEP, seed, SHAPES) == []


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_every_golden_is_imported_once_and_exported_completely(shape: Shape) -> None:
    found = [(sample.name, finding) for sample in one_of_each() if (finding := find(sample, shape)) is not None]
    assert found == []


def one_of_each() -> list[Sample]:
    """Return each golden once; samples of one folder are the same input before they are changed."""
    return list({sample.name.partition(":")[0]: sample for sample in samples()}.values())
