CREATE TABLE brain_meta (brain_id TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (brain_id,
  key));
INSERT INTO "brain_meta" VALUES ('mind', 'created_at', '1795016075147');
INSERT INTO "brain_meta" VALUES ('mind', 'embedding_dimensions', '4');
INSERT INTO "brain_meta" VALUES ('mind', 'schema_version', '2');
CREATE TABLE memory_traces (brain_id TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, scope TEXT NOT NULL,
  content TEXT NOT NULL, embedding BLOB, strength REAL NOT NULL DEFAULT 1.0, created_at INTEGER NOT NULL,
  last_accessed INTEGER, retrieval_count INTEGER NOT NULL DEFAULT 0, tags TEXT NOT NULL DEFAULT '[]', emotions TEXT
  NOT NULL DEFAULT '{}', metadata TEXT NOT NULL DEFAULT '{}', deleted INTEGER NOT NULL DEFAULT 0, PRIMARY KEY
  (brain_id, id));
INSERT INTO "memory_traces" VALUES ('mind', 'mt_385fce4b-fd52-41d7-9094-6c8dcf891396', 'episodic', 'user', 'The office has a blue door.', X'00000000000000000000803E0000403F', 1.0, 1795016075149, 1795016083879, 2, '["team"]', '{}', '{"content_hash":"392161e57f3bd1a762cc6aea6470f8560251df4425a13c95251fdf1a3b646873","entities":["Ada"],"scopeId":"","decay":{"stability":226996363.63636363,"accessCount":2,"reinforcementInterval":345600000,"nextReinforcementAt":1795361683879}}', 0);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_8f05465f-bf2f-4a99-8823-f859c47203df', 'episodic', 'user', 'The build takes five minutes.', NULL, 1.0, 1795016075150, 1795016083878, 1, '["team"]', '{}', '{"content_hash":"49de80b746c1f22114ee0de7263130b77e2fb7fbda172cf81f55485a9230e506","entities":["Ada"],"scopeId":"","decay":{"stability":146880000,"accessCount":1,"reinforcementInterval":172800000,"nextReinforcementAt":1795188883878}}', 0);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_acfda217-8486-4d2c-9190-4e8ad1209364', 'episodic', 'user', 'Tea is served at four o''clock.', X'0000000000000000000000000000803E', 1.0, 1795016075150, 1795016083878, 1, '["tea","daily"]', '{}', '{"content_hash":"6857cfa23a428683ef1f322f307d5be99308d3a13e03b63fd96c786f1e234fc5","entities":["Ada"],"scopeId":"","decay":{"stability":146880000,"accessCount":1,"reinforcementInterval":172800000,"nextReinforcementAt":1795188883878}}', 0);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_f411ee22-4473-4fa0-9f04-e610e6cdb227', 'episodic', 'user', 'Releases are tagged on Mondays.', X'000000000000003E0000003E0000C03E', 1.0, 1795016075150, 1795016083878, 1, '["team"]', '{}', '{"content_hash":"ac16fff5b92423408dad9738248ff0df597130ce0358ea5686b18eb882cc2217","entities":["Ada"],"scopeId":"","decay":{"stability":146880000,"accessCount":1,"reinforcementInterval":172800000,"nextReinforcementAt":1795188883878}}', 0);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_bf875723-2c6b-4cfd-abc4-bb417426e368', 'episodic', 'user', 'The lift is out of order.', X'000000000000003E000000000000003F', 1.0, 1795016075151, 1795016083878, 1, '["team"]', '{}', '{"content_hash":"d4456c050ce6a41e6d416950756fb7f06810a5aa3aa470d4a8da433f48a7f6a8","entities":["Ada"],"scopeId":"","decay":{"stability":146880000,"accessCount":1,"reinforcementInterval":172800000,"nextReinforcementAt":1795188883878}}', 0);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_0df08d97-6d0a-410b-9327-c7ea0098cd94', 'episodic', 'user', 'The old printer is on floor two.', X'000000000000803E0000803E0000003F', 1.0, 1795016075151, NULL, 0, '["team"]', '{}', '{"content_hash":"2a428a9dcb491cc6705c9d2e74223a8d7c71c7463a3b16e8bc171986743d0af6","entities":["Ada"],"scopeId":"","decay":{"stability":86400000,"accessCount":0,"reinforcementInterval":86400000}}', 1);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_3ec4ba9d-b65d-4cce-b7ff-a94606fc8231', 'episodic', 'user', 'The staging server is called Nimbus.', X'00000000000000000000003E0000003E', 1.0, 1795016075151, 1795016083879, 2, '["team"]', '{}', '{"content_hash":"eff254383c459f051c9b24ad08703ca84f6fd9db79d62766ebf3281b7e67d0bf","entities":["Ada"],"scopeId":"","decay":{"stability":226996363.63636363,"accessCount":2,"reinforcementInterval":345600000,"nextReinforcementAt":1795361683879}}', 0);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_210555b7-1258-4913-b0b5-a697f789ade9', 'episodic', 'user', 'Ada reviews the parser.', X'000000000000803E0000C03E0000803E', 1.0, 1795016075152, 1795016083878, 1, '["team"]', '{}', '{"content_hash":"8eae1bea44e01fdbfd04a8027670cce18bbcf66ca43c8910385c69e9eba2b654","entities":["Ada"],"scopeId":"","decay":{"stability":146880000,"accessCount":1,"reinforcementInterval":172800000,"nextReinforcementAt":1795188883878}}', 0);
INSERT INTO "memory_traces" VALUES ('mind', 'mt_102744fe-c6c4-41bb-9d35-cc39ffa64b17', 'semantic', 'user', 'The canteen is closed in August.', X'000000000000803E0000803E0000003F', 1.0, 1795016083015, NULL, 0, '["food"]', '{}', '{"content_hash":"629d83a68da06f87da07036b099bd62febaaf4547b575bb568bf733748f3035b","entities":["Ada"],"scopeId":"","decay":{"stability":86400000,"accessCount":0,"reinforcementInterval":86400000}}', 0);
CREATE TABLE knowledge_nodes (brain_id TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, label TEXT NOT NULL,
  properties TEXT NOT NULL DEFAULT '{}', embedding BLOB, confidence REAL NOT NULL DEFAULT 1.0, source TEXT NOT NULL
  DEFAULT '{}', created_at INTEGER NOT NULL, PRIMARY KEY (brain_id, id));
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_0df08d97-6d0a-410b-9327-c7ea0098cd94', 'memory_graph', 'mt_0df08d97-6d0a-410b-9327-c7ea0098cd94', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795016075151}', NULL, 1.0, '{}', 1795016075151);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_210555b7-1258-4913-b0b5-a697f789ade9', 'memory_graph', 'mt_210555b7-1258-4913-b0b5-a697f789ade9', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795016075152}', NULL, 1.0, '{}', 1795016075152);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_385fce4b-fd52-41d7-9094-6c8dcf891396', 'memory_graph', 'mt_385fce4b-fd52-41d7-9094-6c8dcf891396', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795016075149}', NULL, 1.0, '{}', 1795016075149);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_3ec4ba9d-b65d-4cce-b7ff-a94606fc8231', 'memory_graph', 'mt_3ec4ba9d-b65d-4cce-b7ff-a94606fc8231', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795016075151}', NULL, 1.0, '{}', 1795016075151);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_8f05465f-bf2f-4a99-8823-f859c47203df', 'memory_graph', 'mt_8f05465f-bf2f-4a99-8823-f859c47203df', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795016075150}', NULL, 1.0, '{}', 1795016075150);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_acfda217-8486-4d2c-9190-4e8ad1209364', 'memory_graph', 'mt_acfda217-8486-4d2c-9190-4e8ad1209364', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795016075150}', NULL, 1.0, '{}', 1795016075150);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_bf875723-2c6b-4cfd-abc4-bb417426e368', 'memory_graph', 'mt_bf875723-2c6b-4cfd-abc4-bb417426e368', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795016075151}', NULL, 1.0, '{}', 1795016075151);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_f411ee22-4473-4fa0-9f04-e610e6cdb227', 'memory_graph', 'mt_f411ee22-4473-4fa0-9f04-e610e6cdb227', '{"type":"episodic","scope":"user","scopeId":"","strength":1,"createdAt":1795016075150}', NULL, 1.0, '{}', 1795016075150);
INSERT INTO "knowledge_nodes" VALUES ('mind', 'mt_102744fe-c6c4-41bb-9d35-cc39ffa64b17', 'memory_graph', 'mt_102744fe-c6c4-41bb-9d35-cc39ffa64b17', '{"type":"semantic","scope":"user","scopeId":"","strength":1,"createdAt":1795016083015}', NULL, 1.0, '{}', 1795016083015);
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
INSERT INTO "retrieval_feedback" VALUES (1, 'mind', 'mt_385fce4b-fd52-41d7-9094-6c8dcf891396', 'used', NULL, 1795016083879);
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
INSERT INTO "memglot" VALUES ('main', 'mind');
INSERT INTO "memglot" VALUES ('end', '{"count":8,"digest":"sha256:0a2bac0ee8cdaf5a0fa0ee69d4e2a1cf79a95eb31e530ad87c6b21d45539059a","alone":true}');
