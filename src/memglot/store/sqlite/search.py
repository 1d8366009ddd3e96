"""Full text search in the SQLite store: FTS5 where words are separated, a scan where they are not."""

import re
from collections.abc import Iterator
from typing import Any

import apsw

from memglot.store.contract import Filter, Found, Query
from memglot.store.sqlite.filters import NOT_DELETED, condition
from memglot.store.sqlite.functions import UNSPACED, grep_condition
from memglot.store.sqlite.records import Records
from memglot.store.sqlite.rows import COLUMNS, from_row

_RANK = "bm25(record_text, 1.0, 4.0, 2.0, 1.0)"


class Search(Records):
    """The part of the store that finds records by their text."""

    def search(self, query: Query, filter: Filter, limit: int, offset: int = 0) -> tuple[list[Found], int]:
        """The best matches and the true number of all."""
        match, scans = _plan(query, self.is_complete())
        conditions, bindings = condition(filter, joined=True)
        parts = [conditions, *(sql for sql, _ in scans)]
        bindings = [*bindings, *(value for _, values in scans for value in values)]
        if match is None:
            return self._scan(" AND ".join(parts), bindings, limit, offset)
        if parts == [f"({NOT_DELETED})"]:
            where = f"record_text MATCH ?1 AND {NOT_DELETED.replace('seq', 'rowid', 1)}"
            source = "record_text"
        else:
            where = "record_text MATCH ?1 AND " + " AND ".join(f"({part})" for part in parts)
            source = "record_text JOIN records ON records.seq = record_text.rowid"
        where = _qualified(where)
        sql = (
            f"SELECT record_text.rowid, -{_RANK} AS score FROM {source} WHERE {where} "
            f"ORDER BY score DESC, 1 DESC LIMIT {limit} OFFSET {offset}"
        )
        best = list(self._rows(sql, (match, *bindings)))
        total = self._value(f"SELECT count(*) FROM {source} WHERE {where}", (match, *bindings))
        return list(self._fetch(best)), int(total)

    def _scan(self, where: str, bindings: list[Any], limit: int, offset: int) -> tuple[list[Found], int]:
        """Search without an index; the newest come first."""
        sql = f"SELECT seq, 0.0 FROM records WHERE {where} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?"
        best = list(self._rows(sql, (*bindings, limit, offset)))
        total = self._value(f"SELECT count(*) FROM records WHERE {where}", bindings)
        return list(self._fetch(best)), int(total)

    def _fetch(self, best: list[tuple[Any, ...]]) -> Iterator[Found]:
        for seq, score in best:
            for row in self._rows(f"SELECT {COLUMNS} FROM records WHERE seq = ?", (seq,)):
                yield Found(from_row(row), score)

    def check_text(self) -> bool:
        """Tell whether the full text fits the records."""
        try:
            self.db.execute("INSERT INTO record_text (record_text, rank) VALUES ('integrity-check', 1)")
        except (apsw.CorruptError, apsw.SQLError):
            return False
        return True


def _plan(query: Query, indexed: bool) -> tuple[str | None, list[tuple[str, list[Any]]]]:
    """What the index is asked, and what is looked for in the text itself."""
    wanted = [*query.words, *query.phrases]
    scanned = [text for text in wanted if not indexed or UNSPACED.search(text)]
    asked = [text for text in wanted if text not in scanned]
    scans: list[tuple[str, list[Any]]] = [("memglot_has(?, content, title, tags, tree)", [text]) for text in scanned]
    if query.grep is not None:
        scans.append(grep_condition(query.grep))
    match = " AND ".join(map(_quoted, asked)) or None
    for text in query.without:
        if match is None or not indexed or UNSPACED.search(text):
            scans.append(("NOT memglot_has(?, content, title, tags, tree)", [text]))
        else:
            match = f"({match}) NOT {_quoted(text)}"
    return match, scans


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _qualified(where: str) -> str:
    """Name the table of columns that the index has under the same name."""
    return re.sub(r"(?<![.\w])(content|title|tags|tree)(?=\W)", r"records.\1", where)
