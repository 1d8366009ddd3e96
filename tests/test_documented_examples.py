"""Every Python example of the README and the docs runs, block by block, as a reader would run it."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from memglot import Memory

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python( pandas)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    path for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if "```python" in path.read_text()
]


def test_there_are_examples() -> None:
    assert {path.name for path in PAGES} >= {"README.md", "python.md"}


@pytest.mark.parametrize("page", PAGES, ids=[path.stem for path in PAGES])
def test_examples_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMGLOT_STORE", str(tmp_path / "store.db"))
    (tmp_path / "shared").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.md").write_text("Deploys run on Tuesdays")
    for name in ("more.json", "notes.json", "export.json"):
        (tmp_path / name).write_text('[{"content": "The language of the project is TypeScript"}]')
    with Memory.open() as memory:
        memory.backup(tmp_path / "backup.db")
    known: dict[str, object] = {"Memory": Memory}
    for needs, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if needs and not (find_spec("pandas") and find_spec("pyarrow")):
            continue
        exec(compile(code, page.name, "exec"), known)
    assert page.name not in ("README.md", "python.md") or capsys.readouterr().out
