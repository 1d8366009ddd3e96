"""Measure recall on files with LoCoMo's structure: are the turns that answer a question among the first results?

A memory is one turn, added with its session, the session's date and its speaker, and nothing else. Recall is the mean,
over all questions with evidence, of found evidence turns / evidence turns.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from search_modes import MEBIBYTE, PLAIN, Find, Ours, Plain, Sizes, sizes, timed, times

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open domain", 4: "single-hop", 5: "adversarial"}
CUTS = (5, 10, 20)
_TURN = re.compile(r"D\d+:\d+")


class Turn(NamedTuple):
    """A turn to add: a key that is unique in the file, a text, and its `meta`."""

    key: str
    text: str
    meta: dict[str, Any]


class Question(NamedTuple):
    """A question, and the keys of the turns that answer it."""

    text: str
    category: int
    evidence: frozenset[str]


class Conversation(NamedTuple):
    """Turns and questions."""

    name: str
    turns: list[Turn]
    questions: list[Question]


class Outcome(NamedTuple):
    """Results of one search mode: recall at each cutoff for every question, and the search times."""

    recalls: list[tuple[int, list[float]]]
    taken: list[float]
    sizes: list[Sizes]


def read(path: Path) -> list[Conversation]:
    """Read a file."""
    values = json.loads(path.read_text(encoding="utf-8"))
    return [_conversation(value, str(value.get("sample_id", n))) for n, value in enumerate(values)]


def _conversation(value: dict[str, Any], name: str) -> Conversation:
    turns = list(_turns(value["conversation"], name))
    known = {turn.key for turn in turns}
    questions = []
    for asked in value["qa"]:
        named = {f"{name} {id}" for text in asked.get("evidence") or () for id in _TURN.findall(text)}
        if named & known:
            questions.append(Question(asked["question"], asked["category"], frozenset(named & known)))
    return Conversation(name, turns, questions)


def _turns(conversation: dict[str, Any], name: str) -> Iterator[Turn]:
    sessions = [key for key, value in conversation.items() if isinstance(value, list)]
    for session in sorted(sessions, key=lambda key: int(key.rpartition("_")[2])):
        when = conversation[f"{session}_date_time"]
        for turn in conversation[session]:
            caption = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
            text = f"{turn['speaker']}: {turn['text']}{caption}"
            meta = {"session": session, "when": when, "speaker": turn["speaker"]}
            yield Turn(f"{name} {turn['dia_id']}", text, meta)


def measure(groups: list[list[Conversation]], modes: list[str], folder: Path) -> dict[str, Outcome]:
    """Search each group of conversations in a separate store."""
    outcomes = {name: Outcome([], [], []) for name in (PLAIN, *modes)}
    for number, group in enumerate(groups):
        plain, ours = Plain(folder / f"plain-{number}.db"), Ours(folder / f"ours-{number}.db")
        turns = [turn for conversation in group for turn in conversation.turns]
        plain.add((turn.key, turn.text) for turn in turns)
        for turn in turns:
            ours.add(turn.key, turn.text, meta=turn.meta)
        questions = [question for conversation in group for question in conversation.questions]
        for name, outcome in outcomes.items():
            store = plain.path if name == PLAIN else ours.path
            _ask(plain.find if name == PLAIN else ours.finder(name), questions, outcome)
            outcome.sizes.append(sizes(store))
        plain.db.close()
        ours.memory.close()
    return outcomes


def _ask(find: Find, questions: list[Question], outcome: Outcome) -> None:
    find(questions[0].text, CUTS[-1])  # Load what is loaded on first use.
    for question in questions:
        found = timed(find, question.text, CUTS[-1], outcome.taken)
        shares = [len(question.evidence.intersection(found[:cut])) / len(question.evidence) for cut in CUTS]
        outcome.recalls.append((question.category, shares))


def figures(outcomes: dict[str, Outcome]) -> dict[str, Any]:
    """Return the outcomes as JSON values; recall in percent at each cutoff."""
    return {name: _figures(name, outcome) for name, outcome in outcomes.items()}


def _figures(name: str, outcome: Outcome) -> dict[str, Any]:
    categories = sorted({category for category, _ in outcome.recalls})
    by_category = {
        CATEGORIES.get(category, str(category)): _mean([shares for of, shares in outcome.recalls if of == category])
        for category in categories
    }
    taken = times(outcome.taken)
    return {
        "questions": len(outcome.recalls),
        "all": _mean([shares for _, shares in outcome.recalls]),
        **by_category,
        "p50_ms": round(taken.p50, 2),
        "p95_ms": round(taken.p95, 2),
        "store_bytes": sum(found.store for found in outcome.sizes),
        "index_bytes": sum(found.of(name) for found in outcome.sizes),
    }


def _mean(shares: list[list[float]]) -> list[float]:
    return [round(100 * statistics.fmean(column), 1) for column in zip(*shares, strict=True)]


def table(title: str, found: dict[str, Any]) -> str:
    """Return the figures as a table."""
    first = next(iter(found.values()))
    names = ["all", *(name for name in CATEGORIES.values() if name in first)]
    head = [title, *(f"{name} {'/'.join(map(str, CUTS))}" if name == "all" else name for name in names)]
    head += ["p50, ms", "p95, ms", "store, MiB", "index, MiB"]
    rows = [head, ["---"] * len(head)]
    for name, values in found.items():
        cells = [" ".join(f"{recall:.1f}" for recall in values[column]) for column in names]
        sizes = [f"{values[what] / MEBIBYTE:.1f}" for what in ("store_bytes", "index_bytes")]
        rows.append([name, *cells, f"{values['p50_ms']:.2f}", f"{values['p95_ms']:.2f}", *sizes])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def with_own_sessions(conversation: Conversation) -> Conversation:
    """Return the conversation with session names that no other one has."""
    turns = [
        turn._replace(meta=turn.meta | {"session": f"{conversation.name} {turn.meta['session']}"})
        for turn in conversation.turns
    ]
    return conversation._replace(turns=turns)
