"""Measure recall on notes of many kinds, as people and coding agents write them and ask for them.

The notes are in `bench/notes/*.txt`. A line `%% id | title | tags | tree` begins one, and its text follows. They are
added in an order that mixes topics, so that adjacent notes are unrelated.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from search_modes import PLAIN, Find, Ours, Plain, timed, times

FOLDER = Path(__file__).parent / "notes"
CUTS = (1, 5, 10)
KINDS = ("keyword", "question", "paraphrase", "identifier", "other-language")


class Note(NamedTuple):
    """A note."""

    key: str
    title: str | None
    tags: list[str]
    tree: str
    content: str


class Question(NamedTuple):
    """A question, its kind, and the keys of the notes that answer it."""

    kind: str
    text: str
    notes: frozenset[str]


class Answer(NamedTuple):
    """The result of one question: recall at each cutoff, and the reciprocal rank of the first right note."""

    kind: str
    recalls: list[float]
    reciprocal: float


def read_notes(folder: Path = FOLDER) -> list[Note]:
    """Return all notes, topics mixed, in the same order on every run."""
    found = [note for path in sorted(folder.glob("*.txt")) for note in _notes(path.read_text(encoding="utf-8"))]
    random.Random(11).shuffle(found)
    return found


def _notes(text: str) -> Iterator[Note]:
    for piece in text.split("%% ")[1:]:
        head, _, content = piece.partition("\n")
        key, title, tags, tree = (field.strip() for field in head.split("|"))
        yield Note(key, title or None, [tag.strip() for tag in tags.split(",")], tree, content.strip())


def read_questions(folder: Path = FOLDER) -> list[Question]:
    """Return all questions."""
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    values = [json.loads(line) for line in lines]
    return [Question(value["kind"], value["question"], frozenset(value["notes"])) for value in values]


def measure(modes: list[str], folder: Path) -> dict[str, Any]:
    """Search with plain FTS5, over title, tags, tree and content, and in every mode.

    The figures are percentages by kind: recall at each cutoff, relative to the right notes that fit there, then the
    mean reciprocal rank of the first right note; a missing note counts as 0.
    """
    plain, ours = Plain(folder / "plain-notes.db"), Ours(folder / "notes.db")
    notes, questions = read_notes(), read_questions()
    plain.add((note.key, f"{note.title or ''}\n{' '.join(note.tags)}\n{note.tree}\n{note.content}") for note in notes)
    for note in notes:
        ours.add(note.key, note.content, title=note.title, tags=note.tags, tree=note.tree)
    finders = {PLAIN: plain.find, **{mode: ours.finder(mode) for mode in modes}}
    found = {name: _figures(find, questions) for name, find in finders.items()}
    plain.db.close()
    ours.memory.close()
    return found


def _figures(find: Find, questions: list[Question]) -> dict[str, Any]:
    taken: list[float] = []
    find(questions[0].text, CUTS[-1])  # Load what is loaded on first use.
    answers = [_answer(question, timed(find, question.text, CUTS[-1], taken)) for question in questions]
    spent = times(taken)
    return {
        "questions": len(answers),
        "all": _mean(answers),
        **{kind: _mean([answer for answer in answers if answer.kind == kind]) for kind in KINDS},
        "p50_ms": round(spent.p50, 2),
        "p95_ms": round(spent.p95, 2),
        "missed": [question.text for question, answer in zip(questions, answers, strict=True) if not answer.reciprocal],
    }


def _answer(question: Question, found: list[str]) -> Answer:
    recalls = [len(question.notes.intersection(found[:cut])) / min(cut, len(question.notes)) for cut in CUTS]
    first = next((rank for rank, key in enumerate(found, 1) if key in question.notes), None)
    return Answer(question.kind, recalls, 1 / first if first else 0.0)


def _mean(answers: list[Answer]) -> list[float]:
    """Return recall at each cutoff, then the mean reciprocal rank."""
    columns = [[*answer.recalls, answer.reciprocal] for answer in answers]
    return [round(100 * statistics.fmean(column), 1) for column in zip(*columns, strict=True)]


def table(found: dict[str, Any]) -> str:
    """Return the figures as a table."""
    head = ["notes", f"all {'/'.join(map(str, CUTS))}/MRR", *KINDS, "p50, ms", "p95, ms"]
    rows = [head, ["---"] * len(head)]
    for name, values in found.items():
        cells = [" ".join(f"{figure:.1f}" for figure in values[column]) for column in ("all", *KINDS)]
        rows.append([name, *cells, f"{values['p50_ms']:.2f}", f"{values['p95_ms']:.2f}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def missed(found: dict[str, Any]) -> str:
    """Return the questions for which a mode found no right note among the first results."""
    lines = [f"{name}: {'; '.join(values['missed'])}" for name, values in found.items() if values["missed"]]
    return "\n".join(lines)
