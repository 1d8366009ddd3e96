"""Generated memories for the benchmarks: about 45 words each, varied, the same on every run."""

import random
from collections.abc import Iterator
from pathlib import Path

import msgspec

_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo yu za bri cla dre flo gra plo stri".split()


def words(source: random.Random, count: int) -> list[str]:
    """Return a vocabulary in which some words are much more common than others, as in a natural language."""
    return ["".join(source.choices(_SYLLABLES, k=source.randint(1, 4))) for _ in range(count)]


def lines(count: int, *, with_ids: bool = True, first: int = 0) -> Iterator[bytes]:
    """Yield memories as NDJSON lines."""
    source = random.Random(7 + first)
    vocabulary = words(random.Random(1), 20_000)
    weights = [1 / (rank + 10) for rank in range(len(vocabulary))]
    encode = msgspec.json.Encoder().encode
    for number in range(first, first + count):
        value: dict[str, object] = {}
        if with_ids:
            value["id"] = f"01940000-{number >> 16 & 0xFFFF:04x}-7000-8000-{number:012x}"
        value["content"] = " ".join(source.choices(vocabulary, weights, k=source.randint(30, 60)))
        value["tree"] = f"work.project{number % 97}.part{number % 7}"
        value["meta"] = {"source": "bench", "number": number, "author": source.choice(["ann", "bo", "chi"])}
        yield encode(value)


def ndjson(path: Path, count: int, first: int = 0) -> Path:
    """Make an NDJSON file, unless it exists."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as out:
            for line in lines(count, first=first):
                out.write(line + b"\n")
    return path


def array(path: Path, source: Path) -> Path:
    """Make a file with the same memories as one JSON array."""
    if not path.exists():
        with open(source, "rb") as file, open(path, "wb") as out:
            before = b"[\n"
            for line in file:
                out.write(before + line.rstrip())
                before = b",\n"
            out.write(b"\n]\n")
    return path
