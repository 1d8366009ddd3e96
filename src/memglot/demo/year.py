"""Turn the sample year into memories: the same bytes on every machine and on every run."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

_KEY = re.compile(r"(\w+) = ")
_TALK = re.compile(r"talk (\w+): (.+)")
_NEWER = "supersedes"


class _Line(NamedTuple):
    key: str
    at: datetime
    fields: dict[str, Any]
    """Fields of a record except its id and times."""


def year() -> bytes:
    """Return the sample memories as NDJSON, ordered by time."""
    lines, relations = _read((Path(__file__).with_name("year.txt")).read_text(encoding="utf-8"))
    lines.sort(key=lambda line: line.at)
    ids = {line.key: _id(line.at, number) for number, line in enumerate(lines, 1)}
    records = [_record(ids[line.key], line) for line in lines]
    by_id = {record["id"]: record["meta"]["memglot"] for record in records}
    for number, (newer, predicate, older) in enumerate(relations, 1):
        _relate(by_id, ids[newer], predicate, ids[older], number)
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def _id(at: datetime, number: int) -> str:
    """Return an id whose time is that of the memory, and whose end is its number."""
    time = f"{int(at.timestamp() * 1000):012x}"
    return f"{time[:8]}-{time[8:]}-7000-8000-{number:012x}"


def _record(id: str, line: _Line) -> dict[str, Any]:
    fields = dict(line.fields)
    record = {"id": id, "content": fields.pop("content"), "tree": fields.pop("tree")}
    meta = {"session": session} if (session := fields.pop("session", None)) else {}
    return record | {"meta": meta | {"memglot": fields}}


def _relate(by_id: dict[str, dict[str, Any]], subject: str, predicate: str, object: str, number: int) -> None:
    """Add a relation, or a supersession, to the memory that it rides with."""
    at = int(subject.replace("-", "")[:12], 16) * 1000
    if predicate == _NEWER:
        by_id[subject].setdefault("supersessions", []).append({"newer": subject, "older": object, "decided_at": at})
        by_id[object]["status"] = "superseded"
        return
    link: dict[str, Any] = {
        "id": f"{subject[:24]}{0xDE << 40 | number:012x}",
        "subject": {"id": subject},
        "predicate": predicate,
    }
    link |= {"object": {"id": object}, "created_at": at, "updated_at": at}
    by_id[subject].setdefault("relations", []).append(link)


def _read(text: str) -> tuple[list[_Line], list[tuple[str, str, str]]]:
    lines: list[_Line] = []
    relations = []
    talk: dict[str, Any] | None = None
    for raw in text.splitlines():
        if not raw or raw.startswith("#"):
            continue
        if found := _TALK.fullmatch(raw):
            talk = {"session": f"demo-{found[1]}", "title": found[2], "kind": "episodic", "tree": f"talks.{found[1]}"}
        elif raw == "end":
            talk = None
        elif raw.startswith("@ "):
            newer, predicate, older = raw[2:].split()
            relations.append((newer, predicate, older))
        else:
            lines.append(_line(raw, talk, len(lines)))
    return lines, relations


def _line(raw: str, talk: dict[str, Any] | None, number: int) -> _Line:
    named = _KEY.match(raw)
    key, rest = (named[1], raw[named.end() :]) if named else (f"#{number}", raw)
    when, *fields = rest.split(" | ")
    at = datetime.fromisoformat(when).replace(tzinfo=UTC)
    if talk is not None:
        return _Line(key, at, talk | {"content": fields[0]})
    kind, tree, tags, content = fields
    return _Line(key, at, {"kind": kind, "tree": tree, "tags": tags.split(","), "content": content})
