"""How well and how fast search finds, beside plain FTS5 in the same run. `make bench-search` runs it.

Recall over the turns of LoCoMo's conversations and over the notes in `bench/notes`, then the time of a search in
stores of 10,000 and 100,000 memories, and with `--million` of a million. Threads are left as a user has them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import locomo
import notes_recall
import search_speed
from search_modes import MODES

DEFAULT = Path(__file__).parents[2] / "shared/bench/locomo-dev.json"
PARTS = ("recall", "notes", "speed")


def main() -> None:
    """Measure and print tables."""
    options = arguments()
    parts = [part for part in PARTS if getattr(options, part)] or PARTS
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        if "recall" in parts:
            found["locomo"] = recall(options, Path(name))
        if "notes" in parts:
            found["notes"] = notes_recall.measure(options.modes, Path(name))
            print(notes_recall.table(found["notes"]), "\n", flush=True)
            if options.missed:
                print(notes_recall.missed(found["notes"]), "\n", flush=True)
        if "speed" in parts:
            found["speed"] = speed(options, Path(name))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recall", action="store_true", help="only this part; so with --notes and --speed")
    parser.add_argument("--notes", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--million", action="store_true", help="a million memories too, which takes minutes")
    parser.add_argument("--file", type=Path, default=DEFAULT, help="a LoCoMo-shaped file")
    parser.add_argument(
        "--modes", type=lambda text: text.split(","), default=list(MODES), help="such as fulltext,hybrid"
    )
    parser.add_argument("--missed", action="store_true", help="name the questions over notes that found no right one")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    return parser.parse_args()


def recall(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Recall of turns: one conversation at a time, all in one store, and so with sessions that have names of their own.

    In the mixed store `session_1` is the name of a session of every conversation, as it would be after two imports.
    """
    if not options.file.exists():
        print(f"no {options.file.name}: recall of turns is left out\n")
        return {}
    conversations = locomo.read(options.file)
    texts = [turn.text for conversation in conversations for turn in conversation.turns]
    found: dict[str, Any] = {"texts_a_second": embedded(texts)}
    print(f"the table embeds {found['texts_a_second']:,} turns a second of CPU, the tokenizer alone {cut(texts):,}\n")
    apart = [locomo.with_own_sessions(conversation) for conversation in conversations]
    for number, (title, groups) in enumerate(
        {
            "one conversation at a time": [[conversation] for conversation in conversations],
            "all in one store": [conversations],
            "all in one store, sessions named apart": [apart],
        }.items()
    ):
        place = folder / str(number)
        place.mkdir()
        found[title] = locomo.figures(locomo.measure(groups, options.modes, place))
        print(locomo.table(title, found[title]), "\n", flush=True)
    return found


def embedded(texts: list[str]) -> int:
    """How many texts the built-in table embeds in a second of CPU, once it is loaded."""
    from memglot.embed import embedder

    table = embedder()
    table.embed(texts[:100])
    start = time.process_time()
    table.embed(texts)
    return round(len(texts) / (time.process_time() - start))


def cut(texts: list[str]) -> int:
    """How many texts the tokenizers library cuts into words in a second of CPU: the bare baseline."""
    from tokenizers.pre_tokenizers import BertPreTokenizer

    cutter = BertPreTokenizer()
    start = time.process_time()
    for text in texts:
        cutter.pre_tokenize_str(text)
    return round(len(texts) / (time.process_time() - start))


def speed(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """The time of a search in ever larger stores; a million memories are searched by their words alone."""
    found = []
    for count in (10_000, 100_000, *([1_000_000] if options.million else [])):
        modes = [mode for mode in options.modes if count < 1_000_000 or mode == "fulltext"]
        found.append(search_speed.measure(count, modes, folder))
        print(search_speed.table(found[-1]), "\n", flush=True)
    return found


if __name__ == "__main__":
    main()
