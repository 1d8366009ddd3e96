"""The graph of the MCP memory server: its files survive a round trip, and what it drops does no harm."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SHARED
from memglot import Memory
from memglot.exporting.verify import verify_path
from memglot.formats import registry
from memglot.formats.base import ReadOptions, WriteOptions
from memglot.formats.core.read import read_items
from memglot.formats.core.target import Target
from memglot.model import (
    Endpoint,
    Entity,
    Item,
    Minter,
    Record,
    Relation,
    Supersession,
    assign_id_and_times,
    derive_id,
    to_builtins,
)
from memglot.report import Report
from strategies import ANY_TEXT, JSON, TAGS, records

FIXTURES = SHARED / "fixtures" / "mcp-server-memory"
FORMAT = registry.get("mcp-graph")
Value = dict[str, Any]

NAMES = st.sampled_from(["Ada", "Bob", "", "two\nlines", "a\0b"]) | ANY_TEXT
MORE = st.dictionaries(st.sampled_from(["createdAt", "tags", "id"]), JSON, max_size=1)
ENTITIES = st.builds(
    lambda name, type, texts, more: {**entity(name, type, *texts), **more},
    NAMES,
    ANY_TEXT,
    st.lists(st.sampled_from(["", "same", "other"]) | ANY_TEXT, max_size=5),
    MORE,
)
RELATIONS = st.builds(
    lambda start, end, type, more: {**relation(start, end, type), **more},
    NAMES,
    NAMES,
    st.sampled_from(["knows", "about"]) | ANY_TEXT,
    MORE,
)
OTHERS = st.builds(lambda value: {"type": "other", "value": value}, JSON)
GRAPHS = st.lists(ENTITIES | RELATIONS | OTHERS, max_size=8)


def entity(name: str, type: str, *observations: str) -> Value:
    return {"type": "entity", "name": name, "entityType": type, "observations": list(observations)}


def relation(start: str, end: str, type: str) -> Value:
    return {"type": "relation", "from": start, "to": end, "relationType": type}


def graph(*lines: Value) -> bytes:
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()


def read(given: bytes | Path, **options: Any) -> tuple[list[Item], Report]:
    report = Report()
    found = []
    for item in read_items([given], FORMAT, report, ReadOptions(**options)):
        found.append(item)
    return found, report


def write(items: list[Item], path: Path, *, plain: bool = False) -> Report:
    report = Report()
    assert FORMAT.write is not None
    FORMAT.write(iter(items), Target(path, plain=plain), report, WriteOptions(plain=plain))
    return report


def lines(text: bytes | Path) -> list[Value]:
    """Return the lines of a graph without our own key."""
    text = text.read_bytes() if isinstance(text, Path) else text
    values = [json.loads(line) for line in text.split(b"\n") if line.strip()]
    return [{key: value for key, value in line.items() if key != "memglot"} for line in values]


def counted(values: list[Value]) -> Counter[str]:
    """Count lines as values in any order; only the order of observations matters."""
    return Counter(json.dumps(value, sort_keys=True) for value in values)


def as_the_server_would(text: bytes) -> bytes:
    """Return the file as the server rewrites it: without unknown keys and lines."""
    keys = {"entity": ("name", "entityType", "observations"), "relation": ("from", "to", "relationType")}
    known = [line for line in lines(text) if line.get("type") in keys]
    return graph(*({"type": line["type"], **{key: line[key] for key in keys[line["type"]]}} for line in known))


def exported(memory: Memory, **options: Any) -> bytes:
    content = memory.export(format="mcp-graph", **options).content
    assert content is not None
    return content


@given(given=GRAPHS)
def test_a_graph_survives_a_round_trip(given: list[Value]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found, report = read(graph(*given))
        assert list(report.faults()) == []
        for name, is_plain in (("out.jsonl", False), ("plain.jsonl", True)):
            path = Path(folder) / name
            write(found, path, plain=is_plain)
            assert counted(lines(path)) == counted(given)
        again, _ = read(Path(folder) / "out.jsonl")
        assert sorted(map(repr, map(to_builtins, again))) == sorted(map(repr, map(to_builtins, found)))


@st.composite
def stores(draw: Any) -> list[Item]:
    """Memories about entities and about each other, some as a graph would bind them, in any order."""
    things: list[Item] = []
    entities = [
        Entity(id=draw(st.sampled_from([f"e{n}", derive_id("mcp-graph", "", name)])), name=name, aliases=draw(TAGS))
        for n, name in enumerate(draw(st.lists(st.sampled_from(["Ada", "Bob", "Ada", ""]), max_size=3)))
    ]
    entities = list({one.id: one for one in entities}.values())
    found = draw(st.lists(records(), max_size=4, unique_by=lambda record: record.id))
    ends = [Endpoint(one.id, entity=True) for one in entities] + [Endpoint(record.id) for record in found]
    ends += [Endpoint("nowhere", entity=True), Endpoint(derive_id("x", "", "y"))]
    for n, record in enumerate(found):
        record.content = draw(st.sampled_from(["same", record.content]))
        for m in range(draw(st.integers(0, 2))):
            own = draw(st.sampled_from([{}, {"entity": "Ada", "position": m}, {"position": n}, {"entity": "Eve"}]))
            things.append(
                Relation(
                    id=f"r{n}.{m}",
                    subject=Endpoint(record.id),
                    predicate=draw(st.sampled_from(["about", "knows"])),
                    object=draw(st.sampled_from(ends)),
                    extra={"mcp-graph": own} if own else {},
                )
            )
        things.append(Supersession(newer=record.id, older="o"))
    for n, one in enumerate(entities):
        things.append(
            Relation(
                id=f"s{n}",
                subject=Endpoint(one.id, entity=True),
                predicate="knows",
                object=draw(st.sampled_from(ends)),
            )
        )
    return [*draw(st.permutations([*found, *entities])), *draw(st.permutations(things))]


@given(items=stores())
def test_bound_memories_are_read_back_equal(items: list[Item]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.jsonl"
        report = write(items, path)
        found, reading = read(path)
        assert sorted(map(repr, map(to_builtins, found))) == sorted(map(repr, map(to_builtins, items)))
        assert (list(reading.faults()), report.losses()) == ([], [])
        if any(isinstance(item, (Record, Entity)) for item in items):
            verdict = verify_path(path, Report())
            assert (verdict.state, verdict.format) == ("whole", "mcp-graph"), verdict.problems


def test_the_file_looks_as_the_server_writes_it(memory: Memory) -> None:
    given = entity("Ada", "person", "Likes tea", "a\u2028b 东京"), relation("Ada", "Tea", "likes")
    memory.import_from(graph(*given), format="mcp-graph")
    text = exported(memory, plain=True)
    assert text == graph(*given).replace(b'": ', b'":').replace(b', "', b',"')
    assert "\u2028".encode() in text and not text.endswith(b"\n")


def test_observations_are_facts_about_their_entity(memory: Memory) -> None:
    memory.import_from(graph(entity("Ada", "person", "Likes tea", "Plays chess")), format="mcp-graph")
    assert {(record.kind, record.content) for record in memory.list()} == {
        ("fact", "Likes tea"),
        ("fact", "Plays chess"),
    }
    found, _ = read(graph(entity("Ada", "person", "Likes tea")))
    assert [type(item).__name__ for item in found] == ["Entity", "Record", "Relation"]
    ada, fact, about = found
    assert isinstance(ada, Entity) and isinstance(fact, Record) and isinstance(about, Relation)
    assert ada.id == derive_id("mcp-graph", "", "Ada") and not fact.created_at
    assert (about.subject, about.predicate, about.object) == (Endpoint(fact.id), "about", Endpoint(ada.id, entity=True))


def test_a_second_import_changes_nothing_and_a_new_observation_comes_alone(memory: Memory) -> None:
    given = [entity("Ada", "person", "a", "a", "b"), entity("Ada", "other", "a"), relation("Ada", "Bob", "knows")]
    first = memory.import_from(graph(*given), format="mcp-graph")
    assert (first.imported, first.failed) == (4, 0)
    again = memory.import_from(graph(*given), format="mcp-graph")
    assert (again.imported, again.merged, again.skipped, again.import_id) == (0, 0, 4, None)
    given[0]["observations"].append("c")
    later = memory.import_from(graph(*given), format="mcp-graph")
    assert (later.imported, later.merged, later.skipped) == (1, 0, 4)
    assert counted(lines(exported(memory))) == counted(given)


def test_a_space_keeps_equal_names_apart(memory: Memory) -> None:
    text = graph(entity("Ada", "person", "Likes tea"))
    assert memory.import_from(text, format="mcp-graph", space="mine").imported == 1
    assert memory.import_from(text, format="mcp-graph", space="yours").imported == 1
    assert memory.import_from(text, format="mcp-graph", space="mine").imported == 0


def test_an_edited_fact_comes_out_edited_and_an_old_file_does_not_undo_it(memory: Memory) -> None:
    given = graph(entity("Ada", "person", "Likes tea", "Plays chess"))
    memory.import_from(given, format="mcp-graph")
    (tea,) = (record for record in memory.list() if record.content == "Likes tea")
    memory.update(tea.id, content="Likes coffee")
    again = memory.import_from(given, format="mcp-graph")
    assert (again.imported, again.merged, again.import_id) == (0, 0, None)
    assert lines(exported(memory)) == [entity("Ada", "person", "Likes coffee", "Plays chess")]
    with Memory.open(":memory:") as other:
        other.import_from(exported(memory), format="mcp-graph")
        assert other.get(tea.id).content == "Likes coffee"


def test_a_deleted_observation_leaves_the_graph(memory: Memory, tmp_path: Path) -> None:
    memory.import_from(graph(entity("Ada", "person", "a", "b", "c")), format="mcp-graph")
    memory.delete(next(record.id for record in memory.list() if record.content == "b"))
    memory.export(tmp_path / "out.jsonl", format="mcp-graph")
    assert lines(tmp_path / "out.jsonl") == [entity("Ada", "person", "a", "c")]


def test_other_memories_are_entities_named_by_title_and_id(memory: Memory) -> None:
    titled = memory.add("SQLite it is", title="Use SQLite", kind="decision")
    bare = memory.add("no title", tags=["x"])
    memory.link(titled.id, "supports", bare.id)
    assert b"memglot" not in exported(memory, plain=True)
    *both, link = lines(exported(memory, plain=True))
    first, second = sorted(both, key=lambda line: line["entityType"])
    assert first["name"].startswith(f"Use SQLite [{titled.id} ") and second["name"].startswith(f"{bare.id} ")
    assert (first["entityType"], first["observations"]) == ("decision", ["SQLite it is"])
    assert (link["from"], link["to"], link["relationType"]) == (first["name"], second["name"], "supports")
    assert memory.export(format="mcp-graph", plain=True).losses["tags"] == 1


def test_a_memory_linked_to_an_entity_is_its_observation(memory: Memory) -> None:
    items, _ = read(graph(entity("Ada", "person", "Likes tea")))
    mine = Record(id=derive_id("mine", "", "1"), content="Met in Rome", kind="episodic", created_at=1, updated_at=1)
    link = Relation(
        id="r", subject=Endpoint(mine.id), predicate="about", object=Endpoint(derive_id("mcp-graph", "", "Ada"), True)
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.jsonl"
        write([mine, link, *items], path)
        assert lines(path) == [entity("Ada", "person", "Likes tea", "Met in Rome")]
        found, _ = read(path)
        assert mine in found and link in found


def test_a_filtered_export_has_the_names_of_entities(memory: Memory) -> None:
    given = graph(entity("Ada", "person", "Likes tea", "Plays chess"))
    memory.import_from(given, format="mcp-graph")
    some = exported(memory, limit=2)
    assert lines(some) == [entity("Ada", "", "Likes tea", "Plays chess")]
    with Memory.open(":memory:") as other:
        other.import_from(given, format="mcp-graph")
        assert other.import_from(some, format="mcp-graph").imported == 0
        assert lines(exported(other)) == [entity("Ada", "person", "Likes tea", "Plays chess")]


def test_what_the_server_drops_does_not_create_duplicates(memory: Memory) -> None:
    memory.import_from(graph(entity("Ada", "person", "Likes tea")), format="mcp-graph")
    mine = memory.add("SQLite it is", title="Use SQLite", kind="decision", tags=["db"])
    other = memory.add("no title")
    memory.link(mine.id, "supports", other.id)
    counts = []
    for _ in range(3):
        text = as_the_server_would(exported(memory))
        result = memory.import_from(text, format="mcp-graph")
        counts.append((result.imported, result.merged, len(lines(text))))
    assert counts == [(0, 0, 4)] * 3
    assert memory.get(mine.id).tags == ["db"]


def test_entities_and_facts_of_others_settle_after_one_round(memory: Memory) -> None:
    mine = Record(id=derive_id("mine", "", "1"), content="Met in Rome", created_at=1, updated_at=1)
    ada = Entity(id="e", name="Ada", type="person")
    link = Relation(id="r", subject=Endpoint(mine.id), predicate="about", object=Endpoint("e", entity=True))
    knows = Relation(id="k", subject=Endpoint("e", entity=True), predicate="knows", object=Endpoint("e", entity=True))
    with tempfile.TemporaryDirectory() as folder:
        write([mine, link, ada, knows], Path(folder) / "out.jsonl")
        memory.import_from(Path(folder) / "out.jsonl", format="mcp-graph")
    texts = []
    for _ in range(3):
        text = exported(memory)
        texts.append(lines(text))
        memory.import_from(as_the_server_would(text), format="mcp-graph")
    assert texts == [[entity("Ada", "person", "Met in Rome"), relation("Ada", "Ada", "knows")]] * 3


def test_an_edit_by_an_agent_is_imported_and_ours_is_not_undone(memory: Memory) -> None:
    theirs, ours = memory.add("before"), memory.add("before too")
    text = as_the_server_would(exported(memory))
    memory.update(ours.id, content="edited here")
    changed = text.replace(b'"before"', b'"edited there","and more"')
    result = memory.import_from(changed, format="mcp-graph")
    assert (result.imported, result.merged) == (1, 1)
    assert memory.get(theirs.id).content == "edited there"
    assert memory.get(ours.id).content == "edited here"
    assert ["edited there", "and more"] in [line["observations"] for line in lines(exported(memory))]


def test_a_bad_line_affects_only_itself(memory: Memory) -> None:
    text = b"\xef\xbb\xbf" + b"\r\n".join(
        [
            graph(entity("Ada", "person", "a")),
            b'{"type":"entity","name":"Bob"',
            b"",
            b'{"type":"entity","name":"Cy","entityType":"person"}',
            b'{"type":"entity","name":"Di","entityType":"person","observations":["d",1,"e"]}',
            graph(relation("Ada", "Di", "knows")),
        ]
    )
    result = memory.import_from(text)
    assert (result.format, result.imported, result.failed) == ("mcp-graph", 3, 3)
    assert [(fault.line, fault.error) for fault in result.errors] == [
        (2, "not valid JSON: unexpected end of the value"),
        (4, "`observations` is missing"),
        (5, "`observations[1]` must be text, not a number"),
    ]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[: text.rindex(b"\n")],
        lambda text: text[: len(text) // 2],
        lambda text: text.replace(b"Likes tea", b"Likes tee"),
        lambda text: text.replace(b'"Plays chess",', b""),
        lambda text: text.replace(b'"fresh"', b'"stale"'),
        lambda text: b"\n".join(line for line in text.split(b"\n") if b"Use SQLite" not in line),
        lambda text: b"\n".join(line for line in text.split(b"\n") if b"likes" not in line),
        lambda text: text.replace(b'"person"', b'"robot"'),
        lambda text: text.replace(b'\n{"type": "odd"}', b""),
    ],
    ids=[
        *("a line cut off", "cut in the middle", "an edited fact", "an observation gone", "an edited memory"),
        *("a memory gone", "a relation gone", "an edited entity", "another line gone"),
    ],
)
def test_verify_finds_what_is_wrong(spoil: Any, memory: Memory, tmp_path: Path) -> None:
    ends = relation("Ada", "Tea", "likes"), relation("Ada", "Ada", "is")
    given = graph(entity("Ada", "person", "Likes tea", "Plays chess", "c"), {"type": "odd"}, *ends)
    memory.import_from(given, format="mcp-graph")
    memory.add("SQLite it is", title="Use SQLite", meta={"state": "fresh"})
    path = tmp_path / "memory.jsonl"
    memory.export(path, format="mcp-graph")
    text = path.read_bytes()
    assert verify_path(path, Report()).state == "whole"
    path.write_bytes(spoil(text))
    assert path.read_bytes() != text
    assert not verify_path(path, Report()).ok


def test_a_key_of_another_tool_with_our_name_is_kept(tmp_path: Path) -> None:
    given = {**entity("Ada", "person", "a"), "memglot": {"mine": 1}}
    found, report = read(graph(given))
    assert len(report.notes) == 1
    write(found, tmp_path / "out.jsonl")
    again, _ = read(tmp_path / "out.jsonl")
    assert again == found
    ada = found[0]
    assert isinstance(ada, Entity) and ada.extra["mcp-graph"]["more"]["memglot"] == {"mine": 1}


@given(
    slot=st.dictionaries(st.sampled_from(["record", "entity", "made", "observations", "about", "also", "end"]), JSON)
)
def test_a_broken_slot_does_not_lose_an_observation(slot: Value) -> None:
    found, _ = read(graph({**entity("Ada", "person", "a", "b"), "memglot": slot}))
    assert {item.content for item in found if isinstance(item, Record)} >= {"a", "b"}


def test_an_entity_named_like_a_memory_stays_an_entity(tmp_path: Path) -> None:
    name = f"x [{derive_id('t', '', 'x')} 00000000]"
    odd = Entity(id="e", name=name, type="t")
    fact = Record(id=derive_id("t", "", "f"), content="f", created_at=1, updated_at=1)
    link = Relation(id="r", subject=Endpoint(fact.id), predicate="about", object=Endpoint("e", entity=True))
    write([fact, link, odd], tmp_path / "out.jsonl")
    found, _ = read(tmp_path / "out.jsonl")
    assert sorted(map(repr, found)) == sorted(map(repr, [odd, fact, link]))


def test_many_observations_of_many_entities_keep_their_order(tmp_path: Path) -> None:
    given = [entity(f"e{n}", "t", *(f"{n} {m}" for m in range(40))) for n in range(60)]
    found, _ = read(graph(*given))
    scattered = sorted(found, key=lambda item: (type(item).__name__, to_builtins(item)["id"]), reverse=True)
    write(scattered, tmp_path / "out.jsonl")
    assert counted(lines(tmp_path / "out.jsonl")) == counted(given)


@pytest.mark.skipif(not FIXTURES.exists(), reason="the fixtures are not here")
@pytest.mark.parametrize("name", ["memory.jsonl", "extra.jsonl"])
def test_the_servers_own_files_survive_a_round_trip(name: str, memory: Memory, tmp_path: Path) -> None:
    result = memory.import_from(FIXTURES / name)
    assert (result.format, result.failed) == ("mcp-graph", 0)
    memory.export(tmp_path / "out.jsonl", format="mcp-graph")
    assert counted(lines(tmp_path / "out.jsonl")) == counted(lines(FIXTURES / name))
    assert verify_path(tmp_path / "out.jsonl", Report()).state == "whole"


SHAPES = [(one, dialect) for one in registry.formats() if one.write for dialect in (None, *one.dialects)]


@pytest.mark.parametrize(("other", "dialect"), SHAPES, ids=[f"{one.name}-{dialect}" for one, dialect in SHAPES])
def test_a_graph_survives_a_round_trip_through_every_format(other: Any, dialect: str | None, tmp_path: Path) -> None:
    given = [
        {**entity("Ada", "person", "a", "", "b", "b"), "since": 1},
        entity("Ada", "robot", "a"),
        {"type": "odd", "x": [None]},
        relation("Ada", "nobody", "knows"),
        relation("Ada", "nobody", "knows"),
    ]
    found, _ = read(graph(*given))
    for item in found:
        if isinstance(item, Record):
            assign_id_and_times(item, Minter(1_700_000_000_000))
    there = tmp_path / ("there" if other.writing.makes_folder else "there" + other.extensions[0])
    other.write(iter(found), Target(there), Report(), WriteOptions(dialect=dialect))
    back = list(read_items([there], other, Report(), ReadOptions()))
    write(back, tmp_path / "back.jsonl")
    assert counted(lines(tmp_path / "back.jsonl")) == counted(given)
    again, _ = read(tmp_path / "back.jsonl")
    assert sorted(map(repr, map(to_builtins, again))) == sorted(map(repr, map(to_builtins, found)))


@pytest.mark.parametrize("text", [b"", b"\n", b"\n \r\n\n"])
def test_a_file_without_lines_has_no_records(text: bytes, memory: Memory) -> None:
    result = memory.import_from(text, format="mcp-graph")
    assert list(result.errors) == [] and any("contains no memories" in note for note in result.notes)
