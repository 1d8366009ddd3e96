"""The product map: what a project has and is about, on one screen, in the files that agents read first."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from memglot.project.markers import GUIDANCE, MAP, OLD_GUIDANCE, apply_section, defuse, extract_section
from memglot.project.node import Node
from memglot.project.notes import NO_FILE, note_map_ambiguous
from memglot.project.storage.files import write_file
from memglot.project.storage.ids import slug_of
from memglot.project.storage.paths import FOLDER, INDEX
from memglot.project.tokens import cut, tokens_in, tokens_of, units_of

TARGETS = ("AGENTS.md", "CLAUDE.md")
"""The files that carry the map."""
MOST_TOKENS = 1_200
MOST_LISTED = 5
MOST_SENTENCE = 1_000
_MENTIONS = ("memglot repo ", "memory save --stdin", "`memory query", "`memory sync")
_HEADER = "## Product map (generated — do not edit; refresh with memory save or memory sync)"
_NOTHING = "No features recorded yet. Run `memory init --brief` for the indexing brief."
_STAGES = ("building", "shipped", "paused", "idea")
_SENTENCE = re.compile(r".*?[.!?](?=\s|$)")
_LONG, _SHORT = 80, 40
_BETWEEN = " · "


def first_sentence(body: str) -> str:
    """The first sentence of a text, headings left out, on one line; all of it where no sentence ends."""
    lines = (line for line in body.removeprefix("\ufeff").splitlines() if not line.lstrip().startswith("#"))
    text = " ".join(" ".join(lines).split())
    found = _SENTENCE.match(text)
    return _shortened(found[0] if found else text, MOST_SENTENCE)


def render_map(nodes: Iterable[Node], findings: Iterable[tuple[str, Sequence[str]]]) -> str:
    """The map of the nodes that hold; `findings` are the ids of nodes with those of their anchors that are dead.

    What does not fit into 1,200 tokens goes in this order: dead anchors, questions, the second half of each intent,
    decisions, and then features one by one, ideas before the rest and the oldest first.
    """
    live = [node for node in nodes if node.is_live]
    live.sort(key=lambda node: (node.id.lower(), node.id.swapcase()))
    live.sort(key=lambda node: node.updated_at, reverse=True)
    head = _head(live)
    # A feature takes a token at the very least, so that those beyond can never be shown.
    features = {
        stage: [node for node in live if node.kind == "feature" and (node.stage or "idea") == stage][: MOST_TOKENS + 1]
        for stage in _STAGES
    }
    decisions = _listed("**Recent decisions:** ", [node for node in live if node.kind == "decision"])
    questions = _listed("**Open questions:** ", [node for node in live if node.kind == "question"])
    stale = _stale({node.id for node in live}, findings)
    if not (decisions or questions or stale or any(features.values())):
        return f"{head}\n\n{_NOTHING}"
    long, short = _stage_lines(features, _LONG), _stage_lines(features, _SHORT)
    for lines, others in (
        (long, (decisions, questions, stale)),
        (long, (decisions, questions)),
        (long, (decisions,)),
        (short, (decisions,)),
    ):
        found = _joined(head, [line.text for line in lines if line.items], others)
        if tokens_of(found) <= MOST_TOKENS:
            return found
    _drop_features(units_of(head), short)
    return _joined(head, [line.text for line in short if line.items], ())


def refresh_map(root: Path, body: str) -> list[str]:
    """Set the map in `AGENTS.md` and `CLAUDE.md` where it differs; warns of each file that could not be refreshed.

    A file that is not there is only missed where the other one has the map: without any, nobody asked for it.
    """
    warnings, missing = [], []
    inside = Path(os.path.realpath(root))
    done: set[Path] = set()
    has_map = False
    for name in TARGETS:
        target = Path(os.path.realpath(root / name))
        if not os.path.lexists(root / name):
            missing.append(_map_missing(name))
        elif target not in done:  # One of them is often a link to the other.
            done.add(target)
            is_set, warning = _refresh(name, target, inside, body)
            has_map = has_map or is_set
            warnings += [warning] if warning else []
    return [*warnings, *(missing if has_map else ())]


def has_odd_markers(contents: str) -> bool:
    """Tell whether a file has markers of ours that are not exactly one pair."""
    return any(
        extract_section(contents, markers) is None and any(marker in contents for marker in markers)
        for markers in (MAP, GUIDANCE)
    )


def has_own_words(contents: str) -> bool:
    """Tell whether a file speaks to agents of project memory without any marker of ours; it is left alone then."""
    is_marked = any(marker in contents for marker in (*MAP, *GUIDANCE))
    is_old = extract_section(contents, OLD_GUIDANCE) is not None
    return not is_marked and not is_old and any(mention in contents for mention in _MENTIONS)


def _refresh(name: str, target: Path, inside: Path, body: str) -> tuple[bool, str | None]:
    """Set the map in a file; tells whether it has one, and what to warn of."""
    if not target.is_relative_to(inside):
        return False, f"{name} was not refreshed because it is a link that leads out of the project."
    if not target.is_file():
        return False, _map_unwritable(name, NO_FILE) if target.exists() else _map_missing(name)
    try:
        # Signs that are no UTF-8, and line ends, come back as they were.
        contents = target.read_bytes().decode(errors="surrogateescape")
        found = apply_section(contents, MAP, body, append=False)
        if found is None:
            return False, _unmarked(name, contents)
        if found != contents:
            write_file(target, found.encode(errors="surrogateescape"), inside / FOLDER / INDEX)
    except OSError as error:
        return True, _map_unwritable(name, error.strerror or str(error))
    return True, None


def _unmarked(name: str, contents: str) -> str | None:
    if has_odd_markers(contents):
        return note_map_ambiguous(name)
    # Whoever chose words of their own is told of the map by `init` and `check`, not by every save.
    return (
        None
        if has_own_words(contents)
        else (
            f"{name} was not refreshed because Memory map markers are missing or ambiguous. "
            "Run `memglot repo init` to install them."
        )
    )


class _Line(NamedTuple):
    """The features of a stage."""

    label: str
    items: list[str]

    @property
    def text(self) -> str:
        return self.label + _BETWEEN.join(self.items)


def _head(live: list[Node]) -> str:
    project = next((node for node in live if node.kind == "project"), None)
    if project is None:
        return _HEADER
    title, sentence = defuse(project.title), defuse(project.intent)
    line = f"{title} — {sentence}" if sentence else title
    return f"{_HEADER}\n{line}" + ("" if line.endswith((".", "!", "?")) else ".")


def _stage_lines(features: dict[str, list[Node]], limit: int) -> list[_Line]:
    return [
        _Line(f"**{stage.capitalize()}:** ", [_feature(node, limit) for node in found])
        for stage, found in features.items()
    ]


def _feature(node: Node, limit: int) -> str:
    parts = (slug_of(node.id), defuse(_shortened(node.intent, limit)), *map(defuse, node.anchors[:1]))
    return " — ".join(part for part in parts if part)


def _listed(label: str, nodes: list[Node]) -> str:
    items = [f"{slug_of(node.id)} — {defuse(node.title)}" for node in nodes[:MOST_LISTED]]
    return label + _BETWEEN.join(items) if items else ""


def _stale(live: set[str], findings: Iterable[tuple[str, Sequence[str]]]) -> str:
    lines = [
        f"{id} — anchor {defuse(anchor)} matches no files"
        for id, anchors in findings
        if id in live
        for anchor in anchors
    ]
    return "**Stale:** " + "\n".join(lines[:MOST_LISTED]) if lines else ""


def _joined(head: str, lines: list[str], others: Sequence[str]) -> str:
    return "\n\n".join(part for part in (head, "\n".join(lines), *others) if part)


def _drop_features(head: int, lines: list[_Line]) -> None:
    """Drop features until the rest fits; the length is counted on, for there may be thousands."""
    between = units_of(_BETWEEN)
    # The section stands apart by two newlines, and each of its lines but the last ends with one.
    total = head + 1 + sum(units_of(line.text) + 1 for line in lines if line.items)
    for line in reversed(lines):
        while line.items and tokens_in(total) > MOST_TOKENS:
            total -= units_of(line.items.pop()) + (between if line.items else units_of(line.label) + 1)


def _shortened(text: str, units: int) -> str:
    return text if units_of(text) <= units else cut(text, units - 1).rstrip() + "…"


def _map_missing(name: str) -> str:
    """A file for agents that is not there."""
    return f"{name} was not refreshed because the file is missing. Run `memglot repo init` to install it."


def _map_unwritable(name: str, reason: str) -> str:
    """A file for agents that cannot be read or written."""
    return f"{name} was not refreshed: {reason}."
