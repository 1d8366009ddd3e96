"""Full-text search finds words in every script: all notes with a word or, in quotes, with its exact form."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from conftest import SHARED
from memglot import Memory

OWN: dict[str, list[str]] = json.loads((Path(__file__).parent / "scripts.json").read_text(encoding="utf-8"))
CORPUS = SHARED / "corpora/scripts"
LANGUAGES = sorted(path.name for path in CORPUS.iterdir()) if CORPUS.exists() else []
WORDS = 200

# A word is a full run of letters, marks, digits and underscores. Scripts that put no spaces between words have none:
# there, any letters in a row may be one, and a word of another script ends where they begin.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々"
UNSPACED = regex.compile(rf"[[{_UNSPACED}]&&[\p{{L}}\p{{M}}]]+", regex.V1)
LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[[{_UNSPACED}]&&[\p{{L}}\p{{M}}]]]"
SPACED = regex.compile(f"{LETTER}+", regex.V1)
PAIR = regex.compile(
    rf"(?<!{LETTER})[\p{{L}}--[{_UNSPACED}]]{{2,}} [\p{{L}}--[{_UNSPACED}]]{{2,}}(?!{LETTER})", regex.V1
)
SAYS = regex.compile(r"[\p{L}\p{N}]")


class Shelf:
    """A store with notes, and what each of them contains by the rule above."""

    def __init__(self, notes: dict[str, list[str]]) -> None:
        self.notes = notes
        self.memory = Memory.open(":memory:")
        self.texts: dict[str, str] = {}
        self.words: dict[str, set[str]] = {}
        for text in (text for texts in notes.values() for text in texts):
            id = self.memory.add(text).id
            self.texts[id] = folded(text)
            self.words[id] = set(SPACED.findall(self.texts[id]))

    def holding(self, word: str) -> set[str]:
        """The ids of the notes that contain a word, case aside."""
        wanted = folded(word)
        if UNSPACED.search(wanted):
            return {id for id, text in self.texts.items() if wanted in text}
        return {id for id, words in self.words.items() if wanted in words}

    def found(self, query: str) -> set[str]:
        """The ids of the notes that a search finds."""
        return {hit.id for hit in self.memory.search(query, mode="fulltext", limit=None)}

    def drawn(self, language: str) -> list[str]:
        """Words of the notes of a language, the same on every run."""
        source = random.Random(f"words of {language}")
        texts = [unicodedata.normalize("NFC", text) for text in self.notes[language]]
        spaced = sorted({word for text in texts for word in SPACED.findall(text) if SAYS.search(word)})
        runs = [run for text in texts for run in UNSPACED.findall(text) if len(run) > 1]
        # Notes in Chinese, Japanese and Thai contain Latin words and numbers too, others a few letters of such scripts:
        # the smaller part is a small part of what is drawn.
        mostly_spaced = sum(map(len, runs)) < sum(map(len, SPACED.findall(" ".join(texts))))
        slices = [_slice(run, source) for run in source.choices(runs, k=2 * WORDS)] if runs else []
        slices = list(dict.fromkeys(slices))[: 20 if mostly_spaced else WORDS]
        return sorted({*slices, *source.sample(spaced, min(len(spaced), WORDS if mostly_spaced else 20))})

    def phrases(self, language: str) -> list[str]:
        """Two words with a space between them, or five to eight letters in a row where words have none."""
        source = random.Random(f"phrases of {language}")
        texts = [unicodedata.normalize("NFC", text) for text in self.notes[language]]
        pairs = sorted({pair for text in texts for pair in PAIR.findall(text)})
        runs = [run for text in texts for run in UNSPACED.findall(text) if len(run) > 8]
        if not runs:
            return source.sample(pairs, min(60, len(pairs)))
        starts = [(run, source.randrange(len(run) - 7)) for run in source.choices(runs, k=60)]
        return sorted({run[start : start + source.randint(5, 8)] for run, start in starts})

    def with_phrase(self, phrase: str, between: str) -> set[str]:
        """The ids of the notes that contain a phrase, with this pattern between its words."""
        wanted = between.join(map(regex.escape, folded(phrase).split(" ")))
        if not UNSPACED.search(phrase):
            wanted = f"(?<!{LETTER}){wanted}(?!{LETTER})"
        pattern = regex.compile(wanted, regex.V1)
        return {id for id, text in self.texts.items() if pattern.search(text)}


def folded(text: str) -> str:
    """A text with its letters in one form, case aside."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _slice(run: str, source: random.Random) -> str:
    length = source.randint(2, min(4, len(run)))
    start = source.randint(0, len(run) - length)
    return str(run[start : start + length])


