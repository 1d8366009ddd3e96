"""Repositories whose configuration names a program wherever git accepts one. Each program leaves a canary file."""

from __future__ import annotations

import shutil
from pathlib import Path

from repo_projects import git

HOOKS = (
    "applypatch-msg commit-msg fsmonitor-watchman post-checkout post-commit post-index-change post-merge post-rewrite "
    "post-update pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase pre-receive "
    "prepare-commit-msg proc-receive push-to-checkout reference-transaction sendemail-validate update"
).split()
ATTRIBUTES = """* filter=evil diff=evil merge=evil
*.json filter=with=equals
*.md filter=included
"""


class ArmedRepository:
    """A repository whose programs write their names into the folder `canaries`."""

    def __init__(self, root: Path, outside: Path) -> None:
        self.root = root
        self._canaries = outside / "canaries"
        self._canaries.mkdir(parents=True, exist_ok=True)
        self._programs = outside / "programs"
        self._programs.mkdir(exist_ok=True)

    def ran(self) -> list[str]:
        """Return the names of the programs that ran, and forget them."""
        names = sorted(path.name for path in self._canaries.iterdir())
        for name in names:
            (self._canaries / name).unlink()
        return names

    def arm(self, *, filter: str = "clean") -> None:
        """Commit attributes, and then name a program wherever a configuration file can."""
        (self.root / ".gitattributes").write_text(ATTRIBUTES)
        (self.root / "included.cfg").write_text(self._section('filter "included"', filter, "smudge"))
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "armed")
        folder = Path(git(self.root, "rev-parse", "--absolute-git-dir").strip())
        for name in HOOKS:
            for place in (folder / "hooks", self.root / ".git-hooks"):
                self._hook(place / name)
        with open(folder / "config", "a") as config:
            config.write(self._config(filter))

    def promise(self, url: str) -> None:
        """Make this a partial clone that fetches missing objects from a URL, with programs of its own."""
        git(self.root, "config", "core.repositoryFormatVersion", "1")
        git(self.root, "config", "extensions.partialClone", "origin")
        remote = {"url": url, "promisor": "true", "partialclonefilter": "blob:none", "fetch": "+refs/heads/*:refs/o/*"}
        with open(self.root / ".git/config", "a") as config:
            config.write(self._section('remote "origin"', "uploadpack", **remote))
            config.write('[protocol]\n\tallow = always\n[protocol "ext"]\n\tallow = always\n')

    def lose(self, *objects: str) -> None:
        """Remove objects, as if they had not been fetched."""
        for name in objects:
            hash = git(self.root, "rev-parse", name).strip()
            (self.root / ".git/objects" / hash[:2] / hash[2:]).unlink()

    def program(self, name: str) -> str:
        """Return the command of a program."""
        path = self._programs / name
        # A filter that copies its input keeps git going, so that it runs the other programs too.
        copies = name.endswith(("clean", "smudge", "textconv"))
        path.write_text(f'#!/bin/sh\n: > "{self._canaries}/{name}"\n{"exec cat" if copies else ""}\n')
        path.chmod(0o755)
        return str(path)

    def _hook(self, path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        shutil.copy(self.program(f"hook-{path.name}"), path)

    def _config(self, filter: str) -> str:
        core = ("fsmonitor", "pager", "editor", "sshCommand", "gitProxy", "askPass", "alternateRefsCommand")
        aliases = {name: "!" + self.program(f"alias-{name}") for name in ("status", "config", "restore", "ls-files")}
        return "".join(
            [
                self._section("include", path=f"{self.root}/included.cfg"),
                self._section('filter "evil"', filter, "smudge", required="true"),
                self._section('filter "with=equals"', filter, "smudge"),
                self._section("core", *core, hooksPath=f"{self.root}/.git-hooks"),
                self._section('diff "evil"', "command", "textconv"),
                self._section("diff", "external", submodule="diff"),
                self._section('merge "evil"', "driver"),
                self._section("gpg", "program"),
                self._section('gpg "ssh"', "program", "defaultKeyCommand"),
                self._section("log", showSignature="true"),
                self._section("credential", helper="!" + self.program("credential-helper")),
                self._section("sequence", "editor"),
                self._section("interactive", "diffFilter"),
                self._section("pager", "status", "diff", "log", "ls-files", "config"),
                self._section("uploadpack", "packObjectsHook"),
                self._section("status", submoduleSummary="true"),
                self._section("submodule", recurse="true"),
                self._section("alias", **aliases),
            ]
        )

    def _section(self, name: str, *programs: str, **values: str) -> str:
        """Return a section of a configuration file; a program is called by the names of its section and itself."""
        quiet = "".join(each if each.isalnum() else "-" for each in name)
        lines = [f"[{name}]"]
        lines += [f'\t{each} = "{self.program(f"{quiet}-{each}")}"' for each in programs]
        lines += [f'\t{key} = "{value}"' for key, value in values.items()]
        return "\n".join([*lines, ""])
