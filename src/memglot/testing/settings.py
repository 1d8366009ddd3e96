"""Conformance tests for settings and scopes."""

from __future__ import annotations

import pytest

from memglot.model import DELETED
from memglot.store.contract import Store
from memglot.store.query import Filter
from memglot.testing.samples import make

ODD = ["", "two\nlines", "50%_", "chain_seq", "健康", "a'b"]
"""Names that a careless store could mistake for something else."""


class SettingsConformance:
    """Tests of settings and scopes."""

    def test_settings_are_kept_replaced_and_forgotten(self, store: Store) -> None:
        assert store.settings() == {}
        with store.writing():
            for name in ODD:
                store.put_setting(name, f"value of {name}")
        assert store.settings() == {name: f"value of {name}" for name in ODD}
        with store.writing():
            store.put_setting("", "another")
            store.put_setting("健康", None)
            store.put_setting("never there", None)
        assert store.settings() == {name: f"value of {name}" for name in ODD[1:] if name != "健康"} | {"": "another"}

    def test_settings_do_not_disturb_the_store_and_go_with_its_transaction(self, store: Store) -> None:
        with pytest.raises(ZeroDivisionError), store.writing():
            store.put_setting("lost", "1")
            raise ZeroDivisionError
        with store.writing():
            for name in ODD:
                store.put_setting(name, "x")
            store.records.add([make("apple")])
            store.history.log("add", "x", "user", {})
        assert "lost" not in store.settings()
        assert store.history.chain_head()[0] == 1
        assert list(store.verify()) == []

    def test_scopes_are_counted_and_can_be_left_out(self, store: Store) -> None:
        records = [make(f"in {scope}", scope=scope) for scope in ODD for _ in range(2)]
        with store.writing():
            store.records.add([*records, make("gone", scope="", status=DELETED)])
        assert list(store.records.count_by("scope")) == [(scope, 2) for scope in sorted(ODD)]
        assert dict(store.records.count_by("scope", Filter(with_deleted=True)))[""] == 3
        for scope in ODD:
            others = Filter(without_scopes=(scope, "no such scope"))
            assert {record.scope for record in store.records.select(others)} == set(ODD) - {scope}
            assert store.records.count(others) == 2 * len(ODD) - 2
        assert store.records.count(Filter(without_scopes=tuple(ODD))) == 0
        assert not Filter(without_scopes=("",)).is_all

    def test_ids_are_known_by_scope(self, store: Store) -> None:
        records = [make("x", scope=scope) for scope in ODD]
        with store.writing():
            store.records.add(records)
        ids = [record.id for record in records]
        assert store.records.known([*ids, "no such id"], ["", "健康"]) == {ids[0], ids[4]}
        assert store.records.known(ids, []) == set()
