"""Scan a file before importing it, if it may have an audit chain or encrypted rows.

A broken audit chain or a wrong passphrase rejects the file. Both come after the memories, so such a file is read twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import msgspec

from memglot.errors import BadRecord, Unreadable, WrongPassphrase
from memglot.formats.base import ReadOptions
from memglot.formats.core.audit_chain import ChainCheck
from memglot.formats.core.carry import KEY
from memglot.formats.core.source import Source
from memglot.formats.memoryd.encryption import Cipher, cipher_for
from memglot.formats.memoryd.values import microseconds
from memglot.formats.syntax.json_sections import sections
from memglot.formats.syntax.json_shape import first_keys
from memglot.model import DEFAULT_SCOPE
from memglot.report import Proof, SourceReport

STRICT = "memoryd-1"
ENCRYPTED_PROOF = "sealed_proof"
_KEYS = (b'"audit_chain', b'"cipher_blob"', b'"sealed"')
_MARKED = re.compile(rb'"sensitive"\s*:\s*true')
_ESCAPED = re.compile(rb"\\u00[2-7]")
_PIECE = 1 << 20
_SAMPLES = 8
_raw = msgspec.json.Decoder(msgspec.Raw).decode


@dataclass
class Header:
    """What a file says about itself."""

    metadata: dict[str, Any] | None = None
    encryption: dict[str, Any] | None = None
    encrypted_rows: list[tuple[str, Any]] = field(default_factory=list)
    scopes: set[str] = field(default_factory=set)
    """Scopes of readable rows that are marked as sensitive."""
    encrypted_scopes: set[str] = field(default_factory=set)

    @property
    def strict(self) -> bool:
        """Whether the file says that memoryd wrote it."""
        return (self.metadata or {}).get("exporter_version") == STRICT

    @property
    def own(self) -> dict[str, Any] | None:
        """What memglot wrote into the metadata, if anything."""
        own = (self.metadata or {}).get(KEY)
        return own if isinstance(own, dict) else None

    def proof(self, cipher: Cipher | None) -> Proof | None:
        """Return the proof of the file; it is encrypted if anything else in the file is."""
        own = self.own or {}
        try:
            if ENCRYPTED_PROOF in own:
                if cipher is None:
                    return None
                return msgspec.json.decode(cipher.decrypt(own[ENCRYPTED_PROOF], KEY), type=Proof)
            return msgspec.convert(own, Proof) if own else None
        except (msgspec.MsgspecError, BadRecord):
            return None

    @property
    def at(self) -> int:
        """Time of the export in microseconds, or 0."""
        try:
            return microseconds((self.metadata or {}).get("export_timestamp"), "export_timestamp") or 0
        except BadRecord:
            return 0

    def key_block(self) -> dict[str, Any] | None:
        """Return the encryption block: memoryd keeps it in the metadata, the page at the top level."""
        inner = (self.metadata or {}).get("encryption")
        return inner if isinstance(inner, dict) else self.encryption


def scan_file(source: Source, report: SourceReport, options: ReadOptions) -> tuple[Header, Cipher | None]:
    """Return the header of a file and the cipher for its blobs; raise `Unreadable` if the file is rejected."""
    keys = list(first_keys(source.head))
    header = Header()
    if keys[:1] != ["export_metadata"] or _needs_scan(source):
        again = source.reopen()
        assert again is not None
        whole = Source(source.name, again)
        whole.max_record = source.max_record
        _read_through(whole, header, report, options)
    cipher = _cipher_of(source.name, header, options)
    # Rows that cannot be decrypted are not imported, so their scopes need no protection.
    report.inputs.sensitive |= header.scopes if cipher is None else header.scopes | header.encrypted_scopes
    return header, cipher


def _needs_scan(source: Source) -> bool:
    """Return True if the file contains a key that requires a scan."""
    stream = source.reopen()
    assert stream is not None
    with stream:
        return _any_scanned_key(stream)


def _any_scanned_key(stream: BinaryIO) -> bool:
    tail = b""
    while piece := stream.read(_PIECE):
        text = tail + piece
        if _has_scanned_keys(text):
            return True
        tail = text[-64:]
    return False


def check_chain(source: Source) -> tuple[ChainCheck, bool]:
    """Return the check of a file's audit chain and whether its recorded head matches; reject nothing."""
    header = Header()
    check = _scan_sections(source, header) or _checker(header)
    return check, check.end((header.metadata or {}).get("audit_chain_head"))


