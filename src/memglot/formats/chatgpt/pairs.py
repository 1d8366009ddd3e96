"""Collect the messages of a conversation into questions with their answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from memglot.formats.chatgpt.content import INSTRUCTIONS, MEMORIES, OUTPUT, Content, plain_text, read_content
from memglot.formats.chatgpt.conversation import Conversation, Message, MessageNode, ReadCounts, microseconds
from memglot.formats.chatgpt.tree import MessageBranch

BIO = "bio"


@dataclass
class Utterance:
    """A message that becomes part of a memory."""

    id: str
    text: str
    at: int
    hidden: bool = False
    model: str | None = None
    attachments: list[dict[str, str]] = field(default_factory=list)


@dataclass
class QuestionAnswer:
    """A question and its answer, one of which may be missing; `repeats` if another pair has the question too."""

    branch: bool
    question: Utterance | None = None
    answers: list[Utterance] = field(default_factory=list)
    repeats: bool = False
    thoughts: list[dict[str, str]] = field(default_factory=list)
    context: list[dict[str, str]] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        """True if the pair has only context and no messages of its own."""
        return not self.answers and (self.question is None or self.repeats)

    def absorb_context(self, other: QuestionAnswer) -> None:
        """Move the context and thoughts of a discarded pair to this one."""
        self.thoughts, self.context = other.thoughts + self.thoughts, other.context + self.context
        other.thoughts, other.context = [], []


@dataclass
class SavedMemory:
    """A memory that the assistant saved."""

    utterance: Utterance
    branch: bool


class PairCollector:
    """Collects the pairs of one conversation in order."""

    def __init__(self, conversation: Conversation, counts: ReadCounts) -> None:
        self._nodes, self._counts = conversation.nodes, counts
        self._pair_of: dict[str, QuestionAnswer | None] = {}
        self._ids: set[str] = set()
        self.found: list[QuestionAnswer | SavedMemory] = []
        self.instructions: list[tuple[str, int]] = []

    def add(self, branch: MessageBranch) -> None:
        """Add the messages of a branch."""
        pair = None
        before = self._pair_of.get(branch.parent) if branch.parent is not None else None
        if before is not None and before.question is not None:
            # A branch in the middle of an answer continues the same question.
            pair = self._new(QuestionAnswer(branch.is_side, before.question, repeats=True))
        for key in branch.keys:
            pair = self._pair_of[key] = self._message(key, self._nodes[key], pair, branch.is_side)

    def _new(self, pair: QuestionAnswer) -> QuestionAnswer:
        self.found.append(pair)
        return pair

    def _message(self, key: str, node: MessageNode, pair: QuestionAnswer | None, branch: bool) -> QuestionAnswer | None:
        message = node.message
        if message is None:
            return pair
        role = message.author.role if message.author else ""
        content = read_content(message.content)
        self._counts.unknown.update(content.unknown)
        if content.type == INSTRUCTIONS:
            if content.text:
                self.instructions.append((self._counts.clean(content.text), microseconds(message.create_time)))
            return pair
        if role == "assistant" and message.recipient == BIO:
            text = plain_text(message.content)
            if text.strip():
                self.found.append(SavedMemory(self._utterance(key, message, content, text), branch))
            return pair
        if role == "user":
            utterance = self._utterance(key, message, content, content.text)
            if not utterance.text.strip():
                utterance.text = "\n".join(
                    f"[file: {file.get('name') or file['id']}]" for file in utterance.attachments
                )
            return self._question(utterance, pair, branch)
        return self._answer(key, role, message, content, pair, branch)

    def _question(self, utterance: Utterance, pair: QuestionAnswer | None, branch: bool) -> QuestionAnswer:
        opened = self._new(QuestionAnswer(branch, utterance))
        if pair is not None and pair.is_open:
            opened.absorb_context(pair)
        return opened

    def _answer(
        self, key: str, role: str, message: Message, content: Content, pair: QuestionAnswer | None, branch: bool
    ) -> QuestionAnswer | None:
        """Add a message of the assistant, a tool or the system."""
        text, aside = content.text, ""
        if role == "tool" and message.author and message.author.name == BIO:
            return pair
        if role != "assistant" and content.type != OUTPUT or content.type == MEMORIES:
            # Tool results are not part of the answer, but images made by tools are.
            text, aside = content.shown if role == "tool" else "", content.text
        if not text.strip() and not aside.strip() and not content.thoughts:
            return pair
        pair = pair or self._new(QuestionAnswer(branch))
        if text.strip():
            pair.answers.append(self._utterance(key, message, content, text))
        if aside.strip() and aside != text:
            name = message.author.name if message.author else None
            kept = {"role": role, "name": name or "", "type": content.type, "text": aside}
            pair.context.append({name: value for name, value in kept.items() if value})
        pair.thoughts += content.thoughts
        return pair

    def _utterance(self, key: str, message: Message, content: Content, text: str) -> Utterance:
        metadata = message.metadata
        attachments = [{"id": asset} for asset in content.assets]
        hidden = message.weight == 0
        if metadata is not None:
            attachments += filter(None, map(_attachment, metadata.attachments or ()))
            hidden = hidden or metadata.is_visually_hidden_from_conversation is True
        # Two nodes with the same message id would overwrite each other.
        id = self._counts.clean(message.id if message.id and message.id not in self._ids else key)
        self._ids.add(id)
        return Utterance(
            id=id,
            text=self._counts.clean(text),
            at=microseconds(message.create_time),
            hidden=hidden,
            model=metadata.model_slug if metadata else None,
            attachments=attachments,
        )


def _attachment(given: Any) -> dict[str, str]:
    if not isinstance(given, dict):
        return {}
    return {key: value for key in ("id", "name") if isinstance(value := given.get(key), str) and value}
