"""Vaults: an unchanged note is exported byte for byte; links, tags and properties work as in Obsidian."""

from __future__ import annotations

import resource
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot import Memory, verify
from memglot.formats.obsidian.markup import links_in, tags_in, without_code

SHARED = Path(__file__).parents[3] / "shared"
CORPORA = [SHARED / "corpora" / "vault", SHARED / "corpora" / "scripts", SHARED / "fixtures" / "agentos" / "obsidian"]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store.db") as memory:
        yield memory


def notes(folder: Path) -> dict[str, bytes]:
    """Return the notes of a vault outside of hidden folders."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*.md"))
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


def write(folder: Path, **texts: str | bytes) -> Path:
    for name, text in texts.items():
        place = folder / (name.replace("__", "/").replace("_", " ") + ".md")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


@pytest.mark.parametrize("corpus", CORPORA, ids=[path.name for path in CORPORA])
def test_real_vaults_are_exported_byte_for_byte(corpus: Path, memory: Memory, tmp_path: Path) -> None:
    if not corpus.exists():
        pytest.skip("the corpora are not here")
    first = memory.import_from(corpus, format="obsidian")
    assert first.failed == 0
    again = memory.import_from(corpus, format="obsidian")
    assert (again.imported, again.merged, again.import_id) == (0, 0, None)
    memory.export(tmp_path / "out", format="obsidian")
    assert notes(tmp_path / "out") == notes(corpus)
    assert verify(tmp_path / "out").ok
    with Memory.open(tmp_path / "other.db") as other:
        other.import_from(tmp_path / "out")
        assert [record.id for record in other.list()] == [record.id for record in memory.list()]
        other.export(tmp_path / "again", format="obsidian")
    assert notes(tmp_path / "again") == notes(corpus)


@given(
    st.lists(
        st.sampled_from(
            [
                "---\n",
                "a: b\n",
                "tags: [x]\n",
                "id: mt_1\n",
                "---",
                "\n",
                "\r\n",
                "text",
                " ",
                "#tag",
                "[[a]]",
                "\ufeff",
            ]
            + [
                "\n\n#x",
                "\n\n## Related\n- [[b]]\n",
                "```\n",
                "    code\n",
                "title: T\n",
                "\t",
                "- [[c]] — d\n",
                "x: {{d}}\n",
            ]
        ),
        max_size=9,
    ).map("".join)
)
def test_any_note_survives_a_round_trip(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name, Memory.open(":memory:") as memory:
        folder = write(Path(name) / "in", folder__note=text)
        memory.import_from(folder, format="obsidian")
        memory.export(Path(name) / "out", format="obsidian")
        assert notes(Path(name) / "out") == notes(folder)


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#a #b/c #日本 #café #y2024", ["a", "b/c", "日本", "café", "y2024"]),
        ("#2024 #1/2 # heading ## more", []),
        ("a#b https://x.test/#c [x](#d) [[n#e]]", []),
        ("`#a` ``#b``\n```\n#c\n```\n~~~\n#d\n~~~\n#e", ["e"]),
        ("x\n\n    #indented\n\n#out", ["out"]),
        ("- item\n\n    #inside\n", ["inside"]),
        ("#a,#b #c. #d!", ["a", "c", "d"]),
        ("```\n#never closed", []),
        ("#a-b_c #emoji🎉", ["a-b_c", "emoji🎉"]),
    ],
)
def test_tags_are_obsidians(text: str, tags: list[str]) -> None:
    assert tags_in(without_code(text)) == tags


def test_links_in_all_their_forms() -> None:
    text = "[[a]] [[b|x]] [[c#h]] [[d^e]] ![[f]] [[g/h.md]] [[#here]] | [[i\\|j]] | `[[k]]`"
    found = [(link.target, link.predicate) for link in links_in(without_code(text))]
    names = [("a", "related_to"), ("b", "related_to"), ("c", "related_to"), ("d", "related_to"), ("f", "embeds")]
    assert found == [*names, ("g/h", "related_to"), ("i", "related_to")]


def test_links_lead_to_ids_paths_names_titles_and_aliases(memory: Memory, tmp_path: Path) -> None:
    folder = write(
        tmp_path / "v",
        Start="[[mt_1]] [[deep/er/Path]] [[er/Path]] [[NAME]] [[A title]] [[nick]] [[Twin]] [[Nowhere]] [[a.png]]",
        x__one="---\nid: mt_1\n---\nOne",
        deep__er__Path="Two",
        y__name="Three",
        y__four="---\ntitle: A title\n---\nFour",
        y__five="---\naliases: nick\n---\nFive",
        p__Twin="Six",
        q__Twin="Seven",
    )
    result = memory.import_from(folder, format="obsidian")
    (start,) = (record for record in memory.list() if record.title == "Start")
    found = {memory.get(relation.object.id).content for relation in memory.relations(start.id)}
    assert found == {"One", "Two", "Three", "Four", "Five"}
    assert any("[[Twin]] in Start.md" in note and "more than one" in note for note in result.notes)
    assert any("[[Nowhere]] in Start.md" in note and "a.png" not in note for note in result.notes)


def test_blocks_that_tools_add_to_a_note_are_not_content(memory: Memory, tmp_path: Path) -> None:
    text = "---\nid: mt_1\ntags: [a b, c]\n---\nBody\n\n#a-b #c\n\n## Related\n- [[mt_2]] — other\n"
    other = "---\nid: mt_2\n---\nOther\n\n**Related:**\n- [[mt_1]]\n"
    hand = "By hand\n\n#a\n\n## Related\n- [[mt_1]]\n"
    folder = write(tmp_path / "v", semantic__mt_1=text, mt_2=other, hand=hand)
    memory.import_from(folder, format="obsidian")
    assert {record.content for record in memory.list()} == {"Body", "Other", hand.removesuffix("\n")}
    assert len(list(memory.relations())) == 3


def test_notes_do_not_grow_with_each_round_trip(memory: Memory, tmp_path: Path) -> None:
    one = memory.add("One", tags=["a b", "c"], meta={"rating": 7})
    two = memory.add("Two\n\n#c\n\n## Related\n- [[x]]", tags=["c"], title="The other")
    memory.link(one.id, "causes", two.id, weight=0.5)
    memory.link(two.id, "related_to", one.id)
    memory.export(tmp_path / "1", format="obsidian")
    text = (tmp_path / "1" / "semantic" / f"{one.id}.md").read_text(encoding="utf-8")
    assert text.endswith(f"\n\nOne\n\n#a-b #c\n\n## Related\n- [[{two.id}]] — The other\n")
    before = memory
    for round in (2, 3):
        with Memory.open(tmp_path / f"{round}.db") as other:
            other.import_from(tmp_path / str(round - 1))
            assert list(other.list()) == list(before.list())
            assert sorted(map(repr, other.relations())) == sorted(map(repr, memory.relations()))
            other.export(tmp_path / str(round), format="obsidian")
        assert notes(tmp_path / str(round)) == notes(tmp_path / "1")


def test_a_link_added_in_obsidian_is_imported(memory: Memory, tmp_path: Path) -> None:
    one, two, three = (memory.add(text) for text in ("One", "Two", "Three"))
    memory.link(one.id, "causes", two.id)
    memory.export(tmp_path / "v", format="obsidian")
    place = tmp_path / "v" / "semantic" / f"{one.id}.md"
    place.write_text(place.read_text(encoding="utf-8") + f"- [[{three.id}]]\n", encoding="utf-8")
    with Memory.open(tmp_path / "other.db") as other:
        other.import_from(tmp_path / "v")
        found = {(relation.predicate, relation.object.id) for relation in other.relations(one.id)}
        assert found == {("causes", two.id), ("related_to", three.id)}
        assert other.get(one.id).content == "One"


def test_a_note_edited_in_the_vault_is_imported_completely(memory: Memory, tmp_path: Path) -> None:
    folder = write(tmp_path / "v", a="---\nrating: 7\nmood: good\n---\nSee [[b]]\n", b="B\n", c="C\n")
    memory.import_from(folder)
    write(folder, a="---\nrating: 8\n---\nSee [[c]]\n")
    result = memory.import_from(folder)
    assert (result.merged, result.skipped) == (1, 2)
    (record,) = (record for record in memory.list() if record.title == "a")
    assert (record.content, record.meta) == ("See [[c]]", {"rating": 8})
    assert [memory.get(relation.object.id).title for relation in memory.relations(record.id)] == ["c"]
    memory.export(tmp_path / "out", format="obsidian")
    assert notes(tmp_path / "out") == notes(folder)


def test_a_memory_edited_here_is_written_again_at_its_path(memory: Memory, tmp_path: Path) -> None:
    folder = write(tmp_path / "v", x__a="---\nrating: 7\n---\nOld\n", b="B\n")
    memory.import_from(folder, format="obsidian")
    (record,) = (record for record in memory.list() if record.title == "a")
    memory.update(record.id, content="New")
    memory.export(tmp_path / "out", format="obsidian")
    found = notes(tmp_path / "out")
    assert found["b.md"] == b"B\n"
    assert found["x/a.md"] == b"---\nrating: 7\n---\nNew\n" and len(found) == 2


def test_notes_of_one_content_are_all_written_again(memory: Memory, tmp_path: Path) -> None:
    folder = write(tmp_path / "v", a="---\ntags: [x]\n---\nSame\n", sub__b="---\ntags: [y]\n---\nSame", c="[[b]]\n")
    result = memory.import_from(folder, format="obsidian")
    assert (result.imported, result.skipped) == (2, 1)
    again = memory.import_from(folder, format="obsidian")
    assert (again.imported, again.merged, again.import_id) == (0, 0, None)
    (record,) = (record for record in memory.list() if record.content == "Same")
    assert record.tags == ["x", "y"]
    assert [relation.object.id for relation in memory.relations()] == [record.id]
    memory.export(tmp_path / "out", format="obsidian")
    assert notes(tmp_path / "out") == notes(folder)


def test_empty_broken_and_foreign_notes_are_kept(memory: Memory, tmp_path: Path) -> None:
    folder = write(
        tmp_path / "v",
        Empty=b"",
        Only_front="---\nrating: 7\n---\n",
        Blank="  \n\n",
        Broken="---\na: [\n---\nx\n",
        Latin=b"caf\xe9\n",
        Nul=b"a\0b",
        Script="---js\nprocess.exit()\n---\nx\n",
    )
    result = memory.import_from(folder, format="obsidian")
    assert {Path(fault.source).name: fault.line for fault in result.errors} == {
        "Broken.md": 3,
        "Latin.md": None,
    }
    assert (result.imported, result.failed) == (6, 1)
    found = {record.title: record for record in memory.list()}
    assert found["Nul"].content == "a\ufffdb"
    assert found["Only front"].content == "Only front" and found["Only front"].extra["obsidian"]["empty"]
    assert found["Broken"].content == "---\na: [\n---\nx"
    memory.export(tmp_path / "out", format="obsidian")
    assert notes(tmp_path / "out") == notes(folder)


@pytest.mark.parametrize("format", ["obsidian", "agentos-markdown"])
def test_nul_is_replaced_and_written_back(memory: Memory, tmp_path: Path, format: str) -> None:
    text = b"\xef\xbb\xbf---\nid: mt_1\ntype: semantic\nscope: user\nmore: a\0b\n---\n\none \0 two \xef\xbf\xbd\0\n"
    folder = write(tmp_path / "v", semantic__note=text)
    result = memory.import_from(folder, format=format)
    assert (result.imported, result.failed, list(result.errors)) == (1, 0, [])
    (record,) = memory.list()
    assert (record.content, record.meta["more"]) == ("one \ufffd two \ufffd\ufffd", "a\ufffdb")
    for _ in range(2):
        memory.export(tmp_path / "out", format=format)
        assert notes(tmp_path / "out") == notes(folder)
        assert verify(tmp_path / "out").ok
        again = memory.import_from(tmp_path / "out")
        assert (again.imported, again.merged) == (0, 0)
    memory.update(record.id, content="changed \ufffd")
    memory.export(tmp_path / "edited", format=format)
    (text,) = notes(tmp_path / "edited").values()
    assert b"\0" not in text and "changed \ufffd".encode() in text


def test_ids_that_would_leave_the_folder_stay_in_the_front_matter(memory: Memory, tmp_path: Path) -> None:
    text = b'{"id":"../../escape","content":"x","createdAt":1}\n{"id":"a/../../b","content":"y","createdAt":2}\n'
    memory.import_from(text, format="agentos-json")
    for format in ("obsidian", "agentos-markdown"):
        memory.export(tmp_path / "in" / format, format=format)
        assert len(notes(tmp_path / "in" / format)) == 2
        assert any(b"id: ../../escape" in text for text in notes(tmp_path / "in" / format).values())
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "in") == [
        "store.db",
        "store.db-shm",
        "store.db-wal",
    ]


def test_many_notes_need_few_file_handles(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    folder.mkdir()
    for number in range(1_500):
        (folder / f"{number}.md").write_text(f"note {number} [[{number + 1}]]\n", encoding="utf-8")
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); from memglot import Memory;"
        "m = Memory.open(sys.argv[1] + '/s.db'); print(m.import_from(sys.argv[1] + '/v', format='obsidian').imported);"
        "print(m.export(sys.argv[1] + '/out', format='obsidian').count)"
    )
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 64
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1500", "1500"]
    assert notes(tmp_path / "out") == notes(folder)


def test_a_vault_is_read_from_inside_it(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "v", a="A [[b]]\n", sub__b="B\n")
    monkeypatch.chdir(folder)
    assert memory.import_from(".", format="obsidian").imported == 2
    memory.export(tmp_path / "out", format="obsidian")
    assert notes(tmp_path / "out") == notes(folder)


@pytest.mark.parametrize("format", ["obsidian", "agentos-markdown"])
def test_edits_in_an_exported_folder_are_imported_every_time(format: str, memory: Memory, tmp_path: Path) -> None:
    memory.import_from(write(tmp_path / "v", a="---\ncreatedAt: 2024-01-01T00:00:00Z\n---\nFirst\n"), format=format)
    made = memory.add("Made here", tags=["t"])
    for round in range(3):
        memory.export(tmp_path / "out", format=format)
        for path in (tmp_path / "out").rglob("*.md"):
            text = path.read_text(encoding="utf-8")
            path.write_text(
                text.replace("First", f"Edit {round}")
                .replace("Made here", "Edited")
                .replace(f"Edit {round - 1}", f"Edit {round}"),
                encoding="utf-8",
            )
        result = memory.import_from(tmp_path / "out")
        assert not any("conflict" in note for note in result.notes), result.notes
        assert {record.content for record in memory.list()} == {f"Edit {round}", "Edited"}
        again = memory.import_from(tmp_path / "out")
        assert (again.merged, again.import_id) == (0, None)
    assert memory.get(made.id).tags == ["t"]


@pytest.mark.parametrize("format", ["obsidian", "agentos-markdown"])
def test_an_unchanged_note_does_not_undo_an_edit_here(format: str, memory: Memory, tmp_path: Path) -> None:
    folder = write(tmp_path / "v", a="---\nid: mt_1\n---\nOld\n", b="B\n")
    memory.import_from(folder, format=format)
    (record,) = (record for record in memory.list() if record.content == "Old")
    memory.update(record.id, content="New")
    assert memory.import_from(folder, format=format).import_id is None
    assert memory.get(record.id).content == "New"
    memory.export(tmp_path / "out", format=format)
    assert memory.import_from(tmp_path / "out").import_id is None


def test_copies_with_one_id_and_paths_that_differ_in_case_are_all_kept(memory: Memory, tmp_path: Path) -> None:
    folder = write(
        tmp_path / "v",
        Plan="---\nid: mt_9\n---\nOne\n",
        Plan_1="---\nid: mt_9\n---\nTwo\n",
        Dup="same\n",
        dup="same\n",
        Maße="x\n",
        Masse="x\n",
    )
    result = memory.import_from(folder, format="obsidian")
    assert any("has the id of" in note for note in result.notes)
    assert memory.import_from(folder, format="obsidian").import_id is None
    memory.export(tmp_path / "out", format="obsidian")
    assert notes(tmp_path / "out") == notes(folder)


def test_two_vaults_may_have_notes_of_one_path(memory: Memory, tmp_path: Path) -> None:
    memory.import_from(write(tmp_path / "va", Note="---\nstatus: done\n---\nsame\n"), format="obsidian")
    memory.import_from(write(tmp_path / "vb", Note="---\nowner: bob\n---\nsame\n"), format="obsidian")
    memory.export(tmp_path / "out", format="obsidian")
    assert sorted(notes(tmp_path / "out").values()) == [
        b"---\nowner: bob\n---\nsame\n",
        b"---\nstatus: done\n---\nsame\n",
    ]


def test_a_note_that_became_text_keeps_its_path(memory: Memory, tmp_path: Path) -> None:
    folder = write(tmp_path / "v", lat=b"caf\xe9\n")
    memory.import_from(folder, format="obsidian")
    write(folder, lat="café\n")
    memory.import_from(folder, format="obsidian")
    memory.export(tmp_path / "out", format="obsidian")
    assert notes(tmp_path / "out") == notes(folder)


@pytest.mark.parametrize("text", ["a\r\nb", "a\n\n#t", "x\r\n\r\n## Related\r\n- [[y]]"])
def test_line_ends_do_not_let_notes_grow(text: str, memory: Memory, tmp_path: Path) -> None:
    one, two = memory.add(text, tags=["t"]), memory.add("other")
    memory.link(one.id, "causes", two.id)
    memory.export(tmp_path / "1", format="obsidian")
    with Memory.open(tmp_path / "o.db") as other:
        other.import_from(tmp_path / "1")
        assert list(other.list()) == list(memory.list())
        other.export(tmp_path / "2", format="obsidian")
    assert notes(tmp_path / "1") == notes(tmp_path / "2")


@pytest.mark.parametrize(
    "text",
    [
        "#x\n- a\n" + "   \n" * 20 + "b\n\n    code\n",
        "---\nid: mt_1\n---\na\n\n## Related\n" + "- [[a]]" * 40 + "\nx\n",
        "#x\n" + "`" * 100_000,
        "#x\n" + "Step\n\n    code line\n\n" * 5_000,
        "#x " + " ".join("`" * length for length in range(1, 300)),
        "#x " + "[[" * 50_000,
        "$$" * 20_001 + "#x",
    ],
    ids=range(7),
)
def test_no_text_is_slow_to_read(text: str, memory: Memory, tmp_path: Path) -> None:
    folder = write(tmp_path / "v", a=text)
    memory.import_from(folder, format="obsidian")
    memory.export(tmp_path / "out", format="obsidian")
    assert notes(tmp_path / "out") == notes(folder)


@pytest.mark.parametrize(
    "own", ["5", '{"places":[7]}', '{"places":7}', '{"places":[{"x":1}],"path":5}', '{"path":"a.md/b.md"}']
)
def test_invalid_paths_do_not_stop_an_import(own: str, memory: Memory, tmp_path: Path) -> None:
    slot = f'{{"memglot":{{"extra":{{"obsidian":{own},"obsidian.note":{own}}}}}}}'
    memory.import_from(f'{{"content":"same","meta":{slot}}}'.encode(), format="ndjson")
    folder = write(tmp_path / "v", a="same\n", b="same\n")
    memory.import_from(folder, format="obsidian")
    memory.export(tmp_path / "out", format="obsidian")
    assert memory.import_from(tmp_path / "out").failed == 0


def test_related_notes_by_hand_stay_when_a_memory_is_edited(memory: Memory, tmp_path: Path) -> None:
    text = "---\nid: 2023\n---\nBody\n\n## Related\n- [[other]] — my own words\n- [[missing]] — planned\n"
    memory.import_from(write(tmp_path / "v", a=text, other="O\n"), format="obsidian")
    (record,) = (record for record in memory.list() if record.content == "Body")
    memory.update(record.id, content="New body")
    memory.export(tmp_path / "out", format="obsidian")
    found = notes(tmp_path / "out")["a.md"].decode()
    assert found.endswith("New body\n\n## Related\n- [[other]] — my own words\n- [[missing]] — planned\n")
    assert memory.import_from(tmp_path / "out").import_id is None
    with Memory.open(tmp_path / "other.db") as other:
        other.import_from(tmp_path / "out")
        other.export(tmp_path / "again", format="obsidian")
    assert notes(tmp_path / "again") == notes(tmp_path / "out")


def test_links_go_up_and_down_folders(memory: Memory, tmp_path: Path) -> None:
    folder = write(tmp_path / "v", x__a="[[../y/b]] [[./c]] [[Vue.js]]\n", y__b="B\n", x__c="C\n")
    result = memory.import_from(folder, format="obsidian")
    assert len(list(memory.relations())) == 2
    assert any("[[Vue.js]]" in note for note in result.notes)


def test_an_empty_vault_is_not_an_error(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "v" / ".obsidian").mkdir(parents=True)
    result = memory.import_from(tmp_path / "v")
    assert result.exit_code == 0 and "contains no memories" in result.notes[0]


@pytest.mark.parametrize("top", ["", "my vault/"])
def test_a_zipped_vault_is_the_same_vault(top: str, memory: Memory, tmp_path: Path) -> None:
    memory.import_from(write(tmp_path / "my vault", a="A [[b]]\n", sub__b="B\n"), format="obsidian")
    memory.add("Made here")
    memory.export(tmp_path / "out", format="obsidian")
    with zipfile.ZipFile(tmp_path / "v.zip", "w") as archive:
        for path in sorted((tmp_path / "out").rglob("*")):
            if path.is_file():
                archive.write(path, top + path.relative_to(tmp_path / "out").as_posix())
    assert memory.import_from(tmp_path / "v.zip").import_id is None
    with Memory.open(tmp_path / "other.db") as other:
        other.import_from(tmp_path / "v.zip")
        assert list(other.list()) == list(memory.list())
        assert len(list(other.relations())) == 1


def test_a_link_leads_to_its_own_note_once_that_is_not_a_duplicate(memory: Memory, tmp_path: Path) -> None:
    folder = write(tmp_path / "v", a="s\n", b="s\n", c="see [[b]]\n")
    memory.import_from(folder, format="obsidian")
    write(folder, a="changed\n")
    memory.import_from(folder, format="obsidian")
    (relation,) = memory.relations()
    assert memory.get(relation.object.id).content == "s"
    assert memory.import_from(folder, format="obsidian").import_id is None


def write_files(folder: Path, texts: dict[str, str]) -> Path:
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    return folder


AGENTOS_NOTES = {
    "user/semantic/mt_1.md": "---\nid: mt_1\ntype: semantic\nscope: user\nstrength: 0.5\ntags:\n  - a b\n  - c\n"
    "createdAt: 1760000002000\n---\nOne\n\n#a-b #c\n",
    "user/episodic/mt_2.md": "---\nid: mt_2\ntype: episodic\nscope: user\nstrength: 1\ntags:\n  - 'it''s'\n"
    "createdAt: 1760000003000\n---\n  Two\n\n\n\n#it's\n",
    "user/episodic/mt_3.md": "---\nid: mt_3\ntype: episodic\nscope: user\nstrength: 1\ntags: []\n"
    "createdAt: 1760000004000\n---\nThree\n",
}


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("dialect", [None, "program"])
@pytest.mark.parametrize("format", ["obsidian", "agentos-markdown"])
@pytest.mark.parametrize("corpus", ["own", "real"])
def test_a_vault_of_agentos_without_links_never_grows(
    corpus: str, format: str, dialect: str | None, plain: bool, tmp_path: Path
) -> None:
    source = write_files(tmp_path / "0" / "vault", AGENTOS_NOTES)
    if corpus == "real":
        real = SHARED / "fixtures/agentos/obsidian"
        if not real.exists():
            pytest.skip("no fixture here")
        for path in real.rglob("*.md"):
            if b"[[" not in path.read_bytes():
                copy = source / path.relative_to(real)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
    for round in range(1, 4):
        with Memory.open(":memory:") as memory:
            result = memory.import_from(tmp_path / str(round - 1) / "vault")
            assert {"One", "  Two\n\n", "Three"} <= {record.content for record in memory.list()}
            assert round > 1 or result.format == "obsidian"
            memory.export(tmp_path / str(round) / "vault", format=format, dialect=dialect, plain=plain)
        if round > 1:
            assert notes(tmp_path / str(round) / "vault") == notes(tmp_path / str(round - 1) / "vault")


def test_one_note_of_such_a_vault_is_read_without_its_tag_line(memory: Memory, tmp_path: Path) -> None:
    note = write_files(tmp_path, AGENTOS_NOTES) / "user" / "semantic" / "mt_1.md"
    assert memory.import_from(note).format == "obsidian"
    assert [record.content for record in memory.list()] == ["One"]


def test_a_line_of_tags_in_one_text_does_not_make_a_vault(memory: Memory, tmp_path: Path) -> None:
    texts = {key: text.replace("\n\n#it's\n", "\n") for key, text in AGENTOS_NOTES.items()}
    texts["user/episodic/mt_4.md"] = texts["user/episodic/mt_2.md"].replace("mt_2", "mt_4").replace("Two", "Four")
    assert memory.import_from(write_files(tmp_path / "v", texts)).format == "agentos-markdown"
    assert "One\n\n#a-b #c" in {record.content for record in memory.list()}


@pytest.mark.parametrize(
    "again",
    [
        "One\n\n#a-b\n\n#a-b #c\n",
        "One\n\n#a-b #c\n\n#a-b #c\n\n**Related:**\n- [[mt_2]]\n",
        "One\n\n#a-b #c\n\n**Related:**\n- [[mt_2]]\n\n#a-b #c\n\n**Related:**\n- [[mt_2]]\n- [[mt_3]]\n",
    ],
)
def test_blocks_that_agentos_read_as_content_and_added_again_are_not_content(
    again: str, memory: Memory, tmp_path: Path
) -> None:
    texts = AGENTOS_NOTES | {
        "user/semantic/mt_1.md": AGENTOS_NOTES["user/semantic/mt_1.md"].replace("One\n\n#a-b #c\n", again),
        "user/semantic/mt_5.md": "---\nid: mt_5\n---\nFive\n\n**Related:**\n- [[mt_1]]\n\n**Related:**\n- [[mt_1]]\n",
    }
    folder = write_files(tmp_path / "v", texts)
    memory.import_from(folder)
    assert {"One", "Five"} <= {record.content for record in memory.list()}
    assert len(list(memory.relations())) == 1 + len({part[:4] for part in again.split("[[")[1:]})
    memory.export(tmp_path / "out", format="obsidian")
    assert notes(tmp_path / "out") == notes(folder)
