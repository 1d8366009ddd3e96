"""The options that set fields of a memory, shared by `add` and `update`."""

from __future__ import annotations

import sys
from typing import Any

import click

from memglot.cli.session import json_object


def text_argument(argument: str) -> str:
    """Return the argument, or for `-` standard input without the newline at its end."""
    return sys.stdin.read().removesuffix("\n") if argument == "-" else argument


def field_options(function: Any) -> Any:
    """Add the options that set fields."""
    for option in (
        click.option("--title", help="Title."),
        click.option(
            "--temporal",
            metavar="START[,END]",
            help="Time or period that the memory is about, such as `2024-05-01T00:00:00Z`.",
        ),
        click.option("--meta", metavar="JSON", help="Metadata, a JSON object."),
        click.option("--scope", help="Scope that the memory belongs to, such as `user` or `team`."),
        click.option("--kind", help="Kind of memory, such as `semantic` or `episodic`."),
        click.option("--tag", "tags", multiple=True, help="Tag; can be repeated."),
        click.option("--tree", metavar="PATH", help="Path in the tree, such as `work.deploys`."),
    ):
        function = option(function)
    return function


def fields_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that the options set."""
    found = {name: value for name, value in options.items() if value not in (None, ())}
    if "meta" in found:
        found["meta"] = json_object(found["meta"], "--meta")
    if "temporal" in found:
        found["temporal"] = [part.strip() for part in found["temporal"].split(",")] if found["temporal"] else None
    if "tags" in found:
        found["tags"] = list(found["tags"])
    return found
