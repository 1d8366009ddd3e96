"""Split text into words for the index; scripts without spaces are split into characters."""

import re

# Thai, Lao, Khmer, Burmese, Tibetan; kana, Chinese characters and their extensions; Korean is written with spaces.
_UNSPACED = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
_UNSPACED += "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_CHARACTER = re.compile(f"([{_UNSPACED}])")
_TERM = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")


def spaced_text(text: str) -> str:
    """Return a text with spaces around each character of scripts without spaces, so that parts of words match."""
    return _CHARACTER.sub(r" \1 ", text) if not text.isascii() else text


def unique_words(text: str) -> list[str]:
    """Return the different words of a text in lower case."""
    return list(dict.fromkeys(_TERM.findall(text.lower())))
