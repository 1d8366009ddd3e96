"""`memglot repo`: project memory, in `.memory/` of a repository. One module per command."""

from __future__ import annotations

from memglot.cli.repo.add import add
from memglot.cli.repo.check import check
from memglot.cli.repo.close import close
from memglot.cli.repo.diff import diff
from memglot.cli.repo.edit import edit
from memglot.cli.repo.init import init
from memglot.cli.repo.inspect import inspect
from memglot.cli.repo.list import list_
from memglot.cli.repo.map import map_
from memglot.cli.repo.projects import projects
from memglot.cli.repo.query import query
from memglot.cli.repo.rebuild import rebuild
from memglot.cli.repo.reset import reset
from memglot.cli.repo.restore import restore
from memglot.cli.repo.rm import rm
from memglot.cli.repo.save import save
from memglot.cli.repo.status import status
from memglot.cli.repo.supersede import supersede
from memglot.cli.repo.sync import sync
from memglot.cli.repo.view import view
from memglot.cli.session import group


@group(
    "repo",
    examples="""
    memglot repo init
    memglot repo add decision "Retries run in the worker" --body "Inline retries blocked requests."
    memglot repo query "how do webhook retries work"
    memglot repo sync
    """,
)
def repo() -> None:
    """Store knowledge about a project in its repository.

    Project memory contains features, decisions, gotchas and open questions. It is stored in `.memory/` as JSON and
    Markdown, to be committed and reviewed with the code. The project is the git repository of the current folder;
    outside of git, the nearest parent folder with a `.memory/`.
    """


_BY_HAND = (add, list_, edit, supersede, close, rm)
_OTHERS = (init, save, query, sync, status, map_, projects, check, inspect, diff, rebuild, reset, restore, view)
for _command in (*_BY_HAND, *_OTHERS):
    repo.add_command(_command)
