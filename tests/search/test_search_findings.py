"""What hostile readings of search found: each case failed once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from memglot import Memory
from memglot.errors import UsageError
from memglot.store.sqlite import text_index


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
def test_a_word_that_is_there_is_found(memory: Memory, text: str, query: str) -> None:
    memory.add("nothing of it")
    memory.add(text)
    assert contents(memory, query) == [text]


def test_a_tree_is_found_by_the_parts_of_its_names(memory: Memory) -> None:
    memory.add("in a tree", tree="work.SubPath")
    assert contents(memory, "sub") == contents(memory, "path") == ["in a tree"]


def test_phrases_are_looked_for_in_texts_not_in_their_json(memory: Memory) -> None:
    memory.add("alpha", meta={"status": "open", "lines": "line one\nline two"}, tags=["C:\\dir"])
    assert contents(memory, 'alpha -"status"') == ["alpha"]
    assert contents(memory, '"line two"') == ["alpha"]
    assert contents(memory, '"C:\\dir"') == ["alpha"]
    assert contents(memory, '"open"') == ["alpha"]


@pytest.mark.parametrize(
    ("text", "query"),
    [("the universe", "the -university"), ("news of today", "today -new"), ("gen and 重跑", "gen -gen重跑")],
)
def test_an_exclusion_is_of_the_word_itself(memory: Memory, text: str, query: str) -> None:
    memory.add(text)
    assert contents(memory, query) == [text]
    assert contents(memory, "the today gen -UNIVERSE -Néws -重跑") == []


def test_quotes_may_be_curly(memory: Memory) -> None:
    memory.add("read only mode")
    memory.add("only read it")
    assert contents(memory, "“read only”") == contents(memory, "«read only»") == ["read only mode"]


def test_a_phrase_has_an_end(memory: Memory) -> None:
    memory.add("ab " * 100)
    with pytest.raises(UsageError, match="at most 500 characters"):
        memory.search('"' + "ab " * 300 + '"')
    assert memory.search("ab-" * 3_000, mode="fulltext").total == 1


def test_the_time_of_a_pattern_is_that_of_one_search(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memglot.text.grep.GREP_SECONDS", 0.5)
    for number in range(3):
        memory.add(f"deploy {number} " + "a" * 19 + "b")
    for _ in range(12):
        assert memory.search("deploy", grep="(a|aa)+$", mode="fulltext").total == 0


def test_vectors_read_inside_a_transaction_are_forgotten_with_it(memory: Memory) -> None:
    memory.add("a llama in the garden")
    with pytest.raises(RuntimeError), memory.store.writing():
        memory.add("a giraffe at the zoo")
        assert memory.search("giraffe", mode="semantic")[0].content == "a giraffe at the zoo"
        raise RuntimeError
    assert [hit.content for hit in memory.search("giraffe", mode="semantic")] == ["a llama in the garden"]
    memory.add("a camel in the desert")
    assert memory.search("camel", mode="semantic")[0].content == "a camel in the desert"


def test_a_filter_that_lets_little_through_still_finds_by_meaning(memory: Memory) -> None:
    for number in range(1_200):
        memory.add(f"a cat and a kitten, number {number}")
    wanted = memory.add("puppies are young dogs", tree="rare")
    for mode in ("hybrid", "semantic"):
        assert [hit.id for hit in memory.search("cat", mode=mode, tree="rare")][:1] in ([wanted.id], [])
        assert [hit.id for hit in memory.search("a young dog", mode=mode, tree="rare")] == [wanted.id]
        assert [hit.id for hit in memory.search('kitten "young dogs"', mode=mode)] == [wanted.id]


def test_a_store_that_is_let_go_of_leaves_no_log(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path / "store.db")
    memory.add("kept")
    memory.search("kept")
    del memory
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


def test_an_upgrade_that_was_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    db = apsw.Connection(str(path))
    db.execute((Path(__file__).parents[1] / "store/versions/v2.sql").read_text(encoding="utf-8"))
    db.close()

    def killed(self: object, limit: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(text_index.TextIndex, "add", killed)
        with pytest.raises(KeyboardInterrupt):
            Memory.open(path, write=False)
    with Memory.open(path, write=False) as memory:
        assert (memory.notes, memory.search("old").total, memory.doctor().ok) == ([], 1, True)


@pytest.mark.parametrize("name", ["limit", "offset", "context", "budget"])
@pytest.mark.parametrize("value", ["2", 2.5, True, 10**30])
def test_what_is_no_whole_number_is_told(memory: Memory, name: str, value: object) -> None:
    memory.add("cat")
    with pytest.raises(UsageError, match=f"`{name}` must be a whole number"):
        memory.search("cat", **{name: value})  # type: ignore[arg-type]