def _has_scanned_keys(text: bytes) -> bool:
    """Return True if a text may have an audit chain, encrypted data or a sensitive scope.

    An escaped character may hide any of these keys. Plain searches come first because they are cheap.
    """
    if any(key in text for key in _KEYS):
        return True
    if b'"sensitive"' in text and _MARKED.search(text):
        return True
    return b"\\u00" in text and _ESCAPED.search(text) is not None


def _read_through(source: Source, header: Header, report: SourceReport, options: ReadOptions) -> None:
    _check_audit(_scan_sections(source, header), header, source.name, report, options)


def _scan_sections(source: Source, header: Header) -> ChainCheck | None:
    check: ChainCheck | None = None
    looking = SourceReport()
    for key, raw, value in sections(source, looking, _raw):
        if key == "memories":
            if b"sensitive" in raw or b"cipher_blob" in raw or b"\\u00" in raw:
                _note_sensitive_row(raw, header)
        elif key == "export_metadata" and isinstance(value, dict):
            header.metadata = value
        elif key == "encryption" and isinstance(value, dict):
            header.encryption = value
        elif key == "audit_chain" and looking.item is not None:
            check = check or _checker(header)
            check.add(_decoded(raw))
    source.close()
    return check


def _checker(header: Header) -> ChainCheck:
    own = header.own
    return ChainCheck(ours=own is not None, scoped=own is not None and own.get("scope") is not None)


def _check_audit(
    check: ChainCheck | None, header: Header, name: str, report: SourceReport, options: ReadOptions
) -> None:
    head = (header.metadata or {}).get("audit_chain_head")
    if check is None:
        if header.own is None or not head:
            return
        check = _checker(header)
    if not check.end(head) and header.own is None:
        report.note(f"the audit chain of {name} does not end with the row that its head names")
    judge_chain(check, name, report, options)


def judge_chain(check: ChainCheck, name: str, report: SourceReport, options: ReadOptions) -> None:
    """Note the result of a check; raise `Unreadable` for a broken chain, unless the user accepts it."""
    if check.broken is not None:
        number, reason = check.broken
        if not options.accept_broken_audit:
            raise _broken_audit(name, number, reason)
        report.inputs.broken_chain = f"the audit chain of {name} is broken at row {number:,}: {reason}"
        report.note(report.inputs.broken_chain)
    elif check.count:
        report.note(_audit(check.count, check.verified, check.linked))


def _decoded(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _note_sensitive_row(raw: bytes, header: Header) -> None:
    row = _decoded(raw)
    if not isinstance(row, dict):
        return
    if row.get("cipher_blob") and len(header.encrypted_rows) < _SAMPLES:
        header.encrypted_rows.append((str(row.get("id")), row["cipher_blob"]))
    if row.get("sensitive") is True or row.get("encrypted") is True:
        found = header.encrypted_scopes if row.get("cipher_blob") else header.scopes
        scope = row["scope"] if isinstance(row.get("scope"), str) else DEFAULT_SCOPE
        if "\0" not in scope:
            found.add(scope)


def _cipher_of(name: str, header: Header, options: ReadOptions) -> Cipher | None:
    """Return the cipher for encrypted rows; raise `WrongPassphrase` if the passphrase decrypts none of them."""
    block, check = header.key_block(), (header.encryption or {}).get("check")
    if block is None or not (header.encrypted_rows or check) or not (secret := options.secret()):
        return None
    try:
        cipher = cipher_for(secret, block)
    except BadRecord as error:
        raise Unreadable(name, str(error)) from None
    if isinstance(check, str):
        right = cipher.can_decrypt(check)
    else:
        right = any(cipher.can_decrypt(blob) for _, blob in header.encrypted_rows)
    if not right:
        raise WrongPassphrase(name)
    return cipher


def _audit(rows: int, verified: int, linked: int) -> str:
    """Return the note for a valid audit chain."""
    noun = "1 row" if rows == 1 else f"{rows:,} rows"
    return f"the audit chain of {noun} is continuous: {verified:,} verified, {linked:,} linked"


def _broken_audit(name: str, row: int, reason: str) -> Unreadable:
    """Return the error for a file with a broken audit chain."""
    hint = "nothing was imported; use `--accept-broken-audit` to import it anyway"
    return Unreadable(name, f"its audit chain is broken at row {row:,}: {reason}", hint)
