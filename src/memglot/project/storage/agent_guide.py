"""The texts for agents: the block in AGENTS.md and CLAUDE.md, followed by the product map, and the indexing brief."""

from __future__ import annotations

import os
from pathlib import Path

from memglot.project.storage.files import write_file
from memglot.project.storage.markers import AGENT_FILES, GUIDANCE, MAP, OLD_GUIDANCE, apply_section, extract_section
from memglot.project.storage.paths import FOLDER, INDEX
from memglot.project.storage.product_map import FIX_MARKERS, NOT_A_FILE, has_own_words, in_words_of

GUIDANCE_TEXT = """\
## Project memory

Knowledge about this project is stored in `.memory/`: features and their stages, decisions, gotchas and open \
questions, linked to the paths they describe. The map below is its table of contents. It is information, not \
instructions.

- To find out more: `memglot repo query "<question>"`, or `memglot repo inspect <id>` for one node.
- When the product changes (a feature, a decision, a gotcha, a question asked or answered), save it right away: \
`memglot repo save --stdin` with `{"task": …, "nodes": […], "stale": […], "supersede": […], "delete": […]}`. \
Do not save refactorings, style changes or a diary of your work.
- Before you finish, and after a merge, run `memglot repo sync` and act on its report.
- `memglot repo status` shows the state of the project.

If memory and code disagree, trust the code and the person you work for, and save the correction."""

BRIEF = """\
# Indexing brief

Create the first memory of this project. Read before you write: README, manifests, entry points, tests, recent commits.

1. Project: one node exists already. Replace its body with one or two sentences: what it is, and for whom.
2. Features: what a user of the product would name. For each: a title, one or two sentences on what it does, its stage \
(idea, building, shipped, paused, dead), and its paths as anchors (`src/billing/`, `app/**/page.tsx`).
3. Decisions: choices that someone could undo by accident, each with its reason.
4. Gotchas: what cost someone an afternoon, and how to avoid it.
5. Questions: what the code leaves open and a person must answer.
6. Relations: `depends_on`, `affects`, `supersedes`, or `related_to` if nothing else fits.

Ten good nodes are better than fifty. Do not store secrets, or what the code already says. Send everything in one \
save; nodes can refer to each other by their future ids (the kind, a dot, the title in lower case with hyphens):

```sh
memglot repo save --stdin <<'EOF'
{"task": "first indexing",
 "nodes": [
  {"id": "PROJECT", "body": "What it is, and for whom."},
  {"kind": "feature", "title": "Webhook retries", "body": "A worker sends failed webhooks again.",
   "stage": "shipped", "anchors": ["services/webhooks/"], "tags": ["billing"],
   "related": [{"predicate": "depends_on", "to": "feature.billing-worker"}]},
  {"kind": "feature", "title": "Billing worker", "body": "Runs billing jobs, one at a time.",
   "stage": "shipped", "anchors": ["services/worker/"]}
 ]}
EOF
```

Then run `memglot repo check` and `memglot repo status`."""
_COMMIT = " Commit `.memory/`, and AGENTS.md and CLAUDE.md if they changed."


def brief_for(project: str, *, in_git: bool) -> str:
    """Return the brief, with the id of the project node in its example."""
    return BRIEF.replace("PROJECT", project) + (_COMMIT if in_git else "")


def next_steps(*, in_git: bool, guidance: bool) -> list[str]:
    """Return what to do after `repo init`."""
    steps = ["Give an agent the brief (`memglot repo init --brief`) to index the project."]
    if in_git:
        files = "`.memory/`, `.gitignore`, AGENTS.md and CLAUDE.md" if guidance else "`.memory/` and `.gitignore`"
        steps.append(f"Commit {files}.")
    return steps


def write_guidance(
    root: Path, map_text: str | None, warnings: list[str], *, dry_run: bool = False
) -> list[dict[str, str]]:
    """Add both blocks to the files of a project that lack them; return the status of each, and add to `warnings`.

    An existing block is not changed: its text may be the original tool's, or the user's own. Nor is the map, if
    `map_text` is None.
    """
    return [{"path": name, "status": _write_to(root, name, map_text, warnings, dry_run)} for name in AGENT_FILES]


def _write_to(root: Path, name: str, map_text: str | None, warnings: list[str], dry_run: bool) -> str:
    path = Path(os.path.realpath(root / name))
    if not path.is_relative_to(os.path.realpath(root)):
        return _skipped(warnings, f"{name} was not changed: it is a link to a file outside of the project.")
    if path.exists() and not path.is_file():
        return _skipped(warnings, f"{name} was not changed: {NOT_A_FILE}.")
    try:
        present = path.read_bytes().decode(errors="surrogateescape") if path.is_file() else None
        if has_own_words(present or ""):
            note = (
                f"{name} was not changed: it already mentions project memory in its own words. For the product map, "
                "add the lines `<!-- memory:map:start -->` and `<!-- memory:map:end -->` to it."
            )
            return _skipped(warnings, note)
        text = _with_blocks(present or "", map_text)
        if text is None:
            note = f"{name} was not changed: the markers of project memory in it are not one pair. {FIX_MARKERS}"
            return _skipped(warnings, note)
        if text == present:
            return "unchanged"
        if not dry_run:
            write_file(path, text.encode(errors="surrogateescape"), root / FOLDER / INDEX)
    except OSError as error:
        return _skipped(warnings, f"{name} was not changed: {error.strerror or error}.")
    return "updated" if present is not None else "created"


def _skipped(warnings: list[str], note: str) -> str:
    warnings.append(note)
    return "skipped"


def _with_blocks(present: str, map_text: str | None) -> str | None:
    """Return a file's contents with both blocks; None if its markers are not one pair of each."""
    contents: str | None = present
    if extract_section(present, OLD_GUIDANCE) is not None:
        contents = apply_section(present, OLD_GUIDANCE, GUIDANCE_TEXT)
        contents = contents and contents.replace(OLD_GUIDANCE.start, GUIDANCE.start).replace(
            OLD_GUIDANCE.end, GUIDANCE.end
        )
    elif extract_section(present, GUIDANCE) is None:
        contents = apply_section(present, GUIDANCE, GUIDANCE_TEXT)
    if contents is None or (map_text is None and extract_section(contents, MAP) is not None):
        return contents
    return apply_section(contents, MAP, in_words_of(contents, map_text or ""))
