"""`memglot config`."""

from __future__ import annotations

import shlex
import subprocess
from typing import Any

import click

from memglot.cli.session import Session, command, group
from memglot.config import known_setting, parse_value, read_config, set_value, unset_value, write_config
from memglot.display import visible
from memglot.errors import MemglotError, MissingProgram
from memglot.settings import SETTINGS, Value, config_path, default_of, editor, find_setting

_TEMPLATE = "# Settings of memglot; `memglot config` lists them.\n"


@group(
    "config",
    invoke_without_command=True,
    examples="""
    memglot config
    memglot config set store ~/notes/memories.db
    memglot config set search.limit 20
    memglot config unset search.limit
    memglot config edit
    """,
)
@click.pass_context
def config(context: click.Context, /) -> None:
    """List settings, or change the configuration file.

    The list shows where each value comes from. Options of the command line replace environment variables, and these
    replace the values in the file.
    """
    if context.invoked_subcommand is None:
        context.exit(_list(context.ensure_object(Session)))


def _list(session: Session) -> int:
    """List all settings, also if the file is broken; then return the exit code of its error."""
    path, broken = config_path(), None
    found: list[tuple[str, Value]] = []
    for one in SETTINGS:
        try:
            value = find_setting(one.name)
        except MemglotError as error:
            broken, value = error, Value(default_of(one), "default")
        if one.name == "store" and session.store:
            value = Value(session.store, "--store")
        found.append((one.name, value))
    if session.json:
        settings = [
            {"name": name, "value": value.value, "origin": value.origin, "help": known_setting(name).help}
            for name, value in found
        ]
        message = {"message": broken.message, "hint": broken.hint} if broken else None
        session.print_result({"path": str(path), "settings": settings, "error": message}, "")
    else:
        session.print_result(None, [*_table(found, str(path)), _where(str(path), path.exists())], always=True)
        if broken is not None:
            session.print_error(broken.code, broken.message, broken.hint)
    return broken.exit_code if broken is not None else 0


def _table(found: list[tuple[str, Value]], path: str) -> list[str]:
    names = max(len(name) for name, _ in found)
    shown = [_shown(value.value) for _, value in found]
    width = min(max(map(len, shown)), 40)
    lines = []
    for (name, value), text in zip(found, shown, strict=True):
        origin = value.origin.replace(path, "config.toml") if value.origin.startswith(path) else value.origin
        lines.append(f"{name:{names}}  {text:{width}}  {visible(origin)}")
    return lines


def _where(path: str, exists: bool) -> str:
    return f"\nconfiguration file: {visible(path)}" + ("" if exists else " (not there yet)")


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else visible(str(value)) or "(none)"


@command("get", examples="memglot config get store")
@click.argument("name", metavar="NAME")
def get(session: Session, name: str) -> None:
    """Print the value of a setting."""
    known_setting(name)
    value = Value(session.store, "--store") if name == "store" and session.store else find_setting(name)
    text = str(value.value).lower() if isinstance(value.value, bool) else str(value.value)
    session.print_result({"name": name, "value": value.value, "origin": value.origin}, text, always=True)


@command(
    "set",
    examples="""
    memglot config set search.mode fulltext
    memglot config set color never
    """,
)
@click.argument("name", metavar="NAME")
@click.argument("value", metavar="VALUE")
def set_(session: Session, name: str, value: str) -> None:
    """Write a setting into the configuration file.

    Comments and everything else in the file stay as they are.
    """
    chosen, path = known_setting(name), config_path()
    parsed = parse_value(chosen, value)
    set_value(path, chosen, parsed)
    try:
        now = find_setting(name)
    except MemglotError as error:
        session.print_note(f"the configuration file is not valid yet: {error}")
    else:
        if now.origin.startswith("$"):
            session.print_note(f"`{now.origin}` is set, and replaces it here")
    session.print_result({"name": name, "value": parsed, "path": str(path)}, f"set `{name}` to `{_shown(parsed)}`")


@command("unset", examples="memglot config unset search.mode")
@click.argument("name", metavar="NAME")
def unset(session: Session, name: str) -> None:
    """Remove a setting from the configuration file, so that its default applies."""
    removed = unset_value(config_path(), name)
    if not removed:
        known_setting(name)
    session.print_result({"name": name, "removed": removed}, f"removed `{name}`" if removed else "nothing changed")


@command("path", examples="memglot config path")
def path(session: Session) -> None:
    """Print the path of the configuration file."""
    session.print_result({"path": str(config_path())}, str(config_path()), always=True)


@command("edit", examples="EDITOR=nano memglot config edit")
def edit(session: Session) -> None:
    """Edit the configuration file in your editor, and check it."""
    path = config_path()
    program = _editor()
    if not path.exists():
        write_config(path, _TEMPLATE)
    try:
        status = subprocess.run([*shlex.split(program), str(path)]).returncode
    except (OSError, ValueError) as error:
        raise MissingProgram(f"the editor `{program}` failed: {error}", f"edit `{path}` yourself") from error
    if status:
        raise MissingProgram(f"the editor `{program}` failed: exit status {status}", f"edit `{path}` yourself")
    values = read_config(path).values
    session.print_result({"path": str(path), "settings": len(values)}, "the configuration file is valid")


def _editor() -> str:
    """Return the user's editor, also if the file that may name one is broken."""
    try:
        program = editor()
    except MemglotError:
        program = None
    if program is None:
        raise MissingProgram("no editor is set", f"set `$EDITOR`, or edit `{config_path()}` yourself")
    return program


for _command in (get, set_, unset, path, edit):
    config.add_command(_command)
