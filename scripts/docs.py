"""Generate parts of the README and the docs; `make docs` writes them, `make lint` checks them."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import cog
import msgspec

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))
# The help shows defaults of memglot, not of whoever runs this.
os.environ["MEMGLOT_CONFIG"] = os.devnull


def transcript(
    *commands: str, files: dict[str, str] | None = None, store: str | None = None, home: str | None = None
) -> None:
    """Run commands in a new home folder, and write what they print.

    `files` are copied into it first: each name, with its source in the repository. With a `store`, the commands are
    what somebody types who has no repository: there are no examples, and each of them must succeed. A `home` is a
    folder that exists: the commands continue what was done in it before.
    """
    with tempfile.TemporaryDirectory() if home is None else contextlib.nullcontext(home) as folder:
        environment = {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PYTHONPATH": str(ROOT / "src"),
            "MEMGLOT_STORE": store or "memories.db",
            "HOME": folder,
            "USER": "you",
            "LC_ALL": "C.UTF-8",
        }
        if store is None:
            (Path(folder) / "examples").symlink_to(ROOT / "examples")
        for name, source in (files or {}).items():
            copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copyfile
            copy(ROOT / source, Path(folder) / name)
        cog.outl("```console")
        for command in commands:
            cog.outl(f"$ {command}")
            done = subprocess.run(
                ["bash", "-c", f"{command} 2>&1"], cwd=folder, env=environment, capture_output=True, text=True
            )
            if done.returncode and store is not None:
                raise RuntimeError(f"exit status {done.returncode}: {command}\n{done.stdout}")
            shown = _steady(done.stdout.replace(folder, "~")).rstrip()
            cog.out(f"{shown}\n" if shown or store is None else "")
        cog.outl("```")


def journey(name: str) -> None:
    """Write the commands of a journey in `tests/journeys/`, which runs in the tests."""
    (script,) = (ROOT / "tests" / "journeys").glob(f"{name}.*")
    lines = itertools.dropwhile(
        lambda line: line.startswith(("#", "set -eu", '"""')), script.read_text(encoding="utf-8").splitlines()
    )
    cog.outl("```bash" if script.suffix == ".sh" else "```python")
    cog.outl("\n".join(lines).strip("\n"))
    cog.outl("```")


def _steady(text: str) -> str:
    """Replace what differs on every run: ids, and the date of today."""
    text = re.sub(
        r"\b(?!0194a000)([0-9a-f]{8})-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b", "01a1de6d-…", text
    )
    short = dict.fromkeys(re.findall(r"^(?!0000)[0-9a-f]{8}(?=  )", text, re.MULTILINE))
    for number, id in enumerate(short, 1):
        text = text.replace(id, f"7d02c1e{number % 10}")
    today = datetime.now(UTC).date()
    for day in (today, today - timedelta(days=1)):
        text = text.replace(day.isoformat(), "2026-11-19")
    return text


def _doc(found: object) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split())


def format_table() -> None:
    """Write the table of formats."""
    from memglot.formats.overview import format_rows

    cog.outl("| format | what | read | write | extensions | carry slot |")
    cog.outl("|---|---|---|---|---|---|")
    for row in format_rows():
        names = ", ".join(f"`{name}`" for name in [row["name"], *row["aliases"]])
        extensions = " ".join(f"`{extension}`" for extension in row["extensions"])
        marks = ["●" if row[way] else "" for way in ("read", "write")]
        carry = f"`{row['carry']}`" if row["carry"] else ""
        cog.outl(f"| {names} | {row['title']} | {marks[0]} | {marks[1]} | {extensions} | {carry} |")


def matrix() -> None:
    """Write the table of what each pair of formats keeps."""
    from memglot.formats.overview import format_fields, matrix_grid

    header, *rows = matrix_grid()
    cog.outl("| from \\ to | " + " | ".join(f"`{name}`" for name in header[1:]) + " |")
    cog.outl("|---" * len(header) + "|")
    for name, *cells in rows:
        cog.outl(f"| `{name}` | {' | '.join(cells)} |")
    cog.outl("\n| format | fields in their own place | in the carry slot |\n|---|---|---|")
    for name, homes, carried in format_fields():
        cog.outl(f"| `{name}` | {', '.join(homes)} | {', '.join(carried) or 'none'} |")


