"""Allowed values of storage version 5: kinds, statuses, stages, predicates, and the patterns of ids, tags and times."""

from typing import Literal, TypeAlias, get_args

STORAGE_VERSION = 5

Kind: TypeAlias = Literal["project", "feature", "decision", "gotcha", "question"]
SavedKind: TypeAlias = Literal["feature", "decision", "gotcha", "question"]
Status: TypeAlias = Literal["active", "stale", "superseded", "open", "closed"]
RelationStatus: TypeAlias = Literal["active", "stale", "rejected"]
Stage: TypeAlias = Literal["idea", "building", "shipped", "paused", "dead"]
Predicate: TypeAlias = Literal["affects", "depends_on", "supersedes", "related_to"]
Confidence: TypeAlias = Literal["low", "medium", "high"]
EvidenceKind: TypeAlias = Literal["memory", "relation", "file", "commit", "task", "source"]
SourceKind: TypeAlias = Literal["agent", "user", "cli", "mcp", "system"]
OriginKind: TypeAlias = Literal["file", "url", "user", "external"]

KINDS: tuple[str, ...] = get_args(Kind)
SAVED_KINDS: tuple[str, ...] = get_args(SavedKind)
"""The kinds that a save may create; only `init` creates the project node."""
RELATION_STATUSES: tuple[str, ...] = get_args(RelationStatus)
STAGES: tuple[str, ...] = get_args(Stage)
PREDICATES: tuple[str, ...] = get_args(Predicate)
CONFIDENCES: tuple[str, ...] = get_args(Confidence)
STATUSES = {kind: ("active", "stale", "superseded") for kind in KINDS} | {
    "question": ("open", "closed", "stale", "superseded")
}
"""The statuses of each kind; the first is the status of a new node."""
LIVE = ("active", "open")
"""The statuses of nodes that are valid at present."""

ID = r"^[a-z][a-z0-9_]*\.[a-z0-9][a-z0-9-]*$"
PROJECT_ID = r"^project\.[a-z0-9][a-z0-9-]*$"
RELATION_ID = r"^rel\.[a-z0-9][a-z0-9-]*$"
TAG = r"^[a-z0-9][a-z0-9-]*$"
HASH = r"^sha256:[a-f0-9]{64}$"
TIME = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$"
BODY_PATH = r"^memory/.+\.md$"
COMMIT = r"^[0-9a-fA-F]{6,64}$"
