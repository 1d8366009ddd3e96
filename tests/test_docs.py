"""The docs are complete, and their links work."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import click

import memglot
from memglot import errors
from memglot.cli.main import COMMANDS
from memglot.cli.session import filter_options
from memglot.clients.registry import CLIENTS
from memglot.formats import registry
from memglot.settings import CLIENT_VARIABLES
from memglot.store.query import Filter

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def test_every_command_is_documented() -> None:
    for name in COMMANDS:
        assert f"## `memglot {name}`" in DOCS["commands.md"], name


def test_every_format_is_documented() -> None:
    for name in registry.names():
        assert f"| `{name}`" in DOCS["formats.md"], name
        assert f"| `{name}`" in README, name


def test_every_error_is_documented() -> None:
    for name, found in inspect.getmembers(errors, inspect.isclass):
        if issubclass(found, errors.MemglotError):
            assert f"| `{name}` | `{found.code}` | {found.exit_code} |" in DOCS["commands.md"], name


def test_the_tree_of_errors_names_each_of_them() -> None:
    drawn = set(re.findall(r"[A-Z][A-Za-z]+", (errors.__doc__ or "").split("An error's text")[0]))
    for name, found in inspect.getmembers(errors, inspect.isclass):
        if issubclass(found, errors.MemglotError):
            assert name in drawn, name


def test_every_setting_is_documented() -> None:
    source = (Path(memglot.__file__).parent / "settings.py").read_text(encoding="utf-8")
    names = set(re.findall(r'environ(?:\.get)?[\[(]"([A-Z_]+)"', source)) | set(
        re.findall(r'_VARIABLE = "([A-Z_]+)"', source)
    )
    assert names
    for name in names:
        assert f"`{name}`" in DOCS["commands.md"], name


def test_every_tool_is_documented() -> None:
    from memglot.mcp.tools import all_tools

    for name in all_tools():
        assert f"| `{name}` |" in DOCS["mcp.md"], name


def test_every_client_is_documented() -> None:
    for client in CLIENTS.values():
        assert f"| `{client.name}` | {client.title} |" in DOCS["clients.md"], client.name
    for variable in CLIENT_VARIABLES:
        assert f"`{variable}`" in DOCS["commands.md"], variable


def test_every_public_method_is_documented() -> None:
    for name, _ in inspect.getmembers(memglot.Memory, callable):
        if not name.startswith("_"):
            assert f"| `{name}` |" in DOCS["python.md"], name


def test_every_filter_has_an_option_and_is_documented() -> None:
    options = [option for option in filter_options(click.Command("any")).params if isinstance(option, click.Option)]
    inner = {"without_scopes", "with_conversations", "with_deleted", "also"}
    assert {option.name for option in options} == set(Filter.__struct_fields__) - inner
    for option in options:
        assert option.help, option.name
        assert re.search(rf"^\| `{option.opts[0]}[^|]*` \| `{option.name}` \|", DOCS["filters.md"], re.MULTILINE), (
            option.name
        )


def test_links_work() -> None:
    for page in (ROOT / "README.md", *PAGES):
        for target in re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), (page, target)


def test_every_test_with_faults_is_described_with_a_measured_result() -> None:
    page = DOCS["reliability.md"]
    for path in sorted((ROOT / "tests" / "faults").glob("test_*.py")):
        assert f"`tests/faults/{path.name}`" in page or path.stem == "test_torture", path.name
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^make ([a-z-]+)", page, re.MULTILINE)
    assert targets and all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    rows = re.findall(
        r"^\| (?!what|---).+? \| ([\d,]+) [^|]+ \| [^|]*\| ([\d, ]+) \| `[0-9a-f]{7}` \|$", page, re.MULTILINE
    )
    assert len(rows) == page.split("## What was tried")[1].split("\n## ")[0].count("\n| ") - 1


def test_pages_link_to_pages_only() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).resolve() in PAGES, (page, target)


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"([\w/-]+\.md)$", site.split("\nnav:\n")[1], re.MULTILINE)
    assert sorted(listed) == sorted(str(page.relative_to(ROOT / "docs")) for page in PAGES)


def test_the_changelog_has_the_entries_of_every_release() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "changelog.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert f"## {memglot.__version__} (" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_changelog_entries_have_their_shape() -> None:
    entries = list((ROOT / "changelog").glob("*/*.md"))
    for entry in entries:
        first, blank, *rest = entry.read_text(encoding="utf-8").splitlines()
        assert re.match(r"(Bugfix|Enhancement|Change): \S", first), entry.name
        assert blank == "" and any(rest), entry.name


def test_the_architecture_names_files_and_functions_that_exist() -> None:
    source = Path(memglot.__file__).parent
    steps = re.findall(r"`([a-z_/]+\.py)(?:: (\w+)(?:\(\))?)?`", DOCS["architecture.md"])
    assert len(steps) > 50
    for path, name in steps:
        place = ROOT / path if path.startswith(("tests/", "scripts/")) else source / path
        assert place.is_file(), path
        if name:
            assert re.search(rf"^\s*(?:def|class) {name}\b", place.read_text(encoding="utf-8"), re.MULTILINE), name


def test_each_flow_has_at_most_ten_steps() -> None:
    flows = re.split(
        r"^### ", DOCS["architecture.md"].split("## Five flows")[1].split("## How machines")[0], flags=re.M
    )
    assert len(flows) == 6
    for flow in flows[1:]:
        assert 5 <= len(re.findall(r"^\d+\. ", flow, re.MULTILINE)) <= 10, flow.splitlines()[0]
