"""Find fuzz targets and their inputs, and describe what they find."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
TARGETS, CORPUS = HERE / "targets", HERE / "corpus"


@dataclass(frozen=True)
class Target:
    """Something to fuzz."""

    name: str
    try_one: Callable[[bytes], None]
    """Try one input; any error but a caught one is a finding."""
    seeds: list[bytes]
    mutate: Callable[[bytes, int, int], bytes] | None = None
    """Returns a variant of an input, given its maximum size and a seed; by default, bytes are changed at random."""

    def inputs(self) -> Iterator[tuple[str, bytes]]:
        """Return the seeds and the files of the committed corpus, each with a name."""
        for number, seed in enumerate(self.seeds):
            yield f"seed-{number}", seed
        for path in sorted((CORPUS / self.name).glob("*")):
            yield path.name, path.read_bytes()


def load(path: Path) -> list[Target]:
    """Return the targets of a file: `TARGETS` if it has a list of them, else its own `try_one`."""
    spec = importlib.util.spec_from_file_location(f"targets.{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if hasattr(module, "TARGETS"):
        return list(module.TARGETS)
    return [Target(path.stem, module.try_one, list(module.SEEDS), getattr(module, "mutate", None))]


def all_targets(folder: Path = TARGETS) -> list[Target]:
    """Return the targets of a folder, sorted by name."""
    found = [target for path in sorted(folder.glob("[a-z]*.py")) for target in load(path)]
    return sorted(found, key=lambda target: target.name)


def signature(error: BaseException) -> str:
    """Return a name for what went wrong, equal for inputs that show the same defect."""
    if (kind := getattr(error, "kind", None)) is not None:
        return re.sub(r"[^\w.-]+", "-", str(kind))[:80]
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/memglot/" in frame.filename] or frames
    place = f"{Path(ours[-1].filename).stem}-{ours[-1].lineno}" if ours else "unknown"
    return f"{type(error).__name__}-{place}"


def digest(data: bytes) -> str:
    """Return a short name for an input."""
    return hashlib.sha256(data).hexdigest()[:8]
