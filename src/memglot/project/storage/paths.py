"""Names of the files and folders of `.memory/`, relative to it."""

import os

FOLDER = ".memory"
"""The folder of project memory, relative to the project."""
CONFIG = "config.json"
EVENTS = "events.jsonl"
SYNC_MARKER = "sync-state.json"
ATTRIBUTES = ".gitattributes"
GIT_RULES = "* -text\nevents.jsonl merge=union\n"
"""Content of `.gitattributes`: hashes need unchanged line ends, and both sides of a merge add to the event log."""
LOCK = ".lock"
NODES = "memory"
RELATIONS = "relations"
SCHEMAS = "schema"
INDEX = "index"
TOOL_INDEX = f"{INDEX}/memory.sqlite"
"""The index of the original tool."""
JOURNAL = f"{INDEX}/journal"
"""The plan of a change of several files, until the change is complete."""
RECOVERY = "recovery"
BACKUPS = ".backup"
OWN_FOLDER = "memglot"
"""Folder of what only memglot stores: fields that the storage has no place for."""
KIND_FOLDERS = {"feature": "features", "decision": "decisions", "gotcha": "gotchas", "question": "questions"}
"""Subfolders of `memory/` in which the original tool stores the nodes of each kind."""
IGNORED = (".memory/index/", ".memory/exports/", ".memory/recovery/", ".memory/.backup/", ".memory/.lock")
"""Lines of `.gitignore` for generated files."""


def memory_path(path: str) -> str:
    """Return a path below `.memory` as answers and issues show it, relative to the project."""
    return os.fsencode(f"{FOLDER}/{path}").decode("utf-8", "replace")
