"""The block for agents in AGENTS.md and CLAUDE.md, and the place of the product map behind it."""

from __future__ import annotations

from pathlib import Path

from memglot.notes.guidance import GUIDANCE
from memglot.notes.repo import note_guidance_there
from memglot.repo.files import write_file
from memglot.repo.map import TARGETS
from memglot.repo.marked import GUIDANCE_MARKERS, MAP_MARKERS, apply_section, extract_section
from memglot.repo.project import Project

_MENTIONS = ("memglot repo ", "memory save --stdin", "`memory query", "`memory sync")


def guide(project: Project, map_text: str, *, dry_run: bool = False) -> list[dict[str, str]]:
    """Put both blocks where they are missing; tells what became of each file.

    A block that is there keeps its words: they may be the real tool's, or the user's own.
    """
    return [{"path": name, "status": _guide(project, name, map_text, dry_run=dry_run)} for name in TARGETS]


def _guide(project: Project, name: str, map_text: str, *, dry_run: bool) -> str:
    path = project.root / name
    if not _is_ours_to_write(path, project.root):
        project.warnings.append(note_guidance_there(name))
        return "skipped"
    try:
        raw = path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        raw = None
    present = (raw or "").replace("\r\n", "\n")
    has_guidance = extract_section(present, GUIDANCE_MARKERS) is not None
    has_map = extract_section(present, MAP_MARKERS) is not None
    if not (has_guidance or has_map) and any(mention in present for mention in _MENTIONS):
        project.warnings.append(note_guidance_there(name))
        return "skipped"
    guided = present if has_guidance else apply_section(present, GUIDANCE_MARKERS, GUIDANCE)
    text = apply_section(guided, MAP_MARKERS, map_text) if guided is not None else None
    if text is None:
        project.warnings.append(note_guidance_there(name))
        return "skipped"
    if text == present:
        return "unchanged"
    if not dry_run:
        content = text.replace("\n", "\r\n") if raw and "\r\n" in raw else text
        write_file(path.resolve(), content.encode("utf-8", "surrogateescape"))
    return "updated" if raw is not None else "created"


def _is_ours_to_write(path: Path, root: Path) -> bool:
    """Tell whether a file lies in the project: a link may lead out of it."""
    return not path.is_symlink() or path.resolve().is_relative_to(root.resolve())
