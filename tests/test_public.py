"""The public names exist and are documented."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import memglot
from memglot import Memory


def test_all_names_are_there_and_documented() -> None:
    for name in memglot.__all__:
        found = getattr(memglot, name)
        assert name == "__version__" or inspect.getdoc(found)
    assert sorted(memglot.__all__) == memglot.__all__
    with pytest.raises(AttributeError):
        memglot.nothing  # noqa: B018


def test_every_method_of_memory_is_documented() -> None:
    for name, method in inspect.getmembers(Memory, callable):
        if not name.startswith("_"):
            assert inspect.getdoc(method), name


def test_formats_can_be_called_and_imported() -> None:
    names = [format.name for format in memglot.formats()]
    assert names == sorted(names)
    assert sys.modules["memglot.formats"].__name__ == "memglot.formats"


def test_convert_is_a_function(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"content":"a"}')
    result = memglot.convert(tmp_path / "a.json", tmp_path / "a.yaml", to="yaml")
    assert (result.count, result.dropped) == (1, [])
    back = memglot.convert(tmp_path / "a.yaml", tmp_path / "b.ndjson", from_="yaml")
    assert back.count == 1


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = "('msgspec', 'apsw', 'yaml', 'tqdm', 'click')"
    code = f"import sys, memglot; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_imports_no_command() -> None:
    light = {
        "memglot",
        *(
            f"memglot.{name}"
            for name in ("cli", "cli.main", "cli.session", "cli.terminal", "display", "errors", "settings")
        ),
    }
    code = (
        "import sys; from memglot.cli.main import run; from memglot.cli.session import Session\n"
        "run(Session(), ['--help'])\n"
        "print(*(n for n in sys.modules if n.split('.')[0] in ('msgspec', 'apsw', 'yaml', 'tqdm', 'memglot')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()[-1].split()) <= light


def test_the_example_of_the_interface_works(tmp_path: Path) -> None:
    with Memory.open(str(tmp_path / "store.db")) as mem:
        record = mem.add("User prefers TypeScript over Python", kind="semantic", tags=["preference"])
        (tmp_path / "more.json").write_text('[{"content": "Deploys on Fridays are forbidden"}]')
        result = mem.import_from(str(tmp_path / "more.json"), dedup=True)
        assert (result.imported, result.merged, result.skipped, result.failed, list(result.errors)) == (1, 0, 0, 0, [])
        exported = mem.export(tmp_path / "out", format="markdown", include_embeddings=False, include_conversations=True)
        assert exported.count == 2
        results = mem.search("typescript", limit=5)
        (hit,) = results
        assert (hit.id, hit.content, hit.record, results.total) == (record.id, record.content, record, 1)
        assert hit.score >= 0 and hit.why
    assert str(memglot.MemglotError("a message", "a hint")) == "a message"
