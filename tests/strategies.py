"""Strategies for records and attached items, with edge cases: `integers()` seldom tries 0, `text()` seldom a fence."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from memglot.model import (
    DELETED,
    Blob,
    Conflict,
    Document,
    Embedding,
    Endpoint,
    Entity,
    Foreign,
    Item,
    Record,
    Relation,
    Supersession,
    Temporal,
    Tombstone,
    derive_id,
)

EDGES = [
    *(
        "---",
        "---\nx",
        "---\na: b\n---\n",
        "...",
        "\n",
        "\r\n",
        " lead",
        "trail ",
        "\n\nx\n\n",
        "a\r\nb\r",
        "\t",
        "a\tb\n\tc",
    ),
    *(
        "no",
        "null",
        "~",
        "12:30",
        "2024-01-01",
        "0x1f",
        "1e3",
        ".nan",
        "<<",
        "=",
        "- x",
        "# x",
        "a: b",
        "a #b",
        "*a",
        "&a",
    ),
    *(
        "\x85",
        "\u2028",
        "\u2029",
        "\ufeff",
        "\ufffe",
        "\x01",
        "\x7f",
        "\x1b[0m",
        "🎉",
        "e\u0301",
        "{{date}}",
        '"',
        "\\",
        "\\u0041",
    ),
    *(
        "東京",
        "重跑gen-itgc后",
        "مرحبا",
        "x" * 2000,
        "y " * 600,
        "|",
        ">",
        "%a",
        "@a",
        "!a",
        "'",
        "[",
        "{",
        "`",
        ",",
        "?",
        "-",
    ),
    *("a\n b\n  c\n", " a\nb", "a \nb", "\n a", "a\n\n\nb", "--- a", "a\n---\nb", "a\n...\nb", "\u00a0", "\u3000x"),
]
ANY_TEXT = st.sampled_from(EDGES) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20
)
TEXT = ANY_TEXT.filter(bool)
NUMBERS = (
    st.sampled_from([0, -1, 1, 2**53, 2**63, 2**64, -(2**63) - 1, 10**30, 0.0, -0.0, 1.5, 1e300, 5e-324, 0.1])
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
)
SCALARS = st.none() | st.booleans() | NUMBERS | ANY_TEXT | st.sampled_from(["\0", "a\0b"])
KEYS = (
    st.sampled_from(["memglot", "id", "content", "end", "", "<<", "k" * 1500, "a.b", "1", "true", "null", "-"])
    | ANY_TEXT
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=3)
LABELS = st.from_regex(r"[A-Za-z0-9_]{1,5}", fullmatch=True)
TREES = st.lists(LABELS, max_size=3).map(".".join)
MOMENTS = st.sampled_from(
    [1, -1, 1_000_000, 1_700_000_000_000_000, 1_700_000_000_123_456, -62_135_596_800_000_000]
) | st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
TIMES = MOMENTS.filter(bool)
MILLISECONDS = st.sampled_from([1, 1_700_000_000_000, 2**48 - 1])
TAGS = st.lists(TEXT, max_size=3, unique=True)


@st.composite
def ids(draw: Any) -> str:
    """Minted ids, and derived ones, whose time is 0."""
    if draw(st.booleans()):
        return derive_id("tool", "space", draw(ANY_TEXT))
    at, free = draw(MILLISECONDS), draw(st.integers(0, 2**48 - 1))
    return f"{at >> 16:08x}-{at & 0xFFFF:04x}-7abc-8abc-{free:012x}"


@st.composite
def temporals(draw: Any) -> Temporal:
    start = draw(MOMENTS)
    end = draw(st.none() | MOMENTS.filter(lambda end: end > start))
    return Temporal(start, end)


@st.composite
def records(draw: Any, statuses: Any = None) -> Record:
    """A record as a store keeps it."""
    created = draw(TIMES)
    return Record(
        id=draw(ids()),
        content=draw(TEXT),
        title=draw(st.none() | ANY_TEXT),
        kind=draw(st.sampled_from(["semantic", "note", "Ünï", "a/b"])),
        scope=draw(st.sampled_from(["user", "user:1", ""])),
        tree=draw(TREES),
        tags=draw(TAGS),
        triggers=draw(TAGS),
        meta=draw(OBJECTS),
        temporal=draw(st.none() | temporals()),
        status=draw(st.sampled_from(["active", "stale"]) if statuses is None else statuses),
        strength=draw(st.none() | st.sampled_from([0.0, 0.87])),
        confidence=draw(st.none() | st.sampled_from([1.0, -0.5])),
        created_at=created,
        updated_at=draw(st.just(created) | TIMES),
        clocks=draw(st.dictionaries(st.sampled_from(["content", "meta.k"]), MOMENTS, max_size=2)),
        last_accessed=draw(st.none() | MOMENTS),
        access_count=draw(st.sampled_from([0, 3])),
        source=draw(st.just({}) | OBJECTS),
        foreign=draw(st.lists(st.builds(Foreign, TEXT, TEXT, ANY_TEXT), max_size=2)),
        extra=draw(
            st.just({})
            | st.dictionaries(st.sampled_from(["memory-engine", "agentos", "memglot.x"]), OBJECTS, max_size=2)
        ),
    )


@st.composite
def stores(draw: Any) -> list[Item]:
    """Generate the items of an export: records with attached items, deleted ones, and items without a record."""
    items: list[Item] = []
    found = draw(
        st.lists(records(st.sampled_from(["active", "active", "stale", DELETED])), max_size=4, unique_by=lambda r: r.id)
    )
    for record in found:
        items.append(record)
        if record.status != DELETED and draw(st.booleans()):
            items.append(
                Relation(
                    id=f"r-{record.id}",
                    subject=Endpoint(record.id),
                    predicate=draw(TEXT),
                    object=Endpoint("x", entity=True),
                )
            )
            items.append(Supersession(newer=record.id, older="o", reason=draw(ANY_TEXT)))
        if record.status != DELETED and draw(st.booleans()):
            items += draw(vectors(record.id))
            items.append(Conflict(record=record.id, field="title", clock=draw(MOMENTS), values=[draw(JSON), "b"]))
    if draw(st.booleans()):
        items.append(Entity(id="e", name=draw(TEXT), aliases=draw(TAGS)))
        items.append(Document(id="d", name="identity", content=draw(TEXT)))
        items.append(Tombstone(id="t", content_hash="0" * 64, deleted_at=1))
        items.append(Blob(tool=draw(TEXT), table=draw(TEXT), key=draw(TEXT), row=draw(JSON), data=b"\0\xff"))
    return items


@st.composite
def vectors(draw: Any, record: str) -> list[Item]:
    """The vectors of a record: one of no known model, or of several."""
    models = draw(st.lists(st.sampled_from(["", "m", "n"]), max_size=2, unique=True))
    return [Embedding(record=record, model=model, vector=b"\0\0\x80?" * 2, dimensions=2) for model in models]
