CREATE TABLE brain_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO brain_meta VALUES ('schema_version', '1');
CREATE TABLE memory_traces (id TEXT PRIMARY KEY, content TEXT NOT NULL, created_at INTEGER NOT NULL);
INSERT INTO memory_traces VALUES ('mt_1', 'Three columns are enough', 1760000002000);
INSERT INTO memory_traces VALUES ('2', 'An id of its own', 1760000003000);
