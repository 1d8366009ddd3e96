"""Check the relations of project memory: their shape, and whether their nodes exist."""

from __future__ import annotations

from collections import Counter

from memglot.project.check.findings import Findings
from memglot.project.check.nodes import HASH_MISMATCH, check_id
from memglot.project.storage.faults import FileFault, control_characters
from memglot.project.storage.hashes import link_hash
from memglot.project.storage.paths import RELATIONS, memory_path
from memglot.project.storage.reader import to_relation
from memglot.project.storage.shapes import RelationFile

_EXCESSIVE = 5


def check_relations(findings: Findings, nodes: dict[str, str]) -> None:
    """Check every relation; `nodes` has the ids that it may refer to."""
    paths: dict[str, str] = {}
    seen: dict[tuple[str, str, str], str] = {}
    predicates: Counter[str] = Counter()
    for path in findings.files_in(RELATIONS, ".json"):
        fields = findings.json(path)
        if fields is None:
            continue
        try:
            link = to_relation(path, fields)
        except FileFault as fault:
            findings.add_error(fault)
            continue
        if not link.id.isprintable():
            findings.add_error(control_characters(path, "/id"))
        check_id(findings, path, link.id, paths, "Relation")
        _check_ends(findings, path, link, nodes)
        first = seen.setdefault((link.subject, link.predicate, link.object), path)
        if first != path:
            message = f"This relation is the same as `{memory_path(first)}`."
            findings.error("RelationEquivalentDuplicate", message, path)
        if isinstance(link.content_hash, str) and link.content_hash != link_hash(fields):
            findings.warn("RelationContentHashMismatch", HASH_MISMATCH, path, "/content_hash")
        predicates[link.predicate] += 1
    vague, total = predicates["related_to"], predicates.total()
    if vague >= _EXCESSIVE and vague * 2 > total:
        message = f"{vague} of {total} relations are `related_to`; use a predicate that says how nodes are related."
        findings.warn("RelationRelatedToExcessive", message, RELATIONS, "/predicate")


def _check_ends(findings: Findings, path: str, link: RelationFile, nodes: dict[str, str]) -> None:
    for field, id in (("/from", link.subject), ("/to", link.object)):
        if id not in nodes:
            findings.error("RelationEndpointMissing", f"There is no node `{id}`.", path, field)
