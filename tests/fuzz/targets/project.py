"""Project memory: folders of any files, save requests, and anchors."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

from fuzz_target import Target

from memglot.project.check.run import check
from memglot.project.diff import diff
from memglot.project.envelope import Command, _run_in
from memglot.project.project import Project
from memglot.project.query import query
from memglot.project.rebuild import rebuild
from memglot.project.save.run import save
from memglot.project.status import status
from memglot.project.storage.anchors import Files, check_anchors, normalize_anchor
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.git import Git
from memglot.project.sync import sync
from repo_stores import git, write_store

_NEXT = b"\n\x00\n"
"""Between two files of an input; the first line of each is its path in `.memory`."""
_REQUEST = b'{"task":"t","nodes":[{"id":"feature.alpha","body":"New."},{"kind":"gotcha","title":"G","body":"B"}]}'


@cache
def _projects() -> tuple[Path, Path]:
    """Return a repository with a project, and a copy of its `.memory`."""
    folder = Path(tempfile.mkdtemp(prefix="memglot-fuzz-project-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    root = folder / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("a\n")
    write_store(root)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "all")
    shutil.copytree(root / ".memory", folder / "kept")
    return root, folder / "kept"


def _fresh_project() -> Path:
    root, kept = _projects()
    shutil.rmtree(root / ".memory", ignore_errors=True)
    shutil.copytree(kept, root / ".memory")
    return root


def try_folder(data: bytes) -> None:
    """Put files into a project, and run the commands that read it, and then those that change it."""
    root = _fresh_project()
    for part in data.split(_NEXT):
        _put(root / ".memory", part)
    reading: list[Command] = [check, status, partial(query, question="alpha first src/")]
    changing: list[Command] = [partial(save, request=_REQUEST), rebuild]
    for command in (*reading, *changing, *reading):
        _run(Project(root, None), command)
    if len(data) % 4 == 0:  # git is slow
        for command in (diff, sync):
            _run(Project(root, Git(root)), command)


def _put(folder: Path, part: bytes) -> None:
    name, _, content = part.partition(b"\n")
    pieces = name.decode(errors="surrogateescape").split("/")
    if "\0" in name.decode(errors="surrogateescape") or any(piece in ("", ".", "..") for piece in pieces):
        return
    try:
        path = folder.joinpath(*pieces)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError:
        pass  # The name is too long, or a folder.


def _run(project: Project, command: Command) -> dict[str, Any]:
    """Run a command as `memglot repo` does; errors that it would call internal are raised."""
    return _run_in(project, command, register=False)


def try_request(data: bytes) -> None:
    """Save a request. The project is valid afterwards."""
    root = _fresh_project()
    project = Project(root, None)
    try:
        save(project, data)
    except ProjectError:
        pass
    found = check(Project(root, None))
    assert found["valid"], found["errors"]


def try_anchor(data: bytes) -> None:
    """Check an anchor, the first line, and match it with paths, the others."""
    anchor, *paths = data.decode(errors="surrogateescape").split("\n")
    files = Files([path for path in paths if path])
    for text in (anchor, "/".join(reversed(anchor.split("/")))):
        files.matches(text)
        files.any(text)
        try:
            found = normalize_anchor(text)
        except ValueError:
            continue
        files.matches(found)
    try:
        check_anchors([anchor, *paths[:3]], "anchors")
    except ProjectError:
        pass


_NODE = (
    b'{"id":"feature.alpha","type":"feature","status":"active","title":"A","body_path":"memory/alpha.md",'
    b'"created_at":"2026-01-02T03:04:05+00:00","updated_at":"2026-01-02T03:04:05+00:00","tags":["x"],'
    b'"anchors":["src/**"],"evidence":[{"kind":"file","id":"src/a.py"}],"content_hash":"sha256:00"}'
)
_LINK = b'{"id":"rel.a","from":"feature.alpha","predicate":"affects","to":"feature.beta","status":"active"}'

TARGETS = [
    Target(
        "project_folders",
        try_folder,
        [
            b"",
            b"memory/alpha.json\n" + _NODE,
            b"memory/new.json\n" + _NODE.replace(b"alpha", b"new") + _NEXT + b"memory/new.md\n# New\n",
            b"relations/a.json\n" + _LINK,
            b'config.json\n{"version":5,"project":{"id":"project.demo","name":"D"},"memory":{"autoIndex":true}}',
            b'events.jsonl\n{"event":"memory.created","id":"feature.alpha","timestamp":"2026-01-02T03:04:05Z"}\n{',
            b'sync-state.json\n{"commit":"0000000000000000000000000000000000000000","at":"2026"}',
            b"index/journal\n{}" + _NEXT + b"index/memory.db\nSQLite format 3\x00",
            b"memory/alpha.md\n---\na: 1\n---\n<<<<<<< HEAD\n",
            b"schema/object.schema.json\n{" + _NEXT + b".lock\n1",
        ],
    ),
    Target(
        "project_requests",
        try_request,
        [
            b"{}",
            _REQUEST,
            b'{"task":"t","outdated":[{"id":"feature.alpha","reason":"r"}],"stale":[{"id":"feature.beta"}]}',
            b'{"task":"t","superseded":[{"id":"feature.alpha","by":"feature.beta","reason":"r"}]}',
            b'{"task":"t","nodes":[{"kind":"feature","title":"T","body":"b","tags":["a"],"anchors":["src/**"],"stage":'
            b'"idea","related":[{"predicate":"affects","to":"feature.beta"}],"evidence":[{"kind":"file","id":"a"}]}]}',
        ],
    ),
    Target(
        "project_anchors",
        try_anchor,
        [
            b"src/**/*.py\nsrc/a.py\nsrc/b/c.py",
            b"src/{a,b{1..9}}/[a-z]*.ts\nsrc/b3/x.ts",
            b"+(a|b)@(c)!(d)*\nabc\nd",
            b"./a//b/\na/b",
            b"././.memory/memory/\na",
            b"!(**)[!a-c]?\\*\nx*",
            b"{{a,b},{c,{d,e}}}{01..10..3}\nb07",
        ],
    ),
]
