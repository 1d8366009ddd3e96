"""Sample records and things for tests of stores."""

from typing import Any

from memglot.model import (
    Blob,
    Conflict,
    Document,
    Embedding,
    Endpoint,
    Entity,
    Foreign,
    Minter,
    Record,
    Relation,
    Supersession,
    Temporal,
    Thing,
    Tombstone,
    assign_id_and_times,
)


def make(content: str, **fields: Any) -> Record:
    """Return a valid record."""
    record = Record(content=content, **fields)
    assign_id_and_times(record, Minter(1_700_000_000_000))
    return record


def whole_record() -> Record:
    """Return a record with every field set."""
    return make(
        "Straße, 東京 and \u2028 more",
        title="A title",
        kind="decision",
        scope="user:7",
        tree="a.b",
        tags=["x", "Ünï"],
        triggers=["when"],
        meta={"b": [1, 2.5, None, True, {"c": "d"}], "a": 10**30},
        temporal=Temporal(-5, 7),
        status="stale",
        strength=0.5,
        confidence=1.0,
        created_at=1,
        updated_at=2,
        clocks={"content": 1},
        last_accessed=3,
        access_count=4,
        source={"conversation": "c1"},
        foreign=[Foreign("agentos", "mt_1"), Foreign("csv", "1", "people.csv")],
        extra={"agentos": {"emotions": {}}},
    )


def one_of_each_thing() -> list[Thing]:
    """Return things of every kind, with their less common fields set."""
    return [
        Relation(
            id="r1",
            subject=Endpoint("s"),
            predicate="affects",
            object=Endpoint("e1", entity=True),
            weight=0.5,
            confidence="high",
        ),
        Entity(id="e1", name="Solid", type="library", aliases=["solid.js"], first_seen=1, mentions=17),
        Supersession(newer="n", older="o", confidence=0.9, decided_by="auto"),
        Document(id="identity", name="identity", content="I am", version=2),
        Embedding(record="s", vector=b"\0\0\x80?", dimensions=1, model="m"),
        Tombstone(id="t1", content_hash="ab", deleted_at=5, reason="old"),
        Conflict(record="s", field="title", clock=2, values=["A title", None]),
        Blob(tool="agentos", table="images", key="1", owner="s", row={"a": 1}, data=b"\xff\0"),
    ]
