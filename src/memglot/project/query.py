"""Answer a question from project memory: matching nodes, related nodes and open questions, within a token budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from memglot.display import one_line
from memglot.project.project import Project
from memglot.project.rank import rank
from memglot.project.snapshot import Snapshot, snapshot_of
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.node import Node
from memglot.project.storage.tokens import check_budget, cut, tokens_of, units_of
from memglot.text.cut import cut_position

_MAX_CONNECTED = 12
_MATCH_SHARE = 0.8
_UNITS_PER_TOKEN = 4
_MATCHES = "## Matches"
# Headings must leave room for texts even in the smallest budget: 501 tokens of four units.
_QUESTION_UNITS, _ID_UNITS, _TITLE_UNITS, _ANCHOR_UNITS = 300, 300, 200, 300


class _Neighbour(NamedTuple):
    node: Node
    predicate: str
    via: str


def query(project: Project, question: str, budget: float | None = None) -> dict[str, Any]:
    """Answer a question as Markdown. Raise `ProjectError` for an empty question or an invalid budget."""
    with snapshot_of(project) as snapshot:
        return _answer(snapshot, question, budget)


def _answer(snapshot: Snapshot, question: str, budget: float | None) -> dict[str, Any]:
    limit = check_budget(snapshot.config.memory.default_token_budget if budget is None else budget)
    question = question.strip()
    if not question:
        message = "Search query must be non-empty after trimming whitespace."
        raise ProjectError("MemoryValidationFailed", message, {"field": "query"})
    found = [item.node for item in rank(snapshot, question)]
    if not found:
        shown = _short(question, _QUESTION_UNITS)
        text = f'No matching memory for "{shown}".\nTry a broader phrasing, an id, a tag, or a file path fragment.'
        return _result(question, text, [], [], truncated=False)
    heading = f'# Memory — "{_short(question, _QUESTION_UNITS)}"'
    blocks, cut_off = _blocks(snapshot, found, int(limit * _MATCH_SHARE) - tokens_of(heading) - tokens_of(_MATCHES))
    connected, questions = _neighbours(snapshot, found)
    cut_off = cut_off or len(connected) > _MAX_CONNECTED
    connected = connected[:_MAX_CONNECTED]
    ids = [node.id for node in found[: len(blocks)]]
    text = _assemble(heading, blocks, connected, questions, ids)
    # What exceeds the budget is removed from the end; one match always remains.
    while tokens_of(text) > limit:
        if not (questions or connected or len(blocks) > 1):
            break
        (questions or connected or blocks).pop()
        ids = ids[: len(blocks)]
        cut_off = True
        text = _assemble(heading, blocks, connected, questions, ids)
    return _result(question, text, ids, [item.node.id for item in (*connected, *questions)], truncated=cut_off)


def _result(question: str, text: str, ids: list[str], connected: list[str], *, truncated: bool) -> dict[str, Any]:
    return {
        "question": question,
        "markdown": text,
        "included_ids": ids,
        "connected_ids": connected,
        "estimated_tokens": tokens_of(text),
        "truncated": truncated,
    }


def _blocks(snapshot: Snapshot, nodes: list[Node], budget: int) -> tuple[list[str], bool]:
    """Render the matches that fit; the first that does not fit is cut and is the last."""
    blocks: list[str] = []
    left = max(0, budget)
    for node in nodes:
        head = _head(node)
        body = snapshot.body(node).strip()
        block = f"{head}\n{body}"
        if tokens_of(block) <= left:
            blocks.append(block)
            left -= tokens_of(block)
            continue
        room = left - tokens_of(head)
        if blocks and room <= 0:
            return blocks, True
        blocks.append(f"{head}\n{_cut(body, room * _UNITS_PER_TOKEN - 1)}…")
        return blocks, True
    return blocks, False


def _head(node: Node) -> str:
    lines = [f"### {_short(node.id, _ID_UNITS)} — {_title(node)}  [{node.status}]"]
    if node.kind == "feature" and node.stage is not None:
        lines.append(f"stage: {node.stage}")
    if node.anchors:
        lines.append(f"anchors: {_short(', '.join(node.anchors), _ANCHOR_UNITS)}")
    return "\n".join(lines)


def _title(node: Node) -> str:
    return _short(node.title, _TITLE_UNITS)


def _short(text: str, units: int) -> str:
    """Return a text on one line, cut to a maximum length."""
    line = one_line(text)
    return line if units_of(line) <= units else _cut(line, units - 1) + "…"


def _cut(text: str, units: int) -> str:
    """Return the beginning of a text, cut at a character, word or line end."""
    return text[: cut_position(text, len(cut(text, units)))]


def _neighbours(snapshot: Snapshot, nodes: list[Node]) -> tuple[list[_Neighbour], list[_Neighbour]]:
    """Return the nodes and the open questions that are one active relation away from the matches, each once."""
    seen = {node.id for node in nodes}
    connected: list[_Neighbour] = []
    questions: list[_Neighbour] = []
    for node in nodes:
        for link in snapshot.links(node.id):
            other = link.object if link.subject == node.id else link.subject
            found = snapshot.node(other) if link.status == "active" and other not in seen else None
            if found is None or found.status == "superseded":
                continue
            seen.add(other)
            is_open = found.kind == "question" and found.status == "open"
            (questions if is_open else connected).append(_Neighbour(found, link.predicate, node.id))
    return connected, questions


def _assemble(
    heading: str,
    blocks: Sequence[str],
    connected: Sequence[_Neighbour],
    questions: Sequence[_Neighbour],
    ids: Sequence[str],
) -> str:
    sections = [heading, "\n\n".join((_MATCHES, *blocks))]
    if connected:
        lines = [f"- {item.node.id} ({item.predicate} {item.via}) — {_title(item.node)}" for item in connected]
        sections.append("\n".join(("## Connected", *lines)))
    if questions:
        lines = [f"- {item.node.id} — {_title(item.node)}" for item in questions]
        sections.append("\n".join(("## Open questions", *lines)))
    body = "\n\n".join(sections)
    counts = f"{len(ids)} matched + {len(connected)} connected · ~{tokens_of(body)} tokens"
    return f"{body}\n\n---\n{counts} · `memglot repo inspect {_short(ids[0], _ID_UNITS)}` for full detail"
