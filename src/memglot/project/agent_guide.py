"""The block for agents in AGENTS.md and CLAUDE.md, and the place of the product map behind it."""

from __future__ import annotations

import os
from pathlib import Path

from memglot.project.agent_texts import GUIDANCE as WORDS
from memglot.project.map import TARGETS, has_own_words
from memglot.project.markers import GUIDANCE, MAP, OLD_GUIDANCE, apply_section, extract_section
from memglot.project.notes import NO_FILE, note_guidance_ambiguous
from memglot.project.project import Project
from memglot.project.storage.files import write_file
from memglot.project.storage.paths import INDEX


def guide(project: Project, map_text: str | None, *, dry_run: bool = False) -> list[dict[str, str]]:
    """Put both blocks where they are missing; tells what became of each file.

    A block that is there keeps its words: they may be the real tool's, or the user's own. So does the map where no
    text is given for it.
    """
    return [{"path": name, "status": _guide(project, name, map_text, dry_run=dry_run)} for name in TARGETS]


def _guide(project: Project, name: str, map_text: str | None, *, dry_run: bool) -> str:
    path = Path(os.path.realpath(project.root / name))
    if not path.is_relative_to(os.path.realpath(project.root)):  # A link may lead out of the project.
        return _skipped(project, f"{name} was left as it is: it is a link that leads out of the project.")
    if path.exists() and not path.is_file():
        return _skipped(project, _guidance_skipped(name, NO_FILE))
    try:
        present = path.read_bytes().decode(errors="surrogateescape") if path.is_file() else None
        if has_own_words(present or ""):
            return _skipped(
                project,
                (
                    f"{name} was left as it is: it speaks of project memory in words of its own. For the "
                    "product map, add the "
                    "lines `<!-- memory:map:start -->` and `<!-- memory:map:end -->` to it."
                ),
            )
        text = _guided(present or "", map_text)
        if text is None:
            return _skipped(project, note_guidance_ambiguous(name))
        if text == present:
            return "unchanged"
        if not dry_run:
            write_file(path, text.encode(errors="surrogateescape"), project.folder / INDEX)
    except OSError as error:
        return _skipped(project, _guidance_skipped(name, error.strerror or str(error)))
    return "updated" if present is not None else "created"


def _skipped(project: Project, note: str) -> str:
    project.warnings.append(note)
    return "skipped"


def _guided(present: str, map_text: str | None) -> str | None:
    """A file with both blocks; `None` for one with markers that are not one pair of each."""
    guided: str | None = present
    if extract_section(present, OLD_GUIDANCE) is not None:
        guided = apply_section(present, OLD_GUIDANCE, WORDS)
        guided = guided and guided.replace(OLD_GUIDANCE.start, GUIDANCE.start).replace(OLD_GUIDANCE.end, GUIDANCE.end)
    elif extract_section(present, GUIDANCE) is None:
        guided = apply_section(present, GUIDANCE, WORDS)
    if guided is None or (map_text is None and extract_section(guided, MAP) is not None):
        return guided
    return apply_section(guided, MAP, map_text or "")


def _guidance_skipped(name: str, reason: str) -> str:
    """A file for agents that cannot be read or written."""
    return f"{name} was left as it is: {reason}."