@pytest.fixture(scope="module")
def own() -> Iterator[Shelf]:
    shelf = Shelf(OWN)
    yield shelf
    shelf.memory.close()


@pytest.fixture(scope="module")
def corpus() -> Iterator[Shelf]:
    notes = {name: [path.read_text("utf-8") for path in sorted((CORPUS / name).rglob("*.md"))] for name in LANGUAGES}
    shelf = Shelf(notes)
    yield shelf
    shelf.memory.close()


def check(shelf: Shelf, language: str, *, quoted: bool) -> None:
    """Check that every word finds its notes; report all failures together, because they often have one cause."""
    words = shelf.drawn(language)
    assert len(words) > 30
    wrong = []
    for word in words:
        holding, found = shelf.holding(word), shelf.found(f'"{word}"' if quoted else word)
        assert holding
        if found != holding if quoted else holding - found:
            wrong.append(f"{word}: {len(holding - found)} of {len(holding)} missing, {len(found - holding)} too many")
    assert not wrong, f"{len(wrong)} of {len(words)} words: " + "; ".join(wrong[:20])


@pytest.mark.parametrize("language", OWN)
def test_a_word_finds_every_note_that_contains_it(own: Shelf, language: str) -> None:
    check(own, language, quoted=False)


@pytest.mark.parametrize("language", OWN)
def test_a_quoted_word_finds_exactly_the_notes_with_it(own: Shelf, language: str) -> None:
    check(own, language, quoted=True)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_word_of_the_corpus_finds_every_note_that_contains_it(corpus: Shelf, language: str) -> None:
    check(corpus, language, quoted=False)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_quoted_word_of_the_corpus_finds_exactly_the_notes_with_it(corpus: Shelf, language: str) -> None:
    check(corpus, language, quoted=True)


