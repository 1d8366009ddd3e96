"""Keyword search: which texts a query matches."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memglot import Memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:") as found:
        yield found


def contents(memory: Memory, query: str, **options: object) -> list[str]:
    return [hit.content for hit in memory.search(query, mode="fulltext", **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("CI runs on self-hosted runners", "CI pipeline"),
        ("our AI plan", "AI strategy"),
        ("the pod died", "pod restart"),
        ("a man page", "man pages here"),
        ("the war diary", "war history"),
        ("we deploy to staging on fridays", "deploy – staging"),
        ("we deploy to staging on fridays", "deploy → staging 🚀"),
        ("Acme™ makes anvils", "Acme"),
        ("Acme™ makes anvils", "Acme™"),
        ("Acme™ makes anvils", '"Acme"'),
        ("see note² below", "note"),
        ("Step① then", "Step"),
        ("a 20㎏ parcel", "20"),
        ("press 5️⃣ now", "5"),
        ("ﾃｽﾄabc", "ﾃｽﾄabc"),
        ("an HTTPServer", "server"),
        ("raise IOError", "error"),
        ("self._userName = 1", "user"),
        ("def test_ParseJson", "json"),
        ("getHTTPResponseCode", "HTTPResponse"),
        ("UX is bad", "UI/UX"),
        ("Donau\u00addampf", "Donaudampf"),
        ("party🥳 tonight", "party"),
        ("0\U00040000", "0"),
        ("ދިވެހި ބަސް", "ދިވެހި"),
        ("ꦧꦱꦗꦮ", "ꦧꦱꦗꦮ"),
    ],
)
def test_keywords_match(memory: Memory, text: str, query: str) -> None:
    memory.add("nothing of it")
    memory.add(text)
    assert contents(memory, query) == [text]


def test_keywords_match_parts_of_tree_labels(memory: Memory) -> None:
    memory.add("in a tree", tree="work.SubPath")
    assert contents(memory, "sub") == contents(memory, "path") == ["in a tree"]


def test_phrases_match_text_but_not_its_json(memory: Memory) -> None:
    memory.add("alpha", meta={"status": "open", "lines": "line one\nline two"}, tags=["C:\\dir"])
    assert contents(memory, 'alpha -"status"') == ["alpha"]
    assert contents(memory, '"line two"') == ["alpha"]
    assert contents(memory, '"C:\\dir"') == ["alpha"]
    assert contents(memory, '"open"') == ["alpha"]


@pytest.mark.parametrize(
    ("text", "query"),
    [("the universe", "the -university"), ("news of today", "today -new"), ("gen and 重跑", "gen -gen重跑")],
)
def test_an_exclusion_matches_the_exact_word(memory: Memory, text: str, query: str) -> None:
    memory.add(text)
    assert contents(memory, query) == [text]
    assert contents(memory, "the today gen -UNIVERSE -Néws -重跑") == []


def test_quotes_may_be_curly(memory: Memory) -> None:
    memory.add("read only mode")
    memory.add("only read it")
    assert contents(memory, "“read only”") == contents(memory, "«read only»") == ["read only mode"]
