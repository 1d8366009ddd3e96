"""Index of the names of a vault's notes and the links between them, resolved when all notes are known."""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from memglot.display import plural
from memglot.formats.obsidian.markup import WikiLink
from memglot.model import Endpoint, Relation, derive_id
from memglot.report import SourceReport

TOOL = "obsidian"
_BATCH = 1_000
_ID, _PATH, _NAME, _TITLE, _ALIAS = range(5)
_TABLES = """
CREATE TABLE names (name TEXT, level INT, id TEXT, path TEXT);
CREATE TABLE carried (subject TEXT, object TEXT, PRIMARY KEY (subject, object)) WITHOUT ROWID;
CREATE TABLE links (name TEXT, subject TEXT, predicate TEXT, text TEXT, marked INT, path TEXT);
BEGIN;
"""


_ATTACHMENTS = frozenset(
    "avif bmp gif jpeg jpg png svg webp 3gp flac m4a mp3 ogg wav webm mkv mov mp4 ogv pdf canvas base excalidraw "
    "csv tsv json txt html doc docx xls xlsx ppt pptx odt zip".split()
)
_JOINED = """
SELECT links.rowid, links.name, subject, predicate, text, marked, links.path, level, id
FROM links LEFT JOIN names ON names.name = links.name ORDER BY links.rowid, level
"""


class LinkIndex:
    """Collects notes and their links in any order, then yields relations."""

    def __init__(self) -> None:
        import apsw

        # SQLite keeps a database without a name in a temporary file, and deletes it on close.
        self._db = apsw.Connection("")
        self._db.execute(_TABLES)
        self._names: list[tuple[Any, ...]] = []
        self._links: list[tuple[Any, ...]] = []
        self._carries = False

    def add_note(self, id: str, path: str, own_ids: list[str], title: str | None, aliases: list[str]) -> None:
        """Add a note with all the names it may be linked by."""
        stem = path.rpartition(".")[0] if path.lower().endswith((".md", ".markdown")) else path
        rows = [(_folded(own), _ID, id, path) for own in own_ids]
        rows += [(_folded(stem), _PATH, id, path), (_folded(stem.rpartition("/")[2]), _NAME, id, path)]
        if title is not None:
            rows.append((_folded(title), _TITLE, id, path))
        rows += [(_folded(alias), _ALIAS, id, path) for alias in aliases]
        self._names += rows
        if len(self._names) >= _BATCH:
            self._flush()

    def add_link(self, subject: str, link: WikiLink, path: str, *, marked: bool) -> None:
        """Add a link; a `marked` one is in the note's text and need not be written again."""
        target = link.target
        if target.startswith(("./", "../")):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        self._links.append((_folded(target), subject, link.predicate, link.text, marked, path))
        if len(self._links) >= _BATCH:
            self._flush()

    def add_links(self, subject: str, links: list[WikiLink], path: str) -> None:
        """Add the links in the text of a note."""
        for link in links:
            self.add_link(subject, link, path, marked=True)

    def add_carried(self, subject: str, object: str) -> None:
        """Add a relation that a note carries; a link between the two adds nothing."""
        self._carries = True
        self._db.execute("INSERT OR IGNORE INTO carried VALUES (?, ?)", (subject, object))

    def _is_carried(self, subject: str, object: str) -> bool:
        sql = "SELECT 1 FROM carried WHERE subject = ? AND object = ?"
        return self._carries and next(iter(self._db.execute(sql, (subject, object))), None) is not None

    def _flush(self) -> None:
        self._db.executemany("INSERT INTO names VALUES (?, ?, ?, ?)", self._names)
        self._db.executemany("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?)", self._links)
        self._names, self._links = [], []

    def relations(self, report: SourceReport) -> Iterator[Relation]:
        """Yield the links that lead to a note; note broken and ambiguous ones, which stay in the text."""
        self._flush()
        self._db.execute("CREATE INDEX by_name ON names (name, level)")
        broken, ambiguous = _Examples(), _Examples()
        seen: set[str] = set()
        subject = ""
        for (_, name, owner, predicate, text, marked, path), rows in groupby(self._db.execute(_JOINED), _link_of):
            if owner != subject:
                subject, seen = owner, set()
            found = self._candidates(name, [(level, id) for *_, level, id in rows if id is not None])
            if len(found) != 1:
                if not _is_attachment(name):
                    (ambiguous if found else broken).add(f"{text} in {path}")
                continue
            relation = link_relation(owner, predicate, found[0], text if marked else None)
            if found[0] != owner and relation.id not in seen and not self._is_carried(owner, found[0]):
                seen.add(relation.id)
                yield relation
        if ambiguous.count:
            report.note(_kept_in_text(ambiguous, "that could mean more than one note"))
        if broken.count:
            report.note(_kept_in_text(broken, "to a note that does not exist"))
        self.close()

    def close(self) -> None:
        """Delete the index."""
        self._db.close()

    def _candidates(self, name: str, found: list[tuple[int, str]]) -> list[str]:
        """Return the notes that a link may mean, by the first kind of name that matches."""
        if "/" in name and (not found or found[0][0] > _PATH) and (by_path := self._by_end_of_path(name)):
            return by_path
        return list(dict.fromkeys(id for level, id in found if level == found[0][0]))

    def _by_end_of_path(self, name: str) -> list[str]:
        sql = "SELECT DISTINCT id, path FROM names WHERE name = ? AND level = ?"
        rows = self._db.execute(sql, (name.rpartition("/")[2], _NAME))
        return [id for id, path in rows if _folded(path.rpartition(".")[0]).endswith("/" + name)][:3]


def _link_of(row: Any) -> Any:
    """Return the link columns of a joined row."""
    return row[:7]


class _Examples:
    """A count and the first few examples."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[str] = []

    def add(self, text: str) -> None:
        self.count += 1
        if len(self.first) < 5:
            self.first.append(text)


def link_relation(subject: str, predicate: str, object: str, text: str | None) -> Relation:
    """Return the relation of a link; `text` is the link in the note's text."""
    return Relation(
        id=derive_id(TOOL, "link", f"{subject}\0{predicate}\0{object}"),
        subject=Endpoint(subject),
        predicate=predicate,
        object=Endpoint(object),
        extra={TOOL: {"link": text}} if text else {},
    )


def is_in_text(relation: Relation) -> bool:
    """Return True if a relation is a link in the text of its note."""
    own = relation.extra.get(TOOL)
    return isinstance(own, dict) and "link" in own


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _is_attachment(target: str) -> bool:
    """Return True if a link names an attachment instead of a missing note."""
    return target.rpartition(".")[2] in _ATTACHMENTS


def _kept_in_text(links: _Examples, what: str) -> str:
    more = ", ..." if links.count > len(links.first) else ""
    return f"{plural(links.count, 'link')} {what}, kept in the text only: {', '.join(links.first)}{more}"
