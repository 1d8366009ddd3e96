"""Inputs that are expensive to read for their size, made to a given number of bytes."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from typing import NamedTuple

ID = "0194a000-0000-7000-8000-000000000000"


class Bomb(NamedTuple):
    """An input: the name of its file, and what makes its bytes."""

    file: str
    make: Callable[[int], bytes]


def fill(piece: str | bytes, size: int, before: str | bytes = b"", after: str | bytes = b"") -> bytes:
    """Return `before`, as many pieces as fit, and `after`."""
    piece, before, after = (part.encode() if isinstance(part, str) else part for part in (piece, before, after))
    return before + piece * max((size - len(before) - len(after)) // len(piece), 1) + after


def _filling(piece: str | bytes, before: str | bytes = b"", after: str | bytes = b"") -> Callable[[int], bytes]:
    return lambda size: fill(piece, size, before, after)


def _nested(opening: str, closing: str, before: str = "", after: str = "") -> Callable[[int], bytes]:
    def make(size: int) -> bytes:
        count = max((size - len(before) - len(after)) // (len(opening) + len(closing)), 1)
        return (before + opening * count + closing * count + after).encode()

    return make


def _numbered(line: Callable[[int], str], before: str = "", after: str = "") -> Callable[[int], bytes]:
    """Return what makes lines that contain their number."""

    def make(size: int) -> bytes:
        parts, length, number = [before], len(before), 0
        while length < size:
            parts.append(line(number))
            length += len(parts[-1])
            number += 1
        return ("".join(parts) + after).encode()

    return make


def _utf16(made: Callable[[int], bytes]) -> Callable[[int], bytes]:
    return lambda size: ("\ufeff" + made(size // 2).decode()).encode("utf-16-le")


def _after_large(piece: bytes) -> Callable[[int], bytes]:
    """Return what makes a list of one large memory and many small values."""
    return lambda size: fill(piece, size, b'[{"content":"' + b"a" * (size // 2) + b'"}', b"]")


def _zip(size: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(size // 100):
            archive.writestr(f"{number}.x", "")
    return out.getvalue()


def _gzip(made: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """Return what makes a compressed file that holds so many bytes."""
    return lambda size: gzip.compress(made(size), 1)


def _chat(size: int) -> bytes:
    """Return a conversation in which each message answers the one before."""
    count = max(size // 260, 2)
    nodes = ",".join(
        f'"{number}":{{"id":"{number}","parent":{f"{chr(34)}{number - 1}{chr(34)}" if number else "null"},"children":'
        f'{f"[{chr(34)}{number + 1}{chr(34)}]" if number + 1 < count else "[]"},"message":{{"id":"{number}","author":'
        f'{{"role":"{"user" if number % 2 else "assistant"}"}},"create_time":1,"content":{{"content_type":"text",'
        f'"parts":["a"]}}}}}}'
        for number in range(count)
    )
    return f'[{{"title":"a","id":"c","current_node":"{count - 1}","mapping":{{{nodes}}}}}]'.encode()


_ROW = b"id,content\n"
BOMBS: dict[str, Bomb] = {
    "json-text": Bomb("a.json", _filling("a", '[{"content":"', '"}]')),
    "json-quotes": Bomb("a.json", _filling('\\"', '[{"content":"', '"}]')),
    "json-backslashes": Bomb("a.json", _filling("\\\\", '[{"content":"', '"}]')),
    "json-lone-surrogates": Bomb("a.json", _filling("\\ud800", '[{"content":"', '"}]')),
    "json-lone-surrogates-in-meta": Bomb("a.json", _filling("\\ud800", '[{"content":"a","meta":{"a":"', '"}}]')),
    "json-surrogate-strings": Bomb(
        "a.json", _filling('"a",', '[{"content":"' + "\\ud800" * 20_000 + '","meta":{"a":[', '"a"]}}]')
    ),
    "json-nested-lists": Bomb("a.json", _nested("[", "]", '[{"content":"a","meta":{"a":', "}}]")),
    "json-open-lists": Bomb("a.json", _filling("[")),
    "json-open-objects": Bomb("a.json", _filling('{"a":')),
    "json-open-in-meta": Bomb("a.json", _filling("[", '[{"content":"a","meta":{"a":')),
    "json-closing": Bomb("a.json", _filling("}", '[{"content":"a"')),
    "json-candidates": Bomb("a.json", _filling("},", '[{"content":"a"')),
    "json-candidates-in-text": Bomb("a.json", _filling("},", '[{"content":"', '"}]')),
    "json-small-objects": Bomb("a.json", _filling("{},", '[{"content":"a","meta":{"a":[', "{}]}}]")),
    "json-empty-objects": Bomb("a.json", _filling("{},", "[", "{}]")),
    "json-commas": Bomb("a.json", _filling(",", "[")),
    "json-numbers": Bomb("a.json", _filling("1,", "[", "1]")),
    "json-numbers-after-large": Bomb("a.json", _after_large(b",1")),
    "json-objects-after-large": Bomb("a.json", _after_large(b',{"content":""}')),
    "json-sequence-after-large": Bomb(
        "a.json", lambda size: fill(b"{}\n", size, b'{\n"content":"' + b"a" * (size // 2) + b'"}\n')
    ),
    "json-long-number": Bomb("a.json", _filling("1", '[{"content":"a","meta":{"a":', "}}]")),
    "json-long-fraction": Bomb("a.json", _filling("1", '[{"content":"a","meta":{"a":0.', "}}]")),
    "json-unclosed-text": Bomb("a.json", _filling('{"content":"a"},', '[{"content":"a},')),
    "json-unclosed-texts": Bomb("a.json", _filling('{"content":"a},')),
    "json-unclosed-lines": Bomb("a.json", _filling('{"content":"a\n},', "[\n")),
    "json-broken-objects": Bomb("a.json", _filling('{"content" "a"},', "[", "{}]")),
    "json-broken-lines": Bomb("a.json", _filling('{"content" "a"},\n', "[\n", "{}]")),
    "json-spaces": Bomb("a.json", _filling(" ")),
    "json-inner-spaces": Bomb("a.json", _filling(" ", '[{"content":', '"a"}]')),
    "json-duplicate-keys": Bomb("a.json", _filling('"content":"a",', "[{", '"content":"a"}]')),
    "json-many-keys": Bomb("a.json", _numbered(lambda number: f'"{number}":1,', '[{"content":"a",', '"x":1}]')),
    "json-nul": Bomb("a.json", _filling("\\u0000", '[{"content":"', '"}]')),
    "json-utf-16": Bomb("a.json", _utf16(_filling("ä", '[{"content":"', '"}]'))),
    "ndjson-one-line": Bomb("a.ndjson", _filling('{"content":"a"}')),
    "ndjson-bad-lines": Bomb("a.ndjson", _filling("1\n")),
    "ndjson-empty-lines": Bomb("a.ndjson", _filling("\n")),
    "ndjson-records": Bomb("a.ndjson", _filling('{"content":"a"}\n')),
    "memories-json-keys": Bomb("a.json", _numbered(lambda number: f'"{number}":1,', '{"memories":[],', '"x":1}')),
    "memories-json-lists": Bomb("a.json", _filling('"a":[],', '{"export_metadata":{},"memories":[],', '"x":1}')),
    "memories-json-large": Bomb("a.json", _filling("a", '{"export_metadata":{"a":"', '"},"memories":[]}')),
    "mcp-graph-observations": Bomb(
        "a.jsonl", _filling('"a",', '{"type":"entity","name":"a","entityType":"a","observations":[', '"a"]}\n')
    ),
    "mcp-graph-names": Bomb(
        "a.jsonl", _filling('{"type":"entity","name":"a","entityType":"a","observations":["b"]}\n')
    ),
    "agentos-traces": Bomb("a.json", _filling("1,", '{"traces":[', "1]}")),
    "chatgpt-long": Bomb("conversations.json", _chat),
    "csv-field": Bomb("a.csv", _filling("a", _ROW + b'1,"', '"\n')),
    "csv-unquoted-field": Bomb("a.csv", _filling("a", _ROW + b"1,")),
    "csv-quotes": Bomb("a.csv", _filling('""', _ROW + b'1,"', '"\n')),
    "csv-lines": Bomb("a.csv", _filling("a\n", _ROW + b'1,"', '"\n')),
    "csv-open-quote": Bomb("a.csv", _filling("a\n", _ROW + b'1,"')),
    "csv-open-quote-rows": Bomb("a.csv", _filling("a,a,a\n", _ROW + b'1,"')),
    "csv-open-quotes": Bomb("a.csv", _filling('"a\n', _ROW)),
    "csv-quoted-quotes": Bomb("a.csv", _filling('"""\n', _ROW)),
    "csv-inner-quotes": Bomb("a.csv", _filling('"a\nb"c\n', _ROW)),
    "csv-multi-line": Bomb("a.csv", _filling('"a\nb",', _ROW, "\n")),
    "csv-multi-line-rows": Bomb("a.csv", _filling('"a\nb"\n', _ROW)),
    "csv-odd-lines": Bomb("a.csv", _filling('1,"a\n""b\n', _ROW)),
    "csv-fields": Bomb("a.csv", _filling(",", _ROW)),
    "csv-columns": Bomb("a.csv", _filling("content,", b"", "x\na\n")),
    "csv-numbered-columns": Bomb("a.csv", _numbered(lambda number: f"{number},", "content,", "\na\n")),
    "csv-empty-columns": Bomb("a.csv", _filling(",", "content", "\na\n")),
    "csv-rows": Bomb("a.csv", _filling("1,a\n", _ROW)),
    "csv-returns": Bomb("a.csv", _filling("1,a\r", _ROW)),
    "csv-empty-lines": Bomb("a.csv", _filling("\n", _ROW)),
    "csv-tags": Bomb("a.csv", _numbered(lambda number: f"{number},", 'content,tags\na,"', '"\n')),
    "csv-bad-bytes": Bomb("a.csv", _filling(b"\xff", _ROW + b"1,")),
    "yaml-text": Bomb("a.yaml", _filling("a", "- content: ")),
    "yaml-quoted": Bomb("a.yaml", _filling("\\n", '- content: "', '"\n')),
    "yaml-escapes": Bomb("a.yaml", _filling("\\ud800", '- content: "', '"\n')),
    "yaml-open-lists": Bomb("a.yaml", _filling("[")),
    "yaml-open-maps": Bomb("a.yaml", _filling("{")),
    "yaml-open-in-meta": Bomb("a.yaml", _filling("[", "- content: a\n  meta: ")),
    "yaml-nested-lists": Bomb("a.yaml", _nested("[", "]", "- content: a\n  meta:\n    a: ", "\n")),
    "yaml-many-nested": Bomb("a.yaml", _filling("- content: a\n  meta: {a: " + "[" * 90 + "]" * 90 + "}\n")),
    "yaml-deep-items": Bomb("a.yaml", _filling("- " + "[" * 600 + "]" * 600 + "\n")),
    "yaml-dashes": Bomb("a.yaml", _filling("- ")),
    "yaml-question-marks": Bomb("a.yaml", _filling("? ")),
    "yaml-colons": Bomb("a.yaml", _filling("a: ")),
    "yaml-flow-items": Bomb("a.yaml", _filling("a,", "- content: a\n  meta: {a: [", "a]}\n")),
    "yaml-empty-items": Bomb("a.yaml", _filling("-\n")),
    "yaml-broken-items": Bomb("a.yaml", _filling("- content: 'a\n- \t@\n")),
    "yaml-brackets": Bomb("a.yaml", _filling("- ]\n")),
    "yaml-broken-last": Bomb("a.yaml", _filling("- content: a\n", "", "- ]\n" * 200)),
    "yaml-anchors": Bomb("a.yaml", _numbered(lambda number: f"- &a{number} a\n")),
    "yaml-aliases": Bomb("a.yaml", _filling("*a,", "- content: &a a\n  meta: {a: [", "*a]}\n")),
    "yaml-tags": Bomb("a.yaml", _filling("!!str ", "- content: ", "a\n")),
    "yaml-long-tag": Bomb("a.yaml", _filling("a", "- content: !", " a\n")),
    "yaml-comments": Bomb("a.yaml", _filling("#\n")),
    "yaml-spaces": Bomb("a.yaml", _filling(" ", "- content:", "a\n")),
    "yaml-long-number": Bomb("a.yaml", _filling("1", "- content: a\n  meta: {a: ", "}\n")),
    "yaml-block": Bomb("a.yaml", _filling("    a\n", "- content: |\n")),
    "yaml-empty-block": Bomb("a.yaml", _filling("\n", "- content: |\n")),
    "yaml-folded": Bomb("a.yaml", _filling("    a\n\n", "- content: >\n")),
    "yaml-plain-lines": Bomb("a.yaml", _filling("    a\n\n", "- content: a\n")),
    "yaml-controls": Bomb("a.yaml", _filling("\x85", '- content: "', '"\n')),
    "yaml-utf-16": Bomb("a.yaml", _utf16(_filling("ä", "- content: "))),
    "markdown-text": Bomb("a.md", _filling("a")),
    "markdown-front": Bomb("a.md", _numbered(lambda number: f"k{number}: a\n", "---\n", "---\na\n")),
    "markdown-open-front": Bomb("a.md", _filling("a: b\n", "---\n")),
    "markdown-nested-front": Bomb("a.md", _filling("[", "---\na: ", "\n---\na\n")),
    "markdown-long-key": Bomb("a.md", _filling("a ", "---\n", "\n---\na\n")),
    "markdown-tags": Bomb("a.md", _numbered(lambda number: f"#t{number} ", f"---\nid: {ID}\n---\n")),
    "zip-entries": Bomb("a.zip", _zip),
    "gzip-lines": Bomb("a.ndjson.gz", _gzip(_filling('{"content":"a"}\n'))),
    "gzip-string": Bomb("a.json.gz", _gzip(_filling("a", '[{"content":"', '"}]'))),
    "gzip-open": Bomb("a.json.gz", _gzip(_filling("["))),
    "gzip-parts": Bomb("a.ndjson.gz", _filling(gzip.compress(b"\n"))),
    "gzip-empty-parts": Bomb("a.ndjson.gz", _filling(gzip.compress(b""))),
    "gzip-zeros": Bomb("a.ndjson.gz", _filling(b"\0", gzip.compress(b'{"content":"a"}\n'))),
    "gzip-rubbish": Bomb("a.ndjson.gz", _filling("x", gzip.compress(b'{"content":"a"}\n')[:20])),
}
for _name, _text in {
    "links": "[[a]] ",
    "open-links": "[[",
    "piped-links": "[[a|b",
    "tags": "#a/b ",
    "open-tags": "#",
    "backticks": "`",
    "spans": "`a` ``b ",
    "fences": "```\n",
    "tildes": "~~~ ~\n",
    "indents": "    a\n\n",
    "items": "- a\n  - b\n",
    "math": "$$a",
    "quotes": ">",
    "related": "- [[a]]\n",
    "paragraphs": "`a\n\n",
    "breaks": "\n \t\n",
    "embeds": "![[a#b^c]]",
    "spaces": " ",
}.items():
    BOMBS[f"vault-{_name}"] = Bomb("vault/a.md", _filling(_text, "[[b]] #a\n"))
