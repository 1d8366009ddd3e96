"""Detection of the format of an input."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from memglot.errors import UnknownFormat, UsageError
from memglot.formats import registry
from memglot.formats.base import Format
from memglot.formats.core.source import Source
from memglot.formats.detect import Glance, detect, detect_folder, format_to_write


def found(text: bytes, name: str = "") -> str:
    return detect(Source(name, io.BytesIO(text), path=Path(name) if name else None)).name


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a.json", b"---", "json"),
        ("a.NDJSON", b"[", "ndjson"),
        ("a.jsonl", b"x", "ndjson"),
        ("a.yaml", b"{", "yaml"),
        ("a.yml", b"---", "yaml"),
        ("a.md", b"{", "markdown"),
        ("a.MARKDOWN", b"[", "markdown"),
        ("", b"  \n---\nx", "markdown"),
        ("", b" {", "json"),
        ("a.txt", b"\n[", "json"),
        ("noextension", b"content: x", "yaml"),
        ("", b"\xef\xbb\xbf{", "json"),
        ("table.txt", b"Content;type\nx;y", "csv"),
        ("", b"content: a, b", "yaml"),
        ("a.txt", b'{"id":"mt_1","content":"x"}', "agentos-json"),
        ("a.json", b'[{"content":"x","retrievalCount":3}]', "agentos-json"),
        ("a.json", b'{"meta":{},"traces":[]}', "agentos-json"),
        ("a.json", b'{"content":"x","meta":{"strength":1}}', "json"),
        ("a.md", b"---\nid: mt_1\n---\nx", "agentos-markdown"),
        ("a.md", b"---\ntype: x\nscope: y\n---\nx", "agentos-markdown"),
        ("a.json", b"SQLite format 3\0" + bytes(84), "agentos-sqlite"),
        ("", b"SQLite format 3\0" + bytes(52) + b"mglt" + bytes(28), "sqlite"),
        ("a.json", b'[{"title":"{","mapping":{"a":{"id"', "chatgpt"),
        ("a.json", b'[{"content":"x","meta":{"mapping":{}}}]', "json"),
        ("a.json", b'[{"mapping":[]}]', "json"),
        ("a.jsonl", b' {"mapping": {}}\n{}', "chatgpt"),
        ("", b'\n{\n  "title": null,\n  "mapping": {', "chatgpt"),
        ("memory.jsonl", b'{"type":"entity","name":"a","entityType":"t","observations":["', "mcp-graph"),
        ("memory.json", b'{"type":"relation","from":"a","to":"b","relationType":"r"}', "mcp-graph"),
        ("", b'{"type":"other"}\r\n \n{"type":"entity","name":"a","observations":[]}', "mcp-graph"),
        ("", b'[{"type":"entity","name":"a","entityType":"t","observations":[]}]', "mcp-graph"),
        ("a.jsonl", b'{"type":"other"}\n{"content":"x"}', "ndjson"),
        ("a.jsonl", b'{"content":"x","meta":{"type":"entity","name":"a","entityType":"t"}}', "ndjson"),
        ("a.jsonl", b'{"content":"x","type":"entity","name":"a","entityType":"t"}', "ndjson"),
    ],
)
def test_a_format_is_detected_by_extension_then_by_content(name: str, text: bytes, format: str) -> None:
    assert found(text, name) == format


@pytest.mark.parametrize(
    ("names", "format"),
    [
        (["conversations.json", "user.json"], "chatgpt"),
        (["export/conversations-000.json", "chat.html"], "chatgpt"),
        (["shared_conversations.json", "a.json"], None),
    ],
)
def test_a_folder_is_detected_by_its_files(names: list[str], format: str | None) -> None:
    found = detect_folder(Glance(iter(names), lambda name: b""))
    assert (found.name if found else None) == format


def test_the_registry_agrees_with_the_formats() -> None:
    first: dict[str, str] = {}
    for name, entry in registry._BUILT_IN.items():
        format = registry.get(name)
        assert (format.name, format.family) == (name, entry.family)
        assert (format.extensions, format.aliases) == (entry.extensions, entry.aliases)
        assert (format.folder.recognise is not None) == bool(entry.folder_order)
        for extension in entry.extensions:
            assert registry.by_extension(extension) is registry.get(first.setdefault(extension, name))
        assert all(registry.get(alias) is format for alias in entry.aliases)


def test_the_output_format_is_chosen_by_name_then_extension_then_json() -> None:
    assert format_to_write("md", Path("a.json")).name == "markdown"
    assert format_to_write(None, Path("a.YAML")).name == "yaml"
    assert format_to_write("auto", Path("folder")).name == "json"
    assert format_to_write(None, None).name == "json"
    with pytest.raises(UnknownFormat, match="`jsom`"):
        format_to_write("jsom", None)


class Entry:
    """An entry point of another package."""

    def __init__(self, name: str, value: str, format: Format | None = None) -> None:
        self.name, self.value, self._format = name, value, format

    def load(self) -> Any:
        return self._format


def test_plugins_join_and_built_in_names_win(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    plugin = replace(
        registry.get("json"), name="other", extensions=(".other",), recognise=lambda head: head.startswith(b'{"o"')
    )
    entries = [Entry("other", "pkg:FORMAT", plugin), Entry("json", "evil:FORMAT", plugin)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entries)
    registry._plugins.cache_clear()
    try:
        assert registry.names() == sorted([*registry._BUILT_IN, "other"])
        assert registry.get("other") is plugin
        assert registry.get("json").name == "json"
        assert found(b"x", "a.other") == "other"
        assert found(b'{"o":1}') == "other"
        assert found(b'{"p":1}') == "json"
        entries.append(Entry("other", "pkg2:FORMAT", plugin))
        registry._plugins.cache_clear()
        with pytest.raises(UsageError, match="pkg:FORMAT.*pkg2:FORMAT"):
            registry.names()
    finally:
        monkeypatch.undo()
        registry._plugins.cache_clear()
        registry._loaded.pop("other", None)
