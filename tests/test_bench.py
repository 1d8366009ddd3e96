"""The search benchmarks measure what they say."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[1] / "bench"
if not BENCH.exists():
    pytest.skip("the benchmarks are in the repository only", allow_module_level=True)
sys.path.append(str(BENCH))

import concurrent_clients  # noqa: E402
import locomo  # noqa: E402
import notes_recall  # noqa: E402
import search_modes  # noqa: E402

from memglot import Memory  # noqa: E402


def conversation(evidence: list[Any]) -> dict[str, Any]:
    questions = [{"question": f"number {n}", "category": n % 5 + 1, "evidence": ids} for n, ids in enumerate(evidence)]
    return {
        "sample_id": "conv-1",
        "qa": questions,
        "conversation": {
            "speaker_a": "Ann",
            "session_10_date_time": "3 pm on 9 May",
            "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "Last.", "blip_caption": "a red boat"}],
            "session_2_date_time": "1 pm on 8 May",
            "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "Hello!"}],
            "session_3_date_time": "a session that was not held",
        },
    }


def read(folder: Path, evidence: list[Any]) -> locomo.Conversation:
    path = folder / "file.json"
    path.write_text(json.dumps([conversation(evidence)]), encoding="utf-8")
    (found,) = locomo.read(path)
    return found


def test_turns_come_in_the_order_of_the_sessions_with_their_captions(tmp_path: Path) -> None:
    turns = read(tmp_path, []).turns
    assert [turn.text for turn in turns] == ["Bo: Hello!", "Ann: Last. [a red boat]"]
    assert turns[1].meta == {"session": "session_10", "when": "3 pm on 9 May", "speaker": "Ann"}


@pytest.mark.parametrize(
    ("evidence", "keys"),
    [
        (["D2:1"], {"conv-1 D2:1"}),
        (["D2:1; D10:1"], {"conv-1 D2:1", "conv-1 D10:1"}),
        (["D2:1", "D99:9", "D"], {"conv-1 D2:1"}),
        (["D2:1 D2:1", "D2:1"], {"conv-1 D2:1"}),
    ],
)
def test_evidence_that_names_no_turn_is_dropped(tmp_path: Path, evidence: list[str], keys: set[str]) -> None:
    (question,) = read(tmp_path, [evidence]).questions
    assert question.evidence == keys


def test_questions_without_evidence_are_left_out(tmp_path: Path) -> None:
    assert read(tmp_path, [[], None, ["D"], ["D7:7"]]).questions == []


def test_recall_is_the_mean_share_of_the_evidence() -> None:
    outcome = locomo.Outcome([], [], [])
    questions = [
        locomo.Question("both", 1, frozenset({"a", "b"})),
        locomo.Question("none", 2, frozenset({"c"})),
        locomo.Question("sixth", 2, frozenset({"f"})),
    ]
    found = {"both": ["a", "b"], "none": ["x"], "sixth": [*"uvwxyf"]}
    locomo._ask(lambda query, limit: found[query], questions, outcome)
    values = locomo.figures({"fulltext": outcome})["fulltext"]
    assert values["all"] == [33.3, 66.7, 66.7]
    assert values["multi-hop"] == [100, 100, 100]
    assert values["temporal"] == [0, 50, 50]


def test_the_baseline_searches_for_any_word_except_stop_words() -> None:
    assert search_modes.any_word("What did the Cat's owner say?") == '"cat" OR "owner" OR "say"'
    assert search_modes.any_word("who is it") == '"who" OR "is" OR "it"'


def test_every_question_about_notes_names_existing_notes() -> None:
    notes, questions = notes_recall.read_notes(), notes_recall.read_questions()
    keys = {note.key for note in notes}
    assert len(keys) == len(notes) > 150
    assert {question.kind for question in questions} == set(notes_recall.KINDS)
    assert all(question.notes and question.notes <= keys for question in questions)
    assert len({question.text for question in questions}) == len(questions) >= 150


def test_the_first_right_note_counts_by_its_rank() -> None:
    question = notes_recall.Question("keyword", "q", frozenset({"a", "b"}))
    assert notes_recall._answer(question, ["x", "a", "b"]) == notes_recall.Answer("keyword", [0, 1, 1], 0.5)
    assert notes_recall._answer(question, ["a"]) == notes_recall.Answer("keyword", [1, 0.5, 0.5], 1)
    assert notes_recall._answer(question, []).reciprocal == 0


def test_lost_memories_are_reported(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store.db") as memory:
        kept, other = memory.add("kept"), memory.add("other")
    outcome = concurrent_clients.Outcome()
    outcome.keep({"id": kept.id, "content": "kept"})
    assert concurrent_clients.checked(tmp_path / "store.db", outcome).faults == [
        "2 memories are stored, 1 were returned"
    ]
    outcome.faults.clear()
    outcome.keep({"id": other.id, "content": "another"})
    assert concurrent_clients.checked(tmp_path / "store.db", outcome).faults == ["1 of 2 were lost"]
    outcome.faults.clear()
    outcome.keep({"id": other.id, "content": "other"})
    assert concurrent_clients.checked(tmp_path / "store.db", outcome).faults == []
