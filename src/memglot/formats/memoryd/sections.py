"""Sections of a file other than the memories, kept on disk until they are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from memglot.disk import DiskGroups, DiskList, DiskMap
from memglot.formats.base import WriteOptions
from memglot.formats.core.audit_chain import ChainWriter, blob_of, encrypted_part, is_audit, scope_of
from memglot.formats.core.carry import KEY
from memglot.formats.core.proof import Prover
from memglot.formats.core.sidecar import LineProver, decode_item, display_key, encode_item, kind_name
from memglot.formats.core.written_ids import WrittenIds
from memglot.formats.memoryd.encryption import Cipher
from memglot.formats.memoryd.graph import endpoint_text, entity_row, relation_row, supersession_row
from memglot.formats.memoryd.read_rows import ENCRYPTED
from memglot.formats.memoryd.tool_keys import MEMORYD
from memglot.model import (
    IDENTITY,
    Blob,
    Document,
    Endpoint,
    Entity,
    Item,
    Record,
    Relation,
    Supersession,
    Thing,
    Tombstone,
    mentioned_ids,
    to_builtins,
)
from memglot.report import Report

FILE = "file"
"""Table of blobs for sections of a file that memglot does not know."""
_NAMES: dict[type[Any], str] = {Entity: "entities", Relation: "relations", Supersession: "supersedes_chain"}
_encode = msgspec.json.Encoder().encode


class SectionBuffer:
    """Collects everything that is not a row of a memory, and writes its sections."""

    def __init__(self, prover: Prover, options: WriteOptions, report: Report) -> None:
        self._prover, self._options, self._report = prover, options, report
        self._marked = options.encrypted_scopes
        self._asked_for_passphrase = False
        self.cipher: Cipher | None = None
        self.omitted_memories = self._omitted_items = 0
        self._omitted_scopes: set[str] = set()
        self.written_ids, self._encrypted_ids, self._by_source = WrittenIds(), DiskMap(), DiskGroups()
        self._things: dict[str, DiskList[Any]] = {name: DiskList() for name in _NAMES.values()}
        self._unknown: dict[str, DiskList[Any]] = {}
        self._own: DiskList[Any] = DiskList()
        self._encrypted: DiskList[str] = DiskList()
        self.audit = ChainWriter()
        self.sum = LineProver()
        self._identity: Document | None = None

    def close(self) -> None:
        """Delete the files."""
        for part in (self.written_ids, self._encrypted_ids, self._by_source):
            part.close()

    def mark_encrypted(self, record: Record) -> None:
        """Record that a memory is encrypted, so that items about it are encrypted too."""
        self._encrypted_ids[record.id] = ""

    def get_cipher(self) -> Cipher | None:
        """Return the cipher, created on first use; `None` without a passphrase.

        A plain file has no place for encrypted data other than bodies.
        """
        if not self._asked_for_passphrase:
            self._asked_for_passphrase = True
            secret = None if self._options.plain else self._options.secret()
            self.cipher = Cipher(secret) if secret else None
        return self.cipher

    def count_omitted(self, item: Any) -> None:
        """Count an item that must be encrypted but cannot be."""
        if isinstance(item, Record):
            self.omitted_memories += 1
        else:
            self._omitted_items += 1
        if isinstance(scope := getattr(item, "scope", None), str) and self.is_sensitive(scope):
            self._omitted_scopes.add(scope)

    def is_sensitive(self, scope: str) -> bool:
        """Return True if a scope is marked as sensitive, in the store or in the input."""
        return scope in self._marked or scope in self._report.inputs.sensitive

    def add_leftover(self, item: Item, report: Report) -> None:
        """Keep an item for its section."""
        if isinstance(item, (Record, Tombstone, Entity)) and self.is_sensitive(item.scope):
            # Items about it are encrypted too, wherever they are.
            self._encrypted_ids[item.id] = ""
        if type(item) in _NAMES:
            self._things[_NAMES[type(item)]].append(encode_item(item).decode())
            if isinstance(item, Relation):
                self._index_by_source(item)
        elif isinstance(item, Blob) and is_audit(item):
            self.audit.add(item)
        elif isinstance(item, Blob) and _is_section(item):
            self._unknown.setdefault(item.row["section"], DiskList()).append(encode_item(item).decode())
        else:
            if isinstance(item, Document) and item.name == IDENTITY and not self._must_encrypt(item):
                older = self._older_identity(item)
                if self._options.plain:
                    for document in older:
                        report.dropped(kind_name(document), display_key(document))
                    return
            if self._options.plain:
                report.dropped(kind_name(item), display_key(item))
            else:
                self._own.append(encode_item(item).decode())

    def _index_by_source(self, relation: Relation) -> None:
        source = relation.source_record
        if source is not None and relation.subject != Endpoint(source):
            self._by_source.add(source, to_builtins(relation))

    def _older_identity(self, document: Document) -> list[Document]:
        """Keep the latest identity for its section; return the older one of two."""
        known = [document] if self._identity is None else sorted([self._identity, document], key=_rank)
        self._identity = known.pop()
        return known

    def _must_encrypt(self, item: Any) -> bool:
        """Return True if an item must be encrypted: its scope is sensitive, or it is about an encrypted memory."""
        if self._options.plaintext:
            return False
        scope = getattr(item, "scope", None)
        if isinstance(scope, str) and self.is_sensitive(scope):
            return True
        return not isinstance(item, Record) and any(id in self._encrypted_ids for id in mentioned_ids(item))

    # Writing

    def write(self, out: BinaryIO, scope: str | None) -> None:
        """Write the graph, identity and audit sections."""
        for name in ("entities", "relations", "supersedes_chain"):
            write_list(out, name, self._rows(name))
        if self._identity is not None:
            out.write(b',\n"identity_snapshot": ' + _encode(self._identity.content))
        write_list(out, "audit_chain", self._audit_rows(scope))
        own, self._own = self._own, DiskList()
        for line in own:
            (self._encrypted if self._must_encrypt(decode_item(line.encode())) else self._own).append(line)
        if len(self._encrypted) and self.get_cipher() is None:
            for line in self._encrypted:
                self.count_omitted(decode_item(line.encode()))

    def write_last(self, out: BinaryIO) -> None:
        """Write the sections that memglot does not know, and our own."""
        if (self.omitted_memories or self._omitted_items) and not self._options.closed:
            scopes = sorted(self._omitted_scopes or {*self._marked, *self._report.inputs.sensitive})
            self._report.note_sensitive(self.omitted_memories, self._omitted_items, scopes)
        for name, spool in self._unknown.items():
            self._write_unknown(out, name, spool)
        if not self._options.plain:
            write_list(out, KEY, self._carried_rows())

    def _rows(self, name: str) -> Iterator[dict[str, Any]]:
        plain_only = self._options.plain
        for line in self._things[name]:
            item: Any = decode_item(line.encode())
            if self._must_encrypt(item):
                self._encrypted.append(line)
                continue
            self.sum.add(line.encode())
            if isinstance(item, Entity):
                row = entity_row(item, plain_only=plain_only)
                self.written_ids.add(item.id, row["id"], entity=True)
            elif isinstance(item, Relation):
                row = relation_row(item, self._find_written, plain_only=plain_only)
            else:
                row = supersession_row(item, self._find_written, plain_only=plain_only)
            yield row

    def _find_written(self, end: Endpoint) -> str | None:
        written = self.written_ids.get(end.id, entity=end.entity)
        return written if written is None or end.entity else f"memory:{written}"

    def _audit_rows(self, scope: str | None) -> Iterator[dict[str, Any]]:
        for row in self.audit.rows(scope, None if self._options.plaintext else self._encrypt_row):
            if encrypted_part(row) is None and (blob := blob_of(row)) is not None:
                self.sum.add(encode_item(blob))
            yield row

    def _encrypt_row(self, row: dict[str, Any], secret: bool) -> str | None:
        scope = scope_of(row)
        if not secret and not (isinstance(scope, str) and self.is_sensitive(scope)):
            return None
        cipher, blob = self.get_cipher(), blob_of(row)
        if cipher is None or blob is None:
            self._omitted_items += 1
            return ""
        self.sum.add(encode_item(blob))
        return cipher.encrypt(_encode(row), KEY)

    def graph_keys(self, record: Record, attached: list[Thing], *, encrypted: bool) -> dict[str, Any]:
        """Return the entities, relations and superseded memories to repeat in the row of a memory.

        A readable row omits what must be encrypted.
        """
        if not attached and not self._by_source:
            return {}
        found = [item for item in attached if isinstance(item, Relation)]
        found += [msgspec.convert(value, Relation) for value in self._by_source.get(record.id)]
        older = [_older_text(item) for item in attached if isinstance(item, Supersession)]
        may_encrypt = not self._options.plaintext and bool(self._marked or self._report.inputs.sensitive)
        if may_encrypt and not encrypted:
            found = [relation for relation in found if not self._omits(relation, record)]
            older = []
        relations = [_relation_summary(relation) for relation in found]
        entities = [
            summary[f"{side}_id"]
            for relation, summary in zip(found, relations, strict=True)
            for side in ("subject", "object")
            if getattr(relation, side).entity
        ]
        keys = {"entities": sorted(set(entities)), "relations": relations, "supersedes": sorted(set(older))}
        return {name: values for name, values in keys.items() if values}

    def _omits(self, relation: Relation, record: Record) -> bool:
        """Return True if the readable row of a memory must not mention a relation.

        Which memories are encrypted is known only at the end, so if any may be, a row mentions no other memory.
        """
        if self.is_sensitive(relation.scope) or relation.source_record not in (None, record.id):
            return True
        ends = (relation.subject, relation.object)
        return any(end.id in self._encrypted_ids if end.entity else end.id != record.id for end in ends)

    def _write_unknown(self, out: BinaryIO, name: str, spool: DiskList[Any]) -> None:
        blobs = [decode_item(line.encode()) for line in spool] if len(spool) == 1 else ()
        if len(blobs) == 1 and isinstance(blobs[0], Blob) and blobs[0].row["item"] is None:
            self.sum.add(encode_item(blobs[0]))
            out.write(b",\n" + _encode(name) + b": " + _encode(blobs[0].row["value"]))
            return
        write_list(out, name, self._unknown_rows(spool))

    def _unknown_rows(self, spool: DiskList[Any]) -> Iterator[Any]:
        for line in spool:
            self.sum.add(line.encode())
            yield msgspec.json.decode(line)["blob"]["row"]["value"]

    def _carried_rows(self) -> Iterator[Any]:
        for line in self._own:
            self._count(decode_item(line.encode()), line)
            yield msgspec.Raw(line.encode())
        if self.cipher is not None:
            for line in self._encrypted:
                self._count(decode_item(line.encode()), line)
                yield {ENCRYPTED: self.cipher.encrypt(line, KEY)}

    def _count(self, item: Item, line: str) -> None:
        if isinstance(item, Record):
            self._prover.add(item)
        else:
            self.sum.add(line.encode())


def _relation_summary(relation: Relation) -> dict[str, Any]:
    subject, object = (endpoint_text(relation, side, lambda _: None) for side in ("subject", "object"))
    return {"predicate": relation.predicate, "subject_id": subject, "object_id": object}


def _older_text(link: Supersession) -> str:
    own = link.extra.get(MEMORYD)
    given = own.get("older") if isinstance(own, dict) else None
    return given if isinstance(given, str) else link.older


def write_list(out: BinaryIO, name: str, rows: Iterator[Any]) -> None:
    """Write a section with one element per line, or nothing if it is empty."""
    before = b",\n" + _encode(name) + b": [\n"
    any_row = False
    for row in rows:
        out.write(before + _encode(row))
        before, any_row = b",\n", True
    if any_row:
        out.write(b"\n]")


def section_blob(section: str, item: int | None, value: Any) -> Blob:
    """Return the blob for a section that memglot does not know, or for one element of it."""
    key = section if item is None else f"{section}[{item:09d}]"
    return Blob(tool=MEMORYD, table=FILE, key=key, row={"section": section, "item": item, "value": value})


def _is_section(blob: Blob) -> bool:
    row = blob.row
    if not (blob.tool == MEMORYD and blob.table == FILE and isinstance(row, dict) and not blob.owner):
        return False
    if blob.data is not None or row.keys() != {"section", "item", "value"} or not isinstance(row["section"], str):
        return False
    return blob == section_blob(row["section"], row["item"], row["value"]) if _is_number(row["item"]) else False


def _is_number(item: Any) -> bool:
    return item is None or isinstance(item, int) and not isinstance(item, bool)


def _rank(document: Document) -> tuple[int, str]:
    return document.created_at, document.id
