"""Prepare text of every script for the full-text index.

Letters lose their case and accents. Scripts without spaces between words become pairs of letters, so that any two
consecutive letters can be found. The text is followed by the parts of `CamelCase` names and, for languages other than
English, by marked stems; the index itself stems English.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import NoneType
from unicodedata import normalize

import msgspec

from memglot.text.languages import STEMMED_SCRIPTS, detect_language, language_by_script, marked_stems

# Thai, Lao, Tibetan, Burmese, Khmer; kana, Chinese characters and their extensions.
UNSPACED = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
UNSPACED += "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts without spaces between words, as a range of a regular expression."""
# Korean has spaces, but pairs also find words with endings.
_PAIRED = f"{UNSPACED}\u1100-\u11ff\uac00-\ud7af"
PAIRED_SCRIPTS = re.compile(f"[{_PAIRED}]+")
"""Text that is indexed as pairs of letters."""
# Marks that belong to a letter. For scripts without stems entire blocks are listed, since the index removes what is
# not part of a word.
_BELONGING = "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed"
_BELONGING += "\u0711-\u0dff\u1680-\u177f\u1800-\u1dff\ua66f-\ua6f1\ua800-\uabff\ufe20-\ufe2f\U00010a00-\U0001e95f"
WORD = re.compile(f"[{_PAIRED}]+|(?:[^\\W_{_PAIRED}]|[{_BELONGING}])+")
"""A word of a query: paired letters, or letters and digits with their marks."""
CAMEL = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]*(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2})[A-Za-z0-9]*")
"""A name of several words, such as `userName` or `HTTPServer`."""
# Every text is checked for a capital after a small letter; a table of bytes is the fastest way.
_CASES = bytes(ord("A" if chr(byte).isupper() else "a" if chr(byte).isalnum() else " ") for byte in range(128))
_CASES += bytes(128)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_MARKS = re.compile(
    "[\u00ad\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u20d0-\u20ff\ufe00-\ufe0f]"
)
# Symbols for letters or numbers, such as ™, ², ① and ㎏, must not join the word next to them; nor must emoji and
# unassigned characters, which the older Unicode tables of the index treat as letters.
SYMBOLS = re.compile(
    "[\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u209f\u2100-\u218f\u2460-\u24ff\u2776-\u2793\u3200-\u33ff"
    "\U0001f000-\U0001fbff\U00040000-\U000e0fff]"
)
_WIDTHS = re.compile("[\uff00-\uffef]+")
_LETTERS_WITH_MARKS = {"đ": "d", "ø": "o", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"}
_LETTERS_WITH_MARKS |= {"ى": "ي", "ة": "ه", "ی": "ي", "ک": "ك"}
_UNMARKED = str.maketrans(_LETTERS_WITH_MARKS)
_MARKED = re.compile(f"[{''.join(_LETTERS_WITH_MARKS)}]")
# Most English texts contain only quotation marks and dashes beyond ASCII, which need no folding.
_BEYOND = re.compile("[^\x00-\x7f\xa0-\xa9\xab\xac\xae-\xb1\xb6-\xb8\xbb\xbf\u2010-\u2027\u2030-\u203a]")
_LETTERS = re.compile(r"[^\W\d_]+")
_LONGEST_VALUE = 80
_MOST_VALUES = 40


def fold(text: str) -> str:
    """Return a text without case, accents, vowel points and differences of width."""
    if text.isascii() or not _BEYOND.search(text):
        return text.lower()
    apart = SYMBOLS.sub(r" \g<0> ", text)
    plain = normalize("NFC", _MARKS.sub("", normalize("NFD", normalize("NFKC", apart).casefold())))
    return plain.translate(_UNMARKED) if _MARKED.search(plain) else plain


def normalize_width(text: str) -> str:
    """Return a text with letters of normal width, so that it is split into words like in the index."""
    return (
        text if text.isascii() else _WIDTHS.sub(lambda match: normalize("NFKC", match[0]), text.replace("\u00ad", ""))
    )


def index_text(text: str | None, about: str | None = None, seen: set[str] | None = None) -> str | None:
    """Return a text as it is indexed; `about` is a longer text from which its language is detected.

    The languages of its stems are added to `seen`.
    """
    if not text:
        return text
    plain = text if text.isascii() else PAIRED_SCRIPTS.sub(_pairs, fold(text))
    language = detect_language(about or text)
    if not language and plain is text and not _may_be_camel(text):
        return text
    camel = [part for name in CAMEL.findall(text) for part in split_camel_case(name)]
    more = f"{' '.join(camel)} {_stems(text, language, seen)}".strip()
    return f"{plain}\n{more}" if more else plain


def _may_be_camel(text: str) -> bool:
    if text == text.lower():
        return False
    cases = text.encode().translate(_CASES)
    return b"aA" in cases or b"AAaa" in cases


def split_camel_case(name: str) -> list[str]:
    """Return the words of a CamelCase name."""
    return _HUMP.sub(" ", name).split()


def _pairs(match: re.Match[str]) -> str:
    return f" {' '.join(letter_pairs(match[0]))} "


def letter_pairs(run: str) -> list[str]:
    """Return every pair of consecutive letters, and the last letter alone, so that one letter is found as a prefix."""
    return [run[start : start + 2] for start in range(len(run))]


@lru_cache(50_000)
def indexed_stems(word: str, language: str) -> tuple[str, ...]:
    """Return the stems of a word as they are indexed."""
    return tuple(fold(stem) for stem in marked_stems(word, language))


def _stems(text: str, language: str, seen: set[str] | None) -> str:
    if not language and (text.isascii() or not STEMMED_SCRIPTS.search(text)):
        return ""
    # Stem words as they are written, since endings may depend on an accent.
    found: list[str] = []
    for word in _LETTERS.findall(normalize("NFC", text).lower()):
        if len(word) > 2:
            own = language if word[0] < "\u0250" else language_by_script(word[0])
            if own:
                found += indexed_stems(word, own)
                if seen is not None:
                    seen.add(own)
    return " ".join(found)


def short_values(meta: str | None) -> str | None:
    """Return the short texts of a memory's metadata, such as dates and names, one per line."""
    if not meta:
        return None
    found: list[str] = []
    _gather(msgspec.json.decode(meta), found)
    return "\n".join(found[:_MOST_VALUES])


def index_values(meta: str | None) -> str | None:
    """Return the short texts of a memory's metadata as they are indexed: names, not sentences."""
    text = short_values(meta)
    return text if text is None or (text.isascii() and not _may_be_camel(text)) else index_text(text, "-")


def _gather(value: object, found: list[str]) -> None:
    if isinstance(value, str):
        if len(value) <= _LONGEST_VALUE:
            found.append(value)
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            if not isinstance(inner, (int, float, NoneType)):
                _gather(inner, found)
