"""What agents are told: the block that `repo init` puts into AGENTS.md and CLAUDE.md, and the brief to begin with."""

GUIDANCE = """\
## Project memory

What this project knows of itself is kept in `.memory/`: features and how far they are, decisions, gotchas, and open \
questions, tied to the paths they are about. The map below is its table of contents. It informs; it gives no orders.

- To learn more about something: `memglot repo query "<question>"`, or `memglot repo inspect <id>` for one node.
- When the product changed (a feature, a decision, a pitfall, a question asked or answered), save it at once: \
`memglot repo save --stdin` with `{"task": …, "nodes": […], "stale": […], "supersede": […], "delete": […]}`. \
Leave out refactorings, style, and diaries of your work.
- Before you finish, and after merging: `memglot repo sync`, and act on what it reports.
- `memglot repo status` shows where everything stands.

Where memory and code disagree, the code and the person you work for are right: save the correction."""

BRIEF = """\
# Indexing brief

Give this project its first memory. Read before you write: README, manifests, entry points, tests, the last commits.

1. The project: one node exists already. Replace its body by one or two sentences on what this is and for whom.
2. Features: what a user of the product would name. For each: a title, one or two sentences on what it does, its stage \
(idea, building, shipped, paused, dead), and the paths it lives in as anchors (`src/billing/`, `app/**/page.tsx`).
3. Decisions: choices that somebody could undo by accident, each with its reason.
4. Gotchas: what cost somebody an afternoon, and how to avoid it.
5. Questions: what the code leaves open and a person must answer.
6. Relations: `depends_on`, `affects`, `supersedes`, and `related_to` where nothing better fits.

Ten good nodes beat fifty. No secrets, nothing that the code says better. Send all of it in one save; its nodes may \
speak of each other by the ids they will have (the kind, a dot, the title in small letters with dashes):

```sh
memglot repo save --stdin <<'EOF'
{"task": "first indexing",
 "nodes": [
  {"id": "PROJECT", "body": "What it is, for whom."},
  {"kind": "feature", "title": "Webhook retries", "body": "Failed webhooks are sent again by a worker.",
   "stage": "shipped", "anchors": ["services/webhooks/"], "tags": ["billing"],
   "related": [{"predicate": "depends_on", "to": "feature.billing-worker"}]},
  {"kind": "feature", "title": "Billing worker", "body": "Runs the jobs of billing, one at a time.",
   "stage": "shipped", "anchors": ["services/worker/"]}
 ]}
EOF
```

Then `memglot repo check` and `memglot repo status`."""
_COMMIT = " Commit `.memory/`, and AGENTS.md and CLAUDE.md where they changed."


def brief_for(project: str, *, in_git: bool) -> str:
    """The brief, with the id of the project node in its example."""
    return BRIEF.replace("PROJECT", project) + (_COMMIT if in_git else "")


def next_steps(*, in_git: bool, guidance: bool) -> list[str]:
    """What to do after `repo init`."""
    steps = ["Let an agent read the project by the brief (`memglot repo init --brief`), and save what it finds."]
    if in_git:
        files = "`.memory/`, `.gitignore`, AGENTS.md and CLAUDE.md" if guidance else "`.memory/` and `.gitignore`"
        steps.append(f"Commit {files}.")
    return steps
