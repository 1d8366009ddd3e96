"""Estimate how many tokens a text takes for a model, in every script.

Models split text differently, so this counts what the more expensive ones of today would charge:

    a word of Latin letters        1, and 0.05 for each letter after the first; a capital, and each ninth letter
                                   (fifth, in capitals) begins another word
    a digit                        1
    ASCII punctuation              0.6
    a single blank                 0.05; several in a row 1, and 0.1 each
    a line end                     1
    an accented Latin letter       1
    a Cyrillic letter              0.6
    a letter of Greek, Arabic or Thai, a kana, a Chinese character    1.1
    a letter of Hebrew or of an Indian script, a Korean syllable    1.25
    typographic punctuation        1
    an emoji, a rare character, anything else    3; a control character 1.5

Measured on notes in ten languages, conversations, code and JSON (1.5 million characters) with the vocabularies of
cl100k, o200k, DeepSeek, Qwen and Mistral's Tekken: over each of these kinds of text the estimate was never below the
true count. For English, code and JSON it is 1.1 to 1.3 times it. Other scripts cost some models half of what they
cost others: there it is 1.1 to 1.3 times the most expensive of the five, and up to 2.5 times the cheapest. A single
text can differ more: one of only digits or random letters is estimated up to 18 % too low. The vocabulary of Claude
2, the only one of its family that is public, takes 1.5 times the estimate for Thai, 1.1 for Greek and Vietnamese.
"""

import re
from typing import Final

_HUNDREDTHS: Final = 100
# Each piece: its pattern, its own cost, and the cost of each of its characters, in hundredths of a token. No piece
# crosses a line end, so that the costs of the lines of a text add up exactly.
_PIECES: Final = {
    "word": ("[A-Z]?[a-z]{1,8}|[A-Z]{1,4}", 95, 5),
    "blank": ("[ ]", 0, 5),
    "punctuation": (r"[!-/:-@\[-`{-~]+", 0, 60),
    "single": (r"[0-9\n\r\u00a0-\u024f\u02b0-\u02ff\u1e00-\u1eff\u2010-\u205e\u3000-\u303f\uff00-\uff65]+", 0, 100),
    "letter": (
        r"[\u0370-\u03ff\u0600-\u077f\u0e00-\u0eff\u1f00-\u1fff\u3040-\u30ff\u4e00-\u9fff]+",
        0,
        110,
    ),
    "cyrillic": (r"[\u0400-\u052f]+", 0, 60),
    "syllable": (r"[\u0590-\u05ff\u0900-\u0dff\uac00-\ud7af]+", 0, 125),
}
_BLANKS: Final = r"[ \t]{2,}|\t"
_FIND: Final = re.compile(
    f"(?P<blanks>{_BLANKS})|"
    + "|".join(f"(?P<{name}>{pattern})" for name, (pattern, _, _) in _PIECES.items())
    + r"|(?P<other>[^\x00-\xff])|(?P<control>.)",
    re.DOTALL,
)
_COSTS: Final = {name: (piece, each) for name, (_, piece, each) in _PIECES.items()} | {
    "blanks": (100, 10),
    "other": (0, 300),
    "control": (0, 150),
}
_MIN_PER_CHARACTER: Final = 5


def text_cost(text: str) -> int:
    """Return the cost of a text in hundredths of a token; the costs of complete lines add up exactly."""
    total = 0
    for found in _FIND.finditer(text):
        piece, each = _COSTS[found.lastgroup or "control"]
        total += piece + each * (found.end() - found.start())
    return total


def characters_for(text: str, cost: int) -> int:
    """Return how many characters from the beginning of a text cost no more than this."""
    left = cost
    for found in _FIND.finditer(text):
        piece, each = _COSTS[found.lastgroup or "control"]
        length = found.end() - found.start()
        if piece + each * length > left:
            return found.start() + max(0, left - piece) // each
        left -= piece + each * length
    return len(text)


def count_tokens(text: str) -> int:
    """Return the estimated tokens of a text, rounded up."""
    return tokens_from_cost(text_cost(text))


def tokens_from_cost(cost: int) -> int:
    """Return the tokens of a cost in hundredths, rounded up."""
    return -(-cost // _HUNDREDTHS)


def cost_of_tokens(tokens: int) -> int:
    """Return the cost of a number of tokens, in hundredths."""
    return tokens * _HUNDREDTHS


def max_length_for(cost: int) -> int:
    """Return the maximum length of a text with this cost."""
    return max(0, cost) // _MIN_PER_CHARACTER
