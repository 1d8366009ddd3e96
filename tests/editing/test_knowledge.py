"""Entities, relations and superseded memories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from memglot import MemglotError, Memory
from memglot.cli.main import cli
from memglot.cli.session import Session
from memglot.errors import NotFound
from memglot.model import ENTITY_TYPES, PREDICATES, Entity, Supersession

NAMES = st.sampled_from(
    ["Solid", "solid", "SOLID", "Straße", "STRASSE", "東京", "Ελλάδα", "İstanbul", "a b", "e\u0301"]
)


def test_the_vocabulary_is_the_one_that_other_tools_know() -> None:
    assert (len(set(ENTITY_TYPES)), len(set(PREDICATES))) == (7, 11)


@given(st.lists(st.tuples(NAMES, st.lists(NAMES, max_size=2)), min_size=1, max_size=6))
def test_adding_an_entity_again_merges_its_names(given: list[tuple[str, list[str]]]) -> None:
    with Memory.open(":memory:") as memory:
        expected: dict[str, set[str]] = {}
        for name, aliases in given:
            found = memory.add_entity(name, "tool", aliases=aliases)
            names = expected.setdefault(found.id, set())
            names |= {name, *aliases}
            assert {found.name, *found.aliases} == names
            assert len(found.aliases) == len(names) - 1
            assert memory.add_entity(name, "tool", aliases=aliases) == found
        assert {entity.id for entity in memory.entities()} == set(expected)
        for id, names in expected.items():
            for name in names:
                for query in (name, name.upper(), name.lower(), name.casefold()):
                    assert id in {entity.id for entity in memory.entities(query)}, query


@pytest.mark.parametrize(
    ("name", "type", "id"),
    [
        ("  Solid Start ", "library", "entity:library:solid_start"),
        ("東京", "place", "entity:place:東京"),
        ("Ann", "food", "entity:food:ann"),
        ("a  b\n\u3000c", "tool", "entity:tool:a__b__c"),
    ],
)
def test_ids_are_made_of_type_and_name(memory: Memory, name: str, type: str, id: str) -> None:
    assert memory.add_entity(name, type).id == id


def test_mentions_and_times_stay_when_an_entity_is_added_again(memory: Memory) -> None:
    with memory.store.writing():
        memory.store.things.put(
            [Entity(id="entity:tool:vim", name="Vim", type="tool", mentions=17, first_seen=1, last_seen=10**16)]
        )
    found = memory.add_entity("Vim", "tool", aliases="vi")
    assert (found.mentions, found.first_seen, found.last_seen, found.aliases) == (17, 1, 10**16, ["vi"])
    (revision,) = memory.store.history.revisions(key=found.id)
    assert revision.before is not None and "aliases" not in revision.before
    events = memory.audit_verify()["events"]
    memory.add_entity("Vim", "tool", aliases=["vi"])
    assert memory.audit_verify()["events"] == events


def test_a_scope_is_changed_only_when_it_is_given(memory: Memory) -> None:
    assert memory.add_entity("Vim", "tool", scope="work").scope == "work"
    assert memory.add_entity("Vim", "tool", aliases=["vi"]).scope == "work"
    assert memory.add_entity("Vim", "tool", scope="home").scope == "home"


@pytest.mark.parametrize(("name", "type", "aliases"), [("", "tool", []), ("x", " ", []), ("x", "tool", [""])])
def test_an_entity_needs_names(memory: Memory, name: str, type: str, aliases: list[str]) -> None:
    with pytest.raises(MemglotError, match="is empty"):
        memory.add_entity(name, type, aliases=aliases)
    assert list(memory.entities()) == []


def test_relations_of_a_memory_an_entity_and_a_predicate(memory: Memory) -> None:
    one, other = memory.add("one"), memory.add("other")
    vim = memory.add_entity("Vim", "tool")
    uses = memory.link(one.id, "uses", vim.id)
    cites = memory.link(other.id, "cites", one.id)
    itself = memory.link(one.id, "mentions", one.id)
    assert {found.id for found in memory.relations(one.id)} == {uses.id, cites.id, itself.id}
    assert len(list(memory.relations(one.id))) == 3
    assert [found.id for found in memory.relations(vim.id)] == [uses.id]
    assert [found.id for found in memory.relations(predicate="cites")] == [cites.id]
    assert list(memory.relations(vim.id, predicate="cites")) == []
    with pytest.raises(NotFound):
        list(memory.relations("entity:tool:emacs"))


def test_superseding_is_an_ordinary_edit_with_a_decision(memory: Memory) -> None:
    old, new = memory.add("old"), memory.add("new")
    vim = memory.add_entity("Vim", "tool")
    found = memory.supersede(new.id, old.id, reason="r", entity="tool:vim")
    assert (found.newer, found.older, found.reason, found.entity) == (new.id, old.id, "r", vim.id)
    assert (found.decided_by, found.decided_at is not None) == ("user", True)
    assert memory.get(old.id).status == "superseded"
    assert [version.deed for version in memory.history(old.id)[0]] == ["update", "present"]
    events = memory.audit_verify()["events"]
    assert memory.supersede(new.id, old.id) == found
    assert memory.supersede(new.id, old.id, reason="r") == found
    assert memory.audit_verify()["events"] == events
    assert memory.supersede(new.id, old.id, reason="another").reason == "another"
    assert len(memory.chain()) == 1


def test_superseding_in_the_other_direction_revokes_the_first(memory: Memory) -> None:
    old, new = memory.add("old"), memory.add("new")
    memory.supersede(new.id, old.id)
    memory.supersede(old.id, new.id)
    assert [(one.newer, one.older) for one in memory.chain()] == [(old.id, new.id)]
    assert (memory.get(old.id).status, memory.get(new.id).status) == ("active", "superseded")


def test_a_memory_deleted_in_its_source_stays_deleted(memory: Memory) -> None:
    old, new = memory.add("old"), memory.add("new")
    memory.update(old.id, status="deleted")
    memory.supersede(new.id, old.id)
    assert memory.get(old.id).status == "deleted"


def test_supersede_refuses_invalid_arguments(memory: Memory) -> None:
    one = memory.add("one")
    with pytest.raises(MemglotError, match="cannot supersede itself"):
        memory.supersede(one.id, one.id)
    with pytest.raises(NotFound):
        memory.supersede(one.id, "ffffffff")
    with pytest.raises(NotFound):
        memory.supersede(one.id, memory.add("other").id, entity="tool:emacs")
    assert memory.chain() == []


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=10), st.integers(0, 5))
def test_a_chain_contains_all_connected_memories_in_any_shape(links: set[tuple[int, int]], start: int) -> None:
    with Memory.open(":memory:") as memory:
        ids = [memory.add(str(number)).id for number in range(6)]
        with memory.store.writing():
            memory.store.things.put([Supersession(newer=ids[a], older=ids[b], decided_at=a) for a, b in links])
        group = {start}
        for _ in ids:
            group |= {end for link in links for end in link if group & set(link)}
        found = memory.chain(ids[start])
        assert {(one.newer, one.older) for one in found} == {(ids[a], ids[b]) for a, b in links if a in group}
        assert [one.decided_at for one in found] == sorted(one.decided_at or 0 for one in found)
        assert len(memory.chain()) == len(links)


def test_a_custom_predicate_is_kept_with_a_note(tmp_path: Path) -> None:
    store = ["--store", str(tmp_path / "s.db")]
    with Memory.open(tmp_path / "s.db") as memory:
        one, two = memory.add("a").id, memory.add("b").id
    told = CliRunner().invoke(cli, [*store, "link", one, "frobnicates", two], obj=Session())
    assert told.exit_code == 0 and "note: `frobnicates` is not a predicate that other tools know" in told.stderr
    for predicate, notes in (("frobnicates", 1), ("uses", 0)):
        told = CliRunner().invoke(cli, [*store, "link", one, predicate, two, "--json"], obj=Session())
        assert told.stderr == "" and len(json.loads(told.stdout)["notes"]) == notes
    assert "note" not in CliRunner().invoke(cli, [*store, "link", one, "uses", two], obj=Session()).stderr
