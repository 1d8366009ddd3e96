"""The configuration file: read it, check it, and change one value in it without touching anything else."""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any

from memglot.display import shorten
from memglot.errors import CannotWrite, UsageError
from memglot.files import replace_file
from memglot.settings import SETTINGS, Setting, Value
from memglot.text.toml_statements import TomlStatement, scan_statements

_MAX_BYTES = 1 << 20
_BY_NAME = {one.name: one for one in SETTINGS}
_TABLES = {name.partition(".")[0] for name in _BY_NAME if "." in name}
_TYPES = {str: "text", int: "a whole number from 0", bool: "`true` or `false`"}
_EDIT = "run `memglot config edit` to correct it"
_READ: dict[Path, tuple[tuple[int, int], ConfigFile]] = {}


class ConfigFile:
    """A configuration file that was read."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text
        try:
            self.document = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
            reason = reason.replace("at end of document", f"at line {len(text.splitlines())}, the end of the file")
            raise UsageError(f"`{path}` is not valid TOML: {reason}", _EDIT) from None
        self.statements = scan_statements(text)

    @cached_property
    def values(self) -> dict[str, Value]:
        """The values of the settings in it. Raise `UsageError` for an unknown key or a wrong value, with its line."""
        found = {}
        for name, value in _flat(self.document):
            line = self.line(name)
            where = f"`{self.path}`, line {line}"
            known = _BY_NAME.get(name)
            if known is None:
                raise UsageError(f"unknown key `{shorten(name)}` in {where}", _near(name))
            try:
                found[name] = Value(checked(known, value), f"{self.path}:{line}")
            except UsageError as error:
                raise UsageError(f"{error} ({where})", error.hint or _EDIT) from None
        return found

    def line(self, name: str) -> int:
        """Return the line of a key, or of the inline table that has it."""
        keys = tuple(name.split("."))
        place = next((one for one in self.statements if one.keys == keys), None)
        place = place or next((one for one in self.statements if one.keys == keys[: len(one.keys)]), None)
        return self.text.count("\n", 0, place.start) + 1 if place is not None else 1


def read_config(path: Path) -> ConfigFile:
    """Read a configuration file, once until it changes; a missing one is empty. Raise `UsageError` if it is broken."""
    try:
        with open(path, "rb") as file:
            stat = os.fstat(file.fileno())
            version = (stat.st_mtime_ns, stat.st_size)
            if path in _READ and _READ[path][0] == version:
                return _READ[path][1]
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise UsageError(f"`{path}` is larger than 1 MiB", _EDIT)
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        return ConfigFile(path, "")
    except UnicodeDecodeError:
        raise UsageError(f"`{path}` is not valid UTF-8", _EDIT) from None
    except OSError as error:
        raise UsageError(
            f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}", "check its permissions"
        ) from None
    config = ConfigFile(path, text)
    _READ[path] = version, config
    return config


def checked(setting: Setting, value: Any) -> Any:
    """Return the value of a setting in its type; raise `UsageError` if it has another one."""
    shown = f"`{shorten(str(value).lower() if isinstance(value, bool) else str(value))}`"
    given: Any = type(value)
    if given is not setting.type or (given is int and not 0 <= value < 1 << 63):
        raise UsageError(f"`{setting.name}` must be {_TYPES[setting.type]}, not {shown}")
    if setting.choices and value not in setting.choices:
        raise UsageError(f"`{setting.name}` must be one of {', '.join(setting.choices)}, not {shown}")
    if setting.is_path and value and "://" not in value:
        value = os.path.expanduser(value)
        if not os.path.isabs(value):
            raise UsageError(f"`{setting.name}` must be an absolute path or begin with `~`, not {shown}")
    return value


def known_setting(name: str) -> Setting:
    """Return a setting by its name; raise `UsageError` with the nearest one."""
    if name not in _BY_NAME:
        raise UsageError(f"no setting `{shorten(name)}`", _near(name))
    return _BY_NAME[name]


def parse_value(setting: Setting, text: str) -> Any:
    """Return the value that somebody typed; a relative path is relative to the current folder. Raise `UsageError`."""
    value: Any = text
    if setting.type is int and text.isascii() and text.isdigit():
        value = int(text)
    elif setting.type is bool:
        value = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}.get(
            text.lower(), text
        )
    elif setting.is_path and text and "://" not in text and not text.startswith("~"):
        value = os.path.abspath(text)
    checked(setting, value)
    return value


def set_value(path: Path, setting: Setting, value: Any) -> None:
    """Write a value into a configuration file, and keep every other byte of it."""
    config = read_config(path)
    keys = tuple(setting.name.split("."))
    _write(config, _with_value(config, keys, value), _changed(config.document, keys, value))


def unset_value(path: Path, name: str) -> bool:
    """Remove a key, known or not, from a configuration file; return False if it is not there."""
    config = read_config(path)
    keys = tuple(name.split("."))
    place = next((one for one in config.statements if one.kind == "value" and one.keys == keys), None)
    if place is None:
        if name in dict(_flat(config.document)):
            raise _by_hand(config.path)
        return False
    text = config.text[: place.start] + config.text[place.end :]
    _write(config, text, _changed(config.document, keys, None))
    return True


def _flat(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Return the keys of a document with their values; only tables that have settings are opened."""
    found: list[tuple[str, Any]] = []
    for key, value in table.items():
        if not prefix and isinstance(value, dict) and key in _TABLES:
            found += _flat(value, f"{key}.")
        else:
            found.append((prefix + key, value))
    return found


