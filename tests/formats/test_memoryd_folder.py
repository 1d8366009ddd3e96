"""memoryd's data folder: files, encrypted files, index, audit log, and its sync bundle."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
import tarfile
import zipfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import SHARED
from memglot import Memory
from memglot.errors import NotWritable
from memglot.formats.core.audit_chain import raw_hash
from memglot.formats.detect import detect_folder, glance_at
from memglot.formats.memoryd.encryption import Cipher
from memglot.model import Blob, Document, Entity, Relation, Supersession, derive_id

REAL = SHARED / "fixtures" / "memoryd-folder"
real = pytest.mark.skipif(not REAL.exists(), reason="the original tool's files are not here")
# The passphrase of the fixture's encrypted files; its file `phrase` has the one of memoryd's exports.
REAL_PASSPHRASE = "correct horse battery staple"
PASSPHRASE = "a passphrase of our own ü"
A, B, SECRET = "22fad3a3b4fd", "global", "5ecre75c0pe0"
SCHEMA = """
CREATE TABLE memories (slug TEXT PRIMARY KEY, type TEXT, scope_hash TEXT, title TEXT, source TEXT, created_at TEXT,
  updated_at TEXT, ttl_days INTEGER, decay_state TEXT DEFAULT 'alive', last_recalled_at TEXT, recall_count INTEGER
  DEFAULT 0, fingerprint TEXT, body_path TEXT UNIQUE, scope_sensitive INTEGER NOT NULL DEFAULT 0);
CREATE TABLE triggers (slug TEXT, trigger TEXT, PRIMARY KEY (slug, trigger));
CREATE TABLE promotions (id INTEGER PRIMARY KEY AUTOINCREMENT, source_session_slug TEXT, proposed_title TEXT,
  scope_hash TEXT);
CREATE TABLE sensitive_scopes (scope_hash TEXT PRIMARY KEY, scope_root TEXT, marked_at TEXT);
CREATE TABLE entities (id TEXT PRIMARY KEY, name TEXT, type TEXT, aliases TEXT, context TEXT, first_seen_at TEXT,
  last_seen_at TEXT, mention_count INTEGER, scope_hash TEXT, decay_state TEXT);
CREATE TABLE relations (id INTEGER PRIMARY KEY AUTOINCREMENT, subject_id TEXT, subject_kind TEXT, predicate TEXT,
  object_id TEXT, object_kind TEXT, source_memory_id TEXT, scope_hash TEXT, confidence REAL, created_at TEXT,
  superseded_at TEXT);
CREATE TABLE supersedes_chain (newer_memory_id TEXT, older_memory_id TEXT, entity_id TEXT, confidence REAL,
  decided_at TEXT, decided_by TEXT, reason TEXT, PRIMARY KEY (newer_memory_id, older_memory_id));
CREATE TABLE profile_versions (id INTEGER PRIMARY KEY, version_num INTEGER UNIQUE, written_at TEXT, trigger TEXT,
  content_md TEXT);
