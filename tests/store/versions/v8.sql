
PRAGMA page_size=4096;

PRAGMA writable_schema=ON;
PRAGMA foreign_keys=OFF;

BEGIN TRANSACTION;

DROP TABLE IF EXISTS bases;
CREATE TABLE bases (
    record TEXT NOT NULL, tool TEXT NOT NULL, space TEXT NOT NULL, doc TEXT NOT NULL, batch INTEGER,
    PRIMARY KEY (record, tool, space)
) WITHOUT ROWID;
INSERT INTO bases VALUES('0194a000-0001-7000-8000-000000000001','agentos','','{"tool":"agentos","space":"","record":"0194a000-0001-7000-8000-000000000001","said":{"content":["0123456789ab","ba9876543210"]},"held":{"content":"aaaaaaaaaaaa"},"updated_at":1}',NULL);

DROP TABLE IF EXISTS batches;
CREATE TABLE batches (number INTEGER PRIMARY KEY, import_id TEXT NOT NULL REFERENCES imports (id), format TEXT NOT NULL DEFAULT '');
INSERT INTO batches VALUES(1,'01a1dead-2048-7000-8000-041991d335a2','');
CREATE INDEX batches_import ON batches (import_id);

DROP TABLE IF EXISTS blobs;
CREATE TABLE blobs (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
CREATE INDEX blobs_other ON blobs (second_key);
CREATE INDEX blobs_owner ON blobs (owner);

DROP TABLE IF EXISTS conflicts;
CREATE TABLE conflicts (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
INSERT INTO conflicts VALUES('01a1dead-2049-7000-8000-058b576ec3a7 content','01a1dead-2049-7000-8000-058b576ec3a7','content','{"clock":1794737250377000,"field":"content","record":"01a1dead-2049-7000-8000-058b576ec3a7","values":["A second one","Another one"]}',NULL,NULL);
CREATE INDEX conflicts_other ON conflicts (second_key);
CREATE INDEX conflicts_owner ON conflicts (owner);

DROP TABLE IF EXISTS documents;
CREATE TABLE documents (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
CREATE INDEX documents_other ON documents (second_key);
CREATE INDEX documents_owner ON documents (owner);

DROP TABLE IF EXISTS embeddings;
CREATE TABLE embeddings (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
CREATE INDEX embeddings_other ON embeddings (second_key);
CREATE INDEX embeddings_owner ON embeddings (owner);

DROP TABLE IF EXISTS entities;
CREATE TABLE entities (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
CREATE INDEX entities_other ON entities (second_key);
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

DROP TABLE IF EXISTS imported_digests;
CREATE TABLE imported_digests (digest BLOB NOT NULL, record TEXT NOT NULL, batch INTEGER NOT NULL);
INSERT INTO imported_digests VALUES(X'00112233445566778899AABBCCDDEEFF','0194a000-0001-7000-8000-000000000001',1);
CREATE INDEX imported_digests_digest ON imported_digests (digest);
CREATE INDEX imported_digests_record ON imported_digests (record);

DROP TABLE IF EXISTS imports;
CREATE TABLE imports (id TEXT PRIMARY KEY, at INTEGER NOT NULL, doc TEXT NOT NULL);
INSERT INTO imports VALUES('01a1dead-2048-7000-8000-041991d335a2',1794737250376000,'{"id":"01a1dead-2048-7000-8000-041991d335a2","at":1794737250376000,"sources":["content"],"format":"ndjson","state":"done","imported":1,"merged":0,"skipped":0,"failed":0,"finished_at":1794737250377148}');

DROP TABLE IF EXISTS operations;
CREATE TABLE operations (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, doc TEXT NOT NULL);
INSERT INTO operations VALUES(1,'01a1dead-2050-7000-8000-0000000000aa','{"id":"01a1dead-2050-7000-8000-0000000000aa","at":1794737250377000,"action":"update","details":{"fields":["title"]},"memories":1,"parts":[[1,1]]}');

DELETE FROM sqlite_schema WHERE name='record_text' AND type='table';
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql) VALUES('table','record_text','record_text',0,'CREATE VIRTUAL TABLE record_text USING fts5 (
    content, title, tags, tree, meta, content='''', contentless_delete=1,
    tokenize="porter unicode61 remove_diacritics 0 categories ''L* N* Co M*''"
)');

DROP TABLE IF EXISTS record_text_config;
CREATE TABLE 'record_text_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO record_text_config VALUES('hashsize',16777216);
INSERT INTO record_text_config VALUES('version',4);

DROP TABLE IF EXISTS record_text_data;
CREATE TABLE 'record_text_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO record_text_data VALUES(1,X'020601010200');
INSERT INTO record_text_data VALUES(10,X'00000001FF00000101010100010101010101000002');
INSERT INTO record_text_data VALUES(137438953473,X'00000051023061010601030201020202016E010202010162010601030301066D656D6F726901020401036F6C6401020302016E02020401067365636F6E6402020301017402060101020101780206010202040B06080B08060B08');

DROP TABLE IF EXISTS record_text_docsize;
CREATE TABLE 'record_text_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER);
INSERT INTO record_text_docsize VALUES(1,X'0300000200',1);
INSERT INTO record_text_docsize VALUES(2,X'0301010000',1);

DROP TABLE IF EXISTS record_text_idx;
CREATE TABLE 'record_text_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
INSERT INTO record_text_idx VALUES(1,X'',2);

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
    other_fields TEXT,
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
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
INSERT INTO relations VALUES('01a1dead-204a-7000-8000-097a15af3e10','01a1dead-2049-7000-8000-058b576ec3a7','0194a000-0001-7000-8000-000000000001','{"created_at":1794737250378248,"id":"01a1dead-204a-7000-8000-097a15af3e10","object":{"id":"0194a000-0001-7000-8000-000000000001"},"predicate":"after","subject":{"id":"01a1dead-2049-7000-8000-058b576ec3a7"},"updated_at":1794737250378248}',NULL,NULL);
CREATE INDEX relations_other ON relations (second_key);
CREATE INDEX relations_owner ON relations (owner);

DROP TABLE IF EXISTS revisions;
CREATE TABLE revisions (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, action TEXT NOT NULL,
    before TEXT, batch INTEGER, previous_batch INTEGER
);
CREATE INDEX revisions_batch ON revisions (batch) WHERE batch IS NOT NULL;
CREATE INDEX revisions_key ON revisions (key);

DROP TABLE IF EXISTS state;
CREATE TABLE "state" (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO state VALUES('chain_hash','c76c65a1151cf381c93d17e4b7b0f20770971f7ccf51ae1b8bf993621589481b');
INSERT INTO state VALUES('chain_seq',3);
INSERT INTO state VALUES('indexed_to',2);
INSERT INTO state VALUES('languages','');
INSERT INTO state VALUES('records',2);
INSERT INTO state VALUES('undigested',0);
INSERT INTO state VALUES('upgraded',1);
INSERT INTO state VALUES('vector_changes',1);
INSERT INTO state VALUES('vector_count',2);
INSERT INTO state VALUES('vector_dimensions',256);
INSERT INTO state VALUES('vector_model','memglot-table-256-2');

DROP TABLE IF EXISTS supersessions;
CREATE TABLE supersessions (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
CREATE INDEX supersessions_other ON supersessions (second_key);
CREATE INDEX supersessions_owner ON supersessions (owner);

DROP TABLE IF EXISTS tombstones;
CREATE TABLE tombstones (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
CREATE INDEX tombstones_other ON tombstones (second_key);
CREATE INDEX tombstones_owner ON tombstones (owner);
CREATE INDEX tombstones_reason ON tombstones (iif(json_valid(doc), doc ->> '$.reason', NULL));

DROP TABLE IF EXISTS turns;
CREATE TABLE turns (
    seq INTEGER PRIMARY KEY, thread INTEGER NOT NULL, position INTEGER NOT NULL, speaker TEXT NOT NULL,
    words INTEGER NOT NULL, traits INTEGER NOT NULL
);
CREATE INDEX turns_speaker ON turns (speaker) WHERE speaker <> '';
CREATE INDEX turns_thread ON turns (thread, position);

DROP TABLE IF EXISTS vectors;
CREATE TABLE vectors (seq INTEGER PRIMARY KEY, vector BLOB NOT NULL);
INSERT INTO vectors VALUES(1,X'73F1EF47342B0EE432F9FDF7747BDFDC2214FA0440EFEAF6C8041D04574B14F23618F07FF723F1D8473ED2EEDBE10297043CB31A0CF6311442F1C0C4F635B33232A43541EB000C46DBE3EFB615DC1F262D58F7F9FE0C1327CC110302FD0E9FF7FBE7CD28FAD6F1D705DE1C25CB202708F9E7DC0DC2E6011A0B04F8E503F10AAD00EA0DE9F2D5131918DB63FF14E9F3F9E7EE15223518D6CEFC084408202220F728E30C04ED1DFAF2130CFC19051136F1110FE622DB1DEDFEE2DDCCDEE6E6DF1911EFC8063BF20116ED1513CCF7F515D906DFDEFF1E1C0EDD18FF2D161F080D1B2104E4B82706181EFC2A05D919F3FA1C0709DA1700F9010608E42117FBDDF720');
INSERT INTO vectors VALUES(2,X'6A1F224D3AF2DFD2E70108E1FBCF02012DE7E9101FFC11D0FC1DDF44211F4B07E6DFCEF3EEF5FC0B25DFE908E601EAF92415F2FED5F1FCECE3FCE6EE0BC0F91200C6EE11FA17FEE1EC14B1F7171E07F6131AC5EAE4FFFE011721EA25B937E110F114D306C2E7E920D4FA122D1434DEEDF606DB07E9B9E4FCF0F330C206094205F3C6281501292FE91F143DF420F41326ECFF9EE2290B0E310BE3EDF7D0D2EE00030E181EF92EDC31EB1CBA01CC0AD4E111F7FCFB17B00733FCD9D318136FE4ECB523C2DAF0E0C70CE9AD1C6206E1FF8A23E4EFBFFDBD41C4F93DA911DDB5C6B2E4DB220BD814DD0BF6F2FDEED81D33E4027FA0CFB6161AF8E7E465F3DAF622D1');

pragma user_version=8;
pragma application_id=1835494516;

COMMIT TRANSACTION;

PRAGMA foreign_keys=ON;

PRAGMA writable_schema=OFF;