@pytest.mark.parametrize("language", OWN)
def test_a_phrase_finds_the_notes_with_it(own: Shelf, language: str) -> None:
    check_phrases(own, language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_phrase_of_the_corpus_finds_the_notes_with_it(corpus: Shelf, language: str) -> None:
    check_phrases(corpus, language)


def check_phrases(shelf: Shelf, language: str) -> None:
    """Check that phrases are found as written; a line end may replace the space, a comma may not."""
    phrases = shelf.phrases(language)
    assert len(phrases) > 10
    wrong = []
    for phrase in phrases:
        found, least = shelf.found(f'"{phrase}"'), shelf.with_phrase(phrase, " ")
        assert least
        if not least <= found <= shelf.with_phrase(phrase, r"\s+"):
            wrong.append(f"{phrase}: {len(least - found)} of {len(least)} missing, {len(found - least)} too many")
    assert not wrong, f"{len(wrong)} of {len(phrases)} phrases: " + "; ".join(wrong[:20])


ALPHABETS = (
    "azAZéßüłđ",
    "09_",
    "яёЖ",
    "άσς",
    "حكايةُ",
    "שָׁם",
    "किताब",
    "ไทยน้ำ",
    "日本語々ー",
    "カなが",
    "한국어",
    "tiếngđ",
)


@given(
    st.lists(st.text(st.sampled_from("".join(ALPHABETS) + " -.,\n"), min_size=1, max_size=30), min_size=1, max_size=3)
)
def test_every_word_of_any_text_finds_it(texts: list[str]) -> None:
    with Memory.open(":memory:") as memory:
        kept = [unicodedata.normalize("NFC", text) for text in texts if SAYS.search(text)]
        for text in kept:
            id = memory.add(text).id
            for word in filter(SAYS.search, SPACED.findall(text)):
                for query in (word, f'"{word}"'):
                    assert id in [hit.id for hit in memory.search(query, mode="fulltext", limit=None)]


FOUND: dict[str, tuple[str, list[str]]] = {
    "snake case": ("call load_config before the rest", ["load_config", "load config", "config", "LoadConfig"]),
    "snake case in capitals": ("it failed with ERR_CONN_RESET", ["ERR_CONN_RESET", "err_conn_reset", "conn reset"]),
    "camel case": ("class CamelCase has no state", ["CamelCase", "camelcase", "camel case", "camel_case", "camel"]),
    "lower camel case": ("the field is called userName", ["userName", "username", "user_name", "user name"]),
    "capitals in a row": ("XMLHttpRequest is gone", ["XMLHttpRequest", "xml http request", "http request"]),
    "capitals within": ("see getHTTPResponseCode()", ["response code", "get_http_response_code"]),
    "digits within": ("use Base64Encoder here", ["Base64Encoder", "base64encoder", "base64 encoder", "encoder"]),
    "kebab case": ("the job gen-itgc-report ran", ["gen-itgc-report", "gen itgc report", "itgc", "gen_itgc_report"]),
    "dots": ("pass it to os.path.join, always", ["os.path.join", "path.join", "os.path", "join"]),
    "a path": ("the bug is in src/app/main.py today", ["src/app/main.py", "main.py", "app/main", "src/app", "main"]),
    "a path of Windows": (r"saved as C:\Users\ann\notes.txt", [r"C:\Users\ann\notes.txt", "notes.txt", "notes"]),
    "a setting": ("set store_url in the file", ["store_url", "store url", "STORE_URL", '"store_url"']),
    "an error code": ("the compiler says E1234 here", ["E1234", "e1234", '"E1234"']),
    "a number in hex": ("ends with 0x80070005 at boot", ["0x80070005", '"0x80070005"', "0X80070005"]),
    "a status": ("the server answers HTTP 404 now", ["404", "http 404"]),
    "a version": ("fixed in v1.2.3 of the tool", ["v1.2.3", "1.2.3"]),
    "a name with numbers": ("CVE-2024-3094 concerns us", ["CVE-2024-3094", "cve 2024 3094", '"CVE-2024-3094"']),
    "a fence": ("```python\nreturn fetch_rows(limit=10)\n```\n", ["fetch_rows", "fetch rows", "limit=10"]),
    "a flag": ("build with --no-cache in CI", ["--no-cache", "no-cache", "no cache"]),
    "scopes of C++": ("a std::vector in C++ grows", ["std::vector", "vector", "C++"]),
    "an address": ("see https://example.org/a/guide?page=2", ["https://example.org/a/guide?page=2", "example.org"]),
    "a decorator": ("mark it with @lru_cache first", ["@lru_cache", "lru_cache", "lru cache"]),
    "a header": ("needs #include <stdio.h> at the top", ["stdio.h", "#include", "<stdio.h>"]),
    "a colon that is no operator": ("colour:red and size:4 are set", ["colour:red", "size:4"]),
    "words of FTS5": ("do NOT retry, AND do not wait OR log NEAR it", ["NOT", "AND", "OR", "NEAR", "not and or"]),
    "stop words": ("to be or not to be", ["to be", "the or", "not"]),
    "one letter": ("plan B is ready", ["B", "b"]),
    "mixed scripts": ("重跑gen-itgc后,检查结果", ["gen-itgc", "itgc", "重跑", "检查", '"重跑gen-itgc后"']),
    "Latin beside Hangul": ("빌드는 Docker이미지로 한다", ["Docker", "docker", "이미지", "빌드"]),
    "English inflection": ("three memories were running late", ["memory", "run", "runs", "Memory", "MEMORIES"]),
    "English accents": ("a naïve café", ["naive", "cafe", "CAFÉ", "cafe\u0301"]),
    "decomposed letters": ("cre\u0300me bru\u0302le\u0301e", ["crème", "creme", "brûlée", '"brûlée"']),
    "German umlauts": ("Größere Äpfel für die Schloßstraße", ["größere", "grössere", "Apfel", "Schlossstrasse"]),
    "German inflection": ("Die Häuser und ihre Bücher", ["Haus", "Buch", "hauses", "Häusern"]),
    "Vietnamese": ("Đường ra bến cảng", ["đường", "duong", "Duong", "ben cang", "bến"]),
    "Russian inflection": ("в памяти телефона", ["память", "памятью", "ПАМЯТЬ", "телефон", "телефоны"]),
    "Russian letter yo": ("чёрный хлеб и ёлка", ["черный", "чёрный", "елка", "ёлку"]),
    "Greek inflection": ("Οι δρόμοι του λιμανιού", ["δρόμος", "δρομοι", "ΔΡΟΜΟΣ", "δρόμων"]),
    "Greek final sigma": ("ΟΔΥΣΣΕΑΣ", ["οδυσσεας", "Οδυσσέας", '"οδυσσεας"']),
    "Arabic": ("المفاتيح عند الجارة في المكتبة", ["مكتبة", "المكتبة", "مفاتيح", "جارة"]),
    "Arabic vowel signs": ("تُحفظ النسخة كلَّ يوم", ["تحفظ", "كل", "النسخة", "نسخة"]),
    "Hebrew points": ("שָׁלוֹם לכולם", ["שלום", "לכולם"]),
    "full-width letters": ("\uff21\uff30\uff29を\uff11\uff12\uff13回", ["API", "api", "123"]),
    "full-width query": ("the API has 123 calls", ["\uff21\uff30\uff29", "\uff11\uff12\uff13"]),
    "half-width katakana": ("\uff83\uff9e\uff70\uff80を送る", ["データ", "送る"]),
    "Japanese": ("東京都の図書館", ["東京", "京都", "図書館", "図書", "都の"]),
    "Korean": ("도서관은 일곱 시에 닫는다", ["도서관은", "도서관", "일곱"]),
    "Thai": ("ห้องสมุดปิดหนึ่งทุ่ม", ["ห้องสมุด", "สมุด", "ปิด"]),
}  # fmt: skip
NOT_FOUND = [
    ("the compiler says E1235 here", "E1234"),
    ("ends with 0x80070057 at boot", "0x80070005"),
    ("CVE-2024-3095 concerns us", '"CVE-2024-3094"'),
    ("the field is called userName", '"user_name"'),
    ("the field is called user_name", '"user name"'),
    ("a naïve idea", '"naive"'),
    ("three were running late", '"run"'),
    ("start again", '"art"'),
    ("start again", "art"),
    ("в памяти телефона", '"память"'),
    ("đường", '"duong"'),
    ("上海的图书", '"图书馆"'),
    ("東の京", "東京"),
]
FIND_CASES = [(text, query) for text, queries in FOUND.values() for query in queries]


@pytest.mark.parametrize(("text", "query"), FIND_CASES, ids=[f"{text[:20]}-{query}" for text, query in FIND_CASES])
def test_words_and_identifiers_are_found_however_they_are_typed(memory: Memory, text: str, query: str) -> None:
    memory.add("Nothing else is here, 没有, ничего, τίποτα.")
    wanted = memory.add(text).id
    assert wanted in [hit.id for hit in memory.search(query, mode="fulltext")]


@pytest.mark.parametrize(("text", "query"), NOT_FOUND)
def test_other_words_are_not_found(memory: Memory, text: str, query: str) -> None:
    memory.add(text)
    assert not memory.search(query, mode="fulltext")
