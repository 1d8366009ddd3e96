"""Embedders: the built-in table satisfies the interface, and plugins are found by entry points."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memglot.embed import BUILT_IN, Embedder, embedder, embedder_names, pieces, registry, table
from memglot.errors import UnknownEmbedder, Unreadable, UsageError

PACKAGE = Path(table.__file__).parent
# Known words, words in pieces, other scripts, symbols, and invalid characters.
PARTS = [
    "cat",
    "Kubernetes",
    "don't",
    "Café",
    "snake_case",
    "2026",
    "Привет",
    "日本語",
    "ภาษา",
    "!",
    "\ud800",
    "\0",
    " ",
]
texts = st.text(max_size=40) | st.lists(st.sampled_from(PARTS), max_size=8).map(" ".join)


@pytest.fixture(scope="module")
def built_in() -> Embedder:
    return embedder()


@pytest.fixture
def no_cache() -> Iterator[None]:
    """Clear the cache of plugins, because each test has its own."""
    caches = (registry.embedder, registry._plugins)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def alike(words: Sequence[str]) -> list[float]:
    return [1.0] * len(words)


def nearness(found: Embedder, first: str, second: str) -> float:
    rows = found.embed([first, second])
    return float(rows[0] @ rows[1])


def test_the_built_in_one_is_the_default(built_in: Embedder) -> None:
    assert built_in is embedder(BUILT_IN)
    assert built_in.name == BUILT_IN in embedder_names()
    assert built_in.dimensions == 256


def test_the_table_is_small() -> None:
    assert sum(path.stat().st_size for path in PACKAGE.glob("*.bin")) <= 12_000_000


@given(st.lists(texts, max_size=5))
def test_rows_are_of_length_one_or_zero(given_texts: list[str]) -> None:
    rows = embedder().embed(given_texts)
    assert rows.shape == (len(given_texts), 256) and rows.dtype == np.float32
    for length in np.linalg.norm(rows, axis=1):
        assert length == 0 or abs(length - 1) < 1e-5


@given(st.lists(texts, max_size=5))
def test_a_batch_gives_what_each_text_gives_alone(given_texts: list[str]) -> None:
    found = embedder()
    rows = found.embed(given_texts)
    for row, text in zip(rows, given_texts, strict=True):
        assert np.array_equal(row, found.embed([text])[0])


def test_batches_of_many_texts_keep_their_order(built_in: Embedder) -> None:
    many = [f"note {number} about {word}" for number in range(50) for word in ("cats", "", "поезд", "trains")]
    rows = built_in.embed(many)
    for place in (0, 63, 64, 65, 127, 128, 199):
        assert np.array_equal(rows[place], built_in.embed([many[place]])[0])


def test_no_texts_give_no_rows(built_in: Embedder) -> None:
    assert built_in.embed([]).shape == (0, 256)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "?!…",
        "Привет, мир!",
        "Καλημέρα κόσμε",
        "مرحبا بالعالم",
        "שלום עולם",
        "สวัสดี",
        "你好，世界。",
        "안녕하세요",
    ],
)
def test_unknown_text_gives_zeros(built_in: Embedder, text: str) -> None:
    assert not built_in.embed([text]).any()
    assert not built_in.embed_query(text, alike).any()


def test_known_words_count_among_unknown_ones(built_in: Embedder) -> None:
    assert np.array_equal(*built_in.embed(["重跑 deploy 后。", "deploy"]))


def test_accents_and_case_do_not_matter(built_in: Embedder) -> None:
    assert np.array_equal(*built_in.embed(["Café NAÏVE", "cafe naive"]))


def test_text_beyond_the_limit_does_not_count(built_in: Embedder) -> None:
    start = ("word " * 2_000)[: pieces.MAX_CHARACTERS]
    assert np.array_equal(*built_in.embed([start, start + " volcano"]))
    assert not np.array_equal(*built_in.embed([start, "volcano " + start]))


@pytest.mark.parametrize(
    ("text", "like", "unlike"),
    [
        ("the cat sleeps on the sofa", "a kitten rests on the couch", "the server ran out of memory"),
        ("deploy failed because the disk was full", "no space left on the device", "she painted a sunset"),
        ("we met for dinner in Rome", "eating at an Italian restaurant", "the unit tests are slow"),
        ("my daughter was born in May", "the birth of our child", "the price of copper rose"),
        ("how to reset a forgotten password", "recover access to an account", "growing tomatoes in pots"),
    ],
)
def test_related_texts_are_more_similar(built_in: Embedder, text: str, like: str, unlike: str) -> None:
    assert nearness(built_in, text, like) > nearness(built_in, text, unlike) + 0.1


def test_equal_weights_give_the_vector_of_the_text(built_in: Embedder) -> None:
    for text in ("When did Melanie paint the sunrise?", "Don't", "snake_case in a/path.py"):
        assert np.allclose(built_in.embed_query(text, alike), built_in.embed([text])[0], atol=1e-6)


@given(st.text(st.characters(codec="ascii"), max_size=60) | texts)
def test_cached_words_are_split_as_the_tokenizer_splits_them(text: str) -> None:
    cut = pieces.WordPieces(["cat", "##s", "a", "b", "##b", "don", "t", "2026", "snake", "case", "cafe"])
    known = [number for number in cut.numbers(text) if number != cut.unknown]
    assert known == [number for _, number in cut.words(text)[1]]


def test_the_cache_of_words_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "MAX_WORDS", 2)
    cut = pieces.WordPieces(["cat", "dog", "cow"])
    assert cut.numbers("cat dog cow dog Cat") == [0, 1, 2, 1, 0]
    assert len(cut._words) <= 2


def test_the_words_of_a_query_are_asked_in_order(built_in: Embedder) -> None:
    asked: list[Sequence[str]] = []

    def weigh(words: Sequence[str]) -> list[float]:
        asked.append(words)
        return alike(words)

    built_in.embed_query("When did Émile fix the flibbertigibbet, the 日本 one? Да", weigh)
    assert asked == [["when", "did", "émile", "fix", "the", "flibbertigibbet", "the", "one"]]


def test_a_word_with_a_large_weight_dominates_the_query(built_in: Embedder) -> None:
    def only(word: str) -> NDArray[np.float32]:
        return built_in.embed_query("caroline volcanoes", lambda words: [1.0 if one == word else 0.01 for one in words])

    apart = built_in.embed(["caroline", "volcanoes"])
    assert apart[0] @ only("caroline") > 0.99 and apart[1] @ only("volcanoes") > 0.99


def test_importing_loads_neither_numpy_nor_the_tokenizer() -> None:
    code = "import sys, memglot.embed; print([name for name in ('numpy', 'kitoken') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_forking_after_embedding_gives_no_warning() -> None:
    code = (
        "import os, memglot.embed; memglot.embed.embedder().embed(['one text', 'and another'] * 200)\n"
        "child = os.fork()\n"
        "if child == 0: memglot.embed.embedder().embed(['a child'] * 200); os._exit(0)\n"
        "print(os.waitpid(child, 0)[1])"
    )
    # Later Python versions warn about any fork of a process with threads, such as those of numpy.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("0", "")


class Fake:
    """An embedder of a plugin."""

    name = "fake-2"
    dimensions = 2

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.tile(np.array([1, 0], np.float32), (len(texts), 1))

    def embed_query(self, text: str, weigh: object) -> NDArray[np.float32]:
        return np.array([1, 0], np.float32)


def entries(monkeypatch: pytest.MonkeyPatch, *found: tuple[str, str]) -> None:
    made = [importlib.metadata.EntryPoint(name, value, registry.GROUP) for name, value in found]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: made if group == registry.GROUP else [])


def test_a_plugin_provides_an_embedder(monkeypatch: pytest.MonkeyPatch, no_cache: None) -> None:
    entries(monkeypatch, ("fake-2", f"{__name__}:Fake"), (BUILT_IN, f"{__name__}:Fake"))
    assert embedder("fake-2").embed(["x"]).tolist() == [[1, 0]]
    assert embedder(BUILT_IN).dimensions == 256, "a built-in name wins"
    assert embedder_names() == sorted(["fake-2", BUILT_IN])


def test_two_plugins_with_one_name_are_named(monkeypatch: pytest.MonkeyPatch, no_cache: None) -> None:
    entries(monkeypatch, ("fake-2", "one:Fake"), ("fake-2", "two:Fake"))
    with pytest.raises(UsageError, match=r"`one:Fake` and `two:Fake`"):
        embedder("fake-2")


def test_an_unknown_name_is_reported_with_the_available_ones(monkeypatch: pytest.MonkeyPatch, no_cache: None) -> None:
    entries(monkeypatch)
    with pytest.raises(UnknownEmbedder, match=f"`glove`; available: `{BUILT_IN}`") as raised:
        embedder("glove")
    assert raised.value.hint == "install the package that provides it, or use one of these"
    with pytest.raises(UnknownEmbedder) as raised:
        embedder("memglot-table-256")
    assert raised.value.hint == f"did you mean `{BUILT_IN}`?"


@pytest.mark.parametrize("content", [None, b"", b"something else", table.MAGIC, table.MAGIC + b"\1\0\0\0" * 4])
def test_a_damaged_table_is_reported(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "table.bin"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Unreadable, match=r"table\.bin.*not a complete table"):
        table.TableEmbedder(path)


def test_a_truncated_table_is_reported(tmp_path: Path) -> None:
    whole = (PACKAGE / "table.bin").read_bytes()
    (tmp_path / "table.bin").write_bytes(whole[:-1])
    with pytest.raises(Unreadable):
        table.TableEmbedder(tmp_path / "table.bin")
