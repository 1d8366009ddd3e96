"""The options that set fields of a memory, shared by `add` and `update`."""

from __future__ import annotations

import sys
from typing import Any

import click

from memglot.cli.session import json_object


def text_argument(argument: str) -> str:
    """Return the argument, or for `-` standard input without the newline at its end."""
    return sys.stdin.read().removesuffix("\n") if argument == "-" else argument


def _temporal(text: str | None) -> list[str] | None:
    return [part.strip() for part in text.split(",")] if text else None


def field_options(function: Any) -> Any:
    """Add the options that set fields."""
    for option in (
        click.option("--title", help="A title."),
        click.option("--temporal", metavar="START[,END]", help="When it is about."),
        click.option("--meta", metavar="JSON", help="Metadata, as a JSON object."),
        click.option("--scope", help="Whose memory it is."),
        click.option("--kind", help="What kind of memory it is."),
        click.option("--tag", "tags", multiple=True, help="A tag; may be given several times."),
        click.option("--tree", metavar="PATH", help="Its place in the tree."),
    ):
        function = option(function)
    return function


def fields_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that the options set."""
    found = {name: value for name, value in options.items() if value not in (None, ())}
    if "meta" in found:
        found["meta"] = json_object(found["meta"], "--meta")
    if "temporal" in found:
        found["temporal"] = _temporal(found["temporal"])
    if "tags" in found:
        found["tags"] = list(found["tags"])
    return found
