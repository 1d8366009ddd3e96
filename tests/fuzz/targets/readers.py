"""The reader of each format, with the goldens as seeds: any bytes in a file of this format."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

from fuzz_target import Target
from mutations import Sample, mutate_bytes, samples

from memglot import MemglotError
from memglot.formats import registry
from memglot.formats.base import Format, ReadOptions
from memglot.formats.core.read import read_items
from memglot.report import Report

_ALMOST = 0.7
"""Share of variants that keep the shape of the file."""

_KINDS = (".md", ".json", ".jsonl")
"""Files of a folder that are tried, each with the files next to it."""


def _reader(format: Format, path: str, others: tuple[tuple[str, bytes], ...]) -> Callable[[bytes], None]:
    """Return a function that reads bytes as a file of a format; in a folder, with the files next to it."""

    def try_one(data: bytes) -> None:
        with tempfile.TemporaryDirectory(prefix="memglot-") as folder:
            place = Sample("", path, data, others).write(Path(folder))
            try:
                for _ in read_items([place], format, Report(), ReadOptions()):
                    pass
            except MemglotError:
                pass

    return try_one


def _mutator(shape: str) -> Callable[[bytes, int, int], bytes]:
    """Return a function that changes values which a file of this shape has, or else any byte."""

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        random = Random(seed)
        if random.random() < _ALMOST:
            return mutate_bytes(data, shape, random)[:max_size]
        import atheris

        changed: bytes = atheris.Mutate(data, max_size)
        return changed

    return mutate


def _targets() -> list[Target]:
    """Return one target for each format and kind of file that it has in the goldens."""
    found: dict[str, list[Sample]] = {}
    for sample in samples():
        name = sample.name.partition("/")[0]
        if not sample.is_folder:
            found.setdefault(name, []).append(sample)
        elif sample.shape in _KINDS and "/.obsidian/" not in sample.path:
            found.setdefault(name + sample.shape.replace(".", "-"), []).append(sample)
    return [_target(name, some) for name, some in sorted(found.items())]


def _target(name: str, some: list[Sample]) -> Target:
    first = some[0]
    format = registry.get(first.name.partition("/")[0])
    seeds = list(dict.fromkeys(sample.data for sample in some))
    return Target(f"read-{name}", _reader(format, first.path, first.others), seeds, _mutator(first.shape))


TARGETS = _targets()
