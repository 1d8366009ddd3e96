"""The words of a text as the full text index holds them, in every script.

Letters lose their case and accents. Scripts that put no space between words become pairs of letters, so that any two
letters in a row are found. Behind the text follow the parts of `CamelCase` names and, for languages other than
English, marked stems; English is stemmed by the index itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import normalize

import msgspec

from memglot.store.languages import STEMMED, language_by_script, language_of, stems

# Thai, Lao, Tibetan, Burmese, Khmer; kana, Chinese characters and their extensions.
UNSPACED = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
UNSPACED += "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts without spaces between words, as a range of a regular expression."""
# Korean has spaces, but its words carry endings that the pairs see through.
_PAIRED = f"{UNSPACED}\u1100-\u11ff\uac00-\ud7af"
PAIRED = re.compile(f"[{_PAIRED}]+")
"""What is indexed as pairs of letters."""
WORD = re.compile(f"[{_PAIRED}]+|(?:[^\\W_{_PAIRED}]|[\u0300-\u036f\u0591-\u05c7\u0610-\u06ed\u0900-\u0dff])+")
"""A word of a question: letters that are paired, or letters and digits with the marks that belong to them."""
CAMEL = re.compile(r"\b[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*")
# Whether a capital follows a small letter anywhere is asked of every text: a table of bytes is the quickest way.
_CASES = bytes(ord("A" if chr(byte).isupper() else "a" if chr(byte).isalnum() else " ") for byte in range(128))
_CASES += bytes(128)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MARKS = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]"
)
_LETTERS_WITH_MARKS = {"đ": "d", "ø": "o", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"}
_LETTERS_WITH_MARKS |= {"ى": "ي", "ة": "ه", "ی": "ي", "ک": "ك"}
_UNMARKED = str.maketrans(_LETTERS_WITH_MARKS)
_MARKED = re.compile(f"[{''.join(_LETTERS_WITH_MARKS)}]")
# Beyond ASCII most English texts hold only quotation marks, dashes and the like, which need no folding.
_BEYOND = re.compile("[^\x00-\x7f\xa0-\xa9\xab-\xb1\xb6-\xb8\xbb\xbf\u2010-\u2027\u2030-\u203a]")
_LETTERS = re.compile(r"[^\W\d_]+")
_LONGEST_VALUE = 80
_MOST_VALUES = 40


def folded(text: str) -> str:
    """A text without case, accents, vowel points and differences of width."""
    if text.isascii() or not _BEYOND.search(text):
        return text.lower()
    plain = normalize("NFC", _MARKS.sub("", normalize("NFD", normalize("NFKC", text).casefold())))
    return plain.translate(_UNMARKED) if _MARKED.search(plain) else plain


def indexed(text: str | None, about: str | None = None, seen: set[str] | None = None) -> str | None:
    """What the index is given for a text; `about` is a longer text that tells its language better.

    The languages of whose words it gives stems are added to `seen`.
    """
    if not text:
        return text
    camel = (
        [part for name in CAMEL.findall(text) for part in humps(name)]
        if b"aA" in text.encode().translate(_CASES)
        else []
    )
    plain = text if text.isascii() else PAIRED.sub(_pairs, folded(text))
    more = f"{' '.join(camel)} {_stems(text, about or text, seen)}".strip()
    return f"{plain}\n{more}" if more else plain


def humps(name: str) -> list[str]:
    """The words of a name in CamelCase."""
    return _HUMP.sub(" ", name).split()


def _pairs(match: re.Match[str]) -> str:
    return f" {' '.join(pairs_of(match[0]))} "


def pairs_of(run: str) -> list[str]:
    """Every two letters in a row, and the last one alone, so that one letter is found as the beginning of a pair."""
    return [run[start : start + 2] for start in range(len(run))]


def _stems(text: str, about: str, seen: set[str] | None) -> str:
    language = language_of(about)
    if not language and (text.isascii() or not STEMMED.search(text)):
        return ""
    # Stems are made of words as they are written: their endings may hang on an accent.
    found: list[str] = []
    for word in _LETTERS.findall(normalize("NFC", text).lower()):
        if len(word) > 2:
            own = language if word[0] < "\u0250" else language_by_script(word)
            if own:
                found += stems(word, own)
                if seen is not None:
                    seen.add(own)
    return folded(" ".join(found))


def short_values(meta: str | None) -> str | None:
    """The short texts among a memory's metadata, such as a date or a name, as the index is given them."""
    if not meta:
        return None
    found = list(_texts(msgspec.json.decode(meta)))[:_MOST_VALUES]
    return indexed("\n".join(found)) if found else None


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) <= _LONGEST_VALUE:
            yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
