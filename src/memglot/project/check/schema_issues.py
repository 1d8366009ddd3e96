"""What is wrong with a file, in the words of the tool's schema checks."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from memglot.project.storage.errors import ProjectError, issue, schema_failed

_PLACE = re.compile(r" - at `(?:key in )?\$?([^`]*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_FIELD = re.compile(r"`([^`]*)`$")


def broken_shape(path: str, error: msgspec.ValidationError) -> ProjectError:
    """A file whose values its shape does not allow, as an error."""
    return schema_failed([shape_issue(path, error)])


def shape_issue(path: str, error: msgspec.ValidationError) -> dict[str, Any]:
    """What msgspec says of a value, as an issue: its code, its message, and the place as a JSON pointer."""
    text = str(error)
    place = _PLACE.search(text)
    pointer = "".join("/" + (name or number) for name, number in _STEP.findall(place[1])) if place else ""
    said = text[: place.start()] if place else text
    named = _FIELD.search(said)
    if said.startswith("Object missing required field") and named:
        return issue("SchemaRequired", f"Required field is missing: {named[1]}.", path, f"{pointer}/{named[1]}")
    if said.startswith("Object contains unknown field") and named:
        return issue(
            "SchemaAdditionalProperty", f"Unknown field is not allowed: {named[1]}.", path, f"{pointer}/{named[1]}"
        )
    return issue(_code_of(said), said + ".", path, pointer or None)


def _code_of(said: str) -> str:
    for words, code in (
        ("Invalid enum value", "SchemaEnum"),
        ("matching regex", "SchemaPattern"),
        ("of length >=", "SchemaMinLength"),
        ("`int` >=", "SchemaMinimum"),
        ("`int` <=", "SchemaMaximum"),
        ("Expected", "SchemaType"),
    ):
        if words in said:
            return code
    return "SchemaValidationFailed"
