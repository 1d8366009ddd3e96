"""Small stores of project memory, written file by file without running a command."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from memglot.project.project import Project
from memglot.project.storage.hashes import body_hash, canonical_json, link_hash, node_hash, stable_json
from memglot.project.storage.shapes import Config, Defaults, Identity

TIME = "2026-01-02T03:04:05+00:00"
SCHEMAS = ("config", "object", "relation", "event", "patch")


def config_of(name: str = "Demo", id: str = "project.demo") -> Config:
    """Return the content of `config.json`."""
    return Config(5, Identity(id, name), Defaults(2000, True))


def write_config(root: Path, **changes: Any) -> None:
    """A `config.json`, with some keys changed."""
    plain = {
        "version": 5,
        "project": {"id": "project.demo", "name": "Demo"},
        "memory": {"autoIndex": True, "defaultTokenBudget": 2000},
    }
    put(root, "config.json", stable_json(plain | changes))


def put(root: Path, path: str, content: bytes | str) -> Path:
    """A file in `.memory`."""
    place = root / ".memory" / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def write_node(root: Path, id: str, body: str = "Text.", *, place: str = "", tool: bool = False, **fields: Any) -> None:
    """A node, hashed by the page's rule, or the original tool's."""
    kind, slug = id.split(".", 1)
    place = place or f"memory/{slug}"
    sidecar = {
        "id": id,
        "type": kind,
        "status": "open" if kind == "question" else "active",
        "title": slug.capitalize(),
        "body_path": f"{place}.md",
        "created_at": TIME,
        "updated_at": TIME,
        "tags": [],
        "evidence": [],
    } | fields
    own_hash = node_hash(sidecar, body.encode()) if tool else body_hash(body.encode())
    put(root, f"{place}.json", stable_json({"content_hash": own_hash} | sidecar))
    put(root, f"{place}.md", body)


def write_link(root: Path, subject: str, predicate: str, object: str, **fields: Any) -> None:
    """A relation."""
    name = f"{subject}-{predicate}-{object}".replace(".", "-").replace("_", "-")
    link = {
        "id": f"rel.{name}",
        "from": subject,
        "predicate": predicate,
        "to": object,
        "status": "active",
        "created_at": TIME,
        "updated_at": TIME,
    } | fields
    put(root, f"relations/{name}.json", stable_json({"content_hash": link_hash(link)} | link))


def write_store(root: Path) -> Project:
    """Write a valid store with a project, two features, a question and a relation."""
    write_config(root)
    for name in SCHEMAS:
        put(root, f"schema/{name}.schema.json", "true\n")
    write_node(root, "project.demo", "# Demo\n\nProject-level memory.\n")
    write_node(root, "feature.alpha", "# Alpha\n\nFirst.", stage="building", anchors=["src/"], tags=["x"])
    write_node(root, "feature.beta", "Second.", tool=True)
    write_node(root, "question.gamma", "Who?")
    write_link(root, "feature.alpha", "depends_on", "feature.beta", confidence="high")
    events = [{"actor": "agent", "event": "memory.created", "id": "feature.alpha", "timestamp": TIME}]
    put(root, "events.jsonl", b"".join(canonical_json(event) + b"\n" for event in events))
    return Project(root, None)


def git(root: Path, *arguments: str) -> str:
    """Run git in a folder with a fixed identity, and return its output."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "HOME": str(root),
    }
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgSign=false"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
