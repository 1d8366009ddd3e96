"""Writes the files of relations: those that lead from node to node, with a predicate that project memory knows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memglot.disk import DiskList, DiskMap
from memglot.formats.core.note_folder import Notes
from memglot.formats.repo.carry_file import CarryLine, CarryLines, digest
from memglot.formats.repo.existing import ExistingStore
from memglot.formats.repo.naming import NodeNames, is_valid_path
from memglot.formats.repo.nodes import TOOL
from memglot.formats.repo.relations import RESIDUE, RelationFields, can_be_file, file_of, relation_of, usual_place
from memglot.model import Relation, derive_id, to_builtins
from memglot.project.storage.ids import link_id
from memglot.project.storage.paths import RELATIONS
from memglot.project.storage.vocabulary import RELATION_ID
from memglot.report import Report

_ID = re.compile(RELATION_ID)


class RelationWriter:
    """Takes relations first, so that those with an id of their own get it; then writes them."""

    def __init__(
        self, notes: Notes, there: ExistingStore, names: NodeNames, lines: CarryLines, report: Report, *, plain: bool
    ) -> None:
        self._notes, self._there, self._names = notes, there, names
        self._lines, self._report, self._plain = lines, report, plain
        self._claimed, self._ids, self._places, self._ends = DiskMap(), DiskMap(), DiskMap(), DiskMap()
        self._files: DiskList[list[str]] = DiskList()
        self.space = ""

    def take(self, relation: Relation) -> None:
        """Note the id that a relation has in project memory, and that it has these ends."""
        ids = list(_own_ids(relation))
        for id in ids:
            if id not in self._claimed:
                self._claimed[id] = relation.id
        if ids and _ends(relation) not in self._ends:
            self._ends[_ends(relation)] = relation.id

    def write(self, relation: Relation) -> bool:
        """Write the file of a relation; `False` where it cannot have one, and must be carried with its memory."""
        subject, object = self._names.node(relation.subject.id), self._names.node(relation.object.id)
        if relation.subject.entity or relation.object.entity or subject is None or object is None:
            return False
        if not can_be_file(relation) or not self._is_first(relation):
            return False
        triple = f"{subject} {relation.predicate} {object}"
        id = self._id(relation, subject, object)
        if self._there.triples.get(triple, id) != id and id not in self._there.links:
            # A second relation that says the same would be a fault of the store.
            return False
        self._ids[id] = True
        link, raw = file_of(relation, id, (subject, object), self._place(relation, id))
        self._files.append([f"{link.place}.json", raw.decode()])
        self._carry(relation, link, raw)
        return True

    def put_files(self) -> None:
        """Put the files in their places, once all that is carried for them is in its own."""
        for path, text in self._files:
            self._notes.put_all({path: text.encode()}, counts=False)
        self._keep_others()

    def _keep_others(self) -> None:
        """Leave the relations of others, as long as both their nodes are there."""
        for path in self._there.ends:
            if path.removesuffix(".json") not in self._places and all(map(self._names.stays, self._there.ends[path])):
                self._notes.retain(path)

    def carry_others(self) -> None:
        """Keep what is carried for them, too."""
        for path in self._there.ends:
            if path.removesuffix(".json") not in self._places and (line := self._there.carried_link(path)) is not None:
                self._lines.add(line)

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
        told = self._there.relations.get(relation.id)
        for id in [told, *_own_ids(relation)]:
            if isinstance(id, str) and id not in self._ids and self._claimed.get(id, relation.id) == relation.id:
                if id not in self._there.links or id == told or derive_id(TOOL, self.space, id) == relation.id:
                    return id
        return link_id(subject, relation.predicate, object, self._is_taken)

    def _is_taken(self, id: str) -> bool:
        return id in self._ids or id in self._claimed or id in self._there.links

    def _place(self, relation: Relation, id: str) -> str:
        known = self._there.links.get(id)
        residue = relation.extra.get(RESIDUE)
        asked = residue.get("path") if isinstance(residue, dict) else None
        place = known if isinstance(known, str) else asked if isinstance(asked, str) else usual_place(id)
        if known is None and (not is_valid_path(f"{place}.json", RELATIONS) or self._has(place)):
            place = self._names.layout.link_place(id, self._has)
        self._places[place] = True
        return place

    def _has(self, place: str) -> bool:
        return place in self._places or self._there.has_file(f"{place}.json")


def _own_ids(relation: Relation) -> Iterator[str]:
    for foreign in relation.foreign:
        if foreign.tool == TOOL and _ID.fullmatch(foreign.id):
            yield foreign.id


def _ends(relation: Relation) -> str:
    return f"{relation.subject.id} {relation.predicate} {relation.object.id}"
