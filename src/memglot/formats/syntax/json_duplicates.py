"""Notice keys that occur twice in a JSON object: the decoder keeps the last value, and the others vanish."""

import json
from typing import Any

from memglot.display import plural, quoted
from memglot.report import SourceReport

END_OF_KEY = b'":'


def note_duplicate_keys(raw: bytes, value: dict[str, Any], report: SourceReport) -> None:
    """Add a note if an object in a text has a key twice; `value` is the decoded object."""
    # Counting clears nearly every text: it has as many ends of keys as keys, unless a string contains one.
    found = raw.count(END_OF_KEY)
    if found != len(value) and found != _count_keys(value):
        _note_if_duplicates(raw, report)


def _note_if_duplicates(raw: bytes, report: SourceReport) -> None:
    """Add a note if an object in a text has a key twice."""
    repeated: list[str] = []

    def collect(pairs: list[tuple[str, Any]]) -> None:
        if len(pairs) > 1 and len(pairs) > len({key for key, _ in pairs}):
            seen: set[str] = set()
            repeated.extend(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]

    try:
        json.loads(raw, object_pairs_hook=collect)
    except (ValueError, RecursionError):
        return
    if repeated:
        _add_note(repeated[0], report)


def _add_note(key: str, report: SourceReport) -> None:
    line = report.line if report.find_line is None else report.find_line()
    place = report.source + (f":{line}" if line is not None else f" item {report.item}")
    report.results.count_note(
        "duplicate keys",
        lambda count: (
            f"{plural(count, 'memory has', 'memories have')} the same key twice, and the last value was used; "
            f"the first is {quoted(key)} in {place}"
        ),
    )


def _count_keys(value: Any) -> int:
    """Return the number of keys of an object and of all objects in it."""
    if type(value) is dict:
        return len(value) + sum([_count_keys(inner) for inner in value.values() if type(inner) in (dict, list)])
    if type(value) is list:
        return sum([_count_keys(inner) for inner in value if type(inner) in (dict, list)])
    return 0
