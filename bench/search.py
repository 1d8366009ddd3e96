"""Measure the quality and speed of search against plain FTS5 in the same run. Run it with `make bench-search`.

It measures recall on the turns of LoCoMo's conversations and on the notes in `bench/notes`, then search times in stores
of 10,000 and 100,000 memories, and with `--million` of a million. Thread settings are the defaults.
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
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recall", action="store_true", help="run only this part; the same for --notes and --speed")
    parser.add_argument("--notes", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--million", action="store_true", help="also measure a million memories, which takes minutes")
    parser.add_argument("--file", type=Path, default=DEFAULT, help="a file with LoCoMo's structure")
    parser.add_argument(
        "--modes", type=lambda text: text.split(","), default=list(MODES), help="such as fulltext,hybrid"
    )
    parser.add_argument("--missed", action="store_true", help="list the questions on notes that found no right note")
    parser.add_argument("--json", type=Path, help="output file for the figures")
    return parser.parse_args()


def recall(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Measure the recall of turns: one conversation at a time, all in one store, and all with unique session names.

    In the mixed store `session_1` is the name of a session of every conversation, as after two imports.
    """
    if not options.file.exists():
        print(f"no {options.file.name}: skipped the recall of turns\n")
        return {}
    conversations = locomo.read(options.file)
    texts = [turn.text for conversation in conversations for turn in conversation.turns]
    found: dict[str, Any] = {"texts_a_second": embedded(texts)}
    print(f"the table embeds {found['texts_a_second']:,} turns per second of CPU, the tokenizer alone {cut(texts):,}\n")
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
    """Return how many texts per second of CPU the built-in table embeds once it is loaded."""
    from memglot.embed import embedder

    table = embedder()
    table.embed(texts[:100])
    start = time.process_time()
    table.embed(texts)
    return round(len(texts) / (time.process_time() - start))


def cut(texts: list[str]) -> int:
    """Return how many texts per second of CPU the tokenizer splits into wordpieces: the bare baseline."""
    from kitoken import Kitoken

    import memglot.embed

    tokenizer = Kitoken(Path(memglot.embed.__file__).with_name("tokenizer.bin").read_bytes())
    start = time.process_time()
    for text in texts:
        tokenizer.encode(text)
    return round(len(texts) / (time.process_time() - start))


def speed(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Measure search times in larger and larger stores; a million memories are searched by keyword only."""
    found = []
    for count in (10_000, 100_000, *([1_000_000] if options.million else [])):
        modes = [mode for mode in options.modes if count < 1_000_000 or mode == "fulltext"]
        found.append(search_speed.measure(count, modes, folder))
        print(search_speed.table(found[-1]), "\n", flush=True)
    return found


if __name__ == "__main__":
    main()
