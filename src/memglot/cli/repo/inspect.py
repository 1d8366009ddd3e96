"""`memglot repo inspect`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from memglot.cli.repo.by_hand import id_argument
from memglot.cli.repo.output import Data, print_envelope
from memglot.cli.session import Session, command


@command("inspect")
@id_argument("id")
def inspect(session: Session, id: str) -> int:
    """Show one node: its text, fields and relations.

    The beginning of an id, or of its part after the kind, is enough.
    """
    from memglot.project.envelope import run
    from memglot.project.inspect import inspect

    return print_envelope(session, run(Path(), partial(inspect, id=id, short=True)), inspect_text, always=True)


def inspect_text(data: Data) -> str:
    """Describe a node."""
    node = data["object"]
    lines = [f"{node['id']} — {node['title']}  [{node['status']}]"]
    for key in ("stage", "superseded_by", "created_at", "updated_at", "body_path"):
        if node[key] is not None:
            lines.append(f"{key}: {node[key]}")
    for key in ("anchors", "tags"):
        if node[key]:
            lines.append(f"{key}: {', '.join(node[key])}")
    lines += [f"evidence: {item['kind']} {item['id']}" for item in node["evidence"]]
    for key in ("source", "origin"):
        if node[key]:
            lines.append(f"{key}: " + ", ".join(f"{name} {value}" for name, value in node[key].items()))
    for link in data["relations"]["outgoing"]:
        lines.append(f"→ {link['predicate']} {link['to']}{_state(link)}")
    for link in data["relations"]["incoming"]:
        lines.append(f"← {link['from']} {link['predicate']} this{_state(link)}")
    return "\n".join([*lines, "", node["body"].rstrip()])


def _state(link: Data) -> str:
    states = [link["confidence"]] if link["confidence"] else []
    states += [link["status"]] if link["status"] != "active" else []
    return f" ({', '.join(states)})" if states else ""
