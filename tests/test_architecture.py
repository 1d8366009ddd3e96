"""Imports point inwards only, files and functions stay small, and the environment is read in one place."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import memglot

SOURCE = Path(memglot.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# Who may import whom. A part may always import itself.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "notes": set(),
    "settings": set(),
    "model": {"errors"},
    "clients": {"notes", "errors", "settings"},
    "embed": {"notes", "errors", "settings"},
    "packing": {"notes", "errors"},
    "report": {"model", "errors"},
    "formats": {"notes", "report", "model", "errors", "settings"},
    "store": {"notes", "formats", "report", "model", "errors", "settings"},
    "conversion": {"notes", "formats", "report", "model", "errors", "settings"},
    "engine": {"embed", "packing", "notes", "conversion", "store", "formats", "report", "model", "errors", "settings"},
    "repo": {"packing", "notes", "formats", "report", "model", "errors", "settings"},
    "mcp": {"engine", "repo", "packing", "notes", "report", "model", "errors", "settings"},
    "cli": {
        "clients",
        "engine",
        "repo",
        "mcp",
        "notes",
        "conversion",
        "formats",
        "report",
        "model",
        "errors",
        "settings",
    },
    "testing": {"store", "formats", "report", "model", "errors"},
    "__main__": {"cli"},
}
# The registry lists formats for completion, and a face may name a store's shapes in types; nothing else reaches past
# the engine.
FACE_REACHES = {
    ("cli", "formats"): {"memglot.formats.registry", "memglot.formats"},
    # The command line starts the server, and shows its tools and its token; it never answers for it.
    ("cli", "mcp"): {
        *("memglot.mcp", "memglot.mcp.serving", "memglot.mcp.roots"),
        *("memglot.mcp.tools", "memglot.mcp.token"),
    },
    ("cli", "notes"): {"memglot.notes.mcp"},
}


def part_of(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path} imports by dots"
            found.add(node.module)
    return {name for name in found if name.split(".")[0] == "memglot"}


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_imports_point_inwards(path: Path) -> None:
    part = part_of(path)
    if part == "__init__":
        return
    for name in imported(path):
        other = (name.split(".") + ["__init__"])[1]
        if other in (part, "__init__"):
            continue
        assert other in ALLOWED[part], f"{part} may not import {name}"
        if (part, other) in FACE_REACHES:
            assert name in FACE_REACHES[part, other], f"{part} may not reach {name}"


def test_formats_do_not_import_each_other() -> None:
    """The model is their only meeting point; what several share lies in modules that are no format."""
    from memglot.formats import registry

    names = {f"memglot.formats.{name.replace('-', '_')}" for name in registry.names()}
    for path in (SOURCE / "formats").glob("*.py"):
        if f"memglot.formats.{path.stem}" in names:
            assert not imported(path) & names


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if part_of(path) != "errors":  # All messages are in one place; it may be as long as they are many.
        assert text.count("\n") <= 330
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert (node.end_lineno or 0) - node.lineno < 60, f"{node.name} is too long"


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_every_module_and_public_name_is_documented(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "no module docstring"
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{node.name} has no docstring"
