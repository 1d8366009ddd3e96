"""Measure the formats of other tools in the same run: traces against NDJSON, vaults against bare loops.

Times are CPU times of the complete process including start-up, best of three alternating runs. Run it with
`make bench-formats`; `--large` adds the imports of 200,000, and `--gigabyte` a ChatGPT export of that size.
"""

from __future__ import annotations

import hashlib
import os
import platform
import random
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from core import DATA, HERE, Cost, clear, compare, memglot, python, row
from records import lines, words

BARE = str(HERE / "bare.py")
GIGABYTE = 1 << 30


def traces(path: Path, count: int) -> Path:
    """Make a file of traces as AgentOS documents them, one per line, unless it exists."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as out:
            for number, line in enumerate(lines(count, with_ids=False)):
                out.write(msgspec.json.encode(_trace(number, msgspec.json.decode(line)["content"])) + b"\n")
    return path


def _trace(number: int, content: str) -> dict[str, Any]:
    hash = hashlib.sha256(content.encode()).hexdigest()
    return {
        "id": f"mt_{hash[:8]}-{hash[8:12]}-4{hash[13:16]}-8{hash[17:20]}-{number:012x}",
        "type": ("episodic", "semantic", "procedural")[number % 3],
        "scope": "user",
        "content": content,
        "strength": 0.87,
        "tags": ["preference", f"tag{number % 50}"],
        "emotions": {},
        "metadata": {"contentHash": hash},
        "createdAt": 1_711_234_567_890 + number,
        "lastAccessed": None,
        "retrievalCount": number % 5,
    }


def vault(folder: Path, count: int, length: int) -> Path:
    """Make a folder of notes with front matter, tags and links to each other, unless it exists."""
    if not folder.exists():
        source = random.Random(3)
        vocabulary = words(random.Random(1), 5_000)
        for number in range(count):
            place = folder / f"area {number % 40}" / f"note {number}.md"
            place.parent.mkdir(parents=True, exist_ok=True)
            text = " ".join(source.choices(vocabulary, k=source.randint(length // 2, length * 3 // 2)))
            links = f"[[note {source.randrange(count)}]] and [[note {source.randrange(count)}|that]]"
            front = f"---\ntags:\n  - area{number % 40}\nrating: {number % 7}\n---\n"
            place.write_text(f"{front}{text} {links}\n\n#seen{number % 9}\n", encoding="utf-8")
    return folder


def chats(path: Path, size: int) -> Path:
    """Make a ChatGPT export of about this size in bytes, unless it exists."""
    if not path.exists():
        source, vocabulary = random.Random(5), words(random.Random(1), 5_000)
        with open(path, "wb") as out:
            out.write(b"[")
            number = 0
            while out.tell() < size:
                out.write((b"," if number else b"") + msgspec.json.encode(_chat(number, source, vocabulary)))
                number += 1
            out.write(b"]")
    return path


def _chat(number: int, source: random.Random, vocabulary: list[str]) -> dict[str, Any]:
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["0"]}}
    turns = source.randint(2, 60)
    for turn in range(turns):
        text = " ".join(source.choices(vocabulary, k=source.randint(20, 200)))
        message = {
            "id": f"{number}-{turn}",
            "author": {"role": ("user", "assistant")[turn % 2]},
            "create_time": 1_700_000_000 + number * 100 + turn,
            "content": {"content_type": "text", "parts": [text]},
            "metadata": {"model_slug": "gpt-4"},
        }
        children = [str(turn + 1)] if turn + 1 < turns else []
        parent = str(turn - 1) if turn else "root"
        mapping[str(turn)] = {"id": str(turn), "message": message, "parent": parent, "children": children}
    return {
        "title": f"Chat {number}",
        "create_time": 1_700_000_000 + number * 100,
        "mapping": mapping,
        "current_node": str(turns - 1),
        "conversation_id": f"conversation-{number}",
    }


def rates(folder: Path, count: int) -> None:
    """Compare imports of traces with NDJSON imports of as many memories."""
    from records import ndjson

    store = folder / "store.db"

    def load(*arguments: str | Path) -> Cost:
        clear(store)
        return memglot(store, "import", "--json", "--no-embed", *arguments)

    own = ndjson(DATA / f"own-{count}.ndjson", count)
    page = traces(DATA / f"traces-{count}.json", count)
    brain, program = folder / f"brain-{count}.sqlite", folder / f"program-{count}.json"
    python("-m", "memglot", "convert", page, brain, "--to", "agentos-sqlite")
    python("-m", "memglot", "convert", page, program, "--to", "agentos-json", "--dialect", "program")
    for what, path in (("JSON lines", page), ("the program's object", program), ("a brain", brain)):
        compare(f"import {count:,} traces, {what}", partial(load, own), partial(load, path))


def vaults(folder: Path, count: int, length: int) -> None:
    """Compare import and export of a vault with bare loops that read, hash and insert, or write."""
    notes = vault(DATA / f"vault-{count}-{length}", count, length)
    store, bare_store = folder / f"vault-{length}.db", folder / "bare.db"

    def load() -> Cost:
        clear(bare_store)
        return python(BARE, "notes", notes, bare_store)

    def fill() -> Cost:
        clear(store)
        return memglot(store, "import", notes, "--format", "obsidian", "--json", "--no-embed")

    compare(f"import a vault of {count:,} notes of {length} words", load, fill)
    out, copy = folder / "out", folder / "copy"

    def write() -> Cost:
        shutil.rmtree(copy, ignore_errors=True)
        return python(BARE, "copy", notes, copy)

    def export() -> Cost:
        shutil.rmtree(out, ignore_errors=True)
        return memglot(store, "export", out, "--format", "obsidian")

    compare(f"export a vault of {count:,} notes of {length} words", write, export)


def main() -> None:
    """Measure and print a table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
        print("| what | baseline, s | memglot, s | ratio | peak, MiB |\n|---|---|---|---|---|")
        rates(folder, 20_000)
        vaults(folder, 10_000, 45)
        vaults(folder, 10_000, 300)
        if "--large" in sys.argv:
            rates(folder, 200_000)
        if "--gigabyte" in sys.argv:
            cost = memglot(
                folder / "chat.db", "import", chats(folder / "conversations.json", GIGABYTE), "--json", "--no-embed"
            )
            row("import a ChatGPT export of 1 GB", cost, cost)


if __name__ == "__main__":
    main()
