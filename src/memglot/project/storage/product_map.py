"""The product map: what a project has and is about, on one screen, in the files that agents read first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from memglot.project.storage.anchors import Files
from memglot.project.storage.files import write_file
from memglot.project.storage.git import Git
from memglot.project.storage.ids import slug_of
from memglot.project.storage.markers import (
    AGENT_FILES,
    GUIDANCE,
    MAP,
    OLD_GUIDANCE,
    apply_section,
    defuse,
    extract_section,
)
from memglot.project.storage.node import Node
from memglot.project.storage.paths import FOLDER, INDEX
from memglot.project.storage.readme_map import refresh_readme
from memglot.project.storage.tokens import shortened, tokens_in, tokens_of, units_of

MAX_TOKENS = 1_200
MAX_LISTED = 5
FIX_MARKERS = (
    "Remove all but one pair of markers (`<!-- memory:…start -->`, `<!-- memory:…end -->`) from it, or all of them, "
    "then run `memglot repo init`."
)
"""What to do about a file with more markers, or half a pair."""
NOT_A_FILE = "it is not a file"
"""Why text for agents cannot be written."""
_MENTIONS = ("memglot repo ", "memory save --stdin", "`memory query", "`memory sync")
_HEADER = "## Product map (generated — do not edit; refresh with memory save or memory sync)"
_EMPTY = "No features recorded yet. Run `memory init --brief` for the indexing brief."
_OUR_WORDS = {
    "refresh with memory save or memory sync": "refresh with memglot repo sync",
    "`memory init --brief`": "`memglot repo init --brief`",
}
"""The commands of the original tool in a map, and ours."""
_STAGES = ("building", "shipped", "paused", "idea")
_LONG, _SHORT = 80, 40
_BETWEEN = " · "


def repository_files(git: Git) -> Files:
    """Return the files of a repository that anchors can match."""
    tree = git.tree
    return Files(tree.paths, tree.opaque)


def dead_anchors(nodes: Iterable[Node], files: Files) -> list[tuple[str, list[str]]]:
    """Return the ids of live nodes with anchors that match no file, each with these anchors, ordered by path."""
    found = []
    for node in sorted(nodes, key=lambda node: node.path):
        dead = [anchor for anchor in node.anchors if not files.any(anchor)] if node.is_live else []
        if dead:
            found.append((node.id, dead))
    return found


def render_map(nodes: Iterable[Node], findings: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Render the map of the live nodes; `findings` are the ids of nodes with their dead anchors.

    The commands in it are those of the original tool; `in_words_of` replaces them, by no more characters in a full map.

    What does not fit into 1,200 tokens is left out in this order: dead anchors, questions, the second half of each
    intent, decisions, and then features one by one, ideas before the rest and the oldest first.
    """
    live = [node for node in nodes if node.is_live]
    live.sort(key=lambda node: (node.id.lower(), node.id.swapcase()))
    live.sort(key=lambda node: node.updated_at, reverse=True)
    head = _head(live)
    # A feature takes at least one token, so features beyond the budget can never be shown.
    features = {
        stage: [node for node in live if node.kind == "feature" and (node.stage or "idea") == stage][: MAX_TOKENS + 1]
        for stage in _STAGES
    }
    decisions = _listed("**Recent decisions:** ", [node for node in live if node.kind == "decision"])
    questions = _listed("**Open questions:** ", [node for node in live if node.kind == "question"])
    stale = _stale({node.id for node in live}, findings)
    if not (decisions or questions or stale or any(features.values())):
        return f"{head}\n\n{_EMPTY}"
    long, short = _stage_lines(features, _LONG), _stage_lines(features, _SHORT)
    for lines, others in (
        (long, (decisions, questions, stale)),
        (long, (decisions, questions)),
        (long, (decisions,)),
        (short, (decisions,)),
    ):
        found = _joined(head, [line.text for line in lines if line.items], others)
        if tokens_of(found) <= MAX_TOKENS:
            return found
    _drop_features(units_of(head), short)
    return _joined(head, [line.text for line in short if line.items], ())


def in_our_words(body: str) -> str:
    """Return a map that names memglot's commands instead of those of the original tool."""
    for theirs, ours in _OUR_WORDS.items():
        body = body.replace(theirs, ours, 1)
    return body


def in_words_of(contents: str, body: str) -> str:
    """Return a map with the commands that a file names: ours, unless the original tool wrote its text for agents."""
    guidance = extract_section(contents, GUIDANCE) or extract_section(contents, OLD_GUIDANCE) or ""
    is_theirs = any(mention in guidance for mention in _MENTIONS[1:]) or _HEADER in (
        extract_section(contents, MAP) or ""
    )
    return body if is_theirs and _MENTIONS[0] not in guidance else in_our_words(body)


