"""Imports point inwards only, files and functions stay small, and the environment is read in one place."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import memglot

SOURCE = Path(memglot.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# Who may import whom. A part may always import itself; every part may import these, which import little.
GROUND = {"errors", "settings", "config", "display", "text", "disk", "files", "threads", "database"}
CORE = GROUND | {"model", "report"}
ALLOWED: dict[str, set[str]] = {
    "errors": {"display"},
    # The settings read the configuration file, if there is one.
    "settings": {"config"},
    "config": {"settings", "errors", "display", "files", "text"},
    "display": set(),
    "disk": set(),
    "files": set(),
    "threads": set(),
    "topics": set(),
    "database": set(),
    "text": GROUND | {"model"},
    "model": {"errors", "settings", "display"},
    "report": {"disk", "display", "model", "errors", "settings"},
    "clients": GROUND,
    "embed": GROUND,
    "project.storage": CORE,
    "formats": CORE | {"project.storage"},
    "formats.sqlite": CORE | {"formats", "store"},
    "store": CORE,
    "results": CORE | {"store"},
    "arguments": CORE | {"store"},
    "merging": CORE | {"formats", "store", "results", "editing"},
    "editing": CORE | {"formats", "formats.sqlite", "store", "merging", "exporting", "results", "arguments"},
    "exporting": CORE | {"formats", "formats.sqlite", "store", "merging", "importing", "arguments"},
    "importing": CORE | {"formats", "store", "merging", "editing"},
    "search": CORE | {"embed", "store", "results", "arguments", "tables"},
    "tables": CORE,
    "upkeep": CORE
    | {"arguments", "tables"}
    | {"formats", "store", "merging", "editing", "exporting", "importing", "search", "results"},
    "syncing": CORE | {"upkeep"} | {"formats", "store", "exporting", "importing", "search", "results", "arguments"},
    "memory": CORE
    | {"upkeep", "syncing"}
    | {"formats", "store", "merging", "editing", "exporting", "importing", "search", "results", "arguments"},
    "project": CORE | {"project.storage"},
    "demo": CORE | {"memory"},
    "mcp": CORE
    | {"memory", "search", "editing", "merging", "importing", "exporting", "results"}
    | {"arguments", "project", "project.storage", "store"},
    "cli": CORE
    | {"clients", "memory", "search", "editing", "merging", "importing", "exporting", "results"}
    | {"results", "arguments", "project", "project.storage", "mcp", "formats", "topics", "demo"},
    "testing": CORE | {"store", "formats"},
    "__main__": {"cli"},
}
# The registry lists formats for completion; nothing else reaches past the operations.
FACE_REACHES = {
    ("cli", "formats"): {"memglot.formats.registry", "memglot.formats", "memglot.formats.overview"},
    # Options list the values that project memory allows.
    ("cli", "project.storage"): {"memglot.project.storage.vocabulary"},
    # The command line starts the server, and shows its tools and its token; it never answers for it.
    ("cli", "mcp"): {
        *("memglot.mcp", "memglot.mcp.config", "memglot.mcp.roots"),
        *("memglot.mcp.tools", "memglot.mcp.token", "memglot.mcp.texts"),
    },
}
APART = {"project.storage", "formats.sqlite"}
"""Parts of a package with rules of their own."""


def part_named(module: str) -> str:
    """The part that a module below `memglot` belongs to."""
    parts = module.split(".")
    inner = ".".join(parts[1:3])
    return inner if inner in APART else (parts + ["__init__"])[1]


def part_of(path: Path) -> str:
    return part_named(".".join(("memglot", *path.relative_to(SOURCE).with_suffix("").parts)))


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
        other = part_named(name)
        if other in (part, "__init__"):
            continue
        assert other in ALLOWED[part], f"{part} may not import {name}"
        if (part, other) in FACE_REACHES:
            assert name in FACE_REACHES[part, other], f"{part} may not reach {name}"


MACHINERY = {"base", "core", "syntax"}
"""What formats may import below `formats`; everything else there is a tool's own folder or file, or serves them all."""


def test_formats_do_not_import_each_other() -> None:
    """A tool's folder imports only itself and the machinery that formats share, and the machinery imports no tool."""
    folder = SOURCE / "formats"
    tools = {path.name for path in folder.iterdir() if path.is_dir() and path.name != "__pycache__"} - MACHINERY
    assert {"agentos", "chatgpt", "csv", "memoryd"} <= tools
    tools.add("sqlite")
    for path in sorted(folder.rglob("*.py")):
        own = path.relative_to(folder).with_suffix("").parts[0]
        if own not in tools | MACHINERY:
            continue
        others = {name.split(".")[2] for name in imported(path) if name.startswith("memglot.formats.")} - {own}
        if own in tools:
            assert others <= MACHINERY, f"{path.relative_to(SOURCE)} imports {sorted(others - MACHINERY)}"
        else:
            assert not others & tools, f"{path.relative_to(SOURCE)} imports {sorted(others & tools)}"


def code_lines(text: str) -> int:
    """How many lines of a module are code: blank lines and docstrings do not count."""
    tree = ast.parse(text)
    quoted = sum(
        (node.end_lineno or 0) - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    )
    return sum(bool(line.strip()) for line in text.splitlines()) - quoted


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert code_lines(text) <= 450
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


def test_no_two_public_classes_share_a_name() -> None:
    places: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


CREATORS = {
    "files.py": "the one place that creates files and folders",
    "project": "the files of a repository follow the umask",
    "formats/repo/setup.py": "the files of a repository follow the umask",
    "cli/terminal.py": "a stream that is open already",
    "formats/core/target.py": "pipes and devices, which exist already",
    # In temporary folders, which only the user can read.
    "cli/editor.py": "temporary folder",
    "database.py": "temporary folder",
    "formats/core/read.py": "temporary folder",
    "formats/core/source.py": "temporary folder",
    "formats/core/zip.py": "temporary folder",
    "formats/memoryd/bundle.py": "temporary folder",
    "store/sqlite/damaged_file.py": "temporary folder",
}
"""Modules that create files or folders, and why the files need not be private."""
_CREATING = {
    *("write_text", "write_bytes", "touch", "mkdir", "makedirs"),
    *("copy", "copy2", "copyfile", "copytree", "symlink_to", "hardlink_to"),
}


def creates_file(node: ast.AST) -> bool:
    """Return True for a call that may create a file or a folder with a mode of its own choice."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if name in ("open", "fdopen"):
        modes = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
        values = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
        is_flag = any(isinstance(part, ast.Attribute) and part.attr == "O_CREAT" for part in ast.walk(node))
        return is_flag or any(set(value) <= set("rwxabt+") and set(value) & set("wxa") for value in values)
    owner = node.func.value.id if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) else ""
    if name == "copy":
        return owner == "shutil"
    return name in _CREATING


def test_files_are_created_in_one_place() -> None:
    """What `files.py` creates is private, whatever the umask."""
    found = set()
    for path in FILES:
        relative = path.relative_to(SOURCE)
        if any(map(creates_file, ast.walk(ast.parse(path.read_text(encoding="utf-8"))))):
            found.add(relative.parts[0] if relative.parts[0] == "project" else relative.as_posix())
    assert found == set(CREATORS)
