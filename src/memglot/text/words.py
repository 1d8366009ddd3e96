"""The words of a text as the full text index holds them, in every script.

Letters lose their case and accents. Scripts that put no space between words become pairs of letters, so that any two
letters in a row are found. Behind the text follow the parts of `CamelCase` names and, for languages other than
English, marked stems; English is stemmed by the index itself.
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
# Korean has spaces, but its words carry endings that the pairs see through.
_PAIRED = f"{UNSPACED}\u1100-\u11ff\uac00-\ud7af"
PAIRED_SCRIPTS = re.compile(f"[{_PAIRED}]+")
"""What is indexed as pairs of letters."""
# Marks that belong to a letter. Beyond the scripts that are stemmed whole blocks are taken: the index, which knows
# every mark, cuts what is no word out again.
_BELONGING = "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed"
_BELONGING += "\u0711-\u0dff\u1680-\u177f\u1800-\u1dff\ua66f-\ua6f1\ua800-\uabff\ufe20-\ufe2f\U00010a00-\U0001e95f"
WORD = re.compile(f"[{_PAIRED}]+|(?:[^\\W_{_PAIRED}]|[{_BELONGING}])+")
"""A word of a question: letters that are paired, or letters and digits with the marks that belong to them."""
CAMEL = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]*(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2})[A-Za-z0-9]*")
"""A name of several words, such as `userName` or `HTTPServer`."""
# Whether a capital follows a small letter anywhere is asked of every text: a table of bytes is the quickest way.
_CASES = bytes(ord("A" if chr(byte).isupper() else "a" if chr(byte).isalnum() else " ") for byte in range(128))
_CASES += bytes(128)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_MARKS = re.compile(
    "[\u00ad\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u20d0-\u20ff\ufe00-\ufe0f]"
)
# Signs for letters or numbers, such as ™, ², ① and ㎏, must not grow together with a word beside them; nor must emoji
# and what is not assigned yet, which the index, knowing an older Unicode, takes for letters.
SYMBOLS = re.compile(
    "[\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u209f\u2100-\u218f\u2460-\u24ff\u2776-\u2793\u3200-\u33ff"
    "\U0001f000-\U0001fbff\U00040000-\U000e0fff]"
)
_WIDTHS = re.compile("[\uff00-\uffef]+")
_LETTERS_WITH_MARKS = {"đ": "d", "ø": "o", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"}
_LETTERS_WITH_MARKS |= {"ى": "ي", "ة": "ه", "ی": "ي", "ک": "ك"}
_UNMARKED = str.maketrans(_LETTERS_WITH_MARKS)
_MARKED = re.compile(f"[{''.join(_LETTERS_WITH_MARKS)}]")
# Beyond ASCII most English texts hold only quotation marks, dashes and the like, which need no folding.
_BEYOND = re.compile("[^\x00-\x7f\xa0-\xa9\xab\xac\xae-\xb1\xb6-\xb8\xbb\xbf\u2010-\u2027\u2030-\u203a]")
_LETTERS = re.compile(r"[^\W\d_]+")
_LONGEST_VALUE = 80
_MOST_VALUES = 40


def fold(text: str) -> str:
    """A text without case, accents, vowel points and differences of width."""
    if text.isascii() or not _BEYOND.search(text):
        return text.lower()
    apart = SYMBOLS.sub(r" \g<0> ", text)
    plain = normalize("NFC", _MARKS.sub("", normalize("NFD", normalize("NFKC", apart).casefold())))
    return plain.translate(_UNMARKED) if _MARKED.search(plain) else plain


def normalize_width(text: str) -> str:
    """A text whose letters have their usual width, so that it is cut into words as the index cuts it."""
    return (
        text if text.isascii() else _WIDTHS.sub(lambda match: normalize("NFKC", match[0]), text.replace("\u00ad", ""))
    )


def index_text(text: str | None, about: str | None = None, seen: set[str] | None = None) -> str | None:
    """What the index is given for a text; `about` is a longer text that tells its language better.

    The languages of whose words it gives stems are added to `seen`.
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
    """The words of a name in CamelCase."""
    return _HUMP.sub(" ", name).split()


def _pairs(match: re.Match[str]) -> str:
    return f" {' '.join(letter_pairs(match[0]))} "


def letter_pairs(run: str) -> list[str]:
    """Every two letters in a row, and the last one alone, so that one letter is found as the beginning of a pair."""
    return [run[start : start + 2] for start in range(len(run))]


@lru_cache(50_000)
def indexed_stems(word: str, language: str) -> tuple[str, ...]:
    """The stems of a word as the index holds them."""
    return tuple(fold(stem) for stem in marked_stems(word, language))


def _stems(text: str, language: str, seen: set[str] | None) -> str:
    if not language and (text.isascii() or not STEMMED_SCRIPTS.search(text)):
        return ""
    # Stems are made of words as they are written: their endings may hang on an accent.
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
    """The short texts among a memory's metadata, such as a date or a name, one a line."""
    if not meta:
        return None
    found: list[str] = []
    _gather(msgspec.json.decode(meta), found)
    return "\n".join(found[:_MOST_VALUES])


def index_values(meta: str | None) -> str | None:
    """What the index is given for the short texts among a memory's metadata, which are names rather than sentences."""
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
