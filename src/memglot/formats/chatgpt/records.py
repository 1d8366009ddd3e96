"""Records from the pairs of a conversation."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, TypeAlias

from memglot.display import shorten
from memglot.errors import BadRecord
from memglot.formats.chatgpt.conversation import Conversation, ReadCounts, place
from memglot.formats.chatgpt.pairs import PairCollector, QuestionAnswer, SavedMemory, Utterance
from memglot.model import Foreign, Record, check_value, derive_id
from memglot.report import SourceReport

TOOL = "chatgpt"
Found: TypeAlias = QuestionAnswer | SavedMemory
# Settings that change while a conversation goes on would conflict with the next export. The messages themselves
# have their times and models.
_CHANGING = frozenset(
    {
        "update_time",
        "default_model_slug",
        "safe_urls",
        "blocked_urls",
        "moderation_results",
        "async_status",
        "is_archived",
        "is_starred",
    }
)
_REPEATED = 1 << 22
"""Maximum number of characters of repeated questions per conversation; more would be an attack."""


def conversation_records(
    conversation: Conversation, collector: PairCollector, report: SourceReport, counts: ReadCounts
) -> Iterator[Record]:
    """Yield the records of a conversation."""
    meta, extra = _settings(conversation, report)
    allowance = _REPEATED
    for found, id in _identified(collector.found, counts):
        if isinstance(found, SavedMemory):
            record = _record(conversation, id, [found.utterance], found.branch)
            record.content, record.kind = found.utterance.text, "semantic"
            record.meta["saved"] = True
        else:
            question = [found.question] if found.question and found.question.text.strip() else []
            if question and found.repeats:
                allowance -= len(question[0].text)
                question = question if allowance >= 0 else []
            record = _pair_record(conversation, id, found, question)
        record.meta |= meta
        if extra:
            record.extra.setdefault(TOOL, {}).update(extra)
        # The settings of the conversation are kept with its first memory.
        meta, extra = {}, {}
        yield record


def instructions_record(text: str, at: int) -> Record:
    """Return the record of custom instructions; its id depends on the text, which every conversation repeats."""
    id = f"custom-instructions/{sha256(text.encode()).hexdigest()}"
    return Record(
        id=derive_id(TOOL, "", id),
        content=text,
        tags=["custom instructions"],
        meta={"hidden": True},
        created_at=at,
        updated_at=at,
        source={"tool": TOOL},
        foreign=[Foreign(TOOL, id)],
    )


def _identified(found: list[Found], counts: ReadCounts) -> Iterator[tuple[Found, str]]:
    """Yield what becomes a record, with its id within the conversation.

    Of several answers to a question the oldest has the question's id, on any branch, so a later export with another
    answer does not change the other ids.
    """
    asked: dict[str, list[QuestionAnswer]] = {}
    for pair in found:
        if isinstance(pair, QuestionAnswer) and pair.question is not None:
            asked.setdefault(pair.question.id, []).append(pair)
    oldest = {id: _oldest(pairs) for id, pairs in asked.items()}
    for pair in found:
        if isinstance(pair, SavedMemory):
            yield pair, pair.utterance.id
            continue
        question = pair.question
        first = oldest[question.id] if question is not None else pair
        if question is not None and pair is first:
            if question.text.strip() or pair.answers:
                pair.repeats = False
                yield pair, question.id
                continue
        elif pair.answers:
            id = pair.answers[0].id
            yield pair, f"{question.id}/{id}" if question is not None else id
            continue
        counts.unpaired += len(pair.context) + bool(pair.thoughts)


def _oldest(pairs: list[QuestionAnswer]) -> QuestionAnswer:
    answered = [pair for pair in pairs if pair.answers]
    # Without any answer use the question's own pair; later ones only repeat it.
    first = min(answered, key=lambda pair: pair.answers[0].at or 1 << 63) if answered else pairs[0]
    for pair in pairs:
        if pair is not first and not pair.answers:
            first.absorb_context(pair)
    return first


def _pair_record(conversation: Conversation, id: str, pair: QuestionAnswer, question: list[Utterance]) -> Record:
    record = _record(conversation, id, question + pair.answers, pair.branch)
    parts = [f"[user]: {utterance.text}" for utterance in question]
    if pair.answers:
        parts.append("[assistant]: " + "\n\n".join(utterance.text for utterance in pair.answers))
    record.content, record.kind = "\n".join(parts), "episodic"
    kept = {"thoughts": pair.thoughts, "context": pair.context}
    if any(kept.values()):
        record.extra[TOOL] = {name: value for name, value in kept.items() if value}
    return record


def _record(conversation: Conversation, id: str, utterances: list[Utterance], branch: bool) -> Record:
    foreign = f"{conversation.id}/{id}"
    times = [each.at for each in utterances if each.at] or [conversation.created_at]
    meta: dict[str, Any] = {"conversation_id": conversation.id, "message_ids": [each.id for each in utterances]}
    models = [each.model for each in utterances if each.model]
    if models:
        meta["model"] = models[-1]
    if branch:
        meta["branch"] = True
    if any(each.hidden for each in utterances):
        meta["hidden"] = True
    attachments = [attachment for each in utterances for attachment in each.attachments]
    if attachments:
        meta["attachments"] = attachments
    return Record(
        id=derive_id(TOOL, "", foreign),
        content="",
        title=conversation.title or None,
        tags=[conversation.title] if conversation.title else [],
        meta=meta,
        created_at=times[0],
        updated_at=max(times),
        source={"tool": TOOL, "conversation": conversation.id},
        foreign=[Foreign(TOOL, foreign)],
    )


def _settings(conversation: Conversation, report: SourceReport) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of a conversation."""
    rest = conversation.rest
    meta = {name: True for name in ("archived", "starred") if rest.get(f"is_{name}") is True}
    extra = {key: value for key, value in rest.items() if value and key not in _CHANGING}
    try:
        check_value(extra, "a setting")
    except BadRecord as error:
        report.fault(
            BadRecord(f"left out the settings of `{shorten(conversation.name)}`: {error}; the messages were read"),
            **place(report),
        )
        extra = {}
    return meta, extra