CREATE TABLE _schema_migrations (filename TEXT PRIMARY KEY, applied_at TEXT);
"""
MEMORIES: list[dict[str, Any]] = [
    {"slug": "one", "type": "fact", "scope_hash": A, "title": "Title: one", "source": "codex", "tags": ["a", "ü"],
     "created_at": "2026-01-01T00:00:00Z", "supersedes": ["two"], "triggers": ["go"], "body": "first\r\n\n---\nlast  "},
    {"slug": "two", "type": "decision", "scope_hash": A, "title": "标题", "source": "mcp", "recall_count": 2,
     "created_at": "2026-01-02T01:00:00.123456+08:00", "updated_at": "2026-01-03T00:00:00.5Z", "ttl_days": 30,
     "decay_state": "dim", "relations": ["mentions:entity:library:solid"], "body": "second [[wikilink]] #tag"},
    {"slug": "three", "type": "session", "scope_hash": B, "title": "only a title", "source": "manual",
     "created_at": "2026-01-04T00:00:00", "body": " \n"},
    {"slug": "four", "type": "fact", "scope_hash": SECRET, "title": "hidden", "source": "manual",
     "created_at": "2026-01-05T00:00:00Z", "body": "a secret"},
]  # fmt: skip
EVENTS: list[dict[str, Any]] = [
    {"scope_hash": A, "event_type": "access_granted", "tool": "show", "ts": "2026-02-01T00:00:00.5+00:00"},
    {"event_type": "access_denied", "slug": "one", "reason": "no grant", "ts": "2026-02-02T00:00:00Z"},
    {"event_type": "access_denied", "slug": "one", "reason": "no grant", "ts": "2026-02-02T00:00:00Z"},
    {"action": "update", "target_id": "one", "actor": "cli", "details": {"after": {}}, "ts": "2026-02-03T00:00:00"},
]


def path_of(memory: dict[str, Any]) -> str:
    end = ".md.enc" if memory["scope_hash"] == SECRET else ".md"
    return f"scopes/{memory['scope_hash']}/{memory['type']}s/{memory['slug']}{end}"


def make_folder(root: Path, *, index: bool = True) -> Path:
    """Make a data folder as memoryd does."""
    key = Cipher(PASSPHRASE, SECRET.encode(), 600_000)
    for memory in MEMORIES:
        front = {name: value for name, value in memory.items() if name != "body"}
        text = f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True)}---\n\n{memory['body']}"
        path = root / path_of(memory)
        path.parent.mkdir(parents=True, exist_ok=True)
        secret = memory["scope_hash"] == SECRET
        path.write_bytes((key.encrypt(text, SECRET) if secret else text).encode())
    (root / "audit").mkdir()
    previous, lines = "0" * 64, []
    for event in EVENTS:
        lines.append(json.dumps({**event, "prev_hash": previous}, ensure_ascii=False) + "\n")
        previous = raw_hash(event)
    (root / "audit/audit.jsonl").write_text("".join(lines))
    if index:
        make_index(root / "index.db")
    return root


def make_index(path: Path) -> None:
    names = "slug type scope_hash title source created_at updated_at ttl_days decay_state recall_count".split()
    db = sqlite3.connect(path)
    with db:
        db.executescript(SCHEMA)
        for memory in MEMORIES:
            row = {"decay_state": "alive", "recall_count": 0, **memory}
            values = [row.get(name) for name in names] + [path_of(memory), memory["scope_hash"] == SECRET]
            columns = ", ".join((*names, "body_path", "scope_sensitive"))
            db.execute(f"INSERT INTO memories ({columns}) VALUES ({', '.join('?' * len(values))})", values)
        db.execute("UPDATE memories SET decay_state = 'soft-forgotten' WHERE slug = 'two'")
        db.execute("INSERT INTO promotions VALUES (1, 'three', 'proposed', ?)", (B,))
        db.execute("INSERT INTO sensitive_scopes VALUES (?, '/secret', '2026-01-01')", (SECRET,))
        at = "2026-02-01T00:00:00.123456+00:00"
        db.execute(
            "INSERT INTO entities VALUES (?, 'Solid', 'library', '[\"SolidJS\"]', 'ctx', ?, ?, 3, ?, 'dim')",
            ("entity:library:solid", at, at, A),
        )
        for object, superseded in (("entity:library:solid", None), ("memory:two", "2026-03-01T00:00:00+00:00")):
            db.execute(
                "INSERT INTO relations (subject_id, subject_kind, predicate, object_id, object_kind, source_memory_id,"
                " scope_hash, confidence, created_at, superseded_at) VALUES ('memory:one', 'memory', 'mentions', ?, ?,"
                " 'one', ?, 0.5, ?, ?)",
                (object, object.split(":")[0], A, at, superseded),
            )
        db.execute("INSERT INTO supersedes_chain VALUES ('one', 'two', NULL, 0.9, ?, 'auto', 'newer')", (at,))
        for number in (1, 2):
            db.execute(
                "INSERT INTO profile_versions VALUES (?, ?, ?, 'manual', ?)", (number, number, at, f"me {number}")
            )
    db.close()


def zulu(text: str | None) -> datetime | None:
    at = None if text is None else datetime.fromisoformat(text)
    return at if at is None or at.tzinfo else at.replace(tzinfo=UTC)


def make_export(root: Path, out: Path, passphrase: str = PASSPHRASE) -> Path:
    """Write the memories.json that memoryd exports from a data folder; sensitive bodies are plain without a phrase."""
    db = sqlite3.connect(root / "index.db")
    db.row_factory = sqlite3.Row
    key = Cipher(passphrase, SECRET.encode(), 600_000)
    rows = []
    for row in db.execute("SELECT * FROM memories ORDER BY created_at"):
        raw = (root / row["body_path"]).read_text()
        text = key.decrypt(raw, SECRET).decode() if row["scope_sensitive"] else raw
        _, front, body = text.split("---", 2)
        front = yaml.safe_load(front)
        content = body.strip() or row["title"]
        created, updated = zulu(row["created_at"]), zulu(row["updated_at"])
        assert created is not None
        names = "slug title scope_hash ttl_days decay_state recall_count".split()
        rows.append({
            "content": content, "content_hash": hashlib.sha256(content.encode()).hexdigest(),
            "tags": front.get("tags", []), "created_at": created.timestamp(),
            "updated_at": (updated or created).timestamp(), "memory_type": row["type"],
            "metadata": {name: row[name] for name in names}, "export_source": "desk", "id": row["slug"],
            "scope": row["scope_hash"], "source": row["source"], "frontmatter": front, "entities": None,
            "relations": None, "supersedes": front.get("supersedes"), "superseded_by": None,
            "decay_state": row["decay_state"], "sensitive": bool(row["scope_sensitive"]), "encrypted": False,
            "cipher_blob": None, "large_file_manifest": None, "merge_notes": None,
        })  # fmt: skip
    entities = [
        {"id": row["id"], "name": row["name"], "type": row["type"], "aliases": json.loads(row["aliases"]),
         "first_seen_at": row["first_seen_at"].replace("+00:00", "Z"),
         "last_seen_at": row["last_seen_at"].replace("+00:00", "Z"), "mention_count": row["mention_count"]}
        for row in db.execute("SELECT * FROM entities")
    ]  # fmt: skip
    names = "subject_id predicate object_id source_memory_id confidence".split()
    relations = [
        {**{name: row[name] for name in names}, "created_at": row["created_at"].replace("+00:00", "Z")}
        for row in db.execute("SELECT * FROM relations")
    ]
    (identity,) = db.execute("SELECT content_md FROM profile_versions ORDER BY version_num DESC LIMIT 1").fetchone()
    db.close()
    chain = []
    for number, line in enumerate((root / "audit/audit.jsonl").read_text().splitlines(), 1):
        event = json.loads(line)
        rest = {k: v for k, v in event.items() if k not in ("ts", "prev_hash", "event_type", "action", "target_id")}
        ts = zulu(event["ts"])
        assert ts is not None
        chain.append({
            "seq": number, "ts": ts.isoformat().replace("+00:00", "Z"),
            "action": event.get("event_type") or event["action"],
            "target_id": event.get("target_id") or event.get("slug"), "details": event.get("details") or rest,
            "prev_hash": event["prev_hash"], "this_hash": raw_hash(event),
        })  # fmt: skip
    meta = {
        "source_machine": "desk", "export_timestamp": "2026-03-02T08:00:00Z", "total_memories": len(rows),
        "database_path": "/x/index.db", "platform": "Linux", "python_version": "3.12.0",
        "exporter_version": "memoryd-1", "audit_chain_head": chain[-1]["this_hash"],
    }  # fmt: skip
    value = {"export_metadata": meta, "memories": rows, "entities": entities, "relations": relations,
             "identity_snapshot": identity, "audit_chain": chain}  # fmt: skip
    out.write_text(json.dumps(value, ensure_ascii=False, indent=2))
    return out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "memoryd" / "data")


def by_slug(memory: Memory) -> dict[str, Any]:
    return {record.foreign[0].id: record for record in memory.list(limit=None)}


def test_everything_in_a_folder_is_imported(memory: Memory, folder: Path) -> None:
    result = memory.import_from(folder, passphrase=PASSPHRASE)
    assert (result.format, result.imported, result.failed, list(result.errors)) == ("memoryd-folder", 4, 0, [])
    found = by_slug(memory)
    assert {slug: record.id for slug, record in found.items()} == {
        slug: derive_id("memoryd", "", slug) for slug in ("one", "two", "three", "four")
    }
    one, two = found["one"], found["two"]
    assert (one.content, one.title, one.kind, one.scope) == ("first\n\n---\nlast", "Title: one", "fact", A)
    assert (one.tags, one.triggers, one.source) == (["a", "ü"], ["go"], {"tool": "codex"})
    assert (two.created_at, two.updated_at) == (1767286800123456, 1767398400500000)
    assert two.access_count == 2 and two.extra["memoryd"]["decay_state"] == "soft-forgotten"
    assert found["three"].content == "only a title" and found["four"].content == "a secret"
    assert [scope.scope for scope in memory.scopes() if scope.sensitive] == [SECRET]
    things = memory.store.things
    (entity,) = things.select(Entity)
    assert (entity.scope, entity.aliases, entity.extra["memoryd"]) == (
        A,
        ["SolidJS"],
        {"context": "ctx", "decay_state": "dim"},
    )
    assert sorted(relation.superseded_at is None for relation in things.select(Relation)) == [False, True]
    (link,) = things.select(Supersession)
    assert (link.confidence, link.reason) == (0.9, "newer")
    assert {document.content for document in things.select(Document)} == {"me 1", "me 2"}
    assert sorted(row["origin"]["seq"] for row in memory.audit_imported()) == [1, 2, 3, 4]
    tables = Counter(blob.table for blob in things.select(Blob))
    assert tables == {"audit": 4, "audit.event": 1, "index.promotions": 1, "index.profile_versions": 2}
    assert "kept 1 item that memglot does not read: index.db (promotions)" in result.notes
    assert memory.import_from(folder, passphrase=PASSPHRASE).import_id is None


@pytest.mark.parametrize("first", ["folder", "export"])
def test_a_folder_and_its_export_are_the_same_memories(memory: Memory, folder: Path, first: str) -> None:
    export = make_export(folder, folder.parent / "memories.json")
    inputs = [folder, export] if first == "folder" else [export, folder]
    before = memory.import_from(inputs[0], passphrase=PASSPHRASE)
    after = memory.import_from(inputs[1], passphrase=PASSPHRASE)
    assert (before.imported, after.imported, after.conflicts, after.failed) == (4, 0, 0, 0)
    (entity,) = memory.store.things.select(Entity)
    relations = list(memory.store.things.select(Relation))
    # The export has neither scopes of the graph nor the times at which relations ended.
    assert entity.scope == A and {relation.scope for relation in relations} == {A}
    assert sorted(relation.superseded_at is None for relation in relations) == [False, True]
    assert len(memory.audit_imported()) == 4 and memory.count() == 4
    for one in inputs:
        assert memory.import_from(one, passphrase=PASSPHRASE).import_id is None


def test_records_equal_those_of_an_export(folder: Path) -> None:
    export = make_export(folder, folder.parent / "memories.json")
    found = []
    for given in (folder, export):
        with Memory.open(":memory:") as memory:
            memory.import_from(given, passphrase=PASSPHRASE)
            records = by_slug(memory)
            for record in records.values():
                record.source.pop("machine", None)
            found.append(records)
    assert found[0] == found[1]


# Where the folder is


def copied(folder: Path, to: Path) -> Path:
    to.mkdir()
    shutil.copytree(folder, to / "data")
    (to / "config").mkdir()
    (to / "config/config.toml").write_text('[sensitive]\nkey_source = "passphrase"\nkdf_iters = 600000\n')
    return to


@pytest.mark.parametrize("shape", ["data", "parent", "zip", "zipped parent", "bundle"])
def test_a_folder_a_zip_and_a_bundle_are_recognized(memory: Memory, folder: Path, tmp_path: Path, shape: str) -> None:
    given = folder
    if shape == "parent":
        given = copied(folder, tmp_path / "copy")
    elif shape == "bundle":
        given = tmp_path / "memoryd-sync.tar.gz"
        with tarfile.open(given, "w:gz") as out:
            for name in ("scopes", "index.db", "audit"):
                out.add(folder / name, name)
    elif shape.startswith("zip"):
        given = tmp_path / "x.zip"
        top = folder if shape == "zip" else copied(folder, tmp_path / "top")
        with zipfile.ZipFile(given, "w") as out:
            for path in sorted(top.rglob("*")):
                out.write(path, f"top/{path.relative_to(top)}")
    result = memory.import_from(given, passphrase=PASSPHRASE)
    assert (result.format, result.imported, list(result.errors)) == ("memoryd-folder", 4, [])
    assert len(list(memory.store.things.select(Relation))) == 2


def test_a_folder_is_not_taken_for_a_vault(folder: Path, tmp_path: Path) -> None:
    for without in ("index.db", "audit", f"scopes/{SECRET}"):
        path = folder / without
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        found = detect_folder(glance_at(folder))
        assert found is not None and found.name == "memoryd-folder"
    (folder / ".obsidian").mkdir()
    found = detect_folder(glance_at(folder))
    assert found is not None and found.name == "memoryd-folder"
    # A vault may have folders of these names.
    note = tmp_path / "vault/scopes/a/facts/note.md"
    note.parent.mkdir(parents=True)
    note.write_text("a [[link]]")
    found = detect_folder(glance_at(tmp_path / "vault"))
    assert found is not None and found.name == "obsidian"


def test_an_empty_data_folder_has_no_memories(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    db = sqlite3.connect(tmp_path / "data/index.db")
    db.executescript(SCHEMA)
    db.close()
    result = memory.import_from(tmp_path / "data")
    assert (result.format, result.exit_code) == ("memoryd-folder", 0)
    assert any("contains no memories" in note for note in result.notes)


def test_other_inputs_are_refused(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(b"\x1f\x8b\x08 not compressed")
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.md").write_text("x")
    for name, reason in (
        ("x.tar.gz", "compressed data are damaged"),
        ("empty", "no `scopes`"),
        ("a.md", "as a folder"),
    ):
        (fault,) = memory.import_from(tmp_path / name, format="memoryd-folder").errors
        assert reason in str(fault)
    with pytest.raises(NotWritable):
        memory.export(tmp_path / "out", format="memoryd-folder")


# Encryption


def test_encrypted_memories_are_reported_once_without_a_passphrase(memory: Memory, folder: Path) -> None:
    shutil.copy(folder / path_of(MEMORIES[3]), folder / f"scopes/{SECRET}/facts/five.md.enc")
    result = memory.import_from(folder)
    (fault,) = result.errors
    assert str(fault).endswith(f"data: 2 memories of the scope `{SECRET}` are encrypted, and no passphrase was given")
    assert fault.hint is not None and "--passphrase-file" in fault.hint
    assert (result.imported, result.failed, result.exit_code) == (3, 2, 1)
    assert "four" not in by_slug(memory)
    # With the passphrase, the rest is added.
    assert memory.import_from(folder, passphrase=PASSPHRASE).imported == 1


def test_a_wrong_passphrase_is_reported_once(memory: Memory, folder: Path) -> None:
    result = memory.import_from(folder, passphrase="wrong")
    (fault,) = result.errors
    assert "the passphrase does not decrypt" in str(fault) and (result.imported, result.failed) == (3, 1)


def test_an_altered_file_of_a_decrypted_scope_is_reported(memory: Memory, folder: Path) -> None:
    (folder / f"scopes/{SECRET}/facts/bad.md.enc").write_text("AAAA")
    result = memory.import_from(folder, passphrase=PASSPHRASE)
    (fault,) = result.errors
    assert "bad.md.enc" in str(fault) and "it was altered" in str(fault) and result.imported == 4


def test_the_configuration_sets_the_rounds_of_the_key(memory: Memory, folder: Path, tmp_path: Path) -> None:
    top = copied(folder, tmp_path / "top")
    (top / "config/config.toml").write_text("[sensitive]\nkdf_iters = 1000\n")
    secret = top / "data" / path_of(MEMORIES[3])
    text = "---\nslug: four\n---\n\nfew rounds"
    secret.write_text(Cipher(PASSPHRASE, SECRET.encode(), 1000).encrypt(text, SECRET))
    memory.import_from(top, passphrase=PASSPHRASE)
    assert by_slug(memory)["four"].content == "few rounds"


def test_sensitive_scopes_stay_encrypted(memory: Memory, folder: Path, tmp_path: Path) -> None:
    memory.import_from(folder, passphrase=PASSPHRASE)
    memory.sync_export(tmp_path / "out.json", passphrase="p")
    assert "a secret" not in (tmp_path / "out.json").read_text()


# What people and programs do to the folder


def test_an_edited_file_wins_over_the_index(memory: Memory, folder: Path) -> None:
    path = folder / path_of(MEMORIES[1])
    path.write_text(path.read_text().replace("second", "edited by hand").replace("2026-01-03", "2027-01-03"))
    memory.import_from(folder, passphrase=PASSPHRASE)
    two = by_slug(memory)["two"]
    assert two.content.startswith("edited by hand") and two.updated_at == 1767398400500000


@pytest.mark.parametrize("damage", ["missing", "text", "truncated", "zeros", "link", "no tables"])
def test_a_damaged_index_costs_only_times_and_the_graph(
    memory: Memory, folder: Path, tmp_path: Path, damage: str
) -> None:
    path = folder / "index.db"
    raw = path.read_bytes()
    path.unlink()
    if damage == "text":
        path.write_text("not a database")
    elif damage == "truncated":
        path.write_bytes(raw[: len(raw) // 2])
    elif damage == "zeros":
        path.write_bytes(raw[:4096] + bytes(len(raw) - 4096))
    elif damage == "link":
        (tmp_path / "other.db").write_bytes(raw)
        path.symlink_to(tmp_path / "other.db")
    elif damage == "no tables":
        sqlite3.connect(path).execute("CREATE TABLE x (y)").connection.close()
    result = memory.import_from(folder, passphrase=PASSPHRASE)
    assert (result.format, result.imported, list(result.errors)) == ("memoryd-folder", 4, [])
    assert damage == "no tables" or any("index.db was not read" in note for note in result.notes)
    found = by_slug(memory)
    # The times are in front matter too.
    assert found["two"].updated_at == 1767398400500000 and found["one"].created_at == 1767225600000000
    assert [scope.scope for scope in memory.scopes() if scope.sensitive] == [SECRET]


def test_an_index_that_memoryd_is_writing_is_read_at_one_moment(memory: Memory, folder: Path) -> None:
    db = sqlite3.connect(folder / "index.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("UPDATE memories SET recall_count = 7 WHERE slug = 'one'")
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE memories SET recall_count = 8 WHERE slug = 'one'")
    try:
        assert memory.import_from(folder, passphrase=PASSPHRASE).imported == 4
        assert by_slug(memory)["one"].access_count == 7
        db.execute("COMMIT")
    finally:
        db.close()


def test_a_memory_without_a_file_has_its_title(memory: Memory, folder: Path) -> None:
    (folder / path_of(MEMORIES[0])).unlink()
    result = memory.import_from(folder, passphrase=PASSPHRASE)
    assert by_slug(memory)["one"].content == "Title: one"
    assert "1 memory of index.db without a file: the title was imported" in result.notes


def test_memories_that_memoryd_imported_and_never_showed(memory: Memory, folder: Path) -> None:
    db = sqlite3.connect(folder / "index.db")
    with db:
        db.execute(
            "CREATE TABLE sync_imported_memories (id TEXT PRIMARY KEY, scope_hash TEXT, content TEXT,"
            " content_hash TEXT, updated_at REAL, tags_json TEXT, metadata_json TEXT)"
        )
        for id in ("one", "six", "abcd"):
            row = (id, A, f"side {id}", "abcd", 1770000000.5, '["x"]', '{"k": 1}')
            db.execute("INSERT INTO sync_imported_memories VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    db.close()
    assert memory.import_from(folder, passphrase=PASSPHRASE).imported == 6
    found = by_slug(memory)
    assert found["one"].content.startswith("first") and found["six"].content == "side six"
    assert (found["six"].tags, found["six"].meta, found["six"].scope) == (["x"], {"k": 1}, A)
    assert found["abcd"].id == derive_id("mcp-memory", "", "abcd")


def test_what_is_not_understood_is_kept_or_reported(memory: Memory, folder: Path) -> None:
    for name in (
        "scopes/_conflicts/one.md-1a2b3c4d",
        "profile/history/2026-W01.md",
        "notes.txt",
        f"scopes/{A}/forgotten/one.md",
        f"scopes/{SECRET}/plain.txt",
        "grants/a.json",
        "logs/x.log",
        "milvus.db",
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")
    (folder / ".memoryd-sync-state.json").write_text("{}")
    (folder / "scopes/out.md").symlink_to("/etc/hostname")
    result = memory.import_from(folder, passphrase=PASSPHRASE)
    assert result.imported == 4
    kept = {blob.row["path"]: blob for blob in memory.store.things.select(Blob) if blob.table == "folder"}
    assert set(kept) == {
        "scopes/_conflicts/one.md-1a2b3c4d", "profile/history/2026-W01.md", "notes.txt", f"scopes/{A}/forgotten/one.md"
    }  # fmt: skip
    assert kept["notes.txt"].data == b"text of notes.txt"
    assert kept["scopes/_conflicts/one.md-1a2b3c4d"].owner == derive_id("memoryd", "", "one")
    notes = " ".join(result.notes)
    assert re.search(r"skipped 4 other files: grants/a.json, logs/x.log, milvus.db, scopes/.*plain.txt", notes)
    assert "skipped 1 hidden file" in notes and "symbolic link: scopes/out.md" in notes


def test_an_edited_identity_is_imported(memory: Memory, folder: Path) -> None:
    (folder / "profile").mkdir()
    (folder / "profile/identity.md").write_text("me, edited")
    memory.import_from(folder, passphrase=PASSPHRASE)
    assert {document.content for document in memory.store.things.select(Document)} == {"me 1", "me 2", "me, edited"}
    (folder / "profile/identity.md").write_text("me 2")
    assert memory.import_from(folder, passphrase=PASSPHRASE).import_id is None


def test_files_with_bad_text(memory: Memory, folder: Path) -> None:
    facts = folder / f"scopes/{A}/facts"
    (facts / "nul.md").write_bytes(b"a\0b")
    (facts / "front.md").write_text("---\na: [\n---\n\nbody")
    (facts / "plain.md").write_text("no front matter")
    result = memory.import_from(folder, passphrase=PASSPHRASE)
    found = by_slug(memory)
    assert found["plain"].content == "no front matter" and "body" in found["front"].content
    assert (found["plain"].kind, found["plain"].scope) == ("fact", A)
    errors = sorted(str(fault).rpartition("/")[2] for fault in result.errors)
    assert [error.partition(".md")[0] for error in errors] == ["front"]
    assert found["nul"].content == "a\ufffdb"
    assert (result.imported, result.failed) == (7, 0)


def test_a_file_that_cannot_be_read_is_not_replaced_by_its_title(memory: Memory, folder: Path) -> None:
    (folder / path_of(MEMORIES[0])).write_bytes(b"\xff")
    result = memory.import_from(folder, passphrase=PASSPHRASE)
    assert (result.imported, result.failed) == (3, 1) and "one" not in by_slug(memory)


def test_a_broken_audit_log_is_refused_unless_accepted(memory: Memory, folder: Path) -> None:
    log = folder / "audit/audit.jsonl"
    log.write_text(log.read_text().replace('"tool": "show"', '"tool": "x"'))
    (fault,) = memory.import_from(folder, passphrase=PASSPHRASE).errors
    assert "audit chain is broken at row 2" in str(fault) and memory.count() == 0
    assert memory.import_from(folder, passphrase=PASSPHRASE, accept_broken_audit=True).imported == 4


def test_a_bundle_cannot_write_outside(memory: Memory, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    with tarfile.open(path, "w:gz") as out:
        out.add(folder / "scopes", "scopes")
        out.add(folder / "index.db", "../evil.db")
        link = tarfile.TarInfo("scopes/link.md")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        out.addfile(link)
    result = memory.import_from(path, passphrase=PASSPHRASE)
    (fault,) = result.errors
    assert "its path leaves the archive" in str(fault) and result.imported == 4
    assert any("symbolic link: scopes/link.md" in note for note in result.notes)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert any("damaged" in str(fault) for fault in memory.import_from(path, passphrase=PASSPHRASE).errors)


# The real folder


@real
@pytest.mark.parametrize("given", ["data", "."])
def test_the_real_folder_is_read_completely(memory: Memory, given: str) -> None:
    on_disk = [path for path in (REAL / "data").rglob("*") if path.is_file()]
    files = [path for path in on_disk if path.name.endswith((".md", ".md.enc"))]
    assert len(on_disk) == len(files) + 2
    result = memory.import_from(REAL / given, passphrase=REAL_PASSPHRASE)
    assert (result.format, result.imported, list(result.errors)) == ("memoryd-folder", len(files), [])
    found = by_slug(memory)
    assert set(found) == {path.name.partition(".md")[0] for path in files}
    things = memory.store.things
    db = sqlite3.connect(f"file:{REAL}/data/index.db?immutable=1", uri=True)
    for kind, table in ((Entity, "entities"), (Relation, "relations")):
        assert len(list(things.select(kind))) == db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    chain = db.execute("SELECT newer_memory_id, older_memory_id FROM supersedes_chain").fetchall()
    links = {(link.newer, link.older) for link in things.select(Supersession)}
    assert {(derive_id("memoryd", "", newer), derive_id("memoryd", "", older)) for newer, older in chain} <= links
    db.close()
    assert len(memory.audit_imported()) == 9
    assert [scope.scope for scope in memory.scopes() if scope.sensitive] == [SECRET]
    assert memory.import_from(REAL / given, passphrase=REAL_PASSPHRASE).import_id is None


@real
def test_the_real_folder_and_its_export_are_the_same_memories(memory: Memory, tmp_path: Path) -> None:
    shutil.copytree(REAL / "data", tmp_path / "data", copy_function=shutil.copyfile)
    export = make_export(tmp_path / "data", tmp_path / "memories.json", REAL_PASSPHRASE)
    memory.import_from(tmp_path / "data", passphrase=REAL_PASSPHRASE)
    graph = [*memory.store.things.select(Entity), *memory.store.things.select(Relation)]
    result = memory.import_from(export)
    assert (result.imported, result.failed, result.conflicts) == (0, 0, 0)
    assert [*memory.store.things.select(Entity), *memory.store.things.select(Relation)] == graph
    assert len(memory.audit_imported()) == 9 and memory.import_from(export).import_id is None


@real
def test_the_real_folder_without_a_passphrase(memory: Memory) -> None:
    result = memory.import_from(REAL / "data")
    assert (result.imported, result.failed, len(list(result.errors))) == (190, 12, 1)
    assert not os.path.exists(REAL / "data/index.db-wal")
