"""Read the changed files of a store into its index; files that cannot be used are noted as faults."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import apsw
import msgspec

from memglot.project.storage.faults import FileFault, control_characters, merge_conflict, missing_body
from memglot.project.storage.merge_markers import conflict_line
from memglot.project.storage.paths import NODES
from memglot.project.storage.reader import StoreReader, decode_json, sidecar_faults, to_relation, to_sidecar
from memglot.project.storage.tokens import first_sentence
from memglot.project.tokenize import spaced_text

_INSERT_NODE = """
INSERT INTO nodes VALUES (
    NULL, :path, :id, :kind, :status, :title, :body_path, :created_at, :updated_at, :stage, :anchors, :tags, :intent,
    :sidecar, :body
)
"""


class IndexUpdate:
    """One update of an index, within a transaction. `unsafe` are the links and special files, which are not read."""

    def __init__(self, db: apsw.Connection, folder: Path, unsafe: Mapping[str, FileFault]) -> None:
        self._db = db
        self._reader = StoreReader(folder)
        self._unsafe = unsafe

    def apply(self, touched: Collection[str], gone: Collection[str], present: Mapping[str, str]) -> None:
        """Read the touched files, and remove those that are gone."""
        sidecars: set[str] = set()
        links: set[str] = set()
        if any(path.endswith(".md") for path in (*touched, *gone)):
            # A sidecar that could not be used may be usable with another text.
            faulty = self._db.execute("SELECT path FROM faults WHERE path GLOB 'memory/*.json'")
            sidecars.update(path for (path,) in faulty)
        for path in {*touched, *gone}:
            self._db.execute("DELETE FROM faults WHERE path = ?", (path,))
            if not path.endswith((".json", ".md")):
                self._note_unsafe(path)
            elif not path.startswith(NODES + "/"):
                links.add(path)
            elif path.endswith(".json"):
                sidecars.add(path)
            else:
                sidecars.update(
                    row[0] for row in self._db.execute("SELECT path FROM nodes WHERE body_path = ?", (path,))
                )
        for path in sorted(sidecars):
            self._remove_node(path)
            if path not in gone:
                self._read(path, self._add_node)
        for path in sorted(links):
            self._db.execute("DELETE FROM links WHERE path = ?", (path,))
            if path in present and path.endswith(".json"):
                self._read(path, self._add_relation)
        self._db.executemany("DELETE FROM files WHERE path = ?", ((path,) for path in gone))
        stamps = ((path, present[path]) for path in touched)
        self._db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?)", stamps)

    def _remove_node(self, path: str) -> None:
        for (seq,) in list(self._db.execute("SELECT seq FROM nodes WHERE path = ?", (path,))):
            self._db.execute("DELETE FROM words WHERE rowid = ?", (seq,))
            self._db.execute("DELETE FROM nodes WHERE seq = ?", (seq,))
        self._db.execute("DELETE FROM faults WHERE path = ?", (path,))

    def _read(self, path: str, add: Callable[[str, bytes], None]) -> None:
        if self._note_unsafe(path):
            return
        try:
            add(path, self._reader.read(path))
        except FileFault as fault:
            if fault.code != "CanonicalFileMissing":
                self._note(path, fault)

    def _add_node(self, path: str, raw: bytes) -> None:
        fields = decode_json(path, raw)
        node = to_sidecar(path, fields)
        for fault in sidecar_faults(path, node):
            raise fault
        body = self._body(path, node.body_path)
        text = (body or b"").decode("utf-8", "replace")
        if (line := conflict_line(text)) is not None:
            self._note(path, merge_conflict(node.body_path, line))
        anchors, tags, evidence = (fields.get(name) or [] for name in ("anchors", "tags", "evidence"))
        row = {
            "path": path,
            "id": node.id,
            "kind": node.type,
            "status": node.status,
            "title": node.title,
            "body_path": node.body_path,
            "created_at": node.created_at,
            "updated_at": node.updated_at,
            "stage": fields.get("stage"),
            "anchors": _packed(anchors),
            "tags": _packed(tags),
            "intent": first_sentence(text),
            "sidecar": raw,
            "body": body,
        }
        self._db.execute(_INSERT_NODE, row)
        sources = [item["id"] for item in evidence]
        sources += [str(value) for value in (fields.get("origin") or {}).values()]
        values = (node.title, text, " ".join(tags), " ".join(anchors), " ".join(sources))
        self._db.execute(
            "INSERT INTO words (rowid, title, body, tags, anchors, evidence) VALUES (?, ?, ?, ?, ?, ?)",
            (self._db.last_insert_rowid(), *map(spaced_text, values)),
        )

    def _body(self, path: str, body_path: str) -> bytes | None:
        """Return the text of a node. If it is missing, note that; the node stays.

        A node whose text is anything but a regular file in its place is not used: reading it could block, and deleting
        it could delete anything.
        """
        try:
            return self._reader.body(path, body_path)
        except FileFault as fault:
            if fault.code not in ("ObjectBodyMissing", "CanonicalFileMissing", "CanonicalFileUnreadable"):
                raise
            self._note(path, missing_body(path, body_path))
            return None

    def _add_relation(self, path: str, raw: bytes) -> None:
        link = to_relation(path, decode_json(path, raw))
        for field, value in (("/id", link.id), ("/from", link.subject), ("/to", link.object)):
            if not value.isprintable():
                raise control_characters(path, field)
        values = (path, link.id, link.subject, link.predicate, link.object, link.status, raw)
        self._db.execute("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def _note_unsafe(self, path: str) -> bool:
        if path in self._unsafe:
            self._note(path, self._unsafe[path])
        return path in self._unsafe

    def _note(self, path: str, fault: FileFault) -> None:
        self._db.execute("INSERT INTO faults VALUES (?, ?)", (path, msgspec.json.encode(fault.issue())))


def _packed(values: list[str]) -> str:
    return msgspec.json.encode(values).decode()
