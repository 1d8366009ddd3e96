"""Records without an id that were imported before, recognised by digests of what was read."""

from __future__ import annotations

from memglot.disk import DiskCounter
from memglot.model import Record, digest_without_id
from memglot.store.contract import Store


class ImportedBefore:
    """Finds the memories that records without an id became in earlier imports.

    Of several equal records in one import, the first is compared with the first of earlier imports, and so on.
    """

    def __init__(self, store: Store, import_id: str, *, allow: bool) -> None:
        self._store, self._import_id = store, import_id
        self._finds_none = allow or not store.history.has_imported_digests()
        self._seen = DiskCounter()

    def close(self) -> None:
        """Delete the file on disk."""
        self._seen.close()

    def find(self, records: list[Record]) -> list[tuple[bytes, str | None]]:
        """Return the digest of each record, and the id of the memory that it became; `None` if it is new."""
        digests = [digest_without_id(record) for record in records]
        if self._finds_none:
            return [(digest, None) for digest in digests]
        known = self._store.history.imported_as(digests, other_than=self._import_id)
        found: list[tuple[bytes, str | None]] = []
        for digest in digests:
            ids = known.get(digest, ())
            number = self._seen.add(digest) if ids else 0
            found.append((digest, ids[number - 1] if 0 < number <= len(ids) else None))
        return found
