
PRAGMA page_size=4096;

PRAGMA writable_schema=ON;
PRAGMA foreign_keys=OFF;

BEGIN TRANSACTION;

DROP TABLE IF EXISTS batches;
CREATE TABLE batches (number INTEGER PRIMARY KEY, import_id TEXT NOT NULL REFERENCES imports (id));
INSERT INTO batches VALUES(1,'01a1dead-2048-7000-8000-041991d335a2');
CREATE INDEX batches_import ON batches (import_id);

DROP TABLE IF EXISTS blobs;
CREATE TABLE blobs (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, other TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
CREATE INDEX blobs_other ON blobs (other);
CREATE INDEX blobs_owner ON blobs (owner);

DROP TABLE IF EXISTS conflicts;
CREATE TABLE conflicts (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, other TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
INSERT INTO conflicts VALUES('01a1dead-2049-7000-8000-058b576ec3a7 content','01a1dead-2049-7000-8000-058b576ec3a7','content','{"clock":1794737250377000,"field":"content","record":"01a1dead-2049-7000-8000-058b576ec3a7","values":["A second one","Another one"]}',NULL,NULL);
CREATE INDEX conflicts_other ON conflicts (other);
CREATE INDEX conflicts_owner ON conflicts (owner);

DROP TABLE IF EXISTS documents;
CREATE TABLE documents (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, other TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
CREATE INDEX documents_other ON documents (other);
CREATE INDEX documents_owner ON documents (owner);

DROP TABLE IF EXISTS embeddings;
CREATE TABLE embeddings (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, other TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
CREATE INDEX embeddings_other ON embeddings (other);
CREATE INDEX embeddings_owner ON embeddings (owner);

DROP TABLE IF EXISTS entities;
CREATE TABLE entities (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, other TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
CREATE INDEX entities_other ON entities (other);
CREATE INDEX entities_owner ON entities (owner);

DROP TABLE IF EXISTS events;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, target TEXT NOT NULL,
    scope TEXT NOT NULL, details TEXT NOT NULL, prev_hash TEXT NOT NULL, this_hash TEXT NOT NULL
);
INSERT INTO events VALUES(1,1794737250376964,'ann','import','01a1dead-2048-7000-8000-041991d335a2','','{"batch":1,"count":1,"merged":0,"digest":"0078b43ee53031c8302dec3812662fae511096d4f0765ac9285aa10a8ec87167"}','','c662359c7ca6b9a5fc99830477ce6093fb5d2f7ea894fc118aa7f4bfecf7731e');
INSERT INTO events VALUES(2,1794737250378046,'ann','add','01a1dead-2049-7000-8000-058b576ec3a7','user','{"content_hash":"f325182158df345943d10f0a7c0096a3690f47b9f963c975921612cb021c9865"}','c662359c7ca6b9a5fc99830477ce6093fb5d2f7ea894fc118aa7f4bfecf7731e','62a3e8d1fc41783c73cbe2c87a1be368801b6228a0e241bac81e6fc485d4e6a8');
INSERT INTO events VALUES(3,1794737250378306,'ann','link','01a1dead-204a-7000-8000-097a15af3e10','user','{"id":"01a1dead-204a-7000-8000-097a15af3e10","subject":{"id":"01a1dead-2049-7000-8000-058b576ec3a7"},"predicate":"after","object":{"id":"0194a000-0001-7000-8000-000000000001"},"created_at":1794737250378248,"updated_at":1794737250378248}','62a3e8d1fc41783c73cbe2c87a1be368801b6228a0e241bac81e6fc485d4e6a8','c76c65a1151cf381c93d17e4b7b0f20770971f7ccf51ae1b8bf993621589481b');
CREATE INDEX events_hash ON events (this_hash);
CREATE INDEX events_target ON events (target);

DROP TABLE IF EXISTS imports;
CREATE TABLE imports (id TEXT PRIMARY KEY, at INTEGER NOT NULL, doc TEXT NOT NULL);
INSERT INTO imports VALUES('01a1dead-2048-7000-8000-041991d335a2',1794737250376000,'{"id":"01a1dead-2048-7000-8000-041991d335a2","at":1794737250376000,"sources":["content"],"format":"ndjson","state":"done","imported":1,"merged":0,"skipped":0,"failed":0,"finished_at":1794737250377148}');

DROP TABLE IF EXISTS keeping;
CREATE TABLE keeping (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO keeping VALUES('chain_hash','c76c65a1151cf381c93d17e4b7b0f20770971f7ccf51ae1b8bf993621589481b');
INSERT INTO keeping VALUES('chain_seq',3);
INSERT INTO keeping VALUES('indexed_to',2);
INSERT INTO keeping VALUES('records',2);

DELETE FROM sqlite_schema WHERE name='record_text' AND type='table';
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql) VALUES('table','record_text','record_text',0,'CREATE VIRTUAL TABLE record_text USING fts5 (
    content, title, tags, tree, content=''records'', content_rowid=''seq'', tokenize=''unicode61 remove_diacritics 2''
)');

DROP TABLE IF EXISTS record_text_config;
CREATE TABLE 'record_text_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO record_text_config VALUES('hashsize',16777216);
INSERT INTO record_text_config VALUES('version',4);

DROP TABLE IF EXISTS record_text_data;
CREATE TABLE 'record_text_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO record_text_data VALUES(1,X'0206010102');
INSERT INTO record_text_data VALUES(10,X'000000010102020002010101020101');
INSERT INTO record_text_data VALUES(137438953473,X'0000002D023061010601030202016E010202010162010601030301066D656D6F727901020401036F6C64010203040806080B');
INSERT INTO record_text_data VALUES(274877906945,X'0000002D02306102020201036F6E6502020401067365636F6E64020203010174020601010201017802060102020406080B08');

DROP TABLE IF EXISTS record_text_docsize;
CREATE TABLE 'record_text_docsize'(id INTEGER PRIMARY KEY, sz BLOB);
INSERT INTO record_text_docsize VALUES(1,X'03000002');
INSERT INTO record_text_docsize VALUES(2,X'03010100');

DROP TABLE IF EXISTS record_text_idx;
CREATE TABLE 'record_text_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
INSERT INTO record_text_idx VALUES(1,X'',2);
INSERT INTO record_text_idx VALUES(2,X'',2);

DROP TABLE IF EXISTS records;
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
    rest TEXT,
    content_hash BLOB NOT NULL,
    digest BLOB NOT NULL,
    batch INTEGER,
    content TEXT NOT NULL
);
INSERT INTO records VALUES(1,'0194a000-0001-7000-8000-000000000001',NULL,'semantic','user','a.b',NULL,'{"k":1}',NULL,NULL,'active',1737851142145000,1737851142145000,NULL,X'5817222F6E9F0ED131150634243B52637DD0E07F5557AF0D460CEF89F347052F',X'FCF3F6420605B3E24B23D9C1CF262A3C1BE92938D1819F91B726898BDB3CA5E1',1,'An old memory');
INSERT INTO records VALUES(2,'01a1dead-2049-7000-8000-058b576ec3a7','T','semantic','user','','["x"]',NULL,NULL,NULL,'active',1794737250377000,1794737250377000,'{"strength":0.5}',X'F325182158DF345943D10F0A7C0096A3690F47B9F963C975921612CB021C9865',X'3C51A7255F3841FBF0D72A454488052886F97405DC31D65E58737833B88135C8',NULL,'A second one');
CREATE INDEX records_content ON records (substr(content_hash, 1, 8));
CREATE INDEX records_created ON records (created_at, id);
CREATE INDEX records_deleted ON records (seq) WHERE status = 'deleted';
CREATE UNIQUE INDEX records_id ON records (id);
CREATE INDEX records_tree ON records (tree);

DROP TABLE IF EXISTS relations;
CREATE TABLE relations (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, other TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
INSERT INTO relations VALUES('01a1dead-204a-7000-8000-097a15af3e10','01a1dead-2049-7000-8000-058b576ec3a7','0194a000-0001-7000-8000-000000000001','{"created_at":1794737250378248,"id":"01a1dead-204a-7000-8000-097a15af3e10","object":{"id":"0194a000-0001-7000-8000-000000000001"},"predicate":"after","subject":{"id":"01a1dead-2049-7000-8000-058b576ec3a7"},"updated_at":1794737250378248}',NULL,NULL);
CREATE INDEX relations_other ON relations (other);
CREATE INDEX relations_owner ON relations (owner);

DROP TABLE IF EXISTS revisions;
CREATE TABLE revisions (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, deed TEXT NOT NULL,
    before TEXT, batch INTEGER, origin INTEGER
);
CREATE INDEX revisions_batch ON revisions (batch) WHERE batch IS NOT NULL;
CREATE INDEX revisions_key ON revisions (key);

DROP TABLE IF EXISTS supersessions;
CREATE TABLE supersessions (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, other TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
CREATE INDEX supersessions_other ON supersessions (other);
CREATE INDEX supersessions_owner ON supersessions (owner);

DROP TABLE IF EXISTS tombstones;
CREATE TABLE tombstones (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, other TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
CREATE INDEX tombstones_other ON tombstones (other);
CREATE INDEX tombstones_owner ON tombstones (owner);

pragma user_version=2;
pragma application_id=1835494516;

COMMIT TRANSACTION;

PRAGMA foreign_keys=ON;

PRAGMA writable_schema=OFF;

BEGIN;
CREATE TABLE no_such_table(x,y,z);
ROLLBACK;
