"""A first look through a file, where one is needed before anything of it may be imported.

An audit chain that is broken refuses the file, and so does a wrong passphrase. Both stand behind the memories, so a
file that has either is read twice.
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
    """What a file says of itself."""

    metadata: dict[str, Any] | None = None
    encryption: dict[str, Any] | None = None
    encrypted_rows: list[tuple[str, Any]] = field(default_factory=list)
    scopes: set[str] = field(default_factory=set)
    """The scopes of rows that are marked as sensitive and can be read."""
    encrypted_scopes: set[str] = field(default_factory=set)

    @property
    def strict(self) -> bool:
        """Whether it says that it is memoryd's."""
        return (self.metadata or {}).get("exporter_version") == STRICT

    @property
    def own(self) -> dict[str, Any] | None:
        """What this tool wrote into its metadata, if it did."""
        own = (self.metadata or {}).get(KEY)
        return own if isinstance(own, dict) else None

    def proof(self, cipher: Cipher | None) -> Proof | None:
        """The proof of the file; one that would tell of what is sealed is sealed too."""
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
        """When it was written, if it tells."""
        try:
            return microseconds((self.metadata or {}).get("export_timestamp"), "export_timestamp") or 0
        except BadRecord:
            return 0

    def key_block(self) -> dict[str, Any] | None:
        """How it is sealed: memoryd says so in the metadata, the page at the top level."""
        inner = (self.metadata or {}).get("encryption")
        return inner if isinstance(inner, dict) else self.encryption


def scan_file(source: Source, report: SourceReport, options: ReadOptions) -> tuple[Header, Cipher | None]:
    """What must be known of a file first, and what opens its blobs; raises `Unreadable` for one that is refused."""
    keys = list(first_keys(source.head))
    header = Header()
    if keys[:1] != ["export_metadata"] or _needs_scan(source):
        again = source.reopen()
        assert again is not None
        _read_through(Source(source.name, again), header, report, options)
    cipher = _cipher_of(source.name, header, options)
    # What cannot be opened will not be there to be kept from others.
    report.inputs.sensitive |= header.scopes if cipher is None else header.scopes | header.encrypted_scopes
    return header, cipher


def _needs_scan(source: Source) -> bool:
    """Tell whether any of the keys stands in the file that make a first look necessary."""
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
    """The check of a file's audit chain, and whether its recorded head fits; nothing is refused."""
    header = Header()
    check = _scan_sections(source, header) or _checker(header)
    return check, check.end((header.metadata or {}).get("audit_chain_head"))


def _has_scanned_keys(text: bytes) -> bool:
    """Tell whether a text has what must be known before the first memory: a chain, something sealed, a sensitive scope.

    A letter that is escaped may hide any of these keys. Plain searches come first: they cost next to nothing.
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
        report.note(f"the audit chain of {name} ends with another row than its head says")
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
    """What opens the sealed rows; raises `WrongPassphrase` where the passphrase opens none of them."""
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
    """An audit chain that holds."""
    noun = "1 row" if rows == 1 else f"{rows:,} rows"
    return f"the audit chain of {noun} is continuous: {verified:,} verified, {linked:,} linked"


def _broken_audit(name: str, row: int, reason: str) -> Unreadable:
    """A file whose audit chain was tampered with."""
    hint = "nothing was imported; `--accept-broken-audit` imports it all the same"
    return Unreadable(name, f"its audit chain is broken at row {row:,}: {reason}", hint)
