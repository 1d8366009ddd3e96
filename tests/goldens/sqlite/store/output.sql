PRAGMA application_id = 1835494516;
PRAGMA user_version = 8;
CREATE TABLE records (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    title TEXT,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    tree TEXT NOT NULL,
    tags TEXT,
    meta TEXT,
    temporal_start INTEGER,
    temporal_end INTEGER,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    other_fields TEXT,
    content_hash BLOB NOT NULL,
    digest BLOB NOT NULL,
    batch INTEGER,
    content TEXT NOT NULL
);
INSERT INTO records VALUES (1, '0199cd7e-6400-7000-8000-000000000002', NULL, 'semantic', 'user', '', NULL, NULL, NULL, NULL, 'deleted', 1760000001999990, 1760000001999990, NULL, X'0E89C7A8272AFD82A706F0D594EED61325A4F0FE31166C827C989DB706D70963', X'4D5CA58E4C2F718BC51057DDEBFA1B33FC2D720B69B984E101D67B6F96723C3B', NULL, 'The user prefers coffee');
INSERT INTO records VALUES (2, '0199cd7e-6400-7000-8000-000000000001', 'Tea', 'preference', 'user', 'home.kitchen', '["drink"]', '{"cups":2}', 1760000002000000, 1760000002000001, 'active', 1760000002000000, 1760000002000005, '{"clocks":{"tags":1760000002000000},"extra":{"agentos":{"hashes":[]}},"foreign":[{"id":"mt_1","tool":"agentos"}],"strength":0.5}', X'D9DDE860155316C10CE936DCE0C3D01C48EBD6284E2A7D54F54977952C933916', X'B20691CD3475AAFD1C3C45216F8D435A123A0DFF83DC16ABAA6C7BCC586A9A73', NULL, 'The user prefers tea');
INSERT INTO records VALUES (3, '0199cd7e-6400-7000-8000-000000000003', NULL, 'semantic', 'user', '', NULL, NULL, NULL, NULL, 'active', 1760000002000001, 1760000002000001, NULL, X'130016B2599BF7E5978CAE78E528C67F29AA47EAA2490FFEDD729DF334A2790C', X'C850433592A3E27EB4DA75A7207F7A8CA3B8CE7DCD9BA14D36EDF067703D218D', NULL, '東京');
CREATE TABLE turns (
    seq INTEGER PRIMARY KEY, thread INTEGER NOT NULL, position INTEGER NOT NULL, speaker TEXT NOT NULL,
    words INTEGER NOT NULL, traits INTEGER NOT NULL
);
CREATE TABLE vectors (seq INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE imports (id TEXT PRIMARY KEY, at INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE TABLE batches (
    number INTEGER PRIMARY KEY, import_id TEXT NOT NULL REFERENCES imports (id), format TEXT NOT NULL DEFAULT ''
);
CREATE TABLE revisions (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, action TEXT NOT NULL,
    before TEXT, batch INTEGER, previous_batch INTEGER
);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, target TEXT NOT NULL,
    scope TEXT NOT NULL, details TEXT NOT NULL, prev_hash TEXT NOT NULL, this_hash TEXT NOT NULL
);
CREATE TABLE bases (
    record TEXT NOT NULL, tool TEXT NOT NULL, space TEXT NOT NULL, doc TEXT NOT NULL, batch INTEGER,
    PRIMARY KEY (record, tool, space)
) WITHOUT ROWID;
CREATE TABLE operations (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, doc TEXT NOT NULL);
CREATE TABLE imported_digests (digest BLOB NOT NULL, record TEXT NOT NULL, batch INTEGER NOT NULL);
CREATE TABLE state (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO state VALUES ('chain_hash', '');
INSERT INTO state VALUES ('chain_seq', 0);
INSERT INTO state VALUES ('indexed_to', 3);
INSERT INTO state VALUES ('languages', '');
INSERT INTO state VALUES ('log', 'empty');
INSERT INTO state VALUES ('records', 3);
INSERT INTO state VALUES ('undigested', 0);
INSERT INTO state VALUES ('upgraded', 1);
INSERT INTO state VALUES ('vector_changes', 0);
INSERT INTO state VALUES ('vector_count', 0);
INSERT INTO state VALUES ('vector_dimensions', 0);
INSERT INTO state VALUES ('vector_model', '');
CREATE TABLE relations (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
INSERT INTO relations VALUES ('r1', '0199cd7e-6400-7000-8000-000000000001', 'e1', '{"id":"r1","object":{"entity":true,"id":"e1"},"predicate":"mentions","subject":{"id":"0199cd7e-6400-7000-8000-000000000001"}}', NULL, NULL);
CREATE TABLE entities (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
INSERT INTO entities VALUES ('e1', '', 'Tea', '{"id":"e1","name":"Tea"}', NULL, NULL);
CREATE TABLE supersessions (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
INSERT INTO supersessions VALUES ('0199cd7e-6400-7000-8000-000000000001 0199cd7e-6400-7000-8000-000000000002', '0199cd7e-6400-7000-8000-000000000001', '0199cd7e-6400-7000-8000-000000000002', '{"newer":"0199cd7e-6400-7000-8000-000000000001","older":"0199cd7e-6400-7000-8000-000000000002","reason":"said so"}', NULL, NULL);
CREATE TABLE documents (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
INSERT INTO documents VALUES ('d1 1', '', 'persona', '{"content":"I am.","id":"d1","name":"persona"}', NULL, NULL);
CREATE TABLE embeddings (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
INSERT INTO embeddings VALUES ('0199cd7e-6400-7000-8000-000000000001 ', '0199cd7e-6400-7000-8000-000000000001', '', '{"dimensions":1,"record":"0199cd7e-6400-7000-8000-000000000001","vector":""}', X'0000803F', NULL);
CREATE TABLE tombstones (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
INSERT INTO tombstones VALUES ('0199cd7e-6400-7000-8000-000000000009', '0199cd7e-6400-7000-8000-000000000009', '00', '{"content_hash":"00","deleted_at":1760000002000000,"id":"0199cd7e-6400-7000-8000-000000000009"}', NULL, NULL);
CREATE TABLE conflicts (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
INSERT INTO conflicts VALUES ('0199cd7e-6400-7000-8000-000000000003 title', '0199cd7e-6400-7000-8000-000000000003', 'title', '{"clock":1,"field":"title","record":"0199cd7e-6400-7000-8000-000000000003","values":["a","b"]}', NULL, NULL);
CREATE TABLE blobs (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
INSERT INTO blobs VALUES ('agentosconversationsb/c', '', 'conversations', '{"key":"b/c","row":{"id":"c"},"table":"conversations","tool":"agentos"}', NULL, NULL);
INSERT INTO blobs VALUES ('chatgptfilesf', '', 'files', '{"key":"f","table":"files","tool":"chatgpt"}', X'0102', NULL);