def commands() -> None:
    """Write the help of every command."""
    from click import Context, Group
    from click.testing import CliRunner

    from memglot.cli.main import COMMANDS, cli

    names = [(), *((name,) for name in sorted(COMMANDS))]
    for name in names:
        found = cli.get_command(Context(cli), name[-1]) if name else None
        inner = [(*name, below) for below in sorted(found.commands)] if isinstance(found, Group) else []
        for words in (name, *inner):
            cog.outl(f"## `{' '.join(('memglot', *words))}`")
            cog.outl("\n```text")
            output = CliRunner().invoke(cli, [*words, "--help"], prog_name="memglot").output
            cog.outl("\n".join(line.rstrip() for line in output.rstrip().splitlines()))
            cog.outl("```\n")


def errors() -> None:
    """Write the table of errors with their codes and exit statuses."""
    from memglot import errors as module

    cog.outl("| error | code | exit | when |")
    cog.outl("|---|---|---|---|")
    for name, found in inspect.getmembers(module, inspect.isclass):
        if issubclass(found, module.MemglotError):
            cog.outl(f"| `{name}` | `{found.code}` | {found.exit_code} | {_doc(found)} |")


def settings() -> None:
    """Write the table of settings."""
    from memglot.settings import SETTINGS

    kinds = {str: "text", int: "number", bool: "`true` or `false`"}
    cog.outl("| setting | value | default | variable | meaning |")
    cog.outl("|---|---|---|---|---|")
    for one in SETTINGS:
        choices = " or ".join(f'`"{choice}"`' for choice in one.choices)
        default = str(one.default).lower() if isinstance(one.default, bool) else str(one.default)
        # What depends on the machine is in the text of the page.
        shown = "" if callable(one.default) or not default else f"`{default}`"
        kind = choices or ("path" if one.is_path else kinds[one.type])
        variables = ", ".join(f"`{variable}`" for variable in one.variables)
        cog.outl(f"| `{one.name}` | {kind} | {shown} | {variables} | {one.help} |")


def tools() -> None:
    """Write the table of MCP tools."""
    from memglot.mcp.tools import all_tools

    cog.outl("| tool | what it does | parameters |")
    cog.outl("|---|---|---|")
    for tool in all_tools().values():
        fields = msgspec.structs.fields(tool.input)
        takes = ", ".join(f"**`{field.name}`**" if field.required else f"`{field.name}`" for field in fields)
        cog.outl(f"| `{tool.name}` | {tool.description} | {takes} |")


def client_lines() -> None:
    """Write the command that connects each client."""
    from memglot.clients.registry import CLIENTS

    cog.outl("| client | command |")
    cog.outl("|---|---|")
    for name, client in CLIENTS.items():
        cog.outl(f"| {client.title} | `memglot mcp install {name}` |")


def methods() -> None:
    """Write the table of the methods of `Memory`."""
    from memglot import Memory

    cog.outl("| method | what it does |")
    cog.outl("|---|---|")
    for name, method in inspect.getmembers(Memory, callable):
        if not name.startswith("_"):
            cog.outl(f"| `{name}` | {_doc(method)} |")


def clients() -> None:
    """Write the table of clients and their configuration files."""
    from memglot.clients.registry import CLIENTS

    cog.outl("| client | program | file on Linux | on macOS | on Windows | in a project |")
    cog.outl("|---|---|---|---|---|---|")
    for client in CLIENTS.values():
        places = [f"`{place}`" for place in client.documented_paths]
        places = [place if not number or place != places[0] else "the same" for number, place in enumerate(places)]
        project = f"`{client.project_file}`" if client.project_file else "none"
        cog.outl(f"| `{client.name}` | {client.title} | {' | '.join(places)} | {project} |")


def contract() -> None:
    """The methods of every store, part by part."""
    from memglot.store import contract

    parts = [contract.Store, contract.Records, contract.Things, contract.History]
    parts += [contract.SearchIndex, contract.VectorTable]
    cog.outl("| part | method | what it does |")
    cog.outl("|---|---|---|")
    for part in parts:
        for name, method in vars(part).items():
            if not name.startswith("_") and callable(method):
                cog.outl(f"| `{part.__name__}` | `{name}` | {_doc(method)} |")


def fields() -> None:
    """Write the table of the fields of a record and their defaults."""
    from memglot.model import Record

    cog.outl("| field | type | default |")
    cog.outl("|---|---|---|")
    for field in msgspec.structs.fields(Record):
        kind = str(Record.__annotations__[field.name]).replace("|", "or")
        kind = re.sub(r"<class '([^']+)'>", r"\1", kind).replace("memglot.model.record.", "").replace("typing.", "")
        default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory
        shown = "required" if default is msgspec.NODEFAULT else repr(default() if callable(default) else default)
        cog.outl(
            f"| `{field.name}` | {kind} | `{shown}` |"
            if shown != "required"
            else f"| `{field.name}` | {kind} | required |"
        )