def write_map(root: Path, body: str) -> list[str]:
    """Write the map to `AGENTS.md` and `CLAUDE.md` if it differs; return a warning for each file that has none now.

    A missing file is reported only if the other one has the map: without any map, nobody wants it. README.md gets the
    map if it has the markers, and is not missed otherwise.
    """
    warnings, missing = [], []
    inside = Path(os.path.realpath(root))
    done: set[Path] = set()
    has_map = False
    for name in AGENT_FILES:
        target = Path(os.path.realpath(root / name))
        if not os.path.lexists(root / name):
            missing.append(_file_missing(name))
        elif target not in done:  # One of them is often a link to the other.
            done.add(target)
            is_set, warning = _write_to(name, target, inside, body)
            has_map = has_map or is_set
            warnings += [warning] if warning else []
    return [*warnings, *(missing if has_map else ()), *refresh_readme(root, body)]


def has_odd_markers(contents: str) -> bool:
    """Return True if a file has markers of ours that are not exactly one pair."""
    return any(
        extract_section(contents, markers) is None and any(marker in contents for marker in markers)
        for markers in (MAP, GUIDANCE)
    )


def has_own_words(contents: str) -> bool:
    """Return True if a file mentions project memory to agents without any marker of ours; it is not changed then."""
    is_marked = any(marker in contents for marker in (*MAP, *GUIDANCE))
    is_old = extract_section(contents, OLD_GUIDANCE) is not None
    return not is_marked and not is_old and any(mention in contents for mention in _MENTIONS)


def _write_to(name: str, target: Path, inside: Path, body: str) -> tuple[bool, str | None]:
    """Write the map to a file; return True if the file has one, and a warning if there is a problem."""
    if not target.is_relative_to(inside):
        return False, f"{name} was not refreshed because it is a link to a file outside of the project."
    if not target.is_file():
        return False, _unwritable(name, NOT_A_FILE) if target.exists() else _file_missing(name)
    try:
        # Bytes that are not valid UTF-8, and line ends, are written back unchanged.
        contents = target.read_bytes().decode(errors="surrogateescape")
        found = apply_section(contents, MAP, in_words_of(contents, body), append=False)
        if found is None:
            return False, _unmarked(name, contents)
        if found != contents:
            write_file(target, found.encode(errors="surrogateescape"), inside / FOLDER / INDEX)
    except OSError as error:
        return True, _unwritable(name, error.strerror or str(error))
    return True, None


def _unmarked(name: str, contents: str) -> str | None:
    if has_odd_markers(contents):
        return f"{name} was not refreshed because Memory map markers are ambiguous. {FIX_MARKERS}"
    if has_own_words(contents):
        return None  # `init` and `check` mention the map to people with their own text; every save would be too often.
    return (
        f"{name} was not refreshed because Memory map markers are missing or ambiguous. "
        "Run `memglot repo init` to install them."
    )


class _Line(NamedTuple):
    """The features of one stage."""

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
    parts = (slug_of(node.id), defuse(shortened(node.intent, limit)), *map(defuse, node.anchors[:1]))
    return " — ".join(part for part in parts if part)


def _listed(label: str, nodes: list[Node]) -> str:
    items = [f"{slug_of(node.id)} — {defuse(node.title)}" for node in nodes[:MAX_LISTED]]
    return label + _BETWEEN.join(items) if items else ""


def _stale(live: set[str], findings: Iterable[tuple[str, Sequence[str]]]) -> str:
    lines = [
        f"{id} — anchor {defuse(anchor)} matches no files"
        for id, anchors in findings
        if id in live
        for anchor in anchors
    ]
    return "**Stale:** " + "\n".join(lines[:MAX_LISTED]) if lines else ""


def _joined(head: str, lines: list[str], others: Sequence[str]) -> str:
    return "\n\n".join(part for part in (head, "\n".join(lines), *others) if part)


def _drop_features(head: int, lines: list[_Line]) -> None:
    """Drop features until the rest fits; the length is updated, not computed again, as there may be thousands."""
    between = units_of(_BETWEEN)
    # Two newlines precede the section, and each of its lines but the last ends with one.
    total = head + 1 + sum(units_of(line.text) + 1 for line in lines if line.items)
    for line in reversed(lines):
        while line.items and tokens_in(total) > MAX_TOKENS:
            total -= units_of(line.items.pop()) + (between if line.items else units_of(line.label) + 1)


def _file_missing(name: str) -> str:
    return f"{name} was not refreshed because the file is missing. Run `memglot repo init` to install it."


def _unwritable(name: str, reason: str) -> str:
    return f"{name} was not refreshed: {reason}."
