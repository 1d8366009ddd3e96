"""The words of storage version 5: kinds, statuses, stages, predicates, events, and where things lie."""

from typing import Literal, TypeAlias

STORAGE_VERSION = 5
FOLDER = ".memory"
CONFIG = "config.json"
EVENTS = "events.jsonl"
MARKER = "sync-state.json"
ATTRIBUTES = ".gitattributes"
GIT_RULES = "* -text\nevents.jsonl merge=union\n"
"""What it says: hashes are of bytes, so line ends stay; both sides of a merge add to the log, and both are true."""
LOCK = ".lock"
NODES = "memory"
RELATIONS = "relations"
SCHEMAS = "schema"
INDEX = "index"
RECOVERY = "recovery"
BACKUPS = ".backup"
OWN = "memglot"
"""The folder of what memglot alone keeps: what the storage has no place for."""

Kind: TypeAlias = Literal["project", "feature", "decision", "gotcha", "question"]
Status: TypeAlias = Literal["active", "stale", "superseded", "open", "closed"]
RelationStatus: TypeAlias = Literal["active", "stale", "rejected"]
Stage: TypeAlias = Literal["idea", "building", "shipped", "paused", "dead"]
Predicate: TypeAlias = Literal["affects", "depends_on", "supersedes", "related_to"]
Confidence: TypeAlias = Literal["low", "medium", "high"]
EvidenceKind: TypeAlias = Literal["memory", "relation", "file", "commit", "task", "source"]
SourceKind: TypeAlias = Literal["agent", "user", "cli", "mcp", "system"]
OriginKind: TypeAlias = Literal["file", "url", "user", "external"]

KINDS = ("project", "feature", "decision", "gotcha", "question")
SAVED_KINDS = ("feature", "decision", "gotcha", "question")
"""The kinds that a save may create; the project node is made once, by `init`."""
STAGES = ("idea", "building", "shipped", "paused", "dead")
PREDICATES = ("affects", "depends_on", "supersedes", "related_to")
CONFIDENCES = ("low", "medium", "high")
EVIDENCE_KINDS = ("memory", "relation", "file", "commit", "task", "source")
STATUSES = {
    "project": ("active", "stale", "superseded"),
    "feature": ("active", "stale", "superseded"),
    "decision": ("active", "stale", "superseded"),
    "gotcha": ("active", "stale", "superseded"),
    "question": ("open", "closed", "stale", "superseded"),
}
"""The statuses of each kind; the first is that of a new node."""
LIVE = ("active", "open")
"""The statuses of what holds at present."""
KIND_FOLDERS = {"feature": "features", "decision": "decisions", "gotcha": "gotchas", "question": "questions"}
"""Where the real tool lays the nodes of each kind, below `memory/`."""
IGNORED = (".memory/index/", ".memory/exports/", ".memory/recovery/", ".memory/.backup/", ".memory/.lock")
"""The lines of `.gitignore` for what is generated."""

ID = r"^[a-z][a-z0-9_]*\.[a-z0-9][a-z0-9-]*$"
PROJECT_ID = r"^project\.[a-z0-9][a-z0-9-]*$"
RELATION_ID = r"^rel\.[a-z0-9][a-z0-9-]*$"
TAG = r"^[a-z0-9][a-z0-9-]*$"
HASH = r"^sha256:[a-f0-9]{64}$"
TIME = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$"
BODY_PATH = r"^memory/.+\.md$"
COMMIT = r"^[0-9a-fA-F]{6,64}$"
