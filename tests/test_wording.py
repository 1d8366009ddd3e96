"""Texts that people read use ordinary words: help, errors, notes, tool descriptions, docstrings and docs."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memglot
from memglot import errors

SOURCE = Path(memglot.__file__).parent
ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "changelog").rglob("*.md"))
    if path.name != "LICENSE"
)

# Words with an ordinary replacement, each with that replacement.
AVOIDED = {
    r"deeds?": "operation, command",
    r"anew": "again",
    r"amiss": "wrong",
    r"twins?": "duplicate",
    r"bur(?:y|ies|ied|ying)": "delete",
    r"so many": "a number",
    r"hereby": "(drop it)",
    r"of late": "recently",
    r"mend(?:s|ed|ing)?": "repair",
    r"tell whether": "return True if",
    r"tells? (?:of|apart|more)": "report, distinguish, show details",
    r"half of a sign": "lone surrogate",
    r"took the place of": "replaced",
    r"lives? on in": "was merged into",
    r"riders?": "attached items",
}
# Names of columns in past versions of the schema, and a key of `history --json`, stay as they are.
MIGRATIONS = SOURCE / "store" / "sqlite" / "migrations.py"
KEYS = {"deed"}
PATTERN = re.compile(rf"\b(?:{'|'.join(AVOIDED)})\b", re.IGNORECASE)


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield every string and comment of a module with its line: help, messages and docstrings are among them."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in KEYS:
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


@pytest.mark.parametrize(
    "path", sorted({*SOURCE.rglob("*.py")} - {MIGRATIONS}), ids=lambda path: str(path.relative_to(SOURCE))
)
def test_modules_use_ordinary_words(path: Path) -> None:
    found = [f"{path}:{line}: {hit[0]}" for line, text in texts_of(path) for hit in PATTERN.finditer(text)]
    assert not found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_use_ordinary_words(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [f"{path}:{number}: {hit[0]}" for number, line in enumerate(lines, 1) for hit in PATTERN.finditer(line)]
    assert not found


def test_the_search_for_words_finds_them() -> None:
    assert PATTERN.search("It was made Anew.") and PATTERN.search("at most so many") and PATTERN.search("a twin")
    assert not PATTERN.search("indeed, renewed, burial, amend")


FACTS: dict[str, tuple[Any, ...]] = {
    "UnknownFormat": ("jsnl", ["json", "jsonl"]),
    "UnknownEmbedder": ("glove", ["table"]),
    "UnknownStore": ("mysql",),
    "UnknownChoice": ("mode", "exact", ["hybrid", "fulltext"]),
    "UnknownFilter": ("tre", ["tree", "tags"]),
    "NotWritable": ("chatgpt",),
    "TargetExists": ("notes.json",),
    "UnseenFile": ("notes.json", "contains 1 memory that this store has not seen"),
    "NeedsFolder": ("markdown", "`notes.md`"),
    "HiddenScope": ("diary",),
    "Unreadable": ("notes.json", "it is a folder"),
    "NotADatabase": ("notes.db",),
    "WrongPassphrase": ("memories.json",),
    "CannotWrite": ("notes.json", "no space left"),
    "NotFound": ("memory", "0194a"),
    "HiddenMemory": ("0194a",),
    "Ambiguous": ("0194", ["0194a", "0194b"]),
    "AlreadyThere": ("0194a",),
    "NoStore": ("a.db",),
    "NotAStore": ("a.db", "another program wrote it"),
    "ReadOnlyStore": ("a.db",),
    "LockedStore": ("a.db", 10.0),
    "DamagedStore": ("a.db", "a page is missing"),
    "DamagedText": ("a.db",),
    "FailedEmbedder": ("glove", "no such file"),
    "NoViewer": (),
}


def error_classes() -> list[type[errors.MemglotError]]:
    found = [value for value in vars(errors).values() if isinstance(value, type)]
    return [value for value in found if issubclass(value, errors.MemglotError)]


@pytest.mark.parametrize("kind", error_classes(), ids=lambda kind: kind.__name__)
def test_every_error_renders_in_one_voice(kind: type[errors.MemglotError]) -> None:
    """Each class says what happened in lower case without a full stop, and those with facts also say what to do."""
    facts = FACTS.get(kind.__name__, ("something happened",))
    error = kind(*facts)
    message = str(error)
    assert message == error.message and message
    assert not message.endswith(".") and (message[0].islower() or message[0] == "`")
    if kind.__name__ in FACTS and facts:
        assert str(facts[0]) in message
        assert error.hint or kind.__name__ in ("NotFound", "Unreadable")
    assert error.exit_code in (1, 2, 3) and error.code
