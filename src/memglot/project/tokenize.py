"""Words of a text, for the index: scripts that put no space between words are taken sign by sign."""

import re

# Thai, Lao, Khmer, Burmese, Tibetan; kana, Chinese characters and their extensions; Korean is written with spaces.
_UNSPACED = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
_UNSPACED += "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SIGN = re.compile(f"([{_UNSPACED}])")
_TERM = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")


def words_of(text: str) -> str:
    """A text with a space around each sign of a script without spaces, so that parts of its words are found too."""
    return _SIGN.sub(r" \1 ", text) if not text.isascii() else text


def terms_of(question: str) -> list[str]:
    """The words of a question, each once, in lower case."""
    return list(dict.fromkeys(_TERM.findall(question.lower())))
