"""Past migrations of the SQLite store. They only go forward, and past ones are never edited."""

from memglot.store.sqlite.schema import IMPORTED_DIGESTS, OPERATIONS, TEXT_INDEX, THING_TABLES, TOMBSTONE_REASONS

# `rest` is a JSON object of the fields that most records leave at their default: fewer columns are faster both ways.
# Content comes last, so that the other columns can be read without the pages that a long text overflows into.
_RECORDS = """
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
CREATE UNIQUE INDEX records_id ON records (id);
CREATE INDEX records_deleted ON records (seq) WHERE status = 'deleted';
CREATE VIRTUAL TABLE record_text USING fts5 (
    content, title, tags, tree, content='records', content_rowid='seq', tokenize='unicode61 remove_diacritics 2'
);
INSERT INTO record_text (record_text, rank) VALUES ('hashsize', 16777216);
"""

_HISTORY_AND_STATE = """
CREATE TABLE imports (id TEXT PRIMARY KEY, at INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE TABLE batches (number INTEGER PRIMARY KEY, import_id TEXT NOT NULL REFERENCES imports (id));
CREATE INDEX batches_import ON batches (import_id);
CREATE TABLE revisions (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, deed TEXT NOT NULL,
    before TEXT, batch INTEGER, origin INTEGER
);
CREATE INDEX revisions_key ON revisions (key);
CREATE INDEX revisions_batch ON revisions (batch) WHERE batch IS NOT NULL;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, target TEXT NOT NULL,
    scope TEXT NOT NULL, details TEXT NOT NULL, prev_hash TEXT NOT NULL, this_hash TEXT NOT NULL
);
CREATE INDEX events_target ON events (target);
CREATE TABLE keeping (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO keeping VALUES ('records', 0), ('indexed_to', 0), ('chain_seq', 0), ('chain_hash', '');
"""

_THING = """
CREATE TABLE {table} (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, other TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
CREATE INDEX {table}_owner ON {table} (owner);
CREATE INDEX {table}_other ON {table} (other);
"""

# A conflict had two sides of one merge; now it is the set of values that a field has at one time. Resolved conflicts
# are removed. The text of a value inside a document is its canonical JSON.
_VALUES = """
    '{{"clock":' || max({doc} ->> '$.local_clock', {doc} ->> '$.remote_clock') || ',"field":' || ({doc} -> '$.field')
    || ',"record":' || ({doc} -> '$.record') || ',"values":[' || min({doc} -> '$.local', {doc} -> '$.remote') || ','
    || max({doc} -> '$.local', {doc} -> '$.remote') || ']}}'
"""
_CONFLICT_VALUES = f"""
DELETE FROM conflicts WHERE coalesce(doc ->> '$.state', 'open') <> 'open' OR doc -> '$.local' = doc -> '$.remote';
UPDATE conflicts SET other = doc ->> '$.field', doc = {_VALUES.format(doc="doc")};
UPDATE revisions SET before = {_VALUES.format(doc="before")} WHERE kind = 'conflict' AND before IS NOT NULL;
CREATE INDEX events_hash ON events (this_hash);
"""

_WORDS_AND_MEANING = f"""
DROP TABLE IF EXISTS record_text;
{TEXT_INDEX}
UPDATE keeping SET value = 0 WHERE name = 'indexed_to';
CREATE TABLE turns (
    seq INTEGER PRIMARY KEY, thread INTEGER NOT NULL, position INTEGER NOT NULL, speaker TEXT NOT NULL,
    words INTEGER NOT NULL, traits INTEGER NOT NULL
);
CREATE INDEX turns_thread ON turns (thread, position);
CREATE INDEX turns_speaker ON turns (speaker) WHERE speaker <> '';
CREATE TABLE vectors (seq INTEGER PRIMARY KEY, vector BLOB NOT NULL);
INSERT INTO keeping VALUES ('languages', ''), ('upgraded', 0);
INSERT INTO keeping VALUES ('vector_model', ''), ('vector_dimensions', 0), ('vector_count', 0), ('vector_changes', 0);
"""

# Plain names. No row is rewritten, and the indexes keep their names.
_PLAIN_NAMES = """
ALTER TABLE keeping RENAME TO state;
ALTER TABLE records RENAME COLUMN rest TO other_fields;
ALTER TABLE revisions RENAME COLUMN deed TO action;
ALTER TABLE revisions RENAME COLUMN origin TO previous_batch;
""" + "".join(f"ALTER TABLE {table} RENAME COLUMN other TO second_key;\n" for table in THING_TABLES)

# What other tools said about memories at the last exchange, and the format of each batch of an import.
_BASES = """
ALTER TABLE batches ADD COLUMN format TEXT NOT NULL DEFAULT '';
CREATE TABLE bases (
    record TEXT NOT NULL, tool TEXT NOT NULL, space TEXT NOT NULL, doc TEXT NOT NULL, batch INTEGER,
    PRIMARY KEY (record, tool, space)
) WITHOUT ROWID;
"""

# The digests of earlier imports are added afterwards, batch by batch.
_IMPORTED_DIGESTS = f"""
{IMPORTED_DIGESTS}
INSERT INTO state SELECT 'undigested', coalesce(max(number), 0) FROM batches;
"""

MIGRATIONS: tuple[str, ...] = (
    _RECORDS + _HISTORY_AND_STATE + "".join(_THING.format(table=table) for table in THING_TABLES),
    _CONFLICT_VALUES,
    _WORDS_AND_MEANING,
    _PLAIN_NAMES,
    _BASES,
    _IMPORTED_DIGESTS,
    TOMBSTONE_REASONS,
    OPERATIONS,
)
"""Migration number n, counted from 1, brings a store from version n - 1 to version n."""
