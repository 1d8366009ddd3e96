"""Identities: each scope has one current text, and earlier texts are kept."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot import MemglotError, Memory
from memglot.model import Document, derive_id, identity_document, now, thing_key
from memglot.store.contract import Store

TEXTS = st.sampled_from(["I am Ann", "I am Ann\n", "我是安", "a\r\nb", " x"])


@given(st.lists(st.tuples(TEXTS, st.sampled_from(["user", "team", ""])), max_size=12))
def test_the_last_text_is_current_and_the_others_are_history(said: list[tuple[str, str]]) -> None:
    with Memory.open(":memory:") as memory:
        expected: dict[str, list[str]] = {}
        rows = 0
        for text, scope in said:
            texts = expected.setdefault(scope, [])
            rows += texts[-1:] != [text]
            expected[scope] = [*(one for one in texts if one != text), text]
            assert memory.set_identity(text, scope).content == text
        for scope, texts in expected.items():
            assert [one.content for one in memory.identity_history(scope)] == texts
            present = memory.identity(scope)
            assert present is not None and present.content == texts[-1]
        assert memory.audit_verify() == {**memory.audit_verify(), "ok": True, "events": rows}


def test_the_id_is_the_same_on_every_machine(memory: Memory) -> None:
    found = memory.set_identity("I am Ann", "team")
    hash = sha256(b"I am Ann").hexdigest()
    assert found.id == derive_id("memglot-identity", "team", hash)
    assert (found.name, found.version, found.scope) == ("identity", 1, "team")


def test_other_documents_are_not_an_identity(memory: Memory) -> None:
    with memory.store.writing():
        memory.store.things.put([Document(id="d", name="handbook", content="not me", created_at=5)])
    assert memory.identity() is None
    assert memory.identity_history() == []


def test_a_clock_that_is_ahead_does_not_win_forever(memory: Memory) -> None:
    ahead = now() + 10**12
    with memory.store.writing():
        memory.store.things.put([identity_document("from the future", created_at=ahead)])
    found = memory.set_identity("what I say now")
    assert found.created_at > ahead
    assert memory.identity() == found


def test_two_texts_with_one_timestamp_are_ordered_by_their_ids(memory: Memory) -> None:
    both = [identity_document(text, created_at=7) for text in ("one", "other")]
    with memory.store.writing():
        memory.store.things.put(both)
    assert memory.identity() == max(both, key=lambda document: document.id)


def test_an_older_text_that_is_set_again_gets_a_new_timestamp(memory: Memory) -> None:
    first = memory.set_identity("first")
    memory.set_identity("second")
    again = memory.set_identity("first")
    assert again.id == first.id and again.created_at > first.created_at
    created, revision = memory.store.history.revisions(key=thing_key(first))
    assert created.before is None
    assert (revision.kind, revision.action) == ("document", "identity")
    assert revision.before is not None and revision.before["created_at"] == first.created_at


def test_undoing_an_import_keeps_texts_set_here(tmp_path: Path, memory: Memory) -> None:
    with Memory.open(tmp_path / "other.db") as other:
        other.set_identity("from another machine")
        other.add("x")
    memory.import_from(tmp_path / "other.db")
    present = memory.identity()
    assert present is not None and present.content == "from another machine"
    memory.set_identity("mine")
    memory.set_identity("from another machine")
    memory.undo("last")
    assert [one.content for one in memory.identity_history()] == ["mine", "from another machine"]


def test_an_identity_is_exported_and_imported(tmp_path: Path, memory: Memory) -> None:
    memory.set_identity("first")
    memory.set_identity("second")
    memory.add("x")
    memory.export(tmp_path / "out.json")
    with Memory.open(":memory:") as other:
        other.import_from(tmp_path / "out.json")
        assert other.identity_history() == memory.identity_history()


def test_five_megabytes(memory: Memory) -> None:
    text = "0123456789abcde\n" * (5 << 16)
    memory.set_identity(text)
    present = memory.identity()
    assert present is not None and present.content == text
    (event,) = memory.audit_log()
    assert event.details == {"characters": len(text)}


@pytest.mark.parametrize("text", ["", " \n", "NUL \0", "half \ud800"])
def test_invalid_text_is_refused(memory: Memory, text: str) -> None:
    with pytest.raises(MemglotError, match="identity"):
        memory.set_identity(text)
    assert _is_untouched(memory.store)


def test_a_scope_that_cannot_be_stored_is_refused(memory: Memory) -> None:
    with pytest.raises(MemglotError, match="scope"):
        memory.set_identity("x", "NUL \0")
    assert _is_untouched(memory.store)


def _is_untouched(store: Store) -> bool:
    return store.things.count(Document) == 0 and list(store.history.events()) == []
