"""The pages of the documentation, which are part of the package, as `memglot help` shows them."""

from __future__ import annotations

import re
from pathlib import Path

_GENERATOR = re.compile(r"<!-- \[\[\[.*?(?:\]\]\]|\[\[\[end\]\]\]) -->\n?", re.DOTALL)
_LINK = re.compile(r"\[([^]\n]+)\]\(([^)\n]+)\)")


def pages() -> dict[str, Path]:
    """Return the pages by topic, sorted."""
    installed = Path(__file__).with_name("docs")
    folder = installed if installed.is_dir() else Path(__file__).parents[2] / "docs"
    return {
        page.stem: page for page in sorted(folder.rglob("*.md"), key=lambda page: page.stem) if page.stem != "index"
    }


def title(page: Path) -> str:
    """Return the first heading of a page."""
    with page.open(encoding="utf-8") as file:
        return next((line.strip("# \n") for line in file if line.startswith("# ")), page.stem)


def readable(page: Path) -> str:
    """Return a page without what only a browser or a generator needs."""
    text = _GENERATOR.sub("", page.read_text(encoding="utf-8"))
    return _LINK.sub(_plain_link, text).strip("\n")


def _plain_link(link: re.Match[str]) -> str:
    """Return a link to another page as a command, and any other link as its text and address."""
    text, target = link.groups()
    path = target.partition("#")[0]
    if path.endswith(".md") and "://" not in path and Path(path).stem in pages():
        return f"{text} (`memglot help {Path(path).stem}`)"
    return f"{text} ({target})" if "://" in target else text
