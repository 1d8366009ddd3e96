"""Scripts that make the built-in table: their output can be read, and excluded pieces are missing."""

from __future__ import annotations

import random
import re
import struct
from pathlib import Path

import numpy as np
import pytest

import memglot.embed
from memglot.embed.pieces import prepare
from memglot.embed.table import TableEmbedder

TABLE = Path(memglot.embed.__file__).with_name("table.bin")
SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    if not SCRIPTS.exists():
        pytest.skip("the scripts are in the repository alone")
    monkeypatch.syspath_prepend(SCRIPTS)


def test_a_packed_table_returns_its_rows(tmp_path: Path) -> None:
    from distil import pack

    rows = np.random.default_rng(7).normal(size=(3, 8)) * [[1], [0.01], [40]]
    pack(tmp_path / "table.bin", "tiny-8-1", ["cat", "dog", "##s"], rows)
    table = TableEmbedder(tmp_path / "table.bin")
    assert (table.name, table.dimensions) == ("tiny-8-1", 8)
    for text, wanted in (("cat", rows[0]), ("Dog!", rows[1]), ("cats", rows[0] + rows[2])):
        assert np.allclose(table.embed([text])[0], wanted / np.linalg.norm(wanted), atol=0.02)
    assert not table.embed(["horse"]).any()


@pytest.mark.parametrize("piece", ["the", "##ing", "2026", "a", "wrocław", "##øy", "m²", "h₂o", "£100"])
def test_pieces_of_latin_words_and_numbers_carry_meaning(piece: str) -> None:
    from distil import carries_meaning

    assert carries_meaning(piece)


@pytest.mark.parametrize("piece", ["[CLS]", "[unused7]", "!", "。", "##и", "и", "##ος", "ال", "本", "ก", "°", "٣"])
def test_punctuation_and_letters_of_other_scripts_carry_no_meaning(piece: str) -> None:
    from distil import carries_meaning

    assert not carries_meaning(piece)


def test_the_built_in_table_has_no_piece_without_meaning() -> None:
    from distil import carries_meaning

    assert [piece for piece in _vocabulary() if not carries_meaning(piece)] == []


def _vocabulary() -> list[str]:
    """Return the wordpieces in the built-in table."""
    stored = TABLE.read_bytes()
    _, _, of_name, of_pieces = struct.unpack_from("<4I", stored, 8)
    return stored[24 + of_name : 24 + of_name + of_pieces].decode().split("\n")


def test_the_tokenizer_in_the_package_has_the_pieces_of_the_table() -> None:
    assert TABLE.with_name("tokenizer.bin").read_bytes() == prepare(_vocabulary())


def test_patterns_are_filled_the_same_each_time() -> None:
    from distil_patterns import fill

    lexicon = {number: [f"word{number}"] for number in range(45)}
    first, again = (list(fill(lexicon, random.Random(1))) for _ in range(2))
    assert first == again and not [text for text in first if re.search(r"[{}]", text)]
