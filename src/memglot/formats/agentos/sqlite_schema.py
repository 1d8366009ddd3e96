"""The tables of an AgentOS brain, schema version 2, as the program creates them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

VERSION = "2"
DIMENSIONS = "1536"
TRACES = "memory_traces"
FULL_TEXT = "memory_traces_fts"
OURS = "memglot"
"""Our own table, which AgentOS keeps and ignores: items without a row, one JSON text each, and the proof."""

TABLES = """
CREATE TABLE brain_meta (brain_id TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (brain_id,
  key));
CREATE TABLE memory_traces (brain_id TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, scope TEXT NOT NULL,
  content TEXT NOT NULL, embedding BLOB, strength REAL NOT NULL DEFAULT 1.0, created_at INTEGER NOT NULL,
  last_accessed INTEGER, retrieval_count INTEGER NOT NULL DEFAULT 0, tags TEXT NOT NULL DEFAULT '[]', emotions TEXT
  NOT NULL DEFAULT '{}', metadata TEXT NOT NULL DEFAULT '{}', deleted INTEGER NOT NULL DEFAULT 0, PRIMARY KEY
  (brain_id, id));
CREATE TABLE knowledge_nodes (brain_id TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, label TEXT NOT NULL,
  properties TEXT NOT NULL DEFAULT '{}', embedding BLOB, confidence REAL NOT NULL DEFAULT 1.0, source TEXT NOT NULL
  DEFAULT '{}', created_at INTEGER NOT NULL, PRIMARY KEY (brain_id, id));
CREATE TABLE knowledge_edges (brain_id TEXT NOT NULL, id TEXT NOT NULL, source_id TEXT NOT NULL, target_id TEXT NOT
  NULL, type TEXT NOT NULL, weight REAL NOT NULL DEFAULT 1.0, bidirectional INTEGER NOT NULL DEFAULT 0, metadata
  TEXT NOT NULL DEFAULT '{}', created_at INTEGER NOT NULL, PRIMARY KEY (brain_id, id), FOREIGN KEY (brain_id,
  source_id) REFERENCES knowledge_nodes(brain_id, id), FOREIGN KEY (brain_id, target_id) REFERENCES
  knowledge_nodes(brain_id, id));
CREATE TABLE documents (brain_id TEXT NOT NULL, id TEXT NOT NULL, path TEXT NOT NULL, format TEXT NOT NULL, title
  TEXT, content_hash TEXT NOT NULL, chunk_count INTEGER NOT NULL DEFAULT 0, metadata TEXT NOT NULL DEFAULT '{}',
  ingested_at INTEGER NOT NULL, PRIMARY KEY (brain_id, id));
CREATE TABLE document_chunks (brain_id TEXT NOT NULL, id TEXT NOT NULL, document_id TEXT NOT NULL, trace_id TEXT,
  content TEXT NOT NULL, chunk_index INTEGER NOT NULL, page_number INTEGER, embedding BLOB, PRIMARY KEY (brain_id,
  id), FOREIGN KEY (brain_id, document_id) REFERENCES documents(brain_id, id), FOREIGN KEY (brain_id, trace_id)
  REFERENCES memory_traces(brain_id, id));
CREATE TABLE document_images (brain_id TEXT NOT NULL, id TEXT NOT NULL, document_id TEXT NOT NULL, chunk_id TEXT,
  data BLOB NOT NULL, mime_type TEXT NOT NULL, caption TEXT, page_number INTEGER, embedding BLOB, PRIMARY KEY
  (brain_id, id), FOREIGN KEY (brain_id, document_id) REFERENCES documents(brain_id, id), FOREIGN KEY (brain_id,
  chunk_id) REFERENCES document_chunks(brain_id, id));
CREATE TABLE consolidation_log (id INTEGER PRIMARY KEY AUTOINCREMENT, brain_id TEXT NOT NULL, ran_at INTEGER NOT
  NULL, pruned INTEGER NOT NULL DEFAULT 0, merged INTEGER NOT NULL DEFAULT 0, derived INTEGER NOT NULL DEFAULT 0,
  compacted INTEGER NOT NULL DEFAULT 0, duration_ms INTEGER NOT NULL DEFAULT 0);
CREATE TABLE retrieval_feedback (id INTEGER PRIMARY KEY AUTOINCREMENT, brain_id TEXT NOT NULL, trace_id TEXT NOT
  NULL, signal TEXT NOT NULL, query TEXT, created_at INTEGER NOT NULL, FOREIGN KEY (brain_id, trace_id) REFERENCES
  memory_traces(brain_id, id));
CREATE TABLE conversations (brain_id TEXT NOT NULL, id TEXT NOT NULL, title TEXT, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, metadata TEXT NOT NULL DEFAULT '{}', PRIMARY KEY (brain_id, id));
CREATE TABLE messages (brain_id TEXT NOT NULL, id TEXT NOT NULL, conversation_id TEXT NOT NULL, role TEXT NOT NULL,
  content TEXT NOT NULL, created_at INTEGER NOT NULL, metadata TEXT NOT NULL DEFAULT '{}', PRIMARY KEY (brain_id,
  id), FOREIGN KEY (brain_id, conversation_id) REFERENCES conversations(brain_id, id));
