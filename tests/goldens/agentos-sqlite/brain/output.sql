CREATE TABLE brain_meta (brain_id TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (brain_id,
  key));
INSERT INTO brain_meta VALUES ('input', 'schema_version', '2');
INSERT INTO brain_meta VALUES ('input', 'created_at', '1760000001000');
INSERT INTO brain_meta VALUES ('input', 'embedding_dimensions', '2');
CREATE TABLE memory_traces (brain_id TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, scope TEXT NOT NULL,
  content TEXT NOT NULL, embedding BLOB, strength REAL NOT NULL DEFAULT 1.0, created_at INTEGER NOT NULL,
  last_accessed INTEGER, retrieval_count INTEGER NOT NULL DEFAULT 0, tags TEXT NOT NULL DEFAULT '[]', emotions TEXT
  NOT NULL DEFAULT '{}', metadata TEXT NOT NULL DEFAULT '{}', deleted INTEGER NOT NULL DEFAULT 0, "mood", PRIMARY KEY
  (brain_id, id));
INSERT INTO memory_traces VALUES ('input', 'mt_67656b43-7b3d-4b90-896a-729f2987afbc', 'semantic', 'user', 'The user prefers tea', X'0000803F000000BF', 0.97, 1760000002000, 1760000048000, 1, '["preference","drink"]', '{"valence":0.5,"arousal":0.1}', '{"content_hash":"d28a16bf3ee83e4ea7fe4ee6f0be6ef0f9b3a8e4ae8ba1ab2d0ff9bfbcd3a6e1","entities":["tea"],"scopeId":"u1","decay":{"stability":86400000,"accessCount":1,"reinforcementInterval":172800000}}', 0, 'calm');
INSERT INTO memory_traces VALUES ('input', 'mt_empty', 'episodic', 'user', '', NULL, 1.0, 1760000004000, NULL, 0, '[]', '{}', '{}', 0, NULL);
INSERT INTO memory_traces VALUES ('input', 'local-1', 'episodic', 'thread', 'A brew that was forgotten', NULL, 1.0, 1760000003000, NULL, 0, '[ "a" ]', '{}', '{"source": "chat"}', 1, NULL);
INSERT INTO memory_traces VALUES ('guest', 'local-1', 'episodic', 'user', 'Of another brain', NULL, 1.0, 1760000005000, NULL, 0, '[]', '{}', '{}', 0, NULL);
CREATE TABLE knowledge_nodes (brain_id TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, label TEXT NOT NULL,
  properties TEXT NOT NULL DEFAULT '{}', embedding BLOB, confidence REAL NOT NULL DEFAULT 1.0, source TEXT NOT NULL
  DEFAULT '{}', created_at INTEGER NOT NULL, PRIMARY KEY (brain_id, id));
INSERT INTO knowledge_nodes VALUES ('input', 'mt_67656b43-7b3d-4b90-896a-729f2987afbc', 'memory_graph', 'mt_67656b43-7b3d-4b90-896a-729f2987afbc', '{"type":"semantic"}', NULL, 0.97, '{}', 1760000002000);
INSERT INTO knowledge_nodes VALUES ('input', 'ent_tea', 'concept', 'Tea', '{"_tags":[]}', NULL, 1.0, '{}', 1760000002000);
CREATE TABLE knowledge_edges (brain_id TEXT NOT NULL, id TEXT NOT NULL, source_id TEXT NOT NULL, target_id TEXT NOT
  NULL, type TEXT NOT NULL, weight REAL NOT NULL DEFAULT 1.0, bidirectional INTEGER NOT NULL DEFAULT 0, metadata
  TEXT NOT NULL DEFAULT '{}', created_at INTEGER NOT NULL, PRIMARY KEY (brain_id, id), FOREIGN KEY (brain_id,
  source_id) REFERENCES knowledge_nodes(brain_id, id), FOREIGN KEY (brain_id, target_id) REFERENCES
  knowledge_nodes(brain_id, id));
INSERT INTO knowledge_edges VALUES ('input', 'rel_1', 'mt_67656b43-7b3d-4b90-896a-729f2987afbc', 'ent_tea', 'mentions', 0.9, 0, '{}', 1760000002000);
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
INSERT INTO consolidation_log VALUES (4, 'input', 1760000009000, 1, 0, 0, 0, 0);
CREATE TABLE retrieval_feedback (id INTEGER PRIMARY KEY AUTOINCREMENT, brain_id TEXT NOT NULL, trace_id TEXT NOT
  NULL, signal TEXT NOT NULL, query TEXT, created_at INTEGER NOT NULL, FOREIGN KEY (brain_id, trace_id) REFERENCES
  memory_traces(brain_id, id));
CREATE TABLE conversations (brain_id TEXT NOT NULL, id TEXT NOT NULL, title TEXT, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, metadata TEXT NOT NULL DEFAULT '{}', PRIMARY KEY (brain_id, id));
INSERT INTO conversations VALUES ('input', 'conv_1', NULL, 1, 2, '{}');
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
INSERT INTO memglot VALUES ('instead', '{"blob":{"key":"input/29ffc89385703db204234d46ae940b97","row":{"id":4,"pruned":1,"ran_at":1760000009000},"table":"consolidation_log","tool":"agentos"},"of":"a1973224eddbcd4cf51cc1f79476fc69"}');
INSERT INTO memglot VALUES ('instead', '{"blob":{"key":"memory_traces","row":{"columns":[{"name":"mood","notnull":0,"pk":0,"type":"TEXT"}],"name":"memory_traces"},"table":"sqlite_schema","tool":"agentos"},"of":"afb1c7ac562e200d6aa617387ef06915"}');
INSERT INTO memglot VALUES ('main', 'input');
INSERT INTO memglot VALUES ('end', '{"count":3,"digest":"sha256:cb9522dc41fb4f1ca8a6e1b2ff2bcbe4c1c833faa9631e7e054c137723b26bd2","alone":true}');
CREATE TABLE "plugin_state" ("brain_id" TEXT, "name" TEXT, "state" BLOB, PRIMARY KEY ("name"));
INSERT INTO plugin_state VALUES ('input', 'clock', X'00FF');
