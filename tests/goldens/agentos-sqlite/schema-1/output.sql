CREATE TABLE brain_meta (brain_id TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (brain_id,
  key));
INSERT INTO brain_meta VALUES ('output', 'schema_version', '2');
INSERT INTO brain_meta VALUES ('output', 'created_at', '1760000002000');
INSERT INTO brain_meta VALUES ('output', 'embedding_dimensions', '1536');
CREATE TABLE memory_traces (brain_id TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, scope TEXT NOT NULL,
  content TEXT NOT NULL, embedding BLOB, strength REAL NOT NULL DEFAULT 1.0, created_at INTEGER NOT NULL,
  last_accessed INTEGER, retrieval_count INTEGER NOT NULL DEFAULT 0, tags TEXT NOT NULL DEFAULT '[]', emotions TEXT
  NOT NULL DEFAULT '{}', metadata TEXT NOT NULL DEFAULT '{}', deleted INTEGER NOT NULL DEFAULT 0, PRIMARY KEY
  (brain_id, id));
INSERT INTO memory_traces VALUES ('output', 'mt_1', 'episodic', 'user', 'Three columns are enough', NULL, 1.0, 1760000002000, NULL, 0, '[]', '{}', '{}', 0);
INSERT INTO memory_traces VALUES ('output', '2', 'episodic', 'user', 'An id of its own', NULL, 1.0, 1760000003000, NULL, 0, '[]', '{}', '{}', 0);
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
CREATE TABLE memglot (kind TEXT, value TEXT);
INSERT INTO memglot VALUES ('instead', '{"blob":null,"of":"69bbb0559bb71f9a57288457dc0e8cb8"}');
INSERT INTO memglot VALUES ('instead', '{"blob":null,"of":"6eec6e554dbbce923b12575c63cae1d5"}');
INSERT INTO memglot VALUES ('instead', '{"blob":null,"of":"c32a2731fd129dd9737e2d4e68a56b93"}');
INSERT INTO memglot VALUES ('main', 'output');
INSERT INTO memglot VALUES ('space', 'input');
INSERT INTO memglot VALUES ('end', '{"count":2,"digest":"sha256:1dab302ea3d49aa10058867ed4184dc0e8d0182d8816d256bad82fbbf472ebc3","alone":true}');
