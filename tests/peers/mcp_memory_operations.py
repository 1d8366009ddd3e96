"""Run operations of mcp-memory-service on a database: `python mcp_memory_operations.py PACKAGE DATABASE`.

Reads a JSON list of [name, arguments] from standard input and prints the results as one JSON list. Runs in the
program's own environment, not in memglot's.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import inspect
import json
import logging
import sys
import types
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

DIMENSIONS = 384


class HashEmbedder:
    """Replaces the model of `sentence_transformers`, which needs a download; version 8 does not start without one."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def get_sentence_embedding_dimension(self) -> int:
        return DIMENSIONS

    def encode(self, texts: list[str] | str, **_: object) -> Any:
        numpy = importlib.import_module("numpy")
        rows = [_vector(text) for text in ([texts] if isinstance(texts, str) else texts)]
        found = numpy.array(rows, dtype="float32")
        return found[0] if isinstance(texts, str) else found


def _vector(text: str) -> list[float]:
    digest = b"".join(hashlib.sha256(f"{turn}{text}".encode()).digest() for turn in range(DIMENSIONS // 32))
    return [byte / 255 - 0.5 for byte in digest]


def replace_model(version: str) -> None:
    """Provide `sentence_transformers` to version 8; later ones compute hash vectors on their own."""
    if version.startswith("8."):
        module = types.ModuleType("sentence_transformers")
        module.SentenceTransformer = HashEmbedder  # type: ignore[attr-defined]
        sys.modules["sentence_transformers"] = module


class Service:
    """The storage of the program, its exporter and its importer."""

    def __init__(self, database: str) -> None:
        self._sync = importlib.import_module("mcp_memory_service.sync")
        self._model = importlib.import_module("mcp_memory_service.models.memory")
        self._hash = importlib.import_module("mcp_memory_service.utils.hashing").generate_content_hash
        self.storage = importlib.import_module("mcp_memory_service.storage.sqlite_vec").SqliteVecMemoryStorage(database)

    async def store(self, content: str, **fields: Any) -> str:
        """Store a memory and return its hash."""
        hashed: str = self._hash(content)
        await succeed(self.storage.store(self._model.Memory(content=content, content_hash=hashed, **fields)))
        return hashed

    async def update(self, content_hash: str, **updates: Any) -> str:
        """Change tags, type or metadata."""
        return await succeed(self.storage.update_memory_metadata(content_hash, updates))

    async def rewrite(self, content_hash: str, content: str) -> Any:
        """Replace the text by a new version, which only later releases can do."""
        found = await self.storage.update_memory_versioned(content_hash, content)
        return found[:2] if isinstance(found, tuple) else found

    async def delete(self, content_hash: str) -> str:
        """Delete a memory."""
        return await succeed(self.storage.delete(content_hash))

    async def recall(self, query: str) -> list[str]:
        """Search, which some releases count as an access."""
        return [found.memory.content for found in await self.storage.retrieve(query, 3)]

    async def export(self, path: str) -> Any:
        """Write the program's export."""
        return await self._sync.MemoryExporter(self.storage).export_to_json(Path(path))

    async def load(self, path: str) -> Any:
        """Read an export as the program's import does by default."""
        return await self._sync.MemoryImporter(self.storage).import_from_json([Path(path)])


async def succeed(call: Awaitable[tuple[bool, str]]) -> str:
    """Return the message of an operation, or raise it."""
    done, message = await call
    if not done:
        raise RuntimeError(message)
    return message


async def run(database: str) -> list[Any]:
    service = Service(database)
    await service.storage.initialize()
    results = []
    for name, arguments in json.load(sys.stdin):
        operation: Callable[..., Awaitable[Any]] = getattr(service, name)
        results.append(await operation(**arguments))
    closed = service.storage.close()
    if inspect.isawaitable(closed):
        await closed
    return results


def main() -> None:
    package, database = sys.argv[1:]
    logging.disable(logging.CRITICAL)
    sys.path.insert(0, package)
    replace_model(Path(package).name)
    found = asyncio.run(run(database))
    sys.stdout.write("\n" + json.dumps(found))


main()
