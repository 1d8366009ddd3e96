"""The tables of the SQLite store, as a new store gets them; `migrations.py` brings older stores to the same."""

APPLICATION_ID = 0x6D676C74  # "mglt"

RECORD_COLUMNS = (
    "id",
    "title",
    "kind",
    "scope",
    "tree",
    "tags",
    "meta",
    "temporal_start",
    "temporal_end",
    "status",
    "created_at",
    "updated_at",
    "other_fields",
    "content",
)
THING_TABLES = (
    "relations",
    "entities",
    "supersessions",
    "documents",
    "embeddings",
    "tombstones",
    "conflicts",
    "blobs",
)

TEXT_INDEX = """
CREATE VIRTUAL TABLE record_text USING fts5 (
    content, title, tags, tree, meta, content='', contentless_delete=1,
    tokenize="porter unicode61 remove_diacritics 0 categories 'L* N* Co M*'"
);
INSERT INTO record_text (record_text, rank) VALUES ('hashsize', 16777216);
"""
"""The text index. It stores words, not texts: a function fills it, and a record is removed by its number alone, so that
it stays intact even if the words of a text were once made by other rules. `TOKENIZER` names its rules."""
TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "0", "categories", "L* N* Co M*"])
"""How the text index splits a text into words."""

# `other_fields` is a JSON object of the fields that most records leave at their default: fewer columns are faster both
# ways. Content comes last, so that the other columns can be read without the pages that a long text overflows into.
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
    other_fields TEXT,
    content_hash BLOB NOT NULL,
    digest BLOB NOT NULL,
    batch INTEGER,
    content TEXT NOT NULL
);
CREATE UNIQUE INDEX records_id ON records (id);
CREATE INDEX records_deleted ON records (seq) WHERE status = 'deleted';
CREATE TABLE turns (
    seq INTEGER PRIMARY KEY, thread INTEGER NOT NULL, position INTEGER NOT NULL, speaker TEXT NOT NULL,
    words INTEGER NOT NULL, traits INTEGER NOT NULL
);
CREATE INDEX turns_thread ON turns (thread, position);
CREATE INDEX turns_speaker ON turns (speaker) WHERE speaker <> '';
CREATE TABLE vectors (seq INTEGER PRIMARY KEY, vector BLOB NOT NULL);
"""

_THINGS = """
CREATE TABLE {table} (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, second_key TEXT NOT NULL, doc TEXT NOT NULL, data BLOB, batch INTEGER
);
CREATE INDEX {table}_owner ON {table} (owner);
CREATE INDEX {table}_other ON {table} (second_key);
"""

_HISTORY = """
CREATE TABLE imports (id TEXT PRIMARY KEY, at INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE TABLE batches (
    number INTEGER PRIMARY KEY, import_id TEXT NOT NULL REFERENCES imports (id), format TEXT NOT NULL DEFAULT ''
);
CREATE INDEX batches_import ON batches (import_id);
CREATE TABLE revisions (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, action TEXT NOT NULL,
    before TEXT, batch INTEGER, previous_batch INTEGER
);
CREATE INDEX revisions_key ON revisions (key);
CREATE INDEX revisions_batch ON revisions (batch) WHERE batch IS NOT NULL;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, target TEXT NOT NULL,
    scope TEXT NOT NULL, details TEXT NOT NULL, prev_hash TEXT NOT NULL, this_hash TEXT NOT NULL
);
CREATE INDEX events_target ON events (target);
CREATE INDEX events_hash ON events (this_hash);
CREATE TABLE bases (
    record TEXT NOT NULL, tool TEXT NOT NULL, space TEXT NOT NULL, doc TEXT NOT NULL, batch INTEGER,
    PRIMARY KEY (record, tool, space)
) WITHOUT ROWID;
"""

OPERATIONS = """
CREATE TABLE operations (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, doc TEXT NOT NULL);
"""
"""What commands changed, so that it can be undone. The revisions of an operation are in the ranges that it names."""

IMPORTED_DIGESTS = """
CREATE TABLE imported_digests (digest BLOB NOT NULL, record TEXT NOT NULL, batch INTEGER NOT NULL);
CREATE INDEX imported_digests_record ON imported_digests (record);
"""
"""Digests of records that were imported without an id, as they were read, and the memories that they became."""

# Values that the store keeps about itself, and named settings.
_STATE = """
CREATE TABLE state (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO state VALUES ('records', 0), ('indexed_to', 0), ('chain_seq', 0), ('chain_hash', ''), ('languages', ''),
    ('undigested', 0), ('upgraded', 0),
    ('vector_model', ''), ('vector_dimensions', 0), ('vector_count', 0), ('vector_changes', 0);
"""

REASON = "iif(json_valid(doc), doc ->> '$.reason', NULL)"
TOMBSTONE_REASONS = f"CREATE INDEX tombstones_reason ON tombstones ({REASON});\n"
"""A memory that was merged into another says so in its reason."""
TABLES = (
    *("records", "turns", "vectors", "imports", "batches", "revisions", "events", "operations"),
    *("bases", "imported_digests", "state"),
    *THING_TABLES,
)
"""All tables except the text index."""

SCHEMA = (
    _RECORDS
    + TEXT_INDEX
    + _HISTORY
    + OPERATIONS
    + IMPORTED_DIGESTS
    + _STATE
    + "".join(_THINGS.format(table=table) for table in THING_TABLES)
    + TOMBSTONE_REASONS
)
"""Everything that a new store consists of, except for `DEFERRED_INDEXES`."""

COUNTS = "records_counted"
"""The index that statistics are counted in; stores of earlier versions get it from the next command that writes."""
DEFERRED_INDEXES = {
    "records_content": "CREATE INDEX records_content ON records (substr(content_hash, 1, 8))",
    "records_created": "CREATE INDEX records_created ON records (created_at, id)",
    "records_tree": "CREATE INDEX records_tree ON records (tree)",
    COUNTS: f"CREATE INDEX {COUNTS} ON records (tags, kind, scope)",
    "imported_digests_digest": "CREATE INDEX imported_digests_digest ON imported_digests (digest)",
}
"""Indexes that a bulk load builds at its end; every open for writing creates those that are missing."""
