"""One memory of memoryd's data folder: its file, decrypted if necessary, and its row in the index."""

from __future__ import annotations

import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from memglot.errors import BadRecord
from memglot.formats.base import ReadOptions
from memglot.formats.memoryd.encryption import ITERATIONS, Cipher, cannot_open
from memglot.formats.memoryd.folder_index import time_of
from memglot.formats.syntax.markdown_frame import decode_note, split_note
from memglot.formats.syntax.yaml_reader import BrokenYaml
from memglot.report import SourceReport

_MOST_ITERATIONS = 10_000_000
_TIMES = ("created_at", "updated_at")
_KINDS = {
    "sessions": "session",
    "decisions": "decision",
    "preferences": "preference",
    "facts": "fact",
    "playbooks": "playbook",
    "warnings": "warning",
}


class MemoryFile(NamedTuple):
    """A file below `scopes/`, by its path in the data folder."""

    path: str

    @property
    def scope(self) -> str:
        """The hash of its scope."""
        return self.path.split("/")[1]

    @property
    def encrypted(self) -> bool:
        """Whether it is encrypted."""
        return self.path.endswith(".enc")

    @property
    def slug(self) -> str:
        """The slug in its name."""
        return self.path.rpartition("/")[2].removesuffix(".enc").removesuffix(".md")

    @property
    def kind(self) -> str:
        """The kind that its folder names."""
        return _KINDS.get(self.path.split("/")[2], "note")


class ScopeKeys:
    """The keys of encrypted scopes; the passphrase is asked for when the first one is needed."""

    def __init__(self, config: Path | None, options: ReadOptions) -> None:
        self._options, self._ciphers = options, dict[str, Cipher]()
        self._iterations = _iterations(config)

    @property
    def given(self) -> bool:
        """Return True if there is a passphrase."""
        return bool(self._options.secret())

    def decrypt(self, raw: bytes, scope: str) -> bytes:
        """Decrypt a file of a scope; raise `BadRecord`."""
        if scope not in self._ciphers:
            secret = self._options.secret() or ""
            self._ciphers[scope] = Cipher(secret, scope.encode("utf-8", "surrogateescape"), self._iterations)
        try:
            text = raw.decode("ascii").strip()
        except UnicodeDecodeError:
            raise cannot_open("it is not encrypted text") from None
        return self._ciphers[scope].decrypt(text, scope)


def _iterations(config: Path | None) -> int:
    """Return the number of rounds in memoryd's configuration, else its default."""
    try:
        found = tomllib.loads(config.read_text(encoding="utf-8")) if config is not None else {}
        rounds = found.get("sensitive", {}).get("kdf_iters")
    except (OSError, ValueError, AttributeError):
        return ITERATIONS
    valid = isinstance(rounds, int) and not isinstance(rounds, bool) and 1 <= rounds <= _MOST_ITERATIONS
    return rounds if valid else ITERATIONS


def split_file(raw: bytes, report: SourceReport) -> tuple[dict[str, Any], str]:
    """Return the front matter and the body of a file, as memoryd reads them; raise `BadRecord`.

    A file whose front matter is not valid is reported, and its text is the body.
    """
    text = decode_note(raw).replace("\r\n", "\n").replace("\r", "\n")
    try:
        frame = split_note(text)
    except (BrokenYaml, BadRecord) as error:
        line = error.line + 1 if isinstance(error, BrokenYaml) else 1
        report.fault(f"{error}; the complete file is imported as text", line=line)
        return {}, text.strip()
    return frame.front, text[frame.start :].strip()


def memory_row(
    file: MemoryFile, slug: str, front: dict[str, Any], body: str, found: dict[str, Any], *, sensitive: bool
) -> dict[str, Any]:
    """Return the row that memoryd exports for a memory; `found` is its row in the index."""
    base = found or front
    times = found if time_of(found.get("created_at")) is not None else front
    created, updated = (time if time_of(time := times.get(name)) is not None else None for name in _TIMES)
    title, scope = base.get("title"), base.get("scope_hash")
    title = title if isinstance(title, str) and title else slug
    scope = scope if isinstance(scope, str) and scope else file.scope
    decay = base.get("decay_state") or "alive"
    content = body or title
    return {
        "content": content,
        "content_hash": sha256(content.encode("utf-8", "surrogatepass")).hexdigest(),
        "tags": front.get("tags") or [],
        "created_at": created,
        "updated_at": updated or created,
        "memory_type": base.get("type") or file.kind,
        "metadata": {
            "slug": slug,
            "title": title,
            "scope_hash": scope,
            "ttl_days": base.get("ttl_days"),
            "decay_state": decay,
            "recall_count": base.get("recall_count") or 0,
        },
        "id": slug,
        "scope": scope,
        **({"source": base["source"]} if base.get("source") is not None else {}),
        "frontmatter": front,
        "entities": None,
        "relations": None,
        "supersedes": front.get("supersedes"),
        "superseded_by": None,
        "decay_state": decay,
        "sensitive": sensitive,
        "encrypted": False,
        "cipher_blob": None,
        "large_file_manifest": None,
        "merge_notes": None,
    }