CREATE TABLE prospective_items (brain_id TEXT NOT NULL, id TEXT NOT NULL, content TEXT NOT NULL, trigger_type TEXT
  NOT NULL, trigger_at INTEGER, trigger_event TEXT, cue_text TEXT, cue_embedding BLOB, similarity_threshold REAL
  DEFAULT 0.7, importance REAL NOT NULL DEFAULT 0.5, triggered INTEGER NOT NULL DEFAULT 0, recurring INTEGER NOT
  NULL DEFAULT 0, source_trace_id TEXT, created_at INTEGER NOT NULL, PRIMARY KEY (brain_id, id));
CREATE TABLE archived_traces (brain_id TEXT NOT NULL, trace_id TEXT NOT NULL, agent_id TEXT NOT NULL,
  verbatim_content TEXT NOT NULL, content_hash TEXT NOT NULL, trace_type TEXT NOT NULL, emotional_context TEXT NOT
  NULL DEFAULT '{}', entities TEXT NOT NULL DEFAULT '[]', tags TEXT NOT NULL DEFAULT '[]', created_at INTEGER NOT
  NULL, archived_at INTEGER NOT NULL, archive_reason TEXT NOT NULL, byte_size INTEGER NOT NULL DEFAULT 0, PRIMARY
  KEY (brain_id, trace_id));
CREATE TABLE archive_access_log (brain_id TEXT NOT NULL, trace_id TEXT NOT NULL, accessed_at INTEGER NOT NULL,
  request_context TEXT, PRIMARY KEY (brain_id, trace_id, accessed_at));
"""

INDEXES = """
CREATE INDEX idx_memory_traces_brain_type ON memory_traces (brain_id, type, created_at DESC);
CREATE INDEX idx_memory_traces_brain_scope ON memory_traces (brain_id, scope);
CREATE INDEX idx_knowledge_nodes_brain_type ON knowledge_nodes (brain_id, type);
CREATE INDEX idx_knowledge_edges_brain_source ON knowledge_edges (brain_id, source_id);
CREATE INDEX idx_knowledge_edges_brain_target ON knowledge_edges (brain_id, target_id);
CREATE INDEX idx_document_chunks_brain_document ON document_chunks (brain_id, document_id, chunk_index);
CREATE INDEX idx_consolidation_log_brain_time ON consolidation_log (brain_id, ran_at DESC);
CREATE INDEX idx_retrieval_feedback_brain_trace ON retrieval_feedback (brain_id, trace_id, created_at DESC);
CREATE INDEX idx_messages_brain_conversation ON messages (brain_id, conversation_id, created_at);
CREATE INDEX idx_archived_traces_brain_time ON archived_traces (brain_id, archived_at);
CREATE INDEX idx_archived_traces_brain_reason ON archived_traces (brain_id, archive_reason);
CREATE INDEX idx_archive_access_recency ON archive_access_log (brain_id, trace_id, accessed_at DESC);
"""

TEXT = """
CREATE VIRTUAL TABLE memory_traces_fts USING fts5(
  content, tags, content='memory_traces', content_rowid='rowid', tokenize='porter ascii');
INSERT INTO memory_traces_fts(memory_traces_fts) VALUES('rebuild');
"""

OWN_TABLE = "CREATE TABLE memglot (kind TEXT, value TEXT)"


@cache
def known_columns() -> dict[str, tuple[str, ...]]:
    """Return the columns of every table that AgentOS knows."""
    import apsw

    db = apsw.Connection(":memory:")
    db.execute(TABLES)
    names = [name for (name,) in db.execute("SELECT name FROM pragma_table_list WHERE schema = 'main'")]
    return {
        name: tuple(column for (column,) in db.execute("SELECT name FROM pragma_table_info(?)", (name,)))
        for name in names
        if not name.startswith("sqlite_")
    }


@cache
def required_columns(table: str) -> frozenset[str]:
    """Return the columns of a known table that may not be NULL."""
    import apsw

    db = apsw.Connection(":memory:")
    db.execute(TABLES)
    return frozenset(name for (name,) in db.execute('SELECT name FROM pragma_table_info(?) WHERE "notnull"', (table,)))


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def unquoted(name: str) -> str:
    """Return a name without the quotes of SQL."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


_OLDEST = "CAST(min(CASE WHEN typeof(created_at) IN ('integer', 'real') THEN created_at END) AS INTEGER)"
_LONGEST = "max(CASE WHEN typeof(embedding) = 'blob' AND length(embedding) % 4 = 0 THEN length(embedding) / 4 END)"


def own_meta(db: apsw.Connection, brain: str) -> dict[str, str]:
    """Return the default values of `brain_meta`, computed from the traces of a brain."""
    sql = f"SELECT {_OLDEST}, {_LONGEST} FROM {TRACES} NOT INDEXED WHERE brain_id = ?"
    ((at, dimensions),) = db.execute(sql, (brain,)).fetchall()
    return {
        "schema_version": VERSION,
        "created_at": str(at or 0),
        "embedding_dimensions": str(dimensions or DIMENSIONS),
    }
