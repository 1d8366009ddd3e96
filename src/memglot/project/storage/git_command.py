"""Run git so that it runs no program that the configuration of a repository names."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from memglot.settings import git_environment

__all__ = ["filter_settings", "run_git"]

# Git must not ask the user, lock the index, start a monitor or hooks, check signatures, or quote names.
_SETTINGS = {
    "core.quotePath": "false",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "log.showSignature": "false",
    "diff.submodule": "short",
    "submodule.recurse": "false",
}
_FIRST = ["git", "--no-pager", "--no-optional-locks"]
# A repository can be a partial clone, for which git would fetch missing objects with programs of the repository: an
# empty list of protocols forbids that in every version, and the other variable does not even try.
_ENVIRONMENT = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
_EMPTY = "MEMGLOT_EMPTY"
"""A variable without a value: the only way to change a setting whose name contains `=`."""
_PROGRAMS = ("clean", "smudge", "process", "required")


def run_git(
    arguments: Iterable[str], folder: Path, *, input: bytes = b"", empty: Iterable[str] = ()
) -> subprocess.CompletedProcess[bytes] | None:
    """Run a git command and return its output; None if git is not installed. `empty` are settings without a value."""
    command = list(_FIRST)
    for name, value in _SETTINGS.items():
        command += ["-c", f"{name}={value}"]
    for name in empty:
        command += [f"--config-env={name}={_EMPTY}"] if "=" in name else ["-c", f"{name}="]
    try:
        return subprocess.run(
            [*command, *arguments],
            cwd=folder,
            env=git_environment() | _ENVIRONMENT | {_EMPTY: ""},
            input=input,
            capture_output=True,
            check=False,
        )
    except OSError:
        return None


def filter_settings(names: Iterable[str]) -> list[str]:
    """Return those of the names of settings that make git run a filter."""
    found = []
    for name in names:
        section, _, rest = name.partition(".")
        driver, _, setting = rest.rpartition(".")
        if section.lower() == "filter" and driver and setting.lower() in _PROGRAMS:
            found.append(name)
    return found
