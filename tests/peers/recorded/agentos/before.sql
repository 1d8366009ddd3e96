CREATE TABLE brain_meta (
  brain_id TEXT NOT NULL,
  key      TEXT NOT NULL,
  value    TEXT NOT NULL,
  PRIMARY KEY (brain_id, key)
);
INSERT INTO "brain_meta" VALUES ('mind', 'schema_version', '2');
INSERT INTO "brain_meta" VALUES ('mind', 'created_at', '1795013405135');
INSERT INTO "brain_meta" VALUES ('mind', 'embedding_dimensions', '4');
CREATE TABLE memory_traces (
  brain_id        TEXT    NOT NULL,
  id              TEXT    NOT NULL,
  type            TEXT    NOT NULL,
  scope           TEXT    NOT NULL,
  content         TEXT    NOT NULL,
  embedding       BLOB,
  strength        REAL    NOT NULL DEFAULT 1.0,
  created_at      INTEGER NOT NULL,
  last_accessed   INTEGER,
  retrieval_count INTEGER NOT NULL DEFAULT 0,
  tags            TEXT    NOT NULL DEFAULT '[]',
  emotions        TEXT    NOT NULL DEFAULT '{}',
  metadata        TEXT    NOT NULL DEFAULT '{}',
  deleted         INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (brain_id, id)
);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_6d4f1817-1bf0-4077-82bc-e39597913432', 'episodic', 'user', 'The office has a blue door.', X'00000000000000000000803E0000403F', 1.0, 1795013405137, NULL, 0, '["team"]', '{}', '{"content_hash":"392161e57f3bd1a762cc6aea6470f8560251df4425a13c95251fdf1a3b646873","entities":["Ada"],"scopeId":"","decay":{"stability":86400000,"accessCount":0,"reinforcementInterval":86400000}}', 0);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_1bb583f0-3447-469b-ae7a-e7000e43ce18', 'episodic', 'user', 'The build takes nine minutes.', X'000000000000803E0000003F0000003E', 1.0, 1795013405154, NULL, 0, '["team"]', '{}', '{"content_hash":"b574d4b206fb6e19e31ffbbd53f19fa685e86840dc194d3a3ccb6339da366dfe","entities":["Ada"],"scopeId":"","decay":{"stability":86400000,"accessCount":0,"reinforcementInterval":86400000}}', 0);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_d8d3dd33-3eb7-4f01-802b-ca5735f77089', 'episodic', 'user', 'Tea is served at four o''clock.', X'0000000000000000000000000000803E', 1.0, 1795013405155, NULL, 0, '["team"]', '{}', '{"content_hash":"6857cfa23a428683ef1f322f307d5be99308d3a13e03b63fd96c786f1e234fc5","entities":["Ada"],"scopeId":"","decay":{"stability":86400000,"accessCount":0,"reinforcementInterval":86400000}}', 0);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_99d4c6b6-01b4-4752-9a9c-3e4640ed3faa', 'episodic', 'user', 'Releases are tagged on Mondays.', X'000000000000003E0000003E0000C03E', 1.0, 1795013405155, NULL, 0, '["team"]', '{}', '{"content_hash":"ac16fff5b92423408dad9738248ff0df597130ce0358ea5686b18eb882cc2217","entities":["Ada"],"scopeId":"","decay":{"stability":86400000,"accessCount":0,"reinforcementInterval":86400000}}', 0);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_1422ecf2-6812-47da-875f-1853879baf0d', 'episodic', 'user', 'The old printer is on floor two.', X'000000000000803E0000803E0000003F', 1.0, 1795013405155, NULL, 0, '["team"]', '{}', '{"content_hash":"2a428a9dcb491cc6705c9d2e74223a8d7c71c7463a3b16e8bc171986743d0af6","entities":["Ada"],"scopeId":"","decay":{"stability":86400000,"accessCount":0,"reinforcementInterval":86400000}}', 0);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_72fc877f-77ef-4138-bde9-c1034cfa003a', 'episodic', 'user', 'The staging server is called Nimbus.', X'00000000000000000000003E0000003E', 1.0, 1795013405155, NULL, 0, '["team"]', '{}', '{"content_hash":"eff254383c459f051c9b24ad08703ca84f6fd9db79d62766ebf3281b7e67d0bf","entities":["Ada"],"scopeId":"","decay":{"stability":86400000,"accessCount":0,"reinforcementInterval":86400000}}', 0);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_6130c101-d3cb-4222-81f4-aa4c22ad9f8a', 'episodic', 'user', 'The lift is out of order.', X'000000000000003E000000000000003F', 1.0, 1795013405155, NULL, 0, '["team"]', '{}', '{"content_hash":"d4456c050ce6a41e6d416950756fb7f06810a5aa3aa470d4a8da433f48a7f6a8","entities":["Ada"],"scopeId":"","decay":{"stability":86400000,"accessCount":0,"reinforcementInterval":86400000}}', 0);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_80d33dea-fd69-44a5-84c7-d44c1410e866', 'episodic', 'user', 'Ada reviews the parser.', X'000000000000803E0000C03E0000803E', 1.0, 1795013405156, NULL, 0, '["team"]', '{}', '{"content_hash":"8eae1bea44e01fdbfd04a8027670cce18bbcf66ca43c8910385c69e9eba2b654","entities":["Ada"],"scopeId":"","decay":{"stability":86400000,"accessCount":0,"reinforcementInterval":86400000}}', 0);
CREATE TABLE knowledge_nodes (
  brain_id   TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  type       TEXT    NOT NULL,
  label      TEXT    NOT NULL,
  properties TEXT    NOT NULL DEFAULT '{}',
  embedding  BLOB,
  confidence REAL    NOT NULL DEFAULT 1.0,
  source     TEXT    NOT NULL DEFAULT '{}',
  created_at INTEGER NOT NULL,
  PRIMARY KEY (brain_id, id)
);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_6d4f1817-1bf0-4077-82bc-e39597913432', 'memory_graph', 'mt_6d4f1817-1bf0-4077-82bc-e39597913432', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795013405137}', NULL, 1.0, '{}', 1795013405137);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_1bb583f0-3447-469b-ae7a-e7000e43ce18', 'memory_graph', 'mt_1bb583f0-3447-469b-ae7a-e7000e43ce18', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795013405154}', NULL, 1.0, '{}', 1795013405154);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_d8d3dd33-3eb7-4f01-802b-ca5735f77089', 'memory_graph', 'mt_d8d3dd33-3eb7-4f01-802b-ca5735f77089', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795013405155}', NULL, 1.0, '{}', 1795013405155);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_99d4c6b6-01b4-4752-9a9c-3e4640ed3faa', 'memory_graph', 'mt_99d4c6b6-01b4-4752-9a9c-3e4640ed3faa', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795013405155}', NULL, 1.0, '{}', 1795013405155);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_1422ecf2-6812-47da-875f-1853879baf0d', 'memory_graph', 'mt_1422ecf2-6812-47da-875f-1853879baf0d', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795013405155}', NULL, 1.0, '{}', 1795013405155);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_72fc877f-77ef-4138-bde9-c1034cfa003a', 'memory_graph', 'mt_72fc877f-77ef-4138-bde9-c1034cfa003a', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795013405155}', NULL, 1.0, '{}', 1795013405155);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_6130c101-d3cb-4222-81f4-aa4c22ad9f8a', 'memory_graph', 'mt_6130c101-d3cb-4222-81f4-aa4c22ad9f8a', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795013405155}', NULL, 1.0, '{}', 1795013405155);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_80d33dea-fd69-44a5-84c7-d44c1410e866', 'memory_graph', 'mt_80d33dea-fd69-44a5-84c7-d44c1410e866', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795013405156}', NULL, 1.0, '{}', 1795013405156);
CREATE TABLE knowledge_edges (
  brain_id      TEXT    NOT NULL,
  id            TEXT    NOT NULL,
  source_id     TEXT    NOT NULL,
  target_id     TEXT    NOT NULL,
  type          TEXT    NOT NULL,
  weight        REAL    NOT NULL DEFAULT 1.0,
  bidirectional INTEGER NOT NULL DEFAULT 0,
  metadata      TEXT    NOT NULL DEFAULT '{}',
  created_at    INTEGER NOT NULL,
  PRIMARY KEY (brain_id, id),
  FOREIGN KEY (brain_id, source_id) REFERENCES knowledge_nodes(brain_id, id),
  FOREIGN KEY (brain_id, target_id) REFERENCES knowledge_nodes(brain_id, id)
);
CREATE TABLE documents (
  brain_id     TEXT    NOT NULL,
  id           TEXT    NOT NULL,
  path         TEXT    NOT NULL,
  format       TEXT    NOT NULL,
  title        TEXT,
  content_hash TEXT    NOT NULL,
  chunk_count  INTEGER NOT NULL DEFAULT 0,
  metadata     TEXT    NOT NULL DEFAULT '{}',
  ingested_at  INTEGER NOT NULL,
  PRIMARY KEY (brain_id, id)
);
CREATE TABLE document_chunks (
  brain_id     TEXT    NOT NULL,
  id           TEXT    NOT NULL,
  document_id  TEXT    NOT NULL,
  trace_id     TEXT,
  content      TEXT    NOT NULL,
  chunk_index  INTEGER NOT NULL,
  page_number  INTEGER,
  embedding    BLOB,
  PRIMARY KEY (brain_id, id),
  FOREIGN KEY (brain_id, document_id) REFERENCES documents(brain_id, id),
  FOREIGN KEY (brain_id, trace_id) REFERENCES memory_traces(brain_id, id)
);
CREATE TABLE document_images (
  brain_id    TEXT    NOT NULL,
  id          TEXT    NOT NULL,
  document_id TEXT    NOT NULL,
  chunk_id    TEXT,
  data        BLOB    NOT NULL,
  mime_type   TEXT    NOT NULL,
  caption     TEXT,
  page_number INTEGER,
  embedding   BLOB,
  PRIMARY KEY (brain_id, id),
  FOREIGN KEY (brain_id, document_id) REFERENCES documents(brain_id, id),
  FOREIGN KEY (brain_id, chunk_id) REFERENCES document_chunks(brain_id, id)
);
CREATE TABLE consolidation_log (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  brain_id    TEXT    NOT NULL,
  ran_at      INTEGER NOT NULL,
  pruned      INTEGER NOT NULL DEFAULT 0,
  merged      INTEGER NOT NULL DEFAULT 0,
  derived     INTEGER NOT NULL DEFAULT 0,
  compacted   INTEGER NOT NULL DEFAULT 0,
  duration_ms INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE retrieval_feedback (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  brain_id   TEXT    NOT NULL,
  trace_id   TEXT    NOT NULL,
  signal     TEXT    NOT NULL,
  query      TEXT,
  created_at INTEGER NOT NULL,
  FOREIGN KEY (brain_id, trace_id) REFERENCES memory_traces(brain_id, id)
);
CREATE TABLE conversations (
  brain_id   TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  title      TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  metadata   TEXT    NOT NULL DEFAULT '{}',
  PRIMARY KEY (brain_id, id)
);
CREATE TABLE messages (
  brain_id        TEXT    NOT NULL,
  id              TEXT    NOT NULL,
  conversation_id TEXT    NOT NULL,
  role            TEXT    NOT NULL,
  content         TEXT    NOT NULL,
  created_at      INTEGER NOT NULL,
  metadata        TEXT    NOT NULL DEFAULT '{}',
  PRIMARY KEY (brain_id, id),
  FOREIGN KEY (brain_id, conversation_id) REFERENCES conversations(brain_id, id)
);
CREATE TABLE prospective_items (
  brain_id             TEXT    NOT NULL,
  id                   TEXT    NOT NULL,
  content              TEXT    NOT NULL,
  trigger_type         TEXT    NOT NULL,
  trigger_at           INTEGER,
  trigger_event        TEXT,
  cue_text             TEXT,
  cue_embedding        BLOB,
  similarity_threshold REAL    DEFAULT 0.7,
  importance           REAL    NOT NULL DEFAULT 0.5,
  triggered            INTEGER NOT NULL DEFAULT 0,
  recurring            INTEGER NOT NULL DEFAULT 0,
  source_trace_id      TEXT,
  created_at           INTEGER NOT NULL,
  PRIMARY KEY (brain_id, id)
);
CREATE TABLE archived_traces (
  brain_id         TEXT    NOT NULL,
  trace_id         TEXT    NOT NULL,
  agent_id         TEXT    NOT NULL,
  verbatim_content TEXT    NOT NULL,
  content_hash     TEXT    NOT NULL,
  trace_type       TEXT    NOT NULL,
  emotional_context TEXT   NOT NULL DEFAULT '{}',
  entities         TEXT    NOT NULL DEFAULT '[]',
  tags             TEXT    NOT NULL DEFAULT '[]',
  created_at       INTEGER NOT NULL,
  archived_at      INTEGER NOT NULL,
  archive_reason   TEXT    NOT NULL,
  byte_size        INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (brain_id, trace_id)
);
CREATE TABLE archive_access_log (
  brain_id        TEXT    NOT NULL,
  trace_id        TEXT    NOT NULL,
  accessed_at     INTEGER NOT NULL,
  request_context TEXT,
  PRIMARY KEY (brain_id, trace_id, accessed_at)
);
