"""Write the files of relations between two nodes, with predicates that project memory knows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memglot.disk import DiskList, DiskMap
from memglot.formats.core.note_folder import NoteFolder
from memglot.formats.repo.carry_file import CarryLine, CarryLines, digest
from memglot.formats.repo.existing import ExistingStore
from memglot.formats.repo.naming import NodeNames, is_valid_path
from memglot.formats.repo.nodes import TOOL
from memglot.formats.repo.relations import BYTES_KEY, RelationFields, can_be_file, file_of, relation_of, usual_place
from memglot.model import Relation, derive_id, to_builtins
from memglot.project.storage.ids import link_id
from memglot.project.storage.paths import RELATIONS
from memglot.project.storage.vocabulary import RELATION_ID
from memglot.report import Report

_ID = re.compile(RELATION_ID)


class RelationWriter:
    """Writer of relations. Add all relations first, so that those with an id of their own get it."""

    def __init__(
        self,
        notes: NoteFolder,
        existing: ExistingStore,
        names: NodeNames,
        lines: CarryLines,
        report: Report,
        *,
        plain: bool,
    ) -> None:
        self._notes, self._existing, self._names = notes, existing, names
        self._lines, self._report, self._plain = lines, report, plain
        self._claimed, self._ids, self._places, self._ends = DiskMap(), DiskMap(), DiskMap(), DiskMap()
        self._files: DiskList[list[str]] = DiskList()
        self.space = ""

    def add(self, relation: Relation) -> None:
        """Add a relation, with the id that it has in project memory and its two ends."""
        ids = list(_own_ids(relation))
        for id in ids:
            if id not in self._claimed:
                self._claimed[id] = relation.id
        if ids and _ends(relation) not in self._ends:
            self._ends[_ends(relation)] = relation.id

    def write(self, relation: Relation) -> bool:
        """Write the file of a relation; return False if it cannot have one and must be carried with its memory."""
        subject, object = self._names.node(relation.subject.id), self._names.node(relation.object.id)
        if relation.subject.entity or relation.object.entity or subject is None or object is None:
            return False
        if not can_be_file(relation) or not self._is_first(relation):
            return False
        triple = f"{subject} {relation.predicate} {object}"
        id = self._id(relation, subject, object)
        if self._existing.triples.get(triple, id) != id and id not in self._existing.links:
            # A second relation with the same ends and predicate would make the store invalid.
            return False
        self._ids[id] = True
        link, raw = file_of(relation, id, (subject, object), self._place(relation, id))
        self._files.append([f"{link.place}.json", raw.decode()])
        self._carry(relation, link, raw)
        return True

    def put_files(self) -> None:
        """Write the files; what is carried for them must be written before."""
        for path, text in self._files:
            self._notes.put_all({path: text.encode()}, counts=False)
        self._keep_others()

    def _keep_others(self) -> None:
        """Keep the relations of others, if both their nodes exist."""
        for path in self._other_paths():
            if all(map(self._names.will_exist, self._existing.ends[path])):
                self._notes.retain(path)

    def carry_others(self) -> None:
        """Keep what is carried for the relations of others."""
        for path in self._other_paths():
            if (line := self._existing.carried_link(path)) is not None:
                self._lines.add(line)

    def _other_paths(self) -> Iterator[str]:
        """Yield the paths of existing relations that this export does not write."""
        for path in self._existing.ends:
            if path.removesuffix(".json") not in self._places:
                yield path

    def _carry(self, relation: Relation, link: RelationFields, raw: bytes) -> None:
        ends = {link.fields["from"]: relation.subject.id, link.fields["to"]: relation.object.id}
        if to_builtins(relation_of(link, self.space, ends.__getitem__, raw)) == to_builtins(relation):
            return
        if self._plain:
            self._report.dropped("relations", relation.subject.id)
        else:
            self._report.carried["relations"] += 1
            self._lines.add(CarryLine(link=link.fields["id"], of=digest(raw), relation=relation))

    def _is_first(self, relation: Relation) -> bool:
        first = self._ends.get(_ends(relation))
        if first is None:
            self._ends[_ends(relation)] = relation.id
        return first in (None, relation.id) or any(True for _ in _own_ids(relation))

    def _id(self, relation: Relation, subject: str, object: str) -> str:
        known = self._existing.relations.get(relation.id)
        for id in [known, *_own_ids(relation)]:
            if isinstance(id, str) and id not in self._ids and self._claimed.get(id, relation.id) == relation.id:
                if id not in self._existing.links or id == known or derive_id(TOOL, self.space, id) == relation.id:
                    return id
        return link_id(subject, relation.predicate, object, self._is_taken)

    def _is_taken(self, id: str) -> bool:
        return id in self._ids or id in self._claimed or id in self._existing.links

    def _place(self, relation: Relation, id: str) -> str:
        known = self._existing.links.get(id)
        residue = relation.extra.get(BYTES_KEY)
        asked = residue.get("path") if isinstance(residue, dict) else None
        place = known if isinstance(known, str) else asked if isinstance(asked, str) else usual_place(id)
        if known is None and (not is_valid_path(f"{place}.json", RELATIONS) or self._has(place)):
            place = self._names.layout.link_place(id, self._has)
        self._places[place] = True
        return place

    def _has(self, place: str) -> bool:
        return place in self._places or self._existing.has_file(f"{place}.json")


def _own_ids(relation: Relation) -> Iterator[str]:
    for foreign in relation.foreign:
        if foreign.tool == TOOL and _ID.fullmatch(foreign.id):
            yield foreign.id


def _ends(relation: Relation) -> str:
    return f"{relation.subject.id} {relation.predicate} {relation.object.id}"
