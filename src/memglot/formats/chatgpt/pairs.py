"""Lines of messages, gathered into questions with their answers and what belongs to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from memglot.formats.chatgpt.text import INSTRUCTIONS, MEMORIES, OUTPUT, Content, content_of, plain_text
from memglot.formats.chatgpt.tree import Line
from memglot.formats.chatgpt.wire import Conversation, Message, Node, Tally, microseconds

BIO = "bio"


@dataclass
class Said:
    """One message that becomes part of a memory."""

    id: str
    text: str
    at: int
    hidden: bool = False
    model: str | None = None
    attachments: list[dict[str, str]] = field(default_factory=list)


@dataclass
class Pair:
    """A question and its answer; either may be missing. `repeats`: the question stands in another pair already."""

    branch: bool
    question: Said | None = None
    answers: list[Said] = field(default_factory=list)
    repeats: bool = False
    thoughts: list[dict[str, str]] = field(default_factory=list)
    context: list[dict[str, str]] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        """Tell whether nothing in it is its own yet, but what tools and the system said."""
        return not self.answers and (self.question is None or self.repeats)

    def take_context(self, other: Pair) -> None:
        """Take over what tools and the system said, and the thoughts, from a pair that will not be."""
        self.thoughts, self.context = other.thoughts + self.thoughts, other.context + self.context
        other.thoughts, other.context = [], []


@dataclass
class Saved:
    """A memory that the assistant saved."""

    said: Said
    branch: bool


class Gathering:
    """The pairs of one conversation, in the order they are met."""

    def __init__(self, conversation: Conversation, tally: Tally) -> None:
        self._nodes, self._tally = conversation.nodes, tally
        self._pair_of: dict[str, Pair | None] = {}
        self._ids: set[str] = set()
        self.found: list[Pair | Saved] = []
        self.instructions: list[tuple[str, int]] = []

    def take(self, line: Line) -> None:
        """Gather the messages of a line."""
        pair = None
        before = self._pair_of.get(line.above) if line.above is not None else None
        if before is not None and before.question is not None:
            # A branch in the middle of an answer goes on with the same question.
            pair = self._new(Pair(line.branch, before.question, repeats=True))
        for key in line.keys:
            pair = self._pair_of[key] = self._message(key, self._nodes[key], pair, line.branch)

    def _new(self, pair: Pair) -> Pair:
        self.found.append(pair)
        return pair

    def _message(self, key: str, node: Node, pair: Pair | None, branch: bool) -> Pair | None:
        message = node.message
        if message is None:
            return pair
        role = message.author.role if message.author else ""
        content = content_of(message.content)
        self._tally.unknown.update(content.unknown)
        if content.type == INSTRUCTIONS:
            if content.text:
                self.instructions.append((self._tally.clean(content.text), microseconds(message.create_time)))
            return pair
        if role == "assistant" and message.recipient == BIO:
            text = plain_text(message.content)
            if text.strip():
                self.found.append(Saved(self._said(key, message, content, text), branch))
            return pair
        if role == "user":
            said = self._said(key, message, content, content.text)
            if not said.text.strip():
                said.text = "\n".join(f"[file: {file.get('name') or file['id']}]" for file in said.attachments)
            return self._question(said, pair, branch)
        return self._answer(key, role, message, content, pair, branch)

    def _question(self, said: Said, pair: Pair | None, branch: bool) -> Pair:
        opened = self._new(Pair(branch, said))
        if pair is not None and pair.is_open:
            opened.take_context(pair)
        return opened

    def _answer(
        self, key: str, role: str, message: Message, content: Content, pair: Pair | None, branch: bool
    ) -> Pair | None:
        """A message of the assistant, or what a tool or the system put between."""
        text, aside = content.text, ""
        if role == "tool" and message.author and message.author.name == BIO:
            return pair
        if role != "assistant" and content.type != OUTPUT or content.type == MEMORIES:
            # What tools found is no part of the answer; the images that they made are.
            text, aside = content.shown if role == "tool" else "", content.text
        if not text.strip() and not aside.strip() and not content.thoughts:
            return pair
        pair = pair or self._new(Pair(branch))
        if text.strip():
            pair.answers.append(self._said(key, message, content, text))
        if aside.strip() and aside != text:
            name = message.author.name if message.author else None
            kept = {"role": role, "name": name or "", "type": content.type, "text": aside}
            pair.context.append({name: value for name, value in kept.items() if value})
        pair.thoughts += content.thoughts
        return pair

    def _said(self, key: str, message: Message, content: Content, text: str) -> Said:
        metadata = message.metadata
        attachments = [{"id": asset} for asset in content.assets]
        hidden = message.weight == 0
        if metadata is not None:
            attachments += filter(None, map(_attachment, metadata.attachments or ()))
            hidden = hidden or metadata.is_visually_hidden_from_conversation is True
        # Two places with one message id would overwrite each other.
        id = self._tally.clean(message.id if message.id and message.id not in self._ids else key)
        self._ids.add(id)
        return Said(
            id=id,
            text=self._tally.clean(text),
            at=microseconds(message.create_time),
            hidden=hidden,
            model=metadata.model_slug if metadata else None,
            attachments=attachments,
        )


def _attachment(given: Any) -> dict[str, str]:
    if not isinstance(given, dict):
        return {}
    return {key: value for key in ("id", "name") if isinstance(value := given.get(key), str) and value}
