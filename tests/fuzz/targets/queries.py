"""What people and agents type to find memories: queries, tree patterns, filters, expressions and times."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from fuzz_target import Target

from memglot import MemglotError, Memory
from memglot.arguments import make_filter, make_temporal, parse_moment, parse_size
from memglot.search.parse import parse_query
from memglot.text.grep import Grep
from memglot.text.spoken_times import parse_spoken_time
from memglot.text.tree_pattern import check_tree_pattern, literal_prefix, matches_tree

NOW = 1_760_000_000_000_000
PATHS = ("", "a", "work.notes.2024", ".".join(["a"] * 30))
TEXTS = ("", "a" * 60, "The queue (v2) uses `SKIP LOCKED`.\nß İ ſ K", "aaab" * 20)


@cache
def _store() -> Memory:
    memory = Memory.open(":memory:")
    memory.add("The task queue uses SKIP LOCKED.", tree="work.queue", tags=["db", "a b"], meta={"k": [1, {"x": None}]})
    memory.add(
        "Straße ſ İ 東京 🎉 camelCaseName snake_case_name", kind="episodic", scope="user:x", temporal="2024-05-01"
    )
    return memory


def _text(data: bytes) -> str:
    """Return text with anything that arguments may have, lone surrogates included."""
    return data.decode("utf-8", "surrogateescape")


def _query(data: bytes) -> None:
    text = _text(data)
    parse_query(text)
    _store().search(text, context=1, budget=100)


def _tree_pattern(data: bytes) -> None:
    pattern = check_tree_pattern(_text(data))
    literal_prefix(pattern)
    for path in PATHS:
        matches_tree(pattern, path)


def _filters(data: bytes) -> None:
    """Read a JSON object of filters, as MCP clients and `--meta` give them."""
    try:
        filters = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        filters = {"source": _text(data), "tags": _text(data), "tree": _text(data)}
    if not isinstance(filters, dict):
        filters = {"meta": filters}
    known = {name: filters[name] for name in filters if name in _FILTERS}
    make_filter(**known)
    _store().count(**known)


def _grep(data: bytes) -> None:
    grep = Grep(_text(data))
    for text in TEXTS:
        grep.found_in("id", text)


def _times(data: bytes) -> None:
    text = _text(data)
    for parse in (lambda: parse_spoken_time(text, NOW), lambda: parse_moment(text), lambda: parse_size(text)):
        _without_errors(parse)
    make_temporal(text)


def _without_errors(call: Callable[[], Any]) -> None:
    try:
        call()
    except MemglotError:
        pass


def _target(name: str, call: Callable[[bytes], None], *seeds: str) -> Target:
    return Target(name, lambda data: _without_errors(lambda: call(data)), [seed.encode() for seed in seeds])


_FILTERS = frozenset(
    "tree tags without_tags kind scope status meta source since until updated_since updated_until temporal_contains "
    "temporal_overlaps temporal_within temporal_before temporal_after".split()
)
TARGETS = [
    _target(
        "query",
        _query,
        'task queue -mysql "skip locked" tag:db kind:semantic tree:work.* before:2024-05 after:yesterday scope:user',
        '-"not this" -tag:x status:active camelCaseName snake_case 東京 🎉 “quoted” «x»',
        'tag:"a b" "unclosed -- - : tag: -tag: before:never',
        "what did the user say about straße, İ and ſ?",
    ),
    _target(
        "tree-pattern",
        _tree_pattern,
        "work.*.a|b",
        "*{2,}.!a|b{1,3}.x*@%",
        "a & (b | !c*) & !(d_e%)",
        "*{,65535}.*{0}.*",
    ),
    _target(
        "filters",
        _filters,
        '{"tree":"work.*","tags":["db"],"without_tags":"x","kind":["semantic"],"scope":"user","status":["active"]}',
        '{"meta":{"k":[1,{"x":null}]},"source":[{"tool":"x"},"chatgpt","kind=mcp"],"since":"7d","until":"2024"}',
        '{"temporal_within":["2024-01-01","2025"],"temporal_overlaps":["yesterday","today"],"temporal_contains":"now"}',
        '{"updated_since":1760000000000000,"temporal_before":"last monday","temporal_after":"2024-05-31T10:30:00Z"}',
        "chatgpt",
    ),
    _target(
        "grep",
        _grep,
        "(?:a+){30}b",
        r"(?x) \bskip\s+locked{1,3} # comment",
        r"(?P<x>[[a-z]--[aeiou]])+(?P=x)|\p{Lu}\X",
        "(?:abc){e<=2}|(?<=a{1,3})b|(?|a|b)(?>c)d*+",
        "(a{9}){9}",
    ),
    _target(
        "times",
        _times,
        "7d",
        "last monday",
        "2024-05-31T10:30:00.123456+05:30",
        "two weeks ago",
        "yesterday at 5pm",
        "1.5GiB",
    ),
]
