"""Write CHANGELOG.md from the entries of each released version in `changelog/`.

python scripts/changelog.py                  # writes CHANGELOG.md
python scripts/changelog.py --check          # fails if CHANGELOG.md is out of date
python scripts/changelog.py 0.3.0 2027-01-31 # moves all entries of `unreleased/` to a version first
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "CHANGELOG.md"
FOLDER = ROOT / "changelog"
KINDS = {"Change": "Changes that may need your attention", "Enhancement": "What is new", "Bugfix": "What is repaired"}
VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)_(\d{4}-\d\d-\d\d)")


def main(arguments: list[str]) -> int:
    """Write the file, or with `--check` compare it; return 1 if it is out of date."""
    if len(arguments) == 2:
        release(*arguments)
    text = "\n".join(page()) + "\n"
    if arguments == ["--check"]:
        if TARGET.read_text(encoding="utf-8") != text:
            print("CHANGELOG.md is out of date; run `make docs`", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(text, encoding="utf-8")
    return 0


def release(version: str, day: str) -> None:
    """Move the entries that are not released to a folder for this version."""
    target = FOLDER / f"{version}_{day}"
    if not VERSION.fullmatch(target.name):
        sys.exit(f"`{target.name}` is not a version and a day, such as 0.3.0 2027-01-31")
    target.mkdir()
    for entry in sorted((FOLDER / "unreleased").glob("*.md")):
        subprocess.run(["git", "mv", entry, target], cwd=ROOT, check=True)


def page() -> Iterator[str]:
    """Yield the lines of the file: the newest version first, and in each the changes that break something first."""
    yield "# Changelog"
    folders = {match: path for path in FOLDER.iterdir() if (match := VERSION.fullmatch(path.name))}
    for match in sorted(folders, key=lambda found: tuple(map(int, found.groups()[:3])), reverse=True):
        yield from ("", f"## {'.'.join(match.groups()[:3])} ({match[4]})")
        entries = sorted(map(read, folders[match].glob("*.md")))
        for kind, title in KINDS.items():
            chosen = [entry for entry in entries if entry[0] == kind]
            if chosen:
                yield from ("", f"### {title}", "")
                for _, subject, text in chosen:
                    yield f"- **{subject}.** {text}"


def read(path: Path) -> tuple[str, str, str]:
    """Return the kind, the subject and the text of an entry; its blank lines end a paragraph of the list item."""
    first, _, text = path.read_text(encoding="utf-8").partition("\n")
    kind, _, subject = first.partition(": ")
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
    return kind, subject.rstrip("."), "\n\n  ".join(paragraphs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
