"""Reading changed files of a store into its index; a file that cannot be used is noted, and the others go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from stat import S_ISREG
from typing import Any

import apsw
import msgspec

from memglot.project import messages as said
from memglot.project.check.schema_issues import shape_issue
from memglot.project.map import first_sentence
from memglot.project.storage.files import Stamp
from memglot.project.storage.ids import kind_of
from memglot.project.storage.merge_markers import conflict_line
from memglot.project.storage.paths import FOLDER, NODES
from memglot.project.storage.shapes import Link, Sidecar
from memglot.project.tokenize import words_of


class _Unusable(Exception):
    """A file that is left out of the index, and why."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(told["message"])
        self.told = told


class Indexing:
    """One round of bringing an index up to date, within a transaction."""

    def __init__(self, db: apsw.Connection, folder: Path) -> None:
        self._db = db
        self._folder = folder
        self._sidecar = msgspec.json.Decoder(Sidecar)
        self._link = msgspec.json.Decoder(Link)

    def take(self, touched: Iterable[str], gone: Iterable[str], present: Mapping[str, Stamp | None]) -> None:
        """Read the touched files, and forget those that are gone."""
        sidecars: set[str] = set()
        links: set[str] = set()
        if any(path.endswith(".md") for path in (*touched, *gone)):
            # A sidecar that could not be used may be whole with another text.
            faulty = self._db.execute("SELECT path FROM faults WHERE path GLOB 'memory/*.json'")
            sidecars.update(path for (path,) in faulty)
        for path in {*touched, *gone}:
            self._db.execute("DELETE FROM faults WHERE path = ?", (path,))
            if not path.endswith((".json", ".md")):
                self._linked(path, present)
            elif not path.startswith(NODES + "/"):
                links.add(path)
            elif path.endswith(".json"):
                sidecars.add(path)
            else:
                sidecars.update(
                    row[0] for row in self._db.execute("SELECT path FROM nodes WHERE body_path = ?", (path,))
                )
        for path in sorted(sidecars):
            self._forget_node(path)
            if path not in gone:
                self._read(path, present.get(path, ""), self._node)
        for path in sorted(links):
            self._db.execute("DELETE FROM links WHERE path = ?", (path,))
            if path in present and path.endswith(".json"):
                self._read(path, present[path], self._relation)
        self._db.executemany("DELETE FROM files WHERE path = ?", ((path,) for path in gone))
        stamps = ((path, present[path] or "") for path in touched)
        self._db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?)", stamps)

    def _linked(self, path: str, present: Mapping[str, Stamp | None]) -> None:
        """A folder behind a link: nothing in it is looked at."""
        if path in present:
            self._fault(path, said.file_unsafe(f"{FOLDER}/{path}"))

    def _forget_node(self, path: str) -> None:
        for (seq,) in list(self._db.execute("SELECT seq FROM nodes WHERE path = ?", (path,))):
            self._db.execute("DELETE FROM words WHERE rowid = ?", (seq,))
            self._db.execute("DELETE FROM nodes WHERE seq = ?", (seq,))
        self._db.execute("DELETE FROM faults WHERE path = ?", (path,))

    def _read(self, path: str, stamp: Stamp | None, take: Any) -> None:
        if stamp is None:
            self._fault(path, said.file_unsafe(f"{FOLDER}/{path}"))
            return
        try:
            take(path, (self._folder / path).read_bytes())
        except FileNotFoundError:
            return
        except _Unusable as unusable:
            self._fault(path, unusable.told)
        except msgspec.ValidationError as error:
            self._fault(path, shape_issue(f"{FOLDER}/{path}", error))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._fault(path, said.json_invalid(f"{FOLDER}/{path}", str(error)))
        except OSError as error:
            self._fault(path, said.file_unreadable(f"{FOLDER}/{path}", said.said_by(error)))

    def _node(self, path: str, raw: bytes) -> None:
        node = self._sidecar.decode(raw)
        self._refuse_controls(path, ("/id", node.id), ("/body_path", node.body_path))
        if kind_of(node.id) != node.type:
            raise _Unusable(said.kind_mismatch(f"{FOLDER}/{path}", node.id, node.type))
        body = self._body(path, node.body_path)
        text = (body or b"").decode("utf-8", "replace")
        if (line := conflict_line(text)) is not None:
            self._fault(path, said.conflict_found(f"{FOLDER}/{node.body_path}", line))
        fields = msgspec.json.decode(raw)
        anchors, tags, evidence = (fields.get(name) or [] for name in ("anchors", "tags", "evidence"))
        self._db.execute(
            "INSERT INTO nodes VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                path, node.id, node.type, node.status, node.title, node.body_path, node.created_at, node.updated_at,
                fields.get("stage"), _packed(anchors), _packed(tags), first_sentence(text), raw, body,
            ),
        )  # fmt: skip
        spoken = [item["id"] for item in evidence]
        spoken += [str(value) for value in (fields.get("origin") or {}).values()]
        values = (node.title, text, " ".join(tags), " ".join(anchors), " ".join(spoken))
        self._db.execute(
            "INSERT INTO words (rowid, title, body, tags, anchors, evidence) VALUES (?, ?, ?, ?, ?, ?)",
            (self._db.last_insert_rowid(), *map(words_of, values)),
        )

    def _body(self, path: str, body_path: str) -> bytes | None:
        """The text of a node; where there is none, that is noted, and the node stays.

        A node whose text is anything but a plain file in its place is not used: it could make us read, wait for, or
        delete anything there is.
        """
        parts = body_path.split("/")
        place = self._folder.joinpath(*parts)
        if ".." in parts or any(link.is_symlink() for link in (place, *list(place.parents)[: len(parts) - 1])):
            raise _Unusable(said.body_escapes(f"{FOLDER}/{path}"))
        try:
            if not S_ISREG(place.lstat().st_mode):
                raise _Unusable(said.file_unsafe(f"{FOLDER}/{body_path}"))
            return place.read_bytes()
        except OSError:
            self._fault(path, said.body_missing(f"{FOLDER}/{path}", f"{FOLDER}/{body_path}"))
            return None

    def _refuse_controls(self, path: str, *values: tuple[str, str]) -> None:
        """Refuse names that no id and no path may hold; patterns let a newline at their end pass."""
        for field, value in values:
            if not value.isprintable():
                raise _Unusable(said.unprintable(f"{FOLDER}/{path}", field))

    def _relation(self, path: str, raw: bytes) -> None:
        link = self._link.decode(raw)
        self._refuse_controls(path, ("/id", link.id), ("/from", link.subject), ("/to", link.object))
        values = (path, link.id, link.subject, link.predicate, link.object, link.status, raw)
        self._db.execute("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def _fault(self, path: str, told: dict[str, Any]) -> None:
        self._db.execute("INSERT INTO faults VALUES (?, ?)", (path, msgspec.json.encode(told)))


def _packed(values: list[str]) -> str:
    return msgspec.json.encode(values).decode()