def _near(name: str) -> str:
    """Return a hint that names the nearest setting, also for a name without its table."""
    full = {other.rpartition(".")[2]: other for other in reversed(_BY_NAME)} | {other: other for other in _BY_NAME}
    near = difflib.get_close_matches(name, [*full, *_TABLES], 1)
    return f"did you mean `{full.get(near[0], near[0])}`?" if near else "`memglot config` lists all settings"


def _changed(document: dict[str, Any], keys: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return a document with another value, or without it if it is `None`."""
    changed = dict(document)
    if len(keys) > 1:
        inner = changed.get(keys[0], {})
        changed[keys[0]] = _changed(inner if isinstance(inner, dict) else {}, keys[1:], value)
    elif value is None:
        del changed[keys[0]]
    else:
        changed[keys[0]] = value
    return changed


def _with_value(config: ConfigFile, keys: tuple[str, ...], value: Any) -> str:
    """Return the text of a file with another value: in its place, else at the end of its table, else in a new table."""
    text, newline = config.text, "\r\n" if "\r\n" in config.text else "\n"
    written = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if place := next((one for one in config.statements if one.kind == "value" and one.keys == keys), None):
        start, end = place.value
        return text[:start] + written + text[end:]
    header = keys[:-1]
    if header and (dotted := [one for one in config.statements if not one.header and one.keys[:-1] == header]):
        return _insert(text, dotted[-1].end, f"{'.'.join(keys)} = {written}", newline)
    line = f"{keys[-1]} = {written}"
    if found := [one for one in config.statements if one.header == header and _is_directly_in(one, header)]:
        return _insert(text, found[-1].end, line, newline)
    if not header:
        # Before the first table, and before the comment on it.
        start = _start_of_tables(config)
        return _insert(text, start, line + (newline if start < len(text) else ""), newline)
    gap = newline if text.strip() else ""
    return _insert(text, len(text), f"{gap}[{'.'.join(header)}]{newline}{line}", newline)


def _is_directly_in(one: TomlStatement, header: tuple[str, ...]) -> bool:
    return one.kind != "array" and (one.kind == "value" or bool(header))


def _start_of_tables(config: ConfigFile) -> int:
    """Return where the first table begins, with the comment lines directly above it."""
    first = next((one.start for one in config.statements), len(config.text))
    before = config.text[:first].splitlines(keepends=True) if first < len(config.text) else []
    while before and before[-1].lstrip().startswith("#"):
        first -= len(before.pop())
    return first


def _insert(text: str, at: int, lines: str, newline: str) -> str:
    before = text[:at]
    lead = newline if before and not before.endswith("\n") else ""
    return before + lead + lines + newline + text[at:]


def _write(config: ConfigFile, text: str, expected: dict[str, Any]) -> None:
    """Write the new text of a file if it means what it should."""
    try:
        meant = tomllib.loads(text)
    except ValueError:
        meant = None
    if meant != expected:
        raise _by_hand(config.path)
    write_config(config.path, text)


def write_config(path: Path, text: str) -> None:
    """Write a configuration file; an existing one keeps its mode. Raise `CannotWrite`."""
    # A link, as people who keep their settings in a repository have it, stays a link.
    target = Path(os.path.realpath(path))
    try:
        with replace_file(target) as out:
            out.write(text.encode())
    except OSError as error:
        raise CannotWrite(str(path), (error.strerror or str(error)).lower()) from error


def _by_hand(path: Path) -> UsageError:
    return UsageError(f"`{path}` is written in a way that cannot be edited safely; nothing was changed", _EDIT)
